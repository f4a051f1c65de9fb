//! Hands: groups of capsules that ride on bones, or a skin that deforms with them; and fingers that pinch.
//!
//! A hand is one group of colliders with one reach test: a body first lists the skin near the whole hand, and tests capsules against that
//! skin only. Between two given poses each joint turns in the frame of its parent, so that sweeps follow a curling finger along its arc.

use std::sync::Arc;

use glam::Vec3;
use zygoma_geometry::TriMesh;
use zygoma_hand::{Bone, Finger, HandMesh, HandPose, Joint};
use zygoma_physics::contact::{ColliderMesh, ColliderShape, MeshError, Pose};

use super::HeadWay;
use super::collider_body::{ColliderBody, ColliderFrame, ColliderMotion};
use super::colliders::{ColliderId, Colliders};
use super::pinch::Pinch;

/// Coulomb friction between a hand and a face where nothing else is given. Ours: low for skin on skin, so that a stroke slides.
pub const HAND_FRICTION: f32 = 0.25;

/// A frame in which joints turn by more is followed in parts that turn by at most this angle, rad. Ours, as below.
const TURN: f32 = 0.1;
/// Maximum number of parts.
const MOST_PARTS: f32 = 12.0;

/// Identifies a hand; never reused by the same face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandId(pub(super) u64);

impl HandId {
    /// A number of its own.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// The surface with which a hand presses.
#[derive(Clone, Debug, Default)]
pub enum HandSurface {
    /// A capsule on each bone.
    #[default]
    Capsules,
    /// A closed mesh that is skinned to the joints.
    Skin(Arc<HandMesh>),
}

/// A hand that touches a face.
#[derive(Clone, Debug)]
pub struct HandBody {
    frame: ColliderFrame,
    /// The collider of each bone in the order of [`Bone::ALL`], or that of the skin.
    colliders: Vec<ColliderId>,
    surface: HandSurface,
    /// Vertices of the skin in the wrist's frame, in the body's unit; kept to save memory allocations.
    vertices: Vec<Vec3>,
    /// The goal at the end of the next frame, in metres in its frame.
    goal: HandPose,
    /// The goals at the start and at the end of the present frame.
    way: [HandPose; 2],
    /// The hand at the start and at the end of the last step, in the head's frame, in the body's unit.
    before: HandPose,
    pub(super) now: HandPose,
    /// The hand when the last frame ended, between two steps.
    shown: HandPose,
    pub(super) pinches: [Pinch; 4],
}

impl HandBody {
    /// Whether skin is held between the thumb and a finger.
    pub fn holds(&self, finger: Finger) -> bool {
        self.pinches[finger as usize].is_holding()
    }

    /// Whether it holds skin.
    pub fn is_holding(&self) -> bool {
        self.pinches.iter().any(Pinch::is_holding)
    }

    /// Its colliders: one for each bone in the order of [`Bone::ALL`], or one for the skin.
    pub fn colliders(&self) -> &[ColliderId] {
        &self.colliders
    }

    /// The surface with which it presses.
    pub fn surface(&self) -> &HandSurface {
        &self.surface
    }

    /// Bends the skin, if it presses with one, to the hand at a fraction of the frame.
    fn bend_skin(&mut self, fraction: f32, per_metre: f32) -> Option<(ColliderId, &[Vec3])> {
        let HandSurface::Skin(skin) = &self.surface else { return None };
        let [before, now] = &self.way;
        in_wrist(skin, &before.between(now, fraction), per_metre, &mut self.vertices);
        Some((*self.colliders.first()?, &self.vertices))
    }

    /// The hand at a fraction of the frame, in the head's frame, in the body's unit.
    fn at(&self, head: &HeadWay, fraction: f32, per_metre: f32) -> HandPose {
        let [before, now] = &self.way;
        let hand = before.between(now, fraction);
        let hand = match self.frame {
            ColliderFrame::Head => hand,
            ColliderFrame::World => hand.seen_from(&head.pose(f64::from(fraction))),
        };
        hand.scaled(per_metre)
    }

    /// Number of parts in which the frame is followed.
    fn parts(&self) -> usize {
        let [before, now] = &self.way;
        let angle = |joint: Joint| before[joint].rotation.angle_between(now[joint].rotation);
        let most = Joint::ALL.into_iter().map(angle).fold(0.0, f32::max);
        (most / TURN).ceil().clamp(1.0, MOST_PARTS) as usize
    }
}

/// The vertices of a skin in the frame of the wrist, in the body's unit.
fn in_wrist(skin: &HandMesh, hand: &HandPose, per_metre: f32, vertices: &mut Vec<Vec3>) {
    skin.pose_into(hand, vertices);
    let wrist = hand[Joint::Wrist];
    vertices.iter_mut().for_each(|p| *p = per_metre * wrist.apply_inverse(*p));
}

/// A ball around a hand on its way through a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub(crate) centre: Vec3,
    pub(crate) radius: f32,
}

impl Reach {
    /// The ball around some balls.
    fn around(balls: impl Iterator<Item = (Vec3, f32)> + Clone) -> Option<Self> {
        let count = balls.clone().count();
        if count == 0 {
            return None;
        }
        let centre = balls.clone().map(|(at, _)| at).sum::<Vec3>() / count as f32;
        let radius = balls.map(|(at, radius)| at.distance(centre) + radius).fold(0.0, f32::max);
        Some(Self { centre, radius })
    }

    /// Whether a point is within a distance of the ball.
    pub(crate) fn is_near(&self, at: Vec3, within: f32) -> bool {
        at.distance_squared(self.centre) <= (self.radius + within).powi(2)
    }
}

impl Colliders {
    /// Adds a hand whose poses are in a frame, in metres. It always reaches the given pose, and presses with a capsule on each bone.
    pub fn add_hand(&mut self, frame: ColliderFrame, pose: &HandPose, friction: f32) -> HandId {
        let colliders = Bone::ALL.map(|bone| {
            let capsule = bone.capsule(pose);
            self.add_in(frame, capsule.shape(), capsule.pose, ColliderMotion::Kinematic)
        });
        self.add_hand_of(frame, pose, friction, (colliders.to_vec(), HandSurface::Capsules))
    }

    /// Adds a hand that presses with a surface.
    ///
    /// # Errors
    /// If its skin is not closed.
    pub fn add_hand_with(
        &mut self,
        frame: ColliderFrame,
        pose: &HandPose,
        friction: f32,
        surface: &HandSurface,
    ) -> Result<HandId, MeshError> {
        let HandSurface::Skin(skin) = surface else { return Ok(self.add_hand(frame, pose, friction)) };
        let mut positions = Vec::new();
        in_wrist(skin, pose, 1.0, &mut positions);
        let TriMesh { triangles, .. } = &skin.rest;
        let mesh = ColliderMesh::new(positions, triangles.clone())?;
        let shape = ColliderShape::Mesh(Box::new(mesh));
        let collider = self.add_in(frame, shape, pose[Joint::Wrist], ColliderMotion::Kinematic);
        Ok(self.add_hand_of(frame, pose, friction, (vec![collider], surface.clone())))
    }

    fn add_hand_of(
        &mut self,
        frame: ColliderFrame,
        pose: &HandPose,
        friction: f32,
        (colliders, surface): (Vec<ColliderId>, HandSurface),
    ) -> HandId {
        let id = HandId(self.next_id());
        for collider in &colliders {
            if let Some(added) = self.get_mut(*collider) {
                (added.hand, added.friction) = (Some(id), friction);
            }
        }
        let now = pose.scaled(self.scale.per_metre);
        let [before, shown] = [now; 2];
        let (goal, way) = (*pose, [*pose; 2]);
        let (vertices, pinches) = Default::default();
        let hand = HandBody { frame, colliders, surface, vertices, goal, way, before, now, shown, pinches };
        self.hands.push((id, hand));
        id
    }

    /// Sets a hand's pose at the end of the next frame. An invalid pose leaves it where it is.
    pub fn move_hand(&mut self, id: HandId, pose: &HandPose) {
        if let Some((_, hand)) = self.hands.iter_mut().find(|(name, _)| *name == id)
            && pose.is_valid()
        {
            hand.goal = *pose;
        }
    }

    /// Removes a hand; skin that it holds is released.
    pub fn remove_hand(&mut self, id: HandId) {
        let Some(place) = self.hands.iter().position(|(name, _)| *name == id) else { return };
        let (_, hand) = self.hands.remove(place);
        hand.colliders.iter().for_each(|collider| self.remove(*collider));
        for grab in hand.pinches.iter().filter_map(Pinch::grab) {
            self.release(grab);
        }
    }

    /// All hands, with their identifiers.
    pub fn hands(&self) -> impl Iterator<Item = (HandId, &HandBody)> {
        self.hands.iter().map(|(name, hand)| (*name, hand))
    }

    /// A hand; `None` after it was removed.
    pub fn hand(&self, id: HandId) -> Option<&HandBody> {
        self.hands.iter().find(|(name, _)| *name == id).map(|(_, hand)| hand)
    }

    /// A hand's pose at the end of the last frame, in metres in the head's frame.
    pub fn hand_pose(&self, id: HandId) -> Option<HandPose> {
        Some(self.hand(id)?.shown.scaled(1.0 / self.scale.per_metre))
    }

    /// Mean force of the skin on a hand in the last frame, by pressing and by holding, N at the face's own size, in the head's frame.
    pub fn hand_force(&self, id: HandId) -> Option<Vec3> {
        let hand = self.hand(id)?;
        let pressing: Vec3 =
            hand.colliders.iter().filter_map(|collider| self.get(*collider)).map(ColliderBody::force).sum();
        let holding: Vec3 = hand.pinches.iter().filter_map(|pinch| self.grab_force(pinch.grab()?)).sum();
        Some(pressing + holding)
    }

    /// Begins a frame: bones start from their last goals and go to the next ones.
    pub(super) fn begin_hands(&mut self) {
        for index in 0..self.hands.len() {
            let hand = &mut self.hands[index].1;
            hand.way = [hand.way[1], hand.goal];
            self.aim_bones(index);
        }
    }

    /// Gives the colliders of a hand their goals, and bones their shapes where a tracker changes them.
    fn aim_bones(&mut self, index: usize) {
        let HandBody { goal, colliders, surface, .. } = &self.hands[index].1;
        let (goal, colliders) = (*goal, colliders.clone());
        if let (HandSurface::Skin(_), Some(skin)) = (surface, colliders.first()) {
            if let Some(collider) = self.get_mut(*skin) {
                collider.pose = goal[Joint::Wrist];
            }
            return;
        }
        for (bone, id) in Bone::ALL.into_iter().zip(colliders) {
            let capsule = bone.capsule(&goal);
            if let Some(collider) = self.get_mut(id) {
                collider.pose = capsule.pose;
                collider.reshape(capsule.shape());
            }
        }
    }

    /// Gives the bones the poses that they pass in the frame, after the colliders have begun it.
    pub(super) fn bend_hands(&mut self) {
        for index in 0..self.hands.len() {
            let hand = &self.hands[index].1;
            if matches!(hand.surface, HandSurface::Skin(_)) {
                continue;
            }
            let (parts, [before, now], ids) = (hand.parts(), hand.way, hand.colliders.clone());
            let passed: Vec<HandPose> =
                (1..parts).map(|part| before.between(&now, part as f32 / parts as f32)).collect();
            for (bone, id) in Bone::ALL.into_iter().zip(ids) {
                if let Some(collider) = self.get_mut(id) {
                    collider.passes.clear();
                    collider.passes.extend(passed.iter().map(|hand| bone.capsule(hand).pose));
                }
            }
        }
    }

    /// Teleports hands to their goals. Skin that they hold is released.
    pub(super) fn teleport_hands(&mut self, head: &HeadWay) {
        let mut released = Vec::new();
        for index in 0..self.hands.len() {
            let per_metre = self.scale.per_metre;
            let hand = &mut self.hands[index].1;
            hand.way = [hand.goal; 2];
            hand.now = hand.at(head, 1.0, per_metre);
            (hand.before, hand.shown) = (hand.now, hand.now);
            released.extend(hand.pinches.iter().filter_map(Pinch::grab));
            let now = hand.now;
            for (finger, pinch) in Finger::ALL.into_iter().zip(&mut hand.pinches) {
                *pinch = Pinch::open(&now, finger);
            }
            self.aim_bones(index);
            for id in self.hands[index].1.colliders.clone() {
                if let Some(collider) = self.get_mut(id) {
                    collider.passes.clear();
                    collider.spared.clear();
                }
            }
            self.bend_skin(index, 1.0, 0.0);
        }
        released.into_iter().for_each(|grab| self.release(grab));
    }

    /// Moves hands to the end of a step of some seconds, at a fraction of the frame.
    pub(super) fn move_hands(&mut self, fraction: f32, head: &HeadWay, seconds: f32) {
        let per_metre = self.scale.per_metre;
        for index in 0..self.hands.len() {
            let hand = &mut self.hands[index].1;
            hand.before = hand.now;
            hand.now = hand.at(head, fraction, per_metre);
            self.bend_skin(index, fraction, seconds);
        }
    }

    /// Bends the skin of a hand, if it presses with one, within some seconds.
    fn bend_skin(&mut self, index: usize, fraction: f32, seconds: f32) {
        let per_metre = self.scale.per_metre;
        let Some((id, vertices)) = self.hands[index].1.bend_skin(fraction, per_metre) else { return };
        if let Some((_, collider)) = self.entries.iter_mut().find(|(name, _)| *name == id) {
            collider.bend(vertices, seconds);
        }
    }

    /// Ends the frame, which is a fraction of a step before the end of the last step.
    pub(super) fn end_hands(&mut self, earlier: f32) {
        for (_, hand) in &mut self.hands {
            hand.shown = hand.now.between(&hand.before, earlier);
        }
    }

    fn bones_of(&self, id: HandId) -> impl Iterator<Item = &ColliderBody> + Clone {
        self.entries.iter().map(|(_, touch)| touch).filter(move |touch| touch.hand == Some(id))
    }

    /// The ball that holds the colliders of a hand throughout the present step, in the head's frame and the body's unit.
    pub(crate) fn reach_in_step(&self, id: HandId) -> Option<Reach> {
        Reach::around(self.bones_of(id).flat_map(|touch| {
            let radius = touch.bounding_radius();
            [&touch.collider.before, &touch.collider.now].map(|pose| (pose.translation, radius))
        }))
    }

    /// The ball that holds the colliders of a hand from their present poses to their goals at a fraction of the frame, in the head's
    /// frame and the body's unit.
    pub(crate) fn reach(&self, id: HandId, head: &HeadWay, fraction: f32) -> Option<Reach> {
        let balls = self.bones_of(id).flat_map(|touch| {
            let Pose { translation, .. } = touch.wanted(head, fraction);
            let radius = touch.bounding_radius();
            [(touch.start_pose(head).translation, radius), (translation, radius)]
        });
        let detour = self.bones_of(id).map(|touch| touch.detour(head)).fold(0.0, f32::max);
        Reach::around(balls).map(|reach| Reach { radius: reach.radius + detour, ..reach })
    }
}
