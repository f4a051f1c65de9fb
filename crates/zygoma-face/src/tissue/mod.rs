//! Live soft tissue, after *Progressive PD*.
//!
//! [`Tissue`] is a tetrahedral mesh under a face's skin whose vertices each have a [`Tie`]: either one layer under the face's own coarse
//! mesh, attached to the bone, or any [`TissueVolume`] that reaches down to the bones. A [`TissueBody`] drives it with the artist's
//! shapes, so that it follows the rig and still has weight.

mod blendforces;
mod body;
mod bone_attachment;
mod build;
mod clock;
mod coarse_skin;
mod collider_contact;
mod contraction;
mod control;
mod depth;
mod elements;
mod force_drive;
mod forces;
#[cfg(test)]
mod free_tests;
mod hold;
mod hypodermis;
mod inertia;
mod layer;
mod lip_contact;
mod live;
mod markers;
mod measures;
mod mouth;
mod overlay;
mod params;
mod progress;
mod recover;
mod run;
mod section;
mod shape_targets;
mod skin_samples;
mod stages;
mod step_contact;
mod stiffness;
#[cfg(test)]
mod stiffness_tests;
mod study;
#[cfg(test)]
mod tests;
mod tissue_mesh;
mod volume;

pub use build::{Tissue, TissueInput};
pub use live::LiveParams;
pub use markers::{MarkerError, MarkerMiss, Markers};
pub use measures::VolumeReport;
pub use mouth::TeethReport;
pub use params::{Actuation, STICKY, TissueParams};
pub use progress::{TissueError, TissueProgress};
pub use run::{LipReport, TissueBody};
pub use section::SolvedTissue;
pub use stages::Stages;
pub use study::StepProblem;
pub use tissue_mesh::{Tie, TissueVolume};
