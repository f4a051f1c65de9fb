//! Muscles and bones under the skin.

use serde::{Deserialize, Serialize};

use super::ArrayPlace;

/// Header of an anatomy. Positions are those at rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnatomyHeader {
    /// The surface of the muscles.
    pub muscle: AnatomyMesh,
    /// `u32` × 3 per vertex of the muscles: the points of the skin that it moves with.
    pub corners: ArrayPlace,
    /// `f32` × 3 per vertex of the muscles: their shares.
    pub shares: ArrayPlace,
    /// The skull without the lower jaw.
    pub cranium: AnatomyMesh,
    /// The lower jaw.
    pub mandible: AnatomyMesh,
    /// The middle between its condyles.
    pub joint: [f32; 3],
    /// The controls that move it.
    pub jaw: Vec<JawControl>,
}

/// A surface of an anatomy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnatomyMesh {
    /// `f32` × 3 per vertex.
    pub positions: ArrayPlace,
    /// `u32` × 3 per triangle.
    pub triangles: ArrayPlace,
}

/// The pose of the jaw at full weight of a control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JawControl {
    /// The control.
    pub control: u32,
    /// The turn about the joint, as an axis times an angle.
    pub turn: [f32; 3],
    /// The way of the joint.
    pub glide: [f32; 3],
}
