//! A plane that must not be passed.

use zygoma_numerics::svd3::matrix::{dot, scale};
use zygoma_numerics::svd3::{Lane, Vec3};

use super::Energy;

/// A vector that must not lie behind a plane, W(z) = ½ w min(n·z − o, 0)²: contact.
///
/// The closest point of the half-space is z itself in front of the plane, and its foot on the plane behind it. Stress: w min(n·z − o, 0) n.
/// Differential: w n nᵀ dz behind the plane, zero in front of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfSpace<T = f64> {
    /// w.
    pub weight: T,
    /// n, the unit normal of the plane, towards the allowed side.
    pub normal: Vec3<T>,
    /// o, the distance of the plane from the origin along its normal.
    pub offset: T,
}

impl Energy<1, 5> for HalfSpace {
    type Parameters<T: Lane> = HalfSpace<T>;

    fn pack(p: HalfSpace) -> [f64; 5] {
        let [x, y, z] = p.normal;
        [p.weight, x, y, z, p.offset]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, x, y, z, offset]: &[T; 5]) -> HalfSpace<T> {
        HalfSpace { weight, normal: [x, y, z], offset }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &HalfSpace<T>, z: &[Vec3<T>; 1]) -> (T, [Vec3<T>; 1]) {
        let zero = p.weight.splat(0.0);
        let height = dot(p.normal, z[0]) - p.offset;
        let depth = T::pick(height.less(zero), height, zero);
        (p.weight * p.weight.splat(0.5) * depth * depth, [scale(p.weight * depth, p.normal)])
    }

    fn stress_differential(p: &HalfSpace, z: &[Vec3<f64>; 1], dz: &[Vec3<f64>; 1]) -> [Vec3<f64>; 1] {
        let is_behind = dot(p.normal, z[0]) < p.offset;
        let d_depth = if is_behind { dot(p.normal, dz[0]) } else { 0.0 };
        [p.normal.map(|n| p.weight * d_depth * n)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, regular};
    use super::*;

    proptest! {
        #[test]
        fn half_space_derivatives_match_finite_differences(z in regular::<1>()) {
            // Away from the plane, where the stress has a kink.
            prop_assume!((z[0][0] - 0.8).abs() > 1e-3);
            let p = HalfSpace { weight: 2.0, normal: [1.0, 0.0, 0.0], offset: 0.8 };
            check_derivatives::<HalfSpace, 1, 5>(&p, &z);
        }
    }
}
