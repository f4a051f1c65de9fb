//! The packed solve on several threads, and with a correction for little more than one solve.
//!
//! Below the last separator of a nested dissection lie two independent parts of a matrix; below theirs lie two more each. Every part has a
//! packed factor with its own copy of the rows of the separators above it, so that threads can process parts side by side. The parts depend on
//! the matrix alone and sums are always taken in the same order, so that results do not depend on the number of threads.
//!
//! A correction of the right-hand side that depends on the solution at a few *marked* rows (transient constraints) needs the backward
//! substitution only along their ancestors in the elimination tree, and the forward one again along the same.

use std::ops::Range;

use rayon::prelude::*;

use crate::packed::{PackedAnalysis, PackedFactor, Panel, Pass, Row};
use crate::{NotPositiveDefinite, SymmetricMatrix, inverse, nested_dissection};

/// Parts with fewer rows are not split: their solve is over before another thread has begun. Ours.
const LEAST: usize = 2000;
/// Rows that one thread fetches at a time. Ours.
const FETCHED: usize = 4096;

/// The order in which a pattern is eliminated, and its parts: kept when values change.
#[derive(Debug)]
pub struct SplitAnalysis {
    /// The row of the matrix at each place of the elimination.
    order: Vec<u32>,
    tree: Cuts,
    packed: PackedAnalysis,
}

/// A factored matrix, ready for solves on several threads.
#[derive(Clone, Debug)]
pub struct SplitFactor {
    /// The row of the matrix at each place of the elimination.
    order: Vec<u32>,
    /// The place of each row.
    places: Vec<u32>,
    root: Part,
    /// The solution at each place.
    solution: Vec<Row>,
    /// Marked places.
    marked: Vec<u32>,
}

/// Some neighbouring columns of the factor, with copies of the rows of the separators above them, and the two parts that they separate.
#[derive(Clone, Debug)]
struct Part {
    factor: PackedFactor,
    /// Its own places.
    own: Range<usize>,
    /// The places of the separators above, ascending: its parent's own places, and then those above its parent.
    above: Vec<u32>,
    below: Option<Box<[Part; 2]>>,
    /// Own rows, and then those of the separators above.
    vector: Vec<Row>,
    /// The solution before the correction, and then the correction.
    second: Vec<Row>,
    /// Panels with marked rows, and their ancestors, ascending.
    marked: Vec<u32>,
}

impl SplitAnalysis {
    /// Orders and splits the pattern of a matrix.
    pub fn new(matrix: &SymmetricMatrix) -> Self {
        let order = nested_dissection(&matrix.neighbours());
        let mut tree = Cuts::default();
        let packed = PackedAnalysis::cut(&matrix.permuted(&order), |analysis| {
            tree = Columns::new(analysis, order.len()).cut(0..order.len());
            tree.ends()
        });
        Self { order, tree, packed }
    }

    /// Factors a matrix of the analysed pattern.
    ///
    /// # Panics
    /// If the matrix has another size than the analysed one.
    pub fn factor(&self, matrix: &SymmetricMatrix) -> Result<SplitFactor, NotPositiveDefinite> {
        assert_eq!(matrix.size(), self.order.len(), "a matrix of the pattern that was analysed");
        let whole = self.packed.factor(&matrix.permuted(&self.order))?;
        Ok(SplitFactor {
            root: Part::new(&whole, &self.tree, Vec::new()),
            places: inverse(&self.order),
            solution: vec![[0.0; 4]; self.order.len()],
            order: self.order.clone(),
            marked: Vec::new(),
        })
    }
}

impl SplitFactor {
    /// Orders and factors a matrix.
    pub fn new(matrix: &SymmetricMatrix) -> Result<Self, NotPositiveDefinite> {
        SplitAnalysis::new(matrix).factor(matrix)
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.order.len()
    }

    /// Marks the rows at which corrections act.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn mark(&mut self, rows: &[u32]) {
        self.marked = rows.iter().map(|row| self.places[*row as usize]).collect();
        let mut is_marked = vec![false; self.order.len()];
        self.marked.iter().for_each(|place| is_marked[*place as usize] = true);
        self.root.mark(&mut is_marked);
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
        self.root.look_back(&[]);
        let mut values: Vec<Row> = self.marked.iter().map(|place| *self.root.second(*place)).collect();
        correct(&mut values);
        self.root.clear_marked();
        for (place, value) in self.marked.iter().zip(values) {
            *self.root.second(*place) = value;
        }
        self.root.correct();
        self.backward(rhs);
    }

    fn forward(&mut self, rhs: &[Row]) {
        assert_eq!(rhs.len(), self.size(), "one row per unknown");
        self.root.forward(rhs, &self.order);
    }

    fn backward(&mut self, x: &mut [Row]) {
        self.root.backward(&[], &mut self.solution);
        let fetch = |(rows, places): (&mut [Row], &[u32])| {
            rows.iter_mut().zip(places).for_each(|(row, place)| *row = self.solution[*place as usize]);
        };
        if self.root.below.is_some() {
            x.par_chunks_mut(FETCHED).zip(self.places.par_chunks(FETCHED)).for_each(fetch);
        } else {
            fetch((x, &self.places));
        }
    }
}

impl Part {
    /// The columns of a separator, or of a part that is not split, and everything below it; `above` are the places of the separators above.
    fn new(whole: &PackedFactor, cuts: &Cuts, above: Vec<u32>) -> Self {
        let own = cuts.own.clone();
        let mut factor = PackedFactor {
            size: own.len() + above.len(),
            panels: Vec::new(),
            rows: Vec::new(),
            wide: Vec::new(),
            narrow: Vec::new(),
        };
        for panel in whole.panels.iter().filter(|panel| own.contains(&panel.first)) {
            let start = factor.rows.len();
            let rows = &whole.rows[panel.rows.0..panel.rows.1];
            let local = |row: &u32| {
                let local = if (*row as usize) < own.end {
                    *row as usize - own.start
                } else {
                    own.len() + above.binary_search(row).expect("rows below a part belong to separators")
                };
                local as u32
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
                first: panel.first - own.start,
                width: panel.width,
                rows: (start, factor.rows.len()),
                values,
            });
        }
        let below = cuts.below.as_ref().map(|below| {
            let above: Vec<u32> =
                own.clone().map(|place| place as u32).chain(above.iter().copied()).collect();
            Box::new(below.each_ref().map(|cuts| Self::new(whole, cuts, above.clone())))
        });
        let zero = vec![[0.0; 4]; factor.size];
        Self { factor, own, above, below, vector: zero.clone(), second: zero, marked: Vec::new() }
    }

    /// Number of its places and of those below it.
    fn count(&self) -> usize {
        let below = self.below.iter().flat_map(|below| below.iter());
        self.own.len() + below.map(Self::count).sum::<usize>()
    }

    /// Does something with both parts below, on two threads if there are two.
    fn join(&mut self, work: impl Fn(&mut Self) + Sync) {
        if let Some(below) = &mut self.below {
            let [first, second] = &mut **below;
            rayon::join(|| work(first), || work(second));
        }
    }

    /// Marks panels with marked places, and their ancestors.
    fn mark(&mut self, is_marked: &mut [bool]) {
        self.below.iter_mut().flat_map(|below| below.iter_mut()).for_each(|part| part.mark(is_marked));
        self.marked.clear();
        for (index, panel) in (0..).zip(&self.factor.panels) {
            let first = self.own.start + panel.first;
            if is_marked[first..first + panel.width].iter().any(|is_marked| *is_marked) {
                self.marked.push(index);
                for row in &self.factor.rows[panel.rows.0..panel.rows.1] {
                    is_marked[self.place(*row as usize)] = true;
                }
            }
        }
    }

    /// The place of a row of its vectors.
    fn place(&self, row: usize) -> usize {
        let own = self.own.len();
        if row < own { self.own.start + row } else { self.above[row - own] as usize }
    }

    /// The row of the second vectors at a place.
    fn second(&mut self, place: u32) -> &mut Row {
        let (start, place) = (self.own.start, place as usize);
        match &mut self.below {
            Some(below) if place < start => {
                let [first, second] = &mut **below;
                (if place < first.own.end { first } else { second }).second(place as u32)
            }
            _ => &mut self.second[place - start],
        }
    }

    fn forward(&mut self, rhs: &[Row], order: &[u32]) {
        self.join(|part| part.forward(rhs, order));
        let (own, above) = self.vector.split_at_mut(self.own.len());
        for (place, row) in own.iter_mut().zip(&order[self.own.clone()]) {
            *place = rhs[*row as usize];
        }
        above.fill([0.0; 4]);
        for part in self.below.iter().flat_map(|below| below.iter()) {
            add(&mut self.vector, &part.vector[part.own.len()..]);
        }
        self.factor.run(Pass::Forward(None), &mut self.vector);
    }

    /// Solves backwards, given the solution above, into this part's places and those below it.
    fn backward(&mut self, above: &[Row], solution: &mut [Row]) {
        let own = self.own.len();
        self.vector[own..].copy_from_slice(above);
        self.factor.run(Pass::Backward(None, None), &mut self.vector);
        let (rest, here) = solution.split_at_mut(solution.len() - own);
        here.copy_from_slice(&self.vector[..own]);
        if let Some(below) = &mut self.below {
            let [first, second] = &mut **below;
            let (left, right) = rest.split_at_mut(first.count());
            let above = &self.vector;
            rayon::join(|| first.backward(above, left), || second.backward(above, right));
        }
    }

    /// The solution at marked panels, without a correction.
    fn look_back(&mut self, above: &[Row]) {
        // A part without marked panels has none below it.
        if self.marked.is_empty() {
            return;
        }
        self.second[self.own.len()..].copy_from_slice(above);
        self.factor.run(Pass::Backward(Some(&self.marked), Some(&self.vector)), &mut self.second);
        if let Some(below) = &mut self.below {
            let [first, second] = &mut **below;
            let above = &self.second;
            rayon::join(|| first.look_back(above), || second.look_back(above));
        }
    }

    fn clear_marked(&mut self) {
        self.below.iter_mut().flat_map(|below| below.iter_mut()).for_each(Self::clear_marked);
        for index in &self.marked {
            let panel = &self.factor.panels[*index as usize];
            self.second[panel.first..panel.first + panel.width].fill([0.0; 4]);
        }
        self.second[self.own.len()..].fill([0.0; 4]);
    }

    /// Subtracts the correction from the forward solution.
    fn correct(&mut self) {
        if self.marked.is_empty() {
            return;
        }
        self.join(Self::correct);
        for part in self.below.iter().flat_map(|below| below.iter()) {
            add(&mut self.second, &part.second[part.own.len()..]);
        }
        self.factor.run(Pass::Forward(Some(&self.marked)), &mut self.second);
        for index in &self.marked {
            let panel = &self.factor.panels[*index as usize];
            for row in panel.first..panel.first + panel.width {
                for k in 0..4 {
                    self.vector[row][k] -= self.second[row][k];
                }
            }
        }
    }
}

fn add(sums: &mut [Row], rows: &[Row]) {
    for (sum, row) in sums.iter_mut().zip(rows) {
        for k in 0..4 {
            sum[k] += row[k];
        }
    }
}

/// Columns of a separator, and how the columns before them are split.
#[derive(Debug, Default)]
struct Cuts {
    own: Range<usize>,
    below: Option<Box<[Cuts; 2]>>,
}

impl Cuts {
    /// The ends of all parts.
    fn ends(&self) -> Vec<usize> {
        let mut ends: Vec<usize> =
            self.below.iter().flat_map(|below| below.iter()).flat_map(Self::ends).collect();
        ends.push(self.own.start);
        ends.push(self.own.end);
        ends
    }
}

/// The columns of a factor, as far as cuts depend on them.
struct Columns {
    /// The parent of each column in the elimination tree.
    parents: Vec<usize>,
    /// Entries of the factor before each column, and their total.
    until: Vec<f64>,
}

impl Columns {
    fn new(analysis: &PackedAnalysis, size: usize) -> Self {
        let parents =
            (0..size).map(|column| analysis.below(column).first().copied().unwrap_or(size)).collect();
        let mut until = vec![0.0];
        for column in 0..size {
            until.push(until[column] + analysis.below(column).len() as f64 + 1.0);
        }
        Self { parents, until }
    }

    /// Splits columns while that is worth it.
    fn cut(&self, columns: Range<usize>) -> Cuts {
        match self.find_cut(&columns) {
            Some([a, b]) => {
                let below = [columns.start..a, a..b].map(|part| self.cut(part));
                Cuts { own: b..columns.end, below: Some(Box::new(below)) }
            }
            None => Cuts { own: columns, below: None },
        }
    }

    /// The ends of two independent parts of some columns; their separator follows. Minimises the time of a solve with a thread for each; none where
    /// there are few columns or no good separator.
    fn find_cut(&self, columns: &Range<usize>) -> Option<[usize; 2]> {
        if columns.len() < LEAST {
            return None;
        }
        let until = |column: usize| self.until[column] - self.until[columns.start];
        let all = until(columns.end);
        let (mut best, mut cut) = (0.9 * all, None);
        for b in (columns.start + 1..=columns.end).rev() {
            let top = all - until(b);
            if top + 0.5 * until(b) >= best {
                if top >= best {
                    break;
                }
                continue;
            }
            // Columns before a are done with each other if none of them has its parent between a and b.
            let mut reach = 0;
            for a in columns.start + 1..b {
                if self.parents[a - 1] < b {
                    reach = reach.max(self.parents[a - 1]);
                }
                let time = top + until(a).max(until(b) - until(a));
                if reach < a && time < best {
                    (best, cut) = (time, Some([a, b]));
                }
            }
        }
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::{NARROW, WIDE};
    use crate::test_matrices::grid;

    fn rhs(size: usize) -> Vec<Row> {
        (0..size).map(|i| [0, 1, 2, 3].map(|k| ((i * 31 + k * 17) % 23) as f32 - 11.0)).collect()
    }

    /// Fraction of the factor that is read before a solve with as many threads as parts is over.
    fn longest_path(factor: &SplitFactor) -> f64 {
        fn paths(part: &Part) -> [f64; 2] {
            let own = part.factor.bytes() as f64;
            let below: Vec<[f64; 2]> = part.below.iter().flat_map(|below| below.iter()).map(paths).collect();
            let longest = below.iter().map(|paths| paths[0]).fold(0.0, f64::max);
            [own + longest, own + below.iter().map(|paths| paths[1]).sum::<f64>()]
        }
        let [longest, all] = paths(&factor.root);
        longest / all
    }

    /// Fraction of the factor that a correction reads again.
    fn marked_fraction(factor: &SplitFactor) -> f64 {
        fn numbers(part: &Part) -> [usize; 2] {
            let of = |panel: &Panel| {
                let width = if panel.is_wide() { WIDE } else { NARROW };
                (panel.width + panel.rows.1 - panel.rows.0) * width
            };
            let marked = part.marked.iter().map(|index| of(&part.factor.panels[*index as usize])).sum();
            let own = [marked, part.factor.panels.iter().map(of).sum()];
            let below = part.below.iter().flat_map(|below| below.iter()).map(numbers);
            below.fold(own, |[a, b], [c, d]| [a + c, b + d])
        }
        let [marked, all] = numbers(&factor.root);
        marked as f64 / all as f64
    }

    #[test]
    fn parts_solve_what_the_whole_does() {
        for ((width, height), longest) in [((20, 30), 1.01), ((60, 70), 0.7), ((120, 140), 0.5)] {
            let matrix = grid(width, height, 0.5);
            let order = nested_dissection(&matrix.neighbours());
            let permuted = matrix.permuted(&order);
            let factor = PackedAnalysis::new(&permuted).factor(&permuted).unwrap();
            let b = rhs(matrix.size());
            let mut expected: Vec<Row> = order.iter().map(|row| b[*row as usize]).collect();
            factor.solve_in_place(&mut expected);
            let mut split = SplitFactor::new(&matrix).unwrap();
            let path = longest_path(&split);
            assert!(path < longest, "{width} × {height}: {path}");
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
    fn an_analysis_serves_all_matrices_of_its_pattern() {
        let (soft, mut stiff) = (grid(60, 70, 0.5), grid(60, 70, 0.5));
        stiff.values_mut().iter_mut().for_each(|value| *value *= 7.0);
        for row in 0..1000 {
            stiff.add(row, row, 0.3 * (row % 9) as f64);
        }
        let mut x = rhs(stiff.size());
        SplitAnalysis::new(&soft).factor(&stiff).unwrap().solve(&mut x);
        let mut product = vec![[0.0; 4]; x.len()];
        stiff.multiply(&x.iter().map(|row| row.map(f64::from)).collect::<Vec<_>>(), &mut product);
        for (product, b) in product.iter().zip(rhs(stiff.size())) {
            (0..3).for_each(|k| assert!((product[k] - f64::from(b[k])).abs() < 1e-3, "{product:?} {b:?}"));
        }
    }

    #[test]
    fn any_number_of_threads_solves_alike() {
        let split = SplitFactor::new(&grid(120, 140, 0.5)).unwrap();
        let solve = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut split = split.clone();
                split.mark(&[5, 7000, 16000]);
                let mut x = rhs(split.size());
                split.solve_corrected(&mut x, |values| {
                    values.iter_mut().for_each(|value| *value = value.map(|v| 0.3 * v + 1.0));
                });
                x
            })
        };
        let one = solve(1);
        assert!(one == solve(2) && one == solve(4), "the solutions differ");
    }

    #[test]
    fn a_correction_at_marked_rows_costs_no_second_solve_and_is_exact() {
        for (width, height) in [(20, 30), (60, 70), (120, 140)] {
            let matrix = grid(width, height, 0.5);
            let size = matrix.size();
            let mut split = SplitFactor::new(&matrix).unwrap();
            let marked = [3, size as u32 / 2, size as u32 / 2 + 7, size as u32 - 1];
            split.mark(&marked);
            let fraction = marked_fraction(&split);
            assert!(fraction < 0.8, "{fraction}");
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
