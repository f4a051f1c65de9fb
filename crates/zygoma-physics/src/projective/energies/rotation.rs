//! The rotation closest to a matrix.

use zygoma_numerics::svd3::matrix::{cross, dot};
use zygoma_numerics::svd3::{Lane, Mat3, svd3};

/// Determinants below this are not near 1. Ours.
const LEAST: f64 = 0.05;

/// The rotation closest to a matrix.
#[inline(always)]
pub(super) fn closest_rotation<T: Lane>(f: &Mat3<T>) -> Mat3<T> {
    match near_rotation(f) {
        Some(rotation) => rotation,
        None => svd3(f).rotation(),
    }
}

/// The rotation closest to a matrix that is near one, without a decomposition: R ← ½ (R + R⁻ᵀ) ([Higham 1986] *Computing the polar decomposition*).
/// Each step squares the error. None where some number of a register takes too long, or the matrix mirrors.
///
/// Tissue is seldom inverted or crushed: a few Newton steps then cost less than singular values, and agree with them up to rounding.
#[inline(always)]
pub(super) fn near_rotation<T: Lane>(f: &Mat3<T>) -> Option<Mat3<T>> {
    let half = f[0][0].splat(0.5);
    let mut r = *f;
    for _ in 0..4 + T::NEWTON_STEPS {
        let cofactors = cofactors(&r);
        let determinant = dot(r[0], cofactors[0]);
        if (half.splat(LEAST) - determinant).any_above(0.0) {
            return None;
        }
        let scale = half / determinant;
        let mut change = half.splat(0.0);
        for k in 0..3 {
            for l in 0..3 {
                let next = scale.mul_add(cofactors[k][l], half * r[k][l]);
                let step = next - r[k][l];
                change = step.mul_add(step, change);
                r[k][l] = next;
            }
        }
        // Half of this is the error left.
        if !change.any_above(T::EPSILON) {
            return Some(r);
        }
    }
    None
}

/// The cofactors of a matrix, column by column.
#[inline(always)]
pub(super) fn cofactors<T: Lane>(m: &Mat3<T>) -> Mat3<T> {
    [cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])]
}

#[cfg(test)]
mod tests {
    use super::super::derivative_test::{distance, double, matrices_near_identity};
    use super::*;

    #[test]
    fn rotations_are_those_of_the_decomposition() {
        let mut found = 0;
        for (f, single) in matrices_near_identity(0.25) {
            let wanted = svd3(&f).rotation();
            if let Some(rotation) = near_rotation(&f) {
                found += 1;
                assert!(distance(&rotation, &wanted) < 1e-10, "{f:?}");
            }
            if let Some(rotation) = near_rotation(&single) {
                // A nearly flat matrix has a rotation that rounding turns.
                let flatness = f64::EPSILON.max(svd3(&f).d[1] + svd3(&f).d[2]);
                assert!(distance(&double(&rotation), &wanted) < 2e-6 / flatness, "{f:?}");
            }
        }
        assert!(found > 350, "most are near: {found}");
    }

    #[test]
    fn mirrored_and_flat_matrices_are_left_to_the_decomposition() {
        let diagonal = |d: [f64; 3]| [[d[0], 0.0, 0.0], [0.0, d[1], 0.0], [0.0, 0.0, d[2]]];
        for d in [[1.0, 1.0, -1.0], [1.0, 1.0, 0.0], [1e-3, 1.0, 1.0]] {
            assert!(near_rotation(&diagonal(d)).is_none(), "{d:?}");
        }
    }
}
