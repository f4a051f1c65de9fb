//! Similarities: a scale, a rotation and a translation, and the one that best carries points onto others.

use glam::{DAffine3, DMat3, DQuat, DVec3};

use crate::rigid::closest_rotation;

/// Scales and turns about the origin, then translates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// The scale, positive.
    pub scale: f64,
    /// The rotation.
    pub rotation: DQuat,
    /// The translation, applied last.
    pub translation: DVec3,
}

impl Similarity {
    /// Leaves everything where it is.
    pub const IDENTITY: Self = Self { scale: 1.0, rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

    /// Where a point goes.
    pub fn apply(&self, point: DVec3) -> DVec3 {
        self.scale * (self.rotation * point) + self.translation
    }

    /// The similarity that undoes this one.
    pub fn inverse(&self) -> Self {
        let rotation = self.rotation.inverse();
        let scale = 1.0 / self.scale;
        Self { scale, rotation, translation: -scale * (rotation * self.translation) }
    }

    /// This similarity after another one.
    pub fn after(&self, first: &Self) -> Self {
        Self {
            scale: self.scale * first.scale,
            rotation: (self.rotation * first.rotation).normalize(),
            translation: self.apply(first.translation),
        }
    }

    /// The same map as a matrix.
    pub fn to_affine(&self) -> DAffine3 {
        DAffine3::from_scale_rotation_translation(DVec3::splat(self.scale), self.rotation, self.translation)
    }
}

/// The similarity that minimises the summed squared distance from the moved `from` to `to` \[Horn 1987\].
/// Fewer than two distinct points leave the scale at 1.
pub fn fit_similarity(from: &[DVec3], to: &[DVec3]) -> Similarity {
    let count = from.len().min(to.len());
    if count == 0 {
        return Similarity::IDENTITY;
    }
    let mean = |points: &[DVec3]| points[..count].iter().sum::<DVec3>() / count as f64;
    let (from_mean, to_mean) = (mean(from), mean(to));
    let mut covariance = DMat3::ZERO;
    let mut spread = 0.0;
    for (p, q) in from.iter().zip(to) {
        let (p, q) = (*p - from_mean, *q - to_mean);
        covariance += DMat3::from_cols(q * p.x, q * p.y, q * p.z);
        spread += p.length_squared();
    }
    let rotation = closest_rotation(covariance);
    let turned = DMat3::from_quat(rotation);
    let along: f64 = (0..3).map(|k| turned.col(k).dot(covariance.col(k))).sum();
    let scale = if spread > 0.0 && along > 0.0 { along / spread } else { 1.0 };
    Similarity { scale, rotation, translation: to_mean - scale * (rotation * from_mean) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similarity_is_found_again_and_undone() {
        let truth = Similarity {
            scale: 2.5,
            rotation: DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 2.2),
            translation: DVec3::new(4.0, -1.0, 0.3),
        };
        let from = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE, DVec3::new(0.2, 0.9, -0.4)];
        let to = from.map(|p| truth.apply(p));
        let found = fit_similarity(&from, &to);
        let identity = found.inverse().after(&truth);
        for (p, q) in from.iter().zip(&to) {
            assert!(found.apply(*p).distance(*q) < 1e-12);
            assert!(identity.apply(*p).distance(*p) < 1e-12);
            assert!(truth.to_affine().transform_point3(*p).distance(*q) < 1e-12);
        }
    }
}
