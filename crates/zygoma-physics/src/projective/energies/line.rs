//! A vector with a line as its target.

use zygoma_numerics::svd3::matrix::{dot, scale_add};
use zygoma_numerics::svd3::{Lane, Vec3};

use super::{Energy, pull};

/// A vector pulled to a line along which it is free, W(z) = ½ w ‖(I − n nᵀ)(z − t)‖²: sticking friction, which holds a point along a surface but not
/// along its normal n.
///
/// Stress: w (I − n nᵀ)(z − t). Differential: w (I − n nᵀ) dz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line<T = f64> {
    /// w.
    pub weight: T,
    /// t, a point of the line.
    pub target: Vec3<T>,
    /// n, the unit vector along the line.
    pub direction: Vec3<T>,
}

impl Energy<1, 7> for Line {
    type Parameters<T: Lane> = Line<T>;

    fn pack(p: Line) -> [f64; 7] {
        let ([x, y, z], [nx, ny, nz]) = (p.target, p.direction);
        [p.weight, x, y, z, nx, ny, nz]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, x, y, z, nx, ny, nz]: &[T; 7]) -> Line<T> {
        Line { weight, target: [x, y, z], direction: [nx, ny, nz] }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &Line<T>, z: &[Vec3<T>; 1]) -> (T, [Vec3<T>; 1]) {
        let off = [z[0][0] - p.target[0], z[0][1] - p.target[1], z[0][2] - p.target[2]];
        pull(p.weight, z, &[scale_add(dot(p.direction, off), p.direction, p.target)])
    }

    fn stress_differential(p: &Line, _: &[Vec3<f64>; 1], dz: &[Vec3<f64>; 1]) -> [Vec3<f64>; 1] {
        let free = dot(p.direction, dz[0]);
        [std::array::from_fn(|k| p.weight * (dz[0][k] - free * p.direction[k]))]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, regular};
    use super::*;

    proptest! {
        #[test]
        fn line_derivatives_match_finite_differences(z in regular::<1>()) {
            let p = Line { weight: 2.0, target: [0.1, 0.2, 0.3], direction: [0.6, 0.0, 0.8] };
            check_derivatives::<Line, 1, 7>(&p, &z);
        }
    }
}
