//! Touch and pull any rig in real time, after *Interactive Facial Animation* (IFA).
//!
//! [`build`] turns a rig into a [`Face`]; [`InteractiveFace`] simulates it.

mod build;
mod build_report;
mod corrections;
mod depth;
mod face;
mod file;
pub mod fit;
mod held;
mod origin;
mod output;
mod places;
mod poses;
mod region;
mod run;
mod targets;
mod thin;
mod validate;

pub use build::{BuildError, BuildInput, BuildParams, BuildProgress, build, build_with_report};
pub use build_report::{BuildReport, FitRecord, PhaseTime};
pub use face::{CertifiedFace, CertifiedOutput, Face, FacePair, FaceShape, Searched, Tally};
pub use origin::Origin;
pub use places::{Place, Places};
pub use poses::take_poses;
pub(crate) use run::GRAVITY;
pub use run::{Deviation, Frame, InteractiveFace, ParamsChange, RunError, RunParams, Stages};

pub use crate::touch::{Contact, Drive, HeadLoad, PullId, Touch, TouchId, Touches};
