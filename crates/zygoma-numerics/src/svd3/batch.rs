//! Sixteen matrices at a time, as many as the widest registers hold.

use super::lane::Pair;
use super::{Lane, Mat3, Svd3, Vec3, Wide, svd3};
use crate::simd::{self, Simd, WithSimd};

/// Matrices in a batch.
pub const LANES: usize = 16;

/// Sixteen numbers, one of each matrix.
pub type Sixteen = [f32; LANES];
/// Sixteen matrices, entry by entry, column after column.
pub type Mat3x16 = Mat3<Sixteen>;
/// Sixteen decompositions.
pub type Svd3x16 = Svd3<Sixteen>;

/// Decomposes batches of matrices, as far as both slices reach.
pub fn svd3_batch(matrices: &[Mat3x16], decompositions: &mut [Svd3x16]) {
    struct Kernel<'a>(&'a [Mat3x16], &'a mut [Svd3x16]);
    impl WithSimd for Kernel<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let count = self.0.len().min(self.1.len());
            let (matrices, out) = (&self.0[..count], &mut self.1[..count]);
            let (pairs, last) = matrices.as_chunks::<2>();
            let (out_pairs, out_last) = out.as_chunks_mut::<2>();
            for (matrices, out) in pairs.iter().zip(out_pairs) {
                decompose_pair(simd, matrices, out);
            }
            for (matrix, out) in last.iter().zip(out_last) {
                for part in (0..LANES).step_by(S::F32_LANES) {
                    store_svd(&svd3(&load(simd, matrix, part)), out, part);
                }
            }
        }
    }
    simd::run_widest(Kernel(matrices, decompositions));
}

/// Decomposes two batches at once.
#[inline(always)]
fn decompose_pair<S: Simd>(simd: S, matrices: &[Mat3x16; 2], out: &mut [Svd3x16; 2]) {
    for part in (0..LANES).step_by(S::F32_LANES) {
        let (a, b) = (load(simd, &matrices[0], part), load(simd, &matrices[1], part));
        let svd = svd3(&[join(a[0], b[0]), join(a[1], b[1]), join(a[2], b[2])]);
        store_svd(&Svd3 { u: firsts(&svd.u), d: first(svd.d), v: firsts(&svd.v) }, &mut out[0], part);
        store_svd(&Svd3 { u: seconds(&svd.u), d: second(svd.d), v: seconds(&svd.v) }, &mut out[1], part);
    }
}

#[inline(always)]
fn join<T: Lane>(a: Vec3<T>, b: Vec3<T>) -> Vec3<Pair<T>> {
    [Pair(a[0], b[0]), Pair(a[1], b[1]), Pair(a[2], b[2])]
}

#[inline(always)]
fn first<T: Lane>(v: Vec3<Pair<T>>) -> Vec3<T> {
    [v[0].0, v[1].0, v[2].0]
}

#[inline(always)]
fn second<T: Lane>(v: Vec3<Pair<T>>) -> Vec3<T> {
    [v[0].1, v[1].1, v[2].1]
}

#[inline(always)]
fn firsts<T: Lane>(m: &Mat3<Pair<T>>) -> Mat3<T> {
    [first(m[0]), first(m[1]), first(m[2])]
}

#[inline(always)]
fn seconds<T: Lane>(m: &Mat3<Pair<T>>) -> Mat3<T> {
    [second(m[0]), second(m[1]), second(m[2])]
}

/// The plain twin of [`svd3_batch`], one matrix after the other.
pub fn svd3_batch_scalar(matrices: &[Mat3x16], decompositions: &mut [Svd3x16]) {
    for (matrix, out) in matrices.iter().zip(decompositions) {
        for lane in 0..LANES {
            store_lane(&svd3(&load_lane(matrix, lane)), out, lane);
        }
    }
}

#[inline(always)]
pub(crate) fn load<S: Simd>(simd: S, m: &Mat3x16, part: usize) -> Mat3<Wide<S>> {
    [load_vector(simd, &m[0], part), load_vector(simd, &m[1], part), load_vector(simd, &m[2], part)]
}

#[inline(always)]
pub(crate) fn load_vector<S: Simd>(simd: S, v: &Vec3<Sixteen>, part: usize) -> Vec3<Wide<S>> {
    [Wide::load(simd, &v[0][part..]), Wide::load(simd, &v[1][part..]), Wide::load(simd, &v[2][part..])]
}

#[inline(always)]
pub(crate) fn load_svd<S: Simd>(simd: S, svd: &Svd3x16, part: usize) -> Svd3<Wide<S>> {
    Svd3 { u: load(simd, &svd.u, part), d: load_vector(simd, &svd.d, part), v: load(simd, &svd.v, part) }
}

#[inline(always)]
pub(crate) fn store<S: Simd>(matrix: &Mat3<Wide<S>>, out: &mut Mat3x16, part: usize) {
    for k in 0..3 {
        store_vector(&matrix[k], &mut out[k], part);
    }
}

#[inline(always)]
pub(crate) fn store_vector<S: Simd>(vector: &Vec3<Wide<S>>, out: &mut Vec3<Sixteen>, part: usize) {
    for k in 0..3 {
        vector[k].store(&mut out[k][part..]);
    }
}

#[inline(always)]
pub(crate) fn store_svd<S: Simd>(svd: &Svd3<Wide<S>>, out: &mut Svd3x16, part: usize) {
    store(&svd.u, &mut out.u, part);
    store_vector(&svd.d, &mut out.d, part);
    store(&svd.v, &mut out.v, part);
}

/// One matrix of a batch.
pub fn load_lane(matrix: &Mat3x16, lane: usize) -> Mat3<f32> {
    matrix.map(|column| column.map(|numbers| numbers[lane]))
}

/// Puts one matrix into a batch.
pub fn store_matrix_lane(matrix: &Mat3<f32>, out: &mut Mat3x16, lane: usize) {
    for (column, out) in matrix.iter().zip(out) {
        for (number, out) in column.iter().zip(out) {
            out[lane] = *number;
        }
    }
}

/// One decomposition of a batch.
pub fn svd_lane(svd: &Svd3x16, lane: usize) -> Svd3<f32> {
    Svd3 { u: load_lane(&svd.u, lane), d: svd.d.map(|n| n[lane]), v: load_lane(&svd.v, lane) }
}

fn store_lane(svd: &Svd3<f32>, out: &mut Svd3x16, lane: usize) {
    store_matrix_lane(&svd.u, &mut out.u, lane);
    store_matrix_lane(&svd.v, &mut out.v, lane);
    for (number, out) in svd.d.iter().zip(&mut out.d) {
        out[lane] = *number;
    }
}

impl Default for Svd3x16 {
    fn default() -> Self {
        let diagonal = |i: usize| [0, 1, 2].map(|j| [if i == j { 1.0 } else { 0.0 }; LANES]);
        let identity = [0, 1, 2].map(diagonal);
        Self { u: identity, d: [[1.0; LANES]; 3], v: identity }
    }
}
