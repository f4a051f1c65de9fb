//! 3×3 decompositions over sampled matrices (*Progressive PD*, §6.4), compared with nalgebra's, and the gain from the first-order
//! approximation and from memoisation.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;
use zygoma_numerics::random::Keyed;
use zygoma_numerics::simd::instruction_set;
use zygoma_numerics::svd3::{
    Kept, LANES, Mat3, Mat3x16, Memo, Svd3, Svd3x16, Thresholds, load_lane, store_matrix_lane, svd_lane,
    svd3, svd3_batch, svd3_batch_scalar,
};

/// Batches that are made, timed and checked together: they stay in the L2 cache.
const CHUNK: usize = 128;
/// nalgebra and the scalar version are timed on one chunk in this many.
const EVERY: usize = 32;

/// The measurements, on one thread.
#[derive(Serialize)]
pub(crate) struct SvdReport {
    pub(crate) instruction_set: String,
    pub(crate) matrices: usize,
    /// Median nanoseconds per matrix: sixteen at a time, one at a time, and nalgebra's.
    pub(crate) wide_ns: f64,
    pub(crate) scalar_ns: f64,
    pub(crate) nalgebra_ns: f64,
    /// ‖U D Vᵀ − F‖.
    pub(crate) mean_error: f64,
    pub(crate) worst_error: f64,
    /// The same for nalgebra, on one chunk in 32.
    pub(crate) nalgebra_worst_error: f64,
    pub(crate) memos: Vec<MemoResult>,
}

/// A memo over iterations 2–8 of a step, with thresholds of 0.01 and 0.1 at first, halved each time.
#[derive(Serialize)]
pub(crate) struct MemoResult {
    /// Spread of the singular values about 1, and how far matrices move in a frame.
    pub(crate) strain: f64,
    pub(crate) way: f64,
    pub(crate) kept: &'static str,
    /// Percent of the batches that were kept, approximated, and computed.
    pub(crate) kept_percent: usize,
    pub(crate) approximated_percent: usize,
    pub(crate) computed_percent: usize,
    pub(crate) mean_ns: f64,
    /// The same matrices without the memo.
    pub(crate) always_ns: f64,
    /// Largest error of U Vᵀ after the last iteration.
    pub(crate) rotation_error: f64,
}

/// Measures a given number of matrices.
pub(crate) fn run(count: usize) -> SvdReport {
    let mut report = full(count);
    for (strain, way) in [(0.02, 0.02), (0.02, 0.1), (0.2, 0.02), (0.2, 0.1)] {
        report.memos.extend(memos(strain, way));
    }
    report
}

/// Rotation of three Euler angles.
fn euler([a, b, c]: [f64; 3]) -> Mat3<f64> {
    let ((sa, ca), (sb, cb), (sc, cc)) = (a.sin_cos(), b.sin_cos(), c.sin_cos());
    [
        [cb * cc, sa * sb * cc + ca * sc, sa * sc - ca * sb * cc],
        [-cb * sc, ca * cc - sa * sb * sc, ca * sb * sc + sa * cc],
        [sb, -sa * cb, ca * cb],
    ]
}

/// U diag(d) Vᵀ with uniformly distributed angles and d around 1.
fn sample(name: u64, spread: f64) -> Mat3<f64> {
    let stream = Keyed::new(1, name);
    let angles = |from: u64| [0, 1, 2].map(|k| std::f64::consts::TAU * stream.uniform(from + k));
    let d = [0, 1, 2].map(|k| 1.0 + spread * stream.normal(9 + k));
    Svd3 { u: euler(angles(0)), d, v: euler(angles(3)) }.with_values(d)
}

fn batches(first: u64, make: impl Fn(u64) -> Mat3<f64>) -> Vec<Mat3x16> {
    let mut batches = vec![[[[0.0; LANES]; 3]; 3]; CHUNK];
    for (i, batch) in batches.iter_mut().enumerate() {
        for lane in 0..LANES {
            let matrix = make(first + (LANES * i + lane) as u64);
            store_matrix_lane(&matrix.map(|column| column.map(|x| x as f32)), batch, lane);
        }
    }
    batches
}

/// Nanoseconds per matrix of one run.
fn timed(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    1e9 * start.elapsed().as_secs_f64() / (CHUNK * LANES) as f64
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(0.0)
}

fn error(matrix: &Mat3<f32>, svd: &Svd3<f32>) -> f64 {
    let wide = |m: &Mat3<f32>| m.map(|column| column.map(f64::from));
    let svd = Svd3 { u: wide(&svd.u), d: svd.d.map(f64::from), v: wide(&svd.v) };
    distance(&svd.with_values(svd.d), &wide(matrix))
}

fn distance(a: &Mat3<f64>, b: &Mat3<f64>) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

fn full(count: usize) -> SvdReport {
    let mut times = [const { Vec::new() }; 3];
    let (mut worst, mut sum, mut nalgebra_worst) = (0.0_f64, 0.0, 0.0_f64);
    let chunks = count.div_ceil(CHUNK * LANES).max(1);
    let mut svds = vec![Svd3x16::default(); CHUNK];
    for chunk in 0..chunks {
        let matrices = batches((chunk * CHUNK * LANES) as u64, |name| sample(name, 0.5));
        if chunk % EVERY == 0 {
            times[1].push(timed(|| svd3_batch_scalar(black_box(&matrices), black_box(&mut svds))));
            let plain: Vec<nalgebra::Matrix3<f32>> = matrices
                .iter()
                .flat_map(|batch| (0..LANES).map(|lane| load_lane(batch, lane).into()))
                .collect();
            let mut out = Vec::with_capacity(plain.len());
            times[2].push(timed(|| out.extend(black_box(&plain).iter().map(|m| m.svd(true, true)))));
            for (svd, m) in out.into_iter().zip(&plain) {
                nalgebra_worst =
                    svd.recompose().map_or(f64::INFINITY, |r| nalgebra_worst.max(f64::from((r - m).norm())));
            }
        }
        times[0].push(timed(|| svd3_batch(black_box(&matrices), black_box(&mut svds))));
        for (batch, svd) in matrices.iter().zip(&svds) {
            for lane in 0..LANES {
                let missed = error(&load_lane(batch, lane), &svd_lane(svd, lane));
                worst = worst.max(missed);
                sum += missed;
            }
        }
    }
    let [wide_ns, scalar_ns, nalgebra_ns] = times.map(median);
    let matrices = chunks * CHUNK * LANES;
    SvdReport {
        instruction_set: instruction_set().to_owned(),
        matrices,
        wide_ns,
        scalar_ns,
        nalgebra_ns,
        mean_error: sum / matrices as f64,
        worst_error: worst,
        nalgebra_worst_error: nalgebra_worst,
        memos: Vec::new(),
    }
}

/// Matrices that converge as those of eight iterations do: each iteration halves the remaining distance, after a frame's change of
/// `way` (Frobenius, typical).
fn memos(strain: f64, way: f64) -> [MemoResult; 2] {
    let at = |name: u64, iteration: i32| {
        let (f, stream) = (sample(name, strain), Keyed::new(2, name));
        let left = way / 3.0 * 0.5_f64.powi(iteration);
        [0, 1, 2].map(|c| [0, 1, 2].map(|r| f[c][r] + left * stream.normal((3 * c + r) as u64)))
    };
    let steps: Vec<Vec<Mat3x16>> = (0..8).map(|iteration| batches(0, |name| at(name, iteration))).collect();
    let mut svds = vec![Svd3x16::default(); CHUNK];
    let always_ns =
        median((0..350).map(|i| timed(|| svd3_batch(black_box(&steps[1 + i % 7]), &mut svds))).collect());
    [Kept::Decomposition, Kept::Rotation].map(|kept| {
        let mut times = Vec::new();
        let (mut counts, mut rotation_error) = ([0; 3], 0.0_f64);
        for repeat in 0..50 {
            let outcome = one_step(kept, &steps, &mut times);
            if repeat == 0 {
                (counts, rotation_error) = outcome;
            }
        }
        let total: usize = counts.iter().sum();
        let [kept_percent, approximated_percent, computed_percent] =
            counts.map(|count| 100 * count / total.max(1));
        MemoResult {
            strain,
            way,
            kept: if kept == Kept::Decomposition { "decomposition" } else { "rotation" },
            kept_percent,
            approximated_percent,
            computed_percent,
            mean_ns: times.iter().sum::<f64>() / times.len() as f64,
            always_ns,
            rotation_error,
        }
    })
}

/// Fractions of batches kept, approximated and computed over a step, and the error of the rotations at its end.
fn one_step(kept: Kept, steps: &[Vec<Mat3x16>], times: &mut Vec<f64>) -> ([usize; 3], f64) {
    let mut memo = Memo::new(kept, &steps[0]);
    let mut svds = memo.decompositions().to_vec();
    let mut rotations = vec![[[[0.0; LANES]; 3]; 3]; CHUNK];
    memo.update_rotations(&steps[0], Thresholds { keep: 0.0, approximate: 0.0 }, &mut rotations);
    let mut thresholds = Thresholds { keep: 0.01, approximate: 0.1 };
    let mut counts = [0; 3];
    for step in &steps[1..] {
        let mut count = Default::default();
        times.push(timed(|| {
            count = match kept {
                Kept::Decomposition => memo.update(black_box(step), thresholds, &mut svds),
                Kept::Rotation => memo.update_rotations(black_box(step), thresholds, &mut rotations),
            };
        }));
        for (total, part) in counts.iter_mut().zip([count.kept, count.approximated, count.computed]) {
            *total += part;
        }
        thresholds = Thresholds { keep: 0.5 * thresholds.keep, approximate: 0.5 * thresholds.approximate };
    }
    (counts, rotation_error(&steps[steps.len() - 1], kept, &svds, &rotations))
}

fn rotation_error(matrices: &[Mat3x16], kept: Kept, svds: &[Svd3x16], rotations: &[Mat3x16]) -> f64 {
    let mut worst = 0.0_f64;
    for (batch, matrix) in matrices.iter().enumerate() {
        for lane in 0..LANES {
            let exact = svd3(&load_lane(matrix, lane).map(|column| column.map(f64::from))).rotation();
            let found = match kept {
                Kept::Decomposition => svd_lane(&svds[batch], lane).rotation(),
                Kept::Rotation => load_lane(&rotations[batch], lane),
            };
            worst = worst.max(distance(&exact, &found.map(|column| column.map(f64::from))));
        }
    }
    worst
}
