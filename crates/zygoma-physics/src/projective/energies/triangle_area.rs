//! Area of a triangle.

use zygoma_numerics::svd3::matrix::{scale, scale_add};
use zygoma_numerics::svd3::{Lane, Vec3};

use super::columns::{
    Symmetric2, orthonormal_columns, orthonormal_differential, stretch_differential, stretch_of_columns,
    times,
};
use super::{Energy, pull, pull_differential};

/// Area of a triangle, W(F) = ½ w ‖F − F*‖², where F* is the closest 3×2 matrix whose singular values multiply to a.
///
/// With F = Q S, stationarity gives F* = Q (S + λ cof S) / (1 − λ²) for a multiplier λ that the constraint det = a determines. Stress: w (F − F*).
/// Differential: w (dF − dF*), by differentiating Q, S, and the equation of λ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriangleArea<T = f64> {
    /// w, the weight times the rest area.
    pub weight: T,
    /// a, the area to aim at relative to that at rest.
    pub area: T,
}

impl Energy<2, 2> for TriangleArea {
    type Parameters<T: Lane> = TriangleArea<T>;

    fn pack(p: TriangleArea) -> [f64; 2] {
        [p.weight, p.area]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, area]: &[T; 2]) -> TriangleArea<T> {
        TriangleArea { weight, area }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &TriangleArea<T>, f: &[Vec3<T>; 2]) -> (T, [Vec3<T>; 2]) {
        let (stretch, determinant) = stretch_of_columns(f);
        let q = orthonormal_columns(f, stretch, determinant);
        let l = closest_area_multiplier(stretch, determinant, p.area);
        // Q (S + λ cof S) / (1 − λ²), with Q S = F.
        let inverse = l.splat(1.0) / (l.splat(1.0) - l * l);
        let [a, b, c] = stretch;
        let cofactor = [scale_add(c, q[0], scale(-b, q[1])), scale_add(a, q[1], scale(-b, q[0]))];
        let goal = [
            scale(inverse, scale_add(l, cofactor[0], f[0])),
            scale(inverse, scale_add(l, cofactor[1], f[1])),
        ];
        pull(p.weight, f, &goal)
    }

    fn stress_differential(p: &TriangleArea, f: &[Vec3<f64>; 2], df: &[Vec3<f64>; 2]) -> [Vec3<f64>; 2] {
        let (s, determinant) = stretch_of_columns(f);
        let q = orthonormal_columns(f, s, determinant);
        let l = closest_area_multiplier(s, determinant, p.area);
        let ds = stretch_differential(f, s, df);
        let dq = orthonormal_differential(&q, f, s, determinant, df);
        let cofactor = |m: Symmetric2| [m[2], -m[1], m[0]];
        // The equation of λ, differentiated.
        let (trace, d_trace) = (s[0] + s[2], ds[0] + ds[2]);
        let d_determinant = ds[0] * s[2] + s[0] * ds[2] - 2.0 * s[1] * ds[1];
        let squares = trace * trace - 2.0 * determinant;
        let d_squares = 2.0 * trace * d_trace - 2.0 * d_determinant;
        let gap = 1.0 - l * l;
        let slope = 2.0 * l * determinant + squares + 4.0 * p.area * gap * l;
        let dl = -((1.0 + l * l) * d_determinant + l * d_squares) / slope;
        // P = (F + λ Q cof S) / (1 − λ²).
        let turned = times(&q, cofactor(s));
        let (first, second) = (times(&dq, cofactor(s)), times(&q, cofactor(ds)));
        let dp = std::array::from_fn(|r| {
            std::array::from_fn(|k| {
                let point = (f[r][k] + l * turned[r][k]) / gap;
                let above = df[r][k] + dl * turned[r][k] + l * (first[r][k] + second[r][k]);
                (above + 2.0 * l * dl * point) / gap
            })
        });
        pull_differential(p.weight, df, &dp)
    }
}

/// λ of the closest 3×2 matrix whose singular values multiply to `product`: it is Q (S + λ cof S) / (1 − λ²).
///
/// The smaller singular value t of that matrix is the unknown: s₀ t grows with t and is convex where t is at
/// least half of the smaller value of S, and it is not below its goal at the start, so that Newton's method comes down to the goal without
/// ever passing it. (Newton's method for λ itself runs in a circle where a triangle is much smaller than its goal.)
#[inline(always)]
fn closest_area_multiplier<T: Lane>(stretch: [T; 3], determinant: T, product: T) -> T {
    let (zero, half, quarter, four) =
        (product.splat(0.0), product.splat(0.5), product.splat(0.25), product.splat(4.0));
    let tiny = product.splat(T::TINY.sqrt());
    let trace = stretch[0] + stretch[2];
    let square = trace.mul_add(trace, -(four * determinant));
    let spread = T::pick(zero.less(square), square, zero).sqrt();
    let large = half * (trace + spread);
    // The difference of nearly equal numbers would lose the smaller value of a thin triangle.
    let small = determinant / (large + tiny);
    let root = product.sqrt();
    let mut t = T::pick(small.less(root), root, small);
    let mut s = larger_value(large, small, t, half, four);
    for _ in 0..3 + 3 * T::NEWTON_STEPS {
        let miss = t.mul_add(s[1], -product);
        let slope = (t * (t + t - small) / (s[0] + tiny)) + s[1];
        let next = t - miss / (slope + tiny);
        let least = t * quarter;
        t = T::pick(least.less(next), next, least);
        s = larger_value(large, small, t, half, four);
    }
    // A triangle collapsed to a point has no closest one: at λ = 1 its columns would fly off.
    let limit = product.splat(0.999);
    let multiplier = (t - small) / (s[1] + tiny);
    let multiplier = T::pick(multiplier.less(limit), multiplier, limit);
    T::pick((-limit).less(multiplier), multiplier, -limit)
}

/// √(d₀² + 4κ) and ½ (d₀ + √…) for κ = t² − d₁ t.
#[inline(always)]
fn larger_value<T: Lane>(large: T, small: T, t: T, half: T, four: T) -> [T; 2] {
    let square = large.mul_add(large, four * t * (t - small));
    let zero = t.splat(0.0);
    let root = T::pick(zero.less(square), square, zero).sqrt();
    [root, half * (large + root)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zygoma_numerics::svd3::matrix::{cross, dot};

    use super::super::TriangleStrain;
    use super::super::derivative_test::{check_derivatives, closest, gradient, is_closest, near, regular};
    use super::*;

    proptest! {
        #[test]
        fn triangle_area_derivatives_match_finite_differences(f in regular::<2>()) {
            check_derivatives::<TriangleArea, 2, 2>(&TriangleArea { weight: 2.0, area: 0.8 }, &f);
        }
    }

    fn area_of(f: &[Vec3<f64>; 2]) -> f64 {
        let n = cross(f[0], f[1]);
        dot(n, n).sqrt()
    }

    #[test]
    fn the_projection_is_the_closest_matrix_of_that_area() {
        for seed in 0..30 {
            let f = gradient::<2>(seed, 0.4);
            let found = closest::<TriangleArea, 2, 2>(&TriangleArea { weight: 1.0, area: 0.7 }, &f);
            assert!((area_of(&found) - 0.7).abs() < 1e-9, "{}", area_of(&found));
            is_closest(&f, &found, |tick| {
                let other = near(&f, seed, tick);
                let scale = (0.7 / area_of(&other)).sqrt();
                other.map(|column| column.map(|x| scale * x))
            });
        }
    }

    #[test]
    fn small_and_large_triangles_find_their_area_again() {
        let q = closest::<TriangleStrain, 2, 1>(&TriangleStrain { weight: 1.0 }, &gradient::<2>(5, 0.4));
        // Newton's method for λ itself once ran in a circle at the first: half as long, a quarter as wide as its goal.
        for d in [[0.641, 0.325], [0.1, 0.1], [0.5, 0.01], [3.0, 2.9], [4.0, 0.05], [1.0, 1.0], [0.9, 0.88]] {
            let f: [Vec3<f64>; 2] = std::array::from_fn(|r| q[r].map(|x| x * d[r]));
            for goal in [0.3, 0.8, 1.0] {
                let p = TriangleArea { weight: 1.0, area: goal };
                let area = area_of(&closest::<TriangleArea, 2, 2>(&p, &f));
                assert!((area - goal).abs() < 1e-9, "{d:?} {goal}: {area}");
                check_derivatives::<TriangleArea, 2, 2>(&TriangleArea { weight: 2.0, area: goal }, &f);
                let area = area_of(&closest_single(&f, goal));
                // 1 − λ² loses digits where the goal is far smaller.
                assert!((area - goal).abs() < 5e-3 * goal, "{d:?} {goal}: {area} in single precision");
            }
        }
    }

    fn closest_single(f: &[Vec3<f64>; 2], area: f64) -> [Vec3<f64>; 2] {
        let f = f.map(|column| column.map(|x| x as f32));
        let (_, stress) = <TriangleArea>::evaluate(&TriangleArea { weight: 1.0, area: area as f32 }, &f);
        std::array::from_fn(|r| std::array::from_fn(|k| f64::from(f[r][k] - stress[r][k])))
    }
}
