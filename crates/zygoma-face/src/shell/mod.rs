//! A shell that lets users touch and pull any rig in real time, after *Interactive Facial Animation* (IFA).
//!
//! [`build`] turns a rig into a [`FaceModel`](crate::model::FaceModel) with a fitted shell; [`ShellBody`] simulates it.

mod build;
mod build_report;
mod corrections;
mod depth;
pub mod fit;
mod model;
mod output;
mod poses;
mod run;
mod targets;
mod thin;

pub use build::{BuildError, BuildInput, BuildParams, BuildProgress, build, build_with_report};
pub use build_report::{BuildReport, FitRecord, PhaseTime};
pub use model::{
    CertifiedFace, CertifiedOutput, Correction, FittedShell, NoShell, PairCorrection, Searched, ShellModel,
    ShellShape, Tally,
};
pub use poses::take_poses;
pub use run::{Deviation, Frame, ParamsChange, RunError, RunParams, ShellBody, Stages};
