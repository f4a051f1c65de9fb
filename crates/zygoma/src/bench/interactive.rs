//! Frames of an interactive face: the full pipeline, on one thread.
//!
//! For a fair comparison with other programs: `rig` includes the shell's targets, its residual errors, and the fine
//! detail of the whole mesh, which others may count as part of the warp; `gradient` and `solve` are those of
//! IFA Algorithm 1; `constraints` are depth, the limits of strain and speed, and the velocities. IFA Algorithm 1 alone moves
//! vertices of the shell out of a sphere; here `contact` is detected between them, on the whole mesh, by a sweep over
//! many points: a stage that it does not have. Normals of the whole mesh are not part of a frame, and are reported separately.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use glam::Vec3;
use serde::Serialize;
use zygoma_face::body::Touchable;
use zygoma_face::contact::{ColliderId, ColliderMotion};
use zygoma_face::model::Continue;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::shell::{BuildParams, RunParams, ShellBody, Stages, build};
use zygoma_geometry::Faces;
use zygoma_head::{Head, HeadOptions};
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::formats::{self, Limits};
use zygoma_rig::{Rig, RigMesh};

use super::Report;
use super::harness::{Spread, milliseconds};
use super::rig::outer_skin;

/// A frame of the paper's clock: five steps of 2 ms.
const FRAME: f64 = 0.01;

/// Frames in which the finger approaches, presses and retreats once.
const CYCLE: usize = 100;

/// Radius of the fingertip, m.
const RADIUS: f32 = 0.01;

/// Uniform stiffness, N/m: measuring speed needs no fit.
const STIFFNESS: f64 = 10.0;

/// The measurements at one size.
#[derive(Debug, Serialize)]
pub(crate) struct Size {
    /// Triangles of the shell.
    pub(crate) triangles: usize,
    /// Vertices of the shell.
    pub(crate) vertices: usize,
    /// Vertices of the whole mesh.
    pub(crate) mesh_vertices: usize,
    /// Mean number of shapes with a non-zero weight.
    pub(crate) active_shapes: f64,
    /// Median milliseconds per frame of 10 ms.
    pub(crate) frame_ms: f64,
    /// Distribution of the frame times.
    pub(crate) frame: Spread,
    /// Milliseconds by stage of the frames around the median: they add up to it.
    pub(crate) stages_ms: StagesMs,
    /// The frames in which the finger touched the skin, and the others.
    pub(crate) touched: Part,
    pub(crate) untouched: Part,
    /// Normals at full resolution, which are not part of the frame here.
    pub(crate) normals_ms: f64,
    /// The plain rig, evaluated for the same weights.
    pub(crate) plain_rig_ms: f64,
    /// Streaming the factor from memory as often as the solves of a frame do.
    pub(crate) stream_factor_ms: f64,
    /// Size of the factor, KiB.
    pub(crate) factor_kib: f64,
}

/// A subset of the frames.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    /// Their fraction of all frames.
    pub(crate) fraction: f64,
    /// Their median, ms.
    pub(crate) frame_ms: f64,
    /// Milliseconds by stage of those around their median.
    pub(crate) stages_ms: StagesMs,
}

/// Milliseconds by stage.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct StagesMs {
    pub(crate) rig: f64,
    pub(crate) gradient: f64,
    pub(crate) solve: f64,
    /// Limits of depth, strain and speed, and the velocities.
    pub(crate) constraints: f64,
    /// Contact at full resolution: detecting it, and pushing the skin out.
    pub(crate) contact: f64,
    pub(crate) warp: f64,
    /// The rest of the frame.
    pub(crate) other: f64,
}

/// The times of one frame.
struct Timed {
    ms: f64,
    stages: StagesMs,
    is_touched: bool,
}

/// Measures a rig, or the built-in head, with shells of some sizes.
pub(crate) fn run(path: Option<&Path>, sizes: &[usize], seconds: f64) -> anyhow::Result<Report<Size>> {
    let rig = match path {
        Some(path) => formats::read_rig(path, &Limits::default())?,
        None => Head::new(&HeadOptions::default()).rig(),
    };
    let mut report = Report::new();
    for triangles in sizes {
        report.results.push(measure(&rig, *triangles, seconds)?);
    }
    Ok(report)
}

fn measure(rig: &Rig, triangles: usize, seconds: f64) -> anyhow::Result<Size> {
    let mesh = only_skin(rig.skin());
    let params = BuildParams {
        triangles,
        uniform_stiffness: Some(STIFFNESS),
        corrected: false,
        ..BuildParams::default()
    };
    let face = build(&rig.name, &mesh, &params, &mut |_| Continue::Yes)?;
    let mut scene = Scene::new(&face, &mesh)?;
    let mut frames: Vec<Timed> = Vec::new();
    let (mut rig_times, mut stream_times, mut active) = (Vec::new(), Vec::new(), 0);
    let began = Instant::now();
    while frames.len() < 2 * CYCLE || began.elapsed().as_secs_f64() < seconds {
        scene.prepare(frames.len());
        let ms = milliseconds(|| {
            black_box(scene.running.advance(FRAME).positions);
        });
        let is_touched = !scene.running.colliders().contacts().is_empty();
        frames.push(Timed { ms, stages: StagesMs::of(scene.running.stages(), ms), is_touched });
        active += scene.weights.iter().filter(|weight| **weight != 0.0).count();
        rig_times.push(milliseconds(|| scene.evaluator.evaluate(&scene.weights, &mut scene.plain)));
        stream_times.push(milliseconds(|| scene.stream_factor()));
    }
    let count = frames.len() as f64;
    frames.sort_by(|a, b| a.ms.total_cmp(&b.ms));
    let spread = Spread::of(frames.iter().map(|frame| frame.ms).collect());
    let all: Vec<&Timed> = frames.iter().collect();
    let (touched, untouched) = all.iter().copied().partition::<Vec<&Timed>, _>(|frame| frame.is_touched);
    Ok(Size {
        triangles: face.coarse.triangles.len(),
        vertices: face.coarse.vertex_count(),
        mesh_vertices: face.vertex_count(),
        active_shapes: active as f64 / count,
        frame_ms: spread.median_ms,
        frame: spread,
        stages_ms: StagesMs::about_the_median(&all),
        touched: Part::new(&touched, count),
        untouched: Part::new(&untouched, count),
        normals_ms: scene.normals_ms(),
        plain_rig_ms: Spread::of(rig_times).median_ms,
        stream_factor_ms: Spread::of(stream_times).median_ms,
        factor_kib: scene.running.matrices().factor_bytes() as f64 / 1024.0,
    })
}

/// The mesh without the inner parts that some rigs keep in the same mesh as the skin.
fn only_skin(mesh: &RigMesh) -> RigMesh {
    let skin = outer_skin(mesh);
    let is_skin = |t: &[u32; 3]| t.iter().all(|v| (*v as usize) < skin.positions.len());
    let triangles: Vec<[u32; 3]> = mesh.faces.triangles().into_iter().filter(is_skin).collect();
    RigMesh { faces: Faces::from_triangles(&triangles), uvs: None, regions: Vec::new(), ..skin }
}

impl Part {
    /// Summarises frames sorted by time, out of so many in all.
    fn new(frames: &[&Timed], count: f64) -> Self {
        Self {
            fraction: frames.len() as f64 / count,
            frame_ms: frames.get(frames.len() / 2).map_or(0.0, |frame| frame.ms),
            stages_ms: StagesMs::about_the_median(frames),
        }
    }
}

impl StagesMs {
    fn of(stages: &Stages, frame_ms: f64) -> Self {
        let ms = |time: Duration| 1e3 * time.as_secs_f64();
        let timed = stages.rig + stages.gradient + stages.solve + stages.constraints + stages.warp;
        Self {
            rig: ms(stages.rig),
            gradient: ms(stages.gradient),
            solve: ms(stages.solve),
            constraints: ms(stages.constraints.saturating_sub(stages.contact)),
            contact: ms(stages.contact),
            warp: ms(stages.warp),
            other: frame_ms - ms(timed),
        }
    }

    /// The mean of the tenth of the frames around the median. They must be sorted by time.
    fn about_the_median(frames: &[&Timed]) -> Self {
        let (middle, half) = (frames.len() / 2, frames.len() / 20);
        let about = &frames[middle.saturating_sub(half)..(middle + half + 1).min(frames.len())];
        let weight = 1.0 / about.len().max(1) as f64;
        about.iter().fold(Self::default(), |sum, frame| sum.plus(weight, &frame.stages))
    }

    fn plus(self, weight: f64, other: &Self) -> Self {
        Self {
            rig: self.rig + weight * other.rig,
            gradient: self.gradient + weight * other.gradient,
            solve: self.solve + weight * other.solve,
            constraints: self.constraints + weight * other.constraints,
            contact: self.contact + weight * other.contact,
            warp: self.warp + weight * other.warp,
            other: self.other + weight * other.other,
        }
    }
}

/// A face that performs while a finger comes and goes.
struct Scene {
    running: ShellBody,
    finger: ColliderId,
    at: Vec3,
    normal: Vec3,
    weights: Vec<f32>,
    evaluator: Evaluator,
    plain: Vec<Vec3>,
}

impl Scene {
    fn new(face: &FaceModel, mesh: &RigMesh) -> anyhow::Result<Self> {
        let params = RunParams { normals: false, ..RunParams::default().awake() };
        let mut running = ShellBody::new(face, params)?;
        let place = Landmarks::new(face).find("cheek-left").map_or(0, |place| place.vertex);
        let at = face.neutral[place as usize];
        let normals = zygoma_geometry::normals::vertex_normals(&face.neutral, &face.triangles);
        let normal = normals[place as usize];
        let sphere = ColliderShape::Sphere { radius: RADIUS };
        let away = Pose::at(at + 0.05 * normal);
        let finger = running.colliders_mut().add(sphere, away, ColliderMotion::Kinematic);
        Ok(Self {
            running,
            finger,
            at,
            normal,
            weights: vec![0.0; mesh.shapes.len()],
            evaluator: Evaluator::new(mesh),
            plain: mesh.positions.clone(),
        })
    }

    /// Sets the weights and the finger of a frame: about eight shapes are active, and the finger presses half of the time.
    fn prepare(&mut self, frame: usize) {
        let count = self.weights.len().max(1) as f32;
        let time = FRAME as f32 * frame as f32;
        for (shape, weight) in self.weights.iter_mut().enumerate() {
            // A hump of width 8 shapes that wanders around the list.
            let distance = (shape as f32 - 6.0 * time).rem_euclid(count);
            *weight = if distance < 8.0 { 0.6 * (distance / 8.0 * std::f32::consts::PI).sin() } else { 0.0 };
        }
        self.running.set_weights(&self.weights);
        let turn = std::f32::consts::TAU * (frame % CYCLE) as f32 / CYCLE as f32;
        let depth = 0.004 * turn.sin();
        if let Some(touch) = self.running.colliders_mut().get_mut(self.finger) {
            touch.pose = Pose::at(self.at + (RADIUS - depth) * self.normal);
        }
    }

    /// Streams the factor as the solves of a frame do: forwards and backwards in each of five steps.
    fn stream_factor(&self) {
        let factor = self.running.matrices().factor();
        for _ in 0..10 {
            black_box(factor.sum());
        }
    }

    /// Milliseconds for the normals at full resolution.
    fn normals_ms(&mut self) -> f64 {
        self.running.set_params(RunParams::default().awake());
        let times = (0..50).map(|frame| {
            self.prepare(frame);
            self.running.advance(FRAME);
            1e3 * self.running.stages().normals.as_secs_f64()
        });
        Spread::of(times.collect()).median_ms
    }
}
