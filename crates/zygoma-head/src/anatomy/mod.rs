//! What lies under the skin.

mod arches;
mod bones;
pub mod depths;
mod flesh;
mod meshing;

pub use meshing::bone_preview;
