//! Small dense symmetric matrices made positive semidefinite.

use crate::DenseFactor;

/// Sweeps of Jacobi rotations; matrices of the size of an element need six or seven.
const MOST_SWEEPS: usize = 30;

/// Replaces a symmetric matrix, given row by row, by the closest positive semidefinite one (in the Frobenius norm): negative eigenvalues become 0.
/// A matrix that is positive definite is left as it is.
///
/// ```
/// use zygoma_numerics::project_definite;
/// let mut matrix = [0.0, 1.0, 1.0, 0.0];
/// project_definite(2, &mut matrix);
/// assert!(matrix.iter().all(|entry| (entry - 0.5).abs() < 1e-12));
/// ```
///
/// # Panics
/// If there are not `size`² entries.
pub fn project_definite(size: usize, matrix: &mut [f64]) {
    assert_eq!(matrix.len(), size * size, "a square matrix");
    if DenseFactor::new(size, |i, j| matrix[size * i + j]).is_some() {
        return;
    }
    let (values, vectors) = eigen(size, matrix);
    matrix.fill(0.0);
    for (value, vector) in values.iter().zip(vectors.chunks_exact(size)).filter(|(value, _)| **value > 0.0) {
        for i in 0..size {
            for j in 0..size {
                matrix[size * i + j] += value * vector[i] * vector[j];
            }
        }
    }
}

/// Eigenvalues and eigenvectors (one after the other) by cyclic Jacobi rotations ([Golub and Van Loan 2013] §8.5).
fn eigen(size: usize, matrix: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut vectors: Vec<f64> =
        (0..size * size).map(|k| if k % (size + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let all: f64 = a.iter().map(|entry| entry * entry).sum();
    for _ in 0..MOST_SWEEPS {
        let beside = a.iter().enumerate().filter(|(k, _)| k % (size + 1) != 0);
        let left: f64 = beside.map(|(_, entry)| entry * entry).sum();
        if left.is_nan() || left <= 1e-28 * all {
            break;
        }
        for p in 0..size {
            for q in p + 1..size {
                rotate(size, p, q, &mut a, &mut vectors);
            }
        }
    }
    ((0..size).map(|i| a[size * i + i]).collect(), vectors)
}

/// Turns the axes p and q so that the entry (p, q) vanishes.
fn rotate(size: usize, p: usize, q: usize, a: &mut [f64], vectors: &mut [f64]) {
    let off = a[size * p + q];
    if off == 0.0 {
        return;
    }
    let half = (a[size * q + q] - a[size * p + p]) / (2.0 * off);
    let tangent = half.signum() / (half.abs() + (half * half + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    let turn = |a: &mut f64, b: &mut f64| (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    for k in 0..size {
        let [x, y] = a.get_disjoint_mut([size * k + p, size * k + q]).expect("two entries");
        turn(x, y);
    }
    for k in 0..size {
        let [x, y] = a.get_disjoint_mut([size * p + k, size * q + k]).expect("two entries");
        turn(x, y);
        let [x, y] = vectors.get_disjoint_mut([size * p + k, size * q + k]).expect("two entries");
        turn(x, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Keyed;

    fn random(size: usize, seed: u64) -> Vec<f64> {
        let stream = Keyed::new(seed, 5);
        let entry = |i: usize, j: usize| stream.normal((size * i.min(j) + i.max(j)) as u64);
        (0..size * size).map(|k| entry(k / size, k % size)).collect()
    }

    #[test]
    fn eigenvectors_give_the_matrix_back() {
        for size in [1, 3, 6, 9, 12] {
            let matrix = random(size, size as u64);
            let (values, vectors) = eigen(size, &matrix);
            for i in 0..size {
                for j in 0..size {
                    let entry: f64 =
                        (0..size).map(|k| values[k] * vectors[size * k + i] * vectors[size * k + j]).sum();
                    assert!((entry - matrix[size * i + j]).abs() < 1e-10, "{size}: entry {i}, {j}");
                }
            }
        }
    }

    #[test]
    fn only_negative_curvature_is_removed() {
        for seed in 0..50 {
            let size = 9;
            let matrix = random(size, seed);
            let mut projected = matrix.clone();
            project_definite(size, &mut projected);
            let (values, _) = eigen(size, &projected);
            assert!(values.iter().all(|value| *value > -1e-10), "{values:?}");
            // The part removed is negative, and orthogonal to the part that is left.
            let removed: Vec<f64> = matrix.iter().zip(&projected).map(|(a, b)| a - b).collect();
            assert!(eigen(size, &removed).0.iter().all(|value| *value < 1e-10));
            let inner: f64 = removed.iter().zip(&projected).map(|(a, b)| a * b).sum();
            assert!(inner.abs() < 1e-9, "{inner}");
        }
    }

    #[test]
    fn definite_matrices_stay_as_they_are() {
        let size = 9;
        let mut matrix = random(size, 1);
        (0..size).for_each(|i| matrix[size * i + i] += 20.0);
        let mut projected = matrix.clone();
        project_definite(size, &mut projected);
        assert_eq!(matrix, projected);
    }

    #[test]
    fn numbers_that_are_not_finite_end_the_search() {
        let mut matrix = [f64::NAN; 9];
        project_definite(3, &mut matrix);
        let mut matrix = [f64::INFINITY; 9];
        project_definite(3, &mut matrix);
    }
}
