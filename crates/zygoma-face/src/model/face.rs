//! A rig prepared for simulation.

use glam::{DVec3, Vec3};
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::normals::vertex_areas;
use zygoma_rig::{SparseDeltas, arkit};

use super::{Inside, Origin, Sections};

/// All data that every body needs about a face. Lengths are in metres, in rig space.
///
/// Data that only one body needs, such as a fitted stiffness, is a [section](Sections) of the same file.
#[derive(Clone, Debug, PartialEq)]
pub struct FaceModel {
    /// The rig's name.
    pub name: String,
    /// The simulated mesh's name in the rig.
    pub mesh: String,
    /// Height of the simulated face: from the crown to the underside of the chin.
    pub height: f64,
    /// Neutral of the whole mesh, in the rig's own order of vertices.
    pub neutral: Vec<Vec3>,
    /// Triangles of the whole mesh.
    pub triangles: Vec<[u32; 3]>,
    /// Vertices of the whole mesh at which contact is detected: one for each point of the simulated skin.
    pub skin: Vec<u32>,
    /// The skin that is simulated.
    pub coarse: CoarseSkin,
    /// The embedding of the whole mesh in the coarse skin.
    pub embedding: Embedding,
    /// The blendshapes.
    pub shapes: Vec<FaceShape>,
    /// Jaw, bones, teeth and free parts, as far as they are known.
    pub inside: Inside,
    /// The rig that it was built from.
    pub origin: Origin,
    /// Data that bodies have added.
    pub sections: Sections,
}

/// The skin at its simulation resolution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoarseSkin {
    /// Positions at rest.
    pub positions: Vec<DVec3>,
    /// Triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Positions of the vertices on the whole mesh.
    pub on_mesh: Vec<SurfacePoint>,
    /// Vertices that follow the rig exactly: eyelid margins and the edge of the neck (IFA §4.4).
    pub is_held: Vec<bool>,
}

/// One blendshape of a face.
#[derive(Clone, Debug, PartialEq)]
pub struct FaceShape {
    /// The artist's name for it.
    pub name: String,
    /// Displacements of the whole mesh at weight 1: the artist's own.
    pub deltas: SparseDeltas,
    /// Displacements of the coarse skin at weight 1.
    pub coarse: SparseDeltas,
}

impl CoarseSkin {
    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.positions.len()
    }

    /// Area of each vertex: a third of the area of its triangles.
    pub fn areas(&self) -> Vec<f64> {
        vertex_areas(&self.positions, &self.triangles)
    }
}

impl FaceModel {
    /// Number of vertices of the whole mesh.
    pub fn vertex_count(&self) -> usize {
        self.neutral.len()
    }

    /// Displacements of the whole mesh by a shape at weight 1.
    pub fn displacements(&self, shape: usize) -> Vec<Vec3> {
        self.shapes[shape].deltas.to_dense(self.vertex_count())
    }

    /// The index of a shape.
    pub fn shape(&self, name: &str) -> Option<usize> {
        self.shapes.iter().position(|shape| shape.name == name)
    }

    /// Whether a shape is ARKit's `mouthClose`, which closes the lips over a jaw that stays open.
    pub(crate) fn is_mouth_close(&self, shape: usize) -> bool {
        self.is_arkit(shape, "mouthClose")
    }

    /// Whether a shape is ARKit's `jawOpen`.
    pub(crate) fn is_jaw_open(&self, shape: usize) -> bool {
        self.is_arkit(shape, "jawOpen")
    }

    /// The shape on top of which another is sculpted: `mouthClose` is sculpted on top of an open jaw.
    pub(crate) fn base_shape(&self, shape: usize) -> Option<usize> {
        let open = || (0..self.shapes.len()).find(|index| self.is_jaw_open(*index));
        self.is_mouth_close(shape).then(open).flatten()
    }

    fn is_arkit(&self, shape: usize, name: &str) -> bool {
        arkit::recognise(&self.shapes[shape].name).is_some_and(|recognised| recognised.shape == name)
    }

    /// The whole mesh's neutral in units of the face's height, for thresholds that hold for faces of any size.
    pub(crate) fn neutral_in_heights(&self) -> Vec<Vec3> {
        self.neutral.iter().map(|p| (p.as_dvec3() / self.height).as_vec3()).collect()
    }
}
