//! Expressions that anatomy allows, after *SoftDECA* (Thesis ch. 3).
//!
//! [`Anatomical`] is a head of soft tissue, muscles and bones under a face's skin. An [`AnatomicalBody`] pulls its skin to the rig's surface, and tissue
//! yields as tissue does: it keeps its volume, slides along rigid bones, and lips do not pass through each other.

mod aim;
mod body;
mod build;
mod contact;
mod correct;
mod dials;
mod dynamics;
mod inverse;
mod landmarks;
mod load;
mod local;
mod measure;
mod moves;
mod params;
mod run;
mod samples;
mod shape_head;
#[cfg(test)]
mod tests;
mod turning;

pub use build::{Anatomical, AnatomicalError};
pub use correct::Corrected;
pub use dials::{BadDial, Dials};
pub use landmarks::LandmarkError;
pub use local::{LocalDial, LocalKind};
pub use measure::{PlainVolume, VolumeChange};
pub use params::AnatomicalParams;
pub use run::AnatomicalBody;
pub use samples::{SAMPLE_FPS, SEQUENCE, SampleParams, SampleSettings, Samples, Split, Thirds};
