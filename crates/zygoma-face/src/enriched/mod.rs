//! Secondary motion on top of the artist's own, after *Blendvolumes*.
//!
//! [`Enriched`] is a volume of soft tissue under a face's skin with one rest shape for each blendshape. An [`EnrichedBody`] blends them as the rig blends
//! its shapes, and simulates the displacement from that blend: tissue swings when the head moves, and where nothing pushes the face is exactly the rig's.

mod blend_materials;
mod blend_volumes;
mod body;
mod build;
mod checkpoint;
mod contact;
mod forces;
mod linings;
mod paint;
mod params;
mod patch;
mod repair;
mod run;
mod section;
mod slide;
mod soundness;
mod spots;
#[cfg(test)]
mod tests;

pub use crate::volume::contact::ContactMode;
pub use build::{Enriched, EnrichedError, EnrichedProgress};
pub use paint::{Coat, MaterialPaint, Stroke};
pub use params::EnrichedParams;
pub use repair::Repaired;
pub use run::{EnrichedBody, InputChanges, RestReport};
pub use section::SolvedVolumes;
pub use soundness::{Crossings, Soundness};
pub use spots::{BadSpot, Canvas, MaterialSpot, MaterialSpots, NEUTRAL, SpotPlace};
