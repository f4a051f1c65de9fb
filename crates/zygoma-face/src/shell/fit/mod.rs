//! Reconstructs the stiffness of the skin from the expressions of a rig (IFA §4).
//!
//! The stiffer the skin, the more it resists its own expressions. [`reconstruct`] makes it as stiff as possible while every expression,
//! driven by bounded actuation, still settles within ε^r of its target; [`certify`] checks the result without any of the shortcuts.

mod certify;
mod combinations;
mod expressions;
mod loss;
mod model;
mod optimise;
mod params;
mod start;
mod worst;

use glam::DVec3;
use serde::Serialize;
use zygoma_numerics::Stop;
use zygoma_physics::shell::{Shell, Stiffness};

pub use certify::{Certificate, Certified, certify};
pub use combinations::{
    CertifiedFit, Combination, Combinations, Rested, Stage, Together, reconstruct_certified,
    seeded_combinations,
};
pub use optimise::{Nearby, reconstruct, refine};
pub use params::FitParams;

use crate::model::Continue;

/// A shape that the skin must be able to reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Its name in the rig.
    pub name: String,
    /// Target positions of the shell's vertices.
    pub positions: Vec<DVec3>,
    /// The weights of the rig's shapes that produce it.
    pub weights: Vec<f32>,
}

/// Progress of a fit after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FitProgress {
    /// Iterations so far.
    pub iteration: usize,
    /// ℒ of IFA eq. 16.
    pub loss: f64,
    /// The largest distance of a vertex from its target in any expression, over ε^r.
    pub worst: f64,
    /// The largest step of a logarithm of the stiffness in this iteration.
    pub step: f64,
    /// Seconds since the start.
    pub seconds: f64,
    /// An estimate of the completed fraction of the work, from 0 to 1.
    pub done: f64,
}

/// Why a fit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FitEnd {
    /// The stiffness no longer changes.
    Converged,
    /// The iteration limit was reached.
    Iterations,
    /// The time limit was reached.
    Time,
    /// The caller stopped it.
    Caller,
    /// No direction improved the loss.
    Stalled,
}

/// A reconstructed stiffness.
#[derive(Clone, Debug)]
pub struct FitResult {
    /// The stiffness; every expression is within ε^r under it.
    pub stiffness: Stiffness,
    /// Every iteration.
    pub history: Vec<FitProgress>,
    /// The largest distance from the target over ε^r, per expression.
    pub worst: Vec<f64>,
    /// The shell at equilibrium, per expression.
    pub solutions: Vec<Vec<DVec3>>,
    /// Total number of springs and bending elements of all expressions.
    pub elements: usize,
    /// Why it ended.
    pub end: FitEnd,
}

/// Why a stiffness could not be reconstructed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The caller cancelled it.
    #[error("it was cancelled")]
    Abandoned,
    /// An expression of another mesh.
    #[error("expression {name} has {found} vertices, but the shell has {wanted}")]
    VertexCount {
        /// The expression.
        name: String,
        /// Its vertices.
        found: usize,
        /// The shell's.
        wanted: usize,
    },
    /// An expression with a position that is not a finite number.
    #[error("expression {0} has a position that is not a finite number")]
    NotFinite(String),
    /// The time was over before a result was found.
    #[error("there was no time for a fit; allow it more seconds")]
    NoTime,
    /// Not even the softest skin can follow an expression.
    #[error("expression {0} tears the surface so far that no stiffness lets the skin follow; leave it out")]
    Infeasible(String),
}

impl From<Stop> for FitError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => Self::Abandoned,
            Stop::Late => Self::NoTime,
        }
    }
}

fn check(shell: &Shell, targets: &[Expression]) -> Result<(), FitError> {
    for target in targets {
        let (found, wanted) = (target.positions.len(), shell.vertex_count());
        if found != wanted {
            return Err(FitError::VertexCount { name: target.name.clone(), found, wanted });
        }
        if target.positions.iter().any(|p| !p.is_finite()) {
            return Err(FitError::NotFinite(target.name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
