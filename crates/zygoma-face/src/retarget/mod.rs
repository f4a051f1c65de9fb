//! Expressions carried from one head to another through its anatomy, after *AnaConDaR* (Thesis ch. 5).
//!
//! Both heads are registered with the built-in one, so that their meshes may be any two ([`RetargetHead`]). A [`Carrier`] takes an
//! [`Expression`] of the source, finds how its tissue and bones deform, and applies the same to the target's. [`Retargeting`] learns from examples of
//! the target as well. [`RigRetarget`] does so for whole rigs, [`carry_points`] for a few tracked points.

mod blend;
mod carry;
mod characteristics;
mod example_rig;
#[cfg(test)]
mod example_tests;
mod forward;
mod head;
mod inverse;
mod lips;
mod method;
mod params;
mod points;
#[cfg(test)]
mod points_tests;
mod rig;
mod surface;
#[cfg(test)]
mod tests;
mod volume;

pub use carry::{Carrier, CarryReport, RetargetError, Transfer};
pub use head::{Expression, RetargetHead};
pub use method::{Known, Method, Retargeting};
pub use params::{Missing, RetargetParams};
pub use points::{CarriedPoints, PointError, PointSet, carry_points, point_name};
pub use rig::{CarriedMesh, CarriedShape, RigRetarget, SourceFace};
