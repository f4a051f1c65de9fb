//! Headers of binary messages: scenes, faces and painted stiffness.

use serde::{Deserialize, Serialize};

/// An array behind a JSON header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArrayPlace {
    /// Where it starts, in bytes behind the header; a multiple of 4.
    pub start: usize,
    /// Its length in bytes.
    pub bytes: usize,
}

/// Header of a scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scene {
    /// Name of the rig.
    pub name: String,
    /// Where it came from.
    pub origin: Origin,
    /// The meshes.
    pub meshes: Vec<SceneMesh>,
    /// Index of the skin among them.
    pub skin: usize,
    /// The sliders.
    pub controls: Vec<Control>,
    /// Dials of the built-in head; empty for other rigs.
    pub dials: Vec<DialEntry>,
    /// The picture that all meshes share.
    pub texture: Option<ArrayPlace>,
    /// A GLB with materials only, for the `material` of meshes.
    pub materials: Option<ArrayPlace>,
    /// Names of the regions of the skin.
    pub regions: Vec<String>,
    /// Lowest and highest corner of everything.
    pub bounds: [[f32; 3]; 2],
    /// The point that the head turns about.
    pub pivot: [f32; 3],
    /// Whether this is the same rig with other positions: the camera stays.
    pub same: bool,
}

/// Header of the stiffness of an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StiffnessHeader {
    /// The control; −1 for the relaxed face.
    pub control: i32,
    /// Spots that are painted, on all expressions together.
    pub spots: usize,
    /// `f32` per point of the skin: μ, Pa; 0 where nothing is simulated.
    pub mu: ArrayPlace,
}

/// Where a rig came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// Made by code.
    BuiltIn,
    /// A rig file.
    Rig,
    /// A face file.
    Face,
}

/// One mesh. Points are what moves; vertices are points with texture coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SceneMesh {
    /// Its name.
    pub name: String,
    /// Its look where the file does not say.
    pub look: Look,
    /// `f32` × 3 per point: the neutral.
    pub neutral: ArrayPlace,
    /// `u32` per vertex: its point.
    pub points: ArrayPlace,
    /// `f32` × 2 per vertex, if any.
    pub uvs: Option<ArrayPlace>,
    /// `u32` × 3 per triangle, over the vertices.
    pub triangles: ArrayPlace,
    /// Fewer triangles over the same vertices, for slow machines; none where they are few, or the same as before.
    pub coarse: Option<CoarseTriangles>,
    /// Materials of runs of triangles; all of them if there are none.
    pub ranges: Vec<SceneRange>,
    /// `u8` per point of the skin: its region.
    pub regions: Option<ArrayPlace>,
}

/// The look of a mesh, for shading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Look {
    /// Skin.
    Skin,
    /// Wet and shiny: eyes.
    Eye,
    /// Teeth.
    Teeth,
    /// Gums and tongue.
    Gums,
    /// Lashes, brows and hair.
    Hair,
    /// Anything else.
    Other,
}

/// Consecutive triangles with one material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SceneRange {
    /// First triangle.
    pub start: usize,
    /// Number of triangles.
    pub count: usize,
    /// Index into the materials; −1 for none.
    pub material: i32,
    /// Its look where the file does not say.
    pub look: Look,
}

/// Fewer triangles, and their runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CoarseTriangles {
    /// `u32` × 3 per triangle, over the vertices.
    pub triangles: ArrayPlace,
    /// As those of the mesh.
    pub ranges: Vec<SceneRange>,
}

/// A slider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Control {
    /// The artist's name for it.
    pub name: String,
    /// The part of the face that it moves.
    pub group: String,
}

/// A dial of the built-in head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DialEntry {
    /// Its name.
    pub name: String,
    /// The effect of turning it up.
    pub about: String,
    /// Where it stands, −1 to 1.
    pub value: f64,
}

/// Header of a face.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaceHeader {
    /// Height of the face.
    pub height: f64,
    /// Triangles of the shell.
    pub shell_triangles: usize,
    /// Whether its stiffness was fitted; otherwise it is the same everywhere.
    pub fitted: bool,
    /// `u32` × 2 per edge of the shell.
    pub edges: ArrayPlace,
    /// `u32` × 3 per shell vertex: the points of the skin that it lies between.
    pub corners: ArrayPlace,
    /// `f32` × 3 per shell vertex: their fractions.
    pub shares: ArrayPlace,
    /// `f32` per point: strain stiffness, N/m; negative where nothing is simulated.
    pub strain: ArrayPlace,
    /// `f32` per point: bending stiffness, N/m.
    pub bending: ArrayPlace,
    /// `f32` per point: how deep it may be pushed in, m.
    pub depth: ArrayPlace,
}
