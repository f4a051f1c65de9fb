//! Closest points of the sets that constraints are made of.
//!
//! Everything is written over [`Lane`], for single numbers and registers alike, and so without closures and iterators (see
//! [`zygoma_numerics::svd3::matrix`]).

use zygoma_numerics::svd3::matrix::{dot, scale, scale_add};
use zygoma_numerics::svd3::{Lane, Vec3};

/// The singular values closest to `d` whose product is `product`, of which `cube_root` is the cube root; `d` is sorted as
/// by [`svd3`](zygoma_numerics::svd3::svd3), and what comes back is positive.
///
/// At the closest point each s satisfies s² − d s = κ with one κ for all. The smallest one, t, is the unknown: κ = t² − d₂ t, and
/// the product of all three less its goal is found zero by Newton's method: from the first-order guess where that is near the goal, and
/// otherwise from a t that is not too small.
#[inline(always)]
pub(super) fn closest_product<T: Lane>(d: Vec3<T>, product: T, cube_root: T) -> Vec3<T> {
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

/// The symmetric factor S of a 3×2 matrix Z = Q S with orthonormal columns Q, as (S₀₀, S₀₁, S₁₁), and its determinant.
#[inline(always)]
pub(super) fn stretch_of_columns<T: Lane>(z: &[Vec3<T>; 2]) -> ([T; 3], T) {
    let (a, b, c) = (dot(z[0], z[0]), dot(z[0], z[1]), dot(z[1], z[1]));
    let zero = a.splat(0.0);
    let square = a.mul_add(c, -(b * b));
    let determinant = T::pick(zero.less(square), square, zero).sqrt();
    // The square root of a 2×2 matrix C is (C + √det I) / √(tr + 2 √det).
    let trace = (a + c + determinant + determinant).sqrt() + a.splat(T::TINY.sqrt());
    let inverse = a.splat(1.0) / trace;
    ([(a + determinant) * inverse, b * inverse, (c + determinant) * inverse], determinant)
}

/// Z S⁻¹, the closest matrix with orthonormal columns, from Z and the factor S of [`stretch_of_columns`].
#[inline(always)]
pub(super) fn orthonormal_columns<T: Lane>(
    z: &[Vec3<T>; 2],
    stretch: [T; 3],
    determinant: T,
) -> [Vec3<T>; 2] {
    // A triangle collapsed to a line has no such matrix: its columns then fade out instead of flying off.
    let least = stretch[0].mul_add(stretch[2], stretch[1] * stretch[1]) * determinant.splat(4.0 * T::EPSILON);
    let inverse = determinant.splat(1.0) / (determinant + least + determinant.splat(T::TINY.sqrt()));
    let [a, b, c] = stretch;
    [scale(inverse, scale_add(c, z[0], scale(-b, z[1]))), scale(inverse, scale_add(a, z[1], scale(-b, z[0])))]
}

/// λ of the closest 3×2 matrix whose singular values multiply to `product`: it is Q (S + λ cof S) / (1 − λ²).
///
/// As in [`closest_product`], the smaller singular value t of that matrix is the unknown: s₀ t grows with t and is convex where t is at
/// least half of the smaller value of S, and it is not below its goal at the start, so that Newton's method comes down to the goal without
/// ever passing it. (Newton's method for λ itself runs in a circle where a triangle is much smaller than its goal.)
#[inline(always)]
pub(super) fn closest_area_multiplier<T: Lane>(stretch: [T; 3], determinant: T, product: T) -> T {
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

/// The point at `radius` from the origin closest to a vector; the origin for a vector of no length.
#[inline(always)]
pub(super) fn closest_on_sphere<T: Lane>(z: Vec3<T>, radius: T) -> Vec3<T> {
    let length = dot(z, z).sqrt();
    scale(radius / (length + length.splat(T::TINY.sqrt())), z)
}
