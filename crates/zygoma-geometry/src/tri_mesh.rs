//! Triangle meshes.

use glam::DVec3;

use crate::point::Point;

/// A triangle mesh. Triangles run counter-clockwise seen from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct TriMesh<P = DVec3> {
    /// Vertices.
    pub positions: Vec<P>,
    /// The three vertices of each triangle.
    pub triangles: Vec<[u32; 3]>,
}

impl<P> Default for TriMesh<P> {
    fn default() -> Self {
        Self { positions: Vec::new(), triangles: Vec::new() }
    }
}

/// Arrays that do not make a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TriMeshError {
    /// A triangle names a vertex that is not there.
    #[error("triangle {triangle} names vertex {vertex}, but there are only {count} vertices")]
    BadIndex {
        /// The triangle.
        triangle: usize,
        /// The vertex that it names.
        vertex: u32,
        /// Number of vertices.
        count: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("vertex {0} has a coordinate that is not a finite number")]
    NotFinite(usize),
}

/// Checks that all coordinates are finite and all triangles name existing vertices.
pub fn check_mesh<P: Point>(positions: &[P], triangles: &[[u32; 3]]) -> Result<(), TriMeshError> {
    if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
        return Err(TriMeshError::NotFinite(vertex));
    }
    let count = positions.len();
    for (triangle, corners) in triangles.iter().enumerate() {
        if let Some(vertex) = corners.iter().find(|v| **v as usize >= count) {
            return Err(TriMeshError::BadIndex { triangle, vertex: *vertex, count });
        }
    }
    Ok(())
}

impl<P: Point> TriMesh<P> {
    /// A mesh from arrays that pass [`check_mesh`].
    pub fn new(positions: Vec<P>, triangles: Vec<[u32; 3]>) -> Result<Self, TriMeshError> {
        check_mesh(&positions, &triangles)?;
        Ok(Self { positions, triangles })
    }

    /// Positions of the corners of a triangle.
    ///
    /// # Panics
    /// If there is no such triangle.
    pub fn corners(&self, triangle: usize) -> [P; 3] {
        self.triangles[triangle].map(|v| self.positions[v as usize])
    }

    /// Appends a convex polygon as a fan of triangles with vertices of their own.
    pub fn push_polygon(&mut self, polygon: &[P]) {
        let first = self.positions.len() as u32;
        self.positions.extend(polygon);
        self.triangles.extend((2..polygon.len() as u32).map(|i| [first, first + i - 1, first + i]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_arrays_are_named() {
        let corners = vec![DVec3::ZERO, DVec3::X, DVec3::Y];
        assert!(TriMesh::new(corners.clone(), vec![[0, 1, 2]]).is_ok());
        let beyond = TriMesh::new(corners.clone(), vec![[0, 1, 2], [0, 1, 3]]).unwrap_err();
        assert_eq!(beyond, TriMeshError::BadIndex { triangle: 1, vertex: 3, count: 3 });
        let broken = vec![DVec3::ZERO, DVec3::NAN, DVec3::Y];
        assert_eq!(TriMesh::new(broken, vec![[0, 1, 2]]).unwrap_err(), TriMeshError::NotFinite(1));
    }

    #[test]
    fn a_polygon_becomes_a_fan() {
        let mut mesh = TriMesh::default();
        mesh.push_polygon(&[DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Y, DVec3::Y]);
        mesh.push_polygon(&[DVec3::Z, DVec3::X, DVec3::Y]);
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [4, 5, 6]]);
        assert_eq!(mesh.corners(2), [DVec3::Z, DVec3::X, DVec3::Y]);
    }
}
