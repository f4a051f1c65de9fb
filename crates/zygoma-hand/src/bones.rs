//! The bones of a hand, and the capsules that ride on them.

use std::f32::consts::FRAC_PI_2;

use glam::{Quat, Vec3};
use zygoma_physics::contact::{ColliderShape, Pose};

use crate::joints::Joint;
use crate::pose::HandPose;

/// A bone: a segment between two joints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bone {
    /// The joint that it turns with.
    pub from: Joint,
    /// Its other end.
    pub to: Joint,
}

/// The capsule of a bone, along Y of its pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    /// Its pose; the origin is in its middle.
    pub pose: Pose,
    /// From the middle to either end of its core.
    pub half_length: f32,
    /// Distance of its surface from the core.
    pub radius: f32,
}

impl Capsule {
    /// The same capsule as the shape of a collider.
    pub fn shape(&self) -> ColliderShape {
        ColliderShape::Capsule { half_length: self.half_length, radius: self.radius }
    }

    /// Signed distance of a point, negative inside.
    pub fn distance(&self, point: Vec3) -> f32 {
        let local = self.pose.apply_inverse(point);
        let along = local.y.clamp(-self.half_length, self.half_length);
        (local - along * Vec3::Y).length() - self.radius
    }

    /// The point of its surface nearest to a point.
    pub fn leave(&self, point: Vec3) -> Vec3 {
        let local = self.pose.apply_inverse(point);
        let core = local.y.clamp(-self.half_length, self.half_length) * Vec3::Y;
        self.pose.apply(core + self.radius * (local - core).normalize_or(Vec3::Z))
    }
}

const fn bone(from: Joint, to: Joint) -> Bone {
    Bone { from, to }
}

impl Bone {
    /// Number of bones.
    pub const COUNT: usize = 21;

    /// All bones: three of the thumb, four of each finger, and two that fill the heel of the hand.
    pub const ALL: [Self; Self::COUNT] = [
        bone(Joint::ThumbMetacarpal, Joint::ThumbProximal),
        bone(Joint::ThumbProximal, Joint::ThumbDistal),
        bone(Joint::ThumbDistal, Joint::ThumbTip),
        bone(Joint::IndexMetacarpal, Joint::IndexProximal),
        bone(Joint::IndexProximal, Joint::IndexIntermediate),
        bone(Joint::IndexIntermediate, Joint::IndexDistal),
        bone(Joint::IndexDistal, Joint::IndexTip),
        bone(Joint::MiddleMetacarpal, Joint::MiddleProximal),
        bone(Joint::MiddleProximal, Joint::MiddleIntermediate),
        bone(Joint::MiddleIntermediate, Joint::MiddleDistal),
        bone(Joint::MiddleDistal, Joint::MiddleTip),
        bone(Joint::RingMetacarpal, Joint::RingProximal),
        bone(Joint::RingProximal, Joint::RingIntermediate),
        bone(Joint::RingIntermediate, Joint::RingDistal),
        bone(Joint::RingDistal, Joint::RingTip),
        bone(Joint::PinkyMetacarpal, Joint::PinkyProximal),
        bone(Joint::PinkyProximal, Joint::PinkyIntermediate),
        bone(Joint::PinkyIntermediate, Joint::PinkyDistal),
        bone(Joint::PinkyDistal, Joint::PinkyTip),
        bone(Joint::Wrist, Joint::MiddleMetacarpal),
        bone(Joint::IndexMetacarpal, Joint::PinkyMetacarpal),
    ];

    /// Its capsule in a pose of the hand. The radius is the mean of its joints' radii.
    pub fn capsule(self, hand: &HandPose) -> Capsule {
        let [a, b] = [self.from, self.to].map(|joint| hand.at(joint));
        let turned = hand[self.from].rotation * Quat::from_rotation_x(-FRAC_PI_2);
        // The shortest turn from the joint's axis to the bone, so that the capsule also rolls as its joint does.
        let along = (b - a).try_normalize().unwrap_or(turned * Vec3::Y);
        let rotation = (Quat::from_rotation_arc(turned * Vec3::Y, along) * turned).normalize();
        Capsule {
            pose: Pose { rotation, translation: 0.5 * (a + b) },
            half_length: 0.5 * a.distance(b),
            radius: 0.5 * (hand.radius(self.from) + hand.radius(self.to)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Posture, Side};

    #[test]
    fn capsules_reach_from_joint_to_joint_and_turn_with_the_hand() {
        let hand = Posture::pinch(0.01).pose(Side::Left);
        let by = Pose { rotation: Quat::from_rotation_z(2.0), translation: Vec3::Y };
        for bone in Bone::ALL {
            let capsule = bone.capsule(&hand);
            let ends = [-1.0, 1.0].map(|end| capsule.pose.apply(end * capsule.half_length * Vec3::Y));
            assert!(ends[0].distance(hand.at(bone.from)) < 1e-6 && ends[1].distance(hand.at(bone.to)) < 1e-6);
            let moved = bone.capsule(&hand.moved(&by));
            let turned = by.rotation * capsule.pose.rotation;
            assert!(moved.pose.rotation.dot(turned).abs() > 0.99999, "{bone:?}");
            assert!((capsule.distance(ends[1]) + capsule.radius).abs() < 1e-6);
            let inside = ends[0].lerp(ends[1], 0.3) + 0.4 * capsule.radius * Vec3::X;
            assert!(capsule.distance(capsule.leave(inside)).abs() < 1e-6);
        }
    }
}
