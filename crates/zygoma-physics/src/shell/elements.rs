//! What the rest shape decides: areas, edges and springs.

use glam::DVec3;

/// A spring along an edge. Its energy is ½ l κ ‖p₁ − p₂ − d‖² (IFA eq. 7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// The vertices at its ends, the smaller first.
    pub ends: [u32; 2],
    /// l^r, its length at rest.
    pub rest_length: f64,
}

impl Spring {
    pub(super) fn new(rest: &[DVec3], ends: [u32; 2]) -> Self {
        let [a, b] = ends.map(|v| rest[v as usize]);
        Self { ends, rest_length: a.distance(b) }
    }
}

/// An edge and the vertices opposite to it, one per triangle.
#[derive(Debug)]
pub(super) struct Edge {
    pub(super) ends: [u32; 2],
    pub(super) opposite: Vec<u32>,
}

/// Every edge once, sorted by its ends; opposite vertices in the order of the triangles.
pub(super) fn edges(triangles: &[[u32; 3]]) -> Vec<Edge> {
    let mut corners: Vec<([u32; 2], usize, u32)> = Vec::with_capacity(3 * triangles.len());
    for (index, [a, b, c]) in triangles.iter().copied().enumerate() {
        for (from, to, opposite) in [(a, b, c), (b, c, a), (c, a, b)] {
            corners.push(([from.min(to), from.max(to)], index, opposite));
        }
    }
    corners.sort_unstable();
    corners
        .chunk_by(|a, b| a.0 == b.0)
        .map(|group| Edge { ends: group[0].0, opposite: group.iter().map(|corner| corner.2).collect() })
        .collect()
}

/// Voronoi areas, with the usual split of obtuse triangles (half to the obtuse corner).
pub(super) fn vertex_areas(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut areas = vec![0.0; positions.len()];
    for triangle in triangles {
        let p = triangle.map(|v| positions[v as usize]);
        let doubled = (p[1] - p[0]).cross(p[2] - p[0]).length();
        let around = |k: usize| (p[(k + 1) % 3] - p[k], p[(k + 2) % 3] - p[k]);
        let dots = [0, 1, 2].map(|k| around(k).0.dot(around(k).1));
        let obtuse = dots.iter().position(|dot| *dot < 0.0);
        for k in 0..3 {
            let share = match obtuse {
                Some(corner) => doubled * if corner == k { 0.25 } else { 0.125 },
                None => {
                    let (next, last) = around(k);
                    (next.length_squared() * dots[(k + 2) % 3] + last.length_squared() * dots[(k + 1) % 3])
                        / (8.0 * doubled)
                }
            };
            areas[triangle[k] as usize] += share;
        }
    }
    areas
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_triangles_over_the_same_points_have_a_finite_bend() {
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Y];
        let bend = crate::shell::Bend::new(&rest, &Edge { ends: [0, 1], opposite: vec![2, 3] });
        assert!(bend.is_some_and(|bend| bend.weights.iter().all(|weight| weight.is_finite())));
    }

    fn point() -> impl Strategy<Value = DVec3> {
        [-1.0..1.0, -1.0..1.0, -1.0..1.0f64].prop_map(DVec3::from_array)
    }

    proptest! {
        #[test]
        fn areas_of_vertices_add_up_to_the_area(a in point(), b in point(), c in point()) {
            let doubled = (b - a).cross(c - a).length();
            prop_assume!(doubled > 1e-3);
            let areas = vertex_areas(&[a, b, c], &[[0, 1, 2]]);
            prop_assert!(areas.iter().all(|area| *area > 0.0));
            prop_assert!((areas.iter().sum::<f64>() - 0.5 * doubled).abs() < 1e-12);
        }
    }

    #[test]
    fn an_edge_of_three_triangles_does_not_bend() {
        let found = edges(&[[0, 1, 2], [1, 0, 3], [0, 1, 4]]);
        assert_eq!(found[0].opposite, [2, 3, 4]);
        assert!(crate::shell::Bend::new(&[DVec3::ZERO; 5], &found[0]).is_none());
    }
}
