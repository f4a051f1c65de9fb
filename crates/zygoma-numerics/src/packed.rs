//! The fast solve: one factored matrix, three right-hand sides at once, `f32`, one thread, no allocation
//! ([`SplitFactor`](crate::SplitFactor) uses more).
//!
//! The factor is stored as a block LDLᵀ in panels of up to eight columns: with L the Cholesky factor, L₁ the
//! triangle of a panel and V the rows below it, a panel holds V' = V L₁⁻¹ and D⁻¹ = L₁⁻ᵀ L₁⁻¹. Then
//!
//! - forward, each panel p in order: b_r ← b_r − V' b_p for its rows r;
//! - backward, in reverse: x_p = D⁻¹ b_p − V'ᵀ x_r.
//!
//! Both are products of a row of eight numbers with vectors, without divisions or chains of dependencies,
//! and the diagonal is met only once. The columns of a panel need not have the same rows: zeros are stored
//! where that is cheaper than another panel.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltParams, LltRegularization};
use faer::perm::PermRef;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Par, Side, Spec};

use crate::packed_kernels::{Kernels, Plain};
use crate::{NotPositiveDefinite, SymmetricMatrix};

/// A row of three right-hand sides: x, y, z and padding.
pub type Row = [f32; 4];

/// Columns of a wide panel.
pub(crate) const WIDE: usize = 8;
/// Columns of a narrow panel.
pub(crate) const NARROW: usize = 4;

/// Some neighbouring columns of the factor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panel {
    /// First column and number of columns.
    pub(crate) first: usize,
    pub(crate) width: usize,
    /// Its rows below the diagonal block, in [`PackedFactor::rows`].
    pub(crate) rows: (usize, usize),
    /// Start of its D⁻¹ in the wide or narrow values; V' follows.
    pub(crate) values: usize,
}

impl Panel {
    /// Whether it lies among the wide ones.
    pub(crate) fn is_wide(&self) -> bool {
        self.width > NARROW
    }
}

/// The symbolic factorisation of a pattern into panels, kept when values change.
#[derive(Debug)]
pub struct PackedAnalysis {
    symbolic: SymbolicCholesky<usize>,
    panels: Vec<Panel>,
    rows: Vec<u32>,
    wide_len: usize,
    narrow_len: usize,
}

/// A factored matrix, packed for solving.
#[derive(Clone, Debug)]
pub struct PackedFactor {
    pub(crate) size: usize,
    pub(crate) panels: Vec<Panel>,
    pub(crate) rows: Vec<u32>,
    pub(crate) wide: Vec<[f32; WIDE]>,
    pub(crate) narrow: Vec<[f32; NARROW]>,
}

impl PackedAnalysis {
    /// Analyses the pattern of a matrix whose rows already are in the order of elimination
    /// (see [`nested_dissection`](crate::nested_dissection) and [`SymmetricMatrix::permuted`]).
    pub fn new(matrix: &SymmetricMatrix) -> Self {
        Self::cut(matrix, |_| Vec::new())
    }

    /// The same with panels that end at some columns: `cuts` is asked for them, given the rows below each column's diagonal.
    pub(crate) fn cut(matrix: &SymmetricMatrix, cuts: impl FnOnce(&Self) -> Vec<usize>) -> Self {
        let natural: Vec<usize> = (0..matrix.size()).collect();
        let symbolic = factorize_symbolic_cholesky(
            pattern(matrix),
            Side::Lower,
            SymmetricOrdering::Custom(PermRef::new_checked(&natural, &natural, matrix.size())),
            CholeskySymbolicParams {
                supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SIMPLICIAL,
                ..Default::default()
            },
        )
        .expect("the indices of the factor fit into memory");
        let mut analysis =
            Self { symbolic, panels: Vec::new(), rows: Vec::new(), wide_len: 0, narrow_len: 0 };
        let size = matrix.size();
        let cuts = cuts(&analysis);
        for (first, width) in partition(size, &cuts, |column| analysis.below(column)) {
            let rows = panel_rows(first, width, |column| analysis.below(column));
            let start = analysis.rows.len();
            let values = if width > NARROW { &mut analysis.wide_len } else { &mut analysis.narrow_len };
            let panel = Panel { first, width, rows: (start, start + rows.len()), values: *values };
            *values += width + rows.len();
            analysis.rows.extend(rows.iter().map(|row| *row as u32));
            analysis.panels.push(panel);
        }
        analysis
    }

    /// Factors a matrix of the analysed pattern and packs it.
    pub fn factor(&self, matrix: &SymmetricMatrix) -> Result<PackedFactor, NotPositiveDefinite> {
        let values = self.cholesky(matrix)?;
        let mut packed = PackedFactor {
            size: matrix.size(),
            panels: self.panels.clone(),
            rows: self.rows.clone(),
            wide: vec![[0.0; WIDE]; self.wide_len],
            narrow: vec![[0.0; NARROW]; self.narrow_len],
        };
        for panel in &self.panels {
            let block = self.block(panel, &values);
            if panel.width > NARROW {
                store(&block, panel.width, &mut packed.wide[panel.values..]);
            } else {
                store(&block, panel.width, &mut packed.narrow[panel.values..]);
            }
        }
        Ok(packed)
    }

    /// The values of the Cholesky factor, in the places that the symbolic part names.
    fn cholesky(&self, matrix: &SymmetricMatrix) -> Result<Vec<f64>, NotPositiveDefinite> {
        let params = Spec::<LltParams, f64>::default();
        let mut scratch =
            MemBuffer::new(self.symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, params));
        let mut values = vec![0.0; self.symbolic.len_val()];
        self.symbolic
            .factorize_numeric_llt(
                &mut values,
                SparseColMatRef::new(pattern(matrix), matrix.values()),
                Side::Lower,
                LltRegularization::default(),
                Par::Seq,
                MemStack::new(&mut scratch),
                params,
            )
            .map_err(|_| NotPositiveDefinite)?;
        Ok(values)
    }

    /// D⁻¹ and V' of one panel, row by row.
    fn block(&self, panel: &Panel, values: &[f64]) -> Vec<[f64; WIDE]> {
        let (first, width) = (panel.first, panel.width);
        let rows = &self.rows[panel.rows.0..panel.rows.1];
        let mut triangle = [[0.0; WIDE]; WIDE];
        let mut below = vec![[0.0; WIDE]; rows.len()];
        for k in 0..width {
            let (places, column_rows) = self.column(first + k);
            for (place, row) in places.zip(column_rows) {
                if *row < first + width {
                    triangle[row - first][k] = values[place];
                } else if let Ok(at) = rows.binary_search(&(*row as u32)) {
                    below[at][k] = values[place];
                }
            }
        }
        let inverse = invert_triangle(&triangle, width);
        let mut block = Vec::with_capacity(width + rows.len());
        for i in 0..width {
            let mut row = [0.0; WIDE];
            for j in 0..width {
                row[j] = (0..width).map(|k| inverse[k][i] * inverse[k][j]).sum();
            }
            block.push(row);
        }
        for row in below {
            let mut scaled = [0.0; WIDE];
            for j in 0..width {
                scaled[j] = (j..width).map(|k| row[k] * inverse[k][j]).sum();
            }
            block.push(scaled);
        }
        block
    }

    /// Storage range of one column of the factor, and its rows.
    fn column(&self, column: usize) -> (std::ops::Range<usize>, &[usize]) {
        let SymbolicCholeskyRaw::Simplicial(factor) = self.symbolic.raw() else {
            unreachable!("a simplicial factor was asked for")
        };
        let places = factor.col_ptr()[column]..factor.col_ptr()[column + 1];
        (places.clone(), &factor.row_idx()[places])
    }

    /// Rows of one column of the factor below its diagonal.
    pub(crate) fn below(&self, column: usize) -> &[usize] {
        &self.column(column).1[1..]
    }
}

impl PackedFactor {
    /// Number of rows.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes that one solve reads twice: values and row numbers.
    pub fn bytes(&self) -> usize {
        4 * (self.rows.len() + WIDE * self.wide.len() + NARROW * self.narrow.len())
    }

    /// Sum of everything that is stored: reading it once takes at least half of the time of a solve.
    pub fn sum(&self) -> f32 {
        let mut sums = [0.0; WIDE];
        for row in &self.wide {
            for k in 0..WIDE {
                sums[k] += row[k];
            }
        }
        let narrow = self.narrow.as_flattened().chunks_exact(WIDE);
        for row in narrow {
            for k in 0..WIDE {
                sums[k] += row[k];
            }
        }
        let rows: u32 = self.rows.iter().fold(0, |sum, row| sum ^ row);
        sums.iter().sum::<f32>() + rows as f32
    }

    /// Solves A x = b in place, in the order of elimination.
    ///
    /// # Panics
    /// If `rhs` has another length than the matrix.
    pub fn solve_in_place(&self, rhs: &mut [Row]) {
        self.run(Pass::Forward(None), rhs);
        self.run(Pass::Backward(None, None), rhs);
    }

    /// The same without vector instructions beyond the baseline.
    ///
    /// # Panics
    /// If `rhs` has another length than the matrix.
    #[cfg(test)]
    fn solve_in_place_plain(&self, rhs: &mut [Row]) {
        assert_eq!(rhs.len(), self.size, "one row per unknown");
        self.run_with(&Plain, Pass::Forward(None), rhs);
        self.run_with(&Plain, Pass::Backward(None, None), rhs);
    }

    /// Processes panels in one direction.
    ///
    /// # Panics
    /// If `rhs` has another length than the matrix.
    pub(crate) fn run(&self, pass: Pass<'_>, rhs: &mut [Row]) {
        assert_eq!(rhs.len(), self.size, "one row per unknown");
        #[cfg(target_arch = "x86_64")]
        if let Some(kernels) = crate::packed_kernels::Avx2::new() {
            kernels.run(self, pass, rhs);
            return;
        }
        self.run_with(&Plain, pass, rhs);
    }

    #[inline(always)]
    pub(crate) fn run_with(&self, kernels: &impl Kernels, pass: Pass<'_>, rhs: &mut [Row]) {
        match pass {
            Pass::Forward(None) => {
                for panel in &self.panels {
                    self.forward(kernels, panel, rhs);
                }
            }
            Pass::Forward(Some(some)) => {
                for index in some {
                    self.forward(kernels, &self.panels[*index as usize], rhs);
                }
            }
            Pass::Backward(None, from) => {
                for panel in self.panels.iter().rev() {
                    self.backward(kernels, panel, from, rhs);
                }
            }
            Pass::Backward(Some(some), from) => {
                for index in some.iter().rev() {
                    self.backward(kernels, &self.panels[*index as usize], from, rhs);
                }
            }
        }
    }

    #[inline(always)]
    fn forward(&self, kernels: &impl Kernels, panel: &Panel, rhs: &mut [Row]) {
        let rows = &self.rows[panel.rows.0..panel.rows.1];
        let below = panel.values + panel.width;
        let own = &rhs[panel.first..panel.first + panel.width];
        if panel.width > NARROW {
            let columns = padded::<WIDE>(own);
            kernels.forward_wide(&self.wide[below..below + rows.len()], rows, &columns, rhs);
        } else {
            let columns = padded::<NARROW>(own);
            kernels.forward_narrow(&self.narrow[below..below + rows.len()], rows, &columns, rhs);
        }
    }

    #[inline(always)]
    fn backward(&self, kernels: &impl Kernels, panel: &Panel, from: Option<&[Row]>, rhs: &mut [Row]) {
        let rows = &self.rows[panel.rows.0..panel.rows.1];
        let end = panel.values + panel.width + rows.len();
        let own = panel.first..panel.first + panel.width;
        let source = &from.unwrap_or(rhs)[own.clone()];
        if panel.width > NARROW {
            let values = self.wide[panel.values..end].split_at(panel.width);
            let solved = kernels.backward_wide(values.0, values.1, rows, source, rhs);
            rhs[own].copy_from_slice(&solved[..panel.width]);
        } else {
            let values = self.narrow[panel.values..end].split_at(panel.width);
            let solved = kernels.backward_narrow(values.0, values.1, rows, source, rhs);
            rhs[own].copy_from_slice(&solved[..panel.width]);
        }
    }
}

/// A sweep over the panels: all of them, or some in ascending order.
#[derive(Clone, Copy)]
pub(crate) enum Pass<'a> {
    /// From the first to the last.
    Forward(Option<&'a [u32]>),
    /// From the last to the first, with right-hand sides that lie elsewhere than solutions go, if given.
    Backward(Option<&'a [u32]>, Option<&'a [Row]>),
}

#[inline(always)]
fn padded<const W: usize>(rows: &[Row]) -> [Row; W] {
    let mut columns = [[0.0; 4]; W];
    for (column, row) in columns.iter_mut().zip(rows) {
        *column = *row;
    }
    columns
}

/// Splits the columns into panels (first column, width) that end at the cuts, so that the estimated time of a solve is least.
fn partition<'a>(size: usize, cuts: &[usize], below: impl Fn(usize) -> &'a [usize]) -> Vec<(usize, usize)> {
    let mut best = vec![(f64::INFINITY, 0); size + 1];
    best[0] = (0.0, 0);
    for first in 0..size {
        let mut rows: Vec<usize> = Vec::new();
        let end = cuts.iter().copied().filter(|cut| *cut > first).min().unwrap_or(size);
        for width in 1..=WIDE.min(end - first) {
            rows = merged(&rows, below(first + width - 1));
            let count = rows.iter().filter(|row| **row >= first + width).count();
            let time = best[first].0 + panel_time(width, count);
            if time < best[first + width].0 {
                best[first + width] = (time, width);
            }
        }
    }
    let mut panels = Vec::new();
    let mut end = size;
    while end > 0 {
        let width = best[end].1;
        panels.push((end - width, width));
        end -= width;
    }
    panels.reverse();
    panels
}

/// Estimated cycles of a panel in both directions; measured on an AVX2 machine, only the ratios matter.
fn panel_time(width: usize, rows: usize) -> f64 {
    let rows = rows as f64;
    if width > NARROW {
        45.0 + 3.0 * width as f64 + 7.0 * rows
    } else {
        35.0 + 3.0 * width as f64 + 4.5 * rows
    }
}

fn panel_rows<'a>(first: usize, width: usize, below: impl Fn(usize) -> &'a [usize]) -> Vec<usize> {
    let mut rows: Vec<usize> = Vec::new();
    for column in first..first + width {
        rows = merged(&rows, below(column));
    }
    rows.retain(|row| *row >= first + width);
    rows
}

/// The union of two ascending lists.
fn merged(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut union = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let next = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => *x.min(y),
            (Some(x), None) => *x,
            (None, Some(y)) => *y,
            (None, None) => break,
        };
        i += usize::from(a.get(i) == Some(&next));
        j += usize::from(b.get(j) == Some(&next));
        union.push(next);
    }
    union
}

/// Inverse of the lower triangle in the first `width` rows and columns.
fn invert_triangle(triangle: &[[f64; WIDE]; WIDE], width: usize) -> [[f64; WIDE]; WIDE] {
    let mut inverse = [[0.0; WIDE]; WIDE];
    for j in 0..width {
        inverse[j][j] = 1.0 / triangle[j][j];
        for i in j + 1..width {
            let sum: f64 = (j..i).map(|k| triangle[i][k] * inverse[k][j]).sum();
            inverse[i][j] = -sum / triangle[i][i];
        }
    }
    inverse
}

fn store<const W: usize>(block: &[[f64; WIDE]], width: usize, values: &mut [[f32; W]]) {
    for (row, value) in block.iter().zip(values) {
        for k in 0..width {
            value[k] = row[k] as f32;
        }
    }
}

fn pattern(matrix: &SymmetricMatrix) -> SymbolicSparseColMatRef<'_, usize> {
    let size = matrix.size();
    SymbolicSparseColMatRef::new_checked(size, size, matrix.starts(), None, matrix.rows())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nested_dissection;
    use crate::test_matrices::grid;

    fn rhs(size: usize) -> Vec<Row> {
        (0..size).map(|i| [0, 1, 2, 3].map(|k| ((i * 31 + k * 17) % 23) as f32 - 11.0)).collect()
    }

    fn residual(matrix: &SymmetricMatrix, x: &[Row], b: &[Row]) -> f64 {
        let x: Vec<[f64; 3]> = x.iter().map(|r| [r[0].into(), r[1].into(), r[2].into()]).collect();
        let mut back = vec![[0.0; 3]; x.len()];
        matrix.multiply(&x, &mut back);
        let misses = back.iter().zip(b).flat_map(|(a, b)| (0..3).map(|k| (a[k] - f64::from(b[k])).abs()));
        misses.fold(0.0, f64::max)
    }

    #[test]
    fn both_paths_solve_the_system() {
        for (width, height) in [(1, 1), (3, 2), (30, 25), (7, 90)] {
            let plain = grid(width, height, 0.5);
            let matrix = plain.permuted(&nested_dissection(&plain.neighbours()));
            let factor = PackedAnalysis::new(&matrix).factor(&matrix).unwrap();
            let b = rhs(matrix.size());
            let (mut fast, mut slow) = (b.clone(), b.clone());
            factor.solve_in_place(&mut fast);
            factor.solve_in_place_plain(&mut slow);
            assert!(residual(&matrix, &fast, &b) < 2e-4, "{}", residual(&matrix, &fast, &b));
            assert!(residual(&matrix, &slow, &b) < 2e-4);
        }
    }

    #[test]
    fn the_order_of_elimination_does_not_matter_to_the_result() {
        let matrix = grid(20, 20, 1.0);
        let order = nested_dissection(&matrix.neighbours());
        let permuted = matrix.permuted(&order);
        let b = rhs(matrix.size());
        let mut natural = b.clone();
        PackedAnalysis::new(&matrix).factor(&matrix).unwrap().solve_in_place(&mut natural);
        let mut dissected: Vec<Row> = order.iter().map(|i| b[*i as usize]).collect();
        PackedAnalysis::new(&permuted).factor(&permuted).unwrap().solve_in_place(&mut dissected);
        for (k, i) in order.iter().enumerate() {
            for axis in 0..3 {
                assert!((dissected[k][axis] - natural[*i as usize][axis]).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let matrix = SymmetricMatrix::from_entries(2, &[(0, 0, 1.0), (1, 0, 2.0), (1, 1, 1.0)]);
        assert_eq!(PackedAnalysis::new(&matrix).factor(&matrix).err(), Some(NotPositiveDefinite));
    }
}
