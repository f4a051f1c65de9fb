//! A rig made ready for simulation: everything that every body needs to know about a face.

mod bones;
mod face;
mod file;
mod free;
mod held;
mod jaw_motion;
mod landmarks;
mod lips;
mod origin;
mod region;
mod teeth;
mod validate;

pub(crate) use bones::{Below, look_below};
pub use bones::{BoneSurface, Bones};
pub use face::{CertifiedFace, CertifiedOutput, Face, FacePair, FaceShape, Searched, Tally};
pub use free::FreePart;
pub(crate) use held::held_vertices;
pub use jaw_motion::JawMotion;
pub use landmarks::{Landmark, Landmarks};
pub(crate) use lips::{LipPart, Lips};
pub use origin::Origin;
pub(crate) use region::Region;
pub use teeth::Teeth;
pub(crate) use validate::check;

/// Whether long work goes on after it has reported its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Go on.
    Yes,
    /// Stop with the best result so far.
    No,
    /// Stop without a result.
    Abandon,
}
