//! 3×2 matrices, the deformation gradients of triangles, and their polar decomposition Z = Q S.

use zygoma_numerics::svd3::matrix::{dot, scale, scale_add};
use zygoma_numerics::svd3::{Lane, Vec3};

use super::pull_differential;

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

/// A 2×2 symmetric matrix as (m₀₀, m₀₁, m₁₁).
pub(super) type Symmetric2 = [f64; 3];

/// Z M.
pub(super) fn times(z: &[Vec3<f64>; 2], m: Symmetric2) -> [Vec3<f64>; 2] {
    [
        std::array::from_fn(|k| z[0][k] * m[0] + z[1][k] * m[1]),
        std::array::from_fn(|k| z[0][k] * m[1] + z[1][k] * m[2]),
    ]
}

/// dS for Z = Q S, from S dS + dS S = dC with C = ZᵀZ.
pub(super) fn stretch_differential(z: &[Vec3<f64>; 2], s: Symmetric2, dz: &[Vec3<f64>; 2]) -> Symmetric2 {
    let dc = [2.0 * dot(z[0], dz[0]), dot(z[0], dz[1]) + dot(z[1], dz[0]), 2.0 * dot(z[1], dz[1])];
    // For 2×2 matrices dS = (dC + (d√det) I − (dτ) S) / τ with τ = tr S.
    let trace = s[0] + s[2];
    let determinant = s[0] * s[2] - s[1] * s[1];
    let c = [s[0] * s[0] + s[1] * s[1], s[1] * trace, s[1] * s[1] + s[2] * s[2]];
    let d_square = dc[0] * c[2] + c[0] * dc[2] - 2.0 * c[1] * dc[1];
    let d_determinant = d_square / (2.0 * determinant);
    let d_trace = (dc[0] + dc[2] + 2.0 * d_determinant) / (2.0 * trace);
    [
        (dc[0] + d_determinant - d_trace * s[0]) / trace,
        (dc[1] - d_trace * s[1]) / trace,
        (dc[2] + d_determinant - d_trace * s[2]) / trace,
    ]
}

/// dQ = (dZ − Q dS) S⁻¹.
pub(super) fn orthonormal_differential(
    q: &[Vec3<f64>; 2],
    z: &[Vec3<f64>; 2],
    s: Symmetric2,
    determinant: f64,
    dz: &[Vec3<f64>; 2],
) -> [Vec3<f64>; 2] {
    let rest = pull_differential(1.0, dz, &times(q, stretch_differential(z, s, dz)));
    times(&rest, [s[2] / determinant, -s[1] / determinant, s[0] / determinant])
}
