//! The sparse Cholesky factor: analyse a pattern once, factor it whenever the values change.

use std::sync::Arc;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltParams, LltRegularization};
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::traits::RealField;
use faer::{Conj, MatMut, Par, Side, Spec};

use crate::{Real, SymmetricMatrix};

/// The matrix is not positive definite, so it has no Cholesky factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matrix is not positive definite")]
pub struct NotPositiveDefinite;

/// The symbolic factorisation of a pattern, shared by all factors of that pattern.
#[derive(Debug)]
pub struct Analysis {
    symbolic: SymbolicCholesky<usize>,
}

impl Analysis {
    /// Analyses a pattern and chooses an order (approximate minimum degree) that keeps the factor sparse.
    pub fn new(matrix: &SymmetricMatrix) -> Arc<Self> {
        let symbolic = factorize_symbolic_cholesky(
            pattern(matrix),
            Side::Lower,
            SymmetricOrdering::Amd,
            CholeskySymbolicParams::default(),
        )
        .expect("the indices of the factor fit into memory");
        Arc::new(Self { symbolic })
    }
}

/// A Cholesky factor that can be refactored. Everything runs on the calling thread.
///
/// `f32` takes half the time and suffices as a preconditioner or for steps whose result is judged in `f64`.
pub struct Cholesky<T = f64> {
    analysis: Arc<Analysis>,
    /// The matrix in this precision.
    entries: Vec<T>,
    values: Vec<T>,
    scratch: MemBuffer,
}

impl<T: Real + RealField> Cholesky<T> {
    /// Factors a matrix of the analysed pattern.
    pub fn new(analysis: Arc<Analysis>, matrix: &SymmetricMatrix) -> Result<Self, NotPositiveDefinite> {
        let symbolic = &analysis.symbolic;
        let params = Spec::<LltParams, T>::default();
        let scratch = MemBuffer::new(
            symbolic
                .factorize_numeric_llt_scratch::<T>(Par::Seq, params)
                .or(symbolic.solve_in_place_scratch::<T>(1, Par::Seq)),
        );
        let values = vec![T::of(0.0); symbolic.len_val()];
        let mut factor = Self { analysis, entries: Vec::new(), values, scratch };
        factor.refactor(matrix)?;
        Ok(factor)
    }

    /// Replaces the factor by that of a matrix with the same pattern.
    ///
    /// After an error the factor must not be used until a matrix was factored.
    ///
    /// # Panics
    /// If the matrix has another size than the analysed one.
    pub fn refactor(&mut self, matrix: &SymmetricMatrix) -> Result<(), NotPositiveDefinite> {
        assert_eq!(matrix.size(), self.analysis.symbolic.nrows(), "the matrix that was analysed");
        self.entries.clear();
        self.entries.extend(matrix.values().iter().map(|value| T::of(*value)));
        self.analysis
            .symbolic
            .factorize_numeric_llt(
                &mut self.values,
                SparseColMatRef::new(pattern(matrix), &self.entries),
                Side::Lower,
                LltRegularization::default(),
                Par::Seq,
                MemStack::new(&mut self.scratch),
                Spec::default(),
            )
            .map(|_| ())
            .map_err(|_| NotPositiveDefinite)
    }

    /// Solves A x = b in place.
    ///
    /// # Panics
    /// If the right-hand side has another length than the matrix.
    pub fn solve_in_place(&mut self, rhs: &mut [T]) {
        let rows = rhs.len();
        LltRef::new(&self.analysis.symbolic, &self.values).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(rhs, rows, 1),
            Par::Seq,
            MemStack::new(&mut self.scratch),
        );
    }
}

fn pattern(matrix: &SymmetricMatrix) -> SymbolicSparseColMatRef<'_, usize> {
    let size = matrix.size();
    SymbolicSparseColMatRef::new_checked(size, size, matrix.starts(), None, matrix.rows())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_matrices::grid;

    #[test]
    fn solutions_satisfy_their_equations_after_renewal() {
        let mut matrix = grid(23, 17, 0.01);
        let analysis = Analysis::new(&matrix);
        let mut factor = Cholesky::<f64>::new(analysis.clone(), &matrix).unwrap();
        let mut rough = Cholesky::<f32>::new(analysis, &matrix).unwrap();
        for round in 0..3 {
            let size = matrix.size();
            let rhs: Vec<f64> = (0..size).map(|i| ((i * 37 + round) % 11) as f64 - 5.0).collect();
            let mut x = rhs.clone();
            factor.solve_in_place(&mut x);
            let columns: Vec<[f64; 1]> = x.iter().map(|v| [*v]).collect();
            let mut back = vec![[0.0]; size];
            matrix.multiply(&columns, &mut back);
            let worst = (0..size).map(|i| (back[i][0] - rhs[i]).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-10, "residual {worst}");
            let mut near: Vec<f32> = rhs.iter().map(|b| *b as f32).collect();
            rough.solve_in_place(&mut near);
            let off = near.iter().zip(&x).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
            let largest = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            assert!(off < 1e-4 * largest, "{off} of {largest}");
            matrix.values_mut().iter_mut().for_each(|v| *v *= 1.7);
            factor.refactor(&matrix).unwrap();
            rough.refactor(&matrix).unwrap();
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let matrix = SymmetricMatrix::from_entries(2, &[(0, 0, 1.0), (1, 0, 2.0), (1, 1, 1.0)]);
        assert_eq!(Cholesky::<f64>::new(Analysis::new(&matrix), &matrix).err(), Some(NotPositiveDefinite));
    }
}
