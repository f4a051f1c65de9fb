//! **What is inside a head?**
//!
//! The built-in head is made by code, so that everything works without any files. [`Head::new`] makes the head of one person
//! ([`dials`]) at one [`Level`] of detail; [`Head::rig`] gives it to the rest of zygoma.
//!
//! ```
//! use zygoma_head::{Head, HeadOptions, Level};
//!
//! // The same seed gives the same person.
//! let head = Head::new(&HeadOptions::sampled(7, Level::Low));
//! let rig = head.rig_with_texture(None);
//! assert!(rig.skin().shapes.iter().any(|shape| shape.name == "jawOpen"));
//! ```
//!
//! How it is made, module by module:
//!
//! - `sculpt/`: one implicit surface in *template space* (millimetres, origin between the ear canals), with mouth and eyes
//!   open; `surface` turns it into well-shaped triangles with lip and lid curves kept; `fields` solves how far
//!   skin follows the jaw. That takes seconds, so [`bake`] stores the result in `assets/template.bin`.
//! - `base` mirrors the stored half, closes the mouth and names its parts; `shapes/` poses the 52 ARKit shapes; `parts/` are
//!   eyes, lashes, brows, teeth, gums, tongue and hair (`scalp` says where it grows); `landmarks` and `maps` name places and connect levels. `template` makes
//!   all of this once per level and shares it.
//! - [`dials::Warp`] maps any point of template space to one person's head (`dial_basis` tabulates it for fits); `head` sends skin, parts and posed shapes
//!   through it, so that whatever holds in the template (no crossings, sealed lips, lids on the eyeball) holds there.
//! - `jaw` is the jaw's motion for any point, [`Head::jaw_motion`] the same in metres; `uv` and `paint/` make
//!   the texture; `takes` the built-in takes; [`checks`] tests the invariants of every head.
//! - [`anatomy`] lies under the skin: bones, wraps with their tissue and a fill, sculpted and stored in
//!   `assets/anatomy.bin`, mapped by the same warp.
//! - [`fit`] fits skin and anatomy to any other head; [`compare`] measures the shapes beside those of other rigs.

pub mod anatomy;
mod bake;
mod base;
pub mod checks;
pub mod compare;
mod dial_basis;
pub mod dials;
mod dice;
mod error;
mod fields;
pub mod fit;
mod head;
mod jaw;
mod landmarks;
mod maps;
mod paint;
mod parts;
mod png;
mod scalp;
mod sculpt;
mod shapes;
mod surface;
mod takes;
mod template;
mod uv;

pub use bake::bake;
pub use error::HeadError;
pub use head::{Head, HeadMesh, HeadOptions};
pub use jaw::JawWeights;
pub use landmarks::{LidContours, LipContours, Places, SkinRegion};
pub use maps::level_map;
pub use paint::Texture;
pub use parts::hair::Hair;
pub use takes::built_in_takes;

/// Level of detail of the head's meshes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// About 3,500 vertices.
    Low,
    /// About 7,000 vertices.
    Middle,
    /// About 14,000 vertices.
    #[default]
    High,
}
