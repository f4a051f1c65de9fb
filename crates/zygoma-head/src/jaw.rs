//! The jaw: its joint and its motion.

use glam::{DAffine3, DQuat, DVec3};

/// Midpoint of the axis through both jaw joints, in template space.
pub(crate) const JOINT: DVec3 = DVec3::new(0.0, -2.0, 12.0);

/// Amplitudes of the jaw's motion at weight 1 of each jaw shape.
const OPEN_ANGLE: f64 = 0.33;
const OPEN_GLIDE: DVec3 = DVec3::new(0.0, -2.0, 4.0);
pub(crate) const FORWARD: DVec3 = DVec3::new(0.0, -1.0, 8.6);
const SIDEWAYS: DVec3 = DVec3::new(4.5, 0.0, 0.0);
const SIDEWAYS_TURN: f64 = 0.02;

/// Weights of the jaw's motions, each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JawWeights {
    /// Opening: a rotation about the joint with a forward glide.
    pub open: f64,
    /// Pushing forwards.
    pub forward: f64,
    /// Towards the character's left (+X).
    pub left: f64,
    /// Towards the character's right.
    pub right: f64,
}

impl JawWeights {
    /// Opening of the jaw when the tongue is out.
    pub const TONGUE_OPENING: f64 = 0.32;

    /// The jaw's motion, in template space (millimetres), scaled by `share`: tissue that follows only in part rotates only in
    /// part, which preserves its volume.
    pub(crate) fn motion(&self, share: f64) -> DAffine3 {
        let side = self.left - self.right;
        let turn = DQuat::from_rotation_y(share * SIDEWAYS_TURN * side)
            * DQuat::from_rotation_x(share * OPEN_ANGLE * self.open);
        let glide = self.open * OPEN_GLIDE + self.forward * FORWARD + side * SIDEWAYS;
        DAffine3::from_translation(JOINT + share * glide)
            * DAffine3::from_quat(turn)
            * DAffine3::from_translation(-JOINT)
    }
}
