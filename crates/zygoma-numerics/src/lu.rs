//! Dense linear systems that are not positive definite, of moderate size.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::{factor, solve};
use faer::{Mat, MatMut, Par, Spec};

/// The matrix is singular to working precision, so it has no inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matrix is singular")]
pub struct Singular;

/// An LU factor with partial pivoting of a square matrix. Everything runs on the calling thread.
#[derive(Clone, Debug)]
pub struct LuFactor {
    /// L below the diagonal, U on and above it.
    factors: Mat<f64>,
    /// Row `order[k]` of the matrix is row `k` of the factors.
    order: Vec<usize>,
    places: Vec<usize>,
}

/// A diagonal entry of U below this fraction of the largest one counts as zero.
const SMALLEST_PIVOT: f64 = 1e-15;

impl LuFactor {
    /// Factors the matrix with the given entries (row, column).
    pub fn new(size: usize, entry: impl FnMut(usize, usize) -> f64) -> Result<Self, Singular> {
        let mut factors = Mat::from_fn(size, size, entry);
        let (mut order, mut places) = (vec![0; size], vec![0; size]);
        let params = Spec::default();
        let mut scratch =
            MemBuffer::new(factor::lu_in_place_scratch::<usize, f64>(size, size, Par::Seq, params));
        factor::lu_in_place(
            factors.as_mut(),
            &mut order,
            &mut places,
            Par::Seq,
            MemStack::new(&mut scratch),
            params,
        );
        let pivots = || (0..size).map(|i| factors[(i, i)].abs());
        let largest = pivots().fold(0.0, f64::max);
        // Written so that NaN counts as singular too.
        let sound = pivots().all(|pivot| pivot > SMALLEST_PIVOT * largest);
        if sound { Ok(Self { factors, order, places }) } else { Err(Singular) }
    }

    /// Solves A X = B in place; `rhs` holds the columns of B one after the other.
    ///
    /// # Panics
    /// If the length of `rhs` is not a multiple of the matrix's size.
    pub fn solve_in_place(&self, rhs: &mut [f64]) {
        let size = self.order.len();
        if size == 0 {
            return;
        }
        assert_eq!(rhs.len() % size, 0, "whole columns");
        let columns = rhs.len() / size;
        let mut scratch =
            MemBuffer::new(solve::solve_in_place_scratch::<usize, f64>(size, columns, Par::Seq));
        solve::solve_in_place(
            self.factors.as_ref(),
            self.factors.as_ref(),
            faer::perm::PermRef::new_checked(&self.order, &self.places, size),
            MatMut::from_column_major_slice_mut(rhs, size, columns),
            Par::Seq,
            MemStack::new(&mut scratch),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Keyed;

    #[test]
    fn solutions_satisfy_their_equations() {
        let size = 37;
        let random = Keyed::new(3, 0);
        let entry = |i: usize, j: usize| random.normal((i * size + j) as u64);
        let factor = LuFactor::new(size, entry).unwrap();
        let wanted: Vec<f64> = (0..2 * size).map(|i| random.uniform(9000 + i as u64)).collect();
        let mut rhs = vec![0.0; 2 * size];
        for column in 0..2 {
            for i in 0..size {
                rhs[column * size + i] = (0..size).map(|j| entry(i, j) * wanted[column * size + j]).sum();
            }
        }
        factor.solve_in_place(&mut rhs);
        for (found, wanted) in rhs.iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-9);
        }
    }

    #[test]
    fn matrices_without_an_inverse_are_refused() {
        assert_eq!(LuFactor::new(3, |i, j| (i + j) as f64).err(), Some(Singular));
        assert_eq!(LuFactor::new(2, |_, _| f64::NAN).err(), Some(Singular));
    }
}
