//! Build progress and cancellation.

use zygoma_numerics::{BadParam, NotPositiveDefinite};

use crate::model::Continue;
use crate::volume::VolumeError;

/// Progress of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TissueProgress {
    /// Number of completed rounds over all shapes: where forces drive tissue and a shape crushes it, it is thinned, and the forces are
    /// found anew.
    pub round: usize,
    /// Whether another round may follow.
    pub may_go_on: bool,
    /// Number of shapes solved in this round.
    pub shape: usize,
    /// Number of all shapes.
    pub shapes: usize,
}

impl TissueProgress {
    /// Estimated fraction of the work that is done, from 0 to 1. A round that another may follow takes half of the remaining range.
    pub fn done(&self) -> f64 {
        let fraction = self.shape as f64 / self.shapes.max(1) as f64;
        let of_round = if self.may_go_on { 0.5 * fraction } else { fraction };
        1.0 - 0.5_f64.powf(self.round as f64) * (1.0 - of_round)
    }
}

/// Why tissue cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TissueError {
    /// A parameter is out of its range.
    #[error(transparent)]
    Param(#[from] BadParam),
    /// A matrix of the tissue is not positive definite.
    #[error("the tissue cannot be simulated with these parameters: {0}")]
    Matrix(#[from] NotPositiveDefinite),
    /// There is no volume to simulate.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The caller cancelled the build.
    #[error("the build of the tissue was cancelled")]
    Abandoned,
}

/// Reports progress to the caller.
pub(super) struct ProgressReporter<'a> {
    progress: &'a mut dyn FnMut(TissueProgress) -> Continue,
    round: usize,
    may_go_on: bool,
}

impl<'a> ProgressReporter<'a> {
    pub(super) fn new(progress: &'a mut dyn FnMut(TissueProgress) -> Continue, may_go_on: bool) -> Self {
        Self { progress, round: 0, may_go_on }
    }

    /// Reports the shapes solved in this round. Tissue with only some of its forces is of no use: stopping cancels the build.
    pub(super) fn report(&mut self, shape: usize, shapes: usize) -> Result<(), TissueError> {
        let Self { round, may_go_on, .. } = *self;
        match (self.progress)(TissueProgress { round, may_go_on, shape, shapes }) {
            Continue::Yes => Ok(()),
            Continue::No | Continue::Abandon => Err(TissueError::Abandoned),
        }
    }

    /// Ends a round in which all shapes were solved.
    pub(super) fn end_round(&mut self) {
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_grows_from_shape_to_shape_and_from_round_to_round() {
        let done = |round, shape| TissueProgress { round, may_go_on: true, shape, shapes: 4 }.done();
        let all: Vec<f64> = (0..3)
            .flat_map(|round| (0..=4).map(move |shape| (round, shape)))
            .map(|(r, s)| done(r, s))
            .collect();
        assert_eq!(all[0], 0.0);
        assert!(all.is_sorted() && all.iter().all(|fraction| *fraction < 1.0), "{all:?}");
        let only = |shape| TissueProgress { round: 0, may_go_on: false, shape, shapes: 4 }.done();
        assert_eq!(
            [0, 2, 4].map(only),
            [0.0, 0.5, 1.0],
            "where there is one round, all of it is done at its end"
        );
        let none = TissueProgress { round: 0, may_go_on: false, shape: 0, shapes: 0 };
        assert_eq!(none.done(), 0.0, "a face without shapes");
    }
}
