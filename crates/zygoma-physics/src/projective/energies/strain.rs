//! Corotated strain of a solid.

use zygoma_numerics::svd3::{Lane, Mat3, svd3};

use super::isotropic::{ZERO, isotropic_differential};
use super::rotation::closest_rotation;
use super::{Energy, pull, pull_differential};

/// Strain of a solid, W(F) = ½ w ‖F − R‖² with R the rotation closest to the deformation gradient F (*Progressive PD* eq. 14).
///
/// With F = U Σ Vᵀ, R = U Vᵀ (det R = 1). Stress: w (F − R). Differential: w (dF − dR), where R is the isotropic function that sets all
/// singular values to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strain<T = f64> {
    /// w, the weight times the rest volume.
    pub weight: T,
}

impl Energy<3, 1> for Strain {
    type Parameters<T: Lane> = Strain<T>;

    fn pack(p: Strain) -> [f64; 1] {
        [p.weight]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight]: &[T; 1]) -> Strain<T> {
        Strain { weight }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &Strain<T>, f: &Mat3<T>) -> (T, Mat3<T>) {
        pull(p.weight, f, &closest_rotation(f))
    }

    fn stress_differential(p: &Strain, f: &Mat3<f64>, df: &Mat3<f64>) -> Mat3<f64> {
        pull_differential(p.weight, df, &isotropic_differential(&svd3(f), [1.0; 3], &ZERO, df))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, closest, is_closest, near, regular_solid, solid};
    use super::*;

    proptest! {
        #[test]
        fn strain_derivatives_match_finite_differences(f in regular_solid()) {
            check_derivatives::<Strain, 3, 1>(&Strain { weight: 2.0 }, &f);
        }
    }

    #[test]
    fn the_projection_is_the_closest_rotation() {
        for seed in 0..30 {
            let f = solid(seed, 0.4);
            let found = closest::<Strain, 3, 1>(&Strain { weight: 1.0 }, &f);
            is_closest(&f, &found, |tick| svd3(&near(&f, seed, tick)).rotation());
        }
    }
}
