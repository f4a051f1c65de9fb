//! A face performing a take while it is touched, with what that shows about it.

use std::path::Path;
use std::time::Instant;

use glam::Vec3;
use serde::Serialize;
use zygoma_face::interactive::{Face, InteractiveFace, Places, RunParams};
use zygoma_face::touch::Touchable;
use zygoma_face::watch::{Gate, GateReport, Watched};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::frames::Frames;
use zygoma_rig::{JointRole, Rig, Take};

use crate::progress::Progress;
use crate::spool::SpooledFrames;
use crate::touch_script::{Moment, Player, Prop, TouchScript};

/// Seconds after a touch in which skin may still be on its way back. Ours.
const AFTERMATH: f64 = 0.5;

/// A shell is told at least this often what to do, s: between frames it is told straight lines. Ours.
const LONGEST_INPUT: f64 = 1.0 / 60.0;

/// What is performed.
pub(crate) struct Performance<'a> {
    pub(crate) face: &'a Face,
    pub(crate) places: &'a Places,
    pub(crate) rig: &'a Rig,
    pub(crate) take: &'a Take,
    pub(crate) touches: &'a TouchScript,
    pub(crate) fps: f64,
    /// Where frames wait until they are written.
    pub(crate) folder: &'a Path,
}

/// What performs: a shell or flesh.
pub(crate) trait Body {
    /// What touches act on.
    fn touchable(&mut self) -> &mut dyn Touchable;

    /// What it should do at the next time that is known to it, which is a time of the take.
    fn aim(&mut self, weights: &[f32], head: &RigidMotion, time: f64);

    /// The next time that it has to know before it can be shown at `frame`, when all is known until `known`; seconds since the take's start.
    /// It depends on the frame rate as little as it can.
    fn next_input(&self, known: f64, frame: f64) -> Option<f64>;

    /// Comes to rest where it is aimed.
    fn settle(&mut self);

    /// Moves on to where it is aimed, as if it had always moved like that.
    fn glide(&mut self, seconds: f64);

    /// Moves on to where it is aimed.
    fn run(&mut self, seconds: f64);

    /// Gives the surface some seconds before the last known time, in rig space, in the head's frame.
    fn show(&mut self, seconds_ago: f64) -> &[Vec3];

    /// Elements that are inside out now; a shell has none.
    fn inverted(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Elements that the rig itself turns inside out at some weights.
    fn rig_inverts(&self, _weights: &[f32]) -> Vec<u32> {
        Vec::new()
    }

    /// Vertices of the whole mesh at some elements, without those that the rig itself turns inside out.
    fn vertices_at(&self, _elements: &[u32], _weights: &[f32]) -> Vec<u32> {
        Vec::new()
    }

    /// Vertices of the whole mesh that hang free and may be far from the rig; none if it is empty.
    fn free_vertices(&self) -> Vec<bool> {
        Vec::new()
    }

    /// Whether it is meant to be where the rig is.
    fn follows_rig(&self) -> bool {
        true
    }

    /// Goes back to the rig by a share for each vertex of the whole mesh.
    fn return_to_rig(&mut self, shares: &[f32]);

    /// Notes what there is to say about the frame that it moved on by.
    fn note(&mut self, frame: &Performed<'_>, outcome: &mut Outcome);
}

/// A frame that was performed.
pub(crate) struct Performed<'a> {
    pub(crate) weights: &'a [f32],
    /// The surface, and the plain rig's.
    pub(crate) shown: &'a [Vec3],
    pub(crate) plain: &'a [Vec3],
    /// What it is of all frames.
    pub(crate) share: f64,
}

/// What came of it.
pub(crate) struct Outcome {
    /// Simulated surfaces in rig space, in the head's frame.
    pub(crate) frames: SpooledFrames,
    /// How far each frame is from the plain rig.
    pub(crate) deviations: Vec<FrameDeviation>,
    /// The deepest that anything was in the skin in each frame, in metres.
    pub(crate) penetration: Vec<f32>,
    /// What touched the face.
    pub(crate) props: Vec<Prop>,
    /// Mean milliseconds per frame.
    pub(crate) stages: StagesMs,
    pub(crate) frame_ms: f64,
    /// Milliseconds of each frame but the first, which settles.
    pub(crate) frame_times: Vec<f64>,
    /// What the gate did, and mean milliseconds of it per frame.
    pub(crate) gate: GateReport,
    pub(crate) gate_ms: f64,
}

/// How far one frame is from the plain rig, in metres.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameDeviation {
    pub(crate) worst: f32,
    pub(crate) vertex: u32,
    pub(crate) mean: f32,
    /// Whether something touches the face, or did a moment ago.
    pub(crate) touched: bool,
}

/// Mean milliseconds per frame, by stage.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct StagesMs {
    rig: f64,
    gradient: f64,
    solve: f64,
    constraints: f64,
    /// The part of the constraints that is contact.
    contact: f64,
    warp: f64,
}

/// The worst and the mean of some frames.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DeviationSummary {
    pub(crate) worst_percent: f64,
    pub(crate) worst_mm: f64,
    pub(crate) mean_percent: f64,
    pub(crate) mean_mm: f64,
    /// Where and when the worst is.
    pub(crate) vertex: u32,
    pub(crate) near: String,
    pub(crate) seconds: f64,
}

impl Performance<'_> {
    /// Lets a body perform all frames of the take.
    pub(crate) fn run(&self, body: &mut dyn Body) -> anyhow::Result<Outcome> {
        let Self { face, rig, take, fps, .. } = *self;
        let mut inputs = Inputs::new(self);
        let count = take.frame_count(fps);
        let mut outcome =
            Outcome::waiting_for(count, SpooledFrames::new(self.folder, fps, face.vertex_count(), count)?);
        let mut shown = rig.skin().positions.clone();
        let share = 1.0 / count as f64;
        let mut gate = self.gate(body);
        let mut bar = Progress::new("simulating frames", count);
        let mut known = 0.0;
        for frame in 0..count {
            let time = frame as f64 / fps;
            let began = Instant::now();
            // The first frame is the face at rest in its first pose; if the take starts at speed, it moves from there on.
            if frame == 0 {
                inputs.aim(body, known, &shown);
                body.settle();
            }
            while let Some(next) = body.next_input(known, time) {
                inputs.aim(body, next, &shown);
                if known == 0.0 {
                    body.glide(next);
                } else {
                    body.run(next - known);
                }
                known = next;
            }
            shown.copy_from_slice(body.show(known - time));
            let mut spent = began.elapsed();
            inputs.player.after(body.touchable());
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
            if let Some(shares) = gate.watch(&mut watched) {
                body.return_to_rig(shares);
            }
            outcome.gate_ms += share * 1e3 * began.elapsed().as_secs_f64();
            spent += began.elapsed();
            outcome.frame_ms += share * 1e3 * spent.as_secs_f64();
            if frame > 0 {
                outcome.frame_times.push(1e3 * spent.as_secs_f64());
            }
            outcome.deviations.push(FrameDeviation { touched, ..deviation(&shown, plain) });
            body.note(&Performed { weights, shown: &shown, plain, share }, &mut outcome);
            outcome.frames.push(&shown)?;
            bar.set(frame + 1);
        }
        outcome.gate = gate.report();
        outcome.props = inputs.player.into_props();
        Ok(outcome)
    }

    /// Watches the body.
    fn gate(&self, body: &dyn Body) -> Gate {
        let mut gate = Gate::new(self.face, self.places, self.fps);
        gate.spare(&body.free_vertices());
        if !body.follows_rig() {
            gate.ignore_distance();
        }
        gate
    }
}

/// What a take and a script ask for, from time to time.
struct Inputs<'a> {
    rig: &'a Rig,
    take: &'a Take,
    binding: Binding,
    evaluator: Evaluator,
    player: Player<'a>,
    weights: Vec<f32>,
    plain: Vec<Vec3>,
}

impl<'a> Inputs<'a> {
    fn new(performance: &Performance<'a>) -> Self {
        let Performance { rig, take, touches, .. } = *performance;
        let evaluator = Evaluator::new(rig.skin());
        Self {
            binding: Binding::new(rig, take),
            player: Player::new(touches),
            weights: vec![0.0; evaluator.shape_count()],
            plain: vec![Vec3::ZERO; rig.skin().positions.len()],
            evaluator,
            rig,
            take,
        }
    }

    /// The take's weights some seconds after its start, and the plain rig's surface.
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

    /// Tells a body what to do some seconds after the take's start, and touches it; `shown` is its surface of the last frame.
    fn aim(&mut self, body: &mut dyn Body, since: f64, shown: &[Vec3]) {
        self.plain(since);
        let time = self.take.start() + since;
        let head = self.head(since);
        body.aim(&self.weights, &head, time);
        let moment = Moment { time: since, plain: &self.plain, shown, head };
        self.player.before(body.touchable(), &moment);
    }
}

/// A shell that never falls asleep.
pub(crate) struct ShellBody {
    running: InteractiveFace,
    shown: Vec<Vec3>,
}

impl ShellBody {
    pub(crate) fn new(face: &Face, params: RunParams) -> anyhow::Result<Self> {
        let params = RunParams { sleep_after: None, normals: false, ..params };
        Ok(Self { running: InteractiveFace::new(face, params)?, shown: face.neutral.clone() })
    }
}

impl Body for ShellBody {
    fn touchable(&mut self) -> &mut dyn Touchable {
        &mut self.running
    }

    fn aim(&mut self, weights: &[f32], head: &RigidMotion, _: f64) {
        self.running.set_weights(weights);
        self.running.set_head_pose(head);
    }

    fn next_input(&self, known: f64, frame: f64) -> Option<f64> {
        // Its surface is always a step old.
        let missing = frame + self.running.latency() - known;
        let parts = (missing / LONGEST_INPUT - 1e-6).ceil();
        (missing > 1e-9).then(|| known + missing / parts.max(1.0))
    }

    fn settle(&mut self) {
        self.shown.copy_from_slice(self.running.advance(0.0).positions);
    }

    fn glide(&mut self, seconds: f64) {
        self.run(seconds);
    }

    fn run(&mut self, seconds: f64) {
        self.shown.copy_from_slice(self.running.advance(seconds).positions);
    }

    fn show(&mut self, _: f64) -> &[Vec3] {
        &self.shown
    }

    fn return_to_rig(&mut self, shares: &[f32]) {
        self.running.return_to_rig(shares);
    }

    fn note(&mut self, frame: &Performed<'_>, outcome: &mut Outcome) {
        outcome.stages.add(self.running.stages(), 1e3 * frame.share);
        outcome.penetration.push(self.running.penetration());
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

impl StagesMs {
    fn add(&mut self, spent: &zygoma_face::interactive::Stages, share: f64) {
        self.rig += share * spent.rig.as_secs_f64();
        self.gradient += share * spent.gradient.as_secs_f64();
        self.solve += share * spent.solve.as_secs_f64();
        self.constraints += share * spent.constraints.as_secs_f64();
        self.contact += share * spent.contact.as_secs_f64();
        self.warp += share * spent.warp.as_secs_f64();
    }
}

impl Outcome {
    /// Nothing yet of so many frames.
    fn waiting_for(count: usize, frames: SpooledFrames) -> Self {
        Self {
            frames,
            deviations: Vec::with_capacity(count),
            penetration: Vec::with_capacity(count),
            props: Vec::new(),
            stages: StagesMs::default(),
            frame_ms: 0.0,
            frame_times: Vec::with_capacity(count),
            gate: GateReport::default(),
            gate_ms: 0.0,
        }
    }

    /// What cut through the face instead of touching it, as sentences.
    pub(crate) fn cut_through(&self) -> Vec<String> {
        self.props.iter().filter_map(|prop| prop.warning(self.frames.fps())).collect()
    }

    /// The deviation over all frames, or over those that nothing touches; `None` without any.
    pub(crate) fn deviation(
        &self,
        face: &Face,
        places: &Places,
        untouched: bool,
    ) -> Option<DeviationSummary> {
        let fps = self.frames.fps();
        let counted = || self.deviations.iter().enumerate().filter(|(_, d)| !(untouched && d.touched));
        let (frame, worst) = counted().max_by(|(_, a), (_, b)| a.worst.total_cmp(&b.worst))?;
        let mean = counted().map(|(_, d)| f64::from(d.mean)).sum::<f64>() / counted().count() as f64;
        let at = face.height as f32 * face.neutral[worst.vertex as usize];
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
mod tests;
