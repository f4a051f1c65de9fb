//! The error of products against the data, at every vertex.

use faer::Mat;
use rayon::prelude::*;

use super::rows::{CHUNK, Layout, Rows};
use super::{CompressError, LowRank};
use crate::simd::{Simd, WithSimd, axpy, run};

/// Rows that are measured at a time.
const BLOCK: usize = 64;
/// Numbers of a chunk.
const NUMBERS: usize = 3 * CHUNK;

/// A basis and its coefficients in `f32`, as they would be returned, all ranks at once.
pub(super) struct Trial {
    layout: Layout,
    size: usize,
    rows: usize,
    /// Chunk after chunk, in each vector after vector.
    basis: Vec<f32>,
    /// Row after row.
    coefficients: Vec<f32>,
}

impl Trial {
    /// Scales each vector such that its largest coefficient is 1.
    pub(super) fn new(vectors: &Mat<f64>, coefficients: &Mat<f64>, layout: Layout) -> Self {
        let (rows, size) = coefficients.shape();
        let largest = |i: usize| {
            let farther = |best: f64, row: usize| {
                let value = coefficients[(row, i)];
                if value.abs() > best.abs() { value } else { best }
            };
            let scale = (0..rows).fold(0.0, farther);
            if scale == 0.0 { 1.0 } else { scale }
        };
        let scales: Vec<f64> = (0..size).map(largest).collect();
        let mut basis = Vec::with_capacity(size * layout.width());
        for chunk in 0..layout.chunks() {
            for i in 0..size {
                basis.extend((0..NUMBERS).map(|n| (vectors[(chunk * NUMBERS + n, i)] * scales[i]) as f32));
            }
        }
        let scaled = |row: usize| (0..size).map(move |i| (row, i));
        let coefficients =
            (0..rows).flat_map(scaled).map(|(row, i)| (coefficients[(row, i)] / scales[i]) as f32).collect();
        Self { layout, size, rows, basis, coefficients }
    }

    /// The basis vectors within a chunk, one after the other.
    fn basis_of(&self, chunk: usize) -> &[f32] {
        &self.basis[chunk * self.size * NUMBERS..][..self.size * NUMBERS]
    }

    fn coefficients_of(&self, row: usize) -> &[f32] {
        &self.coefficients[row * self.size..][..self.size]
    }

    /// The largest distance of any vertex in any frame with 0, 1, 2, … basis vectors, to about the precision of
    /// `f32`; at most `limit` vectors.
    pub(super) fn error_of_every_rank(
        &self,
        source: &mut Rows,
        limit: usize,
    ) -> Result<Vec<f64>, CompressError> {
        let ranks = self.size.min(limit) + 1;
        let width = self.layout.width();
        let mut squares = vec![0.0_f32; ranks];
        let mut block = Vec::new();
        for rows in source.blocks(BLOCK) {
            source.read(rows.clone(), &mut block)?;
            let of_chunk = |chunk: usize| {
                let mut squares = vec![0.0; ranks];
                for (row, data) in rows.clone().zip(block.chunks_exact(width)) {
                    run(Residuals {
                        data: &data[chunk * NUMBERS..][..NUMBERS],
                        basis: self.basis_of(chunk),
                        coefficients: self.coefficients_of(row),
                        squares: &mut squares,
                    });
                }
                squares
            };
            let chunks: Vec<Vec<f32>> = (0..self.layout.chunks()).into_par_iter().map(of_chunk).collect();
            for chunk in chunks {
                squares.iter_mut().zip(chunk).for_each(|(most, square)| *most = most.max(square));
            }
        }
        Ok(squares.iter().map(|square| f64::from(*square).sqrt()).collect())
    }

    /// The first `rank` vectors with their error as a player meets it: the sum in `f32`, distances in `f64`.
    pub(super) fn measured(&self, source: &mut Rows, rank: usize) -> Result<LowRank, CompressError> {
        let (mut most, mut total) = (0.0_f64, 0.0_f64);
        let mut block = Vec::new();
        for rows in source.blocks(BLOCK) {
            source.read(rows.clone(), &mut block)?;
            let lines: Vec<_> = rows.zip(block.chunks_exact(self.layout.width())).collect();
            let errors: Vec<(f64, f64)> =
                lines.into_par_iter().map(|(row, data)| self.row_error(row, data, rank)).collect();
            for (square, sum) in errors {
                most = most.max(square);
                total += sum;
            }
        }
        let basis = (0..rank).map(|i| self.vector(i)).collect();
        let coefficients =
            (0..self.rows).flat_map(|row| &self.coefficients_of(row)[..rank]).copied().collect();
        let distances = (self.rows * self.layout.vertices()).max(1);
        Ok(LowRank {
            basis,
            coefficients,
            max_error: most.sqrt(),
            rms_error: (total / distances as f64).sqrt(),
        })
    }

    /// The largest squared distance of a row and the sum of all.
    fn row_error(&self, row: usize, data: &[f32], rank: usize) -> (f64, f64) {
        let (mut most, mut total) = (0.0_f64, 0.0);
        for (chunk, data) in data.chunks_exact(NUMBERS).enumerate() {
            let mut sum = [0.0; NUMBERS];
            let vectors = self.basis_of(chunk).chunks_exact(NUMBERS);
            for (vector, coefficient) in vectors.zip(self.coefficients_of(row)).take(rank) {
                axpy(&mut sum, *coefficient, vector);
            }
            for vertex in 0..CHUNK {
                let off = |n: usize| f64::from(data[n]) - f64::from(sum[n]);
                let square: f64 = (0..3).map(|axis| off(axis * CHUNK + vertex).powi(2)).sum();
                most = most.max(square);
                total += square;
            }
        }
        (most, total)
    }

    /// A basis vector in the order of the user's columns.
    fn vector(&self, i: usize) -> Vec<f32> {
        let value = |column: usize| {
            let place = self.layout.place(column);
            self.basis_of(place / NUMBERS)[i * NUMBERS + place % NUMBERS]
        };
        (0..self.layout.columns()).map(value).collect()
    }
}

/// Subtracts basis vectors from one row's chunk; the largest squared residual of any vertex after each is kept in `squares`.
struct Residuals<'a> {
    data: &'a [f32],
    basis: &'a [f32],
    coefficients: &'a [f32],
    squares: &'a mut [f32],
}

impl WithSimd for Residuals<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut left = [0.0; NUMBERS];
        left.copy_from_slice(self.data);
        let (left, _) = S::as_mut_simd_f32s(&mut left);
        let lanes = left.len() / 3;
        let vectors = self.basis.chunks_exact(NUMBERS);
        let mut steps = vectors.zip(self.coefficients);
        for square in self.squares {
            let mut most = simd.splat_f32s(0.0);
            for n in 0..lanes {
                let (x, y, z) = (left[n], left[lanes + n], left[2 * lanes + n]);
                let sum = simd.mul_add_e_f32s(z, z, simd.mul_add_e_f32s(y, y, simd.mul_f32s(x, x)));
                most = simd.max_f32s(most, sum);
            }
            *square = square.max(simd.reduce_max_f32s(most));
            let Some((vector, coefficient)) = steps.next() else { break };
            let (vector, _) = S::as_simd_f32s(vector);
            let taken = simd.splat_f32s(-coefficient);
            for (left, vector) in left.iter_mut().zip(vector) {
                *left = simd.mul_add_e_f32s(taken, *vector, *left);
            }
        }
    }
}
