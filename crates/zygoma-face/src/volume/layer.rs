//! One layer of tissue under a face's own coarse skin, of a thickness that may change from vertex to vertex.

use std::ops::RangeInclusive;

use super::VolumeError;
use super::bone_attachment::{BoneAttachment, JawShapes};
use super::depth::Depths;
use super::hypodermis::{Hypodermis, HypodermisParams, seen_normals};
use super::input::TissueInput;
use super::tissue_mesh::{Tie, TissueMesh};
use super::tissue_skin::TissueSkin;
use zygoma_physics::projective::Material;

/// Parameters of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LayerParams {
    /// Thickness where no bone is known, m.
    pub(crate) thickness: f64,
    /// Minimum and maximum thickness where the layer reaches down to the bone, m.
    pub(crate) thickness_range: [f64; 2],
    /// The surface below the skin.
    pub(crate) hypodermis: HypodermisParams,
    /// The material of every element.
    pub(crate) material: Material,
}

impl LayerParams {
    /// Range of thicknesses, given or painted, m.
    pub(crate) const THICKNESS: RangeInclusive<f64> = 1e-4..=0.1;
}

/// A layer that can be rebuilt where it turns out to be too thick.
#[derive(Clone)]
pub(crate) struct Layer {
    /// Target thickness below each vertex of the skin, m.
    pub(crate) thickness: Vec<f64>,
    /// Flags the triangles of the skin to leave without tissue.
    pub(crate) left_out: Vec<bool>,
    /// Fraction by which the tissue below each vertex follows the jaw.
    jaw_fractions: Vec<f64>,
    material: Material,
    hypodermis: HypodermisParams,
}

impl Layer {
    /// The layer for an input, with its attachment to the bones.
    pub(crate) fn new(
        input: &TissueInput,
        skin: &TissueSkin,
        jaw_shapes: &JawShapes,
        params: &LayerParams,
    ) -> (Self, BoneAttachment) {
        let normals = seen_normals(&skin.positions, &skin.triangles);
        let Depths { thickness, below } = Depths::find(input, &skin.positions, &normals, params);
        let (attachment, jaw_fractions) = match input.bones() {
            Some(bones) => BoneAttachment::on_bones(bones.jaw.clone(), jaw_shapes, &below, &thickness),
            None => BoneAttachment::of_skin(jaw_shapes),
        };
        let layer = Self {
            thickness,
            left_out: vec![false; skin.triangles.len()],
            jaw_fractions,
            material: params.material,
            hypodermis: params.hypodermis,
        };
        (layer, attachment)
    }

    /// The same layer with another thickness; `None` if these are not as many as it has.
    pub(crate) fn thinned(&self, thickness: &[f64], left_out: &[bool]) -> Option<Self> {
        let fits = (thickness.len(), left_out.len()) == (self.thickness.len(), self.left_out.len());
        let (thickness, left_out) = (thickness.to_vec(), left_out.to_vec());
        fits.then(|| Self { thickness, left_out, ..self.clone() })
    }

    /// Builds the layer under a skin.
    pub(crate) fn make(&self, skin: &TissueSkin) -> Result<TissueMesh, VolumeError> {
        let made = Hypodermis::new(
            &skin.positions,
            &skin.triangles,
            self.thickness.clone(),
            &self.left_out,
            &self.hypodermis,
        )?;
        if made.mesh.tets.is_empty() {
            return Err(VolumeError::NoRoom);
        }
        let count = skin.positions.len();
        let below = self.jaw_fractions.iter().map(|jaw| Tie::Ligaments { jaw: *jaw });
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
