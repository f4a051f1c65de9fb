//! Triangle and vertex normals.

use glam::{DVec3, Vec3};

/// Twice the area vector of a triangle: its direction is the normal, its length twice the area.
pub fn area_vector(a: DVec3, b: DVec3, c: DVec3) -> DVec3 {
    (b - a).cross(c - a)
}

/// Area of a triangle.
pub fn triangle_area(a: DVec3, b: DVec3, c: DVec3) -> f64 {
    0.5 * area_vector(a, b, c).length()
}

/// Area around each vertex: a third of the area of its triangles.
pub fn vertex_areas(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut areas = vec![0.0; positions.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        let third = area_vector(a, b, c).length() / 6.0;
        t.iter().for_each(|v| areas[*v as usize] += third);
    }
    areas
}

/// Unit vertex normals, each the area-weighted mean of the triangles around the vertex.
///
/// A vertex without area around it gets +Y, so that shading never meets a NaN.
pub fn vertex_normals(positions: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec3> {
    let mut normals = vec![Vec3::ZERO; positions.len()];
    for triangle in triangles {
        let [a, b, c] = triangle.map(|v| positions[v as usize]);
        let normal = (b - a).cross(c - a);
        for v in triangle {
            normals[*v as usize] += normal;
        }
    }
    for normal in &mut normals {
        *normal = normal.try_normalize().unwrap_or(Vec3::Y);
    }
    normals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_square_points_up_its_axis() {
        let positions = [Vec3::ZERO, Vec3::X, Vec3::X + Vec3::Y, Vec3::Y, Vec3::NEG_ONE];
        let normals = vertex_normals(&positions, &[[0, 1, 2], [0, 2, 3]]);
        assert!(normals[..4].iter().all(|n| n.abs_diff_eq(Vec3::Z, 1e-6)));
        assert_eq!(normals[4], Vec3::Y);
    }
}
