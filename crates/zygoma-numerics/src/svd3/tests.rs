use super::matrix::{cross, dot, product, transposed};
use super::*;
use crate::random::Keyed;

/// The rotation of three Euler angles.
pub(crate) fn euler(angles: [f64; 3]) -> Mat3<f64> {
    let about = |axis: usize, angle: f64| {
        let (s, c) = angle.sin_cos();
        let mut m = [[0.0; 3]; 3];
        m[axis][axis] = 1.0;
        let (j, k) = ((axis + 1) % 3, (axis + 2) % 3);
        (m[j][j], m[k][k], m[j][k], m[k][j]) = (c, c, s, -s);
        m
    };
    product(&about(0, angles[0]), &product(&about(1, angles[1]), &about(2, angles[2])))
}

/// A matrix as §6.4 samples it: random rotations, singular values around 1.
pub(crate) fn sample(tick: u64, values: Option<[f64; 3]>) -> Mat3<f64> {
    let stream = Keyed::new(3, tick);
    let angles = |from: u64| [0, 1, 2].map(|k| std::f64::consts::TAU * stream.uniform(from + k));
    let d = values.unwrap_or_else(|| [0, 1, 2].map(|k| 1.0 + 0.5 * stream.normal(k)));
    Svd3 { u: euler(angles(0)), d, v: euler(angles(3)) }.with_values(d)
}

pub(crate) fn difference(a: &Mat3<f64>, b: &Mat3<f64>) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

pub(crate) fn to_f64(m: &Mat3<f32>) -> Mat3<f64> {
    m.map(|column| column.map(f64::from))
}

fn identity() -> Mat3<f64> {
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
}

/// Reconstruction, orthogonality, handedness and order, relative to the size of F.
fn check(f: &Mat3<f64>, svd: &Svd3<f64>, tolerance: f64) {
    let size = difference(f, &[[0.0; 3]; 3]).max(1e-300);
    let missed = difference(&svd.with_values(svd.d), f) / size;
    assert!(missed < tolerance, "reconstruction {missed:e} of {f:?} by {svd:?}");
    for rotation in [&svd.u, &svd.v] {
        let bent = difference(&product(&transposed(rotation), rotation), &identity());
        assert!(bent < tolerance, "orthogonality {bent:e} of {f:?} by {svd:?}");
        assert!(dot(cross(rotation[0], rotation[1]), rotation[2]) > 0.9, "a rotation");
    }
    let [a, b, c] = svd.d;
    let slack = tolerance * size;
    assert!(a + slack >= b && b + slack >= c.abs(), "order of {:?} of {f:?}", svd.d);
}

fn special_matrices() -> Vec<Mat3<f64>> {
    let mut special = vec![[[0.0; 3]; 3], identity(), identity().map(|c| c.map(|x| -x)), [[1.0; 3]; 3]];
    let values = [
        [1.0, 1.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, -1.0],
        [2.0, 1.0, 1.0],
        [1.0, 1e-3, 1e-3],
        [1.0, 1e-5, 1e-5],
        [1.0, 1e-4, -1e-6],
        [1.0, 1.0, 1.0 + 1e-7],
        [3.0, 3.0, 1e-8],
        [1e5, 1e4, 1e3],
        [1e-6, 1e-6, 1e-7],
    ];
    for (i, d) in values.iter().enumerate() {
        special.extend((0..40).map(|k| sample(1000 * i as u64 + k, Some(*d))));
        special.push([[d[0], 0.0, 0.0], [0.0, d[1], 0.0], [0.0, 0.0, d[2]]]);
        special.push([[0.0, d[0], 0.0], [0.0, 0.0, d[1]], [d[2], 0.0, 0.0]]);
    }
    // Almost the identity: the diagonal misses 1 by a few roundings, in either precision.
    for ulp in [f64::EPSILON / 2.0, f64::from(f32::EPSILON) / 2.0] {
        let near = |steps: u32| 1.0 - f64::from(steps) * ulp;
        special.extend((0..216).map(|n| {
            let [a, b, c] = [n % 6, n / 6 % 6, n / 36].map(near);
            [[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, c]]
        }));
    }
    special
}

#[test]
fn decompositions_hold_in_double_precision() {
    for f in special_matrices().into_iter().chain((0..4000).map(|t| sample(t, None))) {
        check(&f, &svd3(&f), 1e-13);
    }
}

#[test]
fn decompositions_hold_in_single_precision() {
    let mut worst = 0.0_f64;
    for f in special_matrices().into_iter().chain((0..20_000).map(|t| sample(t, None))) {
        let single = f.map(|column| column.map(|x| x as f32));
        let svd = svd3(&single);
        let wide = Svd3 { u: to_f64(&svd.u), d: svd.d.map(f64::from), v: to_f64(&svd.v) };
        check(&to_f64(&single), &wide, 3e-6);
        worst = worst.max(difference(&wide.with_values(wide.d), &to_f64(&single)));
    }
    assert!(worst > 0.0);
}

#[test]
fn batches_agree_with_their_scalar_twin() {
    let matrices: Vec<Mat3<f64>> =
        special_matrices().into_iter().chain((0..800).map(|t| sample(t, None))).collect();
    for eight in matrices.chunks_exact(LANES) {
        let mut batch = [[[0.0; LANES]; 3]; 3];
        for (lane, matrix) in eight.iter().enumerate() {
            store_matrix_lane(&matrix.map(|column| column.map(|x| x as f32)), &mut batch, lane);
        }
        let (mut wide, mut plain) = ([Svd3x16::default()], [Svd3x16::default()]);
        svd3_batch(&[batch], &mut wide);
        svd3_batch_scalar(&[batch], &mut plain);
        for lane in 0..LANES {
            // Rotations of equal singular values are not unique; their product is.
            let f = to_f64(&load_lane(&batch, lane));
            let size = 1e-30 + difference(&f, &[[0.0; 3]; 3]);
            let [wide, plain] = [&wide[0], &plain[0]].map(|svd| svd_lane(svd, lane));
            for k in 0..3 {
                assert!(f64::from((wide.d[k] - plain.d[k]).abs()) < 3e-6 * size, "{wide:?} {plain:?}");
            }
            let rebuilt = [wide, plain].map(|svd| to_f64(&svd.with_values(svd.d)));
            assert!(difference(&rebuilt[0], &rebuilt[1]) < 3e-6 * size);
        }
    }
}

#[test]
fn a_mirroring_matrix_has_a_negative_smallest_value_and_the_closest_rotation() {
    for tick in 0..200 {
        let f = sample(tick, Some([1.3, 0.9, -0.4]));
        let svd = svd3(&f);
        for (found, expected) in svd.d.iter().zip([1.3, 0.9, -0.4]) {
            assert!((found - expected).abs() < 1e-13);
        }
        let best = difference(&svd.rotation(), &f);
        for other in 0..50 {
            let angles = [0, 1, 2].map(|k| 7.0 * Keyed::new(5, other).uniform(k));
            assert!(difference(&euler(angles), &f) >= best);
        }
    }
}
