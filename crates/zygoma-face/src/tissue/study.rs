//! Exposes the minimisation problem of a step, so that solvers can be compared.

use zygoma_physics::projective::{Inertia, Row, System};

use super::run::TissueBody;

/// The minimisation problem of the last step, with its final constraints.
pub struct StepProblem<'a> {
    /// Elements, forces, contacts and sticky springs.
    pub system: &'a System<f32>,
    /// Inertia of the step.
    pub inertia: Inertia<'a, f32>,
    /// M / h² of the free vertices.
    pub diagonal: Vec<f64>,
    /// All vertices: free ones at their inertial prediction, kinematic ones at their positions.
    pub start: Vec<Row<f32>>,
}

impl TissueBody {
    /// The problem of the last step.
    pub fn last_step(&self) -> StepProblem<'_> {
        let inertia = self.dynamics.inertia();
        let mut start = self.dynamics.positions.clone();
        start[..inertia.predicted.len()].copy_from_slice(inertia.predicted);
        StepProblem { system: &self.system, inertia, diagonal: self.dynamics.diagonal(), start }
    }
}
