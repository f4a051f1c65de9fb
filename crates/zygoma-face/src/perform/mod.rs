//! Live flesh, after *Progressive PD*.
//!
//! [`Tissue`] is a layer of tetrahedra under a face's shell, attached to the bone; a [`PerformingFace`] drives it with forces that hold
//! the artist's shapes, so that it follows the rig and still has weight.

mod contact;
mod control;
mod hypodermis;
mod lips;
mod measures;
mod meet;
mod params;
mod press;
mod run;
#[cfg(test)]
mod tests;
mod tissue;
mod touches;

pub use measures::VolumeReport;
pub use params::PerformParams;
pub use run::{LipReport, PerformingFace};
pub use tissue::Tissue;
