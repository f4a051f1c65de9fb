//! Certifies a stiffness without the shortcuts of the fit.

use glam::DVec3;
use rayon::prelude::*;
use serde::Serialize;
use zygoma_numerics::{Budget, NewtonParams};
use zygoma_physics::shell::{
    Equilibrium, EquilibriumProblem, Shell, ShellParams, Stiffness, Weights, imbalance,
};

use crate::shell::model::Tally;

use super::{Expression, FitParams, Rested};

/// The result for one expression.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certified {
    /// Its name in the rig.
    pub name: String,
    /// The largest distance of a vertex from its target over ε^r; none if no equilibrium was found.
    pub worst: Option<f64>,
    /// The worst vertex.
    pub vertex: u32,
}

/// The results for all certified expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// Every expression, in the order given.
    pub expressions: Vec<Certified>,
    /// ε^r.
    pub tolerance: f64,
}

impl Certificate {
    /// Whether every expression settled within ε^r at every vertex.
    pub fn holds(&self) -> bool {
        self.expressions.iter().all(|e| e.worst.is_some_and(|worst| worst <= 1.0))
    }

    /// The worst distance over ε^r of all expressions; infinite if one found no equilibrium.
    pub fn worst(&self) -> f64 {
        self.expressions.iter().map(|e| e.worst.unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
    }

    /// The summary figures.
    pub fn tally(&self) -> Tally {
        let holding = self.expressions.iter().filter(|e| e.worst.is_some_and(|worst| worst <= 1.0)).count();
        let worst = Some(self.worst()).filter(|worst| worst.is_finite());
        Tally { count: self.expressions.len(), holding, worst }
    }

    /// The expressions that fail, worst first.
    pub fn failures(&self) -> Vec<&Certified> {
        let miss = |e: &Certified| e.worst.unwrap_or(f64::INFINITY);
        let mut failures: Vec<&Certified> = self.expressions.iter().filter(|e| miss(e) > 1.0).collect();
        failures.sort_by(|a, b| miss(b).total_cmp(&miss(a)));
        failures
    }
}

/// Settles every expression in `f64`, from its target, until every vertex of the whole shell is in equilibrium.
pub fn certify(
    shell: &Shell,
    stiffness: &Stiffness,
    targets: &[Expression],
    params: &FitParams,
) -> Certificate {
    let certifier = Certifier::new(shell, params);
    let checks: Vec<Check> = targets.iter().map(Check::from_target).collect();
    certifier.certificate(certifier.settle(stiffness, &checks).iter().map(|found| found.certified.clone()))
}

/// A vertex is in equilibrium when its residual force corresponds to a displacement below this fraction of ε^r. Ours.
const BALANCE: f64 = 1e-3;

/// The solver converges a little further than required, since the equilibrium is checked by other code.
const MARGIN: f64 = 0.9;

/// An expression to be settled.
pub(super) struct Check<'a> {
    pub(super) target: &'a Expression,
    /// Initial guess of its equilibrium.
    pub(super) start: Vec<DVec3>,
}

impl<'a> Check<'a> {
    pub(super) fn from_target(target: &'a Expression) -> Self {
        Self { target, start: target.positions.clone() }
    }
}

/// A settled expression.
pub(super) struct Found {
    pub(super) certified: Certified,
    /// The whole shell at equilibrium; its target if none was found.
    pub(super) x: Vec<DVec3>,
}

impl Found {
    pub(super) fn rested(self, weights: Vec<f32>) -> Rested {
        Rested { weights, x: self.x }
    }
}

/// Settles expressions on the whole shell.
pub(super) struct Certifier<'a> {
    shell: &'a Shell,
    params: ShellParams,
    statics: EquilibriumProblem,
    /// Expressions that are not settled when the budget is over count as failed.
    budget: Budget,
}

impl<'a> Certifier<'a> {
    pub(super) fn new(shell: &'a Shell, params: &FitParams) -> Self {
        let mut free = vec![true; shell.vertex_count()];
        for vertex in &params.held {
            if let Some(free) = free.get_mut(*vertex as usize) {
                *free = false;
            }
        }
        // All targets have the same matrix except for its values: it is analysed once.
        let statics = EquilibriumProblem::new(shell, &params.shell, &shell.rest, &free);
        Self { shell, params: params.shell.clone(), statics, budget: params.budget.clone() }
    }

    /// Settles every expression, each on its own: the result does not depend on the thread that does it.
    pub(super) fn settle(&self, stiffness: &Stiffness, checks: &[Check]) -> Vec<Found> {
        let weights = self.statics.weights(stiffness);
        let with_memory = |memory: &mut Option<Equilibrium>, check: &Check| {
            let x = self.equilibrium(stiffness, &weights, check, memory);
            self.judge(check.target, x)
        };
        checks.par_iter().map_init(|| None, with_memory).collect()
    }

    /// A certificate of what was found.
    pub(super) fn certificate(&self, found: impl Iterator<Item = Certified>) -> Certificate {
        Certificate { expressions: found.collect(), tolerance: self.params.tolerance }
    }

    /// The whole shell at equilibrium, if one is found.
    fn equilibrium(
        &self,
        stiffness: &Stiffness,
        weights: &Weights,
        check: &Check,
        memory: &mut Option<Equilibrium>,
    ) -> Option<Vec<DVec3>> {
        let target = &check.target.positions;
        if self.budget.is_over() || target.iter().chain(&check.start).any(|p| !p.is_finite()) {
            return None;
        }
        let balance = BALANCE * self.params.tolerance;
        let budget = self.budget.clone();
        let newton = NewtonParams { tolerance: MARGIN * balance, max_factors: 100, budget };
        let statics = self.statics.retargeted(self.shell, target);
        // If the initial guess fails, the solver starts from the target.
        [&check.start, target].into_iter().find_map(|start| {
            let start: Vec<DVec3> = statics.vertices().iter().map(|v| start[*v as usize]).collect();
            let settled = match &mut *memory {
                Some(settled) => settled,
                none => none.insert(Equilibrium::unsolved(&statics, weights, start.clone()).ok()?),
            };
            settled.restart(&statics, weights, start, &newton).ok()?;
            let mut x = target.clone();
            for (vertex, at) in statics.vertices().iter().zip(&settled.x) {
                x[*vertex as usize] = *at;
            }
            let remaining = imbalance(self.shell, &self.params, stiffness, target, &x);
            let free = &statics.vertices()[..statics.free_count()];
            free.iter().all(|v| remaining[*v as usize] <= balance).then_some(x)
        })
    }

    fn judge(&self, target: &Expression, settled: Option<Vec<DVec3>>) -> Found {
        let mut certified = Certified { name: target.name.clone(), worst: None, vertex: 0 };
        for (vertex, x) in (0u32..).zip(settled.iter().flatten()) {
            let off = Some(x.distance(target.positions[vertex as usize]) / self.params.tolerance);
            if off > certified.worst {
                (certified.worst, certified.vertex) = (off, vertex);
            }
        }
        Found { certified, x: settled.unwrap_or_else(|| target.positions.clone()) }
    }
}
