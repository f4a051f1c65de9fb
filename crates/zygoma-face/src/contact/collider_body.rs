//! A collider that touches a face.

use glam::Quat;
use glam::Vec3;
use zygoma_physics::contact::{Collider, ColliderShape, MeshError, Pose};

use super::HeadWay;
use super::hand::HandId;
use super::through::Passage;

/// Minimum rate at which a driven collider approaches its goal, 1/s. Ours.
const DRIVEN_RATE: f32 = 40.0;

/// A grab drags skin by at most this fraction of the face's height: some six centimetres on a life-size face, twice as far as a cheek
/// stretches. Ours.
pub(crate) const LONGEST_GRAB: f32 = 0.25;

/// A step that ends after this fraction of a frame ends with it: above rounding. Ours.
const ARRIVED: f32 = 1.0 - 1e-6;

/// The pose of a collider that has not been placed yet: far from any face.
const NOWHERE: Pose = Pose { rotation: Quat::IDENTITY, translation: Vec3::splat(1e6) };

/// Unit scale of a body, and limits on mass and acceleration of driven colliders that keep contact stable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ContactScale {
    /// Units of length per metre. A newton has as many units of force as a square metre has units of area.
    pub(crate) per_metre: f32,
    /// Minimum mass of a driven collider.
    pub(crate) least_mass: f32,
    /// Maximum acceleration of a driven collider by a force: a stronger force gives it more mass.
    pub(crate) hardest: f32,
    /// Distance from its goal at which a driven collider is pulled with its full force.
    pub(crate) strained: f32,
    /// Maximum distance by which a grab drags skin from where it was grabbed.
    pub(crate) longest_grab: f32,
    /// Height of the face.
    pub(crate) height: f32,
}

/// How a collider moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColliderMotion {
    /// It is exactly at its given pose.
    Kinematic,
    /// It follows its given pose with a force of at most this many newtons (IFA §5.3), and the skin pushes back.
    Bounded {
        /// The largest force, N, at the face's own size.
        force: f32,
    },
}

/// The frame that a collider's poses are given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColliderFrame {
    /// The world: the head moves past it.
    World,
    /// The head, which takes it along.
    Head,
}

/// A collider that touches a face. Lengths in metres, in its own [frame](ColliderFrame).
#[derive(Clone, Debug)]
pub struct ColliderBody {
    /// Its goal at the end of the next frame.
    pub pose: Pose,
    /// How it is moved.
    pub drive: ColliderMotion,
    /// Coulomb friction between it and the skin; 0 as in the paper.
    pub friction: f32,
    frame: ColliderFrame,
    /// Whether it belongs to the face itself, as teeth do.
    pub(crate) is_own: bool,
    /// Whether it is a bone of the face, which pushes nothing.
    pub(crate) is_bone: bool,
    pub(crate) shape: ColliderShape,
    /// In the body's unit of length, in the head's frame.
    pub(crate) collider: Collider,
    pub(crate) load: Load,
    pub(super) scale: ContactScale,
    /// Progress of each end of its core through the face, and whether either was through it in this frame.
    pub(super) passages: [Passage; 2],
    pub(super) is_passing: bool,
    /// The goal poses, in its frame, at the start and at the end of the frame; `None` until the first is given.
    way: Option<[Pose; 2]>,
    /// Poses that it passes between these, at equal times: for the bones of a hand, which bends.
    pub(super) passes: Vec<Pose>,
    /// The hand that it is a bone of.
    pub(crate) hand: Option<HandId>,
    /// Vertices of a shell whose skin it does not push, because its hand holds them; sorted. Held tissue yields, and is pushed.
    pub(super) spared: Vec<u32>,
    /// Motion of its vertices in this frame, if it is a deforming mesh.
    deforming: Option<Deforming>,
    /// Its vertices in metres, if it is the skin of a hand: room that is used again in every frame.
    shown: Vec<Vec3>,
    velocity: Vec3,
    /// Its pose when the last frame ended, between two steps; in the head's frame, in metres.
    place: Pose,
}

/// Vertices of a mesh at the start and at the end of the frame, in the body's unit.
#[derive(Clone, Debug)]
struct Deforming {
    from: Vec<Vec3>,
    to: Vec<Vec3>,
    between: Vec<Vec3>,
    /// Whether they move in the next frame, and in the current one.
    is_next: bool,
    is_now: bool,
    /// Whether a step has ended at their goal: frames end between two steps, and short ones have none.
    is_there: bool,
}

impl Deforming {
    /// Begins a frame: vertices that have a new goal, or have not reached the last one, move.
    fn begin_frame(&mut self) {
        self.is_there &= !std::mem::take(&mut self.is_next);
        self.is_now = !self.is_there;
    }
}

/// Forces summed over the steps of a frame, in the body's units, in the head's frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    force: Vec3,
    torque: Vec3,
    deepest: f32,
    steps: u32,
    /// Number of forces in the last step.
    contacts: usize,
    /// The next step is the first of a frame.
    is_over: bool,
}

impl Load {
    /// Ends the frame: its sums are kept until the first step of the next frame.
    pub(crate) fn end_frame(&mut self) {
        self.is_over = true;
    }

    pub(crate) fn begin_step(&mut self) {
        if self.is_over {
            *self = Self::default();
        }
        self.steps += 1;
        self.contacts = 0;
    }

    pub(crate) fn add(&mut self, force: Vec3, at: Vec3) {
        self.force += force;
        self.torque += at.cross(force);
        self.contacts += usize::from(force != Vec3::ZERO);
    }

    /// Number of points of the skin that were pushed in the last step.
    pub(crate) fn contacts(&self) -> usize {
        self.contacts
    }

    pub(crate) fn note_depth(&mut self, depth: f32) {
        self.deepest = self.deepest.max(depth);
    }

    /// Mean force, N at the face's own size. The shell's pressures are those of the face, so forces scale with the area.
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
        (frame, pose): (ColliderFrame, Pose),
        drive: ColliderMotion,
        scale: ContactScale,
    ) -> Self {
        let mut touch = Self {
            collider: Collider::new(shape.scaled(scale.per_metre), NOWHERE),
            way: None,
            passes: Vec::new(),
            hand: None,
            spared: Vec::new(),
            deforming: None,
            shown: Vec::new(),
            place: pose,
            shape,
            frame,
            is_own: false,
            is_bone: false,
            pose,
            drive,
            friction: 0.0,
            scale,
            passages: [Passage::default(); 2],
            is_passing: false,
            velocity: Vec3::ZERO,
            load: Load::default(),
        };
        touch.way = touch.goal_pose().map(|pose| [pose; 2]);
        touch
    }

    /// Mean force of the skin on the collider in the last frame, N at the face's own size, in the head's frame. The head
    /// feels the opposite.
    pub fn force(&self) -> Vec3 {
        -self.load.force(self.scale.per_metre)
    }

    /// Mean torque of the collider on the head in the last frame, about the origin of the head's frame, N m.
    pub fn head_torque(&self) -> Vec3 {
        self.load.torque(self.scale.per_metre)
    }

    /// The collider's pose at the end of the frame, in the head's frame, in metres.
    pub fn place(&self) -> Pose {
        self.place
    }

    /// The largest penetration of any contact point after a step of the last frame, in metres.
    pub fn deepest(&self) -> f32 {
        self.load.deepest / self.scale.per_metre
    }

    /// The shape, in metres.
    pub fn shape(&self) -> &ColliderShape {
        &self.shape
    }

    /// Sets the vertices at the end of the next frame, if it is a mesh; in metres.
    pub(crate) fn deform(&mut self, positions: &[Vec3]) -> Result<(), MeshError> {
        let (ColliderShape::Mesh(mesh), ColliderShape::Mesh(own)) =
            (&mut self.shape, &mut self.collider.shape)
        else {
            return Ok(());
        };
        mesh.deform(positions, 0.0)?;
        let deforming = self.deforming.get_or_insert_with(|| {
            let now = own.positions().to_vec();
            let [is_next, is_now] = [false; 2];
            Deforming { from: now.clone(), to: now.clone(), between: now, is_next, is_now, is_there: true }
        });
        deforming.is_next = true;
        own.reserve();
        let per_metre = self.scale.per_metre;
        deforming.to.iter_mut().zip(positions).for_each(|(to, goal)| *to = per_metre * *goal);
        Ok(())
    }

    /// The radius of a ball around the collider's origin that holds it throughout the frame, in the body's unit.
    pub(crate) fn bounding_radius(&self) -> f32 {
        let goal =
            self.deforming.iter().filter(|deforming| deforming.is_now).flat_map(|deforming| &deforming.to);
        goal.map(|p| p.length()).fold(self.collider.shape.bounding_radius(), f32::max)
    }

    /// The goal pose at the end of the next frame, if it is valid.
    fn goal_pose(&self) -> Option<Pose> {
        let Pose { rotation, translation } = self.pose;
        let is_rotation = rotation.is_finite() && rotation.length_squared() > 1e-6;
        (is_rotation && translation.is_finite()).then(|| Pose { rotation: rotation.normalize(), translation })
    }

    /// Moves a collider of the face itself: it is at its new pose at the end of the next step.
    pub(crate) fn follow_rig(&mut self, pose: Pose) {
        self.pose = pose;
        self.aim();
    }

    /// Starts from the last goal pose, towards the next one. Invalid poses leave the goal where it is.
    fn aim(&mut self) {
        let last = self.way.map(|[_, now]| now);
        self.way = self.goal_pose().or(last).map(|now| [last.unwrap_or(now), now]);
    }

    /// Begins a frame.
    pub(crate) fn begin_frame(&mut self) {
        self.aim();
        self.load.end_frame();
        if let (Some(deforming), ColliderShape::Mesh(own)) = (&mut self.deforming, &mut self.collider.shape) {
            deforming.begin_frame();
            deforming.from.copy_from_slice(own.positions());
            own.hold();
        }
    }

    /// Ends the frame, which is a fraction of a step before the end of the last step.
    pub(crate) fn end_frame(&mut self, earlier: f32) {
        let Pose { rotation, translation } = self.collider.now.between(&self.collider.before, earlier);
        self.place = Pose { rotation, translation: translation / self.scale.per_metre };
        self.show_deformed(earlier);
    }

    /// Gives the skin of a hand, in metres, its vertices a fraction of a step before the end of the last step. Other meshes that deform have those
    /// that they were given.
    fn show_deformed(&mut self, earlier: f32) {
        if let (Some(_), ColliderShape::Mesh(own), ColliderShape::Mesh(shown)) =
            (self.hand, &self.collider.shape, &mut self.shape)
        {
            self.shown.clear();
            self.shown.extend(own.positions_earlier(earlier).map(|p| p / self.scale.per_metre));
            let fits = shown.deform(&self.shown, 0.0);
            debug_assert!(fits.is_ok(), "vertices are as many as before, and finite");
        }
    }

    /// Teleports the collider to its goal while nothing is simulated.
    pub(crate) fn teleport(&mut self, head: &HeadWay) {
        self.way = self.goal_pose().map(|pose| [pose; 2]).or(self.way);
        if let Some(deforming) = &mut self.deforming {
            deforming.begin_frame();
        }
        self.take_shape(1.0, 0.0);
        self.collider.now = self.wanted(head, 1.0);
        self.collider.before = self.collider.now;
        self.velocity = Vec3::ZERO;
        self.load = Load::default();
    }

    /// The collider's goal at a fraction of the frame, in the head's frame, in the body's unit.
    pub(crate) fn wanted(&self, head: &HeadWay, fraction: f32) -> Pose {
        let Some([before, now]) = &self.way else { return NOWHERE };
        // The rig moves its colliders step by step.
        let fraction = if self.is_own { 1.0 } else { fraction };
        let Pose { rotation, translation } = self.passing(before, now, fraction);
        let per_metre = self.scale.per_metre;
        if self.frame == ColliderFrame::Head {
            return Pose { rotation, translation: per_metre * translation };
        }
        let head = head.pose(f64::from(fraction));
        Pose {
            rotation: head.rotation.inverse() * rotation,
            translation: per_metre * head.apply_inverse(translation),
        }
    }

    /// The pose at a fraction of the frame, in the collider's own frame.
    fn passing(&self, before: &Pose, now: &Pose, fraction: f32) -> Pose {
        let parts = self.passes.len() + 1;
        let part = ((fraction * parts as f32) as usize).min(parts - 1);
        let from = part.checked_sub(1).map_or(before, |last| &self.passes[last]);
        from.between(self.passes.get(part).unwrap_or(now), fraction * parts as f32 - part as f32)
    }

    /// The farthest that the collider's path in a frame leads from the straight line between its ends, in the body's unit.
    pub(crate) fn detour(&self, head: &HeadWay) -> f32 {
        if self.passes.is_empty() {
            return 0.0;
        }
        let (from, to) = (self.wanted(head, 0.0).translation, self.wanted(head, 1.0).translation);
        let parts = self.passes.len() + 1;
        let apart = |part: usize| {
            let fraction = part as f32 / parts as f32;
            self.wanted(head, fraction).translation.distance(from.lerp(to, fraction))
        };
        (1..parts).map(apart).fold(0.0, f32::max)
    }

    /// Gives the collider another shape, in metres.
    pub(super) fn reshape(&mut self, shape: ColliderShape) {
        self.collider.shape = shape.scaled(self.scale.per_metre);
        self.shape = shape;
    }

    /// Whether the collider leaves alone a point of the skin that is carried by some vertices: mostly by spared ones.
    pub(crate) fn spares(&self, carriers: &[(u32, f32)]) -> bool {
        let is_spared = |vertex: u32| self.spared.binary_search(&vertex).is_ok();
        let held = carriers.iter().filter(|(vertex, _)| is_spared(*vertex)).map(|(_, weight)| weight);
        !self.spared.is_empty() && held.sum::<f32>() > 0.5
    }

    /// The collider's pose before it moves on, in the head's frame, in the body's unit.
    pub(super) fn start_pose(&self, head: &HeadWay) -> Pose {
        if self.collider.now == NOWHERE { self.wanted(head, 0.0) } else { self.collider.now }
    }

    /// The collider's position at the start of the frame, in the head's frame, in the body's unit.
    pub(crate) fn start(&self, head: &HeadWay) -> Vec3 {
        match self.drive {
            ColliderMotion::Bounded { .. } if self.collider.now != NOWHERE => self.collider.now.translation,
            _ => self.wanted(head, 0.0).translation,
        }
    }

    /// The largest force of a driven collider and its mass, in the body's units.
    fn strength(&self, force: f32) -> (f32, f32) {
        let ContactScale { per_metre, least_mass, hardest, .. } = self.scale;
        let most = force.max(0.0) * per_metre * per_metre;
        (most, least_mass.max(most / hardest))
    }

    /// Displacement of the collider per unit of force in a step.
    pub(crate) fn compliance(&self, seconds: f32) -> f32 {
        match self.drive {
            ColliderMotion::Kinematic => 0.0,
            ColliderMotion::Bounded { force } => seconds * seconds / self.strength(force).1,
        }
    }

    /// Moves the collider by a step that ends at a fraction of the frame, ignoring the skin.
    pub(crate) fn step(&mut self, head: &HeadWay, fraction: f32, seconds: f32) {
        let wanted = self.wanted(head, fraction);
        self.take_shape(fraction, seconds);
        // A new collider starts where it was added, not at the far-away default pose.
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
                let rate = DRIVEN_RATE.max((most / (self.scale.strained * mass)).sqrt());
                let spring = mass * rate * rate * (wanted.translation - place);
                // Damping acts only on the velocity before the step: at rest the skin bears the whole force.
                let slowed = self.velocity / (1.0 + 2.0 * seconds * rate);
                self.velocity = slowed + seconds / mass * spring.clamp_length_max(most);
                Pose { rotation: wanted.rotation, translation: place + seconds * self.velocity }
            }
        };
    }

    /// Deforms a mesh to its shape at a fraction of the frame, at the end of a step.
    fn take_shape(&mut self, fraction: f32, seconds: f32) {
        let (Some(deforming), ColliderShape::Mesh(own)) = (&mut self.deforming, &mut self.collider.shape)
        else {
            return;
        };
        if !deforming.is_now {
            return;
        }
        let ends = deforming.from.iter().zip(&deforming.to);
        deforming.between.iter_mut().zip(ends).for_each(|(between, (a, b))| *between = a.lerp(*b, fraction));
        deforming.is_there = fraction > ARRIVED;
        let fits = own.deform(&deforming.between, seconds);
        debug_assert!(fits.is_ok(), "vertices are as many as before, and finite");
    }

    /// Gives a mesh its vertices at the end of a step of some seconds, in the body's unit.
    pub(super) fn bend(&mut self, vertices: &[Vec3], seconds: f32) {
        if let ColliderShape::Mesh(own) = &mut self.collider.shape {
            // Vertices that are not finite, or too many, leave it as it is.
            let _ = own.deform(vertices, seconds);
        }
    }

    /// Translates a driven collider without changing its velocity.
    pub(crate) fn fly(&mut self, by: Vec3) {
        self.collider.before.translation += by;
        self.collider.now.translation += by;
    }

    /// Ends the step: displacements by the skin become part of a driven collider's velocity.
    pub(crate) fn end_step(&mut self) {
        if let ColliderMotion::Bounded { .. } = self.drive {
            let moved = self.collider.now.translation - self.collider.before.translation;
            self.velocity = moved / self.collider.duration;
        }
    }
}
