//! Summary of the gate's interventions, for people and programs.

use std::fmt;

use serde::Serialize;
use zygoma_face::run::watch::{Failure, GateReport};

/// How much of a simulation was replaced by the rig, and whether it failed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WatchedSummary {
    /// Share of all vertices in all frames that were returned to the rig, fully or partly, %.
    returned_percent: f64,
    /// Frames with returned vertices, jumps that were smoothed, and times that the body was reset to the rig.
    returned_frames: usize,
    smoothed_pops: usize,
    put_back: usize,
    /// The first failure that could not be repaired.
    failed: Option<FailedSummary>,
}

#[derive(Clone, Debug, Serialize)]
struct FailedSummary {
    time: f64,
    place: String,
    why: String,
}

/// A simulation that broke beyond repair; the written frames are finite, and show the rig where it broke.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    time: f64,
    place: String,
    why: String,
}

impl WatchedSummary {
    pub(crate) fn of(report: &GateReport) -> Self {
        let described = |failure: &Failure| FailedSummary {
            time: failure.time,
            place: failure.place.clone(),
            why: failure.why.clone(),
        };
        Self {
            returned_percent: 100.0 * report.returned,
            returned_frames: report.frames,
            smoothed_pops: report.pops,
            put_back: report.put_back,
            failed: report.failed.as_ref().map(described),
        }
    }

    /// Summarises the interventions in a sentence; `None` if there were none.
    pub(crate) fn line(&self) -> Option<String> {
        (self.returned_frames > 0).then(|| {
            format!(
                "{:.2} % of the vertices over all frames were returned to the rig, in {} frames: {} jumps were smoothed, and the body was \
                 put back {} times",
                self.returned_percent, self.returned_frames, self.smoothed_pops, self.put_back
            )
        })
    }

    /// Returns an error if the simulation failed.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match &self.failed {
            None => Ok(()),
            Some(FailedSummary { time, place, why }) => {
                Err(Failed { time: *time, place: place.clone(), why: why.clone() }.into())
            }
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FAILED at {:.2} s near {}: {}", self.time, self.place, self.why)
    }
}

impl std::error::Error for Failed {}
