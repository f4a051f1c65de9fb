//! Decompositions that are kept while their matrices hardly change (*Progressive PD*, §6.3).
//!
//! A batch is kept, approximated or computed as its worst matrix asks: sixteen matrices are computed in little more time than one.

use super::batch::{load, load_svd, load_vector, store, store_svd, store_vector, svd3_batch};
use super::matrix::dot;
use super::{Expansion, LANES, Lane, Mat3, Mat3x16, RotationExpansion, Sixteen, Svd3x16, Wide};
use crate::simd::{self, Simd, WithSimd};

/// Thresholds on the change of angles that decide what happens to a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// τ₀: below, the result stays as it was.
    pub keep: f32,
    /// τ₁: below, the result is approximated.
    pub approximate: f32,
}

/// Counts of batches kept, approximated and computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// Batches left as they were.
    pub kept: usize,
    /// Batches carried along to first order.
    pub approximated: usize,
    /// Batches decomposed anew.
    pub computed: usize,
}

/// The result that a memo keeps, and with it the bound that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// U, d and V, with the bound of *Progressive PD* eq. 24, which grows as singular values meet.
    Decomposition,
    /// U Vᵀ only, whose bound does not.
    Rotation,
}

/// The matrices and decompositions that approximations start from.
#[derive(Clone, Debug)]
pub struct Memo {
    kept: Kept,
    matrices: Vec<Mat3x16>,
    decompositions: Vec<Svd3x16>,
    /// j₀ … j₅, or the three inverse sums.
    jacobians: Vec<[[Sixteen; 3]; 2]>,
    bounds: Vec<Sixteen>,
    /// Whether the last result was an approximation, which a kept one must not build on.
    was_approximated: Vec<bool>,
    /// Batches that were computed anew.
    stale: Vec<u32>,
}

impl Memo {
    /// Decomposes the first matrices.
    pub fn new(kept: Kept, matrices: &[Mat3x16]) -> Self {
        let count = matrices.len();
        let mut memo = Self {
            kept,
            matrices: matrices.to_vec(),
            decompositions: vec![Svd3x16::default(); count],
            jacobians: vec![[[[0.0; LANES]; 3]; 2]; count],
            bounds: vec![[0.0; LANES]; count],
            was_approximated: vec![false; count],
            stale: Vec::with_capacity(count),
        };
        svd3_batch(matrices, &mut memo.decompositions);
        memo.stale.extend(0..count as u32);
        simd::run_widest(Renew(&mut memo));
        memo
    }

    /// The decompositions that are kept: those of the matrices for which they were last computed.
    pub fn decompositions(&self) -> &[Svd3x16] {
        &self.decompositions
    }

    /// Brings decompositions up to date with changed matrices. `out` is the result of the last call (or of
    /// [`decompositions`](Self::decompositions)).
    pub fn update(
        &mut self,
        matrices: &[Mat3x16],
        thresholds: Thresholds,
        out: &mut [Svd3x16],
    ) -> UpdateCounts {
        let counts = simd::run_widest(Classify { memo: self, matrices, thresholds, out: Out::Svd(out) });
        self.recompute(matrices);
        for batch in &self.stale {
            out[*batch as usize] = self.decompositions[*batch as usize];
        }
        counts
    }

    /// Brings rotations up to date with changed matrices.
    pub fn update_rotations(
        &mut self,
        matrices: &[Mat3x16],
        thresholds: Thresholds,
        out: &mut [Mat3x16],
    ) -> UpdateCounts {
        let counts = simd::run_widest(Classify { memo: self, matrices, thresholds, out: Out::Rotation(out) });
        self.recompute(matrices);
        simd::run_widest(Rotations { memo: self, out });
        counts
    }

    fn recompute(&mut self, matrices: &[Mat3x16]) {
        for batch in &self.stale {
            self.matrices[*batch as usize] = matrices[*batch as usize];
        }
        for two in self.stale.chunks(2) {
            let [a, b] = [two[0] as usize, two[two.len() - 1] as usize];
            let mut fresh = [Svd3x16::default(); 2];
            svd3_batch(&[matrices[a], matrices[b]], &mut fresh);
            (self.decompositions[a], self.decompositions[b]) = (fresh[0], fresh[1]);
        }
        simd::run_widest(Renew(self));
    }
}

/// New bounds and derivatives for the batches that were computed anew.
struct Renew<'a>(&'a mut Memo);

impl WithSimd for Renew<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let memo = self.0;
        for batch in &memo.stale {
            let batch = *batch as usize;
            for part in (0..LANES).step_by(S::F32_LANES) {
                let svd = load_svd(simd, &memo.decompositions[batch], part);
                let [first, second] = &mut memo.jacobians[batch];
                match memo.kept {
                    Kept::Decomposition => {
                        let expansion = Expansion::new(svd);
                        let j = expansion.jacobian;
                        store_vector(&[j[0], j[1], j[2]], first, part);
                        store_vector(&[j[3], j[4], j[5]], second, part);
                        expansion.bound().store(&mut memo.bounds[batch][part..]);
                    }
                    Kept::Rotation => {
                        let expansion = RotationExpansion::new(svd);
                        store_vector(&expansion.inverse_sums, first, part);
                        expansion.bound().store(&mut memo.bounds[batch][part..]);
                    }
                }
            }
        }
    }
}

/// The destination of approximations.
enum Out<'a> {
    Svd(&'a mut [Svd3x16]),
    Rotation(&'a mut [Mat3x16]),
}

/// Keeps, approximates or lists every batch.
struct Classify<'a> {
    memo: &'a mut Memo,
    matrices: &'a [Mat3x16],
    thresholds: Thresholds,
    out: Out<'a>,
}

impl WithSimd for Classify<'_> {
    type Output = UpdateCounts;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> UpdateCounts {
        let Self { memo, matrices, thresholds, mut out } = self;
        memo.stale.clear();
        let mut counts = UpdateCounts::default();
        for batch in 0..memo.matrices.len() {
            let change = largest_change(simd, memo, &matrices[batch], batch);
            let was_approximated = std::mem::replace(&mut memo.was_approximated[batch], false);
            if change < thresholds.keep {
                counts.kept += 1;
                if was_approximated {
                    restore(simd, memo, batch, &mut out);
                }
            } else if change < thresholds.approximate {
                counts.approximated += 1;
                memo.was_approximated[batch] = true;
                approximate(simd, memo, &matrices[batch], batch, &mut out);
            } else {
                counts.computed += 1;
                memo.stale.push(batch as u32);
            }
        }
        counts
    }
}

/// ‖J‖ ‖F′ − F‖ of the worst matrix of a batch (*Progressive PD* eq. 24).
#[inline(always)]
fn largest_change<S: Simd>(simd: S, memo: &Memo, matrix: &Mat3x16, batch: usize) -> f32 {
    let mut largest = 0.0_f32;
    for part in (0..LANES).step_by(S::F32_LANES) {
        let old: Mat3<Wide<S>> = load(simd, &memo.matrices[batch], part);
        let new = load(simd, matrix, part);
        let mut sum = new[0][0].splat(0.0);
        for k in 0..3 {
            let d = [new[k][0] - old[k][0], new[k][1] - old[k][1], new[k][2] - old[k][2]];
            sum = sum + dot(d, d);
        }
        let bound = Wide::load(simd, &memo.bounds[batch][part..]);
        largest = largest.max((sum.sqrt() * bound).largest());
    }
    largest
}

#[inline(always)]
fn approximate<S: Simd>(simd: S, memo: &Memo, matrix: &Mat3x16, batch: usize, out: &mut Out<'_>) {
    for part in (0..LANES).step_by(S::F32_LANES) {
        let svd = load_svd(simd, &memo.decompositions[batch], part);
        let f = load(simd, matrix, part);
        let first = load_vector(simd, &memo.jacobians[batch][0], part);
        match out {
            Out::Svd(out) => {
                let second = load_vector(simd, &memo.jacobians[batch][1], part);
                let jacobian = [first[0], first[1], first[2], second[0], second[1], second[2]];
                store_svd(&Expansion { svd, jacobian }.at(&f), &mut out[batch], part);
            }
            Out::Rotation(out) => {
                store(&RotationExpansion { svd, inverse_sums: first }.at(&f), &mut out[batch], part);
            }
        }
    }
}

/// Puts the kept result back.
#[inline(always)]
fn restore<S: Simd>(simd: S, memo: &Memo, batch: usize, out: &mut Out<'_>) {
    match out {
        Out::Svd(out) => out[batch] = memo.decompositions[batch],
        Out::Rotation(out) => store_rotation(simd, &memo.decompositions[batch], &mut out[batch]),
    }
}

#[inline(always)]
fn store_rotation<S: Simd>(simd: S, svd: &Svd3x16, out: &mut Mat3x16) {
    for part in (0..LANES).step_by(S::F32_LANES) {
        store(&load_svd(simd, svd, part).rotation(), out, part);
    }
}

/// U Vᵀ of the batches that were computed anew.
struct Rotations<'a> {
    memo: &'a Memo,
    out: &'a mut [Mat3x16],
}

impl WithSimd for Rotations<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for batch in &self.memo.stale {
            let batch = *batch as usize;
            store_rotation(simd, &self.memo.decompositions[batch], &mut self.out[batch]);
        }
    }
}
