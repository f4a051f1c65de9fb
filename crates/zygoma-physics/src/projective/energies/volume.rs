//! Volume of a solid.

use zygoma_numerics::svd3::matrix::{cross, dot, scale, scale_add, transposed};
use zygoma_numerics::svd3::{Lane, Mat3, Vec3, svd3};

use super::isotropic::{isotropic_differential, pull_values};
use super::rotation::cofactors;
use super::{Energy, pull_differential};

/// Volume of a solid, W(F) = ½ w ‖F − U Σ* Vᵀ‖², where F = U Σ Vᵀ and Σ* holds the singular values closest to Σ with det Σ* = v
/// (*Progressive PD* eq. 15).
///
/// Stress: w U (Σ − Σ*) Vᵀ. Differential: w (dF − dP) with P = U Σ* Vᵀ an isotropic function of F; the Jacobian of Σ* follows from its stationarity
/// Σ* − Σ = λ cof Σ* and its constraint, both differentiated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume<T = f64> {
    /// w, the weight times the rest volume.
    pub weight: T,
    /// v.
    pub volume: VolumeTarget<T>,
}

/// A determinant of the deformation gradient to aim at: the volume relative to that at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VolumeTarget<T = f64> {
    /// The determinant, above 0.
    pub determinant: T,
    /// Its cube root, stored so that no evaluation has to find it.
    pub cube_root: T,
}

impl VolumeTarget {
    /// The volume at rest.
    pub const REST: Self = Self { determinant: 1.0, cube_root: 1.0 };

    /// A target with its cube root.
    pub fn new(determinant: f64) -> Self {
        Self { determinant, cube_root: determinant.cbrt() }
    }
}

impl Energy<3, 3> for Volume {
    type Parameters<T: Lane> = Volume<T>;

    fn pack(p: Volume) -> [f64; 3] {
        [p.weight, p.volume.determinant, p.volume.cube_root]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, determinant, cube_root]: &[T; 3]) -> Volume<T> {
        Volume { weight, volume: VolumeTarget { determinant, cube_root } }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &Volume<T>, f: &Mat3<T>) -> (T, Mat3<T>) {
        if let Some(correction) = near_volume(f, p.volume.determinant) {
            return pull_by(p.weight, &correction);
        }
        let svd = svd3(f);
        let (energy, stress) = pull_values(p.weight, svd.d, closest_product(svd.d, p.volume));
        (energy, svd.with_values(stress))
    }

    fn stress_differential(p: &Volume, f: &Mat3<f64>, df: &Mat3<f64>) -> Mat3<f64> {
        let svd = svd3(f);
        let s = closest_product(svd.d, p.volume);
        pull_differential(p.weight, df, &isotropic_differential(&svd, s, &product_jacobian(svd.d, s), df))
    }
}

/// Energy and stress of a matrix whose closest point is a correction away: ½ w ‖c‖² and −w c.
#[inline(always)]
pub(super) fn pull_by<T: Lane>(weight: T, correction: &Mat3<T>) -> (T, Mat3<T>) {
    let c = correction;
    let square = dot(c[0], c[0]) + dot(c[1], c[1]) + dot(c[2], c[2]);
    let stress = [scale(-weight, c[0]), scale(-weight, c[1]), scale(-weight, c[2])];
    (weight * weight.splat(0.5) * square, stress)
}

/// The correction P − F from a matrix F to the closest P whose determinant is `volume`, without a decomposition. None where the volume is far off.
///
/// At the closest point P − F = λ cof P. λ and P are updated in turn; each step leaves about λ of the error.
#[inline(always)]
pub(super) fn near_volume<T: Lane>(f: &Mat3<T>, volume: T) -> Option<Mat3<T>> {
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

/// Steps that take the first |λ| to an error of about 1e-6, a few roundings. None where it is too large: a volume off by a tenth. Ours.
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

/// The positive singular values closest to `d` whose product is the target; `d` is sorted as by [`svd3`].
///
/// At the closest point each s satisfies s² − d s = κ with one κ for all. The smallest one, t, is the unknown: κ = t² − d₂ t, and
/// the product of all three less its goal is found zero by Newton's method: from the first-order guess where that is near the goal, and
/// otherwise from a t that is not too small.
#[inline(always)]
pub(super) fn closest_product<T: Lane>(d: Vec3<T>, target: VolumeTarget<T>) -> Vec3<T> {
    let VolumeTarget { determinant: product, cube_root } = target;
    let (half, quarter, four) = (product.splat(0.5), product.splat(0.25), product.splat(4.0));
    let tiny = product.splat(T::TINY.sqrt());
    let safe = T::pick(d[2].less(cube_root), cube_root, d[2]);
    // Towards the goal along the gradient of the product, the cofactors.
    let cofactors = [d[1] * d[2], d[2] * d[0], d[0] * d[1]];
    let miss = product - d[2] * cofactors[2];
    let guess = (miss * cofactors[2] / (dot(cofactors, cofactors) + tiny)) + d[2];
    let far = T::pick(guess.less(safe), safe - guess, guess - safe);
    let mut t = T::pick(far.less(quarter * cube_root), guess, safe);
    for _ in 0..3 + 3 * T::NEWTON_STEPS {
        let (roots, s) = larger_values(d, t, half, four);
        let both = s[0] * s[1];
        let miss = t.mul_add(both, -product);
        // d(t s₀ s₁)/dt, through κ, times both roots.
        let turn = (t + t - d[2]) * s[1].mul_add(roots[1], s[0] * roots[0]);
        let root = roots[0] * roots[1];
        let slope = t.mul_add(turn, both * root);
        let next = t - miss * root / (slope + tiny);
        let least = t * quarter;
        let next = T::pick(least.less(next), next, least);
        let change = (next - t).abs() - t * t.splat(T::EPSILON.sqrt());
        t = next;
        // Each step squares the error: the next one would change nothing.
        if !change.any_above(0.0) {
            break;
        }
    }
    let (_, s) = larger_values(d, t, half, four);
    [s[0], s[1], t]
}

/// √(dᵢ² + 4κ) and sᵢ = ½ (dᵢ + √…) of the two larger values, for κ = t² − d₂ t.
#[inline(always)]
fn larger_values<T: Lane>(d: Vec3<T>, t: T, half: T, four: T) -> ([T; 2], [T; 2]) {
    let kappa = four * t * (t - d[2]);
    let zero = t.splat(0.0);
    let squares = [d[0].mul_add(d[0], kappa), d[1].mul_add(d[1], kappa)];
    // Not negative but for rounding, since d₀ ≥ d₁ ≥ |d₂|.
    let roots = [
        T::pick(zero.less(squares[0]), squares[0], zero).sqrt(),
        T::pick(zero.less(squares[1]), squares[1], zero).sqrt(),
    ];
    (roots, [half * (d[0] + roots[0]), half * (d[1] + roots[1])])
}

/// Derivative of [`closest_product`] at its result.
fn product_jacobian(d: Vec3<f64>, s: Vec3<f64>) -> [[f64; 3]; 3] {
    // Stationarity and constraint, differentiated: H ds − c dλ = dd, cᵀ ds = 0.
    let [a, b, c] = s;
    let multiplier = (a - d[0]) / (b * c);
    let gradient = [b * c, a * c, a * b];
    let hessian = [
        [1.0, -multiplier * c, -multiplier * b],
        [-multiplier * c, 1.0, -multiplier * a],
        [-multiplier * b, -multiplier * a, 1.0],
    ];
    let inverse = inverse(&hessian);
    let along: Vec3<f64> = std::array::from_fn(|i| dot(inverse[i], gradient));
    let size = dot(along, gradient);
    std::array::from_fn(|i| std::array::from_fn(|j| inverse[i][j] - along[i] * along[j] / size))
}

fn inverse(m: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let rows = [cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])];
    let determinant = dot(m[0], rows[0]);
    transposed(&rows.map(|row| scale(1.0 / determinant, row)))
}

#[cfg(test)]
pub(super) const INVERTED_AND_FLAT: [Vec3<f64>; 6] = [
    [1.0, 1.0, 0.0],
    [1.0, 0.8, -0.5],
    [3.0, 3.0, 0.3],
    [0.1, 0.1, 0.1],
    [5.0, 0.01, -0.01],
    [2.0, 2.0, 2.0],
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{
        check_derivatives, closest, distance, double, is_closest, matrices_near_identity, moved, near,
        regular_solid, solid,
    };
    use super::*;

    fn volume(weight: f64, determinant: f64) -> Volume {
        Volume { weight, volume: VolumeTarget::new(determinant) }
    }

    proptest! {
        #[test]
        fn volume_derivatives_match_finite_differences(f in regular_solid(), determinant in 0.7..1.0) {
            check_derivatives::<Volume, 3, 3>(&volume(2.0, determinant), &f);
        }
    }

    #[test]
    fn the_projection_is_the_closest_matrix_of_that_volume() {
        for seed in 0..30 {
            let f = solid(seed, 0.4);
            let found = closest::<Volume, 3, 3>(&volume(1.0, 0.8), &f);
            let determinant: f64 = svd3(&found).d.iter().product();
            assert!((determinant - 0.8).abs() < 1e-9, "{determinant}");
            is_closest(&f, &found, |tick| {
                let svd = svd3(&near(&f, seed, tick));
                let d = svd.d.map(|d| d.abs().max(1e-3));
                svd.with_values(d.map(|x| x * (0.8 / d.iter().product::<f64>()).cbrt()))
            });
        }
    }

    #[test]
    fn inverted_and_flat_solids_find_their_volume_again() {
        for d in INVERTED_AND_FLAT {
            let f = svd3(&solid(3, 0.4)).with_values(d);
            let found = closest::<Volume, 3, 3>(&volume(1.0, 1.0), &f);
            let determinant: f64 = svd3(&found).d.iter().product();
            assert!((determinant - 1.0).abs() < 1e-6, "{d:?}: {determinant}");
        }
    }

    #[test]
    fn corrections_of_near_volumes_agree_with_the_decomposition() {
        let mut found = [0, 0];
        for target in [0.95, 1.0, 1.05].map(VolumeTarget::new) {
            for (f, single) in matrices_near_identity(0.03) {
                let svd = svd3(&f);
                let wanted = moved(&svd.with_values(closest_product(svd.d, target)), &f, -1.0);
                if let Some(correction) = near_volume(&f, target.determinant) {
                    found[0] += 1;
                    assert!(distance(&correction, &wanted) < 1e-11, "{f:?} {target:?}");
                }
                if let Some(correction) = near_volume(&single, target.determinant as f32) {
                    found[1] += 1;
                    assert!(distance(&double(&correction), &wanted) < 3e-6, "{f:?} {target:?}");
                }
            }
        }
        assert!(found.iter().all(|found| *found > 600), "many are near: {found:?}");
    }

    #[test]
    fn far_volumes_are_left_to_the_decomposition() {
        let diagonal = |d: [f64; 3]| [[d[0], 0.0, 0.0], [0.0, d[1], 0.0], [0.0, 0.0, d[2]]];
        for d in [[1.0, 1.0, -1.0], [1.0, 1.0, 0.0], [1e-3, 1.0, 1.0]] {
            assert!(near_volume(&diagonal(d), 1.0).is_none(), "{d:?}");
        }
        assert!(near_volume(&diagonal([1.0; 3]), 1.5).is_none());
    }
}
