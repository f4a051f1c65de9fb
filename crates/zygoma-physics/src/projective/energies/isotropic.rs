//! Energies of singular values: functions of a 3×3 matrix that leave its singular vectors alone.

use zygoma_numerics::svd3::matrix::{dot, product, scale, transposed, transposed_product};
use zygoma_numerics::svd3::{Lane, Mat3, Svd3, Vec3};

/// The Jacobian of singular values that do not change.
pub(super) const ZERO: [[f64; 3]; 3] = [[0.0; 3]; 3];

/// Energy ½ w ‖d − s‖² and stress w (d − s) of singular values d pulled to others.
#[inline(always)]
pub(super) fn pull_values<T: Lane>(weight: T, d: Vec3<T>, s: Vec3<T>) -> (T, Vec3<T>) {
    let off = [d[0] - s[0], d[1] - s[1], d[2] - s[2]];
    (weight * weight.splat(0.5) * dot(off, off), scale(weight, off))
}

/// dP for P(F) = U diag(s(d)) Vᵀ with ds = J dd, where F = U diag(d) Vᵀ.
///
/// In the basis of the singular vectors, Uᵀ dF V, the diagonal follows J; the symmetric part of an off-diagonal pair is scaled by
/// (s_k − s_l) / (d_k − d_l), its skew part by (s_k + s_l) / (d_k + d_l).
pub(super) fn isotropic_differential(
    svd: &Svd3<f64>,
    s: Vec3<f64>,
    jacobian: &[[f64; 3]; 3],
    df: &Mat3<f64>,
) -> Mat3<f64> {
    let (u, v, d) = (&svd.u, &svd.v, svd.d);
    let c = transposed_product(u, &product(df, v));
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
