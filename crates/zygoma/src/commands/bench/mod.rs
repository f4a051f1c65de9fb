//! `zygoma bench`

mod performing;

use std::io::Write;

use zygoma_head::{Head, HeadOptions};

use crate::bench::anatomy::AnatomyReport;
use crate::bench::fit::FitReport;
use crate::bench::retarget::{PairFigures, RetargetBench};
use crate::bench::{self, Report};
use crate::cli::{
    BenchAnatomicalArgs, BenchAnatomyArgs, BenchArgs, BenchConvergenceArgs, BenchHeadArgs, BenchRetargetArgs,
    BenchSvdArgs, BenchWhat,
};

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<()> {
    match &args.what {
        BenchWhat::Anatomy(args) => anatomy(args),
        BenchWhat::Retarget(args) => retarget(args),
        BenchWhat::Bodies(args) => performing::bodies(args),
        BenchWhat::Fuzz(args) => performing::fuzz(args),
        BenchWhat::Fit(args) => print_fits(&bench::fit::run(&args.rigs, &args.triangles)?, args.json),
        BenchWhat::Head(args) => head(args),
        BenchWhat::Rig(args) => print(&bench::rig::run(&args.rigs)?, args.json),
        BenchWhat::Interactive(args) => performing::interactive(args),
        BenchWhat::Soak(args) => performing::soak(args),
        BenchWhat::Tissue(args) => performing::tissue(args),
        BenchWhat::Enriched(args) => performing::enriched(args),
        BenchWhat::Anatomical(args) => anatomical(args),
        BenchWhat::Hands(args) => performing::hands(args),
        BenchWhat::Convergence(args) => convergence(args),
        BenchWhat::Svd(args) => svd(args),
        #[cfg(feature = "view")]
        BenchWhat::View(args) => print_tab(&bench::view::run(args.rig.as_deref(), args.seconds)?, args.json),
    }
}

fn anatomy(args: &BenchAnatomyArgs) -> anyhow::Result<()> {
    // Lines come one by one: all of them together take long.
    let report = bench::anatomy::run(args, |mesh| {
        if !args.json {
            println!("{mesh}");
        }
    })?;
    if args.json {
        return crate::json::print(&report);
    }
    if report.heads > 0 {
        print_truth(&report, &mut std::io::stdout().lock())?;
    }
    Ok(())
}

fn anatomical(args: &BenchAnatomicalArgs) -> anyhow::Result<()> {
    let rig = match &args.rig {
        Some(path) => zygoma_rig::formats::read_rig(path, &Default::default())?,
        None => Head::new(&HeadOptions::default()).rig_with_texture(None),
    };
    let report = bench::anatomical::run(args, &rig)?;
    if args.json {
        return crate::json::print(&report);
    }
    let mut out = std::io::stdout().lock();
    report.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(())
}

fn head(args: &BenchHeadArgs) -> anyhow::Result<()> {
    let report = bench::head::run(&args.rigs);
    if args.json {
        return crate::json::print(&report);
    }
    print(&report.times, false)?;
    if let Some(expressions) = &report.expressions {
        expressions.write(&mut std::io::stdout().lock())?;
    }
    Ok(())
}

fn retarget(args: &BenchRetargetArgs) -> anyhow::Result<()> {
    let BenchRetargetArgs { heads, expressions, take, examples, ablations, rigs, json } = args;
    let asked = RetargetBench {
        heads: *heads,
        expressions: *expressions,
        take: take.clone(),
        examples: examples.clone(),
        ablations: *ablations,
        rigs: rigs.clone(),
    };
    let report = bench::retarget::run(&asked)?;
    if *json {
        return crate::json::print(&report);
    }
    let mut out = std::io::stdout().lock();
    if !report.built_in.is_empty() {
        writeln!(
            out,
            "method     examples  mean mm   worst   eyes %  lips mm  jumps mm  volume %   ms  without"
        )?;
    }
    for figures in &report.built_in {
        writeln!(
            out,
            "{:<10} {:>8} {:>8.3} {:>7.2} {:>8.1} {:>8.2} {:>9.4} {:>9.2} {:>4.0}  {}",
            figures.method,
            figures.examples,
            figures.mean_mm,
            figures.worst_mm,
            100.0 * figures.eye,
            figures.lips_mm,
            figures.jumps_mm,
            100.0 * figures.volume_change,
            figures.ms_per_expression,
            figures.without
        )?;
    }
    for pair in &report.pairs {
        let PairFigures { source, target, shapes, plain_cosine, cosine, .. } = pair;
        match &pair.refused {
            Some(reason) => writeln!(out, "{source} to {target}: {reason}")?,
            None => writeln!(
                out,
                "{source} to {target}: median cosine {cosine:.3} over {shapes} shapes ({plain_cosine:.3} by plain transfer)"
            )?,
        }
    }
    Ok(())
}

/// The errors of all models of bones, and the spread of the tissue's depth.
fn print_truth(report: &AnatomyReport, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "bones of {} generated heads, mean error   face     all   worst face", report.heads)?;
    for model in &report.models {
        writeln!(
            out,
            "{:<36} {:>6.2} {:>7.2} {:>8.2} mm",
            model.model, model.face_mm, model.all_mm, model.worst_face_mm
        )?;
    }
    writeln!(out, "error of the estimated fat {:.2}", report.fat_error)?;
    for depth in &report.depths {
        writeln!(
            out,
            "{:<24} {:>5.1} mm deep, deviation {:.1}",
            depth.landmark, depth.mean_mm, depth.deviation_mm
        )?;
    }
    Ok(())
}

fn convergence(args: &BenchConvergenceArgs) -> anyhow::Result<()> {
    let report = bench::convergence::run(args.triangles)?;
    if let Some(path) = &args.plot {
        zygoma_files::write(path, report.chart().to_svg().as_bytes())?;
    }
    if args.json {
        return crate::json::print(&report);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} vertices, {} tetrahedra, {} constraints, {} threads",
        report.vertices, report.tetrahedra, report.constraints, report.threads
    )?;
    for way in &report.ways {
        let after = |k: usize| way.relative_errors[k.min(way.relative_errors.len() - 1)];
        writeln!(
            out,
            "{:<36} change {:>7.2} ms, iteration {:>5.2} ms; relative error {:.1e} at 16 ms, {:.1e} after 8 iterations, {:.1e} after 40",
            way.name,
            way.change_ms,
            way.iteration_ms,
            way.at_16_ms,
            after(8),
            after(40),
        )?;
    }
    Ok(())
}

fn svd(args: &BenchSvdArgs) -> anyhow::Result<()> {
    let report = bench::svd::run(args.matrices);
    if args.json {
        return crate::json::print(&report);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} matrices on {}, median ns per matrix: sixteen at a time {:.1}, scalar twin {:.1}, nalgebra {:.1}",
        report.matrices, report.instruction_set, report.wide_ns, report.scalar_ns, report.nalgebra_ns
    )?;
    writeln!(
        out,
        "error ‖UDVᵀ − F‖: mean {:.1e}, worst {:.1e}; nalgebra's worst {:.1e}",
        report.mean_error, report.worst_error, report.nalgebra_worst_error
    )?;
    for memo in &report.memos {
        writeln!(
            out,
            "strain {}, way {}, memo of the {}: kept {} %, approximated {} %, computed {} %; {:.1} ns, {:.1} always computed; R off by {:.1e}",
            memo.strain,
            memo.way,
            memo.kept,
            memo.kept_percent,
            memo.approximated_percent,
            memo.computed_percent,
            memo.mean_ns,
            memo.always_ns,
            memo.rotation_error,
        )?;
    }
    Ok(())
}

fn print(report: &Report, json: bool) -> anyhow::Result<()> {
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
fn print_tab(report: &Report<bench::view::Tab>, json: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(report);
    }
    let mut out = std::io::stdout().lock();
    for tab in &report.results {
        writeln!(out, "{tab}")?;
    }
    Ok(())
}

fn print_fits(report: &FitReport, json: bool) -> anyhow::Result<()> {
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
