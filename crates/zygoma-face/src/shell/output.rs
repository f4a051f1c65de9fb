//! Certifies the running face: settled by its own steps, corrected and warped to the whole mesh (IFA eq. 14), it is compared with the
//! plain rig.
//!
//! The fit certifies the shell at equilibria where the rest lengths of bending elements are those of the target, so that there is an
//! energy to minimize. A running shell takes them from its current state, as the lagged positions of IFA eq. 8. This check is the final
//! one.

use std::sync::Arc;

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_numerics::{Budget, Stop};
use zygoma_physics::shell::Stepper;
use zygoma_rig::RigMesh;
use zygoma_rig::evaluate::Evaluator;

use super::BuildError;
use super::corrections::rest_at;
use super::fit::Rested;
use super::model::{CertifiedOutput, ShellModel, Tally};
use super::run::{RunParams, ShellBody};

/// Settles expressions and compares them with the rig at every vertex of the mesh: shapes, combinations and those of a search. None if
/// there is no time for all of them.
pub(super) fn certify_output(
    face: &Arc<ShellModel>,
    mesh: &RigMesh,
    expressions: &[Vec<Rested>; 3],
    budget: &Budget,
) -> Result<Option<CertifiedOutput>, BuildError> {
    let mut output = Output {
        running: ShellBody::of_shell(face.clone(), RunParams::default())?,
        evaluator: Evaluator::new(mesh),
        plain: vec![Vec3::ZERO; mesh.positions.len()],
    };
    let mut tallies = [Tally::default(); 3];
    for (tally, expressions) in tallies.iter_mut().zip(expressions) {
        match output.tally(expressions, budget) {
            Ok(found) => *tally = found,
            Err(Stop::Late) => return Ok(None),
            Err(stop) => return Err(stop.into()),
        }
    }
    let [shapes, combinations, searched] = tallies;
    Ok(Some(CertifiedOutput { shapes, combinations, searched }))
}

struct Output {
    running: ShellBody,
    evaluator: Evaluator,
    plain: Vec<Vec3>,
}

impl Output {
    fn tally(&mut self, expressions: &[Rested], budget: &Budget) -> Result<Tally, Stop> {
        let (face, (order, matrices)) = (self.running.face(), self.running.shared());
        let stepper = || Stepper::new(&face.shell, order.clone(), matrices.clone());
        let at_rest = |near: &Rested| running_rest(face, stepper(), near, budget);
        let rested: Vec<Vec<DVec3>> = expressions.par_iter().map(at_rest).collect::<Result<_, Stop>>()?;
        let pairs = expressions.iter().zip(&rested);
        let misses: Vec<f64> = pairs.map(|(near, rested)| self.miss(&near.weights, rested)).collect();
        let holding = misses.iter().filter(|miss| **miss <= 1.0).count();
        Ok(Tally { count: misses.len(), holding, worst: Some(misses.into_iter().fold(0.0, f64::max)) })
    }

    /// The largest distance of a shown vertex from the rig, over ε^r.
    fn miss(&mut self, weights: &[f32], rested: &[DVec3]) -> f64 {
        self.evaluator.evaluate(weights, &mut self.plain);
        let shown = self.running.shown_at_rest(weights, rested);
        let worst = shown.iter().zip(&self.plain).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        let ShellModel { height, fitted, .. } = self.running.face();
        f64::from(worst) / (height * fitted.params.tolerance)
    }
}

/// The state in which the running shell comes to rest near an equilibrium of the fit.
fn running_rest(
    face: &ShellModel,
    stepper: Stepper,
    near: &Rested,
    budget: &Budget,
) -> Result<Vec<DVec3>, Stop> {
    let mut target = face.shell.rest.clone();
    for (shape, weight) in face.shapes.iter().zip(&near.weights).filter(|(_, weight)| **weight != 0.0) {
        for (vertex, offset) in shape.coarse.iter() {
            target[vertex as usize] += f64::from(*weight) * offset.as_dvec3();
        }
    }
    rest_at(stepper, &near.x, &target, budget)
}
