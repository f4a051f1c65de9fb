//! Live soft tissue, after *Progressive PD*.
//!
//! [`Tissue`] is a tetrahedral mesh under a face's skin whose vertices each have a [`Tie`]: either one layer under the face's own coarse
//! mesh, attached to the bone, or any [`TissueVolume`] that reaches down to the bones. A [`TissueBody`] drives it with the artist's
//! shapes, so that it follows the rig and still has weight.

mod blendforces;
mod body;
mod build;
mod cartilage;
mod clock;
mod contact;
mod contraction;
mod control;
mod elements;
mod force_drive;
mod forces;
#[cfg(test)]
mod free_tests;
mod hold;
mod inertia;
mod live;
mod markers;
mod measures;
mod overlay;
mod params;
mod progress;
mod published;
mod recover;
mod run;
mod section;
mod shape_targets;
mod stages;
mod stiffness;
#[cfg(test)]
mod stiffness_tests;
mod study;
#[cfg(test)]
mod tests;

pub use crate::volume::contact::TeethReport;
pub use build::Tissue;
pub use live::LiveParams;
pub use markers::{MarkerError, MarkerMiss, Markers};
pub use measures::VolumeReport;
pub use params::{Actuation, STICKY, TissueParams};
pub use progress::{TissueError, TissueProgress};
pub use published::{PublishedBody, PublishedOptions};
pub use run::{LipReport, TissueBody};
pub use section::SolvedTissue;
pub use stages::Stages;
pub use study::StepProblem;

pub use crate::volume::{AnatomyOptions, Tie, TissueInput, TissueVolume, VolumeError, fit_head};
