//! Colliders made of triangles: hands, tools, anything closed.

use glam::Vec3;
use zygoma_geometry::TriMesh;
use zygoma_geometry::closest::{Nearest, SignedSurface, SignedSurfaceError};

use super::sweep::turned;
use super::{MeshPoint, Probe};

/// A closed triangle mesh with a signed distance. Its vertices may move.
#[derive(Clone, Debug)]
pub struct ColliderMesh {
    surface: SignedSurface,
    /// The mesh before its last deformation; `None` until it is deformed.
    before: Option<Box<SignedSurface>>,
    bounding_radius: f32,
    /// Time of the last deformation, s; 0 for a mesh that stands still.
    duration: f32,
    /// The largest displacement of a vertex by the last deformation.
    deformation: f32,
}

/// A mesh that cannot be a collider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this mesh cannot be a collider: {0}")]
pub struct MeshError(#[from] pub SignedSurfaceError);

impl ColliderMesh {
    /// A collider from a closed mesh whose triangles face outwards.
    pub fn new(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        let surface = SignedSurface::new(TriMesh { positions, triangles })?;
        let mut mesh = Self { surface, before: None, bounding_radius: 0.0, duration: 0.0, deformation: 0.0 };
        mesh.update_bounding_radius();
        Ok(mesh)
    }

    /// Moves the vertices to where they are after `duration` seconds; with a duration of 0 they have no velocity. Allocates only the first
    /// time, or before if [`reserve`](Self::reserve) was called.
    pub fn deform(&mut self, positions: &[Vec3], duration: f32) -> Result<(), MeshError> {
        self.surface.check_positions(positions)?;
        self.reserve();
        if let Some(before) = &mut self.before {
            std::mem::swap(before.as_mut(), &mut self.surface);
        }
        self.surface.deform(positions)?;
        self.duration = duration;
        let moved = self.positions().iter().zip(self.positions_before());
        self.deformation = moved.map(|(a, b)| a.distance_squared(*b)).fold(0.0, f32::max).sqrt();
        self.update_bounding_radius();
        Ok(())
    }

    /// Allocates the memory that deformations need.
    pub fn reserve(&mut self) {
        self.before.get_or_insert_with(|| Box::new(self.surface.clone()));
    }

    /// The same mesh, larger by a factor.
    pub(super) fn scaled(&self, by: f32) -> Self {
        let mut larger = self.clone();
        larger.surface.scale(by);
        larger.before.iter_mut().for_each(|before| before.scale(by));
        larger.deformation *= by;
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

    /// Vertices a fraction of the current step before its end.
    pub fn positions_earlier(&self, fraction: f32) -> impl Iterator<Item = Vec3> {
        let fraction = if self.duration > 0.0 { fraction } else { 0.0 };
        let pairs = self.positions().iter().zip(self.positions_before());
        pairs.map(move |(now, before)| now.lerp(*before, fraction))
    }

    fn positions_before(&self) -> &[Vec3] {
        &self.surface_before().mesh().positions
    }

    /// The mesh now.
    pub(super) fn surface(&self) -> &SignedSurface {
        &self.surface
    }

    /// Position of a point of the surface now, in the mesh's own frame.
    pub(super) fn place_of(&self, point: &MeshPoint) -> Vec3 {
        let corners = self.triangles()[point.triangle as usize];
        (0..3).map(|i| point.barycentric[i] * self.positions()[corners[i] as usize]).sum()
    }

    /// The mesh before its last deformation.
    pub(super) fn surface_before(&self) -> &SignedSurface {
        self.before.as_deref().unwrap_or(&self.surface)
    }

    /// The largest displacement of a vertex in the current step; 0 while it stands still.
    pub(super) fn deformation(&self) -> f32 {
        if self.duration > 0.0 { self.deformation } else { 0.0 }
    }

    /// The point of the surface that was nearest to a point before the deformation: its position now, and its outward normal. `None` if
    /// it was farther than `within`.
    pub(super) fn carried_side(&self, point: Vec3, within: f32) -> Option<(Vec3, Vec3)> {
        let found =
            self.surface_before().closest(point, within).filter(|found| found.signed_distance <= within)?;
        let triangle = self.triangles()[found.nearest.triangle as usize];
        let normal = |positions: &[Vec3]| {
            let [a, b, c] = triangle.map(|v| positions[v as usize]);
            (b - a).cross(c - a).normalize_or_zero()
        };
        let surface = self.place_of(&point_of(&found.nearest));
        let [before, now] = [self.positions_before(), self.positions()].map(normal);
        Some((surface, turned(found.normal, before, now)))
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
            (mean(self.positions()) - mean(self.positions_before())) / self.duration
        } else {
            Vec3::ZERO
        };
        Some(Probe {
            distance: found.signed_distance,
            normal: found.normal,
            point: nearest.point,
            velocity,
            on_mesh: Some(point_of(&nearest)),
        })
    }
}

/// A nearest point by triangle and barycentric coordinates.
pub(super) fn point_of(nearest: &Nearest) -> MeshPoint {
    MeshPoint { triangle: nearest.triangle, barycentric: nearest.barycentric }
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
