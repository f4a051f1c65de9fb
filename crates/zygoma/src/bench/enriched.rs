//! Steps of an enriched face, and the time that its volumes take.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use glam::{DQuat, DVec3, Vec3};
use serde::Serialize;
use zygoma_face::body::{Body, Drive, Touchable};
use zygoma_face::contact::{ColliderFrame, ColliderMotion};
use zygoma_face::enriched::{
    Canvas, Enriched, EnrichedBody, EnrichedParams, MaterialPaint, MaterialSpot, NEUTRAL, SpotPlace,
};
use zygoma_face::model::{Continue, FaceModel, Landmarks};
use zygoma_face::tissue::{TissueInput, TissueVolume};
use zygoma_geometry::normals::vertex_normals;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::Budget;
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_rig::Rig;

use super::harness::{Spread, cpu_seconds};

/// Goals: the time of a step (published: up to 4 s), of one with contact, and of all volumes.
const STEP_GOAL_MS: f64 = 40.0;
const CONTACT_GOAL_MS: f64 = 60.0;
const VOLUMES_GOAL_SECONDS: f64 = 60.0;
/// Goal of a live face: time that passes in it for each second of the world.
const LIVE_GOAL: f64 = 0.5;
/// A step of the reference is solved until its residual has fallen to this fraction.
const CONVERGED: f64 = 1e-4;

/// The report.
#[derive(Serialize)]
pub(crate) struct EnrichedReport {
    pub(crate) rig: String,
    pub(crate) nodes: usize,
    pub(crate) tetrahedra: usize,
    pub(crate) shapes: usize,
    pub(crate) volumes_seconds: f64,
    pub(crate) volumes_goal_seconds: f64,
    /// Median time of a step while the head shakes and the mouth moves, without contact, with its 10th and 90th percentiles.
    pub(crate) step_ms: f64,
    pub(crate) p10_ms: f64,
    pub(crate) p90_ms: f64,
    pub(crate) step_goal_ms: f64,
    /// Median time of a step of the same motion with contact between lips and with teeth.
    pub(crate) contact_step_ms: f64,
    /// The same with a fingertip 5 mm in the cheek, too.
    pub(crate) touched_step_ms: f64,
    pub(crate) contact_goal_ms: f64,
    /// Processor time of these three steps, of all threads, on average; on a busy machine less than the time that passes. `None` where the system does not
    /// report it.
    pub(crate) cpu_ms: [Option<f64>; 3],
    /// The face of the viewer: one layer, and long steps.
    pub(crate) live: LiveReport,
    /// Iterations of the two solves, on average.
    pub(crate) iterations: [f64; 2],
    /// The same motion with every step solved by Newton's method: its time, and how far the face is from it.
    pub(crate) newton_step_ms: f64,
    pub(crate) worst_error_mm: f64,
    pub(crate) mean_error_mm: f64,
    pub(crate) largest_displacement_mm: f64,
    pub(crate) rest_inverted_left: usize,
}

/// A face that is simulated while it is watched.
#[derive(Serialize)]
pub(crate) struct LiveReport {
    pub(crate) nodes: usize,
    pub(crate) step_seconds: f64,
    /// Median time of a step, all contact included.
    pub(crate) step_ms: f64,
    /// Time that passes in the face for each second of the world.
    pub(crate) real_time: f64,
    pub(crate) real_time_goal: f64,
    /// Processor time for each second of the face, s.
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) volumes_seconds: f64,
    /// Time from a spot of paint to the material that it makes.
    pub(crate) paint_ms: f64,
}

/// Frames of a performance, and what they cost.
struct Shaken {
    frames: Vec<Vec<Vec3>>,
    times: Vec<f64>,
    /// Processor time of a step, ms.
    cpu: Option<f64>,
    iterations: Vec<[usize; 2]>,
    largest: f64,
    inverted_left: usize,
}

/// The ways in which the same motion is simulated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    /// Without contact between lips and with teeth.
    Free,
    Usual,
    /// With a fingertip in the cheek.
    Touched,
    /// By Newton's method.
    Newton,
}

/// Presses a fingertip, which moves with the head, 5 mm into the left cheek.
fn press_cheek(body: &mut EnrichedBody, face: &FaceModel) -> anyhow::Result<()> {
    const RADIUS: f32 = 0.01;
    let places = Landmarks::new(face);
    let cheek = places.find("cheek-left").context("the rig has no left cheek to touch")?.vertex as usize;
    let normal = vertex_normals(&face.neutral, &face.triangles)[cheek];
    let pose = Pose::at(face.neutral[cheek] + (RADIUS - 0.005) * normal);
    let sphere = ColliderShape::Sphere { radius: RADIUS };
    let colliders = body.colliders_mut();
    colliders.add_in(ColliderFrame::Head, sphere, pose, ColliderMotion::Kinematic);
    // Until it has come to rest there.
    for _ in 0..10 {
        body.advance(1.0 / 60.0);
    }
    Ok(())
}

/// A face with bones and tissue where they fit under its skin.
pub(super) fn face_with_anatomy(rig: &Rig) -> anyhow::Result<FaceModel> {
    let mut face = FaceModel::of_rig(rig, 4000, &Budget::default())?;
    if let Err(problem) = face.add_anatomy(rig) {
        eprintln!("note: {problem}; the tissue is one layer under the skin instead");
    }
    Ok(face)
}

/// Measures some frames of 1/60 s with a shaking head.
pub(crate) fn run(rig: &Rig, frames: usize) -> anyhow::Result<EnrichedReport> {
    let face = face_with_anatomy(rig)?;
    let fill = TissueVolume::of_face(&face);
    let input = TissueInput { volume: fill.as_ref(), ..TissueInput::new(&face) };
    let began = Instant::now();
    let enriched = Enriched::build(&input, &EnrichedParams::default(), &mut |_| Continue::Yes)?;
    let volumes_seconds = began.elapsed().as_secs_f64();
    let enriched = Arc::new(enriched);
    let free = shake(&enriched, &face, frames, Run::Free)?;
    let fast = shake(&enriched, &face, frames, Run::Usual)?;
    let touched = shake(&enriched, &face, frames, Run::Touched)?;
    let newton = shake(&enriched, &face, frames, Run::Newton)?;
    let (mut worst, mut sum, mut count) = (0.0_f64, 0.0, 0.0);
    for (a, b) in fast.frames.iter().zip(&newton.frames) {
        for (a, b) in a.iter().zip(b) {
            let off = f64::from(a.distance(*b));
            worst = worst.max(off);
            sum += off;
            count += 1.0;
        }
    }
    let mean = |k: usize| {
        let all: usize = fast.iterations.iter().map(|iterations| iterations[k]).sum();
        all as f64 / fast.iterations.len().max(1) as f64
    };
    let spread = Spread::of(free.times);
    Ok(EnrichedReport {
        rig: rig.name.clone(),
        nodes: enriched.node_count(),
        tetrahedra: enriched.tet_count(),
        shapes: face.shapes.len(),
        volumes_seconds,
        volumes_goal_seconds: VOLUMES_GOAL_SECONDS,
        step_ms: spread.median_ms,
        p10_ms: spread.p10_ms,
        p90_ms: spread.p90_ms,
        step_goal_ms: STEP_GOAL_MS,
        contact_step_ms: Spread::of(fast.times).median_ms,
        touched_step_ms: Spread::of(touched.times).median_ms,
        contact_goal_ms: CONTACT_GOAL_MS,
        cpu_ms: [free.cpu, fast.cpu, touched.cpu],
        live: live(rig, frames)?,
        iterations: [mean(0), mean(1)],
        newton_step_ms: Spread::of(newton.times).median_ms,
        worst_error_mm: 1e3 * worst,
        mean_error_mm: 1e3 * sum / f64::max(count, 1.0),
        largest_displacement_mm: 1e3 * fast.largest,
        rest_inverted_left: fast.inverted_left,
    })
}

/// Measures the face of the viewer.
fn live(rig: &Rig, frames: usize) -> anyhow::Result<LiveReport> {
    /// Triangles of the viewer's simulation mesh.
    const TRIANGLES: usize = 2000;
    let face = FaceModel::of_rig(rig, TRIANGLES, &Budget::default())?;
    let began = Instant::now();
    let params = EnrichedParams::live();
    let built = Enriched::build(&TissueInput::new(&face), &params, &mut |_| Continue::Yes)?;
    let volumes_seconds = began.elapsed().as_secs_f64();
    let enriched = Arc::new(built);
    let shaken = shake(&enriched, &face, frames.max(10), Run::Usual)?;
    let step_ms = Spread::of(shaken.times).median_ms;
    let mut body = EnrichedBody::new(enriched.clone())?;
    Ok(LiveReport {
        nodes: enriched.node_count(),
        step_seconds: params.step_time,
        step_ms,
        real_time: (1e3 * params.step_time / step_ms).min(1.0),
        real_time_goal: LIVE_GOAL,
        cpu_seconds: shaken.cpu.map(|ms| 1e-3 * ms / params.step_time),
        volumes_seconds,
        paint_ms: paint_time(&mut body, &face)?,
    })
}

/// Median time of a spot of paint on the cheek, ms.
fn paint_time(body: &mut EnrichedBody, face: &FaceModel) -> anyhow::Result<f64> {
    let (canvas, places) = (Canvas::new(face), Landmarks::new(face));
    let mut paints = Vec::new();
    let mut times = Vec::new();
    for spot in 0..10 {
        let began = Instant::now();
        let spot = MaterialSpot {
            shape: NEUTRAL.into(),
            at: SpotPlace::Landmark("cheek-left".into()),
            radius: 10.0,
            mu: Some(f64::from(10 + spot)),
            lambda: None,
            erase: false,
        };
        let paint = MaterialPaint::among(&mut paints, None, face.vertex_count());
        canvas.paint(&spot, &places, &mut paint.strokes)?;
        body.repaint(None, &paints);
        times.push(1e3 * began.elapsed().as_secs_f64());
    }
    Ok(Spread::of(times).median_ms)
}

fn shake(enriched: &Arc<Enriched>, face: &FaceModel, frames: usize, run: Run) -> anyhow::Result<Shaken> {
    const FRAME: f64 = 1.0 / 60.0;
    let mut body = EnrichedBody::new(enriched.clone())?;
    if run == Run::Newton {
        body.solve_by_newton(CONVERGED);
    }
    if run == Run::Free {
        body.leave_contact_out();
    }
    body.settle();
    if run == Run::Touched {
        press_cheek(&mut body, face)?;
    }
    let steps = (FRAME / body.step_time()).round();
    let mut shaken = Shaken {
        frames: Vec::new(),
        times: Vec::new(),
        cpu: None,
        iterations: Vec::new(),
        largest: 0.0,
        inverted_left: 0,
    };
    let busy_before = cpu_seconds();
    for frame in 1..=frames {
        let time = frame as f64 * FRAME;
        let wave = |rate: f64| (0.5 - 0.5 * (rate * time).cos()) as f32;
        let mut weights = vec![0.0; face.shapes.len()];
        for (name, weight) in
            [("jawOpen", wave(10.0)), ("mouthSmileLeft", wave(6.0)), ("mouthSmileRight", wave(6.0))]
        {
            if let Some(shape) = face.shape(name) {
                weights[shape] = weight;
            }
        }
        body.drive(Drive::Weights(&weights))?;
        let rotation = DQuat::from_rotation_y(0.3 * (25.0 * time).sin());
        body.set_head_pose(&RigidMotion { rotation, translation: DVec3::ZERO });
        let began = Instant::now();
        let positions = body.advance(FRAME).positions.to_vec();
        shaken.times.push(1e3 * began.elapsed().as_secs_f64() / steps);
        shaken.frames.push(positions);
        shaken.iterations.push(body.iterations());
        shaken.largest = shaken.largest.max(body.largest_displacement());
    }
    let busy = cpu_seconds().zip(busy_before).map(|(now, before)| now - before);
    shaken.cpu = busy.map(|seconds| 1e3 * seconds / (steps * frames as f64));
    shaken.inverted_left = body.rest_report().inverted_left;
    Ok(shaken)
}
