//! A hand's joints at one time.

use std::ops::Index;

use glam::{Quat, Vec3};
use zygoma_physics::contact::Pose;

use crate::joints::{Finger, Joint, Side};

/// A hand at one time: the pose and the radius of each joint, in metres.
///
/// Joints are oriented as in WebXR: −Z along the bone towards the tip, +Y out of the back of the hand. The radius is the distance from
/// the joint to the skin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandPose {
    /// Poses of the joints, in the order of [`Joint::ALL`].
    pub joints: [Pose; Joint::COUNT],
    /// Radii of the joints.
    pub radii: [f32; Joint::COUNT],
}

impl Index<Joint> for HandPose {
    type Output = Pose;

    fn index(&self, joint: Joint) -> &Pose {
        &self.joints[joint as usize]
    }
}

impl HandPose {
    /// Whether every number is finite, every rotation has a length, and radii are positive.
    pub fn is_valid(&self) -> bool {
        let is_pose = |pose: &Pose| {
            pose.translation.is_finite() && pose.rotation.is_finite() && pose.rotation.length_squared() > 1e-6
        };
        self.joints.iter().all(is_pose) && self.radii.iter().all(|radius| radius.is_finite() && *radius > 0.0)
    }

    /// Position of a joint.
    pub fn at(&self, joint: Joint) -> Vec3 {
        self[joint].translation
    }

    /// Radius of a joint.
    pub fn radius(&self, joint: Joint) -> f32 {
        self.radii[joint as usize]
    }

    /// Unit vector along a joint's bone, towards the tip.
    pub fn forward(&self, joint: Joint) -> Vec3 {
        self[joint].rotation * Vec3::NEG_Z
    }

    /// Unit vector out of the palm's side at a joint.
    pub fn palmar(&self, joint: Joint) -> Vec3 {
        self[joint].rotation * Vec3::NEG_Y
    }

    /// Which hand it is: seen from the back of a right hand, the index finger is on the left.
    pub fn side(&self) -> Side {
        let across = |joint: Joint| self.at(joint) - self.at(Joint::Wrist);
        let towards_palm = across(Joint::IndexProximal).cross(across(Joint::PinkyProximal));
        if towards_palm.dot(self.palmar(Joint::Wrist)) > 0.0 { Side::Right } else { Side::Left }
    }

    /// The point of a tip's pad that pinches: on the skin, half way between the end of the finger and its palmar side.
    pub fn pad(&self, tip: Joint) -> Vec3 {
        let outward = (self.forward(tip) + self.palmar(tip)).normalize_or_zero();
        self.at(tip) + self.radius(tip) * outward
    }

    /// The pads of the thumb and of a finger, between which skin is pinched.
    pub fn pinch_points(&self, finger: Finger) -> [Vec3; 2] {
        [self.pad(Joint::ThumbTip), self.pad(finger.tip())]
    }

    /// The same hand after a rigid motion.
    pub fn moved(&self, by: &Pose) -> Self {
        let moved = |pose: &Pose| Pose {
            rotation: by.rotation * pose.rotation,
            translation: by.apply(pose.translation),
        };
        Self { joints: self.joints.each_ref().map(moved), radii: self.radii }
    }

    /// The hand seen from a frame with some pose.
    pub fn seen_from(&self, frame: &Pose) -> Self {
        let rotation = frame.rotation.inverse();
        self.moved(&Pose { rotation, translation: rotation * -frame.translation })
    }

    /// The hand larger by a factor about the origin.
    pub fn scaled(&self, by: f32) -> Self {
        let scaled = |pose: &Pose| Pose { translation: by * pose.translation, ..*pose };
        Self { joints: self.joints.each_ref().map(scaled), radii: self.radii.map(|radius| by * radius) }
    }

    /// The hand of the other side: its mirror image in the plane x = 0.
    pub fn mirrored(&self) -> Self {
        let mirrored = |pose: &Pose| {
            let ([x, y, z, w], t) = (pose.rotation.to_array(), pose.translation);
            Pose { rotation: Quat::from_xyzw(x, -y, -z, w), translation: Vec3::new(-t.x, t.y, t.z) }
        };
        Self { joints: self.joints.each_ref().map(mirrored), radii: self.radii }
    }

    /// The hand between this one (t = 0) and another (t = 1). Each joint turns in the frame of its parent, so bones keep their lengths
    /// and a curling finger follows its arc.
    pub fn between(&self, other: &Self, t: f32) -> Self {
        let mut pose = *self;
        for joint in Joint::ALL {
            let local = |hand: &Self| match joint.parent() {
                Some(parent) => relative(&hand[parent], &hand[joint]),
                None => hand[joint],
            };
            let between = local(self).between(&local(other), t);
            let now = match joint.parent() {
                Some(parent) => composed(&pose[parent], &between),
                None => between,
            };
            pose.joints[joint as usize] = now;
            let [a, b] = [self, other].map(|hand| hand.radius(joint));
            pose.radii[joint as usize] = a + t * (b - a);
        }
        pose
    }
}

/// A pose in the frame of another.
fn relative(frame: &Pose, pose: &Pose) -> Pose {
    Pose {
        rotation: frame.rotation.inverse() * pose.rotation,
        translation: frame.apply_inverse(pose.translation),
    }
}

/// A pose given in a frame.
fn composed(frame: &Pose, local: &Pose) -> Pose {
    Pose {
        rotation: (frame.rotation * local.rotation).normalize(),
        translation: frame.apply(local.translation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Posture;

    #[test]
    fn a_hand_between_two_keeps_its_bones() {
        let [open, fist] = [Posture::open(), Posture::fist()].map(|posture| posture.pose(Side::Right));
        let turned = fist.moved(&Pose { rotation: Quat::from_rotation_y(1.0), translation: Vec3::X });
        let half = open.between(&turned, 0.5);
        for joint in Joint::ALL.into_iter().filter(|joint| joint.parent().is_some()) {
            let parent = joint.parent().unwrap();
            let [a, b] = [&open, &half].map(|hand| hand.at(joint).distance(hand.at(parent)));
            assert!((a - b).abs() < 1e-6, "{joint:?}: {a} {b}");
        }
        assert!(open.between(&turned, 0.0).at(Joint::PinkyTip).distance(open.at(Joint::PinkyTip)) < 1e-6);
        assert!(open.between(&turned, 1.0).at(Joint::IndexTip).distance(turned.at(Joint::IndexTip)) < 1e-6);
    }

    #[test]
    fn mirrored_twice_is_the_same_and_seen_from_undoes_motion() {
        let hand = Posture::pinch(0.01).pose(Side::Right);
        assert_eq!(hand.mirrored().mirrored(), hand);
        let by = Pose { rotation: Quat::from_rotation_x(0.7), translation: Vec3::new(0.1, 0.2, 0.3) };
        let back = hand.moved(&by).seen_from(&by);
        assert!(back.at(Joint::RingTip).distance(hand.at(Joint::RingTip)) < 1e-6);
        // −Z of a mirrored joint still points along its bone.
        let left = hand.mirrored();
        assert_eq!((hand.side(), left.side()), (Side::Right, Side::Left));
        let along = (left.at(Joint::IndexTip) - left.at(Joint::IndexDistal)).normalize();
        assert!(along.dot(left.forward(Joint::IndexDistal)) > 0.999);
    }
}
