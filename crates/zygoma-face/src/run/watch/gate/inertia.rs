//! Limits on how far the head's motion alone may carry tissue from the rig.

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;

use crate::run::watch::LIFE_HEIGHT;

/// Lowest natural frequency of facial tissue, Hz: a loose cheek has about 5. Ours.
const SLOWEST: f64 = 5.0;
/// An acceleration counts while tissue still swings from it: its effect decays by a factor of e in this time, s. Ours.
const MEMORY: f64 = 0.3;
/// The largest plausible acceleration of a head, m/s²: a pose that needs more is a teleport. Ours.
const HARDEST: f64 = 100.0;
/// Gravity, m/s².
const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

/// The largest acceleration of the skin, in a head's frame and at life size, m/s².
#[derive(Clone, Debug)]
pub(super) struct Felt {
    /// Corners of the skin's bounding box, in metres.
    corners: [DVec3; 8],
    /// From metres to metres at life size.
    scale: f64,
    poses: Vec<RigidMotion>,
    strongest: f64,
}

impl Felt {
    pub(super) fn new(skin: impl Iterator<Item = Vec3> + Clone, height: f64) -> Self {
        let low = skin.clone().fold(Vec3::MAX, Vec3::min).as_dvec3();
        let high = skin.fold(Vec3::MIN, Vec3::max).as_dvec3();
        let corner = |k: usize| {
            let pick = |bit: usize, low: f64, high: f64| if k >> bit & 1 == 0 { low } else { high };
            DVec3::new(pick(0, low.x, high.x), pick(1, low.y, high.y), pick(2, low.z, high.z))
        };
        let corners = std::array::from_fn(corner);
        Self { corners, scale: LIFE_HEIGHT / height.max(1e-9), poses: Vec::new(), strongest: 0.0 }
    }

    /// Advances to the head's pose at the end of a frame.
    pub(super) fn advance(&mut self, pose: &RigidMotion, seconds: f64) {
        if self.poses.len() == 3 {
            self.poses.remove(0);
        }
        self.poses.push(*pose);
        self.strongest *= (-seconds / MEMORY).exp();
        let tilted = (pose.rotation.inverse() * GRAVITY - GRAVITY).length();
        let mut now = tilted;
        if let ([before, last, this], true) = (&self.poses[..], seconds > 0.0) {
            let bend = |p: &DVec3| (this.apply(*p) - 2.0 * last.apply(*p) + before.apply(*p)).length();
            let accelerated = self.corners.iter().map(bend).fold(0.0, f64::max) / (seconds * seconds);
            now += self.scale * accelerated;
        }
        if now.is_finite() {
            self.strongest = self.strongest.max(now.min(HARDEST));
        }
    }

    /// Allowed swing from the rig, mm at life size: the acceleration's extension of the softest spring.
    pub(super) fn swing_mm(&self) -> f32 {
        let omega = std::f64::consts::TAU * SLOWEST;
        (1e3 * self.strongest / (omega * omega)) as f32
    }

    /// Allowed increase of the swing's second difference in a frame, mm at life size.
    pub(super) fn jolt_mm(&self, seconds: f64) -> f32 {
        (1e3 * self.strongest * seconds * seconds) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn felt(height: f64, pose: impl Fn(f64) -> RigidMotion) -> f32 {
        let box_of = [0.5 * height as f32 * Vec3::NEG_ONE, 0.5 * height as f32 * Vec3::ONE];
        let mut felt = Felt::new(box_of.into_iter(), height);
        (0..60).for_each(|frame| felt.advance(&pose(frame as f64 / 60.0), 1.0 / 60.0));
        felt.swing_mm()
    }

    #[test]
    fn a_shaken_head_explains_a_swing_at_any_scale_and_a_steady_one_none() {
        let shaken = |t: f64| RigidMotion {
            rotation: DQuat::from_rotation_y(0.6 * (18.8 * t).sin()),
            translation: DVec3::ZERO,
        };
        let [small, large] = [0.24, 24.0].map(|height| felt(height, shaken));
        assert!((10.0..60.0).contains(&small) && (small - large).abs() < 1e-3 * small, "{small} {large}");
        let steady = |t: f64| RigidMotion { rotation: DQuat::IDENTITY, translation: 3.0 * t * DVec3::X };
        assert!(felt(0.24, steady) < 1e-3);
        let tilted = |_: f64| RigidMotion { rotation: DQuat::from_rotation_x(0.3), translation: DVec3::ZERO };
        assert!((1.0..6.0).contains(&felt(0.24, tilted)));
    }
}
