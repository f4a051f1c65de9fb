//! The rigid motion that best carries one set of points onto another.

use glam::{DAffine3, DMat3, DMat4, DQuat, DVec3, DVec4};

/// A rotation about the origin followed by a translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RigidMotion {
    /// The rotation.
    pub rotation: DQuat,
    /// The translation, applied after the rotation, in the unit of the points.
    pub translation: DVec3,
}

impl RigidMotion {
    /// No motion.
    pub const IDENTITY: Self = Self { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

    /// Whether all its numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.rotation.is_finite() && self.translation.is_finite()
    }

    /// Moves a point.
    pub fn apply(&self, point: DVec3) -> DVec3 {
        self.rotation * point + self.translation
    }

    /// The same motion as a matrix.
    pub fn to_affine(&self) -> DAffine3 {
        DAffine3::from_rotation_translation(self.rotation, self.translation)
    }
}

/// The rigid motion that minimises the summed squared distance from the moved `from` to `to`.
///
/// The optimal unit quaternion is the eigenvector of the largest eigenvalue of a symmetric 4×4 matrix
/// built from the cross-covariance (\[Horn 1987\]). Fewer than three points that do not lie on one line leave the
/// rotation partly undetermined; one of the best is returned then.
pub fn fit_rigid_motion(from: &[DVec3], to: &[DVec3]) -> RigidMotion {
    fit_weighted(from, to, |_| 1.0)
}

/// The same with a weight for each pair of points.
pub fn fit_weighted_rigid_motion(from: &[DVec3], to: &[DVec3], weights: &[f64]) -> RigidMotion {
    fit_weighted(from, to, |pair| weights.get(pair).copied().unwrap_or(0.0))
}

fn fit_weighted(from: &[DVec3], to: &[DVec3], weight: impl Fn(usize) -> f64) -> RigidMotion {
    let count = from.len().min(to.len());
    let whole: f64 = (0..count).map(&weight).sum();
    if whole <= 0.0 {
        return RigidMotion::IDENTITY;
    }
    let mean = |points: &[DVec3]| (0..count).map(|i| weight(i) * points[i]).sum::<DVec3>() / whole;
    let (from_mean, to_mean) = (mean(from), mean(to));
    let mut covariance = DMat3::ZERO;
    for i in 0..count {
        let (p, q) = (weight(i) * (from[i] - from_mean), to[i] - to_mean);
        covariance += DMat3::from_cols(q * p.x, q * p.y, q * p.z);
    }
    let rotation = closest_rotation(covariance);
    RigidMotion { rotation, translation: to_mean - rotation * from_mean }
}

/// The rotation R that maximises tr(Rᵀ M): for M = Σ q pᵀ the one that best carries the points p onto q, both about their means.
pub fn closest_rotation(m: DMat3) -> DQuat {
    let at = |row: usize, col: usize| m.col(col)[row];
    let horn = DMat4::from_cols(
        DVec4::new(
            at(0, 0) + at(1, 1) + at(2, 2),
            at(2, 1) - at(1, 2),
            at(0, 2) - at(2, 0),
            at(1, 0) - at(0, 1),
        ),
        DVec4::new(
            at(2, 1) - at(1, 2),
            at(0, 0) - at(1, 1) - at(2, 2),
            at(0, 1) + at(1, 0),
            at(0, 2) + at(2, 0),
        ),
        DVec4::new(
            at(0, 2) - at(2, 0),
            at(0, 1) + at(1, 0),
            at(1, 1) - at(0, 0) - at(2, 2),
            at(1, 2) + at(2, 1),
        ),
        DVec4::new(
            at(1, 0) - at(0, 1),
            at(0, 2) + at(2, 0),
            at(1, 2) + at(2, 1),
            at(2, 2) - at(0, 0) - at(1, 1),
        ),
    );
    let q = largest_eigenvector(horn);
    DQuat::from_xyzw(q.y, q.z, q.w, q.x).normalize()
}

/// The eigenvector of the largest eigenvalue of a symmetric 4×4 matrix, by cyclic Jacobi rotations.
fn largest_eigenvector(symmetric: DMat4) -> DVec4 {
    const SWEEPS: usize = 16;
    let mut a = symmetric.to_cols_array_2d();
    let mut vectors = DMat4::IDENTITY.to_cols_array_2d();
    for _ in 0..SWEEPS {
        for p in 0..3 {
            for q in p + 1..4 {
                if a[p][q].abs() <= f64::MIN_POSITIVE {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..4 {
                    (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
                }
                for k in 0..4 {
                    (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                    (vectors[p][k], vectors[q][k]) =
                        (c * vectors[p][k] - s * vectors[q][k], s * vectors[p][k] + c * vectors[q][k]);
                }
            }
        }
    }
    let largest = (0..4).max_by(|i, j| a[*i][*i].total_cmp(&a[*j][*j])).unwrap_or(0);
    DVec4::from_array(vectors[largest])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_rigid_motion_is_found_again(
            axis in prop::array::uniform3(-1.0f64..1.0), angle in -3.1f64..3.1,
            shift in prop::array::uniform3(-2.0f64..2.0),
            points in prop::collection::vec(prop::array::uniform3(-1.0f64..1.0), 5..30),
        ) {
            let axis = DVec3::from(axis);
            prop_assume!(axis.length() > 0.1);
            let truth = RigidMotion {
                rotation: DQuat::from_axis_angle(axis.normalize(), angle),
                translation: DVec3::from(shift),
            };
            let from: Vec<_> = points.into_iter().map(DVec3::from).collect();
            let to: Vec<_> = from.iter().map(|p| truth.apply(*p)).collect();
            let found = fit_rigid_motion(&from, &to);
            for (p, q) in from.iter().zip(&to) {
                prop_assert!(found.apply(*p).distance(*q) < 1e-9);
            }
        }
    }

    #[test]
    fn points_without_weight_do_not_count() {
        let truth = RigidMotion { rotation: DQuat::from_rotation_y(0.7), translation: DVec3::X };
        let from = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE, DVec3::NEG_ONE];
        let mut to = from.map(|p| truth.apply(p));
        to[4] += DVec3::Y;
        let found = fit_weighted_rigid_motion(&from, &to, &[1.0, 0.3, 2.0, 1.0, 0.0]);
        for (p, q) in from.iter().zip(&to).take(4) {
            assert!(found.apply(*p).distance(*q) < 1e-12);
        }
    }

    #[test]
    fn a_reflection_is_never_returned() {
        let from = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE];
        let to = from.map(|p| DVec3::new(-p.x, p.y, p.z));
        let matrix = fit_rigid_motion(&from, &to).to_affine().matrix3;
        assert!((matrix.determinant() - 1.0).abs() < 1e-12);
    }
}
