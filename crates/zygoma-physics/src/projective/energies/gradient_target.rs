//! A given deformation gradient.

use zygoma_numerics::svd3::{Lane, Mat3};

use super::isotropic::ZERO;
use super::{Energy, pull, pull_differential};

/// A target for the deformation gradient, W(F) = ½ w ‖F − G‖².
///
/// Stress: w (F − G). Differential: w dF, since G is fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientTarget<T = f64> {
    /// w, the weight times the rest volume.
    pub weight: T,
    /// G, column by column.
    pub gradient: Mat3<T>,
}

impl Energy<3, 10> for GradientTarget {
    type Parameters<T: Lane> = GradientTarget<T>;

    fn pack(p: GradientTarget) -> [f64; 10] {
        let [[a, b, c], [d, e, f], [g, h, i]] = p.gradient;
        [p.weight, a, b, c, d, e, f, g, h, i]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, a, b, c, d, e, f, g, h, i]: &[T; 10]) -> GradientTarget<T> {
        GradientTarget { weight, gradient: [[a, b, c], [d, e, f], [g, h, i]] }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &GradientTarget<T>, f: &Mat3<T>) -> (T, Mat3<T>) {
        pull(p.weight, f, &p.gradient)
    }

    fn stress_differential(p: &GradientTarget, _: &Mat3<f64>, df: &Mat3<f64>) -> Mat3<f64> {
        pull_differential(p.weight, df, &ZERO)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, regular_solid};
    use super::*;

    proptest! {
        #[test]
        fn gradient_target_derivatives_match_finite_differences(f in regular_solid()) {
            let gradient = [[1.1, -0.3, -0.2], [-0.1, 1.1, 0.1], [0.2, 0.3, 1.1]];
            check_derivatives::<GradientTarget, 3, 10>(&GradientTarget { weight: 3.0, gradient }, &f);
        }
    }
}
