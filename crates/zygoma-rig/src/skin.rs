//! Finds the mesh of a file that is the skin.

use zygoma_geometry::normals::triangle_area;

use crate::RigMesh;

/// Smallest displacement that counts, as a fraction of the mesh's size. Ours: below this, files carry
/// rounding noise.
const MOVED: f32 = 1e-4;

/// The mesh with the most area that any shape moves; the one with the most area if none moves.
/// The first of equals; 0 for no meshes.
pub fn find_skin(meshes: &[RigMesh]) -> usize {
    let areas: Vec<(f64, f64)> = meshes.iter().map(moved_and_whole_area).collect();
    let best = |areas: &mut dyn Iterator<Item = f64>| {
        let mut best = (0, 0.0);
        for (index, area) in areas.enumerate() {
            if area > best.1 {
                best = (index, area);
            }
        }
        (best.1 > 0.0).then_some(best.0)
    };
    best(&mut areas.iter().map(|(moved, _)| *moved))
        .or_else(|| best(&mut areas.iter().map(|(_, whole)| *whole)))
        .unwrap_or(0)
}

/// The area that any shape moves, and the whole area.
pub(crate) fn moved_and_whole_area(mesh: &RigMesh) -> (f64, f64) {
    let low = mesh.positions.iter().copied().reduce(glam::Vec3::min).unwrap_or_default();
    let high = mesh.positions.iter().copied().reduce(glam::Vec3::max).unwrap_or_default();
    let least = MOVED * (high - low).length();
    let mut moved = vec![false; mesh.positions.len()];
    for (vertex, offset) in mesh.shapes.iter().flat_map(|shape| shape.deltas.iter()) {
        moved[vertex as usize] |= offset.length() > least;
    }
    let (mut moved_area, mut area) = (0.0, 0.0);
    for triangle in mesh.faces.triangles() {
        let [a, b, c] = triangle.map(|v| mesh.positions[v as usize].as_dvec3());
        let size = triangle_area(a, b, c);
        area += size;
        if triangle.iter().any(|v| moved[*v as usize]) {
            moved_area += size;
        }
    }
    (moved_area, area)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shape, SparseDeltas};
    use glam::{DAffine3, Vec3};
    use zygoma_geometry::Faces;

    fn square(size: f32, moved_by: f32) -> RigMesh {
        let positions = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let deltas = SparseDeltas { vertices: vec![2], offsets: vec![Vec3::Z * moved_by] };
        RigMesh {
            name: "square".into(),
            positions: positions.iter().map(|[x, y]| Vec3::new(*x, *y, 0.0) * size).collect(),
            faces: Faces::from_triangles(&[[0, 1, 2], [0, 2, 3]]),
            uvs: None,
            shapes: vec![Shape { name: "up".into(), deltas }],
            regions: Vec::new(),
            to_rig: DAffine3::IDENTITY,
            quantum: 1e-6,
        }
    }

    #[test]
    fn moved_area_beats_area() {
        assert_eq!(find_skin(&[square(5.0, 0.0), square(1.0, 0.1), square(2.0, 0.1)]), 2);
    }

    #[test]
    fn noise_does_not_move() {
        assert_eq!(find_skin(&[square(5.0, 1e-5), square(1.0, 0.1)]), 1);
    }

    #[test]
    fn without_motion_the_largest_mesh_is_the_skin() {
        assert_eq!(find_skin(&[square(1.0, 0.0), square(5.0, 0.0), square(5.0, 0.0)]), 1);
        assert_eq!(find_skin(&[]), 0);
    }
}
