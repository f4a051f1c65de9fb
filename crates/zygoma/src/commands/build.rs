//! `zygoma build`

use std::io::Write;
use std::time::Instant;

use serde::Serialize;
use zygoma_face::interactive::fit::Continue;
use zygoma_face::interactive::{BuildInput, BuildParams, BuildProgress, Origin, build_with_report};

use crate::cli::BuildArgs;
use crate::commands::input;
use crate::progress::Progress;
use crate::reports;

/// What a build found, for people and programs.
#[derive(Serialize)]
struct Summary {
    face: String,
    height_metres: f64,
    vertices: usize,
    shell_vertices: usize,
    shell_triangles: usize,
    shapes: usize,
    /// The worst miss of a fitted shape over the tolerance; `null` if a shape found no equilibrium.
    certified_worst: Option<f64>,
    certified: bool,
    iterations: usize,
    seconds: f64,
}

pub(crate) fn run(args: &BuildArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    let rig = input::read_rig(&args.rig)?;
    let mut params = BuildParams {
        triangles: args.triangles,
        exaggerate: args.exaggerate,
        corrective: args.corrective.clone(),
        ..BuildParams::default()
    };
    params.fit.seconds = args.fit_seconds;
    let mut bar = Progress::new("fitting", params.fit.max_iterations);
    let what = BuildInput { name: &rig.name, mesh: rig.skin(), poses: &[] };
    let (mut face, report) = build_with_report(&what, &params, &mut |now| {
        if let BuildProgress::Fitting(fit) = now {
            bar.set(fit.iteration);
        }
        Continue::Yes
    })?;
    drop(bar);
    face.origin = Origin::of_rig(&rig, &args.rig.rig, args.rig.identity.as_deref());
    face.write(&args.out)?;
    if let Some(folder) = &args.report {
        reports::build::write(folder, &face, &rig, &report)?;
    }
    let certified = face.certified.as_ref();
    let summary = Summary {
        face: args.out.display().to_string(),
        height_metres: face.height,
        vertices: face.vertex_count(),
        shell_vertices: face.shell.vertex_count(),
        shell_triangles: face.shell.triangles.len(),
        shapes: face.shapes.len(),
        certified_worst: certified.and_then(|c| c.shapes.worst),
        certified: certified.is_some_and(|c| c.shapes.holds()),
        iterations: certified.map_or(0, |c| c.iterations),
        seconds: began.elapsed().as_secs_f64(),
    };
    tell(&summary, args.json)
}

fn tell(summary: &Summary, json: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(summary);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {} vertices follow a shell of {} triangles; the face is {:.1} cm high; built in {:.1} s",
        summary.face,
        summary.vertices,
        summary.shell_triangles,
        100.0 * summary.height_metres,
        summary.seconds
    )?;
    match summary.certified_worst {
        Some(worst) if summary.certified => {
            writeln!(
                out,
                "certified: every fitted shape is met within {:.0} % of the tolerance",
                100.0 * worst
            )?;
        }
        _ => writeln!(out, "not certified: some fitted shapes are missed by more than the tolerance")?,
    }
    Ok(())
}
