//! The packed solve on two threads, and with a correction for little more than one solve.
//!
//! Below the last separator of a nested dissection lie two independent parts of a matrix. Each has a packed factor with its own copy of the
//! separator's rows, so that two threads can process them; sums are always taken in the same order.
//!
//! A correction of the right-hand side that depends on the solution at a few *marked* rows (transient constraints) needs the backward
//! substitution only along their ancestors in the elimination tree, and the forward one again along the same.

use crate::packed::{PackedAnalysis, PackedFactor, Panel, Pass, Row};
use crate::{NotPositiveDefinite, SymmetricMatrix, inverse, nested_dissection};

/// Matrices with fewer rows are not split: a solve is over before a second thread has begun. Ours.
const LEAST: usize = 2000;

/// A factored matrix, ready for solves on two threads.
#[derive(Clone, Debug)]
pub struct SplitFactor {
    /// The row of the matrix at each place of the elimination.
    order: Vec<u32>,
    /// The place of each row.
    places: Vec<u32>,
    halves: [Part; 2],
    top: Part,
    marked: Vec<u32>,
}

/// Some neighbouring columns of the factor with a copy of the rows of the separator after them.
#[derive(Clone, Debug)]
struct Part {
    factor: PackedFactor,
    /// Number of columns.
    own: usize,
    vector: Vec<Row>,
    /// The solution before the correction, and then the correction.
    second: Vec<Row>,
    /// Panels with marked rows, and their ancestors, ascending.
    marked: Vec<u32>,
}

impl SplitFactor {
    /// Orders and factors a matrix.
    pub fn new(matrix: &SymmetricMatrix) -> Result<Self, NotPositiveDefinite> {
        let order = nested_dissection(&matrix.neighbours());
        let permuted = matrix.permuted(&order);
        let mut cuts = [0; 2];
        let analysis = PackedAnalysis::cut(&permuted, |analysis| {
            cuts = find_cuts(analysis, order.len());
            cuts.to_vec()
        });
        let whole = analysis.factor(&permuted)?;
        let [a, b] = cuts;
        let part = |from, to| Part::new(&whole, from..to, b);
        Ok(Self {
            halves: [part(0, a), part(a, b)],
            top: part(b, order.len()),
            places: inverse(&order),
            order,
            marked: Vec::new(),
        })
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.order.len()
    }

    /// Fraction of the factor in the larger half and the separator: one half at best.
    pub fn longest_share(&self) -> f64 {
        let [a, b, top] =
            [&self.halves[0], &self.halves[1], &self.top].map(|part| part.factor.bytes() as f64);
        (a.max(b) + top) / (a + b + top)
    }

    /// Bytes that one solve reads twice.
    pub fn bytes(&self) -> usize {
        [&self.halves[0], &self.halves[1], &self.top].map(|part| part.factor.bytes()).iter().sum()
    }

    /// Marks the rows at which corrections act.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn mark(&mut self, rows: &[u32]) {
        self.marked = rows.iter().map(|row| self.places[*row as usize]).collect();
        let [a, b] = self.cuts();
        let mut is_marked = vec![false; self.order.len()];
        self.marked.iter().for_each(|place| is_marked[*place as usize] = true);
        let (first, rest) = is_marked.split_at_mut(a);
        let (second, top) = rest.split_at_mut(b - a);
        self.halves[0].mark(first, top);
        self.halves[1].mark(second, top);
        self.top.mark(top, &mut []);
    }

    /// Fraction of the factor that a correction reads again.
    pub fn marked_share(&self) -> f64 {
        let numbers = |panel: &Panel| (panel.width + panel.rows.1 - panel.rows.0) * panel.stored_width();
        let parts = [&self.halves[0], &self.halves[1], &self.top];
        let all: usize = parts.iter().flat_map(|part| part.factor.panels.iter().map(numbers)).sum();
        let panel = |part: &Part, index: &u32| numbers(&part.factor.panels[*index as usize]);
        let some: usize =
            parts.iter().flat_map(|part| part.marked.iter().map(|index| panel(part, index))).sum();
        some as f64 / all.max(1) as f64
    }

    /// Solves A x = b in place.
    ///
    /// # Panics
    /// If `rhs` has another length than the matrix.
    pub fn solve(&mut self, rhs: &mut [Row]) {
        self.forward(rhs);
        self.backward(rhs);
    }

    /// Solves A x = b − c in place, where c lies at the marked rows only and depends on A⁻¹ b there: `correct` is given A⁻¹ b there
    /// and replaces it by c.
    ///
    /// # Panics
    /// If `rhs` has another length than the matrix.
    pub fn solve_corrected(&mut self, rhs: &mut [Row], correct: impl FnOnce(&mut [Row])) {
        self.forward(rhs);
        self.top.look_back(&[]);
        let top = &self.top.second;
        let [first, second] = &mut self.halves;
        join(first, second, |half| half.look_back(top));
        let mut values: Vec<Row> = (0..self.marked.len()).map(|k| *self.second(self.marked[k])).collect();
        correct(&mut values);
        self.halves.iter_mut().chain([&mut self.top]).for_each(Part::clear_marked);
        for k in 0..values.len() {
            *self.second(self.marked[k]) = values[k];
        }
        let [first, second] = &mut self.halves;
        join(first, second, Part::correct);
        add_tails(&mut self.top.second, &self.halves, |half| &half.second);
        self.top.correct();
        self.backward(rhs);
    }

    fn cuts(&self) -> [usize; 2] {
        [self.halves[0].own, self.halves[0].own + self.halves[1].own]
    }

    /// A row of the second vectors.
    fn second(&mut self, place: u32) -> &mut Row {
        let ([a, b], place) = (self.cuts(), place as usize);
        match place {
            _ if place < a => &mut self.halves[0].second[place],
            _ if place < b => &mut self.halves[1].second[place - a],
            _ => &mut self.top.second[place - b],
        }
    }

    fn forward(&mut self, rhs: &[Row]) {
        assert_eq!(rhs.len(), self.size(), "one row per unknown");
        let [a, b] = self.cuts();
        let (orders, top_order) = self.order.split_at(b);
        let (first_order, second_order) = orders.split_at(a);
        let [first, second] = &mut self.halves;
        join_two(
            || first.begin(rhs, first_order),
            || second.begin(rhs, second_order),
            !first_order.is_empty(),
        );
        self.top.load(rhs, top_order);
        add_tails(&mut self.top.vector, &self.halves, |half| &half.vector);
        self.top.factor.run(Pass::Forward(None), &mut self.top.vector);
    }

    fn backward(&mut self, solution: &mut [Row]) {
        self.top.factor.run(Pass::Backward(None, None), &mut self.top.vector);
        let top = &self.top.vector;
        let [first, second] = &mut self.halves;
        join(first, second, |half| half.end(top));
        let [a, b] = self.cuts();
        let ([first, second], top) = (&self.halves, &self.top.vector);
        let fetch = |rows: &mut [Row], places: &[u32]| {
            for (row, place) in rows.iter_mut().zip(places) {
                let place = *place as usize;
                *row = match place {
                    _ if place < a => first.vector[place],
                    _ if place < b => second.vector[place - a],
                    _ => top[place - b],
                };
            }
        };
        let middle = solution.len() / 2;
        let (rows, more_rows) = solution.split_at_mut(middle);
        let (places, more_places) = self.places.split_at(middle);
        join_two(|| fetch(rows, places), || fetch(more_rows, more_places), b > 0);
    }
}

/// Adds both halves' contributions to the separator's rows.
fn add_tails(top: &mut [Row], halves: &[Part; 2], vector: impl Fn(&Part) -> &[Row]) {
    for half in halves.iter().filter(|half| half.own > 0) {
        for (sum, row) in top.iter_mut().zip(&vector(half)[half.own..]) {
            for k in 0..4 {
                sum[k] += row[k];
            }
        }
    }
}

fn join(first: &mut Part, second: &mut Part, work: impl Fn(&mut Part) + Sync) {
    let is_split = first.own > 0;
    join_two(|| work(first), || work(second), is_split);
}

fn join_two(first: impl FnOnce() + Send, second: impl FnOnce() + Send, is_split: bool) {
    if is_split {
        rayon::join(first, second);
    } else {
        first();
        second();
    }
}

impl Part {
    /// Some columns of a factor; the separator starts at `top`.
    fn new(whole: &PackedFactor, columns: std::ops::Range<usize>, top: usize) -> Self {
        let own = columns.len();
        let is_top = columns.start >= top;
        let tail = if is_top || own == 0 { 0 } else { whole.size - top };
        let mut factor = PackedFactor {
            size: own + tail,
            panels: Vec::new(),
            rows: Vec::new(),
            wide: Vec::new(),
            narrow: Vec::new(),
        };
        for panel in whole.panels.iter().filter(|panel| columns.contains(&panel.first)) {
            let start = factor.rows.len();
            let rows = &whole.rows[panel.rows.0..panel.rows.1];
            let local = |row: &u32| {
                let row = *row as usize;
                (if row < columns.end { row - columns.start } else { row - top + own }) as u32
            };
            factor.rows.extend(rows.iter().map(local));
            let count = panel.width + rows.len();
            let values = if panel.is_wide() {
                factor.wide.extend_from_slice(&whole.wide[panel.values..][..count]);
                factor.wide.len() - count
            } else {
                factor.narrow.extend_from_slice(&whole.narrow[panel.values..][..count]);
                factor.narrow.len() - count
            };
            factor.panels.push(Panel {
                first: panel.first - columns.start,
                width: panel.width,
                rows: (start, factor.rows.len()),
                values,
            });
        }
        let zero = vec![[0.0; 4]; factor.size];
        Self { factor, own, vector: zero.clone(), second: zero, marked: Vec::new() }
    }

    /// Marks panels with marked columns and their ancestors: own columns, and rows of the separator.
    fn mark(&mut self, own: &mut [bool], top: &mut [bool]) {
        self.marked.clear();
        for (index, panel) in (0..).zip(&self.factor.panels) {
            let columns = panel.first..panel.first + panel.width;
            if own[columns].iter().any(|is_marked| *is_marked) {
                self.marked.push(index);
                for row in &self.factor.rows[panel.rows.0..panel.rows.1] {
                    let row = *row as usize;
                    *(if row < self.own { &mut own[row] } else { &mut top[row - self.own] }) = true;
                }
            }
        }
    }

    fn load(&mut self, rhs: &[Row], order: &[u32]) {
        for (place, row) in self.vector.iter_mut().zip(order) {
            *place = rhs[*row as usize];
        }
        self.vector[self.own..].fill([0.0; 4]);
    }

    fn begin(&mut self, rhs: &[Row], order: &[u32]) {
        self.load(rhs, order);
        self.factor.run(Pass::Forward(None), &mut self.vector);
    }

    fn end(&mut self, top: &[Row]) {
        if self.own > 0 {
            self.vector[self.own..].copy_from_slice(top);
            self.factor.run(Pass::Backward(None, None), &mut self.vector);
        }
    }

    /// The solution at marked panels, without a correction.
    fn look_back(&mut self, top: &[Row]) {
        if self.own > 0 {
            self.second[self.own..].copy_from_slice(top);
            self.factor.run(Pass::Backward(Some(&self.marked), Some(&self.vector)), &mut self.second);
        }
    }

    fn clear_marked(&mut self) {
        for index in &self.marked {
            let panel = &self.factor.panels[*index as usize];
            self.second[panel.first..panel.first + panel.width].fill([0.0; 4]);
        }
        self.second[self.own..].fill([0.0; 4]);
    }

    /// Subtracts the correction from the forward solution.
    fn correct(&mut self) {
        self.factor.run(Pass::Forward(Some(&self.marked)), &mut self.second);
        for index in &self.marked {
            let panel = &self.factor.panels[*index as usize];
            for place in panel.first..panel.first + panel.width {
                for k in 0..4 {
                    self.vector[place][k] -= self.second[place][k];
                }
            }
        }
    }
}

/// The ends of the columns of two independent parts; the separator follows. Minimises the time of a solve on two threads; zeros where the matrix is
/// small or has no good separator.
fn find_cuts(analysis: &PackedAnalysis, size: usize) -> [usize; 2] {
    if size < LEAST {
        return [0; 2];
    }
    let parents: Vec<usize> =
        (0..size).map(|column| analysis.below(column).first().copied().unwrap_or(size)).collect();
    let mut until = vec![0.0];
    for column in 0..size {
        until.push(until[column] + analysis.below(column).len() as f64 + 1.0);
    }
    let (mut best, mut cuts) = (0.9 * until[size], [0; 2]);
    for b in (1..=size).rev() {
        let top = until[size] - until[b];
        if top + 0.5 * until[b] >= best {
            if top >= best {
                break;
            }
            continue;
        }
        // Columns before a are done with each other if none of them has its parent between a and b.
        let mut reach = 0;
        for a in 1..b {
            if parents[a - 1] < b {
                reach = reach.max(parents[a - 1]);
            }
            let time = top + until[a].max(until[b] - until[a]);
            if reach < a && time < best {
                (best, cuts) = (time, [a, b]);
            }
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_matrices::grid;

    fn rhs(size: usize) -> Vec<Row> {
        (0..size).map(|i| [0, 1, 2, 3].map(|k| ((i * 31 + k * 17) % 23) as f32 - 11.0)).collect()
    }

    #[test]
    fn two_halves_solve_what_one_does() {
        for (width, height) in [(20, 30), (60, 70)] {
            let matrix = grid(width, height, 0.5);
            let order = nested_dissection(&matrix.neighbours());
            let permuted = matrix.permuted(&order);
            let factor = PackedAnalysis::new(&permuted).factor(&permuted).unwrap();
            let b = rhs(matrix.size());
            let mut expected: Vec<Row> = order.iter().map(|row| b[*row as usize]).collect();
            factor.solve_in_place(&mut expected);
            let mut split = SplitFactor::new(&matrix).unwrap();
            assert!(split.longest_share() < if matrix.size() < LEAST { 1.1 } else { 0.7 });
            let mut x = b.clone();
            split.solve(&mut x);
            for (place, row) in order.iter().enumerate() {
                for k in 0..3 {
                    assert!((x[*row as usize][k] - expected[place][k]).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    fn a_correction_at_marked_rows_costs_no_second_solve_and_is_exact() {
        for (width, height) in [(20, 30), (60, 70)] {
            let matrix = grid(width, height, 0.5);
            let size = matrix.size();
            let mut split = SplitFactor::new(&matrix).unwrap();
            let marked = [3, size as u32 / 2, size as u32 / 2 + 7, size as u32 - 1];
            split.mark(&marked);
            assert!(split.marked_share() < 0.8, "{}", split.marked_share());
            let b = rhs(size);
            let mut plain = b.clone();
            split.solve(&mut plain);
            let correction = |value: Row| value.map(|v| 0.3 * v + 1.0);
            let mut expected = b.clone();
            for row in marked {
                let c = correction(plain[row as usize]);
                (0..4).for_each(|k| expected[row as usize][k] -= c[k]);
            }
            split.solve(&mut expected);
            let mut x = b.clone();
            split.solve_corrected(&mut x, |values| {
                for (value, row) in values.iter().zip(marked) {
                    assert!((0..3).all(|k| (value[k] - plain[row as usize][k]).abs() < 1e-4));
                }
                values.iter_mut().for_each(|value| *value = correction(*value));
            });
            for (x, expected) in x.iter().zip(&expected) {
                assert!((0..3).all(|k| (x[k] - expected[k]).abs() < 1e-4));
            }
        }
    }
}
