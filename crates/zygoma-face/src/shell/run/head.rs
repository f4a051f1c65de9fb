//! Inertial forces of the head's motion on the skin.

use glam::DVec3;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::shell::FrameMotion;

use super::RunParams;
use crate::body::head_path::HeadPath;
use crate::contact::HeadWay;

/// Limits of the head's accelerations and spin as felt by the skin, in m/s², rad/s and rad/s². Ours.
const HARDEST: f64 = 500.0;
const FASTEST_SPIN: f64 = 50.0;
const HARDEST_SPIN: f64 = 5000.0;

/// A head counts as moving above these limits of spin and accelerations, in rad/s, m/s² and rad/s². Ours.
const QUIET: f64 = 1e-3;

/// The head's motion over the current frame.
#[derive(Clone, Debug)]
pub(super) struct HeadMotion {
    path: HeadPath,
    is_first: bool,
}

impl HeadMotion {
    pub(super) fn new() -> Self {
        Self { path: HeadPath::still(), is_first: true }
    }

    /// Sets the pose at the end of a frame of `seconds`. The first pose sets the initial state, the second one determines the head's
    /// velocity: neither causes forces. A head that moves in no time is teleported, which sets a new initial state.
    pub(super) fn advance(&mut self, pose: &RigidMotion, seconds: f64) {
        if self.is_first || (seconds <= 0.0 && *pose != self.path.ends()[1]) {
            self.path.appear_at(pose);
            self.is_first = false;
        } else if seconds > 0.0 {
            self.path.go_to(pose, seconds);
        }
    }

    /// The head's motion over the frame.
    pub(super) fn way(&self) -> HeadWay {
        let [before, now] = self.path.ends();
        HeadWay { before, now }
    }

    /// Gravity felt by the skin in the frame of a head with the given pose, m/s²: only the difference from that of the neutral.
    fn gravity(pose: &RigidMotion, params: &RunParams) -> DVec3 {
        pose.rotation.inverse() * DVec3::from(params.gravity) - DVec3::from(params.rest_gravity)
    }

    /// Felt gravity at the end of the frame.
    pub(super) fn felt_gravity(&self, params: &RunParams) -> DVec3 {
        Self::gravity(&self.path.ends()[1], params)
    }

    /// Inertial forces per mass in the head's frame at a fraction of the frame, in face heights.
    pub(super) fn at(&self, fraction: f64, height: f64, params: &RunParams) -> FrameMotion {
        let (pose, [rate, change]) = (self.path.at(fraction), self.path.motion(fraction));
        let to_head = pose.rotation.inverse();
        let pushed = to_head * change.velocity.clamp_length_max(HARDEST);
        FrameMotion {
            acceleration: ((Self::gravity(&pose, params) - pushed) / height).as_vec3(),
            angular_velocity: (to_head * rate.spin.clamp_length_max(FASTEST_SPIN)).as_vec3(),
            angular_acceleration: (to_head * change.spin.clamp_length_max(HARDEST_SPIN)).as_vec3(),
        }
    }

    pub(super) fn is_still(&self) -> bool {
        [0.0, 1.0].iter().all(|fraction| {
            let [rate, change] = self.path.motion(*fraction);
            [rate.spin, change.velocity, change.spin].iter().all(|v| v.length() < QUIET)
        })
    }
}
