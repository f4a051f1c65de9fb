//! Timings of a frame.

use std::time::Duration;

use zygoma_physics::projective::{SolveReport, SolveTimes};

use crate::volume::contact::ContactTimes;

/// Time of the last frame by stage, with counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    /// Minimisations, of the control and of steps: energies and gradients, global steps, and the rest.
    pub solve: SolveTimes,
    /// Number of their iterations.
    pub iterations: usize,
    /// Targets of the skin from the rig, and of attachments from the bones.
    pub place: Duration,
    /// Forces of the actuations, and the search for actuations.
    pub control: Duration,
    /// Inertia of the head's motion.
    pub inertia: Duration,
    /// Detection of contacts, and sticky springs.
    pub contact: Duration,
    /// Update of the global step for contact constraints.
    pub constrain: Duration,
    /// Resolution of remaining penetrations.
    pub part: Duration,
    /// The surface at full resolution, with its last projection.
    pub output: Duration,
}

impl Stages {
    pub(super) fn add_contact(&mut self, times: ContactTimes) {
        self.contact += times.detect;
        self.constrain += times.constrain;
        self.part += times.part;
    }

    pub(super) fn add(&mut self, report: &SolveReport) {
        self.solve += report.times;
        self.iterations += report.iterations();
    }
}
