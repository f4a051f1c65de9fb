//! Vectors and 3×3 matrices of [`Lane`]s.
//!
//! Everything is spelt out and inlined: a closure or an iterator in between would leave the instruction set that a
//! kernel was compiled for.

use super::{Lane, Mat3, Vec3};

/// a · b.
#[inline(always)]
pub fn dot<T: Lane>(a: Vec3<T>, b: Vec3<T>) -> T {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

/// a × b.
#[inline(always)]
pub fn cross<T: Lane>(a: Vec3<T>, b: Vec3<T>) -> Vec3<T> {
    [
        a[1].mul_add(b[2], -(a[2] * b[1])),
        a[2].mul_add(b[0], -(a[0] * b[2])),
        a[0].mul_add(b[1], -(a[1] * b[0])),
    ]
}

/// `s a`.
#[inline(always)]
pub fn scale<T: Lane>(s: T, a: Vec3<T>) -> Vec3<T> {
    [s * a[0], s * a[1], s * a[2]]
}

/// `s a + b`.
#[inline(always)]
pub fn scale_add<T: Lane>(s: T, a: Vec3<T>, b: Vec3<T>) -> Vec3<T> {
    [s.mul_add(a[0], b[0]), s.mul_add(a[1], b[1]), s.mul_add(a[2], b[2])]
}

/// `yes` where the mask is set, `no` elsewhere.
#[inline(always)]
pub fn pick<T: Lane>(mask: T::Mask, yes: Vec3<T>, no: Vec3<T>) -> Vec3<T> {
    [T::pick(mask, yes[0], no[0]), T::pick(mask, yes[1], no[1]), T::pick(mask, yes[2], no[2])]
}

/// `m v`.
#[inline(always)]
pub fn apply<T: Lane>(m: &Mat3<T>, v: Vec3<T>) -> Vec3<T> {
    scale_add(v[0], m[0], scale_add(v[1], m[1], scale(v[2], m[2])))
}

/// `a b`.
#[inline(always)]
pub fn product<T: Lane>(a: &Mat3<T>, b: &Mat3<T>) -> Mat3<T> {
    [apply(a, b[0]), apply(a, b[1]), apply(a, b[2])]
}

/// `aᵀ v`.
#[inline(always)]
pub fn apply_transposed<T: Lane>(a: &Mat3<T>, v: Vec3<T>) -> Vec3<T> {
    [dot(a[0], v), dot(a[1], v), dot(a[2], v)]
}

/// `aᵀ b`.
#[inline(always)]
pub fn transposed_product<T: Lane>(a: &Mat3<T>, b: &Mat3<T>) -> Mat3<T> {
    [apply_transposed(a, b[0]), apply_transposed(a, b[1]), apply_transposed(a, b[2])]
}

/// mᵀ.
#[inline(always)]
pub fn transposed<T: Lane>(m: &Mat3<T>) -> Mat3<T> {
    [[m[0][0], m[1][0], m[2][0]], [m[0][1], m[1][1], m[2][1]], [m[0][2], m[1][2], m[2][2]]]
}
