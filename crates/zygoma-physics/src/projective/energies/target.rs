//! A vector with a target.

use zygoma_numerics::svd3::{Lane, Vec3};

use super::{Energy, pull, pull_differential};

/// A vector with a target, W(z) = ½ w ‖z − t‖²: positions that are held, and edges that keep their direction.
///
/// Stress: w (z − t). Differential: w dz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target<T = f64> {
    /// w.
    pub weight: T,
    /// t.
    pub target: Vec3<T>,
}

impl Energy<1, 4> for Target {
    type Parameters<T: Lane> = Target<T>;

    fn pack(p: Target) -> [f64; 4] {
        let [x, y, z] = p.target;
        [p.weight, x, y, z]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, x, y, z]: &[T; 4]) -> Target<T> {
        Target { weight, target: [x, y, z] }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &Target<T>, z: &[Vec3<T>; 1]) -> (T, [Vec3<T>; 1]) {
        pull(p.weight, z, &[p.target])
    }

    fn stress_differential(p: &Target, _: &[Vec3<f64>; 1], dz: &[Vec3<f64>; 1]) -> [Vec3<f64>; 1] {
        pull_differential(p.weight, dz, &[[0.0; 3]])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, regular};
    use super::*;

    proptest! {
        #[test]
        fn target_derivatives_match_finite_differences(z in regular::<1>()) {
            check_derivatives::<Target, 1, 4>(&Target { weight: 2.0, target: [0.1, 0.2, 0.3] }, &z);
        }
    }
}
