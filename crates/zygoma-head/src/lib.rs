//! **What is inside a head?**
//!
//! The built-in head, made by code.
mod bake;
mod base;
pub mod checks;
pub mod dials;
mod error;
mod extract;
mod fields;
mod head;
mod jaw;
mod paint;
mod parts;
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
pub use paint::Texture;

/// How finely the head is meshed.
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
