//! A limit on the strain of a solid.

use zygoma_numerics::svd3::{Lane, Mat3, svd3};

use super::isotropic::{ZERO, isotropic_differential, pull_values};
use super::{Energy, pull_differential};

/// Strain of a solid beyond a range, W(F) = ½ w ‖F − U clamp(Σ) Vᵀ‖², where F = U Σ Vᵀ and every singular value is clamped to a range.
///
/// It is zero while all stretches lie in the range. Stress: w U (Σ − clamp(Σ)) Vᵀ. Differential: w (dF − dP), with P the isotropic function whose
/// Jacobian is diagonal, 1 inside the range and 0 outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrainLimit<T = f64> {
    /// w, the weight times the rest volume.
    pub weight: T,
    /// The smallest stretch without stress.
    pub low: T,
    /// The largest stretch without stress.
    pub high: T,
}

impl Energy<3, 3> for StrainLimit {
    type Parameters<T: Lane> = StrainLimit<T>;

    fn pack(p: StrainLimit) -> [f64; 3] {
        [p.weight, p.low, p.high]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, low, high]: &[T; 3]) -> StrainLimit<T> {
        StrainLimit { weight, low, high }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &StrainLimit<T>, f: &Mat3<T>) -> (T, Mat3<T>) {
        let svd = svd3(f);
        let d = svd.d;
        let clamped = [clamp(d[0], p.low, p.high), clamp(d[1], p.low, p.high), clamp(d[2], p.low, p.high)];
        let (energy, stress) = pull_values(p.weight, d, clamped);
        (energy, svd.with_values(stress))
    }

    fn stress_differential(p: &StrainLimit, f: &Mat3<f64>, df: &Mat3<f64>) -> Mat3<f64> {
        let svd = svd3(f);
        let mut jacobian = ZERO;
        for k in 0..3 {
            jacobian[k][k] = if (p.low..=p.high).contains(&svd.d[k]) { 1.0 } else { 0.0 };
        }
        let s = svd.d.map(|d| d.clamp(p.low, p.high));
        pull_differential(p.weight, df, &isotropic_differential(&svd, s, &jacobian, df))
    }
}

#[inline(always)]
fn clamp<T: Lane>(x: T, low: T, high: T) -> T {
    let x = T::pick(x.less(low), low, x);
    T::pick(high.less(x), high, x)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, closest, is_closest, near, regular_solid, solid};
    use super::*;

    const LIMIT: StrainLimit = StrainLimit { weight: 2.0, low: 0.9, high: 1.1 };

    proptest! {
        #[test]
        fn strain_limit_derivatives_match_finite_differences(f in regular_solid()) {
            // Away from the ends of the range, where the stress has a kink.
            prop_assume!(svd3(&f).d.iter().all(|d| (d - 0.9).abs() > 1e-3 && (d - 1.1).abs() > 1e-3));
            check_derivatives::<StrainLimit, 3, 3>(&LIMIT, &f);
        }
    }

    #[test]
    fn the_projection_is_the_closest_matrix_within_the_limit() {
        for seed in 0..30 {
            let f = solid(seed, 0.4);
            is_closest(&f, &closest::<StrainLimit, 3, 3>(&LIMIT, &f), |tick| {
                let svd = svd3(&near(&f, seed, tick));
                svd.with_values(svd.d.map(|d| d.clamp(0.9, 1.1)))
            });
        }
    }
}
