//! A small dense Cholesky factor.

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
            let start = lower.len();
            for j in 0..=i {
                let above = j * (j + 1) / 2;
                let known: f64 = (0..j).map(|k| lower[start + k] * lower[above + k]).sum();
                let rest = entry(i, j) - known;
                if i > j {
                    lower.push(rest / lower[above + j]);
                } else if rest > 0.0 {
                    lower.push(rest.sqrt());
                } else {
                    return None;
                }
            }
        }
        Some(Self { size, lower })
    }

    /// Solves for three right-hand sides in place.
    pub fn solve(&self, rhs: &mut [[f64; 3]]) {
        let at = |i: usize, j: usize| self.lower[i * (i + 1) / 2 + j];
        for axis in 0..3 {
            for i in 0..self.size {
                let known: f64 = (0..i).map(|j| at(i, j) * rhs[j][axis]).sum();
                rhs[i][axis] = (rhs[i][axis] - known) / at(i, i);
            }
            for i in (0..self.size).rev() {
                let known: f64 = (i + 1..self.size).map(|j| at(j, i) * rhs[j][axis]).sum();
                rhs[i][axis] = (rhs[i][axis] - known) / at(i, i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_satisfy_their_equations() {
        let entry = |i: usize, j: usize| if i == j { 3.0 + i as f64 } else { 1.0 / (1 + i + j) as f64 };
        let factor = DenseFactor::new(7, entry).unwrap();
        let rhs: Vec<[f64; 3]> = (0..7).map(|i| [i as f64, 1.0, -2.0 * i as f64]).collect();
        let mut x = rhs.clone();
        factor.solve(&mut x);
        for i in 0..7 {
            for k in 0..3 {
                let back: f64 = (0..7).map(|j| entry(i.max(j), i.min(j)) * x[j][k]).sum();
                assert!((back - rhs[i][k]).abs() < 1e-12);
            }
        }
        assert!(DenseFactor::new(2, |i, j| if i == j { 1.0 } else { 2.0 }).is_none());
    }
}
