//! Hands: groups of capsules that ride on bones, and fingers that pinch.
//!
//! A hand is one group of colliders with one reach test: a body first lists the skin near the whole hand, and tests capsules against that
//! skin only. Between two given poses each joint turns in the frame of its parent, so that sweeps follow a curling finger along its arc.

use glam::Vec3;
use zygoma_hand::{Bone, Finger, HandPose, Joint};
use zygoma_physics::contact::Pose;

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

/// A hand that touches a face.
#[derive(Clone, Debug)]
pub struct HandBody {
    frame: ColliderFrame,
    /// The collider of each bone.
    bones: [ColliderId; Bone::COUNT],
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

    /// Colliders of the bones, in the order of [`Bone::ALL`].
    pub fn bones(&self) -> &[ColliderId; Bone::COUNT] {
        &self.bones
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
    /// Adds a hand whose poses are in a frame, in metres. It always reaches the given pose.
    pub fn add_hand(&mut self, frame: ColliderFrame, pose: &HandPose, friction: f32) -> HandId {
        let bones = Bone::ALL.map(|bone| {
            let capsule = bone.capsule(pose);
            let id = self.add_in(frame, capsule.shape(), capsule.pose, ColliderMotion::Kinematic);
            if let Some(added) = self.get_mut(id) {
                added.friction = friction;
            }
            id
        });
        let id = HandId(self.next_name());
        for bone in bones {
            if let Some(added) = self.get_mut(bone) {
                added.hand = Some(id);
            }
        }
        let now = pose.scaled(self.handling.per_metre);
        let [before, shown] = [now; 2];
        let pinches = Default::default();
        let hand = HandBody { frame, bones, goal: *pose, way: [*pose; 2], before, now, shown, pinches };
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
        hand.bones.iter().for_each(|bone| self.remove(*bone));
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
        Some(self.hand(id)?.shown.scaled(1.0 / self.handling.per_metre))
    }

    /// Mean force of the skin on a hand in the last frame, by pressing and by holding, N at the face's own size, in the head's frame.
    pub fn hand_force(&self, id: HandId) -> Option<Vec3> {
        let hand = self.hand(id)?;
        let pressing: Vec3 =
            hand.bones.iter().filter_map(|bone| self.get(*bone)).map(ColliderBody::force).sum();
        let holding: Vec3 = hand.pinches.iter().filter_map(|pinch| self.pull_force(pinch.grab()?)).sum();
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

    /// Gives the bones of a hand their goals, and their shapes where a tracker changes them.
    fn aim_bones(&mut self, index: usize) {
        let goal = self.hands[index].1.goal;
        for (bone, id) in Bone::ALL.into_iter().zip(self.hands[index].1.bones) {
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
            let (parts, [before, now], ids) = (hand.parts(), hand.way, hand.bones);
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
            let per_metre = self.handling.per_metre;
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
            for id in self.hands[index].1.bones {
                if let Some(collider) = self.get_mut(id) {
                    collider.passes.clear();
                    collider.spared.clear();
                }
            }
        }
        released.into_iter().for_each(|grab| self.release(grab));
    }

    /// Moves hands to the end of a step, at a fraction of the frame.
    pub(super) fn move_hands(&mut self, fraction: f32, head: &HeadWay) {
        let per_metre = self.handling.per_metre;
        for (_, hand) in &mut self.hands {
            hand.before = hand.now;
            hand.now = hand.at(head, fraction, per_metre);
        }
    }

    /// Ends the frame, which is a fraction of a step before the end of the last step.
    pub(super) fn end_hands(&mut self, earlier: f32) {
        for (_, hand) in &mut self.hands {
            hand.shown = hand.now.between(&hand.before, earlier);
        }
    }

    fn bones_of(&self, id: HandId) -> impl Iterator<Item = &ColliderBody> + Clone {
        self.touches.iter().map(|(_, touch)| touch).filter(move |touch| touch.hand == Some(id))
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
