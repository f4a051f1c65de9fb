//! What is promised about a stiffness, checked without the shortcuts of the fit.

use rayon::prelude::*;
use zygoma_physics::shell::{NewtonParams, Settled, Shell, Statics, Stiffness};

use super::{Expression, FitParams};

/// One expression, checked.
#[derive(Clone, Debug, PartialEq)]
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
