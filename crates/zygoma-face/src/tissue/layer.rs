//! One layer of tissue under a face's own coarse skin, of a thickness that may change from vertex to vertex.

use super::TissueParams;
use super::bone_attachment::{BoneAttachment, JawShapes};
use super::build::TissueInput;
use super::coarse_skin::CoarseSkin;
use super::depth::Depths;
use super::hypodermis::{Hypodermis, HypodermisParams, seen_normals};
use super::progress::TissueError;
use super::tissue_mesh::{Tie, TissueMesh};
use zygoma_physics::projective::Material;

/// A layer that can be rebuilt where it turns out to be too thick.
pub(super) struct Layer {
    /// Target thickness below each vertex of the skin, m.
    pub(super) thickness: Vec<f64>,
    /// Flags the triangles of the skin to leave without tissue.
    pub(super) left_out: Vec<bool>,
    /// Fraction by which the tissue below each vertex follows the jaw.
    jaw_shares: Vec<f64>,
    material: Material,
    hypodermis: HypodermisParams,
}

impl Layer {
    /// The layer for an input, with its attachment to the bones.
    pub(super) fn new(
        input: &TissueInput,
        skin: &CoarseSkin,
        jaw_shapes: &JawShapes,
        params: &TissueParams,
    ) -> (Self, BoneAttachment) {
        let normals = seen_normals(&skin.positions, &skin.triangles);
        let Depths { thickness, below } = Depths::find(input, &skin.positions, &normals, params);
        let (attachment, jaw_shares) = match input.bones {
            Some(bones) => BoneAttachment::on_bones(bones.jaw.clone(), jaw_shapes, &below, &thickness),
            None => BoneAttachment::of_skin(jaw_shapes),
        };
        let layer = Self {
            thickness,
            left_out: vec![false; skin.triangles.len()],
            jaw_shares,
            material: params.material(),
            hypodermis: params.hypodermis(),
        };
        (layer, attachment)
    }

    /// Builds the layer under a skin.
    pub(super) fn make(&self, skin: &CoarseSkin) -> Result<TissueMesh, TissueError> {
        let made = Hypodermis::new(
            &skin.positions,
            &skin.triangles,
            self.thickness.clone(),
            &self.left_out,
            &self.hypodermis,
        )?;
        if made.mesh.tets.is_empty() {
            return Err(TissueError::NoRoom);
        }
        let count = skin.positions.len();
        let below = self.jaw_shares.iter().map(|jaw| Tie::Ligaments { jaw: *jaw });
        Ok(TissueMesh {
            ties: std::iter::repeat_n(Tie::Skin, count).chain(below).collect(),
            above: (0..count as u32).chain(0..count as u32).collect(),
            materials: vec![self.material; made.mesh.tets.len()],
            triangle_above: made.triangles.iter().flat_map(|triangle| [Some(*triangle); 3]).collect(),
            bare: made.bare,
            mesh: made.mesh,
        })
    }
}
