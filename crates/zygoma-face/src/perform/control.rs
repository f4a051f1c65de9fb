//! Which actuations bring the flesh closest to where its markers should be (*Progressive PD*, §3.2).

use glam::DVec3;
use zygoma_physics::projective::DenseFactor;

/// A constant least-squares problem: how markers follow actuations.
///
/// The paper takes the response with projections kept, which is far smaller than the true one wherever flesh turns, so that its
/// actuations overshoot. The true response to the force that holds a shape is the shape.
pub(super) struct Control {
    /// How each marker moves with each actuation.
    response: Vec<Vec<DVec3>>,
    normal: DenseFactor,
    regularisation: f64,
}

/// How far an actuation may leave the weight that drives it.
const REACH: f32 = 0.3;

impl Control {
    /// The problem for markers that move in a given way with each actuation.
    pub(super) fn new(response: Vec<Vec<DVec3>>, regularisation: f64) -> Option<Self> {
        let inner = |a: &[DVec3], b: &[DVec3]| -> f64 { a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum() };
        let count = response.len();
        let size: f64 = response.iter().map(|r| inner(r, r)).sum::<f64>() / count.max(1) as f64;
        let regularisation = regularisation * size.max(1e-30);
        let entry = |i: usize, j: usize| {
            inner(&response[i], &response[j]) + if i == j { regularisation } else { 0.0 }
        };
        let normal = DenseFactor::new(count, entry)?;
        Some(Self { response, normal, regularisation })
    }

    /// Improves actuations, given what the markers still miss and the weights that they should not leave by far.
    pub(super) fn improve(&self, misses: &[DVec3], weights: &[f32], actuations: &mut [f32]) {
        let mut rhs: Vec<[f64; 3]> = self
            .response
            .iter()
            .enumerate()
            .map(|(k, response)| {
                let pull: f64 = response.iter().zip(misses).map(|(r, miss)| r.dot(*miss)).sum();
                [pull + self.regularisation * f64::from(weights[k] - actuations[k]), 0.0, 0.0]
            })
            .collect();
        self.normal.solve(&mut rhs);
        for ((actuation, change), weight) in actuations.iter_mut().zip(&rhs).zip(weights) {
            *actuation = (*actuation + change[0] as f32).clamp(weight - REACH, weight + REACH);
        }
    }
}
