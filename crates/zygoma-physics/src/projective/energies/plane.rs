//! A vector with a plane as its target.

use zygoma_numerics::svd3::matrix::{dot, scale};
use zygoma_numerics::svd3::{Lane, Vec3};

use super::Energy;

/// A vector pulled to a plane in which it is free, W(z) = ½ w (n·z − o)²: tissue that slides along a bone but does not leave it.
///
/// The closest point is the foot on the plane. Stress: w (n·z − o) n. Differential: w n nᵀ dz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane<T = f64> {
    /// w.
    pub weight: T,
    /// n, the unit normal of the plane.
    pub normal: Vec3<T>,
    /// o, the distance of the plane from the origin along its normal.
    pub offset: T,
}

impl Energy<1, 5> for Plane {
    type Parameters<T: Lane> = Plane<T>;

    fn pack(p: Plane) -> [f64; 5] {
        let [x, y, z] = p.normal;
        [p.weight, x, y, z, p.offset]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, x, y, z, offset]: &[T; 5]) -> Plane<T> {
        Plane { weight, normal: [x, y, z], offset }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &Plane<T>, z: &[Vec3<T>; 1]) -> (T, [Vec3<T>; 1]) {
        let height = dot(p.normal, z[0]) - p.offset;
        (p.weight * p.weight.splat(0.5) * height * height, [scale(p.weight * height, p.normal)])
    }

    fn stress_differential(p: &Plane, _: &[Vec3<f64>; 1], dz: &[Vec3<f64>; 1]) -> [Vec3<f64>; 1] {
        let change = dot(p.normal, dz[0]);
        [p.normal.map(|n| p.weight * change * n)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, regular};
    use super::*;

    proptest! {
        #[test]
        fn plane_derivatives_match_finite_differences(z in regular::<1>()) {
            let p = Plane { weight: 2.0, normal: [0.6, 0.0, 0.8], offset: 0.3 };
            check_derivatives::<Plane, 1, 5>(&p, &z);
        }
    }
}
