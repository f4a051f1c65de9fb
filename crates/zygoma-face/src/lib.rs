//! **What do users come for?**
//!
//! A [`model`] is a rig made ready for simulation. [`contact`] presses on it and pulls at it. A [`body`] turns drive and touches into
//! frames: a [`shell`] can be touched while it keeps the rig's look within a certified bound, [`tissue`] is soft tissue that
//! follows the rig live, [`enriched`] adds secondary motion to the artist's own, and [`anatomical`] corrects it as anatomy allows. [`retarget`] carries
//! expressions to another head. [`run`] lets a body perform a take.
//!
//! From a rig to frames:
//!
//! ```
//! use zygoma_face::body::{Body, Drive};
//! use zygoma_face::model::{Continue, FaceModel};
//! use zygoma_face::shell::{BuildParams, RunParams, ShellBody, build};
//! use zygoma_head::{Head, HeadOptions, Level};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rig = Head::new(&HeadOptions::sampled(7, Level::Low)).rig();
//! // One stiffness everywhere; without it the stiffness is fitted to the rig's expressions.
//! let params = BuildParams { triangles: 500, uniform_stiffness: Some(2.0), ..BuildParams::default() };
//! let model: FaceModel = build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes)?;
//! let mut body = ShellBody::new(&model, RunParams::default())?;
//! let mut weights = vec![0.0; model.shapes.len()];
//! weights[model.shape("jawOpen").unwrap()] = 1.0;
//! body.drive(Drive::Weights(&weights))?;
//! body.settle();
//! let frame = body.advance(1.0 / 60.0);
//! assert_eq!(frame.positions.len(), rig.skin().positions.len());
//! # Ok(())
//! # }
//! ```

pub mod anatomical;
pub mod body;
pub mod contact;
pub mod enriched;
pub mod model;
pub mod retarget;
pub mod run;
pub mod shell;
pub mod tissue;
mod volume;
