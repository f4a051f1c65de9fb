//! A face performing a take while it is touched, and its measurements.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use glam::Vec3;
use serde::Serialize;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_hand::HandTake;
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::formats::markers::MarkerTake;
use zygoma_rig::frames::Frames;
use zygoma_rig::{Error, JointRole, Result, Rig, Take};

use super::hand_measure::{HandFrameMeasure, HandProbe};
use super::hands::{HandPlayer, HandProp, Hands};
use super::recording::{Recording, hash_of};
use super::spool::SpooledFrames;
use super::touch_script::{Moment, Player, Prop, TouchScript};
use super::watch::{Gate, GateReport, Watched};
use crate::body::{Body, Drive};
use crate::model::{FaceModel, Landmarks};

/// Seconds after a touch during which skin may still be returning. Ours.
const AFTERMATH: f64 = 0.5;

/// No hands.
static NO_HANDS: Hands = Hands {
    take: HandTake { left: Vec::new(), right: Vec::new() },
    cached: Vec::new(),
    skins: [None, None],
    press_with_skin: false,
};

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
    /// Weights of the shapes' materials, where they are not those of the take.
    pub materials: Option<&'a Take>,
    /// The recording of an earlier take: frames whose inputs have not changed are copied from it.
    pub edit_of: Option<&'a Recording>,
    /// The touches.
    pub touches: &'a TouchScript,
    /// Hands that touch the face besides those of the touches, and the skin of them all.
    pub hands: Option<&'a Hands>,
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
    /// Every hand.
    pub hands: Vec<HandProp>,
    /// Penetration of hands in each frame; `None` in frames without a hand.
    pub hand_measures: Vec<Option<HandFrameMeasure>>,
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
    /// Number of frames that were copied from a recording instead of simulated.
    pub copied: usize,
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
        self.run_recorded(body, observer, None)
    }

    /// Performs all frames, and records them.
    pub fn run_recorded(
        &self,
        body: &mut dyn Body,
        observer: &mut dyn Observer,
        mut record: Option<&mut Recording>,
    ) -> Result<Outcome> {
        let Self { face, rig, take, fps, .. } = *self;
        let has_own_hands = self.hands.is_some_and(|hands| !hands.is_empty());
        let is_touched = !self.touches.is_empty() || has_own_hands;
        if is_touched && (self.edit_of.is_some() || record.is_some()) {
            let problem = "a face that is touched cannot be recorded or edited; leave the touches out";
            return Err(Error::Request(problem.to_owned()));
        }
        if self.edit_of.is_some_and(|recording| !recording.fits(face.vertex_count(), fps)) {
            let problem = "the recording is of another face or frame rate; record this one";
            return Err(Error::Request(problem.to_owned()));
        }
        if is_touched && body.colliders().is_none() {
            let problem = format!("the {} cannot be touched; choose another body", body.name());
            return Err(Error::Request(problem));
        }
        let mut inputs = Inputs::new(self);
        let count = take.frame_count(fps);
        let mut outcome =
            Outcome::expecting(count, SpooledFrames::new(self.folder, fps, face.vertex_count(), count)?);
        let mut shown = rig.skin().positions.clone();
        let fraction = 1.0 / count as f64;
        let mut gate = self.gate(body);
        let mut known = 0.0;
        let inputs_of_frames: Vec<u64> = match (self.edit_of, &record) {
            (None, None) => Vec::new(),
            _ => (0..count).map(|frame| inputs.hash(frame as f64 / fps)).collect(),
        };
        let mut edit = self.edit_of.map(|recording| recording.edit(&inputs_of_frames));
        let has_hands = has_own_hands || !self.touches.hands.is_empty();
        let mut probe = if has_hands { self.hand_probe(&inputs.hands) } else { None };
        for frame in 0..count {
            let time = frame as f64 / fps;
            let began = Instant::now();
            if let Some(edit) = &edit
                && let Some(surface) = edit.copied(frame)
            {
                shown.copy_from_slice(surface);
                known = time;
                if let Some(state) = edit.state_after(frame) {
                    body.resume(state).map_err(Error::Request)?;
                }
                if let Some(record) = record.as_deref_mut() {
                    record.copy(edit.old(), frame);
                }
                let (_, plain) = inputs.plain(time);
                outcome.deviations.push(deviation(&shown, plain));
                outcome.penetration.push(0.0);
                outcome.frames.push(&shown)?;
                outcome.copied += 1;
                observer.progress(frame + 1, count);
                continue;
            }
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
            inputs.hands.after(body);
            let touched = self.is_touched(time);
            let head = inputs.head(time);
            let hands = inputs.hands.shown();
            let (weights, plain) = inputs.plain(time);
            let began = Instant::now();
            let mut watched = Watched {
                plain: body.followed().unwrap_or(plain),
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
            outcome.gate_ms += fraction * 1e3 * began.elapsed().as_secs_f64();
            spent += began.elapsed();
            outcome.frame_ms += fraction * 1e3 * spent.as_secs_f64();
            if frame > 0 {
                outcome.frame_times.push(1e3 * spent.as_secs_f64());
            }
            outcome.deviations.push(FrameDeviation { touched, ..deviation(&shown, plain) });
            for stage in body.stages() {
                *outcome.stages_ms.entry(stage.name).or_default() +=
                    fraction * 1e3 * stage.time.as_secs_f64();
            }
            outcome.penetration.push(body.penetration());
            outcome.hand_measures.push(if hands.is_empty() {
                None
            } else {
                probe.as_mut().map(|probe| probe.measure_meshes(&hands, &face.skin, (plain, &shown)))
            });
            observer.frame(body, &Performed { weights, shown: &shown, plain });
            outcome.frames.push(&shown)?;
            if let Some(edit) = &mut edit {
                edit.note(frame, || body.checkpoint());
            }
            if let Some(record) = record.as_deref_mut() {
                record.push(inputs_of_frames[frame], &shown, || body.checkpoint());
            }
            observer.progress(frame + 1, count);
        }
        outcome.gate = gate.report();
        outcome.props = inputs.player.into_props();
        outcome.hands = inputs.hands.into_props();
        Ok(outcome)
    }

    /// Whether anything touches the face at a time, or did a moment ago.
    fn is_touched(&self, time: f64) -> bool {
        self.touches.is_touched(time, AFTERMATH)
            || self.hands.is_some_and(|hands| hands.is_there(time, AFTERMATH))
    }

    /// Measures hands, apart from bone where there is any.
    fn hand_probe(&self, hands: &HandPlayer<'_>) -> Option<HandProbe> {
        Some(HandProbe::of(hands.meshes())?.with_inside(&self.face.inside))
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
    materials: Option<(&'a Take, Binding)>,
    binding: Binding,
    evaluator: Evaluator,
    player: Player<'a>,
    hands: HandPlayer<'a>,
    weights: Vec<f32>,
    plain: Vec<Vec3>,
}

impl<'a> Inputs<'a> {
    fn new(performance: &Performance<'a>) -> Self {
        let Performance { rig, take, touches, markers, materials, hands, .. } = *performance;
        let evaluator = Evaluator::new(rig.skin());
        Self {
            materials: materials.map(|take| (take, Binding::new(rig, take))),
            binding: Binding::new(rig, take),
            player: Player::new(touches),
            hands: HandPlayer::new(hands.unwrap_or(&NO_HANDS), &touches.hands),
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

    /// Hash of the inputs some seconds after the take's start.
    fn hash(&mut self, since: f64) -> u64 {
        let pose = self.head(since);
        let materials = self.material_weights(since).unwrap_or_default();
        let (weights, _) = self.plain(since);
        let single = weights.iter().chain(&materials).map(|weight| u64::from(weight.to_bits()));
        let double = pose.rotation.to_array().into_iter().chain(pose.translation.to_array());
        hash_of(single.chain(double.map(f64::to_bits)))
    }

    /// Weights of the materials some seconds after the take's start, if they have their own.
    fn material_weights(&self, since: f64) -> Option<Vec<f32>> {
        let (take, binding) = self.materials.as_ref()?;
        let mut weights = vec![0.0; self.weights.len()];
        binding.weights_at(take, self.rig.skin, take.start() + since, &mut weights);
        Some(weights)
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
        if let Some(weights) = self.material_weights(since) {
            let driven = body.drive(Drive::Materials(&weights));
            driven.map_err(|problem| Error::Request(problem.to_string()))?;
        }
        body.set_head_pose(&head);
        let moment = Moment { time: since, plain: &self.plain, shown };
        self.player.before(body, &moment);
        self.hands.before(body, &moment).map_err(|problem| Error::Request(problem.to_string()))
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
            hands: Vec::new(),
            hand_measures: Vec::with_capacity(count),
            stages_ms: BTreeMap::new(),
            frame_ms: 0.0,
            frame_times: Vec::with_capacity(count),
            gate: GateReport::default(),
            gate_ms: 0.0,
            copied: 0,
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
