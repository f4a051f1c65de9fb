//! Tissue between two layers of one triangulation: each prism becomes three tetrahedra.

use glam::DVec3;
use zygoma_geometry::tets::{TetMesh, split_prism};

/// Corners of the three tetrahedra of one prism; `names` decide the split as in the whole mesh.
pub(super) fn split_positions(names: [u32; 3], outer: [DVec3; 3], inner: [DVec3; 3]) -> [[DVec3; 4]; 3] {
    // Local indices in the order of the names, so that the same diagonals are chosen.
    let mut order = [0usize, 1, 2];
    order.sort_by_key(|i| names[*i]);
    let mut rank = [0u32; 3];
    for (place, i) in order.iter().enumerate() {
        rank[*i] = place as u32;
    }
    let point = |v: u32| {
        let i = order[(v % 3) as usize];
        if v < 3 { outer[i] } else { inner[i] }
    };
    split_prism(rank, rank.map(|v| v + 3)).map(|tet| tet.map(point))
}

/// The tetrahedra between two layers: the outer layer's vertices first, then the inner layer's.
pub(crate) fn tissue(outer: &[DVec3], inner: &[DVec3], triangles: &[[u32; 3]]) -> TetMesh {
    let count = outer.len() as u32;
    let positions = outer.iter().chain(inner).copied().collect();
    let tets = triangles.iter().flat_map(|t| split_prism(*t, t.map(|v| v + count))).collect();
    TetMesh { positions, tets }
}
