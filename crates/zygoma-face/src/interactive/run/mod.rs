//! A face at run time: Algorithm 1 of the paper, with contact at full resolution.

mod head;
mod rig;
mod samples;
mod touches;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use glam::{Vec3, Vec4, Vec4Swizzles};
use serde::{Deserialize, Serialize};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::shell::{Shell, ShellParams, StepMatrices, StepOrder, Stepper, Stiffness};

use super::Face;
use head::HeadMotion;
use rig::CoarseRig;
use samples::Samples;
use touches::Skin;
pub use touches::{Drive, PullId, Touch, TouchId, Touches};

/// Skin near colliders is watched from this share of the height away. Ours.
const WATCH: f32 = 0.03;

/// A face falls asleep only when it follows its target this closely, in heights. Ours.
const CLOSE: f32 = 2e-3;

/// Falling asleep moves no vertex by more than this per frame, in heights.
const UNSEEN: f32 = 1e-4;

/// Nothing moves faster than this, in heights per second, whatever squeezes it: 12 m/s on a life-size face. Ours.
const TOP_SPEED: f32 = 50.0;

/// Nothing is pushed or pulled farther than this from its target, in heights. Ours.
const FARTHEST: f32 = 0.5;

/// What may be changed while a face runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunParams {
    /// Parameters of the shell; `None`: those that the face was built with.
    pub shell: Option<ShellParams>,
    /// Factor on the fitted stiffness. Above 1 the certificate no longer holds.
    pub stiffness_scale: f64,
    /// Gravity, m/s², along −Y in the world.
    pub gravity: f64,
    /// Whether fine detail (eq. 13) is added.
    pub detail: bool,
    /// Seconds without touch after which the face falls asleep; `None`: never.
    pub sleep_after: Option<f64>,
}

impl Default for RunParams {
    fn default() -> Self {
        Self { shell: None, stiffness_scale: 1.0, gravity: 9.81, detail: true, sleep_after: Some(1.0) }
    }
}

/// Time spent in a frame, by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// Targets of the shell.
    pub rig: Duration,
    /// Gradients.
    pub gradient: Duration,
    /// Solves.
    pub solve: Duration,
    /// Depth, contact, pulls and strain.
    pub constraints: Duration,
    /// Warp and detail at full resolution.
    pub warp: Duration,
}

/// One frame of a face.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Positions of the whole mesh in the head's frame, in metres, in the rig's own order.
    pub positions: &'a [Vec3],
    /// Whether the face is asleep: this is the plain rig.
    pub asleep: bool,
}

/// Where the targets come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Weights,
    Surface,
}

/// Whether the shell is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wakefulness {
    /// Simulated; untouched for this many seconds.
    Awake { calm: f64 },
    /// Simulated, but only this share of its deviation from the target is shown.
    Drowsy { share: f32 },
    /// The plain rig.
    Asleep,
}

/// A face that can be touched.
#[derive(Debug)]
pub struct InteractiveFace {
    face: Arc<Face>,
    params: RunParams,
    stepper: Stepper,
    rig: CoarseRig,
    samples: Samples,
    touches: Touches,
    head: HeadMotion,
    pose: RigidMotion,
    weights: Vec<f32>,
    source: Source,
    surface: Vec<Vec3>,
    /// Where shell and mesh meet, in the order of the stepper.
    embedding: Vec<([u32; 3], [f32; 3])>,
    target: Vec<Vec4>,
    target_before: Vec<Vec4>,
    target_now: Vec<Vec4>,
    residual: Vec<Vec4>,
    normals: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    depth: Vec<f32>,
    /// Vertices whose depth is not limited in this step.
    overruled: Vec<bool>,
    /// Positions one step ago, to show the time between two steps.
    earlier: Vec<Vec4>,
    shown: Vec<Vec4>,
    base: Vec<Vec3>,
    output: Vec<Vec3>,
    output_normals: Vec<Vec3>,
    /// Times since the start in nanoseconds.
    frame_time: u64,
    step_time: u64,
    wakefulness: Wakefulness,
    is_first: bool,
    stages: Stages,
    pending: Option<Receiver<Option<StepMatrices>>>,
}

/// What a change of parameters means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamsChange {
    /// Whether the certificate of the build still covers the face.
    pub within_certificate: bool,
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}

impl InteractiveFace {
    /// Makes a face ready to run.
    pub fn new(face: &Face, params: RunParams) -> Result<Self, NotPositiveDefinite> {
        let face = Arc::new(face.clone());
        let free: Vec<bool> = face.held.iter().map(|held| !held).collect();
        let order = Arc::new(StepOrder::new(&face.shell, &free));
        let matrices =
            matrices(&face.shell, &face.stiffness, &shell_params(&face, &params), &params, &order)?;
        let stepper = Stepper::new(&face.shell, order.clone(), Arc::new(matrices));
        let rig = CoarseRig::new(&face, &order);
        let place = |v: u32| order.places[v as usize];
        let count = order.vertices.len();
        let embedding = (face.embedding.vertices.iter().zip(&face.embedding.weights))
            .map(|(vertices, weights)| (vertices.map(place), *weights))
            .collect();
        let rest = rig.rest().to_vec();
        Ok(Self {
            samples: Samples::new(&face, &order),
            touches: Touches::new(face.height),
            head: HeadMotion::new(),
            pose: RigidMotion { rotation: glam::DQuat::IDENTITY, translation: glam::DVec3::ZERO },
            weights: vec![0.0; face.shapes.len()],
            source: Source::Weights,
            surface: vec![Vec3::ZERO; face.vertex_count()],
            embedding,
            target: rest.clone(),
            target_before: rest.clone(),
            target_now: rest.clone(),
            residual: vec![Vec4::ZERO; count],
            normals: vec![Vec3::ZERO; count],
            triangles: face.shell.triangles.iter().map(|t| t.map(place)).collect(),
            depth: order.vertices.iter().map(|v| face.depth[*v as usize]).collect(),
            overruled: vec![false; count],
            earlier: rest.clone(),
            shown: rest,
            base: vec![Vec3::ZERO; face.vertex_count()],
            output: vec![Vec3::ZERO; face.vertex_count()],
            output_normals: vec![Vec3::ZERO; face.vertex_count()],
            frame_time: 0,
            step_time: 0,
            wakefulness: Wakefulness::Awake { calm: 0.0 },
            is_first: true,
            stages: Stages::default(),
            pending: None,
            stepper,
            rig,
            params,
            face,
        })
    }

    /// The face that runs.
    pub fn face(&self) -> &Face {
        &self.face
    }

    /// Weights of the shapes at the end of the next frame; missing ones are 0.
    pub fn set_weights(&mut self, weights: &[f32]) {
        self.source = Source::Weights;
        self.weights.fill(0.0);
        let finite = |w: &f32| if w.is_finite() { *w } else { 0.0 };
        for (own, weight) in self.weights.iter_mut().zip(weights) {
            *own = finite(weight);
        }
    }

    /// A surface that the face should take at the end of the next frame, in metres, in the rig's own order of
    /// vertices: for rigs that are not blendshapes. Returns false, and changes nothing, if its length is wrong.
    pub fn set_target(&mut self, surface: &[Vec3]) -> bool {
        if surface.len() != self.surface.len() || surface.iter().any(|p| !p.is_finite()) {
            return false;
        }
        self.source = Source::Surface;
        self.surface.copy_from_slice(surface);
        true
    }

    /// Where the head is at the end of the next frame.
    pub fn set_head_pose(&mut self, pose: &RigidMotion) {
        self.pose = *pose;
    }

    /// What presses and pulls.
    pub fn touches_mut(&mut self) -> &mut Touches {
        &mut self.touches
    }

    /// What presses and pulls.
    pub fn touches(&self) -> &Touches {
        &self.touches
    }

    /// Takes hold of the skin around a place (in metres, in the head's frame) to drag it.
    pub fn grab(&mut self, at: Vec3, radius: f32) -> PullId {
        if self.wakefulness == Wakefulness::Asleep {
            self.settle_at_target();
        }
        self.wakefulness = Wakefulness::Awake { calm: 0.0 };
        let distance = |v: &&u32| self.output[**v as usize].distance_squared(at);
        let nearest = self.face.skin.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let carriers = nearest.map_or([0; 3], |v| self.embedding[*v as usize].0);
        let free = self.stepper.order().free;
        self.touches.grab(at, radius, &carriers, self.stepper.positions(), free)
    }

    /// Time spent in the last frame.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// The matrices in use.
    pub fn matrices(&self) -> &StepMatrices {
        self.stepper.matrices()
    }

    /// The fastest that any vertex of the shell moves, in heights per second.
    pub fn top_speed(&self) -> f32 {
        self.stepper.velocities().iter().map(|v| v.length()).fold(0.0, f32::max)
    }

    /// Uses other parameters as soon as a thread has factored the new matrix.
    pub fn set_params(&mut self, params: RunParams) -> ParamsChange {
        let built = &self.face.params;
        let shell = shell_params(&self.face, &params);
        let within_certificate = self.face.certified.is_some()
            && params.stiffness_scale <= 1.0
            && shell.max_pressure >= built.max_pressure
            && shell.tolerance <= built.tolerance;
        let same_matrix = shell == shell_params(&self.face, &self.params)
            && params.stiffness_scale == self.params.stiffness_scale;
        if !same_matrix {
            let (sender, receiver) = channel();
            let (face, order) = (self.face.clone(), self.stepper.order().clone());
            let wanted = params.clone();
            std::thread::spawn(move || {
                let made = matrices(&face.shell, &face.stiffness, &shell, &wanted, &order).ok();
                // Nobody waits any more if parameters were changed again meanwhile.
                let _ = sender.send(made);
            });
            self.pending = Some(receiver);
        }
        self.params = params;
        ParamsChange { within_certificate }
    }

    /// Waits until changed parameters are in use.
    pub fn finish_params(&mut self) {
        if let Some(receiver) = self.pending.take()
            && let Ok(Some(made)) = receiver.recv()
        {
            self.stepper.replace_matrices(Arc::new(made));
        }
    }

    /// Advances by `seconds` and gives the surface then.
    ///
    /// Physics runs in steps of fixed length whatever the frame's; between two steps the surface is interpolated.
    pub fn advance(&mut self, seconds: f64) -> Frame<'_> {
        let began = Instant::now();
        self.stages = Stages::default();
        self.take_matrices();
        self.update_targets();
        self.head.advance(&self.pose, seconds);
        let start = self.frame_time;
        self.frame_time += nanoseconds(seconds);
        if self.is_first {
            self.settle_at_target();
            self.is_first = false;
        }
        self.stages.rig = began.elapsed();
        let touched = self.prepare_touches();
        self.rouse(touched, seconds);
        if self.wakefulness == Wakefulness::Asleep {
            self.step_time = self.frame_time;
            self.touches.jump(&self.head.pose(1.0));
            self.shown.copy_from_slice(&self.target_now);
        } else {
            self.run_steps(start, touched);
            self.show_between_steps();
        }
        let warping = Instant::now();
        self.warp();
        self.target_before.copy_from_slice(&self.target_now);
        self.stages.warp += warping.elapsed();
        Frame { positions: &self.output, asleep: self.wakefulness == Wakefulness::Asleep }
    }

    /// Normals of the last frame, computed now.
    pub fn normals(&mut self) -> &[Vec3] {
        self.output_normals.fill(Vec3::ZERO);
        for t in &self.face.triangles {
            let [a, b, c] = t.map(|v| self.output[v as usize]);
            let area = (b - a).cross(c - a);
            for v in t {
                self.output_normals[*v as usize] += area;
            }
        }
        for normal in &mut self.output_normals {
            *normal = normal.normalize_or(Vec3::Y);
        }
        &self.output_normals
    }

    fn take_matrices(&mut self) {
        let Some(receiver) = &self.pending else { return };
        match receiver.try_recv() {
            Ok(Some(made)) => self.stepper.replace_matrices(Arc::new(made)),
            Err(std::sync::mpsc::TryRecvError::Empty) => return,
            Ok(None) | Err(std::sync::mpsc::TryRecvError::Disconnected) => {}
        }
        self.pending = None;
    }

    /// Targets at the end of the frame, and what does not depend on the simulation of the surface then.
    fn update_targets(&mut self) {
        match self.source {
            Source::Weights => {
                self.rig.targets(&self.weights, &mut self.target_now, &mut self.residual);
                self.rig.detail(&self.weights, self.params.detail, &mut self.base);
            }
            Source::Surface => {
                let per_metre = (1.0 / self.face.height) as f32;
                let order = self.stepper.order();
                for (target, vertex) in self.target_now.iter_mut().zip(&order.vertices) {
                    let place = &self.face.places[*vertex as usize];
                    let corners = self.face.triangles[place.triangle as usize];
                    let at: Vec3 =
                        (0..3).map(|i| place.barycentric[i] as f32 * self.surface[corners[i] as usize]).sum();
                    *target = (per_metre * at).extend(0.0);
                }
                self.residual.copy_from_slice(self.rig.neutral_residual());
                let (rest, height) = (self.rig.rest(), self.face.height as f32);
                for (vertex, (corners, weights)) in self.embedding.iter().enumerate() {
                    let moved: Vec4 = (0..3)
                        .map(|i| {
                            let corner = corners[i] as usize;
                            weights[i] * (self.target_now[corner] - rest[corner])
                        })
                        .sum();
                    self.base[vertex] = self.surface[vertex] - height * moved.xyz();
                }
            }
        }
    }

    /// The shell at its target as it would rest there.
    fn settle_at_target(&mut self) {
        self.target_before.copy_from_slice(&self.target_now);
        for i in 0..self.shown.len() {
            self.shown[i] = self.target_now[i] - self.residual[i];
            self.earlier[i] = Vec4::ZERO;
        }
        self.stepper.place(&self.shown, &self.earlier);
        self.earlier.copy_from_slice(&self.shown);
    }

    fn prepare_touches(&mut self) -> bool {
        if self.touches.is_empty() {
            return false;
        }
        let began = Instant::now();
        self.touches.reserve(self.samples.len());
        let skin = Skin {
            samples: &self.samples,
            base: &self.base,
            rest: self.rig.rest(),
            residual: &self.residual,
        };
        let positions =
            if self.wakefulness == Wakefulness::Asleep { &self.target_now } else { self.stepper.positions() };
        let end = self.head.pose(1.0);
        self.touches.begin_frame(&skin, positions, &end, WATCH);
        let touched = self.touches.is_near() || self.touches.is_pulling();
        if touched {
            self.update_normals();
        }
        self.stages.constraints += began.elapsed();
        touched
    }

    /// Normals of the target, along which depth is measured.
    fn update_normals(&mut self) {
        self.normals.fill(Vec3::ZERO);
        for t in &self.triangles {
            let [a, b, c] = t.map(|v| self.target_now[v as usize].xyz());
            let area = (b - a).cross(c - a);
            for v in t {
                self.normals[*v as usize] += area;
            }
        }
        for normal in &mut self.normals {
            *normal = normal.normalize_or_zero();
        }
    }

    /// Starts to simulate again, moving as the rig does.
    fn wake(&mut self, seconds: f64) {
        if self.wakefulness == Wakefulness::Asleep {
            let rate = if seconds > 0.0 { (1.0 / seconds) as f32 } else { 0.0 };
            for i in 0..self.shown.len() {
                self.shown[i] = self.target_before[i] - self.residual[i];
                self.earlier[i] = rate * (self.target_now[i] - self.target_before[i]);
            }
            self.stepper.place(&self.shown, &self.earlier);
        }
        self.wakefulness = Wakefulness::Awake { calm: 0.0 };
    }

    /// Falls asleep when nothing happens for long, wakes up before something does.
    fn rouse(&mut self, touched: bool, seconds: f64) {
        let Some(patience) = self.params.sleep_after else {
            if self.wakefulness == Wakefulness::Asleep {
                self.wake(seconds);
            }
            return;
        };
        if touched || !self.head.is_still() || self.pending.is_some() {
            return self.wake(seconds);
        }
        self.wakefulness = match self.wakefulness {
            Wakefulness::Awake { calm } if calm < patience => Wakefulness::Awake { calm: calm + seconds },
            Wakefulness::Awake { .. } if self.deviation() < CLOSE => Wakefulness::Drowsy { share: 1.0 },
            Wakefulness::Drowsy { share } => {
                let deviation = self.deviation();
                let share = share - (UNSEEN / deviation.max(UNSEEN)).min(0.5);
                if deviation > 2.0 * CLOSE {
                    Wakefulness::Awake { calm: 0.0 }
                } else if share <= 0.0 {
                    Wakefulness::Asleep
                } else {
                    Wakefulness::Drowsy { share }
                }
            }
            same => same,
        };
    }

    /// How far the shown shell is from its target, in heights.
    fn deviation(&self) -> f32 {
        let shown = self.stepper.positions().iter().zip(&self.residual).map(|(x, r)| *x + *r);
        shown.zip(&self.target_before).map(|(s, t)| s.distance_squared(*t)).fold(0.0, f32::max).sqrt()
    }

    fn run_steps(&mut self, start: u64, touched: bool) {
        let step = self.stepper.step_time();
        let step_length = nanoseconds(f64::from(step).max(1e-6));
        let length = (self.frame_time - start).max(1) as f64;
        let motion = self.head.frame_motion(self.face.height, self.params.gravity);
        while self.step_time < self.frame_time {
            self.step_time += step_length;
            // β of Algorithm 1; a step that ends after the frame looks a little ahead.
            let share = ((self.step_time - start) as f64 / length) as f32;
            let began = Instant::now();
            for ((target, before), now) in
                self.target.iter_mut().zip(&self.target_before).zip(&self.target_now)
            {
                *target = *before + share * (*now - *before);
            }
            self.earlier.copy_from_slice(self.stepper.positions());
            self.stepper.assemble(&self.target, &motion);
            let assembled = Instant::now();
            self.stepper.solve(&self.target);
            let solved = Instant::now();
            self.stages.gradient += assembled - began;
            self.stages.solve += solved - assembled;
            if !self.touches.is_empty() {
                let pose = self.head.pose(f64::from(share.min(1.0)));
                self.touches.move_colliders(share, &pose, step);
            }
            if touched {
                self.constrain(share, step);
            }
            self.stepper.finish();
            if touched {
                // Skin does not bounce off a finger: without this it would tremble between the two.
                self.stepper.stop_bouncing(self.touches.pushed());
            }
            self.stages.constraints += solved.elapsed();
        }
    }

    fn constrain(&mut self, share: f32, step: f32) {
        let free = self.stepper.order().free;
        let matrices = self.stepper.matrices().clone();
        let (next, current) = self.stepper.next_mut();
        self.touches.mark_overruled(&mut self.overruled);
        for i in (0..free).filter(|i| !self.overruled[*i]) {
            let below = (next[i] - self.target[i]).xyz().dot(self.normals[i]) + self.depth[i];
            if below < 0.0 {
                next[i] -= (below * self.normals[i]).extend(0.0);
            }
        }
        let skin = Skin {
            samples: &self.samples,
            base: &self.base,
            rest: self.rig.rest(),
            residual: &self.residual,
        };
        self.touches.resolve(&skin, next, current, matrices.mass(), step, share);
        self.stepper.limit_strain();
        let (next, current) = self.stepper.next_mut();
        for i in 0..free {
            let slow = current[i] + (next[i] - current[i]).clamp_length_max(step * TOP_SPEED);
            next[i] = self.target[i] + (slow - self.target[i]).clamp_length_max(FARTHEST);
        }
    }

    /// The shell at the time of the frame, between the last two steps.
    fn show_between_steps(&mut self) {
        let late = (self.step_time - self.frame_time) as f32 * 1e-9 / self.stepper.step_time();
        let share = if let Wakefulness::Drowsy { share } = self.wakefulness { share } else { 1.0 };
        let positions = self.stepper.positions();
        for i in 0..positions.len() {
            let x = positions[i] + late * (self.earlier[i] - positions[i]) + self.residual[i];
            self.shown[i] = self.target_now[i] + share * (x - self.target_now[i]);
        }
    }

    /// The whole mesh from the shell (eq. 14).
    fn warp(&mut self) {
        let height = self.face.height as f32;
        for (shown, rest) in self.shown.iter_mut().zip(self.rig.rest()) {
            *shown = height * (*shown - *rest);
        }
        for ((output, base), (corners, weights)) in
            self.output.iter_mut().zip(&self.base).zip(&self.embedding)
        {
            let [a, b, c] = corners.map(|v| self.shown[v as usize]);
            let moved = weights[0] * a + weights[1] * b + weights[2] * c;
            *output = *base + moved.xyz();
        }
    }
}

fn shell_params(face: &Face, params: &RunParams) -> ShellParams {
    params.shell.clone().unwrap_or_else(|| face.params.clone())
}

fn matrices(
    shell: &Shell,
    stiffness: &Stiffness,
    shell_params: &ShellParams,
    params: &RunParams,
    order: &StepOrder,
) -> Result<StepMatrices, NotPositiveDefinite> {
    let scale = |values: &[f64]| values.iter().map(|value| params.stiffness_scale * value).collect();
    let scaled = Stiffness { strain: scale(&stiffness.strain), bending: scale(&stiffness.bending) };
    StepMatrices::new(shell, &scaled, shell_params, order)
}

#[cfg(test)]
mod tests;
