//! A global step for offline use: Gauss-Seidel iterations until another thread has finished a fresh factor
//! (*Progressive PD*, §5.2).

use std::thread::{self, JoinHandle};

use zygoma_numerics::{NotPositiveDefinite, SymmetricMatrix};

use super::elements::Row;
use super::gauss_seidel::GaussSeidel;
use super::prefactored::{Factored, Prefactored};
use super::solve::GlobalStep;
use super::system::MatrixRow;

/// Gauss-Seidel iterations on a matrix whose factor, including the present constraints, is computed in the background.
///
/// The factor takes over after a given number of solves. If it is not ready by then, the solver waits for it, so that results do not depend on the
/// speed of the machine.
pub struct Background<T: Factored> {
    iterations: GaussSeidel<T>,
    pending: Option<Pending<T>>,
    factor: Option<Prefactored<T>>,
    switch_after: usize,
    solves: usize,
}

type Pending<T> = JoinHandle<Result<Prefactored<T>, NotPositiveDefinite>>;

impl<T: Factored> Background<T> {
    /// Starts with iterations on the matrix of the permanent elements; a factor takes over after `switch_after` solves.
    pub fn new(matrix: &SymmetricMatrix, switch_after: usize) -> Self {
        Self { iterations: GaussSeidel::new(matrix), pending: None, factor: None, switch_after, solves: 0 }
    }

    /// Replaces the transient constraints and starts to factor `matrix`, which includes them.
    pub fn refactor(&mut self, rows: &[MatrixRow], matrix: SymmetricMatrix) {
        self.iterations.set_transient(rows);
        (self.factor, self.solves) = (None, 0);
        self.pending = Some(thread::spawn(move || Prefactored::new(&matrix, &[])));
    }

    /// Whether the factor has taken over.
    pub fn is_factored(&self) -> bool {
        self.factor.is_some()
    }
}

impl<T: Factored> GlobalStep<T> for Background<T> {
    fn begin(&mut self) {
        self.iterations.begin();
    }

    fn solve(&mut self, q: &[Row<T>], s: &mut [Row<T>]) {
        if self.solves == self.switch_after {
            // Without a factor, keep iterating.
            self.factor = self.pending.take().and_then(|thread| thread.join().ok()?.ok());
        }
        self.solves += 1;
        match &mut self.factor {
            Some(factor) => factor.solve(q, s),
            None => self.iterations.solve(q, s),
        }
    }

    fn refine(&mut self, q: &[Row<T>], s: &mut [Row<T>]) -> bool {
        self.factor.is_none() && self.iterations.refine(q, s)
    }

    fn sharpen(&mut self) {
        self.iterations.sharpen();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_takes_over_and_solves_with_the_constraints() {
        let mut entries: Vec<(usize, usize, f64)> = (0..40).map(|i| (i, i, 2.2)).collect();
        entries.extend((1..40).map(|i| (i, i - 1, -1.0)));
        let stays = SymmetricMatrix::from_entries(40, &entries);
        let row = MatrixRow { weight: 7.0, entries: vec![(3, 1.0), (30, -1.0)] };
        entries.extend([(3, 3, 7.0), (30, 30, 7.0), (30, 3, -7.0)]);
        let all = SymmetricMatrix::from_entries(40, &entries);
        let mut step = Background::<f64>::new(&stays, 2);
        step.refactor(&[row], all.clone());
        let q: Vec<Row<f64>> = (0..40).map(|i| [f64::from(i), 1.0, -3.0, 0.0]).collect();
        let mut misses = Vec::new();
        for _ in 0..4 {
            let (mut s, mut back) = (vec![[0.0; 4]; 40], vec![[0.0; 4]; 40]);
            step.solve(&q, &mut s);
            all.multiply(&s, &mut back);
            misses.push(back.iter().zip(&q).map(|(b, q)| (b[0] - q[0]).abs()).fold(0.0, f64::max));
        }
        assert!(step.is_factored());
        assert!(misses[1] > 1e-3 && misses[2] < 1e-9 && misses[3] < 1e-9, "{misses:?}");
        step.refactor(&[], stays);
        assert!(!step.is_factored());
    }
}
