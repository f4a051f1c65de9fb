//! `zygoma build`

use std::io::Write;
use std::time::Instant;

use anyhow::Context;
use serde::Serialize;
use zygoma_face::enriched::EnrichedParams;
use zygoma_face::model::Continue;
use zygoma_face::model::{FaceModel, Origin};
use zygoma_face::shell::FittedShell;
use zygoma_face::shell::fit::Certified;
use zygoma_face::shell::{
    BuildInput, BuildParams, BuildProgress, BuildReport, build_with_report, take_poses,
};
use zygoma_face::shell::{CertifiedFace, Searched, Tally};
use zygoma_face::tissue::{TissueInput, TissueParams};
use zygoma_head::built_in_takes;
use zygoma_rig::Take;

use crate::cli::{AnatomyArg, BuildArgs, BuildFor};
use crate::commands::simulate::{enriched, tissue};
use crate::commands::{animated, input};
use crate::progress::Progress;
use crate::reports;

/// The result of a build, for people and programs.
#[derive(Serialize)]
struct Summary {
    face: String,
    height_metres: f64,
    /// Bodies that the face was built for.
    bodies: Vec<String>,
    /// ε^r, m; `null` without a shell.
    tolerance_metres: Option<f64>,
    vertices: usize,
    shell_vertices: usize,
    shell_triangles: usize,
    shapes: usize,
    /// The worst error of a fitted shape over the tolerance; `null` if a shape found no equilibrium.
    certified_worst: Option<f64>,
    /// Whether every fitted shape and every combination is met within the tolerance.
    certified: bool,
    /// Why it is not certified, in words.
    not_certified: Option<String>,
    certificate: Option<CertifiedFace>,
    /// Fitted shapes whose error exceeds the tolerance.
    missed: Vec<String>,
    iterations: usize,
    seconds: f64,
}

/// Triangles of a preview, and its uniform stiffness in N/m: as the viewer shows a rig before it is built. Ours.
const QUICK_TRIANGLES: usize = 2000;
const QUICK_STIFFNESS: f64 = 2.0;

pub(crate) fn run(args: &BuildArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut params: BuildParams = input::read_params(args.params.as_deref())?;
    params.triangles = args.triangles.unwrap_or(params.triangles);
    params.exaggerate = args.exaggerate.unwrap_or(params.exaggerate);
    params.corrective.extend(args.corrective.iter().cloned());
    params.seconds = args.seconds.or(params.seconds);
    params.fit.seconds = args.fit_seconds.or(params.fit.seconds);
    if args.quick {
        params = BuildParams {
            triangles: args.triangles.unwrap_or(QUICK_TRIANGLES),
            uniform_stiffness: Some(QUICK_STIFFNESS),
            combinations: 0,
            corrected: false,
            ..params
        };
    }
    let rig = input::read_rig(&args.rig)?;
    let mut takes = rig.takes.clone();
    for name in &args.takes {
        let take = input::read_take(name, &rig, args.map.as_deref())?;
        input::check_match(&rig, &args.rig.rig, &take, name)?;
        takes.push(take);
    }
    if takes.is_empty() {
        takes = usual_takes();
    }
    // A face file holds at least the neutral and the displacements of the shapes.
    let moved: usize = rig.skin().shapes.iter().map(|shape| shape.deltas.vertices.len()).sum();
    let bytes = 12 * rig.skin().positions.len() + 16 * moved;
    zygoma_files::check_room(zygoma_files::folder_of(&args.out), bytes as u64)?;
    let poses = take_poses(&rig, &takes);
    let what = BuildInput { name: &rig.name, mesh: rig.skin(), poses: &poses };
    let named = || args.rig.rig.display().to_string();
    let (mut face, report) = if args.bodies.contains(&BuildFor::Shell) {
        let (mut face, report) = build_with_progress(&what, &params).with_context(named)?;
        face.look_inside(&rig);
        (face, report)
    } else {
        let budget = params.budget.within(params.seconds);
        let face = FaceModel::of_rig(&rig, params.triangles, &budget).with_context(named)?;
        (face, BuildReport::default())
    };
    if args.bodies.contains(&BuildFor::Tissue) {
        let tissue = tissue::build_with_progress(&TissueInput::new(&face), &TissueParams::default());
        let solved = tissue.with_context(named)?.solved();
        face.add_section(&solved);
    }
    if args.bodies.contains(&BuildFor::Enriched) {
        enriched::add_anatomy(&mut face, &rig, &AnatomyArg::Auto)?;
        let built = enriched::build_with_progress(&face, &EnrichedParams::default());
        let solved = built.with_context(named)?.solved();
        face.add_section(&solved);
    }
    face.origin = Origin::of_rig(&rig, &args.rig.rig, args.rig.reading.identity.as_deref());
    animated::make_folder_for(&args.out)?;
    face.write(&args.out)?;
    let shell = FittedShell::of(&face).ok();
    if let (Some(folder), Some(_)) = (&args.report, &shell) {
        reports::build::write(folder, &face, &rig, &report)?;
    }
    let certified = shell.as_ref().and_then(|shell| shell.certified.as_ref());
    let summary = Summary {
        face: args.out.display().to_string(),
        height_metres: face.height,
        bodies: face.sections.keys().cloned().collect(),
        tolerance_metres: shell.as_ref().map(|shell| face.height * shell.params.tolerance),
        vertices: face.vertex_count(),
        shell_vertices: face.coarse.vertex_count(),
        shell_triangles: face.coarse.triangles.len(),
        shapes: face.shapes.len(),
        certified_worst: certified.and_then(|c| c.shapes.worst),
        certified: certified.is_some_and(CertifiedFace::holds),
        not_certified: match certified {
            None if shell.is_none() => Some("the face was not built for a shell".to_owned()),
            None => Some("the stiffness was not fitted".to_owned()),
            Some(certified) => certified.gap(),
        },
        certificate: certified.cloned(),
        missed: report.shapes.iter().filter(|shape| !holds(shape)).map(|shape| shape.name.clone()).collect(),
        iterations: certified.map_or(0, |c| c.iterations),
        seconds: began.elapsed().as_secs_f64(),
    };
    print(&summary, args.json)
}

/// The takes that a face must be able to perform by default: the built-in tour of expressions and speech.
pub(crate) fn usual_takes() -> Vec<Take> {
    built_in_takes().into_iter().filter(|take| ["tour", "speech"].contains(&take.name.as_str())).collect()
}

fn holds(shape: &Certified) -> bool {
    shape.worst.is_some_and(|worst| worst <= 1.0)
}

/// Builds a face and shows its progress.
pub(crate) fn build_with_progress(
    what: &BuildInput,
    params: &BuildParams,
) -> anyhow::Result<(FaceModel, BuildReport)> {
    let mut bar = Progress::new("meshing", 100);
    let mut fitting: Option<Instant> = None;
    let built = build_with_report(what, params, &mut |now| {
        match now {
            BuildProgress::Meshing => bar.report(0, "meshing"),
            BuildProgress::Fitting(fit) => {
                let began = *fitting.get_or_insert_with(Instant::now);
                let left = seconds_left(began.elapsed().as_secs_f64(), fit.done, params.fit.seconds);
                let words = format!(
                    "fitting{}; iteration {}: loss {:.4e}, worst error {:.3} of the tolerance",
                    left.map_or_else(String::new, |left| format!(", about {left:.0} s left")),
                    fit.iteration,
                    fit.loss,
                    fit.worst
                );
                bar.report((100.0 * fit.done.clamp(0.0, 1.0)) as usize, &words);
            }
            BuildProgress::Certifying => bar.report(100, "certifying"),
            BuildProgress::Correcting => bar.report(100, "correcting"),
        }
        Continue::Yes
    })?;
    Ok(built)
}

/// Estimates the remaining seconds of a fit from its progress and its time limit; `None` while neither is known.
fn seconds_left(elapsed: f64, done: f64, limit: Option<f64>) -> Option<f64> {
    let left = (done > 0.02).then(|| elapsed * (1.0 - done) / done);
    let allowed = limit.map(|limit| (limit - elapsed).max(0.0));
    match (left, allowed) {
        (Some(left), Some(allowed)) => Some(left.min(allowed)),
        (left, allowed) => left.or(allowed),
    }
}

fn print(summary: &Summary, json: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(summary);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {} vertices follow a coarse skin of {} triangles; the face is {:.1} cm high; built for {} in {:.1} s",
        summary.face,
        summary.vertices,
        summary.shell_triangles,
        100.0 * summary.height_metres,
        if summary.bodies.is_empty() { "no body".to_owned() } else { summary.bodies.join(" and ") },
        summary.seconds
    )?;
    if !summary.bodies.iter().any(|body| body == "shell") {
        return Ok(());
    }
    if let Some(why) = &summary.not_certified {
        writeln!(out, "not certified: {why}")?;
    } else {
        let tallies = summary.certificate.as_ref().map(|c| (c.shapes.count, c.combinations.count));
        let (shapes, combinations) = tallies.unwrap_or_default();
        let worst = summary.certified_worst.unwrap_or(0.0);
        writeln!(
            out,
            "certified: all {shapes} fitted shapes are met within {:.0} % of the tolerance, and all {combinations} combinations of them \
             within the tolerance",
            100.0 * worst
        )?;
    }
    if let Some(searched) = summary.certificate.as_ref().and_then(|c| c.searched.as_ref()) {
        let Searched { tally, worst } = searched;
        let miss = tally.worst.map_or_else(
            || "one finds no equilibrium".to_owned(),
            |miss| format!("at {:.0} % of the tolerance", 100.0 * miss),
        );
        writeln!(
            out,
            "worst combination that a search of pairs and triples of full shapes found: {worst}, {miss}"
        )?;
    }
    if let Some(output) = summary.certificate.as_ref().and_then(|c| c.output) {
        let millimetres = |tally: &Tally| match tally.worst {
            Some(worst) => format!("{:.2} mm", 1e3 * summary.tolerance_metres.unwrap_or(0.0) * worst),
            None => "an unknown distance".to_owned(),
        };
        writeln!(
            out,
            "shown at full resolution and corrected, the face rests within {} of the rig in shapes, {} in combinations and {} in what \
             the search found",
            millimetres(&output.shapes),
            millimetres(&output.combinations),
            millimetres(&output.searched)
        )?;
    }
    if !summary.missed.is_empty() {
        writeln!(out, "shapes that are missed by more than the tolerance: {}", summary.missed.join(", "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::seconds_left;

    #[test]
    fn the_time_left_follows_the_share_that_is_done_and_the_time_allowed() {
        assert_eq!(seconds_left(10.0, 0.25, None), Some(30.0));
        assert_eq!(seconds_left(10.0, 0.25, Some(12.0)), Some(2.0));
        assert_eq!(seconds_left(1.0, 0.0, None), None);
        assert_eq!(seconds_left(1.0, 0.0, Some(5.0)), Some(4.0));
    }
}
