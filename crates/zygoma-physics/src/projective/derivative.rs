//! How the stress of each kind changes, dσ = w (dz − dp): the exact Hessian of a potential, applied to a direction.
//!
//! With the closest point p the gradient of ½ ‖z‖² − ½ dist², its derivative is symmetric, so the same product serves the
//! adjoint of a converged step.

use zygoma_numerics::svd3::matrix::{dot, product, transposed, transposed_product};
use zygoma_numerics::svd3::{Mat3, Svd3, Vec3, svd3};

use super::closest::{closest_area_multiplier, closest_product, orthonormal_columns, stretch_of_columns};
use super::kinds::{
    GradientTarget, HalfSpace, Kind, Length, Line, Shape, ShapedTissue, Strain, StrainLimit, Target, Tissue,
    TriangleArea, TriangleStrain, Volume, matrix_of, shape_of,
};

/// Kinds whose stress has a derivative.
pub trait Differentiable<const R: usize, const P: usize>: Kind<R, P> {
    /// The change of stress at `z` for a small change of z.
    fn stress_change(z: &[Vec3<f64>; R], parameters: &[f64; P], change: &[Vec3<f64>; R]) -> [Vec3<f64>; R];
}

fn combine<const R: usize>(weight: f64, a: &[Vec3<f64>; R], b: &[Vec3<f64>; R]) -> [Vec3<f64>; R] {
    std::array::from_fn(|r| std::array::from_fn(|k| weight * (a[r][k] - b[r][k])))
}

/// dP for P(F) = U diag(s(d)) Vᵀ with ds = J dd: the diagonal follows J; symmetric parts of an off-diagonal pair are scaled by
/// (s_k − s_l) / (d_k − d_l), skew parts by (s_k + s_l) / (d_k + d_l).
fn isotropic_change(
    svd: &Svd3<f64>,
    s: Vec3<f64>,
    jacobian: &[[f64; 3]; 3],
    change: &Mat3<f64>,
) -> Mat3<f64> {
    let (u, v, d) = (&svd.u, &svd.v, svd.d);
    let c = transposed_product(u, &product(change, v));
    let mut m = [[0.0; 3]; 3];
    for k in 0..3 {
        m[k][k] = (0..3).map(|l| jacobian[k][l] * c[l][l]).sum();
        for l in 0..k {
            let (sum, difference) = (d[k] + d[l], d[k] - d[l]);
            let skew = if sum.abs() > 1e-12 * d[0] { (s[k] + s[l]) / sum } else { 0.0 };
            // Where two values meet, the quotient becomes a derivative.
            let even = if difference.abs() > 1e-7 * d[0] {
                (s[k] - s[l]) / difference
            } else {
                jacobian[k][k] - jacobian[k][l]
            };
            let (half_sum, half_difference) = (0.5 * (c[l][k] + c[k][l]), 0.5 * (c[l][k] - c[k][l]));
            m[l][k] = even * half_sum + skew * half_difference;
            m[k][l] = even * half_sum - skew * half_difference;
        }
    }
    product(&product(u, &m), &transposed(v))
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
    use zygoma_numerics::svd3::matrix::{cross, scale};
    let rows = [cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])];
    let determinant = dot(m[0], rows[0]);
    transposed(&rows.map(|row| scale(1.0 / determinant, row)))
}

const ZERO: [[f64; 3]; 3] = [[0.0; 3]; 3];

impl Differentiable<3, 1> for Strain {
    fn stress_change(z: &Mat3<f64>, p: &[f64; 1], change: &Mat3<f64>) -> Mat3<f64> {
        combine(p[0], change, &isotropic_change(&svd3(z), [1.0; 3], &ZERO, change))
    }
}

impl Differentiable<3, 3> for Volume {
    fn stress_change(z: &Mat3<f64>, p: &[f64; 3], change: &Mat3<f64>) -> Mat3<f64> {
        let svd = svd3(z);
        let s = closest_product(svd.d, p[1], p[2]);
        combine(p[0], change, &isotropic_change(&svd, s, &product_jacobian(svd.d, s), change))
    }
}

impl Differentiable<3, 4> for Tissue {
    fn stress_change(z: &Mat3<f64>, p: &[f64; 4], change: &Mat3<f64>) -> Mat3<f64> {
        let strain = Strain::stress_change(z, &[p[0]], change);
        sum(&strain, &Volume::stress_change(z, &[p[1], p[2], p[3]], change))
    }
}

fn sum(a: &Mat3<f64>, b: &Mat3<f64>) -> Mat3<f64> {
    std::array::from_fn(|r| std::array::from_fn(|k| a[r][k] + b[r][k]))
}

impl Differentiable<3, 3> for StrainLimit {
    fn stress_change(z: &Mat3<f64>, p: &[f64; 3], change: &Mat3<f64>) -> Mat3<f64> {
        let svd = svd3(z);
        let mut jacobian = ZERO;
        for k in 0..3 {
            jacobian[k][k] = if (p[1]..=p[2]).contains(&svd.d[k]) { 1.0 } else { 0.0 };
        }
        let s = svd.d.map(|d| d.clamp(p[1], p[2]));
        combine(p[0], change, &isotropic_change(&svd, s, &jacobian, change))
    }
}

impl Differentiable<3, 10> for Shape {
    fn stress_change(z: &Mat3<f64>, p: &[f64; 10], change: &Mat3<f64>) -> Mat3<f64> {
        shape_change(z, (p[0], &matrix_of(p)), change)
    }
}

/// Change of the stress towards a shape of some weight.
fn shape_change(z: &Mat3<f64>, (weight, shape): (f64, &Mat3<f64>), change: &Mat3<f64>) -> Mat3<f64> {
    let back = transposed(shape);
    let svd = svd3(&product(z, &back));
    let turn = isotropic_change(&svd, [1.0; 3], &ZERO, &product(change, &back));
    combine(weight, change, &product(&turn, shape))
}

impl Differentiable<3, 13> for ShapedTissue {
    fn stress_change(z: &Mat3<f64>, p: &[f64; 13], change: &Mat3<f64>) -> Mat3<f64> {
        let strain = shape_change(z, (p[0], &shape_of(p)), change);
        sum(&strain, &Volume::stress_change(z, &[p[1], p[2], p[3]], change))
    }
}

impl Differentiable<3, 10> for GradientTarget {
    fn stress_change(_: &Mat3<f64>, p: &[f64; 10], change: &Mat3<f64>) -> Mat3<f64> {
        combine(p[0], change, &ZERO)
    }
}

/// A 2×2 symmetric matrix as (m₀₀, m₀₁, m₁₁).
type Symmetric2 = [f64; 3];

/// Z M.
fn times(z: &[Vec3<f64>; 2], m: Symmetric2) -> [Vec3<f64>; 2] {
    [
        std::array::from_fn(|k| z[0][k] * m[0] + z[1][k] * m[1]),
        std::array::from_fn(|k| z[0][k] * m[1] + z[1][k] * m[2]),
    ]
}

/// Change of S for a change of Z = Q S: S dS + dS S = dC.
fn stretch_change(z: &[Vec3<f64>; 2], s: Symmetric2, dz: &[Vec3<f64>; 2]) -> Symmetric2 {
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

impl Differentiable<2, 1> for TriangleStrain {
    fn stress_change(z: &[Vec3<f64>; 2], p: &[f64; 1], change: &[Vec3<f64>; 2]) -> [Vec3<f64>; 2] {
        let (s, determinant) = stretch_of_columns(z);
        let q = orthonormal_columns(z, s, determinant);
        combine(p[0], change, &column_change(&q, z, s, determinant, change))
    }
}

/// dQ = (dZ − Q dS) S⁻¹.
fn column_change(
    q: &[Vec3<f64>; 2],
    z: &[Vec3<f64>; 2],
    s: Symmetric2,
    determinant: f64,
    change: &[Vec3<f64>; 2],
) -> [Vec3<f64>; 2] {
    let rest = combine(1.0, change, &times(q, stretch_change(z, s, change)));
    times(&rest, [s[2] / determinant, -s[1] / determinant, s[0] / determinant])
}

impl Differentiable<2, 2> for TriangleArea {
    fn stress_change(z: &[Vec3<f64>; 2], p: &[f64; 2], change: &[Vec3<f64>; 2]) -> [Vec3<f64>; 2] {
        let (s, determinant) = stretch_of_columns(z);
        let q = orthonormal_columns(z, s, determinant);
        let l = closest_area_multiplier(s, determinant, p[1]);
        let ds = stretch_change(z, s, change);
        let dq = column_change(&q, z, s, determinant, change);
        let cofactor = |m: Symmetric2| [m[2], -m[1], m[0]];
        // The equation of λ, differentiated.
        let (trace, d_trace) = (s[0] + s[2], ds[0] + ds[2]);
        let d_determinant = ds[0] * s[2] + s[0] * ds[2] - 2.0 * s[1] * ds[1];
        let squares = trace * trace - 2.0 * determinant;
        let d_squares = 2.0 * trace * d_trace - 2.0 * d_determinant;
        let gap = 1.0 - l * l;
        let slope = 2.0 * l * determinant + squares + 4.0 * p[1] * gap * l;
        let dl = -((1.0 + l * l) * d_determinant + l * d_squares) / slope;
        // P = (Z + λ Q cof S) / (1 − λ²).
        let turned = times(&q, cofactor(s));
        let (first, second) = (times(&dq, cofactor(s)), times(&q, cofactor(ds)));
        let dp = std::array::from_fn(|r| {
            std::array::from_fn(|k| {
                let point = (z[r][k] + l * turned[r][k]) / gap;
                let above = change[r][k] + dl * turned[r][k] + l * (first[r][k] + second[r][k]);
                (above + 2.0 * l * dl * point) / gap
            })
        });
        combine(p[0], change, &dp)
    }
}

impl Differentiable<1, 2> for Length {
    fn stress_change(z: &[Vec3<f64>; 1], p: &[f64; 2], change: &[Vec3<f64>; 1]) -> [Vec3<f64>; 1] {
        let length = dot(z[0], z[0]).sqrt().max(1e-300);
        let along = dot(z[0], change[0]) / (length * length);
        let dp = [std::array::from_fn(|k| p[1] / length * (change[0][k] - along * z[0][k]))];
        combine(p[0], change, &dp)
    }
}

impl Differentiable<1, 4> for Target {
    fn stress_change(_: &[Vec3<f64>; 1], p: &[f64; 4], change: &[Vec3<f64>; 1]) -> [Vec3<f64>; 1] {
        combine(p[0], change, &[[0.0; 3]])
    }
}

impl Differentiable<1, 7> for Line {
    fn stress_change(_: &[Vec3<f64>; 1], p: &[f64; 7], change: &[Vec3<f64>; 1]) -> [Vec3<f64>; 1] {
        let along = [p[4], p[5], p[6]];
        let free = dot(along, change[0]);
        [std::array::from_fn(|k| p[0] * (change[0][k] - free * along[k]))]
    }
}

impl Differentiable<1, 5> for HalfSpace {
    fn stress_change(z: &[Vec3<f64>; 1], p: &[f64; 5], change: &[Vec3<f64>; 1]) -> [Vec3<f64>; 1] {
        let normal = [p[1], p[2], p[3]];
        let inside = dot(normal, z[0]) < p[4];
        let depth = if inside { dot(normal, change[0]) } else { 0.0 };
        [normal.map(|n| p[0] * depth * n)]
    }
}
