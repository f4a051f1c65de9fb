//! `zygoma perform`

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::interactive::fit::Continue;
use zygoma_face::interactive::{BuildParams, Face, build};
use zygoma_face::perform::{PerformParams, PerformingFace, Tissue};
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::frames::StoredFrames;
use zygoma_rig::jaw::jaw_driven_shapes;
use zygoma_rig::{JointRole, Rig, Take};

use crate::cli::PerformArgs;
use crate::commands::animated::{self, CompressionSummary, Format};
use crate::commands::input;
use crate::progress::Progress;

/// What a performance did.
#[derive(Serialize)]
struct Summary {
    out: String,
    take: String,
    frames: usize,
    fps: f64,
    tetrahedra: usize,
    /// Triangles of the coarse skin below which there is no room for flesh.
    bare_triangles: usize,
    /// How far the simulated skin is from the plain rig.
    mean_mm: f64,
    worst_mm: f64,
    /// Volume of the flesh over its volume at rest, smallest and largest.
    volume: [f64; 2],
    /// The most tetrahedra that were inverted in a frame.
    inverted: usize,
    frame_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    compression: Option<CompressionSummary>,
    seconds: f64,
}

pub(crate) fn run(args: &PerformArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    Format::of(&args.performance.out)?;
    let params = read_params(args.params.as_deref())?;
    let rig = input::read_rig(&args.rig)?;
    let take = input::read_take(&args.performance.take, &rig)?;
    // Flesh needs the shell's mesh and how the whole mesh follows it, not its stiffness.
    let build_params = BuildParams {
        triangles: args.triangles,
        uniform_stiffness: Some(1.0),
        corrected: false,
        ..BuildParams::default()
    };
    let face = build(&rig.name, rig.skin(), &build_params, &mut |_| Continue::Yes)?;
    let tissue = Arc::new(Tissue::new(&face, &jaw_driven_shapes(rig.skin()), params)?);
    let (frames, mut summary) = perform(&rig, &take, &face, &tissue, args)?;
    summary.compression =
        animated::write(&rig, &take, frames, &[], &args.performance.out, &args.performance.animated)?;
    summary.seconds = began.elapsed().as_secs_f64();
    tell(&summary, args.performance.json)
}

fn read_params(path: Option<&Path>) -> anyhow::Result<PerformParams> {
    let Some(path) = path else { return Ok(PerformParams::default()) };
    let text =
        std::fs::read_to_string(path).with_context(|| format!("{}: reading failed", path.display()))?;
    crate::toml_file::parse(&text).map_err(|problem| anyhow::anyhow!("{}: {problem}", path.display()))
}

fn perform(
    rig: &Rig,
    take: &Take,
    face: &Face,
    tissue: &Arc<Tissue>,
    args: &PerformArgs,
) -> anyhow::Result<(StoredFrames, Summary)> {
    let binding = Binding::new(rig, take);
    let evaluator = Evaluator::new(rig.skin());
    let head = take.motion(JointRole::Head);
    let mut performing = PerformingFace::new(tissue.clone())?;
    let count = take.frame_count(args.performance.fps);
    let mut frames = StoredFrames::new(args.performance.fps, face.vertex_count());
    let mut summary = Summary {
        out: args.performance.out.display().to_string(),
        take: take.name.clone(),
        frames: count,
        fps: args.performance.fps,
        tetrahedra: tissue.tet_count(),
        bare_triangles: tissue.bare_count(),
        mean_mm: 0.0,
        worst_mm: 0.0,
        volume: [1.0; 2],
        inverted: 0,
        frame_ms: 0.0,
        compression: None,
        seconds: 0.0,
    };
    let mut weights = vec![0.0; evaluator.shape_count()];
    let mut plain = vec![Vec3::ZERO; face.vertex_count()];
    let mut bar = Progress::new("simulating frames", count);
    for frame in 0..count {
        let time = take.start() + frame as f64 / args.performance.fps;
        binding.weights_at(take, rig.skin, time, &mut weights);
        evaluator.evaluate(&weights, &mut plain);
        performing.set_weights(&weights);
        if let Some(pose) = head.and_then(|track| track.sample(time)) {
            performing.set_head_pose(&pose);
        }
        let began = Instant::now();
        // The first frame is the face at rest in its first pose.
        frames.push(performing.advance(if frame == 0 { 0.0 } else { 1.0 / args.performance.fps }));
        summary.frame_ms += began.elapsed().as_secs_f64() * 1e3 / count as f64;
        let shown = frames.frame(frame);
        let off = face.skin.iter().map(|v| 1e3 * f64::from(shown[*v as usize].distance(plain[*v as usize])));
        let (sum, worst) = off.fold((0.0, 0.0), |(sum, worst): (f64, f64), mm| (sum + mm, worst.max(mm)));
        summary.mean_mm += sum / (face.skin.len().max(1) * count) as f64;
        summary.worst_mm = summary.worst_mm.max(worst);
        let volume = performing.volume_ratio();
        summary.volume = [summary.volume[0].min(volume), summary.volume[1].max(volume)];
        summary.inverted = summary.inverted.max(performing.element_counts().1);
        bar.set(frame + 1);
    }
    Ok((frames, summary))
}

fn tell(summary: &Summary, json: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(summary);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: take {}, {} frames at {} fps, {:.1} ms each; {} tetrahedra",
        summary.out, summary.take, summary.frames, summary.fps, summary.frame_ms, summary.tetrahedra
    )?;
    writeln!(
        out,
        "the skin is {:.2} mm from the rig on average, {:.1} mm at most; the flesh keeps {:.2} to {:.2} of its volume; at most {} \
         tetrahedra are inverted",
        summary.mean_mm, summary.worst_mm, summary.volume[0], summary.volume[1], summary.inverted
    )?;
    if let Some(compression) = &summary.compression {
        writeln!(out, "{compression}")?;
    }
    writeln!(out, "done in {:.1} s", summary.seconds)?;
    Ok(())
}
