//! Blend materials: stiffness that changes with the expression (*Blendvolumes* eq. 3 and §6.2).

use glam::{DMat3, DVec3};
use rayon::prelude::*;
use zygoma_numerics::svd3::svd3;
use zygoma_physics::rebalanced::Lame;

use super::EnrichedParams;
use super::blend_volumes::BlendVolumes;
use super::paint::Diffused;
use crate::volume::smooth_step;

/// Stiffness stays within these bounds, Pa: beyond them a face is a liquid or a mask. Ours.
const SOFTEST: f64 = 1e3;
const STIFFEST: f64 = 5e4;
/// A muscle that is this much shorter is contracted as far as it can be. Ours.
const SHORTEST: f64 = 0.3;
/// Tissue that a shape shortens by this fraction is no firmer than the relaxed face, however little its skin moves. Ours: expressions deform cheeks
/// and jowls, and not cartilage or skin that is bound to the bone.
const DEFORMED: f64 = 0.07;
/// Rounds in which each element takes the mean of its neighbours: muscles have no sharp ends. Ours.
const ROUNDS: usize = 3;
/// Painted changes below this are left out, Pa. Ours: a thousandth of the softest material.
const LEAST_CHANGE: f64 = 1.0;
/// Time in which stiffness may fall to 1/e, s: a displacement grows as stiffness falls, and at once it would jump. Ours.
const SOFTENING: f64 = 0.05;

/// The material of every element, and its change by each shape.
#[derive(Clone, Debug)]
pub(super) struct BlendMaterials {
    /// The material of the neutral, element by element.
    relaxed: Vec<Lame>,
    /// For each shape the elements that it changes.
    shapes: Vec<Vec<MaterialChange>>,
}

/// Change of an element's material by a shape, Pa.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MaterialChange {
    tet: u32,
    mu: f32,
    lambda: f32,
}

impl BlendMaterials {
    /// Stiffens tissue where shapes shorten it. `mobility` says how far, from 0 to 1, expressions move the skin at each element.
    pub(super) fn by_contraction(
        rest: &[DVec3],
        tets: &[[u32; 4]],
        volumes: &BlendVolumes,
        mobility: &[f64],
        params: &EnrichedParams,
    ) -> Self {
        let count = volumes.shapes.len();
        let more = params.contracted_mu - params.mu;
        let firmness = (params.firm_mu / params.mu).max(1.0);
        if more == 0.0 && firmness == 1.0 {
            let same = Lame { mu: params.mu, lambda: params.lambda };
            return Self { relaxed: vec![same; tets.len()], shapes: vec![Vec::new(); count] };
        }
        let shortened: Vec<Vec<f64>> = (0..count)
            .into_par_iter()
            .map(|shape| {
                let mut weights = vec![0.0; count];
                weights[shape] = 1.0;
                let mut positions = rest.to_vec();
                volumes.blend(&weights, rest, &mut Vec::new(), &mut positions);
                let shortened: Vec<f64> = tets.iter().map(|tet| shortening(rest, &positions, tet)).collect();
                diffuse(&shortened, tets, rest.len())
            })
            .collect();
        // Stiffness is felt by its ratios: half as mobile is as many times firmer as the scalp is firmer than that.
        let relaxed = |(tet, moved): (usize, &f64)| {
            let most = shortened.iter().map(|shortened| shortened[tet]).fold(0.0, f64::max);
            let mobile = moved.max(smooth_step(most / DEFORMED));
            Lame { mu: params.mu * firmness.powf(1.0 - mobile), lambda: params.lambda }
        };
        let changes = |shortened: &Vec<f64>| -> Vec<MaterialChange> {
            let change = |(tet, shortened): (u32, &f64)| MaterialChange {
                tet,
                mu: ((shortened / SHORTEST).min(1.0) * more) as f32,
                lambda: 0.0,
            };
            let changed = (0..).zip(shortened).filter(|(_, shortened)| **shortened > 0.02 * SHORTEST);
            changed.map(change).filter(|change| change.mu != 0.0).collect()
        };
        Self {
            relaxed: mobility.iter().enumerate().map(relaxed).collect(),
            shapes: shortened.iter().map(changes).collect(),
        }
    }

    /// The materials of the neutral.
    pub(super) fn relaxed(&self) -> &[Lame] {
        &self.relaxed
    }

    /// Changes the materials of the last step to those for some weights; false if they are the same. `wanted` has room for as many.
    pub(super) fn blend(
        &self,
        weights: &[f32],
        seconds: f64,
        wanted: &mut [Lame],
        materials: &mut [Lame],
    ) -> bool {
        let slowest = (-seconds / SOFTENING).exp();
        self.blend_at_once(weights, wanted);
        let mut has_changed = false;
        for (material, wanted) in materials.iter_mut().zip(wanted) {
            let now = Lame {
                mu: wanted.mu.max(slowest * material.mu),
                lambda: wanted.lambda.max(slowest * material.lambda),
            };
            has_changed |= now != *material;
            *material = now;
        }
        has_changed
    }

    /// The materials for some weights, however fast they change.
    pub(super) fn blend_at_once(&self, weights: &[f32], materials: &mut [Lame]) {
        materials.copy_from_slice(&self.relaxed);
        for (weight, changes) in weights.iter().zip(&self.shapes).filter(|(weight, _)| **weight != 0.0) {
            for change in changes {
                let material = &mut materials[change.tet as usize];
                material.mu += f64::from(weight * change.mu);
                material.lambda += f64::from(weight * change.lambda);
            }
        }
        let bounded = |value: f64, relaxed: f64| value.clamp(SOFTEST.min(relaxed), STIFFEST.max(relaxed));
        for (material, relaxed) in materials.iter_mut().zip(&self.relaxed) {
            material.mu = bounded(material.mu, relaxed.mu);
            material.lambda = bounded(material.lambda, relaxed.lambda);
        }
    }

    /// Changes the neutral's materials, element by element.
    pub(super) fn change_neutral(&mut self, painted: &[Diffused]) {
        for (material, Diffused { change, .. }) in self.relaxed.iter_mut().zip(painted) {
            material.mu = (material.mu + change.mu).clamp(SOFTEST, STIFFEST.max(material.mu));
            material.lambda = (material.lambda + change.lambda).clamp(SOFTEST, STIFFEST);
        }
    }

    /// Paints over the changes that a shape has in unpainted materials, element by element.
    pub(super) fn paint_shape(&mut self, shape: usize, unpainted: &Self, painted: &[Diffused]) {
        let mut changes: Vec<Lame> = painted.iter().map(|element| element.change).collect();
        for MaterialChange { tet, mu, lambda } in &unpainted.shapes[shape] {
            let left = 1.0 - painted[*tet as usize].cover;
            changes[*tet as usize].mu += left * f64::from(*mu);
            changes[*tet as usize].lambda += left * f64::from(*lambda);
        }
        let is_felt = |change: &Lame| change.mu.abs() > LEAST_CHANGE || change.lambda.abs() > LEAST_CHANGE;
        let felt = (0..).zip(&changes).filter(|(_, change)| is_felt(change));
        self.shapes[shape] = felt
            .map(|(tet, change)| MaterialChange { tet, mu: change.mu as f32, lambda: change.lambda as f32 })
            .collect();
    }

    /// Gives a shape the changes back that it has in unpainted materials.
    pub(super) fn unpaint_shape(&mut self, shape: usize, unpainted: &Self) {
        if let (Some(own), Some(before)) = (self.shapes.get_mut(shape), unpainted.shapes.get(shape)) {
            own.clone_from(before);
        }
    }
}

/// By how much an element is shortened along its most compressed axis.
fn shortening(rest: &[DVec3], positions: &[DVec3], tet: &[u32; 4]) -> f64 {
    if tet.iter().all(|v| rest[*v as usize] == positions[*v as usize]) {
        return 0.0;
    }
    let edges = |x: &[DVec3]| {
        let [a, b, c, d] = tet.map(|v| x[v as usize]);
        DMat3::from_cols(b - a, c - a, d - a)
    };
    let f = edges(positions) * edges(rest).inverse();
    (1.0 - svd3(&f.to_cols_array_2d()).d[2]).clamp(0.0, 1.0)
}

/// Spreads values of elements to their neighbours, by way of the vertices.
fn diffuse(values: &[f64], tets: &[[u32; 4]], vertices: usize) -> Vec<f64> {
    let mut values = values.to_vec();
    for _ in 0..ROUNDS {
        let mut sums = vec![[0.0; 2]; vertices];
        for (tet, value) in tets.iter().zip(&values) {
            for v in tet {
                sums[*v as usize][0] += value;
                sums[*v as usize][1] += 1.0;
            }
        }
        let mean =
            |tet: &[u32; 4]| tet.iter().map(|v| sums[*v as usize][0] / sums[*v as usize][1]).sum::<f64>();
        values = tets.iter().map(|tet| 0.25 * mean(tet)).collect();
    }
    values
}
