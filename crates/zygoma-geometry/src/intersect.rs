//! Self-intersections of a mesh.

use std::collections::HashMap;

use glam::{DVec3, IVec3};

/// Pairs of triangles without a common vertex that cross, smaller index first, sorted.
///
/// Triangles meet in a grid of cells about as large as the mean edge; candidates are tested edge against triangle, so
/// two triangles that only touch do not count.
pub fn crossing_pairs(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<(u32, u32)> {
    let corners = |t: &[u32; 3]| t.map(|v| positions[v as usize]);
    let edge_sum: f64 =
        triangles.iter().map(|t| positions[t[0] as usize].distance(positions[t[1] as usize])).sum();
    let cell = (2.0 * edge_sum / triangles.len().max(1) as f64).max(1e-12);
    let to_cell = |p: DVec3| (p / cell).floor().as_ivec3();
    let mut grid: HashMap<IVec3, Vec<u32>> = HashMap::new();
    let mut pairs = Vec::new();
    for (i, t) in (0u32..).zip(triangles) {
        let p = corners(t);
        let (low, high) = (p[0].min(p[1]).min(p[2]), p[0].max(p[1]).max(p[2]));
        let (from, to) = (to_cell(low), to_cell(high));
        let mut candidates = Vec::new();
        for x in from.x..=to.x {
            for y in from.y..=to.y {
                for z in from.z..=to.z {
                    let bin = grid.entry(IVec3::new(x, y, z)).or_default();
                    candidates.extend_from_slice(bin);
                    bin.push(i);
                }
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        for j in candidates {
            let other = &triangles[j as usize];
            let q = corners(other);
            let (other_low, other_high) = (q[0].min(q[1]).min(q[2]), q[0].max(q[1]).max(q[2]));
            let apart = low.cmpgt(other_high).any() || other_low.cmpgt(high).any();
            if !apart && !t.iter().any(|v| other.contains(v)) && triangles_cross(p, q) {
                pairs.push((j, i));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Whether an edge of one triangle passes through the inside of the other.
pub fn triangles_cross(p: [DVec3; 3], q: [DVec3; 3]) -> bool {
    let edges = |t: [DVec3; 3]| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])];
    edges(p).into_iter().any(|(a, b)| segment_pierces(a, b, q))
        || edges(q).into_iter().any(|(a, b)| segment_pierces(a, b, p))
}

fn segment_pierces(a: DVec3, b: DVec3, [p, q, r]: [DVec3; 3]) -> bool {
    let volume = |u: DVec3, v: DVec3, w: DVec3, x: DVec3| (v - u).cross(w - u).dot(x - u);
    if volume(p, q, r, a) * volume(p, q, r, b) >= 0.0 {
        return false;
    }
    let sides = [volume(a, b, p, q), volume(a, b, q, r), volume(a, b, r, p)];
    sides.iter().all(|s| *s > 0.0) || sides.iter().all(|s| *s < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_through_another_is_found_and_neighbours_are_not() {
        let positions = [
            DVec3::ZERO,
            DVec3::X,
            DVec3::Y,
            DVec3::new(0.2, 0.2, -0.5),
            DVec3::new(0.2, 0.2, 0.5),
            DVec3::new(5.0, 0.2, 0.5),
            DVec3::new(1.0, 1.0, 0.0),
        ];
        let triangles = [[0, 1, 2], [3, 4, 5], [1, 6, 2]];
        assert_eq!(crossing_pairs(&positions, &triangles), [(0, 1), (1, 2)]);
        assert_eq!(crossing_pairs(&positions, &[[0, 1, 2], [1, 6, 2]]), []);
    }
}
