//! `zygoma bench`

use std::io::Write;

use crate::bench::fit::FitReport;
use crate::bench::{self, Report};
use crate::cli::{BenchArgs, BenchInteractiveArgs, BenchSoakArgs, BenchTissueArgs, BenchWhat};

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<()> {
    match &args.what {
        BenchWhat::Fit(args) => tell_fits(&bench::fit::run(&args.rigs, &args.triangles)?, args.json),
        BenchWhat::Head(args) => tell(&bench::head::run(), args.json),
        BenchWhat::Rig(args) => tell(&bench::rig::run(&args.rigs)?, args.json),
        BenchWhat::Interactive(args) => interactive(args),
        BenchWhat::Soak(args) => soak(args),
        BenchWhat::Tissue(args) => tissue(args),
        #[cfg(feature = "view")]
        BenchWhat::View(args) => tell_tab(&bench::view::run(args.rig.as_deref(), args.seconds)?, args.json),
    }
}

fn interactive(args: &BenchInteractiveArgs) -> anyhow::Result<()> {
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

fn tissue(args: &BenchTissueArgs) -> anyhow::Result<()> {
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
    }
    Ok(())
}

fn soak(args: &BenchSoakArgs) -> anyhow::Result<()> {
    let found = bench::soak::run(args.rig.as_deref(), args.seconds, args.seed)?;
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

fn tell(report: &Report, json: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(report);
    }
    let mut out = std::io::stdout().lock();
    for result in &report.results {
        let time = &result.time;
        write!(
            out,
            "{:<44} {:>9.4} ms  ({:.4} – {:.4}, {} samples)",
            result.name, time.median_ms, time.p10_ms, time.p90_ms, time.samples
        )?;
        if let Some(goal) = result.goal_ms {
            write!(out, "  goal {goal} ms")?;
        }
        if let Some(reference) = &result.reference {
            write!(
                out,
                "  = {:.2} × {} ({:.4} ms)",
                reference.ratio, reference.name, reference.time.median_ms
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(feature = "view")]
fn tell_tab(report: &Report<bench::view::Tab>, json: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(report);
    }
    let mut out = std::io::stdout().lock();
    for tab in &report.results {
        writeln!(out, "{tab}")?;
    }
    Ok(())
}

fn tell_fits(report: &FitReport, json: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(report);
    }
    let mut out = std::io::stdout().lock();
    for found in &report.results {
        let percent = |worst: Option<f64>| {
            worst.map_or_else(|| "no equilibrium".to_owned(), |worst| format!("worst {:.1} %", 100.0 * worst))
        };
        writeln!(
            out,
            "{} at {} triangles: fitted in {:.1} s and {} iterations; {} of {} shapes hold ({}), {} of {} \
             combinations ({}); ears and crown are {:.1} × as stiff as lips and cheeks",
            found.rig,
            found.triangles,
            found.fit_seconds,
            found.iterations,
            found.shapes.holding,
            found.shapes.count,
            percent(found.shapes.worst),
            found.combinations.holding,
            found.combinations.count,
            percent(found.combinations.worst),
            found.strain_ratio
        )?;
    }
    for pair in &report.correlations {
        let [a, b] = pair.triangles;
        writeln!(
            out,
            "{}: log stiffness at {a} and {b} triangles correlates at {:.3} (strain) and {:.3} (bending)",
            pair.rig, pair.strain, pair.bending
        )?;
    }
    Ok(())
}
