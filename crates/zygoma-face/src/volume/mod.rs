//! Tetrahedra under a face's skin, for the bodies that have a volume: one layer below the face's own coarse mesh, or any mesh that
//! reaches down to the bones, such as the fill of a head's anatomy. Each vertex has a [`Tie`].

mod anatomy;
mod bone_attachment;
mod cartilage;
pub(crate) mod contact;
mod depth;
mod described;
mod fill;
mod harmonic;
mod hypodermis;
mod input;
mod layer;
mod layout;
mod mobility;
mod muscles;
mod tissue_mesh;
mod tissue_skin;

use zygoma_numerics::NotPositiveDefinite;

pub use anatomy::{AnatomyOptions, fit_head};
pub(crate) use bone_attachment::{AttachmentPoint, BoneAttachment, carried, smooth_step};
pub(crate) use cartilage::cartilage;
pub(crate) use described::Described;
pub(crate) use harmonic::Harmonic;
#[cfg(test)]
pub(crate) use hypodermis::Hypodermis;
pub(crate) use hypodermis::HypodermisParams;
pub use input::TissueInput;
pub(crate) use layer::{Layer, LayerParams};
pub(crate) use layout::Layout;
pub(crate) use mobility::{attachment_at, mobility};
pub(crate) use muscles::Muscles;
pub(crate) use tissue_mesh::TissueMesh;
pub use tissue_mesh::{Tie, TissueVolume};
pub(crate) use tissue_skin::TissueSkin;

/// Why a face has no volume that can be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum VolumeError {
    /// The surface below the skin cannot be found.
    #[error("the layer below the skin cannot be found: {0}")]
    Matrix(#[from] NotPositiveDefinite),
    /// Nowhere on the skin is there room for an element below it.
    #[error("there is no room for tissue under the skin; give it less thickness or more triangles")]
    NoRoom,
    /// A tetrahedral mesh that cannot be simulated.
    #[error("the tetrahedral mesh cannot be simulated: {0}")]
    Mesh(String),
}
