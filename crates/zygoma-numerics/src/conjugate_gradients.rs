//! Preconditioned conjugate gradients.

/// The state that a stopping rule looks at, before each iteration.
pub struct CgStatus<'a> {
    /// Iterations made.
    pub iteration: usize,
    /// r = b − A x.
    pub residual: &'a [f64],
    /// rᵀ M⁻¹ r, where M⁻¹ is the preconditioner.
    pub preconditioned_square: f64,
}

/// How conjugate gradients ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgEnd {
    /// The stopping rule was met.
    Converged,
    /// The matrix is not positive definite along a search direction.
    NotPositiveDefinite,
    /// The iterations allowed were used up.
    OutOfIterations,
}

/// The last iterate of conjugate gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct CgSolution {
    /// x.
    pub x: Vec<f64>,
    /// b − A x.
    pub residual: Vec<f64>,
    /// Iterations made.
    pub iterations: usize,
    /// Why it ended.
    pub end: CgEnd,
}

/// Solves A x = b for a symmetric positive definite A ([Nocedal and Wright 2006] algorithm 5.3), starting at 0.
///
/// `multiply` writes A v and `precondition` writes M⁻¹ v; neither needs a matrix. `is_done` is the stopping rule.
///
/// ```
/// use zygoma_numerics::{CgEnd, conjugate_gradients};
/// let multiply = |v: &[f64], out: &mut [f64]| out.copy_from_slice(&[4.0 * v[0] + v[1], v[0] + 3.0 * v[1]]);
/// let precondition = |v: &[f64], out: &mut [f64]| out.copy_from_slice(&[v[0] / 4.0, v[1] / 3.0]);
/// let found = conjugate_gradients(&[1.0, 2.0], multiply, precondition, |s| s.preconditioned_square < 1e-20, 10);
/// assert_eq!(found.end, CgEnd::Converged);
/// assert!((found.x[0] - 1.0 / 11.0).abs() < 1e-12 && (found.x[1] - 7.0 / 11.0).abs() < 1e-12);
/// ```
pub fn conjugate_gradients(
    rhs: &[f64],
    mut multiply: impl FnMut(&[f64], &mut [f64]),
    mut precondition: impl FnMut(&[f64], &mut [f64]),
    mut is_done: impl FnMut(&CgStatus<'_>) -> bool,
    max_iterations: usize,
) -> CgSolution {
    let size = rhs.len();
    let (mut x, mut r) = (vec![0.0; size], rhs.to_vec());
    let (mut z, mut product) = (vec![0.0; size], vec![0.0; size]);
    precondition(&r, &mut z);
    let mut direction = z.clone();
    let mut square = dot(&r, &z);
    let mut iterations = 0;
    let end = loop {
        if is_done(&CgStatus { iteration: iterations, residual: &r, preconditioned_square: square }) {
            break CgEnd::Converged;
        }
        if iterations == max_iterations {
            break CgEnd::OutOfIterations;
        }
        multiply(&direction, &mut product);
        let curvature = dot(&direction, &product);
        // Also for NaN.
        if curvature.is_nan() || curvature <= 0.0 {
            break CgEnd::NotPositiveDefinite;
        }
        let length = square / curvature;
        for i in 0..size {
            x[i] += length * direction[i];
            r[i] -= length * product[i];
        }
        precondition(&r, &mut z);
        let next = dot(&r, &z);
        let keep = next / square;
        square = next;
        for i in 0..size {
            direction[i] = z[i] + keep * direction[i];
        }
        iterations += 1;
    };
    CgSolution { x, residual: r, iterations, end }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_matrices::grid;

    #[test]
    fn a_good_preconditioner_saves_iterations_and_gives_the_same_solution() {
        let matrix = grid(20, 15, 0.01);
        let size = matrix.size();
        let multiply = |v: &[f64], out: &mut [f64]| {
            let mut columns = vec![[0.0]; size];
            matrix.multiply(v.as_chunks::<1>().0, &mut columns);
            out.copy_from_slice(columns.as_flattened());
        };
        let rhs: Vec<f64> = (0..size).map(|i| ((i * 37) % 11) as f64 - 5.0).collect();
        let done = |status: &CgStatus<'_>| dot(status.residual, status.residual).sqrt() < 1e-10;
        let plain = conjugate_gradients(&rhs, multiply, |v, out| out.copy_from_slice(v), done, 1000);
        let mut factor = crate::Cholesky::<f64>::new(crate::Analysis::new(&matrix), &matrix).unwrap();
        let solve = |v: &[f64], out: &mut [f64]| {
            out.copy_from_slice(v);
            factor.solve_in_place(out);
        };
        let exact = conjugate_gradients(&rhs, multiply, solve, done, 1000);
        assert_eq!((plain.end, exact.end), (CgEnd::Converged, CgEnd::Converged));
        assert!(exact.iterations <= 2 && plain.iterations > 20, "{} {}", exact.iterations, plain.iterations);
        assert!(plain.x.iter().zip(&exact.x).all(|(a, b)| (a - b).abs() < 1e-8));
        let short = conjugate_gradients(&rhs, multiply, |v, out| out.copy_from_slice(v), done, 3);
        assert_eq!((short.end, short.iterations), (CgEnd::OutOfIterations, 3));
    }

    #[test]
    fn an_indefinite_matrix_is_noticed() {
        let multiply = |v: &[f64], out: &mut [f64]| out.copy_from_slice(&[v[0], -v[1]]);
        let copy = |v: &[f64], out: &mut [f64]| out.copy_from_slice(v);
        let found = conjugate_gradients(&[0.0, 1.0], multiply, copy, |_| false, 10);
        assert_eq!(found.end, CgEnd::NotPositiveDefinite);
    }
}
