//! The head being dragged: it follows the hand as if on a spring, and swings back when it is let go.

use glam::{DQuat, DVec2, DVec3};
use zygoma_geometry::rigid::RigidMotion;

/// Swings a second while held and while free, and how much of critical damping each has. Ours: a firm grip, a loose neck.
const HELD: (f64, f64) = (6.0, 0.8);
const FREE: (f64, f64) = (2.6, 0.22);

/// Steps of this length follow the spring well.
const STEP: f64 = 0.001;

/// As far as a neck turns, radians.
const FARTHEST: f64 = 0.9;

/// Turn and nod of the head.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shake {
    held: bool,
    wanted: DVec2,
    angles: DVec2,
    speed: DVec2,
}

impl Shake {
    /// Where the hand wants the head.
    pub(crate) fn drag(&mut self, held: bool, yaw: f32, pitch: f32) {
        let wanted = DVec2::new(yaw.into(), pitch.into());
        self.held = held;
        self.wanted = if held && wanted.is_finite() {
            wanted.clamp(DVec2::splat(-FARTHEST), DVec2::splat(FARTHEST))
        } else {
            DVec2::ZERO
        };
    }

    /// Moves on and gives the head's motion about a pivot.
    pub(crate) fn advance(&mut self, seconds: f64, pivot: Option<DVec3>) -> RigidMotion {
        let (rate, damping) = if self.held { HELD } else { FREE };
        let omega = std::f64::consts::TAU * rate;
        let steps = (seconds / STEP).ceil().max(1.0);
        let step = seconds / steps;
        for _ in 0..steps as usize {
            let pull = omega * omega * (self.wanted - self.angles) - 2.0 * damping * omega * self.speed;
            self.speed += step * pull;
            self.angles += step * self.speed;
        }
        if !self.held && self.angles.length() < 1e-6 && self.speed.length() < 1e-5 {
            (self.angles, self.speed) = (DVec2::ZERO, DVec2::ZERO);
        }
        let rotation = DQuat::from_rotation_y(self.angles.x) * DQuat::from_rotation_x(self.angles.y);
        let pivot = pivot.unwrap_or_default();
        RigidMotion { rotation, translation: pivot - rotation * pivot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dragged_head_follows_and_comes_back_to_rest() {
        let mut shake = Shake::default();
        let pivot = DVec3::new(0.0, -0.1, 0.02);
        shake.drag(true, 0.5, -0.2);
        let mut motion = shake.advance(0.0, Some(pivot));
        for _ in 0..120 {
            motion = shake.advance(1.0 / 60.0, Some(pivot));
        }
        assert!((shake.angles - DVec2::new(0.5, -0.2)).length() < 1e-3);
        assert!(motion.apply(pivot).distance(pivot) < 1e-12);
        shake.drag(false, 0.0, 0.0);
        let mut turned_back = false;
        for _ in 0..600 {
            shake.advance(1.0 / 60.0, Some(pivot));
            turned_back |= shake.angles.x < -0.01;
        }
        assert!(turned_back, "a loose neck swings over");
        assert_eq!(shake.advance(0.01, Some(pivot)).rotation, DQuat::IDENTITY);
    }
}
