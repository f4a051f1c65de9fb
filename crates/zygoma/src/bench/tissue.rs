//! Frames of flesh with lips that press and stick.

use std::sync::Arc;
use std::time::Instant;

use glam::Vec3;
use serde::Serialize;
use zygoma_face::interactive::fit::Continue;
use zygoma_face::interactive::{BuildParams, build};
use zygoma_face::perform::{PerformParams, PerformingFace, STICKY, Tissue};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::jaw::jaw_driven_shapes;

/// Frames before the lips are pressed together and stuck.
const WARM_UP: usize = 20;
/// How far the plain rig's lips are driven into each other.
const PRESSED: f32 = 0.15;
/// All sizes.
#[derive(Serialize)]
pub(crate) struct TissueReport {
    pub(crate) instruction_set: String,
    pub(crate) threads: usize,
    pub(crate) results: Vec<TissueSize>,
}

/// One size.
#[derive(Serialize)]
pub(crate) struct TissueSize {
    pub(crate) triangles: usize,
    pub(crate) vertices: usize,
    pub(crate) tetrahedra: usize,
    pub(crate) iterations: usize,
    pub(crate) contacts: usize,
    pub(crate) sticky: usize,
    /// Median, and what a tenth of the frames stay below and above.
    pub(crate) frame_ms: f64,
    pub(crate) p10_ms: f64,
    pub(crate) p90_ms: f64,
    /// The plain rig in the same run.
    pub(crate) plain_rig_ms: f64,
    pub(crate) build_seconds: f64,
}

/// Measures frames of one physics step each.
pub(crate) fn run(sizes: &[usize], frames: usize) -> anyhow::Result<TissueReport> {
    let mut results = Vec::new();
    for triangles in sizes {
        results.push(measure(*triangles, frames)?);
    }
    Ok(TissueReport {
        instruction_set: zygoma_numerics::simd::instruction_set().to_owned(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        results,
    })
}

fn measure(triangles: usize, frames: usize) -> anyhow::Result<TissueSize> {
    let level = if triangles > 14_000 { Level::High } else { Level::Middle };
    let rig = Head::new(&HeadOptions { level, ..HeadOptions::default() }).rig_with_texture(None);
    let mesh = rig.skin();
    let began = Instant::now();
    let build_params =
        BuildParams { triangles, uniform_stiffness: Some(1.0), corrected: false, ..BuildParams::default() };
    let face = build(&rig.name, mesh, &build_params, &mut |_| Continue::Yes)?;
    let params = PerformParams { stickiness: STICKY, ..PerformParams::default() };
    let tissue = Arc::new(Tissue::new(&face, &jaw_driven_shapes(mesh), &params)?);
    let mut performing = PerformingFace::new(tissue.clone())?;
    let build_seconds = began.elapsed().as_secs_f64();
    let mut weights = vec![0.0; mesh.shapes.len()];
    let close = mesh.shapes.iter().position(|shape| shape.name == "mouthClose");
    let smile = mesh.shapes.iter().position(|shape| shape.name == "mouthSmileLeft");
    let evaluator = Evaluator::new(mesh);
    let mut plain = vec![Vec3::ZERO; mesh.positions.len()];
    let (mut times, mut rig_times) = (Vec::new(), Vec::new());
    let (mut contacts, mut sticky) = (0, 0);
    performing.advance(0.0);
    for frame in 0..WARM_UP + frames {
        // Pressed lips, and a cheek that never rests.
        if let (Some(close), Some(smile)) = (close, smile) {
            weights[close] = PRESSED * (frame as f32 / WARM_UP as f32).min(1.0);
            weights[smile] = 0.2 + 0.2 * (0.3 * frame as f32).sin();
        }
        performing.set_weights(&weights);
        let began = Instant::now();
        performing.advance(params.step_time);
        let taken = 1e3 * began.elapsed().as_secs_f64();
        let began = Instant::now();
        evaluator.evaluate(&weights, &mut plain);
        let rig_taken = 1e3 * began.elapsed().as_secs_f64();
        if frame >= WARM_UP {
            times.push(taken);
            rig_times.push(rig_taken);
            sticky = sticky.max(performing.lips().sticky);
            contacts = contacts.max(
                performing.lips().constraints - performing.lips().sticky.min(performing.lips().constraints),
            );
        }
    }
    let share = |times: &mut Vec<f64>, percent: usize| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() * percent / 100).copied().unwrap_or(0.0)
    };
    Ok(TissueSize {
        triangles: face.shell.triangles.len(),
        vertices: 2 * face.shell.vertex_count(),
        tetrahedra: tissue.tet_count(),
        iterations: params.iterations,
        contacts,
        sticky,
        frame_ms: share(&mut times, 50),
        p10_ms: share(&mut times, 10),
        p90_ms: share(&mut times, 90),
        plain_rig_ms: share(&mut rig_times, 50),
        build_seconds,
    })
}
