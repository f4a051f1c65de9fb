//! The global step through a few Gauss-Seidel iterations (*Progressive PD*, Algorithms 1 and 2).
//!
//! Vertices are gone through colour by colour; those of one colour do not touch each other, so that the result does not depend on
//! the order within it. The start is D⁻¹ q, so that nothing depends on units.

use zygoma_numerics::SymmetricMatrix;

use super::elements::{Precision, Row};
use super::solve::GlobalStep;
use super::system::MatrixRow;

/// Gauss-Seidel iterations, as many as the search along directions asks for.
pub struct GaussSeidel<T> {
    /// Vertices, colour by colour.
    order: Vec<u32>,
    /// Where each vertex' entries start, in the order of vertices; one more at the end.
    starts: Vec<u32>,
    entries: Vec<(u32, T)>,
    diagonal: Vec<f64>,
    /// Entries and diagonal of transient constraints.
    extra: Vec<Vec<(u32, T)>>,
    extra_diagonal: Vec<f64>,
    touched: Vec<u32>,
    inverse: Vec<T>,
    iterations: usize,
}

/// n of Algorithm 2 at the start of a step.
const FIRST_ITERATIONS: usize = 2;
/// Beyond, another iteration of the outer loop is worth more. Ours.
const MOST_ITERATIONS: usize = 64;

impl<T: Precision> GaussSeidel<T> {
    /// Iterations on the matrix of what stays.
    pub fn new(matrix: &SymmetricMatrix) -> Self {
        let size = matrix.size();
        let neighbours = matrix.neighbours();
        let (mut starts, mut entries) = (vec![0], Vec::new());
        let value = |i: usize, j: usize| matrix.position(i, j).map_or(0.0, |place| matrix.values()[place]);
        for (i, list) in neighbours.iter().enumerate() {
            entries.extend(list.iter().map(|j| (*j, T::of(value(i, *j as usize)))));
            starts.push(entries.len() as u32);
        }
        let diagonal: Vec<f64> = (0..size).map(|i| value(i, i)).collect();
        let inverse = diagonal.iter().map(|d| T::of(1.0 / d)).collect();
        Self {
            order: colour_by_colour(&neighbours),
            starts,
            entries,
            diagonal,
            extra: vec![Vec::new(); size],
            extra_diagonal: vec![0.0; size],
            touched: Vec::new(),
            inverse,
            iterations: FIRST_ITERATIONS,
        }
    }

    /// Replaces the transient constraints.
    ///
    /// # Panics
    /// If a row names a vertex that is not there.
    pub fn set_transient(&mut self, rows: &[MatrixRow]) {
        let mut touched = std::mem::take(&mut self.touched);
        for vertex in touched.drain(..) {
            self.extra[vertex as usize].clear();
            self.extra_diagonal[vertex as usize] = 0.0;
            self.inverse[vertex as usize] = T::of(1.0 / self.diagonal[vertex as usize]);
        }
        for row in rows {
            for (i, a) in &row.entries {
                touched.push(*i);
                self.extra_diagonal[*i as usize] += row.weight * a * a;
                for (j, b) in row.entries.iter().filter(|(j, _)| j != i) {
                    self.extra[*i as usize].push((*j, T::of(row.weight * a * b)));
                }
            }
        }
        for vertex in &touched {
            let vertex = *vertex as usize;
            self.inverse[vertex] = T::of(1.0 / (self.diagonal[vertex] + self.extra_diagonal[vertex]));
        }
        self.touched = touched;
    }

    /// Iterations per solve at present.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// One iteration over all vertices.
    fn iterate(&self, q: &[Row<T>], s: &mut [Row<T>]) {
        for vertex in &self.order {
            let vertex = *vertex as usize;
            let own = &self.entries[self.starts[vertex] as usize..self.starts[vertex + 1] as usize];
            let mut rest = q[vertex];
            for (other, value) in own.iter().chain(&self.extra[vertex]) {
                let row = s[*other as usize];
                for k in 0..4 {
                    rest[k] = (-*value).mul_add(row[k], rest[k]);
                }
            }
            for k in 0..4 {
                s[vertex][k] = rest[k] * self.inverse[vertex];
            }
        }
    }
}

impl<T: Precision> GlobalStep<T> for GaussSeidel<T> {
    fn begin(&mut self) {
        self.iterations = FIRST_ITERATIONS;
    }

    fn solve(&mut self, q: &[Row<T>], s: &mut [Row<T>]) {
        for ((s, q), inverse) in s.iter_mut().zip(q).zip(&self.inverse) {
            (0..4).for_each(|k| s[k] = q[k] * *inverse);
        }
        for _ in 0..self.iterations {
            self.iterate(q, s);
        }
    }

    fn refine(&mut self, q: &[Row<T>], s: &mut [Row<T>]) -> bool {
        self.iterate(q, s);
        true
    }

    fn sharpen(&mut self) {
        self.iterations = (2 * self.iterations).min(MOST_ITERATIONS);
    }
}

/// The vertices ordered by the colours of a greedy colouring.
fn colour_by_colour(neighbours: &[Vec<u32>]) -> Vec<u32> {
    let mut colours = vec![u32::MAX; neighbours.len()];
    for vertex in 0..neighbours.len() {
        let mut taken: Vec<u32> = neighbours[vertex].iter().map(|n| colours[*n as usize]).collect();
        taken.sort_unstable();
        taken.dedup();
        let free = (0..).zip(&taken).find(|(colour, used)| colour != *used);
        // Without a gap, the first colour that no neighbour has; vertices not coloured yet come last in the list.
        colours[vertex] = free.map_or(taken.len() as u32, |(colour, _)| colour);
    }
    let mut order: Vec<u32> = (0..neighbours.len() as u32).collect();
    order.sort_by_key(|vertex| colours[*vertex as usize]);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(size: usize) -> SymmetricMatrix {
        let mut entries: Vec<(usize, usize, f64)> = (0..size).map(|i| (i, i, 2.5)).collect();
        entries.extend((1..size).map(|i| (i, i - 1, -1.0)));
        SymmetricMatrix::from_entries(size, &entries)
    }

    #[test]
    fn colours_do_not_touch() {
        let neighbours = chain(9).neighbours();
        let order = colour_by_colour(&neighbours);
        assert_eq!(order, [0, 2, 4, 6, 8, 1, 3, 5, 7]);
    }

    #[test]
    fn iterations_converge_with_transient_rows() {
        let matrix = chain(30);
        let mut step = GaussSeidel::<f64>::new(&matrix);
        let row = MatrixRow { weight: 40.0, entries: vec![(3, 1.0), (20, -0.5), (21, -0.5)] };
        let q: Vec<Row<f64>> = (0..30).map(|i| [i as f64, 1.0, -3.0, 0.0]).collect();
        for rows in [vec![row.clone()], vec![]] {
            step.set_transient(&rows);
            let mut s = vec![[0.0; 4]; 30];
            step.solve(&q, &mut s);
            (0..400).for_each(|_| assert!(step.refine(&q, &mut s)));
            let mut back = vec![[0.0; 4]; 30];
            matrix.multiply(&s, &mut back);
            for row in &rows {
                for k in 0..3 {
                    let sum: f64 = row.entries.iter().map(|(v, c)| c * s[*v as usize][k]).sum();
                    row.entries.iter().for_each(|(v, c)| back[*v as usize][k] += row.weight * c * sum);
                }
            }
            for (b, q) in back.iter().zip(&q) {
                assert!((0..3).all(|k| (b[k] - q[k]).abs() < 1e-9));
            }
        }
    }
}
