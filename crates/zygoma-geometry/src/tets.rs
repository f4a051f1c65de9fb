//! Volumes made of tetrahedra.

use std::collections::HashMap;

use glam::DVec3;

/// A tetrahedral mesh. A tetrahedron `[a, b, c, d]` is positive when `d` lies on the side of `abc` from which its
/// corners run counter-clockwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TetMesh {
    /// Vertices.
    pub positions: Vec<DVec3>,
    /// Corners of the tetrahedra.
    pub tets: Vec<[u32; 4]>,
}

/// Signed volume of a tetrahedron.
pub fn volume([a, b, c, d]: [DVec3; 4]) -> f64 {
    (b - a).cross(c - a).dot(d - a) / 6.0
}

/// The faces of a positive tetrahedron, counter-clockwise from outside.
fn outer_faces([a, b, c, d]: [u32; 4]) -> [[u32; 3]; 4] {
    [[a, c, b], [a, b, d], [b, c, d], [a, d, c]]
}

impl TetMesh {
    /// Positions of one tetrahedron's corners.
    pub fn corners(&self, tet: usize) -> [DVec3; 4] {
        self.tets[tet].map(|v| self.positions[v as usize])
    }

    /// Signed volumes, one per tetrahedron.
    pub fn volumes(&self) -> Vec<f64> {
        (0..self.tets.len()).map(|tet| volume(self.corners(tet))).collect()
    }

    /// Number of inverted or flat tetrahedra.
    pub fn inverted(&self) -> usize {
        (0..self.tets.len()).filter(|tet| volume(self.corners(*tet)) <= 0.0).count()
    }

    /// Faces that only one tetrahedron has, counter-clockwise from outside, in the order of their tetrahedra.
    pub fn boundary(&self) -> Vec<[u32; 3]> {
        let key = |mut face: [u32; 3]| {
            face.sort_unstable();
            face
        };
        let mut counts: HashMap<[u32; 3], u32> = HashMap::with_capacity(2 * self.tets.len());
        let faces = || self.tets.iter().flat_map(|tet| outer_faces(*tet));
        for face in faces() {
            *counts.entry(key(face)).or_insert(0) += 1;
        }
        faces().filter(|face| counts[&key(*face)] == 1).collect()
    }
}

/// Splits the prism between two triangles into three tetrahedra.
///
/// `outer` runs counter-clockwise seen from outside and `inner` holds the corresponding vertices below it. The
/// diagonal of each side starts at the smaller outer vertex, so that neighbouring prisms agree.
pub fn split_prism(outer: [u32; 3], inner: [u32; 3]) -> [[u32; 4]; 3] {
    let start = (0..3).min_by_key(|i| outer[*i]).unwrap_or(0);
    let turn = |t: [u32; 3]| [t[start], t[(start + 1) % 3], t[(start + 2) % 3]];
    let ([a, b, c], [x, y, z]) = (turn(outer), turn(inner));
    // The smallest outer vertex holds two diagonals, a–y and a–z; the third goes with the order of b and c.
    if b < c {
        [[x, y, z, a], [a, b, y, z], [a, c, b, z]]
    } else {
        [[x, y, z, a], [a, c, y, z], [a, c, b, y]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prism() -> Vec<DVec3> {
        let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)];
        [1.0, 0.0].iter().flat_map(|z| corners.map(|(x, y)| DVec3::new(x, y, *z))).collect()
    }

    #[test]
    fn every_numbering_of_a_prism_is_filled_by_positive_tetrahedra() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0u32]] {
            // Corner i of the prism gets the number order[i].
            let mut positions = vec![DVec3::ZERO; 6];
            for i in 0..3 {
                positions[order[i] as usize] = prism()[i];
                positions[order[i] as usize + 3] = prism()[i + 3];
            }
            let tets = split_prism(order, order.map(|v| v + 3)).to_vec();
            let mesh = TetMesh { positions, tets };
            assert_eq!(mesh.inverted(), 0, "{order:?} {:?}", mesh.volumes());
            assert!((mesh.volumes().iter().sum::<f64>() - 0.5).abs() < 1e-12);
            assert_eq!(mesh.boundary().len(), 8);
        }
    }

    #[test]
    fn neighbouring_prisms_share_their_side() {
        // Two triangles of a square, all numberings of its corners: the side between them must vanish.
        let square = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
        for first in 0..4 {
            for step in [1, 3] {
                let name = |corner: usize| ((first + step * corner) % 4) as u32;
                let mut positions = vec![DVec3::ZERO; 8];
                for (i, (x, y)) in square.iter().enumerate() {
                    positions[name(i) as usize] = DVec3::new(*x, *y, 1.0);
                    positions[name(i) as usize + 4] = DVec3::new(*x, *y, 0.0);
                }
                let triangles = [[0, 1, 2], [0, 2, 3]].map(|t| t.map(name));
                let tets = triangles.iter().flat_map(|t| split_prism(*t, t.map(|v| v + 4))).collect();
                let mesh = TetMesh { positions, tets };
                assert_eq!((mesh.inverted(), mesh.boundary().len()), (0, 12));
            }
        }
    }

    #[test]
    fn the_boundary_of_one_tetrahedron_faces_outwards() {
        let positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let mesh = TetMesh { positions, tets: vec![[0, 1, 2, 3]] };
        assert!((mesh.volumes()[0] - 1.0 / 6.0).abs() < 1e-15);
        for face in mesh.boundary() {
            let [a, b, c] = face.map(|v| mesh.positions[v as usize]);
            assert!((b - a).cross(c - a).dot((a + b + c) / 3.0 - DVec3::splat(0.25)) > 0.0);
        }
    }
}
