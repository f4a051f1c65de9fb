//! Corrections: the residuals of the settled and warped shell from the artist's shapes, to be added back (IFA eq. 13).

use std::sync::Arc;

use glam::{DVec3, Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;
use zygoma_numerics::{Budget, NewtonParams, Stop};
use zygoma_physics::shell::{
    Equilibrium, EquilibriumProblem, FrameMotion, Shell, ShellParams, StepMatrices, StepOrder, Stepper,
    Stiffness,
};
use zygoma_rig::SparseDeltas;

use super::BuildError;
use super::model::{Correction, PairCorrection};

/// Corrections below this fraction of the height are omitted (IFA eq. 13).
pub(super) const CLIP: f64 = 1e-4;

/// A shape is corrected at half weight too where the full correction, scaled linearly, misses by more than this fraction of the height.
/// Ours.
const CURVED: f64 = 3e-4;

/// Maximum number of steps in which a shell near its equilibrium may come to rest: 2 s. Ours.
const SETTLING_STEPS: usize = 1000;

/// It is at rest when no vertex moves farther than this fraction of the height in `STILL_STEPS` steps. Ours.
const STILL: f32 = 1e-7;
const STILL_STEPS: usize = 20;

/// A complete face except for its corrections.
pub(super) struct Uncorrected<'a> {
    pub(super) shell: &'a Shell,
    pub(super) held: &'a [bool],
    pub(super) stiffness: &'a Stiffness,
    pub(super) params: &'a ShellParams,
    /// Displacements of the shell's targets, per shape.
    pub(super) moves: &'a [Vec<DVec3>],
    /// The shape on top of which a shape is used, if it is not used alone.
    pub(super) bases: &'a [Option<usize>],
    pub(super) budget: &'a Budget,
}

/// The corrections of a face.
pub(super) struct Corrections {
    /// Residual of the shell at rest from the neutral.
    pub(super) neutral_residual: Vec<DVec3>,
    pub(super) corrections: Vec<Correction>,
    pub(super) pairs: Vec<PairCorrection>,
}

impl Uncorrected<'_> {
    /// Settles every shape and computes its residual.
    pub(super) fn correct(&self) -> Result<Corrections, BuildError> {
        let free: Vec<bool> = self.held.iter().map(|held| !held).collect();
        let order = Arc::new(StepOrder::new(self.shell, &free));
        let matrices = Arc::new(StepMatrices::new(self.shell, self.stiffness, self.params, &order)?);
        // All targets have the same matrix except for its values: it is analysed once.
        let statics = EquilibriumProblem::new(self.shell, self.params, &self.shell.rest, &free);
        let miss = |moved: &dyn Fn(usize) -> DVec3| self.miss(moved, &statics, &order, &matrices);
        let moves = self.moves;
        let neutral_residual = miss(&|_| DVec3::ZERO)?;
        let of_shape = |shape: usize, weight: f64| {
            miss(&|v| weight * moves[shape][v]).map(|missed| difference(&missed, &neutral_residual))
        };
        let found: Result<Vec<_>, Stop> = (0..moves.len())
            .into_par_iter()
            .map(|shape| {
                let whole = of_shape(shape, 1.0)?;
                let half = of_shape(shape, 0.5)?;
                let curved = half.iter().zip(&whole).map(|(half, whole)| *half - 0.5 * *whole).collect();
                Ok((whole, kept_if_larger(curved, CURVED)))
            })
            .collect();
        let (whole, half): (Vec<_>, Vec<_>) = found?.into_iter().unzip();
        let pairs = (0..moves.len()).filter_map(|shape| Some((self.bases[shape]?, shape))).map(|(a, b)| {
            let both = difference(&miss(&|v| moves[a][v] + moves[b][v])?, &neutral_residual);
            let beyond = difference(&difference(&both, &whole[a]), &whole[b]);
            Ok(PairCorrection { shapes: [a as u32, b as u32], residual: sparse(&beyond, 0.1 * CLIP) })
        });
        let pairs = pairs.collect::<Result<_, Stop>>()?;
        let corrections = (0..moves.len())
            .into_par_iter()
            .map(|shape| Correction {
                residual: sparse(&whole[shape], 0.1 * CLIP),
                half: sparse(&half[shape], CLIP),
            })
            .collect();
        Ok(Corrections { neutral_residual, corrections, pairs })
    }

    /// Empty corrections.
    pub(super) fn without(&self) -> Corrections {
        Corrections {
            neutral_residual: vec![DVec3::ZERO; self.shell.vertex_count()],
            corrections: vec![Correction::default(); self.moves.len()],
            pairs: Vec::new(),
        }
    }

    /// The residual of the settled shell from a target.
    fn miss(
        &self,
        moved: &dyn Fn(usize) -> DVec3,
        statics: &EquilibriumProblem,
        order: &Arc<StepOrder>,
        matrices: &Arc<StepMatrices>,
    ) -> Result<Vec<DVec3>, Stop> {
        self.budget.check()?;
        let shell = self.shell;
        let target: Vec<DVec3> = (0..shell.vertex_count()).map(|v| shell.rest[v] + moved(v)).collect();
        let mut settled = target.clone();
        let statics = statics.retargeted(shell, &target);
        let weights = statics.weights(self.stiffness);
        let newton = NewtonParams { budget: self.budget.clone(), ..NewtonParams::default() };
        if let Ok(found) = Equilibrium::new(&statics, &weights, &newton) {
            for (vertex, x) in statics.vertices().iter().zip(&found.x) {
                settled[*vertex as usize] = *x;
            }
        }
        let stepper = Stepper::new(shell, order.clone(), matrices.clone());
        let rested = rest_at(stepper, &settled, &target, self.budget)?;
        Ok(difference(&target, &rested))
    }
}

/// The state in which the shell comes to rest when it starts near its equilibrium: by the same steps as a running face, so that the
/// corrections match its true residual.
pub(super) fn rest_at(
    mut stepper: Stepper,
    start: &[DVec3],
    target: &[DVec3],
    budget: &Budget,
) -> Result<Vec<DVec3>, Stop> {
    let order = stepper.order().clone();
    let in_order = |positions: &[DVec3]| -> Vec<Vec4> {
        order.vertices.iter().map(|v| positions[*v as usize].as_vec3().extend(0.0)).collect()
    };
    let (start, target) = (in_order(start), in_order(target));
    stepper.place(&start, &vec![Vec4::ZERO; start.len()]);
    let mut before = start;
    for _ in 0..SETTLING_STEPS / STILL_STEPS {
        budget.check()?;
        for _ in 0..STILL_STEPS {
            stepper.assemble(&target, &FrameMotion::default());
            stepper.solve(&target);
            stepper.finish();
        }
        let mut pairs = stepper.positions().iter().zip(&before);
        if pairs.all(|(now, before)| now.distance(*before) < STILL) {
            break;
        }
        before.copy_from_slice(stepper.positions());
    }
    let mut rested = vec![DVec3::ZERO; before.len()];
    for (vertex, position) in order.vertices.iter().zip(stepper.positions()) {
        rested[*vertex as usize] = position.xyz().as_dvec3();
    }
    Ok(rested)
}

/// The displacements, or none at all if none is larger than a limit.
fn kept_if_larger(displacements: Vec<DVec3>, limit: f64) -> Vec<DVec3> {
    if displacements.iter().any(|d| d.length() > limit) { displacements } else { Vec::new() }
}

fn sparse(dense: &[DVec3], clip: f64) -> SparseDeltas {
    let kept = dense.iter().map(|d| if d.length() < clip { Vec3::ZERO } else { d.as_vec3() });
    SparseDeltas::from_dense(&kept.collect::<Vec<_>>())
}

fn difference(a: &[DVec3], b: &[DVec3]) -> Vec<DVec3> {
    a.iter().zip(b).map(|(a, b)| *a - *b).collect()
}
