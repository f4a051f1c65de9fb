//! What presses on and pulls at a face.

use glam::{Vec3, Vec4, Vec4Swizzles};
use zygoma_physics::contact::{Collider, ColliderShape, Pose};
use zygoma_physics::shell::Push;

use super::samples::Samples;

/// Sweeps over the contact points of a step; each leaves less penetration than the one before. Ours.
const SWEEPS: usize = 12;

/// Sweeps end when no point is deeper than this share of the height.
const ENOUGH: f32 = 2e-5;

/// A vertex of the shell that carries at least this much of a contact point moves with what pushes it. Ours.
const CARRIES: f32 = 0.2;

/// Points that are farther than this share of the height from every collider are not looked at again within a step.
const NEAR: f32 = 0.01;

/// How a collider is moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive {
    /// It is where it is told to be.
    Kinematic,
    /// It follows where it is told to be with a force of at most this many newtons (IFA §5.3), and the skin pushes back.
    Bounded {
        /// The largest force, N, at the face's own size.
        force: f32,
    },
}

/// A collider that touches a face. Lengths in metres, in the world: the head's pose applies.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Where it should be at the end of the next frame.
    pub pose: Pose,
    /// How it is moved.
    pub drive: Drive,
    /// Coulomb friction between it and the skin; 0 as in the paper.
    pub friction: f32,
    shape: ColliderShape,
    /// In heights, in the head's frame.
    collider: Collider,
    start: Pose,
    end: Pose,
    velocity: Vec3,
    /// Of the skin on the collider, in the last step.
    force: Vec3,
    force_sum: Vec3,
    torque_sum: Vec3,
    steps: u32,
    deepest: f32,
}

/// Names a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TouchId(usize);

/// Names a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullId(usize);

/// Skin that is held and dragged.
#[derive(Clone, Debug)]
struct Pull {
    pins: Vec<(u32, Vec3)>,
    start: Vec3,
    now: Vec3,
}

/// All touches and pulls of a face.
#[derive(Clone, Debug)]
pub struct Touches {
    touches: Vec<Option<Touch>>,
    pulls: Vec<Option<Pull>>,
    per_metre: f32,
    /// Candidates of the frame: touch, point and the point's offset.
    candidates: Vec<Candidate>,
    near: Vec<Candidate>,
    /// Vertices of the shell that were pushed in the last step, with the velocity of what pushed them.
    /// Those of kinematic colliders come first.
    pushed: Vec<Push>,
    pushed_by_kinematic: usize,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    touch: u32,
    sample: u32,
    offset: Vec3,
    before: Vec3,
}

/// What the skin does during a frame, for finding contacts.
pub(super) struct Skin<'a> {
    pub(super) samples: &'a Samples,
    pub(super) base: &'a [Vec3],
    pub(super) rest: &'a [Vec4],
    pub(super) residual: &'a [Vec4],
}

/// Mass of a driven collider, in the units of the shell. Ours: a few times what it touches, so that it is steady and light.
const DRIVEN_MASS: f32 = 0.005;

/// How fast a driven collider comes to where it should be, 1/s. Ours.
const DRIVEN_RATE: f32 = 40.0;

impl Touch {
    /// Mean force of the skin on the collider in the last frame, N at the face's own size, in the head's frame. The head
    /// feels the opposite.
    pub fn force(&self) -> Vec3 {
        self.force_sum / (self.steps.max(1) as f32 * self.per_metre().powi(2))
    }

    /// Mean torque of the collider on the head in the last frame, about the origin of the head's frame, N m.
    pub fn head_torque(&self) -> Vec3 {
        -self.torque_sum / (self.steps.max(1) as f32 * self.per_metre().powi(3))
    }

    /// Where the collider is, in the head's frame, in metres.
    pub fn place(&self) -> Pose {
        let Pose { rotation, translation } = self.collider.now;
        Pose { rotation, translation: translation / self.per_metre() }
    }

    /// The deepest that any contact point was below its surface after a step of the last frame, in metres.
    pub fn deepest(&self) -> f32 {
        self.deepest / self.per_metre()
    }

    /// The shape, in metres.
    pub fn shape(&self) -> &ColliderShape {
        &self.shape
    }

    fn per_metre(&self) -> f32 {
        // The collider is a scaled copy of the shape.
        let reach = self.shape.reach();
        if reach > 0.0 { self.collider.shape.reach() / reach } else { 1.0 }
    }
}

fn scaled(shape: &ColliderShape, by: f32) -> ColliderShape {
    match shape {
        ColliderShape::Sphere { radius } => ColliderShape::Sphere { radius: by * radius },
        ColliderShape::Capsule { half_length, radius } => {
            ColliderShape::Capsule { half_length: by * half_length, radius: by * radius }
        }
        ColliderShape::RoundedBox { half_extents, radius } => {
            ColliderShape::RoundedBox { half_extents: by * *half_extents, radius: by * radius }
        }
        ColliderShape::Mesh(mesh) => {
            let mut mesh = mesh.clone();
            let moved: Vec<Vec3> = mesh.positions().iter().map(|p| by * *p).collect();
            let fits = mesh.deform(&moved, 0.0).is_ok();
            debug_assert!(fits, "a scaled mesh has the same vertices");
            ColliderShape::Mesh(mesh)
        }
    }
}

impl Touches {
    pub(super) fn new(height: f64) -> Self {
        Self {
            touches: Vec::new(),
            pulls: Vec::new(),
            per_metre: (1.0 / height) as f32,
            candidates: Vec::new(),
            near: Vec::new(),
            pushed: Vec::new(),
            pushed_by_kinematic: 0,
        }
    }

    /// Adds a collider.
    pub fn add(&mut self, shape: ColliderShape, pose: Pose, drive: Drive) -> TouchId {
        let in_heights = Pose { translation: self.per_metre * pose.translation, ..pose };
        self.touches.push(Some(Touch {
            collider: Collider::new(scaled(&shape, self.per_metre), in_heights),
            start: in_heights,
            end: in_heights,
            shape,
            pose,
            drive,
            friction: 0.0,
            velocity: Vec3::ZERO,
            force: Vec3::ZERO,
            force_sum: Vec3::ZERO,
            torque_sum: Vec3::ZERO,
            steps: 0,
            deepest: 0.0,
        }));
        TouchId(self.touches.len() - 1)
    }

    /// A touch, to be moved; `None` after it was removed.
    pub fn get_mut(&mut self, id: TouchId) -> Option<&mut Touch> {
        self.touches.get_mut(id.0)?.as_mut()
    }

    /// A touch.
    pub fn get(&self, id: TouchId) -> Option<&Touch> {
        self.touches.get(id.0)?.as_ref()
    }

    /// Moves the vertices of a mesh collider, in metres; `seconds` is the time until the end of the next frame.
    pub fn deform(
        &mut self,
        id: TouchId,
        positions: &[Vec3],
        seconds: f32,
    ) -> Result<(), zygoma_physics::contact::MeshError> {
        let per_metre = self.per_metre;
        let Some(Some(touch)) = self.touches.get_mut(id.0) else { return Ok(()) };
        if let ColliderShape::Mesh(mesh) = &mut touch.shape {
            mesh.deform(positions, seconds)?;
            if let ColliderShape::Mesh(own) = &mut touch.collider.shape {
                let moved: Vec<Vec3> = positions.iter().map(|p| per_metre * *p).collect();
                own.deform(&moved, seconds)?;
            }
        }
        Ok(())
    }

    /// Takes a collider away.
    pub fn remove(&mut self, id: TouchId) {
        if let Some(touch) = self.touches.get_mut(id.0) {
            *touch = None;
        }
    }

    /// Drags held skin to a place, in metres in the head's frame.
    pub fn drag(&mut self, id: PullId, to: Vec3) {
        let per_metre = self.per_metre;
        if let Some(Some(pull)) = self.pulls.get_mut(id.0) {
            pull.now = per_metre * to;
        }
    }

    /// Lets go of held skin.
    pub fn release(&mut self, id: PullId) {
        if let Some(pull) = self.pulls.get_mut(id.0) {
            *pull = None;
        }
    }

    /// Pins the vertices of the shell within a radius of a place, and `also` those that carry the skin there.
    pub(super) fn grab(
        &mut self,
        at: Vec3,
        radius: f32,
        also: &[u32],
        positions: &[Vec4],
        free: usize,
    ) -> PullId {
        let (at, radius) = (self.per_metre * at, self.per_metre * radius);
        let is_held = |v: &u32| also.contains(v) || positions[*v as usize].xyz().distance(at) <= radius;
        let held = (0..free as u32).filter(is_held);
        let pins = held.map(|v| (v, positions[v as usize].xyz() - at)).collect();
        self.pulls.push(Some(Pull { pins, start: at, now: at }));
        PullId(self.pulls.len() - 1)
    }

    /// Whether nothing touches or pulls.
    pub fn is_empty(&self) -> bool {
        self.touches.iter().all(Option::is_none) && self.pulls.iter().all(Option::is_none)
    }

    /// Whether some skin is held.
    pub(super) fn is_pulling(&self) -> bool {
        self.pulls.iter().any(Option::is_some)
    }

    /// Whether a contact point is near any collider in this frame.
    pub(super) fn is_near(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// Vertices that were pushed in the last step, with the velocity of what pushed them.
    pub(super) fn pushed(&self) -> &[Push] {
        &self.pushed
    }

    /// Flags the vertices that a kinematic collider pushed in the last step: such a push is stronger than bone.
    pub(super) fn mark_overruled(&self, overruled: &mut [bool]) {
        overruled.fill(false);
        for push in self.pushed.iter().take(self.pushed_by_kinematic) {
            overruled[push.vertex as usize] = true;
        }
    }

    /// Makes room, so that frames need no memory of their own.
    pub(super) fn reserve(&mut self, samples: usize) {
        let wanted = samples * self.touches.len();
        self.candidates.reserve(wanted.saturating_sub(self.candidates.len()));
        self.near.reserve(wanted.saturating_sub(self.near.len()));
        self.pushed.reserve((9 * wanted).saturating_sub(self.pushed.len()));
    }

    /// Notes where colliders start and finds the points that they may meet in this frame. `margin` is how far skin may
    /// move meanwhile.
    pub(super) fn begin_frame(&mut self, skin: &Skin<'_>, positions: &[Vec4], head: &Pose, margin: f32) {
        let per_metre = self.per_metre;
        self.candidates.clear();
        for (index, touch) in (0u32..).zip(&mut self.touches) {
            let Some(touch) = touch else { continue };
            // A kinematic collider starts where the last frame ended: its last step may have looked ahead.
            touch.start = touch.end;
            touch.end = in_head(&touch.pose, head, per_metre);
            (touch.force_sum, touch.torque_sum, touch.steps) = (Vec3::ZERO, Vec3::ZERO, 0);
            touch.deepest = 0.0;
            let end = touch.end;
            let reach = touch.collider.shape.reach() + margin;
            let from = match touch.drive {
                Drive::Kinematic => touch.start.translation,
                Drive::Bounded { .. } => touch.collider.now.translation,
            };
            let to = end.translation;
            for (vertex, position) in positions.iter().enumerate() {
                let (group, spread) = skin.samples.group(vertex);
                let within = reach + 1.5 * spread;
                if group.is_empty() || distance_to_segment(position.xyz(), from, to) > within {
                    continue;
                }
                for sample in group {
                    let offset = skin.samples.offset(*sample, skin.base, per_metre, skin.rest, skin.residual);
                    self.candidates.push(Candidate {
                        touch: index,
                        sample: *sample,
                        offset,
                        before: Vec3::ZERO,
                    });
                }
            }
        }
        for pull in self.pulls.iter_mut().flatten() {
            pull.start = pull.now;
        }
    }

    /// Puts colliders where they should be, while nothing is simulated.
    pub(super) fn jump(&mut self, head: &Pose) {
        let per_metre = self.per_metre;
        for touch in self.touches.iter_mut().flatten() {
            touch.end = in_head(&touch.pose, head, per_metre);
            touch.collider.now = touch.end;
            (touch.velocity, touch.force) = (Vec3::ZERO, Vec3::ZERO);
        }
    }

    /// Moves colliders to where they are at the end of a step, `share` of the frame.
    pub(super) fn move_colliders(&mut self, share: f32, head: &Pose, step: f32) {
        let per_metre = self.per_metre;
        for touch in self.touches.iter_mut().flatten() {
            let end = in_head(&touch.pose, head, per_metre);
            touch.collider.before = touch.collider.now;
            touch.collider.duration = step;
            touch.collider.now = match touch.drive {
                Drive::Kinematic => touch.start.between(&end, share),
                Drive::Bounded { force } => {
                    let most = force * per_metre * per_metre;
                    let place = touch.collider.now.translation;
                    let spring = DRIVEN_MASS * DRIVEN_RATE * DRIVEN_RATE * (end.translation - place);
                    // Only the pull is bounded: the damping keeps it from bouncing on the skin.
                    let tracking =
                        spring.clamp_length_max(most) - 2.0 * DRIVEN_MASS * DRIVEN_RATE * touch.velocity;
                    touch.velocity += step / DRIVEN_MASS * (tracking + touch.force);
                    Pose { rotation: end.rotation, translation: place + step * touch.velocity }
                }
            };
        }
    }

    /// Pushes the skin out of the colliders and holds what is pulled. `next` are the shell's positions to be corrected,
    /// `current` those before the step.
    pub(super) fn resolve(
        &mut self,
        skin: &Skin<'_>,
        next: &mut [Vec4],
        current: &[Vec4],
        mass: &[f32],
        step: f32,
        share: f32,
    ) {
        let samples = skin.samples;
        for touch in self.touches.iter_mut().flatten() {
            touch.force = Vec3::ZERO;
            touch.steps += 1;
        }
        self.near.clear();
        self.pushed.clear();
        for candidate in &self.candidates {
            let Some(touch) = &self.touches[candidate.touch as usize] else { continue };
            let at = candidate.offset + samples.carried(candidate.sample, next);
            if touch.collider.probe(at, NEAR).is_some() {
                let before = candidate.offset + samples.carried(candidate.sample, current);
                self.near.push(Candidate { before, ..*candidate });
            }
        }
        let rate = 1.0 / (step * step);
        for _ in 0..SWEEPS {
            let mut deepest = 0.0f32;
            for candidate in &self.near {
                let Some(touch) = &mut self.touches[candidate.touch as usize] else { continue };
                let at = candidate.offset + samples.carried(candidate.sample, next);
                let Some(probe) = touch.collider.probe(at, 0.0) else { continue };
                deepest = deepest.max(-probe.distance);
                let mut correction = -probe.distance * probe.normal;
                if touch.friction > 0.0 {
                    // Sliding is held back by at most μ times the push (Coulomb, in positions).
                    let slide = at - candidate.before - step * probe.velocity;
                    let along = slide - slide.dot(probe.normal) * probe.normal;
                    correction -= along.clamp_length_max(touch.friction * -probe.distance);
                }
                let moved = rate * samples.push(candidate.sample, correction, next, mass);
                touch.force -= moved;
                touch.force_sum -= moved;
                touch.torque_sum -= probe.point.cross(moved);
            }
            if deepest < ENOUGH {
                break;
            }
        }
        for kinematic in [true, false] {
            for candidate in &self.near {
                let Some(touch) = &mut self.touches[candidate.touch as usize] else { continue };
                if (touch.drive == Drive::Kinematic) != kinematic {
                    continue;
                }
                let at = candidate.offset + samples.carried(candidate.sample, next);
                if let Some(probe) = touch.collider.probe(at, ENOUGH) {
                    touch.deepest = touch.deepest.max(-probe.distance);
                    let velocity = probe.velocity.clamp_length_max(super::TOP_SPEED);
                    let carriers = samples.follows(candidate.sample).iter().filter(|(_, w)| *w > CARRIES);
                    self.pushed.extend(carriers.map(|(v, _)| Push {
                        vertex: *v,
                        normal: probe.normal,
                        velocity,
                    }));
                }
            }
            if kinematic {
                self.pushed_by_kinematic = self.pushed.len();
            }
        }
        for pull in self.pulls.iter().flatten() {
            let handle = pull.start.lerp(pull.now, share.min(1.0));
            for (vertex, offset) in &pull.pins {
                next[*vertex as usize] = (handle + *offset).extend(0.0);
            }
        }
    }
}

/// A pose in the world seen from the head, in heights.
fn in_head(pose: &Pose, head: &Pose, per_metre: f32) -> Pose {
    Pose {
        rotation: head.rotation.inverse() * pose.rotation,
        translation: per_metre * head.apply_inverse(pose.translation),
    }
}

fn distance_to_segment(point: Vec3, from: Vec3, to: Vec3) -> f32 {
    let along = to - from;
    let share = ((point - from).dot(along) / along.length_squared().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    point.distance(from + share * along)
}
