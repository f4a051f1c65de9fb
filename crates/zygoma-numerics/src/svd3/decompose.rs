//! The decomposition itself, without iterations.
//!
//! The eigenvalue of FᵀF that lies farthest from the other two is the root of a cubic, and its eigenvector a cross
//! product of rows: both well conditioned however close the other two are ([Eberly 2014] *A robust eigensolver for
//! 3×3 symmetric matrices*). The other two come from one exact rotation of the columns of F V, where the squaring of FᵀF
//! loses nothing of small singular values.

use super::matrix::{apply, cross, dot, pick, product, scale, scale_add, transposed};
use super::{Lane, Mat3, Vec3};

/// F = U diag(d) Vᵀ with rotations U and V: d₀ ≥ d₁ ≥ |d₂|, and d₂ is negative where F mirrors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Svd3<T> {
    /// Left rotation.
    pub u: Mat3<T>,
    /// Singular values; the last one carries the sign of det F.
    pub d: Vec3<T>,
    /// Right rotation.
    pub v: Mat3<T>,
}

impl<T: Lane> Svd3<T> {
    /// U Vᵀ, the rotation closest to the matrix.
    #[inline(always)]
    pub fn rotation(&self) -> Mat3<T> {
        product(&self.u, &transposed(&self.v))
    }

    /// U diag(d) Vᵀ, with other singular values than its own where wanted.
    #[inline(always)]
    pub fn with_values(&self, d: Vec3<T>) -> Mat3<T> {
        let scaled = [scale(d[0], self.u[0]), scale(d[1], self.u[1]), scale(d[2], self.u[2])];
        product(&scaled, &transposed(&self.v))
    }
}

/// Decomposes a matrix.
///
/// Entries may be as large as 10⁸ and as small as 10⁻⁸ in `f32` (10⁷⁰ and 10⁻⁷⁰ in `f64`); beyond, squares of squares
/// leave the range of numbers. A matrix of lower rank gets rotations all the same.
#[inline(always)]
pub fn svd3<T: Lane>(f: &Mat3<T>) -> Svd3<T> {
    let (axis, is_smallest) = farthest_eigenvector(f);
    let second = perpendicular(axis);
    let v = [axis, second, cross(axis, second)];
    let (v, b) = separate_pair(v, [apply(f, v[0]), apply(f, v[1]), apply(f, v[2])]);
    // The pair is sorted already: only where the first column belongs is left to say.
    let v = [
        pick::<T>(is_smallest, v[1], v[0]),
        pick::<T>(is_smallest, v[2], v[1]),
        pick::<T>(is_smallest, v[0], v[2]),
    ];
    let b = [
        pick::<T>(is_smallest, b[1], b[0]),
        pick::<T>(is_smallest, b[2], b[1]),
        pick::<T>(is_smallest, b[0], b[2]),
    ];
    let largest = dot(b[0], b[0]).sqrt();
    let (zero, one) = (largest.splat(0.0), largest.splat(1.0));
    let nothing = largest.less(largest.splat(T::TINY.sqrt()));
    let u0 = pick::<T>(nothing, [one, zero, zero], scale(one / largest, b[0]));
    // The residue along u0 after one projection may dominate: project twice.
    let rest = scale_add(-dot(u0, b[1]), u0, b[1]);
    let rest = scale_add(-dot(u0, rest), u0, rest);
    let noise = largest.mul_add(largest.splat(4.0 * T::EPSILON), largest.splat(T::TINY.sqrt()));
    let nothing = dot(rest, rest).less(noise * noise);
    let u1 = pick::<T>(nothing, across(u0), rest);
    let u1 = scale(one / dot(u1, u1).sqrt(), u1);
    let u2 = cross(u0, u1);
    Svd3 { u: [u0, u1, u2], d: [largest, dot(u1, b[1]), dot(u2, b[2])], v }
}

/// The eigenvector of FᵀF whose eigenvalue is farthest from the others, and where that is the smallest.
#[inline(always)]
fn farthest_eigenvector<T: Lane>(f: &Mat3<T>) -> (Vec3<T>, T::Mask) {
    let [a, b, c] = [dot(f[0], f[0]), dot(f[1], f[1]), dot(f[2], f[2])];
    let [bc, ca, ab] = [dot(f[1], f[2]), dot(f[2], f[0]), dot(f[0], f[1])];
    // Without its mean and of fixed size, the eigenvalues are 2 cos of angles a third of a turn apart.
    let mean = (a + b + c) * a.splat(1.0 / 3.0);
    let (a, b, c) = (a - mean, b - mean, c - mean);
    // Where they are nearly equal, the mean's rounding is as large as what is left of them: subtract it once more.
    let rest = (a + b + c) * a.splat(1.0 / 3.0);
    let (a, b, c) = (a - rest, b - rest, c - rest);
    let off = dot([bc, ca, ab], [bc, ca, ab]);
    let size = dot([a, b, c], [a, b, c]) + off + off;
    let unit = (a.splat(6.0) / (size + a.splat(T::TINY))).sqrt();
    let [a, b, c] = scale(unit, [a, b, c]);
    let [bc, ca, ab] = scale(unit, [bc, ca, ab]);
    let minor = [b.mul_add(c, -(bc * bc)), bc.mul_add(ca, -(ab * c)), ab.mul_add(bc, -(b * ca))];
    let half_determinant = dot([a, ab, ca], minor) * a.splat(0.5);
    let is_smallest = half_determinant.less(a.splat(0.0));
    let root = farthest_root(half_determinant.abs());
    let root = T::pick(is_smallest, -root, root);
    let rows = [[a - root, ab, ca], [ab, b - root, bc], [ca, bc, c - root]];
    let candidates = [cross(rows[0], rows[1]), cross(rows[1], rows[2]), cross(rows[2], rows[0])];
    (longest_direction(candidates), is_smallest)
}

/// The direction of the longest of three vectors.
#[inline(always)]
fn longest_direction<T: Lane>([a, b, c]: [Vec3<T>; 3]) -> Vec3<T> {
    let (aa, bb, cc) = (dot(a, a), dot(b, b), dot(c, c));
    let swap = aa.less(bb);
    let (a, aa) = (pick::<T>(swap, b, a), T::pick(swap, bb, aa));
    let swap = aa.less(cc);
    let (a, aa) = (pick::<T>(swap, c, a), T::pick(swap, cc, aa));
    scale(aa.splat(1.0) / aa.sqrt(), a)
}

/// The largest root of y³ − 3y = 2x, 2 cos(acos(x) / 3), for x from 0 to 1.
#[inline(always)]
fn farthest_root<T: Lane>(x: T) -> T {
    let x = T::pick(x.less(x.splat(1.0)), x, x.splat(1.0));
    // Through both ends with their slopes 1/3 and 2/9; off by less than 4e-4 between.
    const ROOT3: f64 = 1.732_050_807_568_877_2;
    let (rise, start, end) = (2.0 - ROOT3, 1.0 / 3.0, 2.0 / 9.0);
    let cubic = x.mul_add(x.splat(start + end - 2.0 * rise), x.splat(3.0 * rise - 2.0 * start - end));
    let mut y = x.mul_add(x.mul_add(cubic, x.splat(start)), x.splat(ROOT3));
    for _ in 0..T::NEWTON_STEPS {
        // y ← (2y³ + 2x) / (3y² − 3)
        let square = y * y;
        let above = (y + y).mul_add(square, x + x);
        y = above / square.mul_add(x.splat(3.0), x.splat(-3.0));
    }
    y
}

/// Some unit vector perpendicular to one, without a branch ([Duff et al. 2017] *Building an orthonormal basis, revisited*).
#[inline(always)]
fn perpendicular<T: Lane>(n: Vec3<T>) -> Vec3<T> {
    let (zero, one) = (n[0].splat(0.0), n[0].splat(1.0));
    let sign = T::pick(n[2].less(zero), -one, one);
    let fraction = -n[0] / (one + n[2].abs());
    [n[0].mul_add(fraction, one), n[1] * fraction, -sign * n[0]]
}

/// Makes the second and third column of B = F V perpendicular, by a rotation of V's; the longer comes second.
#[inline(always)]
fn separate_pair<T: Lane>(v: Mat3<T>, b: Mat3<T>) -> (Mat3<T>, Mat3<T>) {
    let (zero, one) = (b[0][0].splat(0.0), b[0][0].splat(1.0));
    let difference = dot(b[1], b[1]) - dot(b[2], b[2]);
    let off = dot(b[1], b[2]);
    let twice = off + off;
    let root = difference.mul_add(difference, twice * twice).sqrt();
    // The tangent of the angle below 45° that does it, or its inverse where the columns change places.
    let (along, across) = (difference.abs() + root + zero.splat(T::TINY.sqrt()), twice);
    let swap = difference.less(zero);
    let scale_down = one / along.mul_add(along, across * across).sqrt();
    let (along, across) = (along * scale_down, across * scale_down);
    let (c, s) = (T::pick(swap, across, along), T::pick(swap, along, across));
    (turn_pair(v, c, s), turn_pair(b, c, s))
}

#[inline(always)]
fn turn_pair<T: Lane>(m: Mat3<T>, c: T, s: T) -> Mat3<T> {
    [m[0], scale_add(c, m[1], scale(s, m[2])), scale_add(c, m[2], scale(-s, m[1]))]
}

/// Some vector perpendicular to a unit vector, of no certain length.
#[inline(always)]
fn across<T: Lane>(n: Vec3<T>) -> Vec3<T> {
    let zero = n[0].splat(0.0);
    pick::<T>(n[0].abs().less(n[2].abs()), [zero, -n[2], n[1]], [-n[1], n[0], zero])
}
