//! A decomposition carried along to first order (*Progressive PD*, §6.1–6.2, appendix A).

use super::matrix::{dot, product, scale, scale_add, transposed, transposed_product};
use super::{Lane, Mat3, Svd3, Vec3};

/// The decomposition of one matrix and how it turns as the matrix changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expansion<T> {
    /// The decomposition where the expansion was made.
    pub(super) svd: Svd3<T>,
    /// j₀ … j₅ of *Progressive PD* eq. 32: θ of U is (j₀ C₁₂ + j₁ C₂₁, j₂ C₀₂ + j₃ C₂₀, j₄ C₀₁ + j₅ C₁₀), of V with the j of each pair
    /// exchanged, for C = Uᵀ F V.
    pub(super) jacobian: [T; 6],
}

impl<T: Lane> Expansion<T> {
    /// The expansion around a decomposition.
    #[inline(always)]
    pub(super) fn new(svd: Svd3<T>) -> Self {
        let d = svd.d;
        let [j0, j1] = pair(d[1], d[2], d[0]);
        let [j2, j3] = pair(d[0], d[2], d[0]);
        let [j4, j5] = pair(d[0], d[1], d[0]);
        Self { svd, jacobian: [j0, j1, -j2, -j3, j4, j5] }
    }

    /// ‖J‖ of *Progressive PD* eq. 24: no angle changes by more than this times ‖F′ − F‖.
    #[inline(always)]
    pub(super) fn bound(&self) -> T {
        let j = &self.jacobian;
        let squares =
            dot([j[0], j[1], j[2]], [j[0], j[1], j[2]]) + dot([j[3], j[4], j[5]], [j[3], j[4], j[5]]);
        where_it_turns(self.svd.d, squares.sqrt())
    }

    /// Approximates the decomposition of another matrix close by (*Progressive PD*, Algorithm 3).
    #[inline(always)]
    pub(super) fn at(&self, f: &Mat3<T>) -> Svd3<T> {
        let (u, v, j) = (&self.svd.u, &self.svd.v, &self.jacobian);
        // Columns of C: c[column][row].
        let c = transposed_product(u, &product(f, v));
        let theta_u = [
            j[0].mul_add(c[2][1], j[1] * c[1][2]),
            j[2].mul_add(c[2][0], j[3] * c[0][2]),
            j[4].mul_add(c[1][0], j[5] * c[0][1]),
        ];
        let theta_v = [
            j[1].mul_add(c[2][1], j[0] * c[1][2]),
            j[3].mul_add(c[2][0], j[2] * c[0][2]),
            j[5].mul_add(c[1][0], j[4] * c[0][1]),
        ];
        Svd3 { u: turned(u, theta_u), d: [c[0][0], c[1][1], c[2][2]], v: turned(v, theta_v) }
    }
}

/// ½ (1/(b + a) + 1/(b − a)) and ½ (−1/(b + a) + 1/(b − a)); an undefined fraction is 0 (*Progressive PD* eq. 31).
#[inline(always)]
fn pair<T: Lane>(a: T, b: T, largest: T) -> [T; 2] {
    let sum = half_inverse(b + a, largest);
    let difference = half_inverse(b - a, largest);
    [difference + sum, difference - sum]
}

/// ½ / x, or 0 where x is rounding.
#[inline(always)]
pub(super) fn half_inverse<T: Lane>(x: T, largest: T) -> T {
    T::pick(x.abs().less(noise(largest)), x.splat(0.0), x.splat(0.5) / x)
}

/// A bound on the angles, or one that nothing keeps where d₁ + d₂ is rounding: there no rotation is nearer than all others, and the smallest
/// change turns it by any angle.
#[inline(always)]
fn where_it_turns<T: Lane>(d: Vec3<T>, bound: T) -> T {
    T::pick((d[1] + d[2]).abs().less(noise(d[0])), d[0].splat(1.0 / T::TINY.sqrt()), bound)
}

/// The rounding error relative to the largest singular value.
#[inline(always)]
fn noise<T: Lane>(largest: T) -> T {
    largest.mul_add(largest.splat(4.0 * T::EPSILON), largest.splat(T::TINY.sqrt()))
}

/// M R(θ) of *Progressive PD* eq. 22, with cosine and sine to second order.
#[inline(always)]
pub(super) fn turned<T: Lane>(m: &Mat3<T>, theta: Vec3<T>) -> Mat3<T> {
    let (m1, m2) = turn(m[1], m[2], theta[0]);
    let (m2, m0) = turn(m2, m[0], theta[1]);
    let (m0, m1) = turn(m0, m1, theta[2]);
    [m0, m1, m2]
}

/// c a − s b and s a + c b.
#[inline(always)]
fn turn<T: Lane>(a: Vec3<T>, b: Vec3<T>, s: T) -> (Vec3<T>, Vec3<T>) {
    let c = (s * s).mul_add(s.splat(-0.5), s.splat(1.0));
    (scale_add(c, a, scale(-s, b)), scale_add(c, b, scale(s, a)))
}

/// The closest rotation R = U Vᵀ of one matrix and how it turns as the matrix changes.
///
/// Of U and V only their common part turns R, by angles (C_kl − C_lk) / (d_k + d_l): nothing here grows as two singular values
/// meet, as the angles of U and V do.
#[derive(Clone, Copy, Debug)]
pub(super) struct RotationExpansion<T> {
    /// The decomposition where the expansion was made.
    pub(super) svd: Svd3<T>,
    /// 1 / (d₁ + d₂), 1 / (d₀ + d₂), 1 / (d₀ + d₁).
    pub(super) inverse_sums: Vec3<T>,
}

impl<T: Lane> RotationExpansion<T> {
    /// The expansion around a decomposition.
    #[inline(always)]
    pub(super) fn new(svd: Svd3<T>) -> Self {
        let [d0, d1, d2] = svd.d;
        let [a, b, c] = [half_inverse(d1 + d2, d0), half_inverse(d0 + d2, d0), half_inverse(d0 + d1, d0)];
        Self { svd, inverse_sums: [a + a, b + b, c + c] }
    }

    /// R turns by no more than this times ‖F′ − F‖ (in radians): the largest 1 / (d_k + d_l), times √2.
    #[inline(always)]
    pub(super) fn bound(&self) -> T {
        let largest = self.inverse_sums[0].abs();
        where_it_turns(self.svd.d, largest * largest.splat(std::f64::consts::SQRT_2))
    }

    /// Approximates the closest rotation of another matrix close by.
    #[inline(always)]
    pub(super) fn at(&self, f: &Mat3<T>) -> Mat3<T> {
        let c = transposed_product(&self.svd.u, &product(f, &self.svd.v));
        let w = &self.inverse_sums;
        let theta = [w[0] * (c[2][1] - c[1][2]), w[1] * (c[0][2] - c[2][0]), w[2] * (c[1][0] - c[0][1])];
        product(&turned(&self.svd.u, theta), &transposed(&self.svd.v))
    }
}
