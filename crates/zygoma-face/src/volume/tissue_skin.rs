//! The skin of tissue: the coarse surface through which a face drives the tissue and is carried by it.

use glam::{DVec3, Vec3};
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::embedding::Embedding;

use super::input::TissueInput;
use crate::model::{FaceModel, FaceShape};

/// A coarse surface on a face's skin.
pub(crate) struct TissueSkin {
    /// Vertices at rest, m.
    pub(crate) positions: Vec<DVec3>,
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Area around each vertex, m².
    pub(crate) areas: Vec<f64>,
    /// Points of the vertices on the whole mesh.
    pub(crate) places: Vec<SurfacePoint>,
    /// The embedding of the whole mesh in this surface.
    pub(crate) embedding: Embedding,
    /// Displacement of the vertices by each shape at weight 1, m; zero where they are loose.
    pub(crate) moves: Vec<Vec<DVec3>>,
    /// Vertices that follow the rig exactly.
    pub(crate) is_held: Vec<bool>,
    /// Vertices that nothing holds, nor the tissue below them.
    pub(crate) is_loose: Vec<bool>,
}

impl TissueSkin {
    /// The face's own coarse mesh.
    pub(crate) fn of_shell(input: &TissueInput) -> Self {
        let face = input.face;
        let is_loose = loose_vertices(input, &face.coarse.on_mesh);
        Self {
            positions: face.coarse.positions.clone(),
            triangles: face.coarse.triangles.clone(),
            areas: face.coarse.areas(),
            places: face.coarse.on_mesh.clone(),
            embedding: face.embedding.clone(),
            moves: shell_moves(face, &is_loose),
            is_held: face.coarse.is_held.iter().zip(&is_loose).map(|(held, loose)| *held && !loose).collect(),
            is_loose,
        }
    }
}

/// Flags the points that lie on free triangles of the whole mesh.
pub(crate) fn loose_vertices(input: &TissueInput, places: &[SurfacePoint]) -> Vec<bool> {
    let face = input.face;
    let free = face.free_vertices();
    let is_free = |v: u32| free[v as usize];
    let on = |place: &SurfacePoint| face.triangles[place.triangle as usize].iter().all(|v| is_free(*v));
    places.iter().map(on).collect()
}

/// Displacement of the shell by each shape at weight 1, m.
fn shell_moves(face: &FaceModel, is_loose: &[bool]) -> Vec<Vec<DVec3>> {
    let move_of = |shape: &FaceShape| -> Vec<DVec3> {
        let dense = shape.coarse.to_dense(is_loose.len());
        let moved = |(offset, loose): (&Vec3, &bool)| {
            if *loose { DVec3::ZERO } else { offset.as_dvec3() }
        };
        dense.iter().zip(is_loose).map(moved).collect()
    };
    face.shapes.iter().map(move_of).collect()
}
