//! Strain of a triangle in its plane.

use zygoma_numerics::svd3::{Lane, Vec3};

use super::columns::{orthonormal_columns, orthonormal_differential, stretch_of_columns};
use super::{Energy, pull, pull_differential};

/// Strain of a triangle in its plane, W(F) = ½ w ‖F − Q‖² with Q the 3×2 matrix of orthonormal columns closest to F.
///
/// With the polar decomposition F = Q S, S² = FᵀF. Stress: w (F − Q). Differential: w (dF − dQ) with dQ = (dF − Q dS) S⁻¹.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriangleStrain<T = f64> {
    /// w, the weight times the rest area.
    pub weight: T,
}

impl Energy<2, 1> for TriangleStrain {
    type Parameters<T: Lane> = TriangleStrain<T>;

    fn pack(p: TriangleStrain) -> [f64; 1] {
        [p.weight]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight]: &[T; 1]) -> TriangleStrain<T> {
        TriangleStrain { weight }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &TriangleStrain<T>, f: &[Vec3<T>; 2]) -> (T, [Vec3<T>; 2]) {
        let (stretch, determinant) = stretch_of_columns(f);
        pull(p.weight, f, &orthonormal_columns(f, stretch, determinant))
    }

    fn stress_differential(p: &TriangleStrain, f: &[Vec3<f64>; 2], df: &[Vec3<f64>; 2]) -> [Vec3<f64>; 2] {
        let (s, determinant) = stretch_of_columns(f);
        let q = orthonormal_columns(f, s, determinant);
        pull_differential(p.weight, df, &orthonormal_differential(&q, f, s, determinant, df))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, closest, gradient, is_closest, near, regular};
    use super::*;

    proptest! {
        #[test]
        fn triangle_strain_derivatives_match_finite_differences(f in regular::<2>()) {
            check_derivatives::<TriangleStrain, 2, 1>(&TriangleStrain { weight: 2.0 }, &f);
        }
    }

    #[test]
    fn the_projection_is_the_closest_matrix_with_orthonormal_columns() {
        for seed in 0..30 {
            let f = gradient::<2>(seed, 0.4);
            let square =
                |f: &[Vec3<f64>; 2]| closest::<TriangleStrain, 2, 1>(&TriangleStrain { weight: 1.0 }, f);
            is_closest(&f, &square(&f), |tick| square(&near(&f, seed, tick)));
        }
    }
}
