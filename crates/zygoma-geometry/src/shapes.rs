//! Simple closed surfaces to press with and to test on.

use std::f32::consts::PI;

use glam::Vec3;

/// A sphere of radius 1 around the origin, of rings and sectors, seen from outside counter-clockwise.
pub fn sphere(rings: u32, sectors: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (rings, sectors) = (rings.max(2), sectors.max(3));
    let mut positions = vec![Vec3::Y];
    for ring in 1..rings {
        let (sin, cos) = (PI * ring as f32 / rings as f32).sin_cos();
        for sector in 0..sectors {
            let (s, c) = (2.0 * PI * sector as f32 / sectors as f32).sin_cos();
            positions.push(Vec3::new(sin * s, cos, sin * c));
        }
    }
    let last = positions.len() as u32;
    positions.push(Vec3::NEG_Y);
    let at = |ring: u32, sector: u32| 1 + (ring - 1) * sectors + sector % sectors;
    let mut triangles = Vec::new();
    for sector in 0..sectors {
        triangles.push([0, at(1, sector), at(1, sector + 1)]);
        for ring in 1..rings - 1 {
            let [a, b] = [at(ring, sector), at(ring, sector + 1)];
            let [c, d] = [at(ring + 1, sector), at(ring + 1, sector + 1)];
            triangles.extend([[a, c, d], [a, d, b]]);
        }
        triangles.push([at(rings - 1, sector), last, at(rings - 1, sector + 1)]);
    }
    (positions, triangles)
}

/// A flat square of side 1 in the plane z = 0, facing +Z, of `cells` × `cells` squares.
pub fn square(cells: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let cells = cells.max(1);
    let point = |i: u32, j: u32| Vec3::new(i as f32 / cells as f32, j as f32 / cells as f32, 0.0);
    let positions = (0..=cells).flat_map(|j| (0..=cells).map(move |i| point(i, j))).collect();
    let mut triangles = Vec::new();
    for j in 0..cells {
        for i in 0..cells {
            let [a, b] = [0, 1].map(|di| j * (cells + 1) + i + di);
            let [c, d] = [a, b].map(|v| v + cells + 1);
            triangles.extend([[a, b, d], [a, d, c]]);
        }
    }
    (positions, triangles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sphere_is_closed_and_faces_outwards() {
        let (positions, triangles) = sphere(10, 14);
        assert!(crate::topology::EdgeCounts::new(&triangles).border().is_empty());
        for t in &triangles {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            assert!((b - a).cross(c - a).dot(a + b + c) > 0.0);
        }
    }
}
