//! Flesh under a skin that is held where the rig has it.

use glam::DVec3;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::projective::{Prefactored, Row, SolveOptions, Solver, System, position, row};
use zygoma_rig::arkit;

use super::elements::Expressed;
use super::params::Actuation;
use super::tissue::{Layout, Tissue};
use crate::model::FaceModel;

/// Finds the balance of the flesh below the skin of expressions.
pub(super) struct Holder<'a> {
    tissue: &'a Tissue,
    /// The skin is not free here.
    pinned: Layout,
    system: System<f32>,
    expressed: Expressed<f32>,
    global: Prefactored<f32>,
}

impl<'a> Holder<'a> {
    pub(super) fn new(tissue: &'a Tissue) -> Result<Self, NotPositiveDefinite> {
        let count = tissue.skin_count();
        let is_free: Vec<bool> = (0..2 * count)
            .map(|v| (v >= count || tissue.is_loose[v]) && !tissue.is_held[v % count])
            .collect();
        let pinned = Layout::new(&tissue.flesh.mesh.positions[..count], &is_free);
        let (system, expressed) = tissue.system::<f32>(&pinned);
        let global = Prefactored::<f32>::new(&system.matrix(&[]), &[])?;
        Ok(Self { tissue, pinned, system, expressed, global })
    }

    /// All vertices, the skin where the rig has it for some weights, the rest in balance.
    pub(super) fn hold(&mut self, weights: &[f32]) -> Vec<DVec3> {
        let (tissue, pinned) = (self.tissue, &self.pinned);
        let moved = tissue.moved(weights);
        match tissue.params.actuation {
            Actuation::Shapes => tissue.stand(weights, &moved, &mut self.system, &self.expressed),
            Actuation::Forces => tissue.express(weights, &moved, &mut self.system, &mut self.expressed),
        }
        let mut x: Vec<Row<f32>> =
            pinned.vertices.iter().map(|v| row(tissue.target(&moved, *v as usize))).collect();
        let options = SolveOptions { iterations: 40, tolerance: 1e-3, ..Default::default() };
        Solver::new(&self.system).minimise(&self.system, None, &mut self.global, &options, &mut x);
        pinned.rows.iter().map(|place| position(&x[*place as usize])).collect()
    }
}

/// Weights that are 1 for some shapes and 0 for all others.
pub(super) fn only(count: usize, shapes_at_one: &[usize]) -> Vec<f32> {
    (0..count).map(|shape| if shapes_at_one.contains(&shape) { 1.0 } else { 0.0 }).collect()
}

/// The shape on top of which another is made: `mouthClose` is made on top of an open jaw.
pub(super) fn base_shape(face: &FaceModel, shape: usize) -> Option<usize> {
    let is = |index: usize, wanted: &str| {
        arkit::recognise(&face.shapes[index].name).is_some_and(|recognised| recognised.shape == wanted)
    };
    is(shape, "mouthClose").then(|| (0..face.shapes.len()).find(|index| is(*index, "jawOpen"))).flatten()
}
