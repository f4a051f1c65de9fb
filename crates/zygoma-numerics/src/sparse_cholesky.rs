//! Sparse symmetric positive definite systems: analyse once, factor, factor again with new values, solve.

use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Mat, Side};

/// A factor of a sparse symmetric positive definite matrix.
#[derive(Clone, Debug)]
pub struct SparseCholesky {
    size: usize,
    symbolic: SymbolicLlt<usize>,
    factor: Llt<usize, f64>,
}

/// The matrix has no Cholesky factor: it is not positive definite, or its entries lie outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPositiveDefinite;

impl std::fmt::Display for NotPositiveDefinite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the matrix is not symmetric positive definite")
    }
}

impl std::error::Error for NotPositiveDefinite {}

type Entries<'a> = &'a [(usize, usize, f64)];

fn lower(size: usize, entries: Entries<'_>) -> Result<SparseColMat<usize, f64>, NotPositiveDefinite> {
    let below = entries.iter().filter(|(row, col, _)| row >= col);
    let triplets: Vec<_> = below.map(|(row, col, value)| Triplet::new(*row, *col, *value)).collect();
    SparseColMat::try_new_from_triplets(size, size, &triplets).map_err(|_| NotPositiveDefinite)
}

impl SparseCholesky {
    /// Analyses and factors a matrix given by its entries (row, column, value). Only the lower triangle is
    /// read; entries at the same place add up.
    pub fn new(size: usize, entries: Entries<'_>) -> Result<Self, NotPositiveDefinite> {
        let matrix = lower(size, entries)?;
        let symbolic =
            SymbolicLlt::try_new(matrix.symbolic(), Side::Lower).map_err(|_| NotPositiveDefinite)?;
        let factor = Llt::try_new_with_symbolic(symbolic.clone(), matrix.as_ref(), Side::Lower)
            .map_err(|_| NotPositiveDefinite)?;
        Ok(Self { size, symbolic, factor })
    }

    /// Factors a matrix with entries at the same places but other values.
    pub fn refactor(&mut self, entries: Entries<'_>) -> Result<(), NotPositiveDefinite> {
        let matrix = lower(self.size, entries)?;
        self.factor = Llt::try_new_with_symbolic(self.symbolic.clone(), matrix.as_ref(), Side::Lower)
            .map_err(|_| NotPositiveDefinite)?;
        Ok(())
    }

    /// Solves for several right-hand sides, each as long as the matrix.
    pub fn solve(&self, right_hand_sides: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let columns = Mat::from_fn(self.size, right_hand_sides.len(), |i, j| right_hand_sides[j][i]);
        let solution = self.factor.solve(&columns);
        (0..right_hand_sides.len()).map(|j| (0..self.size).map(|i| solution[(i, j)]).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(size: usize, stiffness: f64) -> Vec<(usize, usize, f64)> {
        let mut entries = Vec::new();
        for i in 0..size {
            entries.push((i, i, 2.0 * stiffness));
            if i > 0 {
                entries.push((i, i - 1, -stiffness));
            }
        }
        entries
    }

    #[test]
    fn a_chain_under_load_hangs_as_a_parabola() {
        let size = 49;
        let mut factor = SparseCholesky::new(size, &chain(size, 1.0)).unwrap();
        let load = vec![vec![1.0; size]];
        let parabola = |i: usize| 0.5 * (i + 1) as f64 * (size - i) as f64;
        let sag = factor.solve(&load);
        assert!((0..size).all(|i| (sag[0][i] - parabola(i)).abs() < 1e-9));
        factor.refactor(&chain(size, 4.0)).unwrap();
        let sag = factor.solve(&load);
        assert!((0..size).all(|i| (sag[0][i] - 0.25 * parabola(i)).abs() < 1e-9));
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        assert_eq!(SparseCholesky::new(2, &[(0, 0, 1.0), (1, 1, -1.0)]).err(), Some(NotPositiveDefinite));
    }
}
