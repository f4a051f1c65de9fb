//! Closest rotations and closest volumes of matrices that are near them, without a decomposition.
//!
//! Flesh is seldom turned inside out or crushed: a few steps of Newton's method then cost less than singular values. Both give up where
//! some number of a register does not get there, and what they give is the closest point up to rounding, as a decomposition's.

use zygoma_numerics::svd3::matrix::{cross, dot, scale, scale_add};
use zygoma_numerics::svd3::{Lane, Mat3};

/// Determinants below this are not near 1. Ours.
const LEAST: f64 = 0.05;

/// The rotation closest to a matrix: R ← ½ (R + R⁻ᵀ) ([Higham 1986] *Computing the polar decomposition*), of which each step squares the error.
/// None where that takes too long or the matrix mirrors.
#[inline(always)]
pub(super) fn near_rotation<T: Lane>(f: &Mat3<T>) -> Option<Mat3<T>> {
    let half = f[0][0].splat(0.5);
    let mut r = *f;
    for _ in 0..4 + T::NEWTON_STEPS {
        let cofactors = cofactors(&r);
        let determinant = dot(r[0], cofactors[0]);
        if (half.splat(LEAST) - determinant).any_above(0.0) {
            return None;
        }
        let scale = half / determinant;
        let mut change = half.splat(0.0);
        for k in 0..3 {
            for l in 0..3 {
                let next = scale.mul_add(cofactors[k][l], half * r[k][l]);
                let step = next - r[k][l];
                change = step.mul_add(step, change);
                r[k][l] = next;
            }
        }
        // Half of this is the error left.
        if !change.any_above(T::EPSILON) {
            return Some(r);
        }
    }
    None
}

/// What leads from a matrix F to the closest one whose determinant is `volume`, P − F = λ cof P, by steps for λ and P in turn, each of which
/// leaves about λ of the error. None where the volume is far off.
#[inline(always)]
pub(super) fn way_to_volume<T: Lane>(f: &Mat3<T>, volume: T) -> Option<Mat3<T>> {
    let mut cofactor = cofactors(f);
    let size = dot(cofactor[0], cofactor[0]) + dot(cofactor[1], cofactor[1]) + dot(cofactor[2], cofactor[2]);
    let inverse = volume.splat(1.0) / (size + volume.splat(T::TINY));
    let mut lambda = (volume - dot(f[0], cofactor[0])) * inverse;
    let steps = steps_to_volume(lambda.abs())?;
    for _ in 0..steps {
        let p = [
            scale_add(lambda, cofactor[0], f[0]),
            scale_add(lambda, cofactor[1], f[1]),
            scale_add(lambda, cofactor[2], f[2]),
        ];
        cofactor = cofactors(&p);
        lambda = (volume - dot(p[0], cofactor[0])).mul_add(inverse, lambda);
    }
    Some([scale(lambda, cofactor[0]), scale(lambda, cofactor[1]), scale(lambda, cofactor[2])])
}

/// How many steps lead from the first |λ| to about 1e-6, a few roundings; none where it is too large, for a volume off by a tenth. Ours.
#[inline(always)]
fn steps_to_volume<T: Lane>(lambda: T) -> Option<usize> {
    let single = if lambda.any_above(0.03) {
        return None;
    } else if lambda.any_above(0.01) {
        6
    } else if lambda.any_above(0.003) {
        4
    } else {
        3
    };
    // In double precision to rounding as well.
    Some(single * T::NEWTON_STEPS)
}

/// The cofactors of a matrix, column by column.
#[inline(always)]
fn cofactors<T: Lane>(m: &Mat3<T>) -> Mat3<T> {
    [cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])]
}

#[cfg(test)]
mod tests {
    use zygoma_numerics::random::Keyed;
    use zygoma_numerics::svd3::svd3;

    use super::super::closest::closest_product;
    use super::*;

    /// Matrices around the identity, and what of them is given in single precision.
    fn matrices(spread: f64) -> impl Iterator<Item = (Mat3<f64>, Mat3<f32>)> {
        (0..400).map(move |seed| {
            let stream = Keyed::new(31, seed);
            let single: Mat3<f32> = std::array::from_fn(|r| {
                std::array::from_fn(|k| {
                    let off = spread * stream.normal((3 * r + k) as u64);
                    (off + if r == k { 1.0 } else { 0.0 }) as f32
                })
            });
            (single.map(|column| column.map(f64::from)), single)
        })
    }

    fn distance(a: &Mat3<f64>, b: &Mat3<f64>) -> f64 {
        a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    }

    fn double(m: &Mat3<f32>) -> Mat3<f64> {
        m.map(|column| column.map(f64::from))
    }

    #[test]
    fn rotations_are_those_of_the_decomposition() {
        let mut found = 0;
        for (f, single) in matrices(0.25) {
            let wanted = svd3(&f).rotation();
            if let Some(rotation) = near_rotation(&f) {
                found += 1;
                assert!(distance(&rotation, &wanted) < 1e-10, "{f:?}");
            }
            if let Some(rotation) = near_rotation(&single) {
                // A nearly flat matrix has a rotation that rounding turns.
                let flatness = f64::EPSILON.max(svd3(&f).d[1] + svd3(&f).d[2]);
                assert!(distance(&double(&rotation), &wanted) < 2e-6 / flatness, "{f:?}");
            }
        }
        assert!(found > 350, "most are near: {found}");
    }

    #[test]
    fn ways_to_a_volume_lead_to_the_closest_matrix_that_has_it() {
        let mut found = [0, 0];
        for volume in [0.95_f64, 1.0, 1.05] {
            for (f, single) in matrices(0.03) {
                let svd = svd3(&f);
                let goal = svd.with_values(closest_product(svd.d, volume, volume.cbrt()));
                let wanted: Mat3<f64> =
                    std::array::from_fn(|r| std::array::from_fn(|k| goal[r][k] - f[r][k]));
                if let Some(way) = way_to_volume(&f, volume) {
                    found[0] += 1;
                    assert!(distance(&way, &wanted) < 1e-11, "{f:?} {volume}");
                }
                if let Some(way) = way_to_volume(&single, volume as f32) {
                    found[1] += 1;
                    assert!(distance(&double(&way), &wanted) < 3e-6, "{f:?} {volume}");
                }
            }
        }
        assert!(found.iter().all(|found| *found > 600), "many are near: {found:?}");
    }

    #[test]
    fn what_is_far_is_left_to_the_decomposition() {
        let diagonal = |d: [f64; 3]| [[d[0], 0.0, 0.0], [0.0, d[1], 0.0], [0.0, 0.0, d[2]]];
        for d in [[1.0, 1.0, -1.0], [1.0, 1.0, 0.0], [1e-3, 1.0, 1.0]] {
            assert!(near_rotation(&diagonal(d)).is_none(), "{d:?}");
            assert!(way_to_volume(&diagonal(d), 1.0).is_none(), "{d:?}");
        }
        assert!(way_to_volume(&diagonal([1.0; 3]), 1.5).is_none());
    }
}
