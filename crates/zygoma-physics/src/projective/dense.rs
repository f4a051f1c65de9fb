//! A small dense Cholesky factor.

use zygoma_numerics::simd::{self, Simd, WithSimd};

/// L of L Lᵀ, row by row, the lower triangle only.
#[derive(Clone, Debug)]
pub struct DenseFactor {
    size: usize,
    lower: Vec<f64>,
}

impl DenseFactor {
    /// Factors a symmetric matrix, of which entries on and below the diagonal are asked for. None if it is not positive definite.
    pub fn new(size: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let mut lower = Vec::with_capacity(size * (size + 1) / 2);
        for i in 0..size {
            lower.extend((0..=i).map(|j| entry(i, j)));
        }
        Self::of_triangle(size, lower)
    }

    /// Factors a symmetric matrix given by its lower triangle, row by row. None if it is not positive definite.
    ///
    /// # Panics
    /// If the triangle has another number of entries.
    pub fn of_triangle(size: usize, mut lower: Vec<f64>) -> Option<Self> {
        assert_eq!(lower.len(), size * (size + 1) / 2, "a triangle of this size");
        simd::run(Factor(&mut lower)).then_some(Self { size, lower })
    }

    /// Solves for three right-hand sides in place; a fourth number is carried along.
    ///
    /// # Panics
    /// If there is not one row for each of the matrix.
    pub fn solve(&self, rhs: &mut [[f64; 4]]) {
        assert_eq!(rhs.len(), self.size, "one row per unknown");
        simd::run(Substitute(&self.lower, rhs));
    }
}

/// Row after row, each by products with the rows above it.
struct Factor<'a>(&'a mut [f64]);

impl WithSimd for Factor<'_> {
    type Output = bool;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let mut rest = 0..0;
        while rest.end < self.0.len() {
            let i = rest.len();
            rest = rest.end..rest.end + i + 1;
            let (above, row) = self.0[..rest.end].split_at_mut(rest.start);
            let mut start = 0;
            for j in 0..i {
                let other = &above[start..start + j + 1];
                row[j] = (row[j] - dot(simd, &row[..j], &other[..j])) / other[j];
                start += j + 1;
            }
            let square = row[i] - dot(simd, &row[..i], &row[..i]);
            if square.is_nan() || square <= 0.0 {
                return false;
            }
            row[i] = square.sqrt();
        }
        true
    }
}

/// a · b of slices of equal length.
#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    let (a, a_rest) = S::as_simd_f64s(a);
    let (b, b_rest) = S::as_simd_f64s(b);
    let mut sums = [simd.splat_f64s(0.0); 4];
    let (a, a_last) = a.as_chunks::<4>();
    let (b, b_last) = b.as_chunks::<4>();
    for (a, b) in a.iter().zip(b) {
        for k in 0..4 {
            sums[k] = simd.mul_add_e_f64s(a[k], b[k], sums[k]);
        }
    }
    for (a, b) in a_last.iter().zip(b_last) {
        sums[0] = simd.mul_add_e_f64s(*a, *b, sums[0]);
    }
    let both = [simd.add_f64s(sums[0], sums[1]), simd.add_f64s(sums[2], sums[3])];
    let mut total = simd.reduce_sum_f64s(simd.add_f64s(both[0], both[1]));
    for (a, b) in a_rest.iter().zip(b_rest) {
        total += a * b;
    }
    total
}

/// Forward along the rows, then backward along them.
struct Substitute<'a>(&'a [f64], &'a mut [[f64; 4]]);

impl WithSimd for Substitute<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self(lower, rhs) = self;
        let size = rhs.len();
        let mut start = 0;
        for i in 0..size {
            let (solved, rest) = rhs.split_at_mut(i);
            // Two sums do not wait for each other.
            let mut sums = [[0.0; 4]; 2];
            let row = &lower[start..start + i + 1];
            let (pairs, last) = row[..i].as_chunks::<2>();
            let (solved_pairs, solved_last) = solved.as_chunks::<2>();
            for (l, x) in pairs.iter().zip(solved_pairs) {
                for k in 0..4 {
                    sums[0][k] += l[0] * x[0][k];
                    sums[1][k] += l[1] * x[1][k];
                }
            }
            for (l, x) in last.iter().zip(solved_last) {
                for k in 0..4 {
                    sums[0][k] += l * x[k];
                }
            }
            for k in 0..4 {
                rest[0][k] = (rest[0][k] - sums[0][k] - sums[1][k]) / row[i];
            }
            start += i + 1;
        }
        for i in (0..size).rev() {
            start -= i + 1;
            let row = &lower[start..start + i + 1];
            let (before, own) = rhs.split_at_mut(i);
            let own = &mut own[0];
            for k in 0..4 {
                own[k] /= row[i];
            }
            for (l, x) in row.iter().zip(before) {
                for k in 0..4 {
                    x[k] -= l * own[k];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_satisfy_their_equations() {
        for size in [1, 2, 7, 41] {
            let entry = |i: usize, j: usize| if i == j { 3.0 + i as f64 } else { 1.0 / (1 + i + j) as f64 };
            let factor = DenseFactor::new(size, entry).unwrap();
            let rhs: Vec<[f64; 4]> = (0..size).map(|i| [i as f64, 1.0, -2.0 * i as f64, 0.5]).collect();
            let mut x = rhs.clone();
            factor.solve(&mut x);
            for i in 0..size {
                for k in 0..4 {
                    let back: f64 = (0..size).map(|j| entry(i.max(j), i.min(j)) * x[j][k]).sum();
                    assert!((back - rhs[i][k]).abs() < 1e-11);
                }
            }
        }
        assert!(DenseFactor::new(2, |i, j| if i == j { 1.0 } else { 2.0 }).is_none());
    }
}
