//! The skin around the seats of a mesh that follows it.

use std::collections::BTreeMap;

use glam::{Quat, Vec3};
use zygoma_geometry::normals::vertex_normals;

use super::find::Seat;
use crate::RigMesh;

/// The vertices of the skin that seats and their normals depend on.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    /// The skin's vertices, increasing.
    pub(super) vertices: Vec<u32>,
    /// Triangles between them, as indices into `vertices`.
    triangles: Vec<[u32; 3]>,
}

/// The surface of a patch at one time.
pub(super) struct PatchSurface {
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
}

impl Patch {
    /// The triangles around the corners of some seats.
    pub(super) fn new<'a>(skin: &RigMesh, seats: impl Iterator<Item = &'a Seat>) -> Self {
        let mut is_corner = vec![false; skin.positions.len()];
        seats.flat_map(|seat| seat.corners).for_each(|v| is_corner[v as usize] = true);
        let mut triangles = skin.faces.triangles();
        triangles.retain(|t| t.iter().any(|v| is_corner[*v as usize]));
        let mut vertices: Vec<u32> = triangles.iter().flatten().copied().collect();
        vertices.sort_unstable();
        vertices.dedup();
        let mut patch = Self { vertices, triangles: Vec::new() };
        patch.triangles = triangles.iter().map(|t| patch.local(*t)).collect();
        patch
    }

    /// Converts vertices of the skin to indices in the patch. They must be in it.
    pub(super) fn local(&self, corners: [u32; 3]) -> [u32; 3] {
        corners.map(|v| self.vertices.partition_point(|own| *own < v) as u32)
    }

    /// Indices in the patch of the skin's vertices that it contains.
    pub(super) fn places(&self) -> BTreeMap<u32, u32> {
        self.vertices.iter().copied().zip(0..).collect()
    }

    pub(super) fn surface(&self, positions: Vec<Vec3>) -> PatchSurface {
        let normals = vertex_normals(&positions, &self.triangles);
        PatchSurface { positions, normals }
    }
}

impl PatchSurface {
    pub(super) fn place(&self, seat: &Seat) -> Vec3 {
        seat.mix(&self.positions)
    }

    /// Rotation of the skin's normal at a seat from one surface to another. A twist about the normal is not captured.
    pub(super) fn turn(&self, seat: &Seat, to: &Self) -> Quat {
        let normal = |normals: &[Vec3]| seat.mix(normals).try_normalize();
        match (normal(&self.normals), normal(&to.normals)) {
            (Some(from), Some(to)) => Quat::from_rotation_arc(from, to),
            _ => Quat::IDENTITY,
        }
    }
}
