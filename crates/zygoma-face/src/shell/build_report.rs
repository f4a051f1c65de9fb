//! Statistics of a build.

use std::time::Instant;

use serde::Serialize;

use super::fit::{Certified, CertifiedFit, FitEnd, FitProgress};

/// Statistics of a build, for reports; the face itself stores the results that are needed later.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BuildReport {
    /// The fits, in order: from the coarsest mesh to the shell's own, then with combinations added.
    pub fits: Vec<FitRecord>,
    /// Every fitted shape, certified; empty without a fit.
    pub shapes: Vec<Certified>,
    /// Every combination, certified.
    pub combinations: Vec<Certified>,
    /// How long each phase took, in order.
    pub phases: Vec<PhaseTime>,
}

/// Statistics of one fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitRecord {
    /// Triangles of the mesh that was fitted.
    pub triangles: usize,
    /// Expressions that were fitted, combinations included.
    pub expressions: usize,
    /// Every iteration.
    pub history: Vec<FitProgress>,
    /// Why it ended.
    pub end: FitEnd,
}

/// How long a phase of a build took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseTime {
    /// The phase's name.
    pub phase: &'static str,
    /// Its duration.
    pub seconds: f64,
}

impl BuildReport {
    /// Seconds of all phases together.
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }

    /// Adds a fit with its certificates.
    pub(super) fn add_fit(&mut self, triangles: usize, found: CertifiedFit, began: &mut Instant) {
        let record = |(expressions, history, end)| FitRecord { triangles, expressions, history, end };
        self.fits.extend(found.rounds.into_iter().map(record));
        self.shapes = found.shapes.expressions;
        self.combinations = found.combinations.expressions;
        let certifying = began.elapsed().as_secs_f64() - found.fit_seconds;
        self.phases.push(PhaseTime { phase: "fit", seconds: found.fit_seconds });
        self.phases.push(PhaseTime { phase: "certify", seconds: certifying });
        *began = Instant::now();
    }

    /// Records the end of a phase and starts the clock of the next.
    pub(super) fn end_phase(&mut self, phase: &'static str, began: &mut Instant) {
        self.phases.push(PhaseTime { phase, seconds: began.elapsed().as_secs_f64() });
        *began = Instant::now();
    }
}
