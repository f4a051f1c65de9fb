//! Live flesh, after *Progressive PD*.
//!
//! [`Tissue`] is a layer of tetrahedra under a face's shell, attached to the bone; a [`PerformingFace`] drives it with forces that hold
//! the artist's shapes, so that it follows the rig and still has weight.

mod blendforces;
mod bones;
mod clock;
mod contact;
mod control;
mod depth;
mod elements;
mod footing;
mod force_drive;
mod forces;
mod free;
#[cfg(test)]
mod free_tests;
mod hold;
mod hypodermis;
mod inertia;
mod jaw_motion;
mod lips;
mod live;
mod markers;
mod measures;
mod meet;
mod mouth;
mod overlay;
mod params;
mod press;
mod progress;
mod recover;
mod run;
mod shape_targets;
mod shortening;
mod stages;
mod step_contact;
mod stiffness;
#[cfg(test)]
mod stiffness_tests;
mod study;
mod teeth;
#[cfg(test)]
mod tests;
mod tissue;
mod touches;

pub use bones::Bones;
pub use free::FreePart;
pub use jaw_motion::JawMotion;
pub use live::LiveParams;
pub use markers::{MarkerError, MarkerMiss, Markers};
pub use measures::VolumeReport;
pub use mouth::TeethReport;
pub use params::{Actuation, PerformParams, STICKY};
pub use progress::{TissueError, TissueProgress};
pub use run::{LipReport, PerformingFace};
pub use stages::Stages;
pub use study::StepProblem;
pub use teeth::Teeth;
pub use tissue::{Tissue, TissueInput};
