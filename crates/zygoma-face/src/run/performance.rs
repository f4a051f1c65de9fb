//! A face performing a take while it is touched, and its measurements.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use glam::Vec3;
use serde::Serialize;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::formats::markers::MarkerTake;
use zygoma_rig::frames::Frames;
use zygoma_rig::{Error, JointRole, Result, Rig, Take};

use super::spool::SpooledFrames;
use super::touch_script::{Moment, Player, Prop, TouchScript};
use super::watch::{Gate, GateReport, Watched};
use crate::body::{Body, Drive};
use crate::model::{FaceModel, Landmarks};

/// Seconds after a touch during which skin may still be returning. Ours.
const AFTERMATH: f64 = 0.5;

/// A take for a face, with its touches and output settings.
#[derive(Clone, Copy)]
pub struct Performance<'a> {
    /// The face.
    pub face: &'a FaceModel,
    /// Its landmarks.
    pub places: &'a Landmarks,
    /// The rig that the take drives.
    pub rig: &'a Rig,
    /// The take.
    pub take: &'a Take,
    /// Markers that drive the body in place of the take's weights.
    pub markers: Option<&'a MarkerTake>,
    /// The touches.
    pub touches: &'a TouchScript,
    /// Frames per second.
    pub fps: f64,
    /// A folder in which frames are spooled until they are exported.
    pub folder: &'a Path,
}

/// Watches a performance frame by frame.
pub trait Observer {
    /// Reports the number of finished frames.
    fn progress(&mut self, _done: usize, _total: usize) {}

    /// Reports a finished frame.
    fn frame(&mut self, _body: &dyn Body, _frame: &Performed<'_>) {}
}

/// Ignores all reports.
impl Observer for () {}

/// A finished frame.
#[derive(Clone, Copy)]
pub struct Performed<'a> {
    /// Weights of the rig's shapes.
    pub weights: &'a [f32],
    /// The surface.
    pub shown: &'a [Vec3],
    /// The plain rig's surface.
    pub plain: &'a [Vec3],
}

/// The result of a performance.
pub struct Outcome {
    /// Simulated surfaces in rig space, in the head's frame.
    pub frames: SpooledFrames,
    /// Distance of each frame from the plain rig.
    pub deviations: Vec<FrameDeviation>,
    /// The largest penetration of a collider into the skin in each frame, in metres.
    pub penetration: Vec<f32>,
    /// Everything that touched the face.
    pub props: Vec<Prop>,
    /// Mean milliseconds per frame, by stage.
    pub stages_ms: BTreeMap<&'static str, f64>,
    /// Mean milliseconds per frame.
    pub frame_ms: f64,
    /// Milliseconds of each frame except the first, which settles.
    pub frame_times: Vec<f64>,
    /// Interventions of the gate.
    pub gate: GateReport,
    /// Mean milliseconds of the gate per frame.
    pub gate_ms: f64,
}

/// Distance of one frame from the plain rig, in metres.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameDeviation {
    /// Distance of the worst vertex.
    pub worst: f32,
    /// The worst vertex.
    pub vertex: u32,
    /// Mean over all vertices.
    pub mean: f32,
    /// Whether something touches the face, or did a moment ago.
    pub touched: bool,
}

/// The worst and the mean deviation of some frames.
#[derive(Clone, Debug, Serialize)]
pub struct DeviationSummary {
    /// The worst, in % of the height.
    pub worst_percent: f64,
    /// The worst, in millimetres.
    pub worst_mm: f64,
    /// The mean, in % of the height.
    pub mean_percent: f64,
    /// The mean, in millimetres.
    pub mean_mm: f64,
    /// The worst vertex.
    pub vertex: u32,
    /// The landmark nearest to it.
    pub near: String,
    /// Time of the worst frame.
    pub seconds: f64,
}

impl Performance<'_> {
    /// Performs all frames of the take with a body.
    pub fn run(&self, body: &mut dyn Body, observer: &mut dyn Observer) -> Result<Outcome> {
        let Self { face, rig, take, fps, .. } = *self;
        if !self.touches.touches.is_empty() && body.colliders().is_none() {
            let problem = format!("the {} cannot be touched; choose another body", body.name());
            return Err(Error::Request(problem));
        }
        let mut inputs = Inputs::new(self);
        let count = take.frame_count(fps);
        let mut outcome =
            Outcome::expecting(count, SpooledFrames::new(self.folder, fps, face.vertex_count(), count)?);
        let mut shown = rig.skin().positions.clone();
        let share = 1.0 / count as f64;
        let mut gate = self.gate(body);
        let mut known = 0.0;
        for frame in 0..count {
            let time = frame as f64 / fps;
            let began = Instant::now();
            // The first frame is the face at rest in its first pose; if the take starts at speed, it moves from there on.
            if frame == 0 {
                inputs.apply(body, known, &shown)?;
                body.settle();
            }
            while let Some(next) = body.next_input(known, time) {
                inputs.apply(body, next, &shown)?;
                if known == 0.0 {
                    body.begin_moving(next);
                } else {
                    body.run(next - known);
                }
                known = next;
            }
            shown.copy_from_slice(body.frame_before(known - time).positions);
            let mut spent = began.elapsed();
            inputs.player.after(body);
            let touched = self.touches.is_touched(time, AFTERMATH);
            let head = inputs.head(time);
            let (weights, plain) = inputs.plain(time);
            let began = Instant::now();
            let mut watched = Watched {
                plain,
                shown: &mut shown,
                head,
                seconds: if frame == 0 { 0.0 } else { 1.0 / fps },
                time,
                touched,
                inverted: &body.inverted(),
                vertices_at: &|elements| body.vertices_at(elements, weights),
            };
            if let Some(weights) = gate.watch(&mut watched) {
                body.return_to_rig(weights);
            }
            outcome.gate_ms += share * 1e3 * began.elapsed().as_secs_f64();
            spent += began.elapsed();
            outcome.frame_ms += share * 1e3 * spent.as_secs_f64();
            if frame > 0 {
                outcome.frame_times.push(1e3 * spent.as_secs_f64());
            }
            outcome.deviations.push(FrameDeviation { touched, ..deviation(&shown, plain) });
            for stage in body.stages() {
                *outcome.stages_ms.entry(stage.name).or_default() += share * 1e3 * stage.time.as_secs_f64();
            }
            outcome.penetration.push(body.penetration());
            observer.frame(body, &Performed { weights, shown: &shown, plain });
            outcome.frames.push(&shown)?;
            observer.progress(frame + 1, count);
        }
        outcome.gate = gate.report();
        outcome.props = inputs.player.into_props();
        Ok(outcome)
    }

    /// The gate that watches the body.
    fn gate(&self, body: &dyn Body) -> Gate {
        let mut gate = Gate::new(self.face, self.places, self.fps);
        gate.spare(&body.free_vertices());
        if !body.follows_rig() {
            gate.ignore_distance();
        }
        gate
    }
}

/// The inputs from the take and the script over time.
struct Inputs<'a> {
    rig: &'a Rig,
    take: &'a Take,
    markers: Option<&'a MarkerTake>,
    binding: Binding,
    evaluator: Evaluator,
    player: Player<'a>,
    weights: Vec<f32>,
    plain: Vec<Vec3>,
}

impl<'a> Inputs<'a> {
    fn new(performance: &Performance<'a>) -> Self {
        let Performance { rig, take, touches, markers, .. } = *performance;
        let evaluator = Evaluator::new(rig.skin());
        Self {
            binding: Binding::new(rig, take),
            player: Player::new(touches),
            weights: vec![0.0; evaluator.shape_count()],
            plain: vec![Vec3::ZERO; rig.skin().positions.len()],
            evaluator,
            markers,
            rig,
            take,
        }
    }

    /// The take's weights and the plain rig's surface, some seconds after its start.
    fn plain(&mut self, since: f64) -> (&[f32], &[Vec3]) {
        let time = self.take.start() + since;
        self.binding.weights_at(self.take, self.rig.skin, time, &mut self.weights);
        self.evaluator.evaluate(&self.weights, &mut self.plain);
        (&self.weights, &self.plain)
    }

    /// The head's pose some seconds after the take's start.
    fn head(&self, since: f64) -> RigidMotion {
        let track = self.take.motion(JointRole::Head);
        track.and_then(|track| track.sample(self.take.start() + since)).unwrap_or(RigidMotion::IDENTITY)
    }

    /// Applies drive and touches to a body, some seconds after the take's start; `shown` is its surface of the last frame.
    fn apply(&mut self, body: &mut dyn Body, since: f64, shown: &[Vec3]) -> Result<()> {
        self.plain(since);
        let time = self.take.start() + since;
        let head = self.head(since);
        let driven = match self.markers {
            Some(markers) => body.drive(Drive::Markers(&markers.sample(time))),
            None => body.drive(Drive::Weights(&self.weights)),
        };
        driven.map_err(|problem| Error::Request(problem.to_string()))?;
        body.set_head_pose(&head);
        self.player.before(body, &Moment { time: since, plain: &self.plain, shown, head });
        Ok(())
    }
}

fn deviation(shown: &[Vec3], plain: &[Vec3]) -> FrameDeviation {
    let mut found = FrameDeviation::default();
    let mut sum = 0.0;
    for (vertex, (a, b)) in (0u32..).zip(shown.iter().zip(plain)) {
        let distance = a.distance(*b);
        sum += f64::from(distance);
        if distance > found.worst {
            (found.worst, found.vertex) = (distance, vertex);
        }
    }
    FrameDeviation { mean: (sum / shown.len().max(1) as f64) as f32, ..found }
}

impl Outcome {
    /// An empty outcome with room for `count` frames.
    fn expecting(count: usize, frames: SpooledFrames) -> Self {
        Self {
            frames,
            deviations: Vec::with_capacity(count),
            penetration: Vec::with_capacity(count),
            props: Vec::new(),
            stages_ms: BTreeMap::new(),
            frame_ms: 0.0,
            frame_times: Vec::with_capacity(count),
            gate: GateReport::default(),
            gate_ms: 0.0,
        }
    }

    /// A warning for each prop that cut through the face instead of touching it.
    pub fn cut_through(&self) -> Vec<String> {
        self.props.iter().filter_map(|prop| prop.warning(self.frames.fps())).collect()
    }

    /// The deviation over all frames, or over those without touches; `None` if there are none.
    pub fn deviation(
        &self,
        face: &FaceModel,
        places: &Landmarks,
        untouched: bool,
    ) -> Option<DeviationSummary> {
        let fps = self.frames.fps();
        let counted = || self.deviations.iter().enumerate().filter(|(_, d)| !(untouched && d.touched));
        let (frame, worst) = counted().max_by(|(_, a), (_, b)| a.worst.total_cmp(&b.worst))?;
        let mean = counted().map(|(_, d)| f64::from(d.mean)).sum::<f64>() / counted().count() as f64;
        let at = face.neutral[worst.vertex as usize];
        Some(DeviationSummary {
            worst_percent: 100.0 * f64::from(worst.worst) / face.height,
            worst_mm: 1e3 * f64::from(worst.worst),
            mean_percent: 100.0 * mean / face.height,
            mean_mm: 1e3 * mean,
            vertex: worst.vertex,
            near: places.nearest(at).map_or_else(String::new, |place| place.name.clone()),
            seconds: frame as f64 / fps,
        })
    }
}

impl std::fmt::Display for DeviationSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "at most {:.3} % of the height ({:.3} mm, near {}, at {:.2} s), {:.4} % ({:.4} mm) on average",
            self.worst_percent, self.worst_mm, self.near, self.seconds, self.mean_percent, self.mean_mm
        )
    }
}

#[cfg(test)]
#[path = "performance_tests.rs"]
mod tests;
