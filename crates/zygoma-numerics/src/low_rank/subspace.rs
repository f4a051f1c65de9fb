//! The strongest directions of the frames, by subspace iteration.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{evd, householder, matmul::matmul, qr::no_pivoting::factor};
use faer::{Accum, Conj, Mat, MatRef, Par};
use rayon::prelude::*;

use super::CompressError;
use super::rows::{CHUNK, Rows};
use crate::random::Keyed;

/// Rows that are multiplied at a time.
const BLOCK: usize = 64;
/// Coordinates of one piece of work. Fixed, so that sums over pieces do not depend on the number of threads.
const PIECE: usize = 16 * 3 * CHUNK;
/// Multiplications by AᵀA after the basis has grown: each sharpens strong against weak directions by the square of
/// the ratio of their singular values.
const POWERS: usize = 2;

/// An orthonormal basis (columns) of `size` strong directions of the rows, starting from a smaller one.
pub(super) fn grow(
    source: &mut Rows,
    start: &Mat<f64>,
    size: usize,
    seed: u64,
) -> Result<Mat<f64>, CompressError> {
    let fresh = size - start.ncols();
    let mut basis = orthonormal(multiply(source, start.as_ref(), fresh, seed)?);
    for _ in 0..POWERS {
        basis = orthonormal(multiply(source, basis.as_ref(), 0, seed)?);
    }
    Ok(basis)
}

/// AᵀA Q for the columns Q of `basis`, followed by AᵀΩ for `fresh` columns of random numbers, in one pass over
/// the rows of A.
fn multiply(
    source: &mut Rows,
    basis: MatRef<'_, f64>,
    fresh: usize,
    seed: u64,
) -> Result<Mat<f64>, CompressError> {
    let old = basis.ncols();
    let mut product = Mat::zeros(source.layout.width(), old + fresh);
    // Each growth draws anew.
    let random = Keyed::new(seed, old as u64);
    for_blocks(source, |first, block| {
        let seen = project(block, basis);
        let left = Mat::from_fn(block.ncols(), old + fresh, |row, column| {
            if column < old {
                seen[(row, column)]
            } else {
                random.normal(((first + row) * fresh + column - old) as u64)
            }
        });
        product.as_mut().par_row_chunks_mut(PIECE).zip(block.par_row_chunks(PIECE)).for_each(
            |(sum, piece)| {
                matmul(sum, Accum::Add, piece, left.as_ref(), 1.0, Par::Seq);
            },
        );
    })?;
    Ok(product)
}

/// The best basis within a subspace and the coefficients of all rows in it (Rayleigh and Ritz): columns by falling
/// strength, orthonormal, and one row of coefficients a frame.
pub(super) fn ritz(source: &mut Rows, basis: &Mat<f64>) -> Result<(Mat<f64>, Mat<f64>), CompressError> {
    let size = basis.ncols();
    let mut coefficients = Mat::zeros(source.count, size);
    for_blocks(source, |first, block| {
        let seen = project(block, basis.as_ref());
        coefficients.as_mut().subrows_mut(first, seen.nrows()).copy_from(&seen);
    })?;
    let mut gram = Mat::zeros(size, size);
    matmul(gram.as_mut(), Accum::Replace, coefficients.transpose(), coefficients.as_ref(), 1.0, Par::Seq);
    let rotation = eigenvectors(&gram)?;
    Ok((times(basis, &rotation), times(&coefficients, &rotation)))
}

/// Calls `work` with every block of rows: the number of its first row, and the rows as columns.
fn for_blocks(source: &mut Rows, mut work: impl FnMut(usize, MatRef<'_, f64>)) -> Result<(), CompressError> {
    let width = source.layout.width();
    let mut block = Vec::new();
    let mut wide = Vec::new();
    for rows in source.blocks(BLOCK) {
        source.read(rows.clone(), &mut block)?;
        wide.clear();
        wide.extend(block.iter().map(|value| f64::from(*value)));
        work(rows.start, MatRef::from_column_major_slice(&wide, width, rows.len()));
    }
    Ok(())
}

/// The products of every row of a block with every basis vector: one row each.
fn project(block: MatRef<'_, f64>, basis: MatRef<'_, f64>) -> Mat<f64> {
    let empty = || Mat::zeros(block.ncols(), basis.ncols());
    let of_piece = |(piece, part): (MatRef<'_, f64>, MatRef<'_, f64>)| {
        let mut product = empty();
        matmul(product.as_mut(), Accum::Replace, piece.transpose(), part, 1.0, Par::Seq);
        product
    };
    let parts: Vec<Mat<f64>> =
        block.par_row_chunks(PIECE).zip(basis.par_row_chunks(PIECE)).map(of_piece).collect();
    parts.iter().fold(empty(), |sum, part| sum + part)
}

/// `matrix` × `small`, in pieces of rows.
fn times(matrix: &Mat<f64>, small: &Mat<f64>) -> Mat<f64> {
    let mut product = Mat::zeros(matrix.nrows(), small.ncols());
    let pieces = product.as_mut().par_row_chunks_mut(PIECE).zip(matrix.as_ref().par_row_chunks(PIECE));
    pieces.for_each(|(target, piece)| {
        matmul(target, Accum::Replace, piece, small.as_ref(), 1.0, Par::Seq);
    });
    product
}

/// An orthonormal basis of the columns, by Householder's QR on one thread (its sums depend on their number).
fn orthonormal(mut matrix: Mat<f64>) -> Mat<f64> {
    let (rows, columns) = matrix.shape();
    // Columns of very different or tiny length (random sketches beside powers, data in odd units) are balanced first.
    for column in matrix.col_iter_mut() {
        let length = column.norm_l2();
        if length > 0.0 {
            column.iter_mut().for_each(|value| *value /= length);
        }
    }
    let block = factor::recommended_block_size::<f64>(rows, columns);
    let mut factors = Mat::zeros(block, columns);
    let scratch = factor::qr_in_place_scratch::<f64>(rows, columns, block, Par::Seq, Default::default());
    factor::qr_in_place(
        matrix.as_mut(),
        factors.as_mut(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    );
    let mut basis = Mat::identity(rows, columns);
    let scratch = householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(
        rows, block, columns,
    );
    householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
        matrix.as_ref(),
        factors.as_ref(),
        Conj::No,
        basis.as_mut(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
    );
    basis
}

/// The eigenvectors of a symmetric matrix as columns, by falling eigenvalue.
fn eigenvectors(matrix: &Mat<f64>) -> Result<Mat<f64>, CompressError> {
    let size = matrix.nrows();
    let mut values = Diag::zeros(size);
    let mut vectors = Mat::zeros(size, size);
    let scratch = evd::self_adjoint_evd_scratch::<f64>(
        size,
        evd::ComputeEigenvectors::Yes,
        Par::Seq,
        Default::default(),
    );
    evd::self_adjoint_evd(
        matrix.as_ref(),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| CompressError::NoConvergence)?;
    // They come by rising eigenvalue.
    Ok(Mat::from_fn(size, size, |row, column| vectors[(row, size - 1 - column)]))
}
