//! Colliders made of triangles: hands, tools, anything closed.

use glam::Vec3;
use zygoma_geometry::normals::vertex_normals;
use zygoma_geometry::topology::EdgeCounts;
use zygoma_geometry::triangle_tree::TriangleTree;

use super::{MeshPoint, Probe};

/// A closed triangle mesh with a signed distance; its vertices may move.
#[derive(Clone, Debug)]
pub struct ColliderMesh {
    positions: Vec<Vec3>,
    before: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    normals: Vec<Vec3>,
    tree: TriangleTree,
    reach: f32,
    duration: f32,
}

/// Why a mesh cannot be a collider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshError {
    /// A triangle names a vertex that is not there.
    #[error("triangle {0} of the collider names a vertex that does not exist")]
    BadIndex(usize),
    /// The mesh has a hole, so nothing is inside it.
    #[error("the collider's mesh is open: {0} of its edges have only one triangle; close its holes")]
    Open(usize),
    /// A position is not finite.
    #[error("vertex {0} of the collider has a coordinate that is not a number")]
    NotFinite(usize),
    /// Another number of vertices than the mesh has.
    #[error("the collider has {expected} vertices, but {given} positions were given")]
    VertexCount {
        /// Vertices of the mesh.
        expected: usize,
        /// Positions given.
        given: usize,
    },
}

impl ColliderMesh {
    /// A collider from a closed mesh whose triangles face outwards.
    pub fn new(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
            return Err(MeshError::NotFinite(vertex));
        }
        let outside = |t: &[u32; 3]| t.iter().any(|v| *v as usize >= positions.len());
        if let Some(triangle) = triangles.iter().position(outside) {
            return Err(MeshError::BadIndex(triangle));
        }
        let border = EdgeCounts::new(&triangles).border();
        if !border.is_empty() {
            return Err(MeshError::Open(border.len()));
        }
        let normals = vertex_normals(&positions, &triangles);
        let tree = TriangleTree::new(&positions, &triangles);
        let mut mesh = Self {
            before: positions.clone(),
            positions,
            triangles,
            normals,
            tree,
            reach: 0.0,
            duration: 0.0,
        };
        mesh.measure();
        Ok(mesh)
    }

    /// Moves the vertices to where they are after `duration` seconds; no allocation.
    pub fn deform(&mut self, positions: &[Vec3], duration: f32) -> Result<(), MeshError> {
        if positions.len() != self.positions.len() {
            return Err(MeshError::VertexCount { expected: self.positions.len(), given: positions.len() });
        }
        if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
            return Err(MeshError::NotFinite(vertex));
        }
        self.before.copy_from_slice(&self.positions);
        self.positions.copy_from_slice(positions);
        self.duration = duration;
        self.normals.fill(Vec3::ZERO);
        for t in &self.triangles {
            let [a, b, c] = t.map(|v| self.positions[v as usize]);
            for v in t {
                self.normals[*v as usize] += (b - a).cross(c - a);
            }
        }
        for normal in &mut self.normals {
            *normal = normal.normalize_or_zero();
        }
        self.tree.refit(&self.positions, &self.triangles);
        self.measure();
        Ok(())
    }

    /// The same mesh, larger by a factor.
    pub(super) fn scaled(&self, by: f32) -> Self {
        let mut larger = self.clone();
        for p in larger.positions.iter_mut().chain(&mut larger.before) {
            *p *= by;
        }
        larger.tree.refit(&larger.positions, &larger.triangles);
        larger.measure();
        larger
    }

    fn measure(&mut self) {
        self.reach = self.positions.iter().map(|p| p.length_squared()).fold(0.0, f32::max).sqrt();
    }

    /// Vertices now.
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// Triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    pub(super) fn reach(&self) -> f32 {
        self.reach
    }

    /// Distance, way out and velocity at a point in the mesh's own frame.
    ///
    /// Inside or outside is told by the normals of the vertices around the nearest point, which is safe at edges and corners
    /// where the normal of one triangle alone is not.
    pub(super) fn probe(&self, point: Vec3, within: f32) -> Option<Probe> {
        // Most points that are asked for are nowhere near.
        let (low, high) = self.tree.bounds();
        if point.distance_squared(point.clamp(low, high)) > within * within {
            return None;
        }
        // A point deep inside is farther from the surface than `within`, and must be found all the same. None is deeper than the radius of a ball
        // that fits between the bounds; a little more, for rounding.
        let deepest = 0.51 * (high - low).min_element();
        let nearest = self.tree.closest(&self.positions, &self.triangles, point, deepest.max(within))?;
        let corners = self.triangles[nearest.triangle as usize];
        let mean = |values: &[Vec3]| -> Vec3 {
            (0..3).map(|i| nearest.barycentric[i] * values[corners[i] as usize]).sum()
        };
        let facing = mean(&self.normals);
        let offset = point - nearest.point;
        let sign = if offset.dot(facing) < 0.0 { -1.0 } else { 1.0 };
        let normal = (sign * offset).try_normalize().unwrap_or(facing.normalize_or(Vec3::Z));
        let velocity = if self.duration > 0.0 {
            (mean(&self.positions) - mean(&self.before)) / self.duration
        } else {
            Vec3::ZERO
        };
        Some(Probe {
            distance: sign * nearest.distance,
            normal,
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
        assert_eq!(
            mesh.deform(&grown[1..], 0.01).unwrap_err(),
            MeshError::VertexCount { expected: grown.len(), given: grown.len() - 1 }
        );
    }

    #[test]
    fn open_meshes_are_refused() {
        let (positions, triangles) = shapes::square(2);
        assert_eq!(ColliderMesh::new(positions, triangles).unwrap_err(), MeshError::Open(8));
    }
}
