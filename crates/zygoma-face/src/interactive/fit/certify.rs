//! What is promised about a stiffness, checked without the shortcuts of the fit.

use glam::DVec3;
use rayon::prelude::*;
use serde::Serialize;
use zygoma_physics::shell::{NewtonParams, Settled, Shell, Statics, Stiffness, imbalance};

use crate::interactive::face::Tally;

use super::expressions::{neighbours, region};
use super::{Expression, FitParams};

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

/// Settles every expression in `f64`, from its target, until every vertex of the whole shell is in balance.
pub fn certify(
    shell: &Shell,
    stiffness: &Stiffness,
    targets: &[Expression],
    params: &FitParams,
) -> Certificate {
    let neighbours = neighbours(shell);
    let check = |target: &Expression| {
        let settled = settle(shell, &neighbours, stiffness, &target.positions, params);
        let mut found = Certified { name: target.name.clone(), worst: None, vertex: 0 };
        for (vertex, x) in (0u32..).zip(settled.iter().flatten()) {
            let off = Some(x.distance(target.positions[vertex as usize]) / params.shell.tolerance);
            if off > found.worst {
                (found.worst, found.vertex) = (off, vertex);
            }
        }
        found
    };
    Certificate { expressions: targets.par_iter().map(check).collect(), tolerance: params.shell.tolerance }
}

/// How many times the part of the shell that is solved for may grow, each time by twice as many rings.
const GROWTHS: u32 = 8;

/// With this many rings more than the fit has, most expressions are in balance at once. Ours.
const RINGS_MORE: usize = 8;

/// A vertex is in balance when less than this share of ε^r would make up for the force that is left at it. Ours.
const BALANCE: f64 = 1e-3;

/// The whole shell at equilibrium, if one is found. Most of an expression's shell stays where it is: only a part is solved
/// for, but it grows until no vertex outside of it is out of balance either.
fn settle(
    shell: &Shell,
    neighbours: &[Vec<u32>],
    stiffness: &Stiffness,
    target: &[DVec3],
    params: &FitParams,
) -> Option<Vec<DVec3>> {
    let balance = BALANCE * params.shell.tolerance;
    let newton = NewtonParams { tolerance: 0.1 * balance, max_factors: 100 };
    let mut held = vec![false; shell.vertex_count()];
    for vertex in &params.held {
        if let Some(held) = held.get_mut(*vertex as usize) {
            *held = true;
        }
    }
    let wide = FitParams { rings: params.rings + RINGS_MORE, ..params.clone() };
    let mut free = region(shell, neighbours, target, &wide);
    let mut x = target.to_vec();
    for growth in 0..GROWTHS {
        let statics = Statics::new(shell, &params.shell, target, &free);
        let start = statics.vertices().iter().map(|v| x[*v as usize]).collect();
        let settled = Settled::from(&statics, &statics.weights(stiffness), start, &newton).ok()?;
        for (vertex, at) in statics.vertices().iter().zip(&settled.x) {
            x[*vertex as usize] = *at;
        }
        let remaining = imbalance(shell, &params.shell, stiffness, target, &x);
        let outside = |v: &usize| !free[*v] && !held[*v] && remaining[*v] > balance;
        let mut grown: Vec<usize> = (0..x.len()).filter(outside).collect();
        if grown.is_empty() {
            return Some(x);
        }
        for _ in 0..1 << growth {
            let ring: Vec<usize> = grown.iter().flat_map(|v| &neighbours[*v]).map(|v| *v as usize).collect();
            grown.extend(ring);
            grown.sort_unstable();
            grown.dedup();
        }
        grown.into_iter().filter(|v| !held[*v]).for_each(|v| free[v] = true);
    }
    None
}
