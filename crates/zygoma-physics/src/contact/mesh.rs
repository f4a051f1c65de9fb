//! Colliders made of triangles: hands, tools, anything closed.

use glam::Vec3;
use zygoma_geometry::TriMesh;
use zygoma_geometry::closest::{SignedSurface, SignedSurfaceError};

use super::{MeshPoint, Probe};

/// A closed triangle mesh with a signed distance. Its vertices may move.
#[derive(Clone, Debug)]
pub struct ColliderMesh {
    surface: SignedSurface,
    /// Vertices before the last deformation.
    before: Vec<Vec3>,
    bounding_radius: f32,
    /// Time of the last deformation, s; 0 for a mesh that stands still.
    duration: f32,
}

/// A mesh that cannot be a collider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this mesh cannot be a collider: {0}")]
pub struct MeshError(#[from] pub SignedSurfaceError);

impl ColliderMesh {
    /// A collider from a closed mesh whose triangles face outwards.
    pub fn new(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        let surface = SignedSurface::new(TriMesh { positions, triangles })?;
        let before = surface.mesh().positions.clone();
        let mut mesh = Self { surface, before, bounding_radius: 0.0, duration: 0.0 };
        mesh.update_bounding_radius();
        Ok(mesh)
    }

    /// Moves the vertices to where they are after `duration` seconds; with a duration of 0 they have no velocity. No allocation.
    pub fn deform(&mut self, positions: &[Vec3], duration: f32) -> Result<(), MeshError> {
        self.surface.check_positions(positions)?;
        self.before.copy_from_slice(&self.surface.mesh().positions);
        self.surface.deform(positions)?;
        self.duration = duration;
        self.update_bounding_radius();
        Ok(())
    }

    /// The same mesh, larger by a factor.
    pub(super) fn scaled(&self, by: f32) -> Self {
        let mut larger = self.clone();
        larger.surface.scale(by);
        larger.before.iter_mut().for_each(|p| *p *= by);
        larger.update_bounding_radius();
        larger
    }

    fn update_bounding_radius(&mut self) {
        self.bounding_radius = self.positions().iter().map(|p| p.length_squared()).fold(0.0, f32::max).sqrt();
    }

    /// Vertices now.
    pub fn positions(&self) -> &[Vec3] {
        &self.surface.mesh().positions
    }

    /// Triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.surface.mesh().triangles
    }

    /// The radius of a ball around the origin that holds the mesh.
    pub(super) fn bounding_radius(&self) -> f32 {
        self.bounding_radius
    }

    /// Stops the motion of the vertices.
    pub fn hold(&mut self) {
        self.duration = 0.0;
    }

    /// Distance, normal and velocity at a point in the mesh's own frame.
    pub(super) fn probe(&self, point: Vec3, within: f32) -> Option<Probe> {
        let found = self.surface.closest(point, within)?;
        let nearest = found.nearest;
        let corners = self.triangles()[nearest.triangle as usize];
        let mean = |values: &[Vec3]| -> Vec3 {
            (0..3).map(|i| nearest.barycentric[i] * values[corners[i] as usize]).sum()
        };
        let velocity = if self.duration > 0.0 {
            (mean(self.positions()) - mean(&self.before)) / self.duration
        } else {
            Vec3::ZERO
        };
        Some(Probe {
            distance: found.signed_distance,
            normal: found.normal,
            point: nearest.point,
            velocity,
            on_mesh: Some(MeshPoint { triangle: nearest.triangle, barycentric: nearest.barycentric }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::shapes;

    #[test]
    fn a_mesh_that_grows_pushes_outwards() {
        let (positions, triangles) = shapes::sphere(16, 24);
        let mut mesh = ColliderMesh::new(positions.clone(), triangles).unwrap();
        assert!(mesh.probe(Vec3::ZERO, 0.1).unwrap().distance < -0.95);
        let grown: Vec<Vec3> = positions.iter().map(|p| 1.1 * *p).collect();
        mesh.deform(&grown, 0.01).unwrap();
        let probe = mesh.probe(Vec3::X * 1.2, 1.0).unwrap();
        assert!((probe.distance - 0.1).abs() < 0.01 && (probe.velocity.x - 10.0).abs() < 0.2);
        assert!(mesh.deform(&grown[1..], 0.01).is_err());
    }

    #[test]
    fn open_meshes_are_refused() {
        let (positions, triangles) = shapes::square(2);
        let error = ColliderMesh::new(positions, triangles).unwrap_err();
        assert_eq!(error, MeshError(SignedSurfaceError::Open(8)));
    }
}
