//! How the making of flesh is told, and given up.

use zygoma_numerics::{BadParam, NotPositiveDefinite};

use crate::interactive::fit::Continue;

/// Where the making of flesh stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TissueProgress {
    /// How often all forces were found before: where a shape crushes flesh it is made thinner, and they are found anew.
    pub round: usize,
    /// Shapes whose force was found in this round.
    pub shape: usize,
    /// All shapes.
    pub shapes: usize,
}

impl TissueProgress {
    /// A guess of the share of the work that is done, from 0 to 1. A round that may be the last fills half of what is left.
    pub fn done(&self) -> f64 {
        let share = self.shape as f64 / self.shapes.max(1) as f64;
        1.0 - 0.5_f64.powf(self.round as f64) * (1.0 - 0.5 * share)
    }
}

/// Why there is no flesh.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TissueError {
    /// A parameter is out of its range.
    #[error(transparent)]
    Param(#[from] BadParam),
    /// A matrix of the flesh has no factor.
    #[error("the flesh cannot be simulated with these parameters: {0}")]
    Matrix(#[from] NotPositiveDefinite),
    /// Nowhere is the skin wide enough for an element below it.
    #[error("there is no room for flesh under the skin; give it less thickness or more triangles")]
    NoRoom,
    /// The caller wished so.
    #[error("the making of flesh was given up")]
    Abandoned,
}

/// Tells the caller how far it is.
pub(super) struct Teller<'a> {
    progress: &'a mut dyn FnMut(TissueProgress) -> Continue,
    round: usize,
}

impl<'a> Teller<'a> {
    pub(super) fn new(progress: &'a mut dyn FnMut(TissueProgress) -> Continue) -> Self {
        Self { progress, round: 0 }
    }

    /// Some shapes of this round are done. Flesh with only some of its forces is of no use: to stop is to give it up.
    pub(super) fn tell(&mut self, shape: usize, shapes: usize) -> Result<(), TissueError> {
        match (self.progress)(TissueProgress { round: self.round, shape, shapes }) {
            Continue::Yes => Ok(()),
            Continue::No | Continue::Abandon => Err(TissueError::Abandoned),
        }
    }

    /// All shapes of this round are done.
    pub(super) fn end_round(&mut self) {
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_grows_from_shape_to_shape_and_from_round_to_round() {
        let done = |round, shape| TissueProgress { round, shape, shapes: 4 }.done();
        let all: Vec<f64> = (0..3)
            .flat_map(|round| (0..=4).map(move |shape| (round, shape)))
            .map(|(r, s)| done(r, s))
            .collect();
        assert_eq!(all[0], 0.0);
        assert!(all.is_sorted() && all.iter().all(|share| *share < 1.0), "{all:?}");
        assert_eq!(TissueProgress { round: 0, shape: 0, shapes: 0 }.done(), 0.0, "a face without shapes");
    }
}
