//! Which actuations bring the flesh closest to where its markers should be (*Progressive PD*, §3.2).

use glam::DVec3;
use zygoma_physics::projective::{DenseFactor, GlobalStep, Prefactored, Row, row};

use super::tissue::Tissue;

/// A constant least-squares problem: markers follow actuations by J while projections are kept.
pub(super) struct Control {
    /// J: how each marker moves with each actuation.
    response: Vec<Vec<DVec3>>,
    normal: DenseFactor,
    regularisation: f64,
}

impl Control {
    /// The problem for markers at all free vertices of the skin (rows below `markers`, as [`Layout`](super::tissue::Layout) has them).
    pub(super) fn new(
        tissue: &Tissue,
        equilibrium: &mut Prefactored<f32>,
        markers: usize,
        regularisation: f64,
    ) -> Option<Self> {
        let free = tissue.layout.free;
        let mut moved = vec![[0.0; 4]; free];
        let mut response = Vec::with_capacity(tissue.forces.len());
        for force in &tissue.forces {
            let q: Vec<Row<f32>> = force.iter().map(|f| row(*f)).collect();
            equilibrium.solve(&q, &mut moved);
            let marker = |r: &Row<f32>| DVec3::new(r[0].into(), r[1].into(), r[2].into());
            response.push(moved[..markers].iter().map(marker).collect::<Vec<DVec3>>());
        }
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
        const REACH: f32 = 0.2;
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
