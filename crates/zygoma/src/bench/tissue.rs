//! Frames of soft tissue with lips that press and stick.

use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::Vec3;
use serde::Serialize;
use zygoma_face::model::Continue;
use zygoma_face::model::FaceModel;
use zygoma_face::shell::{BuildParams, build};
use zygoma_face::tissue::{STICKY, Stages, Tissue, TissueBody, TissueParams};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::Rig;
use zygoma_rig::evaluate::Evaluator;

use super::harness::{Spread, milliseconds};

/// Frames before the lips are pressed together and stuck.
const WARM_UP: usize = 20;
/// How far the plain rig's lips penetrate each other: at 14,000 triangles some 110 contacts then stick. About as many
/// are in contact, since lips that stick also touch.
const PRESSED: f32 = 0.02;

/// The results at all sizes.
#[derive(Serialize)]
pub(crate) struct TissueReport {
    pub(crate) instruction_set: String,
    pub(crate) threads: usize,
    pub(crate) results: Vec<TissueSize>,
}

/// The results at one size.
#[derive(Serialize)]
pub(crate) struct TissueSize {
    pub(crate) triangles: usize,
    pub(crate) vertices: usize,
    pub(crate) tetrahedra: usize,
    pub(crate) iterations: usize,
    pub(crate) contacts: usize,
    pub(crate) sticky: usize,
    /// Median frame time, with its 10th and 90th percentiles.
    pub(crate) frame_ms: f64,
    pub(crate) p10_ms: f64,
    pub(crate) p90_ms: f64,
    /// Milliseconds by stage of the frames around the median: they add up to it.
    pub(crate) stages_ms: TissueStages,
    /// Iterations of the control and of the step in these frames, on average.
    pub(crate) all_iterations: f64,
    /// The plain rig in the same run.
    pub(crate) plain_rig_ms: f64,
    pub(crate) build_seconds: f64,
}

/// Milliseconds by stage.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct TissueStages {
    /// Energies and gradients.
    pub(crate) evaluate: f64,
    /// Global steps: solves with the sparse factor.
    pub(crate) solve: f64,
    /// The rest of the minimisation: L-BFGS history and updates.
    pub(crate) search: f64,
    /// Target positions of the tissue, from rig and bones.
    pub(crate) place: f64,
    /// Forces of the actuations, and the actuations.
    pub(crate) control: f64,
    /// Inertia of the head's motion.
    pub(crate) inertia: f64,
    /// Contact detection between the lips, and sticking.
    pub(crate) contact: f64,
    /// Updating the global step for the contact constraints.
    pub(crate) constrain: f64,
    /// Resolving the remaining penetrations.
    pub(crate) part: f64,
    /// The surface at full resolution.
    pub(crate) output: f64,
    /// The rest of the frame, mostly the setup of steps.
    pub(crate) other: f64,
}

impl TissueStages {
    fn of(stages: &Stages, frame_ms: f64) -> Self {
        let ms = |time: Duration| 1e3 * time.as_secs_f64();
        let mut found = Self {
            evaluate: ms(stages.solve.evaluate),
            solve: ms(stages.solve.solve),
            search: ms(stages.solve.other),
            place: ms(stages.place),
            control: ms(stages.control),
            inertia: ms(stages.inertia),
            contact: ms(stages.contact),
            constrain: ms(stages.constrain),
            part: ms(stages.part),
            output: ms(stages.output),
            other: frame_ms,
        };
        found.other -= found.sum() - frame_ms;
        found
    }

    fn sum(&self) -> f64 {
        let minimised = self.evaluate + self.solve + self.search + self.control + self.place;
        minimised + self.inertia + self.contact + self.constrain + self.part + self.output + self.other
    }

    fn plus(self, fraction: f64, more: &Self) -> Self {
        Self {
            evaluate: self.evaluate + fraction * more.evaluate,
            solve: self.solve + fraction * more.solve,
            search: self.search + fraction * more.search,
            place: self.place + fraction * more.place,
            control: self.control + fraction * more.control,
            inertia: self.inertia + fraction * more.inertia,
            contact: self.contact + fraction * more.contact,
            constrain: self.constrain + fraction * more.constrain,
            part: self.part + fraction * more.part,
            output: self.output + fraction * more.output,
            other: self.other + fraction * more.other,
        }
    }
}

/// A frame that was measured.
struct Timed {
    ms: f64,
    stages: TissueStages,
    iterations: usize,
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

/// A face with tissue whose lips are pressed together and stick, and with a cheek that never rests.
pub(super) struct Scene {
    pub(super) rig: Rig,
    pub(super) face: FaceModel,
    pub(super) tissue: Arc<Tissue>,
    pub(super) performing: TissueBody,
    pub(super) params: TissueParams,
    pub(super) weights: Vec<f32>,
    frame: usize,
    close: Option<usize>,
    smile: Option<usize>,
}

impl Scene {
    pub(super) fn new(triangles: usize) -> anyhow::Result<Self> {
        let level = if triangles > 14_000 { Level::High } else { Level::Middle };
        let rig = Head::new(&HeadOptions { level, ..HeadOptions::default() }).rig_with_texture(None);
        let mesh = rig.skin();
        let build_params = BuildParams {
            triangles,
            uniform_stiffness: Some(1.0),
            corrected: false,
            ..BuildParams::default()
        };
        let face = build(&rig.name, mesh, &build_params, &mut |_| Continue::Yes)?;
        let params = TissueParams { stickiness: STICKY, ..TissueParams::default() };
        let tissue = Arc::new(Tissue::new(&face, &params)?);
        let mut performing = TissueBody::new(tissue.clone())?;
        performing.settle();
        let find = |name: &str| mesh.shapes.iter().position(|shape| shape.name == name);
        let (close, smile) = (find("mouthClose"), find("mouthSmileLeft"));
        let weights = vec![0.0; mesh.shapes.len()];
        Ok(Self { rig, face, tissue, performing, params, weights, frame: 0, close, smile })
    }

    /// Advances by a frame of one step and returns the milliseconds that it took.
    pub(super) fn advance(&mut self) -> f64 {
        if let (Some(close), Some(smile)) = (self.close, self.smile) {
            self.weights[close] = PRESSED * (self.frame as f32 / WARM_UP as f32).min(1.0);
            self.weights[smile] = 0.2 + 0.2 * (0.3 * self.frame as f32).sin();
        }
        self.frame += 1;
        self.performing.set_weights(&self.weights);
        milliseconds(|| {
            self.performing.advance(self.params.step_time);
        })
    }
}

fn measure(triangles: usize, frames: usize) -> anyhow::Result<TissueSize> {
    let began = Instant::now();
    let mut scene = Scene::new(triangles)?;
    let build_seconds = began.elapsed().as_secs_f64();
    let evaluator = Evaluator::new(scene.rig.skin());
    let mut plain = vec![Vec3::ZERO; scene.rig.skin().positions.len()];
    let (mut times, mut rig_times) = (Vec::new(), Vec::new());
    let (mut contacts, mut sticky) = (0, 0);
    for frame in 0..WARM_UP + frames {
        let ms = scene.advance();
        let rig_ms = milliseconds(|| evaluator.evaluate(&scene.weights, &mut plain));
        if frame >= WARM_UP {
            let stages = scene.performing.stages();
            times.push(Timed { ms, stages: TissueStages::of(stages, ms), iterations: stages.iterations });
            rig_times.push(rig_ms);
            let lips = scene.performing.lips();
            sticky = sticky.max(lips.sticky);
            contacts = contacts.max(lips.contacts);
        }
    }
    times.sort_by(|a, b| a.ms.total_cmp(&b.ms));
    let spread = Spread::of(times.iter().map(|timed| timed.ms).collect());
    let (middle, half) = (times.len() / 2, times.len() / 20);
    let about = &times[middle.saturating_sub(half)..(middle + half + 1).min(times.len())];
    let fraction = 1.0 / about.len().max(1) as f64;
    Ok(TissueSize {
        triangles: scene.face.coarse.triangles.len(),
        vertices: 2 * scene.face.coarse.vertex_count(),
        tetrahedra: scene.tissue.tet_count(),
        iterations: scene.params.iterations,
        contacts,
        sticky,
        frame_ms: spread.median_ms,
        p10_ms: spread.p10_ms,
        p90_ms: spread.p90_ms,
        stages_ms: about.iter().fold(TissueStages::default(), |sum, timed| sum.plus(fraction, &timed.stages)),
        all_iterations: fraction * about.iter().map(|timed| timed.iterations as f64).sum::<f64>(),
        plain_rig_ms: Spread::of(rig_times).median_ms,
        build_seconds,
    })
}
