//! The global step through a sparse Cholesky factor, with constraints that come and go.
//!
//! The factor is of what stays, A. Rows C of transient constraints with weights W between *candidate* vertices change the
//! inverse by a small dense system: (A + CᵀWC)⁻¹ q = y − A⁻¹Cᵀ (W⁻¹ + C A⁻¹ Cᵀ)⁻¹ C y with y = A⁻¹ q. The compliance, A⁻¹ between
//! candidates, is computed once, when the factor is made or when a vertex is first needed; a change of constraints costs one dense factor of
//! their number, each solve one solve more.

use std::sync::Arc;

use glam::DVec3;
use zygoma_numerics::{
    Analysis, Cholesky, NotPositiveDefinite, PackedAnalysis, PackedFactor, SymmetricMatrix, nested_dissection,
};

use super::dense::DenseFactor;
use super::elements::{Precision, Row};
use super::solve::GlobalStep;
use super::system::MatrixRow;

/// A precision in which matrices are factored: packed for three right-hand sides in `f32`, plain in `f64`.
pub trait Factored: Precision {
    /// The factor of a matrix.
    type Factor: Send;
    /// Factors a matrix.
    fn factor(matrix: &SymmetricMatrix) -> Result<Self::Factor, NotPositiveDefinite>;
    /// Solves in place.
    fn solve(factor: &mut Self::Factor, rows: &mut [Row<Self>]);
}

/// A packed factor and the order of its rows.
pub struct OrderedFactor {
    order: Vec<u32>,
    factor: PackedFactor,
    scratch: Vec<Row<f32>>,
}

impl Factored for f32 {
    type Factor = OrderedFactor;

    fn factor(matrix: &SymmetricMatrix) -> Result<OrderedFactor, NotPositiveDefinite> {
        let order = nested_dissection(&matrix.neighbours());
        let permuted = matrix.permuted(&order);
        let factor = PackedAnalysis::new(&permuted).factor(&permuted)?;
        Ok(OrderedFactor { scratch: vec![[0.0; 4]; order.len()], order, factor })
    }

    fn solve(ordered: &mut OrderedFactor, rows: &mut [Row<f32>]) {
        for (place, vertex) in ordered.scratch.iter_mut().zip(&ordered.order) {
            *place = rows[*vertex as usize];
        }
        ordered.factor.solve_in_place(&mut ordered.scratch);
        for (place, vertex) in ordered.scratch.iter().zip(&ordered.order) {
            rows[*vertex as usize] = *place;
        }
    }
}

/// A factor in double precision and a column for its right-hand sides.
pub struct ColumnFactor {
    factor: Cholesky,
    column: Vec<f64>,
}

impl Factored for f64 {
    type Factor = ColumnFactor;

    fn factor(matrix: &SymmetricMatrix) -> Result<ColumnFactor, NotPositiveDefinite> {
        let analysis: Arc<Analysis> = Analysis::new(matrix);
        Ok(ColumnFactor { factor: Cholesky::new(analysis, matrix)?, column: vec![0.0; matrix.size()] })
    }

    fn solve(columns: &mut ColumnFactor, rows: &mut [Row<f64>]) {
        for k in 0..3 {
            columns.column.iter_mut().zip(rows.iter()).for_each(|(number, row)| *number = row[k]);
            columns.factor.solve_in_place(&mut columns.column);
            columns.column.iter().zip(rows.iter_mut()).for_each(|(number, row)| row[k] = *number);
        }
    }
}

/// Candidates beyond the first that are kept. Ours: their compliance takes 16 MB.
const MOST_ADDED: usize = 2000;

/// A global step from a factor made once.
pub struct Prefactored<T: Factored> {
    factor: T::Factor,
    /// Place of each vertex among the candidates.
    candidate: Vec<Option<u32>>,
    /// A⁻¹ between candidates: the lower triangle, row by row, so that candidates can be added.
    compliance: Vec<f64>,
    candidates: Vec<u32>,
    /// How many of the candidates were named when the factor was made; others may be forgotten.
    lasting: usize,
    transient: Option<Transient>,
    correction: Vec<[f64; 3]>,
    scratch: Vec<Row<T>>,
}

struct Transient {
    rows: Vec<MatrixRow>,
    factor: DenseFactor,
}

/// A transient constraint that acts on a vertex without compliance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransientError {
    /// The vertex is no candidate.
    #[error("vertex {0} was not named as a candidate for transient constraints when the factor was made")]
    NoCandidate(u32),
    /// The constraints do not leave the matrix positive definite.
    #[error("the transient constraints do not leave the matrix positive definite")]
    NotPositiveDefinite,
}

impl<T: Factored> Prefactored<T> {
    /// Factors the matrix of what stays, and finds the compliance of the candidates.
    pub fn new(matrix: &SymmetricMatrix, candidates: &[u32]) -> Result<Self, NotPositiveDefinite> {
        let size = matrix.size();
        let mut made = Self {
            factor: T::factor(matrix)?,
            candidate: vec![None; size],
            compliance: Vec::new(),
            candidates: Vec::new(),
            lasting: 0,
            transient: None,
            correction: Vec::new(),
            scratch: vec![[T::default(); 4]; size],
        };
        made.append(candidates);
        made.lasting = made.candidates.len();
        Ok(made)
    }

    /// Finds the compliance of vertices that are not candidates yet. It is kept for later; what would be too much to keep is forgotten, never
    /// the first candidates.
    ///
    /// # Panics
    /// If a vertex is not there.
    pub fn add_candidates(&mut self, vertices: &[u32]) {
        let is_new = |candidate: &[Option<u32>], v: u32| candidate[v as usize].is_none();
        let new = vertices.iter().filter(|v| is_new(&self.candidate, **v)).count();
        if self.candidates.len() + new > self.lasting + MOST_ADDED {
            for vertex in self.candidates.drain(self.lasting..) {
                self.candidate[vertex as usize] = None;
            }
            self.compliance.truncate(self.lasting * (self.lasting + 1) / 2);
        }
        self.append(vertices);
    }

    fn append(&mut self, vertices: &[u32]) {
        let first = self.candidates.len();
        for vertex in vertices {
            let place = &mut self.candidate[*vertex as usize];
            if place.is_none() {
                *place = Some(self.candidates.len() as u32);
                self.candidates.push(*vertex);
            }
        }
        // Three columns at a time, as x, y and z.
        for start in (first..self.candidates.len()).step_by(3) {
            let columns = start..(start + 3).min(self.candidates.len());
            self.scratch.fill([T::default(); 4]);
            for (k, column) in columns.clone().enumerate() {
                self.scratch[self.candidates[column] as usize][k] = T::of(1.0);
            }
            T::solve(&mut self.factor, &mut self.scratch);
            for (k, column) in columns.enumerate() {
                let line = self.candidates[..=column].iter();
                self.compliance.extend(line.map(|vertex| self.scratch[*vertex as usize][k].into()));
            }
        }
    }

    /// Replaces the transient constraints.
    pub fn set_transient(&mut self, rows: Vec<MatrixRow>) -> Result<(), TransientError> {
        self.transient = None;
        if rows.is_empty() {
            return Ok(());
        }
        let places = self.places(&rows)?;
        let entry = |i: usize, j: usize| -> f64 {
            let own = if i == j { 1.0 / rows[i].weight } else { 0.0 };
            own + self.coupling(&places[i], &places[j])
        };
        let factor = DenseFactor::new(rows.len(), entry).ok_or(TransientError::NotPositiveDefinite)?;
        self.correction = vec![[0.0; 3]; rows.len()];
        self.transient = Some(Transient { rows, factor });
        Ok(())
    }
}

/// Sweeps over one-sided constraints; each costs as many products as there are pairs of them.
const SWEEPS: usize = 60;

impl<T: Factored> Prefactored<T> {
    /// The smallest motion (measured by the matrix of what stays) that lifts every row Σ c s along its own direction (of length 1) by at least
    /// its amount, without pulling any: s per free vertex. Amounts may be negative, for rows that have room.
    pub fn push(
        &mut self,
        rows: &[MatrixRow],
        directions: &[DVec3],
        amounts: &[f64],
    ) -> Result<&[Row<T>], TransientError> {
        let places = self.places(rows)?;
        let count = rows.len();
        let mut couplings = vec![0.0; count * count];
        for i in 0..count {
            for j in 0..=i {
                let along = directions[i].dot(directions[j]);
                let coupling = along * self.coupling(&places[i], &places[j]);
                (couplings[i * count + j], couplings[j * count + i]) = (coupling, coupling);
            }
        }
        // Projected Gauss-Seidel for the forces: they push, or they are nothing.
        let mut forces = vec![0.0; count];
        for _ in 0..SWEEPS {
            for i in 0..count {
                let line = &couplings[i * count..][..count];
                let lifted: f64 = line.iter().zip(&forces).map(|(c, f)| c * f).sum();
                if line[i] > 0.0 {
                    forces[i] = f64::max(forces[i] + (amounts[i] - lifted) / line[i], 0.0);
                }
            }
        }
        self.scratch.fill([T::default(); 4]);
        for ((force, direction), row) in forces.iter().zip(directions).zip(rows) {
            for (vertex, c) in &row.entries {
                let place = &mut self.scratch[*vertex as usize];
                (0..3).for_each(|k| place[k] = place[k] + T::of(c * force * direction[k]));
            }
        }
        T::solve(&mut self.factor, &mut self.scratch);
        Ok(&self.scratch)
    }

    /// Rows between places of candidates.
    fn places(&self, rows: &[MatrixRow]) -> Result<Vec<Vec<(usize, f64)>>, TransientError> {
        let place = |(vertex, c): &(u32, f64)| {
            let known = self.candidate.get(*vertex as usize).copied().flatten();
            known.map(|place| (place as usize, *c)).ok_or(TransientError::NoCandidate(*vertex))
        };
        rows.iter().map(|row| row.entries.iter().map(place).collect()).collect()
    }

    /// c A⁻¹ dᵀ of two rows.
    fn coupling(&self, c: &[(usize, f64)], d: &[(usize, f64)]) -> f64 {
        let at = |a: usize, b: usize| {
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            self.compliance[high * (high + 1) / 2 + low]
        };
        c.iter().map(|(a, c)| c * d.iter().map(|(b, d)| d * at(*a, *b)).sum::<f64>()).sum()
    }
}

impl<T: Factored> GlobalStep<T> for Prefactored<T> {
    fn solve(&mut self, q: &[Row<T>], s: &mut [Row<T>]) {
        s.copy_from_slice(q);
        T::solve(&mut self.factor, s);
        let Some(transient) = &self.transient else { return };
        for (sum, row) in self.correction.iter_mut().zip(&transient.rows) {
            *sum = [0.0; 3];
            for (vertex, c) in &row.entries {
                (0..3).for_each(|k| sum[k] += c * s[*vertex as usize][k].into());
            }
        }
        transient.factor.solve(&mut self.correction);
        self.scratch.fill([T::default(); 4]);
        for (lambda, row) in self.correction.iter().zip(&transient.rows) {
            for (vertex, c) in &row.entries {
                let place = &mut self.scratch[*vertex as usize];
                (0..3).for_each(|k| place[k] = place[k] + T::of(c * lambda[k]));
            }
        }
        T::solve(&mut self.factor, &mut self.scratch);
        for (s, correction) in s.iter_mut().zip(&self.scratch) {
            (0..3).for_each(|k| s[k] = s[k] - correction[k]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushing_lifts_what_is_too_low_and_pulls_nothing() {
        let size = 30;
        let mut entries: Vec<(usize, usize, f64)> = (0..size).map(|i| (i, i, 2.5)).collect();
        entries.extend((1..size).map(|i| (i, i - 1, -1.0)));
        let matrix = SymmetricMatrix::from_entries(size, &entries);
        let mut global = Prefactored::<f64>::new(&matrix, &[3, 4, 10, 11, 20]).unwrap();
        let row = |entries: &[(u32, f64)]| MatrixRow { weight: 1.0, entries: entries.to_vec() };
        let rows = [
            row(&[(3, 0.5), (4, 0.5), (20, -1.0)]),
            row(&[(4, 1.0), (10, -1.0)]),
            row(&[(11, 1.0)]),
            row(&[(3, 1.0), (11, -0.3)]),
        ];
        let amounts = [0.4, 0.1, -0.2, -5.0];
        let up = [DVec3::Y; 4];
        let pushed = global.push(&rows, &up, &amounts).unwrap().to_vec();
        let lifted =
            |row: &MatrixRow| row.entries.iter().map(|(v, c)| c * pushed[*v as usize][1]).sum::<f64>();
        for (row, amount) in rows.iter().zip(amounts) {
            assert!(lifted(row) > amount - 1e-9, "{} {amount}", lifted(row));
        }
        // The first is just met. What moves the flesh is A s, which must be a push along the rows that are met: nothing at the last two.
        assert!((lifted(&rows[0]) - 0.4).abs() < 1e-9);
        let s: Vec<[f64; 3]> = pushed.iter().map(|x| [x[0], x[1], x[2]]).collect();
        let mut forces = vec![[0.0; 3]; size];
        matrix.multiply(&s, &mut forces);
        assert!(forces[11][1].abs() < 1e-9 && forces[3][1] > 0.0 && forces[20][1] < 0.0);
        assert!(forces.iter().all(|force| force[0] == 0.0 && force[2] == 0.0));
        let beyond = global.push(&[row(&[(7, 1.0)])], &up, &[1.0]);
        assert_eq!(beyond.err(), Some(TransientError::NoCandidate(7)));
        global.add_candidates(&[4, 7]);
        let pushed = global.push(&[row(&[(7, 1.0)])], &[DVec3::X], &[1.0]).unwrap();
        assert!((pushed[7][0] - 1.0).abs() < 1e-9, "{:?}", pushed[7]);
    }

    #[test]
    fn rows_are_lifted_along_directions_of_their_own() {
        let size = 12;
        let mut entries: Vec<(usize, usize, f64)> = (0..size).map(|i| (i, i, 2.2)).collect();
        entries.extend((1..size).map(|i| (i, i - 1, -1.0)));
        let mut global =
            Prefactored::<f64>::new(&SymmetricMatrix::from_entries(size, &entries), &[]).unwrap();
        global.add_candidates(&[2, 3, 4]);
        let row = |vertex: u32| MatrixRow { weight: 1.0, entries: vec![(vertex, 1.0)] };
        let directions = [DVec3::X, DVec3::new(0.6, 0.8, 0.0), DVec3::NEG_Z];
        let pushed = global.push(&[row(2), row(3), row(4)], &directions, &[0.1, 0.2, 0.3]).unwrap();
        for ((vertex, direction), amount) in [2, 3, 4].iter().zip(directions).zip([0.1, 0.2, 0.3]) {
            let along: f64 = (0..3).map(|k| pushed[*vertex][k] * direction[k]).sum();
            assert!((along - amount).abs() < 1e-9, "{along} {amount}");
        }
    }

    /// Candidates that come one by one, and of which some were forgotten, have the compliance of those named at the start.
    #[test]
    fn compliance_does_not_depend_on_when_it_was_asked_for() {
        let size = MOST_ADDED + 50;
        let mut entries: Vec<(usize, usize, f64)> = (0..size).map(|i| (i, i, 2.2)).collect();
        entries.extend((1..size).map(|i| (i, i - 1, -1.0)));
        let matrix = SymmetricMatrix::from_entries(size, &entries);
        let (first, wanted) = ([5, 1], [8, 1, 30]);
        let mut late = Prefactored::<f64>::new(&matrix, &first).unwrap();
        let all: Vec<u32> = (0..size as u32 - 60).collect();
        late.add_candidates(&all);
        late.add_candidates(&[(size - 1) as u32; 1]);
        late.add_candidates(&(size as u32 - 60..size as u32).collect::<Vec<_>>());
        assert!(late.candidates.len() < 100, "most are forgotten");
        late.add_candidates(&wanted);
        let mut named = Prefactored::<f64>::new(&matrix, &[1, 5, 8, 30]).unwrap();
        let row = |v: u32| MatrixRow { weight: 3.0, entries: vec![(v, 1.0)] };
        let rows = || wanted.iter().map(|v| row(*v)).collect::<Vec<_>>();
        late.set_transient(rows()).unwrap();
        named.set_transient(rows()).unwrap();
        let q: Vec<Row<f64>> = (0..size).map(|i| [i as f64, 1.0, 0.0, 0.0]).collect();
        let mut solved = [q.clone(), q.clone()];
        late.solve(&q, &mut solved[0]);
        named.solve(&q, &mut solved[1]);
        let [a, b] = &solved;
        assert!(a.iter().zip(b).all(|(a, b)| (a[0] - b[0]).abs() < 1e-9 * a[0].abs().max(1.0)));
    }
}
