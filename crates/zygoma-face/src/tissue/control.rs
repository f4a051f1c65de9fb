//! Finds the actuations that bring the tissue closest to its marker targets (*Progressive PD*, §3.2).

use glam::DVec3;
use rayon::prelude::*;
use zygoma_numerics::DenseFactor;
use zygoma_numerics::simd::Runs;
use zygoma_numerics::vectors;
use zygoma_physics::projective::{Row, row};

/// A constant least-squares problem: the response of markers to actuations.
///
/// The paper takes the response with projections fixed, which is far smaller than the true one wherever tissue rotates, so that its
/// actuations overshoot. The true response to the force that holds a shape is the shape.
#[derive(Clone)]
pub(super) struct Control {
    /// Displacement of the markers by each actuation.
    response: Vec<Runs>,
    normal: DenseFactor,
    regularisation: f64,
}

/// Maximum difference between an actuation and the weight that drives it.
const REACH: f32 = 0.3;

impl Control {
    /// The problem for markers with the given response to each actuation.
    pub(super) fn new(response: Vec<Vec<DVec3>>, regularisation: f64) -> Option<Self> {
        let response: Vec<Vec<Row<f32>>> =
            response.into_iter().map(|moves| moves.into_iter().map(row).collect()).collect();
        let inner = |a: &[Row<f32>], b: &[Row<f32>]| vectors::dot(a.as_flattened(), b.as_flattened());
        let count = response.len();
        let size: f64 = response.iter().map(|r| inner(r, r)).sum::<f64>() / count.max(1) as f64;
        let regularisation = regularisation * size.max(1e-30);
        let entry = |i: usize, j: usize| {
            inner(&response[i], &response[j]) + if i == j { regularisation } else { 0.0 }
        };
        let normal = DenseFactor::new(count, entry)?;
        let response = response.iter().map(|rows| Runs::from_dense(rows.as_flattened(), 8)).collect();
        Some(Self { response, normal, regularisation })
    }

    /// Improves actuations, given the errors of the markers and the weights that regularise them.
    pub(super) fn improve(&self, misses: &[Row<f32>], weights: &[f32], actuations: &mut [f32]) {
        let pulls: Vec<f64> =
            self.response.par_iter().with_min_len(8).map(|r| product(r, misses.as_flattened())).collect();
        let mut rhs: Vec<[f64; 4]> = (0..pulls.len())
            .map(|k| {
                let back = self.regularisation * f64::from(weights[k] - actuations[k]);
                [pulls[k] + back, 0.0, 0.0, 0.0]
            })
            .collect();
        self.normal.solve(&mut rhs);
        for ((actuation, change), weight) in actuations.iter_mut().zip(&rhs).zip(weights) {
            *actuation = (*actuation + change[0] as f32).clamp(weight - REACH, weight + REACH);
        }
    }
}

/// The dot product of a sparse vector, stored as runs, with a dense one.
fn product(sparse: &Runs, with: &[f32]) -> f64 {
    let mut values = sparse.values();
    let mut sum = 0.0;
    for (start, length) in sparse.runs() {
        let (now, later) = values.split_at(*length as usize);
        sum += vectors::dot(now, &with[*start as usize..][..*length as usize]);
        values = later;
    }
    sum
}
