//! Benchmarks of bodies that perform: their cost, their accuracy and their limits.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use zygoma_head::{Head, HeadOptions, built_in_takes};

use crate::bench;
use crate::bench::bodies::{Matrix, cell::Cell, table};
use crate::cli::{
    BenchBodiesArgs, BenchEnrichedArgs, BenchFuzzArgs, BenchHandsArgs, BenchInteractiveArgs, BenchSoakArgs,
    BenchTissueArgs,
};
use crate::commands::input;

pub(super) fn bodies(args: &BenchBodiesArgs) -> anyhow::Result<()> {
    if let Some(path) = &args.from {
        return print_cells(&table::read(path)?, args.table.as_deref());
    }
    let cache = args.cache.clone().unwrap_or_else(|| std::env::temp_dir().join("zygoma-bench-bodies"));
    let matrix = Matrix {
        rigs: &args.rigs,
        bodies: &args.bodies,
        takes: &args.takes,
        triangles: args.triangles,
        cache: &cache,
    };
    let report = matrix.run()?;
    if args.json {
        if let Some(page) = &args.table {
            table::write(page, &report.results)?;
        }
        return crate::json::print(&report);
    }
    print_cells(&report.results, args.table.as_deref())
}

/// Writes the table to a page, or prints a line for each cell if there is no page.
fn print_cells(cells: &[Cell], page: Option<&Path>) -> anyhow::Result<()> {
    if let Some(page) = page {
        return table::write(page, cells);
    }
    let mut out = std::io::stdout().lock();
    for cell in cells {
        writeln!(out, "{}", table::line(cell))?;
    }
    Ok(())
}

pub(super) fn interactive(args: &BenchInteractiveArgs) -> anyhow::Result<()> {
    let report = bench::interactive::run(args.rig.as_deref(), &args.triangles, args.seconds)?;
    if args.json {
        return crate::json::print(&report);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "triangles  frames     frame ms     rig  gradient   solve  constraints  contact    warp   other | plain rig  stream factor"
    )?;
    for size in &report.results {
        let parts = [
            ("all", size.frame_ms, &size.stages_ms),
            ("touched", size.touched.frame_ms, &size.touched.stages_ms),
            ("untouched", size.untouched.frame_ms, &size.untouched.stages_ms),
        ];
        for (name, frame_ms, stages) in parts {
            writeln!(
                out,
                "{:>9}  {name:<9}  {frame_ms:>8.4}  {:>6.4}  {:>8.4}  {:>6.4}  {:>11.4}  {:>7.4}  {:>6.4}  {:>6.4} | {:>9.4}  {:>13.4}",
                size.triangles,
                stages.rig,
                stages.gradient,
                stages.solve,
                stages.constraints,
                stages.contact,
                stages.warp,
                stages.other,
                size.plain_rig_ms,
                size.stream_factor_ms,
            )?;
        }
    }
    Ok(())
}

pub(super) fn enriched(args: &BenchEnrichedArgs) -> anyhow::Result<()> {
    let rig = match &args.rig {
        Some(path) => zygoma_rig::formats::read_rig(path, &Default::default())?,
        None => Head::new(&HeadOptions::default()).rig_with_texture(None),
    };
    if args.volumes {
        return volumes(args, &rig);
    }
    if let Some(seconds) = args.exact {
        return exact(&rig, seconds, args.json);
    }
    let report = bench::enriched::run(&rig, args.frames)?;
    if args.json {
        return crate::json::print(&report);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {} nodes, {} tetrahedra; {} volumes in {:.1} s (goal {:.0} s)",
        report.rig,
        report.nodes,
        report.tetrahedra,
        report.shapes,
        report.volumes_seconds,
        report.volumes_goal_seconds
    )?;
    writeln!(
        out,
        "{:.1} ms a step without contact ({:.1} – {:.1}; goal {:.0}), {:.0} and {:.0} iterations with it; up to {:.2} mm from the rig, {} elements left inverted",
        report.step_ms,
        report.p10_ms,
        report.p90_ms,
        report.step_goal_ms,
        report.iterations[0],
        report.iterations[1],
        report.largest_displacement_mm,
        report.rest_inverted_left
    )?;
    writeln!(
        out,
        "with lips and teeth in contact {:.1} ms a step, and with a fingertip in the cheek {:.1} (goal {:.0})",
        report.contact_step_ms, report.touched_step_ms, report.contact_goal_ms
    )?;
    if let [Some(free), Some(contact), Some(touched)] = report.cpu_ms {
        writeln!(out, "processor time of these three steps {free:.1}, {contact:.1} and {touched:.1} ms")?;
    }
    let live = &report.live;
    writeln!(
        out,
        "live, {} nodes: {:.1} ms a step of 1/{:.0} s, {:.2} × real time (goal {:.1}); volumes in {:.1} s, a spot of paint in {:.1} ms",
        live.nodes,
        live.step_ms,
        1.0 / live.step_seconds,
        live.real_time,
        live.real_time_goal,
        live.volumes_seconds,
        live.paint_ms
    )?;
    if let Some(seconds) = live.cpu_seconds {
        writeln!(out, "processor time of a live second {seconds:.2} s")?;
    }
    writeln!(
        out,
        "solved by Newton's method {:.1} ms a step: worst vertex {:.3} mm away, {:.4} mm on average",
        report.newton_step_ms, report.worst_error_mm, report.mean_error_mm
    )?;
    Ok(())
}

/// Measures how exactly the artist's surface comes back in a speech.
fn exact(rig: &zygoma_rig::Rig, seconds: f64, json: bool) -> anyhow::Result<()> {
    let speech = built_in_takes().into_iter().find(|take| take.name == "speech");
    let report = bench::exact::run(rig, &speech.context("there is no built-in speech")?, seconds)?;
    if json {
        return crate::json::print(&report);
    }
    writeln!(std::io::stdout().lock(), "{}", report.line())?;
    Ok(())
}

/// Looks at the rest volumes of a rig, or of some built-in heads.
fn volumes(args: &BenchEnrichedArgs, rig: &zygoma_rig::Rig) -> anyhow::Result<()> {
    let take = args.take.as_ref().map(|name| input::read_take(name, rig, None)).transpose()?;
    let mut reports = vec![bench::volumes::run(rig, take.as_ref())?];
    for seed in 1..args.seeds {
        let head = Head::new(&HeadOptions { seed, ..HeadOptions::default() });
        reports.push(bench::volumes::run(&head.rig_with_texture(None), take.as_ref())?);
    }
    if args.json {
        return crate::json::print(&reports);
    }
    let mut out = std::io::stdout().lock();
    for report in &reports {
        writeln!(out, "{}", report.line())?;
    }
    Ok(())
}

pub(super) fn hands(args: &BenchHandsArgs) -> anyhow::Result<()> {
    let rig = match &args.rig {
        Some(path) => zygoma_rig::formats::read_rig(path, &Default::default())?,
        None => Head::new(&HeadOptions::default()).rig_with_texture(None),
    };
    let report = bench::hands::run(&rig, args)?;
    if args.json {
        return crate::json::print(&report);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {} interactions on {} vertices and {} tetrahedra",
        report.rig, report.interactions, report.vertices, report.tetrahedra
    )?;
    writeln!(
        out,
        "frames without collisions, mean depth of the others' vertices, deformation (NePHIM Table 3 in brackets):"
    )?;
    let published = "69 %, 1.9 mm, 1.1 mm";
    let mut rows = vec![
        ("tracked", report.simulated.tracked, "53 %, 12.0 mm, 0.0 mm"),
        ("simulated", report.simulated.simulated, published),
        ("projected", report.projected.simulated, "-"),
    ];
    rows.extend(report.published.iter().map(|row| (row.name, row.found.simulated, published)));
    for (name, row, published) in rows {
        writeln!(
            out,
            "  {name}: {:.0} %, {:.2} mm, {:.2} mm [{published}]; {:.0} % of the vertices at bone, {:.2} mm at worst elsewhere",
            row.free_percent, row.depth_mm, row.deformation_mm, row.at_bone_percent, row.deepest_free_mm
        )?;
    }
    writeln!(
        out,
        "of the {} frames in which a tracked hand penetrates, {:.1} % are free except at bone; projected {:.1} %",
        report.simulated.touching, report.simulated.resolved_percent, report.projected.resolved_percent
    )?;
    for row in &report.published {
        writeln!(
            out,
            "  {}: {:.1} %, {:.1} ms a frame",
            row.name, row.found.resolved_percent, row.frames.median_ms
        )?;
    }
    for row in &report.by_gesture {
        writeln!(
            out,
            "  {} {}: {:.1} % of {} frames, {:.2} mm at worst",
            row.gesture, row.at, row.resolved_percent, row.touching, row.deepest_free_mm
        )?;
    }
    writeln!(
        out,
        "a step takes {:.1} ms with hands (goal {:.0}), 99 % within {:.1} ms (goal {:.0}); untouched {:.1} ms",
        report.touched.median_ms,
        report.median_goal_ms,
        report.touched.p99_ms,
        report.p99_goal_ms,
        report.untouched.median_ms
    )?;
    if let Some(nose) = &report.nose {
        writeln!(
            out,
            "one newton bends the nose by {:.2} mm with cartilage {} times as stiff, by {:.2} mm without",
            nose.with_mm, nose.factor, nose.without_mm
        )?;
    }
    for row in &report.sizes {
        writeln!(
            out,
            "{} nodes, {} tetrahedra: palm {:.1} ms, 99 % within {:.1}; pull {:.1} ms, 99 % within {:.1}; untouched {:.1} ms",
            row.nodes,
            row.tetrahedra,
            row.palm.median_ms,
            row.palm.p99_ms,
            row.pull.median_ms,
            row.pull.p99_ms,
            row.untouched.median_ms
        )?;
        if let Some([palm, pull, untouched]) = row.processor_ms {
            writeln!(out, "  processor time of a step {palm:.1}, {pull:.1} and {untouched:.1} ms")?;
        }
    }
    Ok(())
}

pub(super) fn tissue(args: &BenchTissueArgs) -> anyhow::Result<()> {
    let report = bench::tissue::run(&args.triangles, args.frames)?;
    if args.json {
        return crate::json::print(&report);
    }
    let mut out = std::io::stdout().lock();
    for size in &report.results {
        writeln!(
            out,
            "{} vertices, {} tetrahedra, {} iterations, {} contacts, {} sticky springs: {:.1} ms a frame ({:.1} – {:.1}); plain rig \
             {:.3} ms; built in {:.1} s",
            size.vertices,
            size.tetrahedra,
            size.iterations,
            size.contacts,
            size.sticky,
            size.frame_ms,
            size.p10_ms,
            size.p90_ms,
            size.plain_rig_ms,
            size.build_seconds,
        )?;
        let stages = &size.stages_ms;
        writeln!(
            out,
            "  ms: evaluate {:.2}, solve {:.2}, search {:.2} ({:.0} iterations with the control's); place {:.2}, control {:.2}, inertia {:.2}, \
             contact {:.2}, constrain {:.2}, part {:.2}, output {:.2}, other {:.2}",
            stages.evaluate,
            stages.solve,
            stages.search,
            size.all_iterations,
            stages.place,
            stages.control,
            stages.inertia,
            stages.contact,
            stages.constrain,
            stages.part,
            stages.output,
            stages.other,
        )?;
    }
    Ok(())
}

pub(super) fn soak(args: &BenchSoakArgs) -> anyhow::Result<()> {
    if args.tissue {
        return soak_tissue(args);
    }
    let found = bench::soak::shell::run(args.rig.as_deref(), args.seconds, args.seed)?;
    if args.json {
        crate::json::print(&found)?;
    } else {
        writeln!(
            std::io::stdout(),
            "{:.0} s of violent touching in {} frames ({:.1} s of work, at most {:.2} ms a step): top speed {:.1} heights/s, farthest {:.2} heights, \
             {:.4} % of the height left after letting go ({} times)",
            found.simulated_seconds,
            found.frames,
            found.seconds,
            found.slowest_step_ms,
            found.top_speed,
            found.farthest,
            found.left_percent,
            found.releases,
        )?;
    }
    found.check()
}

fn soak_tissue(args: &BenchSoakArgs) -> anyhow::Result<()> {
    let found = bench::soak::tissue::run(args.rig.as_deref(), args.seconds, args.seed)?;
    if args.json {
        crate::json::print(&found)?;
    } else {
        writeln!(
            std::io::stdout(),
            "{:.0} s of random takes in {} frames ({:.1} s of work): up to {:.1} mm from the rig and {} inverted elements in motion; \
             after {} rests {} inverted, {} crossings of the lips and {:.3} mm left",
            found.simulated_seconds,
            found.frames,
            found.seconds,
            1e3 * found.farthest,
            found.inverted_in_motion,
            found.rests,
            found.inverted_left,
            found.crossings_left,
            1e3 * found.distance_left,
        )?;
    }
    found.check()
}

pub(super) fn fuzz(args: &BenchFuzzArgs) -> anyhow::Result<()> {
    if let Some(input) = args.only {
        return crate::json::print(&bench::fuzz::Tried::new(input));
    }
    let found = bench::fuzz::run(args.first, args.seconds, args.limit)?;
    if args.json {
        crate::json::print(&found)?;
    } else {
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{} damaged rigs in {:.0} s: {} ended, {} hung, {} panicked; longest {:.1} s (input {}), largest {:.0} MB (input {})",
            found.inputs,
            found.seconds,
            found.ended,
            found.hangs.len(),
            found.panics.len(),
            found.longest_seconds,
            found.longest_input,
            found.largest_megabytes,
            found.largest_input,
        )?;
        for (stage, tally) in &found.stages {
            writeln!(out, "{stage}: {} made, {} refused with a sentence", tally.made, tally.refused)?;
        }
    }
    found.check()
}
