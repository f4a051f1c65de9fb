//! A rest shape that an element aims at.

use zygoma_numerics::svd3::matrix::{product, transposed};
use zygoma_numerics::svd3::{Lane, Mat3, svd3};

use super::isotropic::{ZERO, isotropic_differential};
use super::rotation::closest_rotation;
use super::{Energy, pull, pull_differential};

/// Strain towards a shape, W(F) = ½ w ‖F − R A‖² with A given and R the best rotation (GPFM eq. 2).
///
/// ‖F − R A‖² is least for the R that maximises tr(Rᵀ F Aᵀ): the rotation closest to F Aᵀ. Stress: w (F − R A). Differential: w (dF − dR A), where
/// dR is that of the rotation closest to F Aᵀ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape<T = f64> {
    /// w, the weight times the rest volume.
    pub weight: T,
    /// A, column by column. It need not be symmetric: R takes up any rotation in it.
    pub shape: Mat3<T>,
}

impl Energy<3, 10> for Shape {
    type Parameters<T: Lane> = Shape<T>;

    fn pack(p: Shape) -> [f64; 10] {
        let [[a, b, c], [d, e, f], [g, h, i]] = p.shape;
        [p.weight, a, b, c, d, e, f, g, h, i]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, a, b, c, d, e, f, g, h, i]: &[T; 10]) -> Shape<T> {
        Shape { weight, shape: [[a, b, c], [d, e, f], [g, h, i]] }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &Shape<T>, f: &Mat3<T>) -> (T, Mat3<T>) {
        let rotation = closest_rotation(&product(f, &transposed(&p.shape)));
        pull(p.weight, f, &product(&rotation, &p.shape))
    }

    fn stress_differential(p: &Shape, f: &Mat3<f64>, df: &Mat3<f64>) -> Mat3<f64> {
        let back = transposed(&p.shape);
        let svd = svd3(&product(f, &back));
        let dr = isotropic_differential(&svd, [1.0; 3], &ZERO, &product(df, &back));
        pull_differential(p.weight, df, &product(&dr, &p.shape))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, regular_solid};
    use super::*;

    proptest! {
        #[test]
        fn shape_derivatives_match_finite_differences(f in regular_solid()) {
            let shape = [[1.03, -0.09, -0.06], [-0.03, 1.03, 0.03], [0.06, 0.09, 1.03]];
            check_derivatives::<Shape, 3, 10>(&Shape { weight: 0.9, shape }, &f);
        }
    }
}
