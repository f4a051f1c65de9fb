//! A rig prepared for simulation: all data that every body needs about a face.

mod bones;
mod cache;
pub(crate) mod container;
mod face;
mod file;
mod free;
mod held;
mod inside;
mod inside_file;
mod jaw_motion;
mod landmarks;
mod lip_sides;
mod lips;
mod origin;
mod prepare;
mod region;
mod section;
mod teeth;
mod validate;

pub use bones::Bones;
pub(crate) use bones::{Below, SolidBone, look_below};
pub use cache::FaceCache;
pub use face::{CoarseSkin, FaceModel, FaceShape};
#[cfg(test)]
pub(crate) use free::ProtrudingPart;
pub use free::{FreePart, UnknownPart};
pub(crate) use inside::built_in_head;
pub use inside::{BoneSource, Inside};
pub use jaw_motion::JawMotion;
pub use landmarks::{Landmark, Landmarks};
pub(crate) use lips::{LipPart, LipPointAtRest, Lips};
pub use origin::Origin;
pub(crate) use prepare::Prepared;
pub use prepare::{PrepareError, SIZES};
pub use section::{BodySection, Number, Section, Sections};
pub use teeth::Teeth;

/// Whether a long computation continues after it has reported its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Continue.
    Yes,
    /// Stop with the best result so far.
    No,
    /// Stop without a result.
    Abandon,
}
