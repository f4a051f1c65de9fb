//! A face at run time: IFA Algorithm 1, with contact at full resolution.

mod body;
mod contact;
mod head;
mod measure;
mod params;
mod recover;
mod rig;
mod sleep;
mod targets;
mod warp;

use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::{Vec3, Vec4, Vec4Swizzles};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::Checked;
use zygoma_physics::shell::{StepMatrices, StepOrder, Stepper};

use crate::contact::{
    Below, Colliders, ContactScale, LONGEST_GRAB, Order, PinchedSkin, SampledSkin, Samples,
};
use crate::model::FaceModel;
use crate::shell::model::ShellModel;
use contact::{Bone, ShellContact, Skin, Travel, is_beyond};
use head::HeadMotion;
pub use measure::Deviation;
use params::Pending;
pub use params::{ParamsChange, RunError, RunParams};
use rig::CoarseRig;
use sleep::Wakefulness;
use targets::{Carriers, Fans, Targets};

/// Contact candidates are searched within this fraction of the height from colliders, and farther the faster the skin moves. Ours.
const WATCH: f32 = 0.01;

/// Skin that moves farther than this in a frame, in face heights, is found again in the next. Ours.
const MOST_TRAVEL: f32 = 0.03;

/// A collider that comes this near, as a fraction of the height, wakes a sleeping face: 3 cm. Ours.
const WAKING: f32 = 0.12;

/// Maximum speed of a vertex, in face heights per second: 12 m/s on a life-size face. Ours.
const TOP_SPEED: f32 = 50.0;

/// Maximum distance of a vertex from its target, in face heights. Ours.
const FARTHEST: f32 = 0.5;

/// The longest simulated frame, s: after a pause, the time missed is not caught up. Ours.
const LONGEST_FRAME: f64 = 1.0;

/// Time spent in a frame, by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// Targets of the shell.
    pub rig: Duration,
    /// Gradients.
    pub gradient: Duration,
    /// Solves.
    pub solve: Duration,
    /// Depth, contact, grabs and strain limits, and the resulting velocities.
    pub constraints: Duration,
    /// The part of the constraints that is contact at full resolution and grabs.
    pub contact: Duration,
    /// Warp and detail at full resolution.
    pub warp: Duration,
    /// Normals at full resolution.
    pub normals: Duration,
}

/// One frame of a face.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Positions of the whole mesh in the head's frame, in metres, in the rig's own order.
    pub positions: &'a [Vec3],
    /// Unit normals of the whole mesh; not up to date if [`RunParams::normals`] is off.
    pub normals: &'a [Vec3],
    /// Whether the face is asleep, so that this is the plain rig.
    pub asleep: bool,
}

/// The source of the targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Weights,
    Surface,
}

/// A simulated face that can be touched.
#[derive(Clone, Debug)]
pub struct ShellBody {
    face: Arc<ShellModel>,
    params: RunParams,
    stepper: Stepper,
    rig: CoarseRig,
    samples: Samples,
    colliders: Colliders,
    contact: ShellContact,
    head: HeadMotion,
    pose: RigidMotion,
    weights: Vec<f32>,
    source: Source,
    surface: Vec<Vec3>,
    /// The embedding of the mesh in the shell, in the order of the stepper.
    embedding: Vec<Carriers>,
    /// The rig's targets at the start and at the end of the frame; between frames, `before` is the last frame's.
    before: Targets,
    now: Targets,
    /// The target at the end of a step.
    target: Vec<Vec4>,
    /// The shell's rest position then.
    rested: Vec<Vec4>,
    triangles: Vec<[u32; 3]>,
    fans: Fans,
    depth: Vec<f32>,
    shown: Vec<Vec4>,
    /// Buffer for velocities while the shell is placed.
    scratch: Vec<Vec4>,
    output: Vec<Vec3>,
    output_normals: Vec<Vec3>,
    /// Times since the start in nanoseconds.
    frame_time: u64,
    step_time: u64,
    wakefulness: Wakefulness,
    /// Whether no frame has been requested yet, and whether none with a length above 0.
    is_first: bool,
    is_starting: bool,
    stages: Stages,
    pending: Pending,
}

/// Limits each vertex to its maximum depth below its rest position. A kinematic collider, which is applied after this, overrules bone.
fn limit_depth(next: &mut [Vec4], bone: &mut Bone<'_>) {
    for (i, next) in next.iter_mut().enumerate() {
        if bone.may_be_below(i, *next) {
            let (below, normal) = bone.below(i, *next);
            if below < 0.0 {
                *next -= (below * normal).extend(0.0);
            }
        }
    }
}

/// The contact scale of a shell: its units are face heights, and forces per height². A driven collider is a few times as heavy as the
/// skin that it touches, so that it is stable but light; a step of a strong one moves it by no more than 0.4 % of the height into an
/// obstacle. Ours.
fn contact_scale(height: f64) -> ContactScale {
    ContactScale {
        per_metre: (1.0 / height) as f32,
        least_mass: 0.005,
        hardest: 1000.0,
        strained: 0.02,
        longest_grab: LONGEST_GRAB,
        height: 1.0,
    }
}

/// Triangles of the whole mesh that follow the shell fully.
fn followed_triangles(face: &ShellModel) -> Vec<[u32; 3]> {
    let follows = |v: &u32| face.embedding.weights[*v as usize].iter().sum::<f32>() > 0.999;
    face.triangles.iter().filter(|t| t.iter().all(follows)).copied().collect()
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}

impl ShellBody {
    /// Prepares a face to run.
    pub fn new(face: &FaceModel, params: RunParams) -> Result<Self, RunError> {
        Self::of_shell(Arc::new(ShellModel::new(face)?), params)
    }

    /// [`new`](Self::new) for a shell model that is already loaded.
    pub(in crate::shell) fn of_shell(face: Arc<ShellModel>, params: RunParams) -> Result<Self, RunError> {
        params.check()?;
        let free: Vec<bool> = face.held.iter().map(|held| !held).collect();
        let order = Arc::new(StepOrder::new(&face.shell, &free));
        let matrices = params.matrices(&face, &order)?;
        let stepper = Stepper::new(&face.shell, order.clone(), Arc::new(matrices));
        let rig = CoarseRig::new(&face, &order);
        let rows = Order {
            rest: &face.shell.rest,
            places: &order.places,
            vertices: &order.vertices,
            free: order.free,
        };
        let skin =
            SampledSkin { skin: &face.skin, triangles: &face.triangles, neutral: &face.neutral, height: 1.0 };
        let samples = Samples::new(&skin, &face.embedding, &rows);
        let place = |v: u32| order.places[v as usize];
        let embedding = (face.embedding.vertices.iter().zip(&face.embedding.weights))
            .map(|(vertices, weights)| (vertices.map(place), *weights))
            .collect();
        let rest = rig.rest().to_vec();
        let triangles: Vec<[u32; 3]> = face.shell.triangles.iter().map(|t| t.map(place)).collect();
        Ok(Self {
            colliders: Colliders::new(
                contact_scale(face.height),
                samples.len(),
                followed_triangles(&face).into(),
            ),
            contact: ShellContact::new(rest.len(), samples.len()),
            samples,
            head: HeadMotion::new(),
            pose: RigidMotion { rotation: glam::DQuat::IDENTITY, translation: glam::DVec3::ZERO },
            weights: vec![0.0; face.shapes.len()],
            source: Source::Weights,
            surface: vec![Vec3::ZERO; face.vertex_count()],
            embedding,
            before: Targets::new(&face, &rig),
            now: Targets::new(&face, &rig),
            target: rest.clone(),
            rested: rest.clone(),
            fans: Fans::new(rest.len(), &triangles),
            triangles,
            depth: order.vertices.iter().map(|v| face.fitted.depth[*v as usize]).collect(),
            scratch: rest.clone(),
            shown: rest,
            output: vec![Vec3::ZERO; face.vertex_count()],
            output_normals: vec![Vec3::Y; face.vertex_count()],
            frame_time: 0,
            step_time: 0,
            wakefulness: Wakefulness::Awake { calm: 0.0 },
            is_first: true,
            is_starting: true,
            stages: Stages::default(),
            pending: Pending::default(),
            stepper,
            rig,
            params,
            face,
        })
    }

    /// The face that runs.
    pub fn face(&self) -> &ShellModel {
        &self.face
    }

    /// The parameters that were last set.
    pub fn params(&self) -> &RunParams {
        &self.params
    }

    /// Sets the weights of the shapes at the end of the next frame; missing ones are 0.
    pub fn set_weights(&mut self, weights: &[f32]) {
        self.source = Source::Weights;
        self.weights.fill(0.0);
        let finite = |w: &f32| if w.is_finite() { *w } else { 0.0 };
        for (own, weight) in self.weights.iter_mut().zip(weights) {
            *own = finite(weight);
        }
    }

    /// Sets a target surface for the end of the next frame, in metres, in the rig's own order of vertices: for rigs that are not
    /// blendshapes. Returns false, and changes nothing, if its length is wrong.
    pub fn set_target(&mut self, surface: &[Vec3]) -> bool {
        if surface.len() != self.surface.len() || surface.iter().any(|p| !p.is_finite()) {
            return false;
        }
        self.source = Source::Surface;
        self.surface.copy_from_slice(surface);
        true
    }

    /// Time spent in the last frame.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// The matrices in use.
    pub fn matrices(&self) -> &StepMatrices {
        self.stepper.matrices()
    }

    /// Uses other parameters as soon as a thread has factored the new matrix. Parameters out of range are ignored; if the matrix cannot
    /// be factored, the old one stays in use.
    pub fn set_params(&mut self, params: RunParams) -> ParamsChange {
        if params.check().is_err() {
            return ParamsChange { within_certificate: self.within_certificate() };
        }
        self.pending.start(&self.face, self.stepper.order(), &self.params, &params);
        self.params = params;
        ParamsChange { within_certificate: self.within_certificate() }
    }

    /// Whether the certificate of the build covers the face with its present parameters.
    pub fn within_certificate(&self) -> bool {
        self.params.within_certificate(&self.face)
    }

    /// Age of the surface that [`advance`](Self::advance) returns, relative to the end of the last frame, s: one step of the physics.
    pub fn latency(&self) -> f64 {
        f64::from(self.stepper.step_time())
    }

    /// Advances by `seconds` and returns the surface of one [latency](Self::latency) before. Does not allocate.
    ///
    /// Physics runs in steps of fixed length, independent of the frame's, and never beyond the frame's end, where the input is unknown.
    /// The surface is interpolated between the last two steps. The first frame sets the initial state; the face starts as if it had
    /// always moved as in the second.
    pub fn advance(&mut self, seconds: f64) -> Frame<'_> {
        let seconds = if seconds.is_finite() { seconds.clamp(0.0, LONGEST_FRAME) } else { 0.0 };
        let began = Instant::now();
        self.stages = Stages::default();
        if let Some(made) = self.pending.take() {
            self.pending.retire(self.stepper.replace_matrices(made));
        }
        self.update_targets();
        self.head.advance(&self.pose, seconds);
        let start = self.frame_time;
        self.frame_time += nanoseconds(seconds);
        if self.is_first {
            self.settle_at_target();
            self.is_first = false;
        }
        if self.is_starting && seconds > 0.0 {
            self.place_between(0.0, seconds);
            self.is_starting = false;
        }
        self.stages.rig = began.elapsed();
        let touched = self.prepare_touches(seconds);
        self.update_sleep(touched, seconds);
        if self.is_asleep() {
            self.step_time = self.frame_time;
            self.colliders.teleport(&self.head.way());
            self.show_target(seconds);
        } else {
            self.run_steps(start, touched);
            self.show_between_steps();
        }
        self.colliders.end_frame(self.lateness());
        let warping = Instant::now();
        self.warp();
        std::mem::swap(&mut self.before, &mut self.now);
        let warped = Instant::now();
        self.stages.warp = warped - warping;
        if self.params.normals {
            self.update_output_normals();
            self.stages.normals = warped.elapsed();
        }
        self.last_frame()
    }

    /// The frame that [`advance`](Self::advance) returned last.
    pub fn last_frame(&self) -> Frame<'_> {
        Frame { positions: &self.output, normals: &self.output_normals, asleep: self.is_asleep() }
    }

    fn update_targets(&mut self) {
        match self.source {
            Source::Weights => self.now.set_weights(&self.rig, &self.weights, self.params.detail),
            Source::Surface => {
                let vertices = &self.stepper.order().vertices;
                self.now.set_surface(&self.face, &self.rig, vertices, &self.embedding, &self.surface);
            }
        }
    }

    /// Places the shell at its rest position for the current target.
    fn settle_at_target(&mut self) {
        self.before.copy_from(&self.now);
        self.scratch.fill(Vec4::ZERO);
        self.stepper.place(&self.now.rested, &self.scratch);
    }

    /// Finds contact candidates for this frame. Returns whether anything is touched.
    fn prepare_touches(&mut self, seconds: f64) -> bool {
        if self.colliders.is_empty() {
            return false;
        }
        let began = Instant::now();
        let asleep = self.is_asleep();
        let skin = Skin {
            samples: &self.samples,
            rest: self.rig.rest(),
            per_metre: (1.0 / self.face.height) as f32,
            before: self.before.layer(),
            now: self.now.layer(),
            shell: if asleep { &self.before.target } else { self.stepper.positions() },
            travel: Travel {
                targets: [&self.before.target, &self.now.target],
                velocities: self.stepper.velocities(),
                seconds: seconds as f32,
                most: MOST_TRAVEL,
            },
        };
        let way = self.head.way();
        let target = &self.now.target;
        let below = |at| Below::new(at, target.iter().map(|p| p.xyz()), |v| self.fans.normal(v, target));
        self.colliders.begin_frame();
        self.colliders.iter_mut().for_each(|touch| touch.pass(&way, 1.0, below));
        let margin = if asleep { WAKING } else { WATCH };
        self.contact.find_candidates(&mut self.colliders, &skin, &way, margin);
        self.stages.contact = began.elapsed();
        self.stages.constraints = self.stages.contact;
        self.colliders.is_near() || self.colliders.has_grabs()
    }

    fn run_steps(&mut self, start: u64, touched: bool) {
        let step = self.stepper.step_time();
        let step_length = nanoseconds(f64::from(step).max(1e-6));
        let length = (self.frame_time - start).max(1) as f64;
        while self.step_time + step_length <= self.frame_time {
            self.step_time += step_length;
            // β of IFA Algorithm 1.
            let fraction = self.step_time.saturating_sub(start) as f64 / length;
            let motion = self.head.at(fraction, self.face.height, &self.params);
            let fraction = fraction as f32;
            let began = Instant::now();
            for ((target, before), now) in
                self.target.iter_mut().zip(&self.before.target).zip(&self.now.target)
            {
                *target = *before + fraction * (*now - *before);
            }
            self.stepper.assemble(&self.target, &motion);
            let assembled = Instant::now();
            self.stepper.solve(&self.target);
            let solved = Instant::now();
            self.stages.gradient += assembled - began;
            self.stages.solve += solved - assembled;
            self.colliders.move_colliders(fraction, &self.head.way(), step);
            if touched {
                self.pinch(fraction);
            }
            self.constrain(fraction, touched);
            self.stepper.finish();
            self.stages.constraints += solved.elapsed();
        }
    }

    /// Lets hands grab and release skin.
    fn pinch(&mut self, fraction: f32) {
        if self.colliders.hands().next().is_none() {
            return;
        }
        let free = self.stepper.order().free;
        let (next, _) = self.stepper.next_mut();
        let (samples, rest) = (&self.samples, self.rig.rest());
        let (layers, per_metre) = ([self.before.layer(), self.now.layer()], (1.0 / self.face.height) as f32);
        let sample = |sample: u32| {
            let [before, now] = layers.map(|layer| samples.offset(sample, &layer, per_metre, rest));
            before + fraction * (now - before) + samples.carried(sample, next)
        };
        let vertex = |vertex: u32| next[vertex as usize].xyz();
        self.colliders.update_pinches(&PinchedSkin { samples, free, sample: &sample, vertex: &vertex });
    }

    /// Applies depth, contact and the limits of strain and speed to the next positions.
    fn constrain(&mut self, fraction: f32, touched: bool) {
        if touched || self.stepper.is_overstretched() || self.is_far(fraction) {
            self.find_rest(fraction);
            let matrices = self.stepper.matrices().clone();
            let free = self.stepper.order().free;
            let (next, current) = self.stepper.next_mut();
            let targets = [&mut self.before, &mut self.now];
            let mut bone = Bone::at(targets, &self.fans, fraction, &self.rested, &self.depth);
            limit_depth(&mut next[..free], &mut bone);
            if touched {
                let began = Instant::now();
                self.contact.resolve(
                    &mut self.colliders,
                    &self.samples,
                    &mut bone,
                    (next, current),
                    (&matrices, fraction),
                );
                self.stages.contact += began.elapsed();
            }
            self.stepper.limit_strain(&self.rested);
            self.limit_speed();
        }
    }

    /// Whether any vertex is so far from its rest position that it may be too deep. Most of the time none is, and no normals are needed.
    fn is_far(&mut self, fraction: f32) -> bool {
        let free = self.stepper.order().free;
        let (next, _) = self.stepper.next_mut();
        let resting = self.before.rested[..free].iter().zip(&self.now.rested);
        let placed = next.iter().zip(&self.depth);
        resting.zip(placed).fold(false, |any, ((before, now), (next, depth))| {
            any | is_beyond(*next - (*before + fraction * (*now - *before)), *depth)
        })
    }

    /// Computes the shell's rest position, at which its corrected surface is at the target: no limit applies there.
    fn find_rest(&mut self, fraction: f32) {
        let resting = self.before.rested.iter().zip(&self.now.rested);
        for (rested, (before, now)) in self.rested.iter_mut().zip(resting) {
            *rested = *before + fraction * (*now - *before);
        }
    }

    fn limit_speed(&mut self) {
        let free = self.stepper.order().free;
        let most = self.stepper.step_time() * TOP_SPEED;
        let (next, current) = self.stepper.next_mut();
        let is_wild =
            |i: usize| is_beyond(next[i] - current[i], most) | is_beyond(next[i] - self.target[i], FARTHEST);
        // Branch-free per vertex, for speed; it is hardly ever true.
        if !(0..free).fold(false, |any, i| any | is_wild(i)) {
            return;
        }
        for i in 0..free {
            let near = self.target[i] + (next[i] - self.target[i]).clamp_length_max(FARTHEST);
            next[i] = current[i] + (near - current[i]).clamp_length_max(most);
        }
    }

    /// Age of the shown surface relative to the end of the last step, as a fraction of the step.
    fn lateness(&self) -> f32 {
        let since = self.frame_time.saturating_sub(self.step_time) as f32 * 1e-9;
        (1.0 - since / self.stepper.step_time()).clamp(0.0, 1.0)
    }

    /// Interpolates the target at the time of the shown surface.
    fn show_target(&mut self, seconds: f64) {
        let late = if seconds > 0.0 { (self.latency() / seconds).min(1.0) as f32 } else { 0.0 };
        for ((shown, now), before) in self.shown.iter_mut().zip(&self.now.target).zip(&self.before.target) {
            *shown = *now + late * (*before - *now);
        }
    }

    /// Interpolates the shell between the last two steps.
    fn show_between_steps(&mut self) {
        let (late, fraction) = (self.lateness(), self.shown_fraction());
        let (positions, earlier) = (self.stepper.positions(), self.stepper.earlier());
        for i in 0..positions.len() {
            let x = positions[i] + late * (earlier[i] - positions[i]) + self.now.residual[i];
            self.shown[i] = self.now.target[i] + fraction * (x - self.now.target[i]);
        }
    }

    /// Warps the whole mesh by the shell (IFA eq. 14).
    fn warp(&mut self) {
        let height = self.face.height as f32;
        for (shown, rest) in self.shown.iter_mut().zip(self.rig.rest()) {
            *shown = height * (*shown - *rest);
        }
        warp::warp(&self.now.base, &self.shown, &self.embedding, &mut self.output);
    }

    fn update_output_normals(&mut self) {
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
    }
}

#[cfg(test)]
mod tests;
