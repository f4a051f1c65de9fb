//! What is promised about a stiffness, checked without the shortcuts of the fit.

use glam::DVec3;
use rayon::prelude::*;
use serde::Serialize;
use zygoma_numerics::random::Keyed;
use zygoma_physics::shell::{NewtonParams, Settled, Shell, Statics, Stiffness};

use crate::interactive::face::Tally;

use super::{Continue, Expression, FitError, FitParams, FitProgress, FitResult, reconstruct, refine};

/// One expression, checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certified {
    /// What the rig calls it.
    pub name: String,
    /// The worst distance of a vertex from its target over ε^r; none if no equilibrium was found.
    pub worst: Option<f64>,
    /// Where it is worst.
    pub vertex: u32,
}

/// What was checked and how it came out.
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

    /// The figures alone.
    pub fn tally(&self) -> Tally {
        let holding = self.expressions.iter().filter(|e| e.worst.is_some_and(|worst| worst <= 1.0)).count();
        let worst = Some(self.worst()).filter(|worst| worst.is_finite());
        Tally { count: self.expressions.len(), holding, worst }
    }

    /// The expressions that fail, the worst first.
    pub fn failures(&self) -> Vec<&Certified> {
        let miss = |e: &Certified| e.worst.unwrap_or(f64::INFINITY);
        let mut failures: Vec<&Certified> = self.expressions.iter().filter(|e| miss(e) > 1.0).collect();
        failures.sort_by(|a, b| miss(b).total_cmp(&miss(a)));
        failures
    }
}

/// Settles every expression on the whole shell in `f64`, from its target, with fresh factors only.
pub fn certify(
    shell: &Shell,
    stiffness: &Stiffness,
    targets: &[Expression],
    params: &FitParams,
) -> Certificate {
    let mut free = vec![true; shell.vertex_count()];
    for vertex in &params.held {
        if let Some(free) = free.get_mut(*vertex as usize) {
            *free = false;
        }
    }
    let newton = NewtonParams { tolerance: 1e-3 * params.settle_tolerance, max_factors: 100 };
    let check = |target: &Expression| {
        let statics = Statics::new(shell, &params.shell, &target.positions, &free);
        let settled = Settled::new(&statics, &statics.weights(stiffness), &newton).ok();
        let mut found = Certified { name: target.name.clone(), worst: None, vertex: 0 };
        for (index, vertex) in statics.vertices().iter().enumerate() {
            let off = settled
                .as_ref()
                .map(|s| s.x[index].distance(statics.target()[index]) / params.shell.tolerance);
            if off > found.worst {
                (found.worst, found.vertex) = (off, *vertex);
            }
        }
        found
    };
    Certificate { expressions: targets.par_iter().map(check).collect(), tolerance: params.shell.tolerance }
}

/// How many times failing checks are added to a fit.
const ROUNDS: usize = 4;

/// A fit under which `checks` hold as well: those that fail are added to it, until none does or it has been tried a
/// few times. The certificate is of the targets and then the checks; it says what could not be had.
pub fn reconstruct_certified(
    shell: &Shell,
    targets: &[Expression],
    checks: &[Expression],
    params: &FitParams,
    progress: &mut dyn FnMut(FitProgress) -> Continue,
) -> Result<(FitResult, Certificate), FitError> {
    let all: Vec<Expression> = targets.iter().chain(checks).cloned().collect();
    let mut fitted = targets.to_vec();
    let mut fit = reconstruct(shell, targets, params, progress)?;
    let mut certificate = certify(shell, &fit.stiffness, &all, params);
    for _ in 0..ROUNDS {
        if certificate.holds() {
            break;
        }
        let known = |name: &str| fitted.iter().any(|e| e.name == name);
        let failing =
            |(e, found): &(&Expression, &Certified)| found.worst.is_none_or(|w| w > 1.0) && !known(&e.name);
        let added: Vec<Expression> =
            all.iter().zip(&certificate.expressions).filter(failing).map(|(e, _)| e.clone()).collect();
        if added.is_empty() {
            break;
        }
        fitted.extend(added);
        fit = refine(shell, &fitted, params, &fit.stiffness, progress)?;
        certificate = certify(shell, &fit.stiffness, &all, params);
    }
    fit.worst.truncate(targets.len());
    fit.solutions.truncate(targets.len());
    Ok((fit, certificate))
}

/// Seeded pairs and triples of expressions with weights from ½ to 1, named after their parts, to be certified or
/// added to a fit. Displacements from the rest shape add up, as they do in a rig.
pub fn combinations(shell: &Shell, targets: &[Expression], count: usize, seed: u64) -> Vec<Expression> {
    if targets.len() < 2 {
        return Vec::new();
    }
    (0..count).map(|index| combination(shell, targets, index, seed)).collect()
}

/// What the random numbers of combinations are for.
const COMBINATIONS: u64 = 0x1fa;

fn combination(shell: &Shell, targets: &[Expression], index: usize, seed: u64) -> Expression {
    let random = Keyed::new(seed, COMBINATIONS.wrapping_add(index as u64));
    let size = (2 + index % 2).min(targets.len());
    let mut parts: Vec<(usize, f64)> = Vec::new();
    for tick in 0.. {
        if parts.len() == size {
            break;
        }
        let part = (random.uniform(2 * tick) * targets.len() as f64) as usize;
        if parts.iter().all(|(other, _)| *other != part) {
            parts.push((part, 0.5 + 0.5 * random.uniform(2 * tick + 1)));
        }
    }
    parts.sort_by_key(|(part, _)| *part);
    let names: Vec<String> =
        parts.iter().map(|(part, weight)| format!("{weight:.2} {}", targets[*part].name)).collect();
    let moved = |vertex: usize| -> DVec3 {
        let rest = shell.rest[vertex];
        rest + parts
            .iter()
            .map(|(part, weight)| *weight * (targets[*part].positions[vertex] - rest))
            .sum::<DVec3>()
    };
    Expression { name: names.join(" + "), positions: (0..shell.vertex_count()).map(moved).collect() }
}
