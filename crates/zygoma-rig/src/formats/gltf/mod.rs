//! glTF 2.0, GLB and VRM, with the compressions and extensions that avatars use.
//!
//! A [`Document`] keeps the whole file, so that everything that zygoma does not touch is written back unchanged;
//! [`read_rig`] makes a rig from it, and [`write_rig`] and [`write_animated`] write rigs, takes and
//! animated surfaces.

mod accessor;
mod additions;
mod animate;
mod animated;
mod animation;
mod builder;
mod clips;
mod decompress;
mod document;
mod export;
mod extensions;
mod fresh;
mod glb;
mod import;
mod joints;
mod materials;
mod meshopt_views;
mod names;
mod new_targets;
mod pack;
mod plan;
mod props;
mod prune;
mod ranged;
mod reshaped;
mod scene;
mod schema;
mod skinned;
mod skinning;
mod sparsify;
mod stage;
mod surface;
mod takes;
mod uri;
mod views;
mod vrm;

pub use additions::write_rig_with;
pub use animated::{Beside, MorphAnimation, MorphTarget, SkinMotion, write_animated};
pub use document::Document;
pub use export::write_rig;
pub use import::{read_rig, rig_from_document};
pub use materials::{BaseColor, Look, MaterialRange, base_colors, look, material_ranges};
pub use props::AnimatedProp;
pub use reshaped::write_reshaped;
pub use skinned::{SkinJoint, SkinnedMesh, read_skinned};
pub use surface::imported_order;
