//! The volume under a face, from an input.

use super::VolumeError;
use super::bone_attachment::{BoneAttachment, JawShapes};
use super::input::TissueInput;
use super::layer::{Layer, LayerParams};
use super::tissue_mesh::TissueMesh;
use super::tissue_skin::TissueSkin;

/// The volume under a skin, as an input describes it.
pub(crate) struct Described {
    pub(crate) surface: TissueSkin,
    pub(crate) tissue_mesh: TissueMesh,
    /// The layer from which the tissue can be rebuilt, if it is one layer.
    pub(crate) layer: Option<Layer>,
    pub(crate) bones: BoneAttachment,
}

impl Described {
    /// `bony` are the shapes that move the bone of the jaw.
    pub(crate) fn of(input: &TissueInput, bony: &[usize], params: &LayerParams) -> Result<Self, VolumeError> {
        fn jaw_shapes<'a>(surface: &'a TissueSkin, shapes: &'a [usize]) -> JawShapes<'a> {
            JawShapes { skin: &surface.positions, moves: &surface.moves, shapes }
        }
        if let Some(volume) = input.volume {
            let (surface, tissue_mesh) = volume.under_face(input, params.material)?;
            let of_skin = || jaw_shapes(&surface, bony).motion();
            let bones = BoneAttachment::rigid(input.bones().map_or_else(of_skin, |bones| bones.jaw.clone()));
            return Ok(Self { surface, tissue_mesh, layer: None, bones });
        }
        let surface = TissueSkin::of_shell(input);
        let (layer, bones) = Layer::new(input, &surface, &jaw_shapes(&surface, bony), params);
        Ok(Self { tissue_mesh: layer.make(&surface)?, surface, layer: Some(layer), bones })
    }
}
