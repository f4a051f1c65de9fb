//! Nearest points and signed distances on a part of a surface.

use glam::DVec3;
use zygoma_geometry::closest::{SurfacePoint, TriangleTree};

/// A surface, or some triangles of one, for closest-point queries.
///
/// The sign comes from vertex normals interpolated over the triangle, since parts of a surface are open.
pub(super) struct Nearest {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    normals: Vec<DVec3>,
    tree: TriangleTree<DVec3>,
}

/// The nearest point of a surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The surface's interpolated unit normal there.
    pub(super) normal: DVec3,
    /// Distance from the query, negative on the inner side.
    pub(super) signed: f64,
}

impl Nearest {
    /// Uses the triangles for which `keep` is true, with normals of the whole surface.
    pub(super) fn new(positions: &[DVec3], triangles: &[[u32; 3]], keep: impl Fn(&[u32; 3]) -> bool) -> Self {
        let normals = angle_weighted_normals(positions, triangles);
        let triangles: Vec<[u32; 3]> = triangles.iter().copied().filter(|t| keep(t)).collect();
        let tree = TriangleTree::new(positions, &triangles);
        Self { positions: positions.to_vec(), triangles, normals, tree }
    }

    /// The nearest point within a distance.
    pub(super) fn find(&self, p: DVec3, within: f64) -> Option<Found> {
        let nearest = self.tree.closest(&self.positions, &self.triangles, p, within)?;
        let normal =
            SurfacePoint::from(nearest).interpolate(&self.triangles, &self.normals).normalize_or_zero();
        let is_inside = (p - nearest.point).dot(normal) < 0.0;
        Some(Found { normal, signed: if is_inside { -nearest.distance } else { nearest.distance } })
    }
}

/// Unit vertex normals weighted by angle, so that the sign is right next to corners \[Baerentzen and Aanaes 2005\].
fn angle_weighted_normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        for i in 0..3 {
            let [apex, u, w] = [i, (i + 1) % 3, (i + 2) % 3].map(|k| positions[t[k] as usize]);
            let angle = (u - apex).angle_between(w - apex);
            if angle.is_finite() {
                normals[t[i] as usize] += angle * normal;
            }
        }
    }
    normals.iter().map(|normal| normal.normalize_or_zero()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_distances_to_an_octahedron() {
        let positions = [DVec3::X, DVec3::Y, DVec3::Z, -DVec3::X, -DVec3::Y, -DVec3::Z];
        let triangles =
            [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5u32]];
        let surface = Nearest::new(&positions, &triangles, |_| true);
        let centre = surface.find(DVec3::splat(0.01), 9.0).map_or(9.0, |f| f.signed);
        assert!((centre - (0.03 - 1.0) / 3f64.sqrt()).abs() < 1e-12);
        let outside = surface.find(DVec3::new(0.0, 3.0, 0.0), 9.0).map(|f| f.signed);
        assert_eq!(outside, Some(2.0));
        assert!(surface.find(DVec3::new(0.0, 3.0, 0.0), 1.0).is_none());
    }
}
