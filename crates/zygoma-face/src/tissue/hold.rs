//! Tissue under a skin that is fixed to the rig.

use glam::DVec3;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::projective::{Prefactored, Row, SolveOptions, Solver, System, position, row};

use super::build::{Tissue, layout};
use super::elements::Expressed;
use super::params::Actuation;
use crate::volume::{Layout, Tie};

/// Finds equilibria of the tissue below the skin of expressions.
pub(super) struct Holder<'a> {
    tissue: &'a Tissue,
    /// A layout in which the skin is not free.
    pinned: Layout,
    system: System<f32>,
    expressed: Expressed<f32>,
    global: Prefactored<f32>,
}

impl<'a> Holder<'a> {
    pub(super) fn new(tissue: &'a Tissue) -> Result<Self, NotPositiveDefinite> {
        let is_pinned = |v: usize| tissue.tissue_mesh.ties[v] == Tie::Skin && !tissue.surface.is_loose[v];
        let pinned =
            layout(&tissue.tissue_mesh, &tissue.surface, |v| !is_pinned(v) && !tissue.is_kinematic(v));
        let (system, expressed) = tissue.system::<f32>(&pinned);
        let global = Prefactored::<f32>::new(&system.matrix(&[]), &[])?;
        Ok(Self { tissue, pinned, system, expressed, global })
    }

    /// All vertices for the given weights: the skin in the rig, the rest in equilibrium.
    pub(super) fn hold(&mut self, weights: &[f32]) -> Vec<DVec3> {
        let (tissue, pinned) = (self.tissue, &self.pinned);
        let moved = tissue.moved(weights);
        match tissue.params.actuation {
            Actuation::Shapes => tissue.stand(weights, &moved, &mut self.system, &self.expressed),
            Actuation::Forces => tissue.express(weights, &moved, &mut self.system, &mut self.expressed),
        }
        let pose = tissue.jaw_pose(weights);
        let place = |v: &u32| row(tissue.kinematic_place(&moved, &pose, *v as usize));
        let mut x: Vec<Row<f32>> = pinned.vertices.iter().map(place).collect();
        let options = SolveOptions { iterations: 40, tolerance: 1e-3, ..Default::default() };
        Solver::new(&self.system).minimise(&self.system, None, &mut self.global, &options, &mut x);
        pinned.rows.iter().map(|place| position(&x[*place as usize])).collect()
    }
}

/// Weights of 1 for the given shapes and 0 for all others.
pub(super) fn only(count: usize, shapes_at_one: &[usize]) -> Vec<f32> {
    (0..count).map(|shape| if shapes_at_one.contains(&shape) { 1.0 } else { 0.0 }).collect()
}
