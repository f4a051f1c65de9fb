//! One collider that touches a face.

use glam::Quat;
use glam::Vec3;
use zygoma_physics::contact::{Collider, ColliderShape, MeshError, Pose};

use super::HeadWay;
use super::through::Passage;

/// How fast a driven collider comes to where it should be at least, 1/s. Ours.
const DRIVEN_RATE: f32 = 40.0;

/// Held skin is dragged no farther than this share of the face's height: some six centimetres on a life-size face, twice what a cheek bears.
/// Ours.
pub(crate) const LONGEST_GRAB: f32 = 0.25;

/// Where a collider is that has not been told yet: far from any face.
const NOWHERE: Pose = Pose { rotation: Quat::IDENTITY, translation: Vec3::splat(1e6) };

/// What a body that is touched tells about itself: the unit of its lengths, in which it reckons forces too, and how heavy what is driven
/// into it must be, so that its steps bear the collision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ContactScale {
    /// Units of length in a metre. Forces have as many units in a newton as there are units of area in a square metre.
    pub(crate) per_metre: f32,
    /// Least mass of a driven collider.
    pub(crate) least_mass: f32,
    /// No force accelerates a driven collider by more than this: a stronger one has more mass behind it.
    pub(crate) hardest: f32,
    /// A driven collider that is this far from where it should be is drawn there with all its force.
    pub(crate) strained: f32,
    /// Held skin is dragged no farther than this from where it was taken hold of.
    pub(crate) longest_pull: f32,
    /// Of the face.
    pub(crate) height: f32,
}

/// How a collider is moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColliderMotion {
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
pub struct ColliderBody {
    /// Where it should be at the end of the next frame.
    pub pose: Pose,
    /// How it is moved.
    pub drive: ColliderMotion,
    /// Coulomb friction between it and the skin; 0 as in the paper.
    pub friction: f32,
    pub(crate) shape: ColliderShape,
    /// In the body's unit of length, in the head's frame.
    pub(crate) collider: Collider,
    pub(crate) load: Load,
    pub(super) handling: ContactScale,
    /// Where the ends of its core are on their way through the face, and whether any it was through in this frame.
    pub(super) passages: [Passage; 2],
    pub(super) is_passing: bool,
    /// Where it should be, in the world, at the start and at the end of the frame; `None` until it is told.
    way: Option<[Pose; 2]>,
    /// How its vertices move in this frame, if it is a mesh that deforms.
    deforming: Option<Deforming>,
    velocity: Vec3,
    /// Where it was when the last frame ended, between two steps; in the head's frame, in metres.
    place: Pose,
}

/// Vertices of a mesh at the start and at the end of the frame, in the body's unit.
#[derive(Clone, Debug)]
struct Deforming {
    from: Vec<Vec3>,
    to: Vec<Vec3>,
    between: Vec<Vec3>,
    /// Whether they move in the frame that comes, and in the present one.
    is_next: bool,
    is_now: bool,
}

/// Forces summed over the steps of a frame, in the body's units, in the head's frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    force: Vec3,
    torque: Vec3,
    deepest: f32,
    steps: u32,
    /// The next step is the first of a frame.
    is_over: bool,
}

impl Load {
    /// The frame ends: its sums are kept until the first step of another.
    pub(crate) fn end_frame(&mut self) {
        self.is_over = true;
    }

    pub(crate) fn begin_step(&mut self) {
        if self.is_over {
            *self = Self::default();
        }
        self.steps += 1;
    }

    pub(crate) fn add(&mut self, force: Vec3, at: Vec3) {
        self.force += force;
        self.torque += at.cross(force);
    }

    pub(crate) fn note_depth(&mut self, depth: f32) {
        self.deepest = self.deepest.max(depth);
    }

    /// Mean force, N at the face's own size. The shell's pressures are those of the face, so forces grow with the area.
    pub(crate) fn force(&self, per_metre: f32) -> Vec3 {
        self.force / (self.steps.max(1) as f32 * per_metre.powi(2))
    }

    /// Mean torque about the origin of the head's frame, N m.
    pub(crate) fn torque(&self, per_metre: f32) -> Vec3 {
        self.torque / (self.steps.max(1) as f32 * per_metre.powi(3))
    }
}

impl ColliderBody {
    pub(crate) fn new(
        shape: ColliderShape,
        pose: Pose,
        drive: ColliderMotion,
        handling: ContactScale,
    ) -> Self {
        let mut touch = Self {
            collider: Collider::new(shape.scaled(handling.per_metre), NOWHERE),
            way: None,
            deforming: None,
            place: pose,
            shape,
            pose,
            drive,
            friction: 0.0,
            handling,
            passages: [Passage::default(); 2],
            is_passing: false,
            velocity: Vec3::ZERO,
            load: Load::default(),
        };
        touch.way = touch.told().map(|pose| [pose; 2]);
        touch
    }

    /// Mean force of the skin on the collider in the last frame, N at the face's own size, in the head's frame. The head
    /// feels the opposite.
    pub fn force(&self) -> Vec3 {
        -self.load.force(self.handling.per_metre)
    }

    /// Mean torque of the collider on the head in the last frame, about the origin of the head's frame, N m.
    pub fn head_torque(&self) -> Vec3 {
        self.load.torque(self.handling.per_metre)
    }

    /// Where the collider is when the frame ends, in the head's frame, in metres.
    pub fn place(&self) -> Pose {
        self.place
    }

    /// The deepest that any contact point was below its surface after a step of the last frame, in metres.
    pub fn deepest(&self) -> f32 {
        self.load.deepest / self.handling.per_metre
    }

    /// The shape, in metres.
    pub fn shape(&self) -> &ColliderShape {
        &self.shape
    }

    /// Where its vertices are at the end of the next frame, if it is a mesh; in metres.
    pub(crate) fn deform(&mut self, positions: &[Vec3]) -> Result<(), MeshError> {
        let (ColliderShape::Mesh(mesh), ColliderShape::Mesh(own)) = (&mut self.shape, &self.collider.shape)
        else {
            return Ok(());
        };
        mesh.deform(positions, 0.0)?;
        let deforming = self.deforming.get_or_insert_with(|| {
            let now = own.positions().to_vec();
            Deforming { from: now.clone(), to: now.clone(), between: now, is_next: false, is_now: false }
        });
        deforming.is_next = true;
        let per_metre = self.handling.per_metre;
        deforming.to.iter_mut().zip(positions).for_each(|(to, goal)| *to = per_metre * *goal);
        Ok(())
    }

    /// Where it should be at the end of the next frame, if that is anywhere.
    fn told(&self) -> Option<Pose> {
        let Pose { rotation, translation } = self.pose;
        let is_rotation = rotation.is_finite() && rotation.length_squared() > 1e-6;
        (is_rotation && translation.is_finite()).then(|| Pose { rotation: rotation.normalize(), translation })
    }

    /// A frame begins: from where the last one ended to where the collider is told to be. Poses that are none leave it where it is.
    pub(crate) fn begin_frame(&mut self) {
        let last = self.way.map(|[_, now]| now);
        self.way = self.told().or(last).map(|now| [last.unwrap_or(now), now]);
        self.load.end_frame();
        if let (Some(deforming), ColliderShape::Mesh(own)) = (&mut self.deforming, &mut self.collider.shape) {
            deforming.is_now = std::mem::take(&mut deforming.is_next);
            deforming.from.copy_from_slice(own.positions());
            own.hold();
        }
    }

    /// The frame ends, a share of a step before the last step does.
    pub(crate) fn end_frame(&mut self, earlier: f32) {
        let Pose { rotation, translation } = self.collider.now.between(&self.collider.before, earlier);
        self.place = Pose { rotation, translation: translation / self.handling.per_metre };
    }

    /// Puts the collider where it should be, while nothing is simulated.
    pub(crate) fn jump(&mut self, head: &HeadWay) {
        self.way = self.told().map(|pose| [pose; 2]).or(self.way);
        if let Some(deforming) = &mut self.deforming {
            deforming.is_now = std::mem::take(&mut deforming.is_next);
        }
        self.take_shape(1.0, 0.0);
        self.collider.now = self.wanted(head, 1.0);
        self.collider.before = self.collider.now;
        self.velocity = Vec3::ZERO;
        self.load = Load::default();
    }

    /// Where the collider should be at a share of the frame, in the head's frame, in the body's unit.
    pub(crate) fn wanted(&self, head: &HeadWay, share: f32) -> Pose {
        let Some([before, now]) = &self.way else { return NOWHERE };
        let world = before.between(now, share);
        let head = head.pose(f64::from(share));
        Pose {
            rotation: head.rotation.inverse() * world.rotation,
            translation: self.handling.per_metre * head.apply_inverse(world.translation),
        }
    }

    /// Where the collider is before it moves on, in the head's frame, in the body's unit.
    pub(super) fn start_pose(&self, head: &HeadWay) -> Pose {
        if self.collider.now == NOWHERE { self.wanted(head, 0.0) } else { self.collider.now }
    }

    /// Where the collider is when the frame begins, in the head's frame, in the body's unit.
    pub(crate) fn start(&self, head: &HeadWay) -> Vec3 {
        match self.drive {
            ColliderMotion::Bounded { .. } if self.collider.now != NOWHERE => self.collider.now.translation,
            _ => self.wanted(head, 0.0).translation,
        }
    }

    /// The largest force of a driven collider and its mass, in the body's units.
    fn strength(&self, force: f32) -> (f32, f32) {
        let ContactScale { per_metre, least_mass, hardest, .. } = self.handling;
        let most = force.max(0.0) * per_metre * per_metre;
        (most, least_mass.max(most / hardest))
    }

    /// How far a force in a step moves the collider.
    pub(crate) fn compliance(&self, seconds: f32) -> f32 {
        match self.drive {
            ColliderMotion::Kinematic => 0.0,
            ColliderMotion::Bounded { force } => seconds * seconds / self.strength(force).1,
        }
    }

    /// Moves the collider by a step that ends at a share of the frame, as if there were no skin.
    pub(crate) fn step(&mut self, head: &HeadWay, share: f32, seconds: f32) {
        let wanted = self.wanted(head, share);
        self.take_shape(share, seconds);
        // It comes from where it was added, not from the other end of the world.
        if self.collider.now == NOWHERE {
            self.collider.now = self.wanted(head, 0.0);
        }
        self.collider.before = self.collider.now;
        self.collider.duration = seconds;
        self.collider.now = match self.drive {
            ColliderMotion::Kinematic => wanted,
            ColliderMotion::Bounded { force } => {
                let (most, mass) = self.strength(force);
                let place = self.collider.now.translation;
                let rate = DRIVEN_RATE.max((most / (self.handling.strained * mass)).sqrt());
                let spring = mass * rate * rate * (wanted.translation - place);
                // The damping takes from the motion so far only: at rest the skin bears the whole pull.
                let slowed = self.velocity / (1.0 + 2.0 * seconds * rate);
                self.velocity = slowed + seconds / mass * spring.clamp_length_max(most);
                Pose { rotation: wanted.rotation, translation: place + seconds * self.velocity }
            }
        };
    }

    /// Gives a mesh the shape that it has at a share of the frame, at the end of a step.
    fn take_shape(&mut self, share: f32, seconds: f32) {
        let (Some(deforming), ColliderShape::Mesh(own)) = (&mut self.deforming, &mut self.collider.shape)
        else {
            return;
        };
        if !deforming.is_now {
            return;
        }
        let ends = deforming.from.iter().zip(&deforming.to);
        deforming.between.iter_mut().zip(ends).for_each(|(between, (a, b))| *between = a.lerp(*b, share));
        let fits = own.deform(&deforming.between, seconds);
        debug_assert!(fits.is_ok(), "vertices are as many as before, and finite");
    }

    /// Moves a driven collider freely, as part of no motion that it keeps.
    pub(crate) fn fly(&mut self, by: Vec3) {
        self.collider.before.translation += by;
        self.collider.now.translation += by;
    }

    /// The step is over: what the skin did to a driven collider becomes part of its motion.
    pub(crate) fn end_step(&mut self) {
        if let ColliderMotion::Bounded { .. } = self.drive {
            let moved = self.collider.now.translation - self.collider.before.translation;
            self.velocity = moved / self.collider.duration;
        }
    }
}
