//! The head's motion and what it does to the skin.

use glam::{DQuat, DVec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::shell::FrameMotion;

use super::RunParams;
use crate::touch::HeadWay;

/// Poses of the head from frame to frame, with the velocities between them.
#[derive(Clone, Debug)]
pub(super) struct HeadMotion {
    before: RigidMotion,
    now: RigidMotion,
    velocity: DVec3,
    spin: DVec3,
    acceleration: DVec3,
    spin_rate: DVec3,
    is_first: bool,
}

/// No head is shaken harder than this, in m/s², rad/s and rad/s²: a pose that asks for more has jumped. Ours.
const HARDEST: f64 = 500.0;
const FASTEST_SPIN: f64 = 50.0;
const HARDEST_SPIN: f64 = 5000.0;

const AT_REST: RigidMotion = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

impl HeadMotion {
    pub(super) fn new() -> Self {
        Self {
            before: AT_REST,
            now: AT_REST,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            acceleration: DVec3::ZERO,
            spin_rate: DVec3::ZERO,
            is_first: true,
        }
    }

    /// The pose at the end of a frame of `seconds`. The first pose sets the stage: it causes no forces.
    pub(super) fn advance(&mut self, pose: &RigidMotion, seconds: f64) {
        if self.is_first {
            (self.before, self.now, self.is_first) = (*pose, *pose, false);
            return;
        }
        self.before = self.now;
        self.now = *pose;
        if seconds <= 0.0 {
            return;
        }
        let turned = self.now.rotation * self.before.rotation.inverse();
        // The shorter way round, so that equal poses of opposite sign do not spin.
        let turned = if turned.w < 0.0 { -turned } else { turned };
        let velocity = (self.now.translation - self.before.translation) / seconds;
        let spin = (turned.to_scaled_axis() / seconds).clamp_length_max(FASTEST_SPIN);
        self.acceleration = ((velocity - self.velocity) / seconds).clamp_length_max(HARDEST);
        self.spin_rate = ((spin - self.spin) / seconds).clamp_length_max(HARDEST_SPIN);
        (self.velocity, self.spin) = (velocity, spin);
    }

    /// How the head goes in the frame.
    pub(super) fn way(&self) -> HeadWay {
        HeadWay { before: self.before, now: self.now }
    }

    /// Gravity as the skin feels it, in the head's frame, m/s²: only what differs from that of the neutral.
    pub(super) fn felt_gravity(&self, params: &RunParams) -> DVec3 {
        self.now.rotation.inverse() * DVec3::from(params.gravity) - DVec3::from(params.rest_gravity)
    }

    /// Forces per mass in the head's frame, in heights.
    pub(super) fn frame_motion(&self, height: f64, params: &RunParams) -> FrameMotion {
        let to_head = self.now.rotation.inverse();
        let felt = self.felt_gravity(params) - to_head * self.acceleration;
        FrameMotion {
            acceleration: (felt / height).as_vec3(),
            angular_velocity: (to_head * self.spin).as_vec3(),
            angular_acceleration: (to_head * self.spin_rate).as_vec3(),
        }
    }

    pub(super) fn is_still(&self) -> bool {
        let quiet = |v: DVec3, limit: f64| v.length() < limit;
        quiet(self.acceleration, 1e-3) && quiet(self.spin, 1e-3) && quiet(self.spin_rate, 1e-3)
    }
}
