//! The global step through a few Gauss-Seidel iterations (*Progressive PD*, Algorithms 1 and 2).
//!
//! Vertices are processed colour by colour. Those of one colour are not connected, so that threads can share them and the result does not depend
//! on their order. Vertices with transient constraints come last, one after the other, since they may be connected to any other. The initial guess
//! is D⁻¹ q, so that nothing depends on units.

use rayon::prelude::*;
use zygoma_numerics::simd::{self, Simd, WithSimd};
use zygoma_numerics::{SymmetricMatrix, inverse};

use super::elements::{Precision, Row};
use super::solve::GlobalStep;
use super::system::MatrixRow;

/// A global step of Gauss-Seidel iterations, whose number grows when a line search fails.
pub struct GaussSeidel<T> {
    /// The vertex at each place, colour by colour, and the place of each vertex.
    order: Vec<u32>,
    places: Vec<u32>,
    /// Start of each colour, and the total count.
    colours: Vec<usize>,
    lines: Lines<T>,
    diagonal: Vec<f64>,
    /// Entries and diagonal of transient constraints.
    extra: Vec<Vec<(u32, T)>>,
    extra_diagonal: Vec<f64>,
    /// Places with transient constraints.
    touched: Vec<u32>,
    q: Vec<Row<T>>,
    s: Vec<Row<T>>,
    /// New rows of one colour.
    fresh: Vec<Row<T>>,
    iterations: usize,
    /// Whether their number is fixed.
    fixed: bool,
}

/// The rows of the matrix, place by place.
struct Lines<T> {
    /// Start of the entries of each row, and the total count.
    starts: Vec<u32>,
    /// Entries beside the diagonal.
    entries: Vec<(u32, T)>,
    /// D⁻¹.
    inverse: Vec<T>,
}

/// n of *Progressive PD*, Algorithm 2, at the start of a step.
const FIRST_ITERATIONS: usize = 2;
/// Beyond this, another outer iteration is worth more. Ours.
const MOST_ITERATIONS: usize = 64;
/// Vertices of one colour that one thread updates at a time. Ours.
const CHUNK: usize = 500;

impl<T: Precision> GaussSeidel<T> {
    /// Iterations on the matrix of the permanent elements.
    pub fn new(matrix: &SymmetricMatrix) -> Self {
        let size = matrix.size();
        let neighbours = matrix.neighbours();
        let (order, colours) = colour_by_colour(&neighbours);
        let places = inverse(&order);
        let (mut starts, mut entries) = (vec![0], Vec::new());
        let value = |i: u32, j: u32| {
            matrix.position(i as usize, j as usize).map_or(0.0, |place| matrix.values()[place])
        };
        for i in &order {
            let list = &neighbours[*i as usize];
            entries.extend(list.iter().map(|j| (places[*j as usize], T::of(value(*i, *j)))));
            starts.push(entries.len() as u32);
        }
        let diagonal: Vec<f64> = order.iter().map(|i| value(*i, *i)).collect();
        let inverse = diagonal.iter().map(|d| T::of(1.0 / d)).collect();
        let zero = vec![[T::default(); 4]; size];
        Self {
            order,
            places,
            colours,
            lines: Lines { starts, entries, inverse },
            diagonal,
            extra: vec![Vec::new(); size],
            extra_diagonal: vec![0.0; size],
            touched: Vec::new(),
            q: zero.clone(),
            s: zero.clone(),
            fresh: zero,
            iterations: FIRST_ITERATIONS,
            fixed: false,
        }
    }

    /// Replaces the transient constraints.
    ///
    /// # Panics
    /// If a row names a vertex that is not there.
    pub fn set_transient(&mut self, rows: &[MatrixRow]) {
        let mut touched = std::mem::take(&mut self.touched);
        for place in touched.drain(..) {
            let place = place as usize;
            self.extra[place].clear();
            self.extra_diagonal[place] = 0.0;
            self.lines.inverse[place] = T::of(1.0 / self.diagonal[place]);
        }
        for row in rows {
            for (i, a) in &row.entries {
                let place = self.places[*i as usize];
                touched.push(place);
                self.extra_diagonal[place as usize] += row.weight * a * a;
                for (j, b) in row.entries.iter().filter(|(j, _)| j != i) {
                    let other = self.places[*j as usize];
                    self.extra[place as usize].push((other, T::of(row.weight * a * b)));
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for place in &touched {
            let place = *place as usize;
            self.lines.inverse[place] = T::of(1.0 / (self.diagonal[place] + self.extra_diagonal[place]));
        }
        self.touched = touched;
    }

    /// The same with a fixed number of iterations per solve. *Progressive PD* compares with one.
    pub fn with_fixed_iterations(mut self, iterations: usize) -> Self {
        (self.iterations, self.fixed) = (iterations, true);
        self
    }

    /// Iterations per solve at present.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// One iteration over all vertices.
    fn iterate(&mut self) {
        for k in 1..self.colours.len() {
            let (first, end) = (self.colours[k - 1], self.colours[k]);
            let (lines, q, s) = (&self.lines, &self.q, &self.s);
            let go = |(chunk, fresh): (usize, &mut [Row<T>])| {
                simd::run(Sweep { lines, q, s, first: first + chunk * CHUNK, fresh });
            };
            let fresh = &mut self.fresh[first..end];
            if fresh.len() < 2 * CHUNK {
                go((0, fresh));
            } else {
                fresh.par_chunks_mut(CHUNK).enumerate().for_each(go);
            }
            // Those with transient constraints are updated last.
            let waiting = self.touched.partition_point(|place| (*place as usize) < first)
                ..self.touched.partition_point(|place| (*place as usize) < end);
            for place in &self.touched[waiting] {
                self.fresh[*place as usize] = self.s[*place as usize];
            }
            self.s[first..end].copy_from_slice(&self.fresh[first..end]);
        }
        for place in &self.touched {
            let place = *place as usize;
            let mut rest = self.lines.rest(place, &self.q, &self.s);
            for (other, value) in &self.extra[place] {
                let row = self.s[*other as usize];
                (0..4).for_each(|k| rest[k] = (-*value).mul_add(row[k], rest[k]));
            }
            self.s[place] = rest.map(|x| x * self.lines.inverse[place]);
        }
    }

    fn load(&mut self, q: &[Row<T>]) {
        for (place, vertex) in self.q.iter_mut().zip(&self.order) {
            *place = q[*vertex as usize];
        }
    }

    fn store(&self, s: &mut [Row<T>]) {
        for (row, place) in s.iter_mut().zip(&self.places) {
            *row = self.s[*place as usize];
        }
    }
}

impl<T: Precision> Lines<T> {
    /// q − (A − D) s at a place.
    #[inline(always)]
    fn rest(&self, place: usize, q: &[Row<T>], s: &[Row<T>]) -> Row<T> {
        let mut rest = q[place];
        for (other, value) in &self.entries[self.starts[place] as usize..self.starts[place + 1] as usize] {
            let row = s[*other as usize];
            for k in 0..4 {
                rest[k] = (-*value).mul_add(row[k], rest[k]);
            }
        }
        rest
    }
}

/// New rows for some neighbouring places of one colour.
struct Sweep<'a, T> {
    lines: &'a Lines<T>,
    q: &'a [Row<T>],
    s: &'a [Row<T>],
    first: usize,
    fresh: &'a mut [Row<T>],
}

impl<T: Precision> WithSimd for Sweep<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (place, fresh) in (self.first..).zip(self.fresh) {
            let rest = self.lines.rest(place, self.q, self.s);
            for k in 0..4 {
                fresh[k] = rest[k] * self.lines.inverse[place];
            }
        }
    }
}

impl<T: Precision> GlobalStep<T> for GaussSeidel<T> {
    fn begin(&mut self) {
        if !self.fixed {
            self.iterations = FIRST_ITERATIONS;
        }
    }

    fn solve(&mut self, q: &[Row<T>], s: &mut [Row<T>]) {
        self.load(q);
        for ((s, q), inverse) in self.s.iter_mut().zip(&self.q).zip(&self.lines.inverse) {
            (0..4).for_each(|k| s[k] = q[k] * *inverse);
        }
        for _ in 0..self.iterations {
            self.iterate();
        }
        self.store(s);
    }

    fn refine(&mut self, q: &[Row<T>], s: &mut [Row<T>]) -> bool {
        self.load(q);
        for (place, vertex) in self.s.iter_mut().zip(&self.order) {
            *place = s[*vertex as usize];
        }
        self.iterate();
        self.store(s);
        true
    }

    fn sharpen(&mut self) {
        if !self.fixed {
            self.iterations = (2 * self.iterations).min(MOST_ITERATIONS);
        }
    }
}

/// The vertices ordered by the colours of a greedy colouring, and where each colour starts.
fn colour_by_colour(neighbours: &[Vec<u32>]) -> (Vec<u32>, Vec<usize>) {
    let mut colours = vec![u32::MAX; neighbours.len()];
    for vertex in 0..neighbours.len() {
        let mut taken: Vec<u32> = neighbours[vertex].iter().map(|n| colours[*n as usize]).collect();
        taken.sort_unstable();
        taken.dedup();
        let free = (0..).zip(&taken).find(|(colour, used)| colour != *used);
        // The smallest colour that no neighbour has; uncoloured neighbours sort last.
        colours[vertex] = free.map_or(taken.len() as u32, |(colour, _)| colour);
    }
    let mut order: Vec<u32> = (0..neighbours.len() as u32).collect();
    order.sort_by_key(|vertex| colours[*vertex as usize]);
    let mut starts = vec![0];
    for same in order.chunk_by(|a, b| colours[*a as usize] == colours[*b as usize]) {
        starts.push(starts[starts.len() - 1] + same.len());
    }
    (order, starts)
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
        let (order, colours) = colour_by_colour(&neighbours);
        assert_eq!(order, [0, 2, 4, 6, 8, 1, 3, 5, 7]);
        assert_eq!(colours, [0, 5, 9]);
    }

    #[test]
    fn threads_and_registers_change_nothing_but_rounding() {
        let matrix = chain(5000);
        let q: Vec<Row<f64>> = (0..5000).map(|i| [f64::from(i % 17), 1.0, -3.0, 0.0]).collect();
        let single: Vec<Row<f32>> = q.iter().map(|row| row.map(|x| x as f32)).collect();
        let (mut a, mut b) = (vec![[0.0; 4]; 5000], vec![[0.0; 4]; 5000]);
        GaussSeidel::<f64>::new(&matrix).solve(&q, &mut a);
        GaussSeidel::<f32>::new(&matrix).solve(&single, &mut b);
        for (a, b) in a.iter().zip(&b) {
            assert!((0..3).all(|k| (a[k] - f64::from(b[k])).abs() < 1e-5));
        }
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
