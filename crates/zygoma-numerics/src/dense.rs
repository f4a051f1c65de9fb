//! A small dense Cholesky factor.

use crate::simd::{self, Simd, WithSimd};

/// The Cholesky factor U of a small dense matrix UᵀU: the upper triangle, row by row.
#[derive(Clone, Debug)]
pub struct DenseFactor {
    size: usize,
    upper: Vec<f64>,
}

impl DenseFactor {
    /// Factors a symmetric matrix from its entries on and above the diagonal. None if it is not positive definite.
    pub fn new(size: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let mut upper = Vec::with_capacity(size * (size + 1) / 2);
        for i in 0..size {
            upper.extend((i..size).map(|j| entry(i, j)));
        }
        Self::of_triangle(size, upper)
    }

    /// Factors a symmetric matrix given by its upper triangle, row by row. None if it is not positive definite.
    ///
    /// # Panics
    /// If the triangle has another number of entries.
    pub fn of_triangle(size: usize, mut upper: Vec<f64>) -> Option<Self> {
        assert_eq!(upper.len(), size * (size + 1) / 2, "a triangle of this size");
        simd::run_widest(Factor(size, &mut upper)).then_some(Self { size, upper })
    }

    /// Solves for three right-hand sides in place; the fourth number of a row is padding.
    ///
    /// # Panics
    /// If there is not one row for each of the matrix.
    pub fn solve(&self, rhs: &mut [[f64; 4]]) {
        assert_eq!(rhs.len(), self.size, "one row per unknown");
        simd::run(Substitute(&self.upper, rhs));
    }
}

/// Factors row by row: subtracts the products with the rows above, eight at a time so that the row is read and written once for all of them.
struct Factor<'a>(usize, &'a mut [f64]);

const AT_ONCE: usize = 8;

impl WithSimd for Factor<'_> {
    type Output = bool;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self(size, upper) = self;
        let mut start = 0;
        for i in 0..size {
            let (above, rest) = upper.split_at_mut(start);
            let row = &mut rest[..size - i];
            // Row k starts at column k; all rows end at the same column.
            let mut end = 0;
            for first in (0..i).step_by(AT_ONCE) {
                let mut others = [&above[..0]; AT_ONCE];
                let mut count = 0;
                for k in first..(first + AT_ONCE).min(i) {
                    end += size - k;
                    others[count] = &above[end - row.len()..end];
                    count += 1;
                }
                if count == AT_ONCE {
                    subtract::<S, AT_ONCE>(simd, row, others);
                } else {
                    for other in &others[..count] {
                        subtract::<S, 1>(simd, row, [other]);
                    }
                }
            }
            let square = row[0];
            if square.is_nan() || square <= 0.0 {
                return false;
            }
            let inverse = 1.0 / square.sqrt();
            for value in row {
                *value *= inverse;
            }
            start += size - i;
        }
        true
    }
}

/// row −= Σ other₀ · other.
#[inline(always)]
fn subtract<S: Simd, const COUNT: usize>(simd: S, row: &mut [f64], others: [&[f64]; COUNT]) {
    let mut scales = [0.0; COUNT];
    let mut wide_scales = [simd.splat_f64s(0.0); COUNT];
    let mut wide = [S::as_simd_f64s(others[0]).0; COUNT];
    let mut last = [S::as_simd_f64s(others[0]).1; COUNT];
    for k in 0..COUNT {
        scales[k] = -others[k][0];
        wide_scales[k] = simd.splat_f64s(scales[k]);
        (wide[k], last[k]) = S::as_simd_f64s(others[k]);
    }
    let (head, tail) = S::as_mut_simd_f64s(row);
    for k in 0..COUNT {
        // Equal lengths avoid bounds checks below.
        (wide[k], last[k]) = (&wide[k][..head.len()], &last[k][..tail.len()]);
    }
    for (place, value) in head.iter_mut().enumerate() {
        let mut sum = *value;
        for k in 0..COUNT {
            sum = simd.mul_add_e_f64s(wide_scales[k], wide[k][place], sum);
        }
        *value = sum;
    }
    for (place, value) in tail.iter_mut().enumerate() {
        for k in 0..COUNT {
            *value += scales[k] * last[k][place];
        }
    }
}

/// Forward along the rows, then backward along them.
struct Substitute<'a>(&'a [f64], &'a mut [[f64; 4]]);

impl WithSimd for Substitute<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self(upper, rhs) = self;
        let size = rhs.len();
        let mut start = 0;
        for i in 0..size {
            let row = &upper[start..start + size - i];
            let (own, after) = rhs[i..].split_at_mut(1);
            let own = &mut own[0];
            for k in 0..4 {
                own[k] /= row[0];
            }
            let own = *own;
            for (u, x) in row[1..].iter().zip(after) {
                for k in 0..4 {
                    x[k] -= u * own[k];
                }
            }
            start += size - i;
        }
        for i in (0..size).rev() {
            start -= size - i;
            let row = &upper[start..start + size - i];
            let (own, after) = rhs[i..].split_at_mut(1);
            // Four independent sums hide latency.
            let mut sums = [[0.0; 4]; 4];
            let (u, u_last) = row[1..].as_chunks::<4>();
            let (x, x_last) = after.as_chunks::<4>();
            for (u, x) in u.iter().zip(x) {
                for n in 0..4 {
                    for k in 0..4 {
                        sums[n][k] += u[n] * x[n][k];
                    }
                }
            }
            for (u, x) in u_last.iter().zip(x_last) {
                for k in 0..4 {
                    sums[0][k] += u * x[k];
                }
            }
            let own = &mut own[0];
            for k in 0..4 {
                own[k] = (own[k] - sums[0][k] - sums[1][k] - sums[2][k] - sums[3][k]) / row[0];
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
