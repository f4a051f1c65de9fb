//! Where the time of a frame goes.

use std::time::Duration;

use zygoma_physics::projective::{SolveReport, SolveTimes};

/// Time by stage of the last frame, with what it counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    /// Minimisations, of the control and of steps: energies and gradients, global steps, and the rest.
    pub solve: SolveTimes,
    /// Their iterations.
    pub iterations: usize,
    /// Where the rig has the skin, and the bone what lies below.
    pub place: Duration,
    /// Forces of the actuations, and the actuations.
    pub control: Duration,
    /// Inertia of the head's motion.
    pub inertia: Duration,
    /// Where the lips meet, and what sticks.
    pub contact: Duration,
    /// What constraints between the lips change about the global step.
    pub constrain: Duration,
    /// Parting what is left of one lip in the other.
    pub part: Duration,
    /// The surface at full resolution, with its last projection.
    pub output: Duration,
}

impl Stages {
    pub(super) fn add(&mut self, report: &SolveReport) {
        self.solve += report.times;
        self.iterations += report.iterations();
    }
}
