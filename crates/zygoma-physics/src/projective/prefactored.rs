//! The global step through a sparse Cholesky factor, with transient constraints.
//!
//! A is the matrix of the permanent elements and is factored once. Rows C of transient constraints with weights W between *candidate* vertices change the
//! inverse by a small dense system: (A + CᵀWC)⁻¹ q = A⁻¹ (q − Cᵀλ) with λ = (W⁻¹ + C A⁻¹ Cᵀ)⁻¹ C A⁻¹ q. The compliance, A⁻¹ between
//! candidates, is computed once; a change of constraints costs one dense factor of their number, and each solve the substitutions
//! that lead from and to candidates once more.

use std::sync::Arc;

use glam::DVec3;
use rayon::prelude::*;
use zygoma_numerics::simd::{self, Simd, WithSimd};
use zygoma_numerics::{
    Analysis, Cholesky, DenseFactor, NotPositiveDefinite, SplitAnalysis, SplitFactor, SymmetricMatrix,
};

use super::elements::{Precision, Row};
use super::solve::GlobalStep;
use super::system::MatrixRow;

/// A precision in which matrices are factored: packed for three right-hand sides in `f32`, plain in `f64`.
pub trait Factored: Precision {
    /// The order in which a pattern is eliminated.
    type Analysis;
    /// The factor of a matrix.
    type Factor: Send;
    /// Analyses the pattern of a matrix.
    fn analyse(matrix: &SymmetricMatrix) -> Self::Analysis;
    /// Factors a matrix of an analysed pattern.
    fn factor(
        analysis: &Self::Analysis,
        matrix: &SymmetricMatrix,
    ) -> Result<Self::Factor, NotPositiveDefinite>;
    /// Solves in place.
    fn solve(factor: &mut Self::Factor, rows: &mut [Row<Self>]);
    /// Marks the rows at which right-hand sides are corrected.
    fn mark(factor: &mut Self::Factor, rows: &[u32]);
    /// Solves A x = b − c in place, for c at the marked rows only: `correct` is given A⁻¹ b there and replaces it by c.
    fn solve_corrected(
        factor: &mut Self::Factor,
        rows: &mut [Row<Self>],
        correct: impl FnOnce(&mut [Row<Self>]),
    );
}

impl Factored for f32 {
    type Analysis = SplitAnalysis;
    type Factor = SplitFactor;

    fn analyse(matrix: &SymmetricMatrix) -> SplitAnalysis {
        SplitAnalysis::new(matrix)
    }

    fn factor(
        analysis: &SplitAnalysis,
        matrix: &SymmetricMatrix,
    ) -> Result<SplitFactor, NotPositiveDefinite> {
        analysis.factor(matrix)
    }

    fn solve(factor: &mut SplitFactor, rows: &mut [Row<f32>]) {
        factor.solve(rows);
    }

    fn mark(factor: &mut SplitFactor, rows: &[u32]) {
        factor.mark(rows);
    }

    fn solve_corrected(
        factor: &mut SplitFactor,
        rows: &mut [Row<f32>],
        correct: impl FnOnce(&mut [Row<f32>]),
    ) {
        factor.solve_corrected(rows, correct);
    }
}

/// A factor in double precision and a column for its right-hand sides.
pub struct ColumnFactor {
    factor: Cholesky,
    column: Vec<f64>,
    marked: Vec<u32>,
}

impl Factored for f64 {
    type Analysis = Arc<Analysis>;
    type Factor = ColumnFactor;

    fn analyse(matrix: &SymmetricMatrix) -> Arc<Analysis> {
        Analysis::new(matrix)
    }

    fn factor(
        analysis: &Arc<Analysis>,
        matrix: &SymmetricMatrix,
    ) -> Result<ColumnFactor, NotPositiveDefinite> {
        let column = vec![0.0; matrix.size()];
        Ok(ColumnFactor { factor: Cholesky::new(analysis.clone(), matrix)?, column, marked: Vec::new() })
    }

    fn solve(columns: &mut ColumnFactor, rows: &mut [Row<f64>]) {
        for k in 0..3 {
            columns.column.iter_mut().zip(rows.iter()).for_each(|(number, row)| *number = row[k]);
            columns.factor.solve_in_place(&mut columns.column);
            columns.column.iter().zip(rows.iter_mut()).for_each(|(number, row)| row[k] = *number);
        }
    }

    fn mark(columns: &mut ColumnFactor, rows: &[u32]) {
        columns.marked = rows.to_vec();
    }

    fn solve_corrected(
        columns: &mut ColumnFactor,
        rows: &mut [Row<f64>],
        correct: impl FnOnce(&mut [Row<f64>]),
    ) {
        let mut solved = rows.to_vec();
        Self::solve(columns, &mut solved);
        let mut values: Vec<Row<f64>> = columns.marked.iter().map(|row| solved[*row as usize]).collect();
        correct(&mut values);
        for (row, value) in columns.marked.iter().zip(&values) {
            (0..3).for_each(|k| rows[*row as usize][k] -= value[k]);
        }
        Self::solve(columns, rows);
    }
}

/// A global step with a factor computed once.
#[derive(Clone)]
pub struct Prefactored<T: Factored> {
    factor: T::Factor,
    /// Vertices that transient constraints may act on, and the place of each vertex among them.
    candidates: Vec<u32>,
    candidate: Vec<Option<u32>>,
    /// Number of initial candidates.
    lasting: usize,
    /// For each candidate the last call that asked for it, and the number of calls.
    asked: Vec<u64>,
    calls: u64,
    /// A⁻¹ between candidates, one row each.
    compliance: Vec<Vec<T>>,
    transient: Option<Transient>,
    scratch: Vec<Row<T>>,
}

#[derive(Clone)]
struct Transient {
    /// Rows over the vertices that they act on, which are marked in the factor.
    rows: Vec<PlacedRow>,
    factor: DenseFactor,
    correction: Vec<[f64; 4]>,
}

/// Places with their coefficients.
type PlacedRow = Vec<(u32, f64)>;

/// A transient constraint that acts on a vertex without compliance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransientError {
    /// The vertex is not a candidate.
    #[error("vertex {0} was not named as a candidate for transient constraints when the factor was made")]
    NoCandidate(u32),
    /// The constraints do not leave the matrix positive definite.
    #[error("the transient constraints do not leave the matrix positive definite")]
    NotPositiveDefinite,
}

impl<T: Factored> Prefactored<T> {
    /// Factors the matrix of the permanent elements and computes the compliance of the candidates.
    pub fn new(matrix: &SymmetricMatrix, candidates: &[u32]) -> Result<Self, NotPositiveDefinite> {
        Self::analysed(&T::analyse(matrix), matrix, candidates)
    }

    /// The same for a matrix of a pattern that was analysed before.
    pub fn analysed(
        analysis: &T::Analysis,
        matrix: &SymmetricMatrix,
        candidates: &[u32],
    ) -> Result<Self, NotPositiveDefinite> {
        let size = matrix.size();
        let mut prefactored = Self {
            factor: T::factor(analysis, matrix)?,
            candidates: Vec::new(),
            candidate: vec![None; size],
            lasting: 0,
            asked: Vec::new(),
            calls: 0,
            compliance: Vec::new(),
            transient: None,
            scratch: vec![[T::default(); 4]; size],
        };
        prefactored.append(candidates);
        prefactored.lasting = prefactored.candidates.len();
        Ok(prefactored)
    }

    /// The factor of the permanent elements.
    pub fn factor(&self) -> &T::Factor {
        &self.factor
    }

    /// Makes vertices candidates for transient constraints: at most `most_new` new ones, in order. Each costs a third of a solve, once, and its
    /// compliance is kept. When memory runs out the least recently used are dropped, never the initial ones.
    ///
    /// # Panics
    /// If a vertex does not exist.
    pub fn add_candidates(&mut self, vertices: &[u32], most_new: usize) {
        self.calls += 1;
        let mut new: Vec<u32> = Vec::new();
        for vertex in vertices {
            match self.candidate[*vertex as usize] {
                Some(place) => self.asked[place as usize] = self.calls,
                None if new.len() < most_new.min(MOST_ADDED) && !new.contains(vertex) => new.push(*vertex),
                None => {}
            }
        }
        if self.candidates.len() + new.len() > self.lasting + MOST_ADDED {
            // Half of them at once, so that this is rare.
            self.forget((MOST_ADDED / 2).min(MOST_ADDED - new.len()));
        }
        self.append(&new);
    }

    /// Drops all but the most recently used of the added candidates, and the transient constraints.
    fn forget(&mut self, kept: usize) {
        let mut places: Vec<usize> = (self.lasting..self.candidates.len()).collect();
        places.sort_by_key(|place| std::cmp::Reverse(self.asked[*place]));
        places.truncate(kept);
        places.sort_unstable();
        let places: Vec<usize> = (0..self.lasting).chain(places).collect();
        self.candidate.fill(None);
        let pick = |line: &Vec<T>| places.iter().map(|place| line[*place]).collect();
        self.compliance = places.iter().map(|place| pick(&self.compliance[*place])).collect();
        self.asked = places.iter().map(|place| self.asked[*place]).collect();
        self.candidates = places.iter().map(|place| self.candidates[*place]).collect();
        for (place, vertex) in (0..).zip(&self.candidates) {
            self.candidate[*vertex as usize] = Some(place);
        }
        self.transient = None;
    }

    /// Number of candidates now.
    pub fn candidate_count(&self) -> usize {
        self.candidates.len()
    }

    /// Whether all vertices that a row acts on are candidates.
    pub fn knows(&self, row: &MatrixRow) -> bool {
        row.entries.iter().all(|(vertex, _)| self.candidate[*vertex as usize].is_some())
    }

    fn append(&mut self, vertices: &[u32]) {
        let known = self.candidates.len();
        for vertex in vertices {
            let place = &mut self.candidate[*vertex as usize];
            if place.is_none() {
                *place = Some(self.candidates.len() as u32);
                self.candidates.push(*vertex);
                self.asked.push(self.calls);
            }
        }
        // Three columns at a time, as x, y and z.
        for columns in self.candidates[known..].chunks(3) {
            self.scratch.fill([T::default(); 4]);
            for (k, vertex) in columns.iter().enumerate() {
                self.scratch[*vertex as usize][k] = T::of(1.0);
            }
            T::solve(&mut self.factor, &mut self.scratch);
            for k in 0..columns.len() {
                let line = self.candidates.iter().map(|v| self.scratch[*v as usize][k]).collect();
                self.compliance.push(line);
            }
        }
        let (old, new) = self.compliance.split_at_mut(known);
        for (place, line) in old.iter_mut().enumerate() {
            line.extend(new.iter().map(|other| other[place]));
        }
    }

    /// Replaces the transient constraints.
    pub fn set_transient(&mut self, rows: &[MatrixRow]) -> Result<(), TransientError> {
        self.transient = None;
        if rows.is_empty() {
            return Ok(());
        }
        let mut lines = self.couplings(&self.places(rows)?);
        for (line, row) in lines.iter_mut().zip(rows) {
            line[0] += 1.0 / row.weight;
        }
        let factor = DenseFactor::of_triangle(rows.len(), lines.concat());
        let factor = factor.ok_or(TransientError::NotPositiveDefinite)?;
        let mut vertices: Vec<u32> = rows.iter().flat_map(|row| row.entries.iter().map(|e| e.0)).collect();
        vertices.sort_unstable();
        vertices.dedup();
        T::mark(&mut self.factor, &vertices);
        let place = |(vertex, c): &(u32, f64)| (vertices.partition_point(|v| v < vertex) as u32, *c);
        let rows: Vec<PlacedRow> = rows.iter().map(|row| row.entries.iter().map(place).collect()).collect();
        self.transient = Some(Transient { factor, correction: vec![[0.0; 4]; rows.len()], rows });
        Ok(())
    }

    /// Rows between places of candidates.
    fn places(&self, rows: &[MatrixRow]) -> Result<Vec<PlacedRow>, TransientError> {
        let place = |(vertex, c): &(u32, f64)| {
            let known = self.candidate.get(*vertex as usize).copied().flatten();
            known.map(|place| (place, *c)).ok_or(TransientError::NoCandidate(*vertex))
        };
        rows.iter().map(|row| row.entries.iter().map(place).collect()).collect()
    }

    /// C A⁻¹ Cᵀ of some rows, the lines of its upper triangle.
    fn couplings(&self, rows: &[PlacedRow]) -> Vec<Vec<f64>> {
        let (compliance, count) = (&self.compliance, self.candidates.len());
        let line = |i: usize| {
            let mut answer = vec![T::default(); count];
            simd::run_widest(Combine { lines: compliance, row: &rows[i], sum: &mut answer });
            let lifted = |row: &PlacedRow| {
                row.iter().map(|(place, c)| -> f64 { c * answer[*place as usize].into() }).sum()
            };
            rows[i..].iter().map(lifted).collect()
        };
        (0..rows.len()).into_par_iter().with_min_len(16).map(line).collect()
    }
}

/// sum += Σ c · line.
struct Combine<'a, T> {
    lines: &'a [Vec<T>],
    row: &'a [(u32, f64)],
    sum: &'a mut [T],
}

impl<T: Precision> WithSimd for Combine<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (place, c) in self.row {
            let c = T::of(*c);
            for (sum, value) in self.sum.iter_mut().zip(&self.lines[*place as usize]) {
                *sum = *sum + c * *value;
            }
        }
    }
}

/// Most candidates that are kept beside the first ones. Ours: their compliance is a few thousand numbers squared.
const MOST_ADDED: usize = 2000;
/// Sweeps over one-sided constraints; each costs as many products as there are pairs of them.
const SWEEPS: usize = 60;
/// Rows more than this much stiffer than the softest are not lifted. Ours.
const STUBBORN: f64 = 0.01;
/// Sweeps end when no constraint moves by more than this fraction of the largest amount.
const SETTLED: f64 = 1e-10;

impl<T: Factored> Prefactored<T> {
    /// The smallest displacement s of the free vertices, in the norm of A, that moves every row Σ c s along its own unit direction by at least its
    /// amount, with forces that only push. Amounts may be negative, for rows with room. Rows that are next to rigid, such as those between vertices
    /// that move together, are left alone: lifting them would drag everything else along.
    pub fn push(
        &mut self,
        rows: &[MatrixRow],
        directions: &[DVec3],
        amounts: &[f64],
    ) -> Result<&[Row<T>], TransientError> {
        let lines = self.couplings(&self.places(rows)?);
        let count = rows.len();
        let mut couplings = vec![0.0; count * count];
        for (i, line) in lines.iter().enumerate() {
            for (j, coupling) in (i..).zip(line) {
                let coupling = coupling * directions[i].dot(directions[j]);
                (couplings[i * count + j], couplings[j * count + i]) = (coupling, coupling);
            }
        }
        let mut forces = vec![0.0; count];
        simd::run(Sweep { couplings: &couplings, amounts, forces: &mut forces });
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
}

/// Projected Gauss-Seidel for non-negative forces.
struct Sweep<'a> {
    couplings: &'a [f64],
    amounts: &'a [f64],
    forces: &'a mut [f64],
}

impl WithSimd for Sweep<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let count = self.forces.len();
        let mut largest = 0.0_f64;
        for amount in self.amounts {
            largest = largest.max(amount.abs());
        }
        let yielding = (0..count).map(|i| self.couplings[i * count + i]).fold(0.0, f64::max);
        let mut lifted = vec![0.0; count];
        for _ in 0..SWEEPS {
            let mut moved = 0.0_f64;
            for i in 0..count {
                let line = &self.couplings[i * count..][..count];
                if line[i] > STUBBORN * yielding {
                    let force = f64::max(self.forces[i] + (self.amounts[i] - lifted[i]) / line[i], 0.0);
                    let change = force - self.forces[i];
                    // Most constraints have room and stay without force; skip them.
                    if change != 0.0 {
                        self.forces[i] = force;
                        moved = moved.max(change.abs() * line[i]);
                        for (lifted, coupling) in lifted.iter_mut().zip(line) {
                            *lifted += change * coupling;
                        }
                    }
                }
            }
            if moved <= SETTLED * largest {
                break;
            }
        }
    }
}

impl<T: Factored> GlobalStep<T> for Prefactored<T> {
    fn solve(&mut self, q: &[Row<T>], s: &mut [Row<T>]) {
        s.copy_from_slice(q);
        let Some(transient) = &mut self.transient else {
            return T::solve(&mut self.factor, s);
        };
        T::solve_corrected(&mut self.factor, s, |values| transient.correct(values));
    }
}

impl Transient {
    /// From A⁻¹ q at the marked vertices to Cᵀλ there.
    fn correct<T: Precision>(&mut self, values: &mut [Row<T>]) {
        for (sum, row) in self.correction.iter_mut().zip(&self.rows) {
            *sum = [0.0; 4];
            for (place, c) in row {
                (0..3).for_each(|k| sum[k] += c * values[*place as usize][k].into());
            }
        }
        self.factor.solve(&mut self.correction);
        values.fill([T::default(); 4]);
        for (lambda, row) in self.correction.iter().zip(&self.rows) {
            for (place, c) in row {
                let value = &mut values[*place as usize];
                (0..3).for_each(|k| value[k] = value[k] + T::of(c * lambda[k]));
            }
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
        // The first is just met. The force A s must push along the active rows, and vanish at the last two.
        assert!((lifted(&rows[0]) - 0.4).abs() < 1e-9);
        let s: Vec<[f64; 3]> = pushed.iter().map(|x| [x[0], x[1], x[2]]).collect();
        let mut forces = vec![[0.0; 3]; size];
        matrix.multiply(&s, &mut forces);
        assert!(forces[11][1].abs() < 1e-9 && forces[3][1] > 0.0 && forces[20][1] < 0.0);
        assert!(forces.iter().all(|force| force[0] == 0.0 && force[2] == 0.0));
        let beyond = global.push(&[row(&[(7, 1.0)])], &up, &[1.0]);
        assert_eq!(beyond.err(), Some(TransientError::NoCandidate(7)));
        global.add_candidates(&[4, 7], 2);
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
        global.add_candidates(&[2, 3, 4], 3);
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
        late.add_candidates(&all, size);
        late.add_candidates(&[(size - 1) as u32; 1], 1);
        // Candidates in use stay when others are dropped; at most `most_new` are added at once.
        late.add_candidates(&[700, 8, 900], 0);
        late.add_candidates(&(size as u32 - 60..size as u32).collect::<Vec<_>>(), 58);
        assert_eq!(late.candidates.len(), 2 + MOST_ADDED / 2 + 58);
        let knows = |late: &Prefactored<f64>, vertex: u32| {
            late.knows(&MatrixRow { weight: 1.0, entries: vec![(vertex, 1.0)] })
        };
        assert!([700, 8, 900, 5, 1].iter().all(|vertex| knows(&late, *vertex)));
        assert!(!knows(&late, size as u32 - 2), "one too many");
        late.add_candidates(&wanted, 1);
        let mut named = Prefactored::<f64>::new(&matrix, &[1, 5, 8, 30]).unwrap();
        let row = |v: u32| MatrixRow { weight: 3.0, entries: vec![(v, 1.0)] };
        let rows = || wanted.iter().map(|v| row(*v)).collect::<Vec<_>>();
        late.set_transient(&rows()).unwrap();
        named.set_transient(&rows()).unwrap();
        let q: Vec<Row<f64>> = (0..size).map(|i| [i as f64, 1.0, 0.0, 0.0]).collect();
        let mut solved = [q.clone(), q.clone()];
        late.solve(&q, &mut solved[0]);
        named.solve(&q, &mut solved[1]);
        let [a, b] = &solved;
        assert!(a.iter().zip(b).all(|(a, b)| (a[0] - b[0]).abs() < 1e-9 * a[0].abs().max(1.0)));
    }
}
