//! A vector of given length.

use zygoma_numerics::svd3::matrix::{dot, scale};
use zygoma_numerics::svd3::{Lane, Vec3};

use super::{Energy, pull, pull_differential};

/// A vector of given length, W(z) = ½ w (‖z‖ − l)²: springs, distances to a point, and bending, where z is the mean-curvature vector that may
/// rotate.
///
/// The closest point is p = l z / ‖z‖. Stress: w (z − p). Differential: w (dz − dp) with dp = l / ‖z‖ (I − z zᵀ / ‖z‖²) dz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length<T = f64> {
    /// w.
    pub weight: T,
    /// l.
    pub length: T,
}

impl Energy<1, 2> for Length {
    type Parameters<T: Lane> = Length<T>;

    fn pack(p: Length) -> [f64; 2] {
        [p.weight, p.length]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, length]: &[T; 2]) -> Length<T> {
        Length { weight, length }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &Length<T>, z: &[Vec3<T>; 1]) -> (T, [Vec3<T>; 1]) {
        pull(p.weight, z, &[closest_on_sphere(z[0], p.length)])
    }

    fn stress_differential(p: &Length, z: &[Vec3<f64>; 1], dz: &[Vec3<f64>; 1]) -> [Vec3<f64>; 1] {
        let length = dot(z[0], z[0]).sqrt().max(1e-300);
        let along = dot(z[0], dz[0]) / (length * length);
        let dp = [std::array::from_fn(|k| p.length / length * (dz[0][k] - along * z[0][k]))];
        pull_differential(p.weight, dz, &dp)
    }
}

/// The point at `radius` from the origin closest to a vector; the origin for a vector of no length.
#[inline(always)]
fn closest_on_sphere<T: Lane>(z: Vec3<T>, radius: T) -> Vec3<T> {
    let length = dot(z, z).sqrt();
    scale(radius / (length + length.splat(T::TINY.sqrt())), z)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, regular};
    use super::*;

    proptest! {
        #[test]
        fn length_derivatives_match_finite_differences(z in regular::<1>()) {
            check_derivatives::<Length, 1, 2>(&Length { weight: 2.0, length: 0.7 }, &z);
        }
    }
}
