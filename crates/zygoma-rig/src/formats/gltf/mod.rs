//! glTF 2.0, GLB and VRM, with the compressions and extensions that avatars use.
//!
//! A [`Document`] keeps the whole file, so that what zygoma does not touch goes back unchanged;
//! [`read_rig`] makes a rig of it.

mod accessor;
mod animation;
mod document;
mod extensions;
mod files;
mod glb;
mod import;
mod joints;
mod meshopt_views;
mod names;
mod pack;
mod plan;
mod scene;
mod schema;
mod skinning;
mod surface;
mod takes;
mod uri;
mod views;
mod vrm;

pub use document::Document;
pub use import::{read_rig, rig_from_document};
