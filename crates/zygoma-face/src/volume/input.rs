//! Input of a build.

use super::TissueVolume;
use crate::model::{Bones, FaceModel};

/// Input of a build of tissue.
#[derive(Clone, Copy)]
pub struct TissueInput<'a> {
    /// The face. Without bones inside it, attachments under skin that the jaw carries follow that skin.
    pub face: &'a FaceModel,
    /// Painted thickness of the tissue at each vertex of the whole mesh, m, if any.
    pub thickness: Option<&'a [f64]>,
    /// A tetrahedral mesh of the tissue, if any, such as the fill of a head's anatomy. Otherwise the tissue is one layer under the face's
    /// own coarse mesh, of the thickness above.
    pub volume: Option<&'a TissueVolume>,
}

impl<'a> TissueInput<'a> {
    /// The input for a face alone.
    pub fn new(face: &'a FaceModel) -> Self {
        Self { face, thickness: None, volume: None }
    }

    /// The skull, if known.
    pub(super) fn bones(&self) -> Option<&'a Bones> {
        self.face.inside.bones.as_ref()
    }
}
