//! Nearest points and signed distances on a surface, by a tree of boxes.

use glam::DVec3;
use zygoma_geometry::closest::closest_on_triangle;

const LEAF: usize = 6;

/// A surface that can be asked for its nearest point.
pub(super) struct Nearest {
    corners: Vec<[DVec3; 3]>,
    normals: Vec<[DVec3; 3]>,
    nodes: Vec<Node>,
}

struct Node {
    low: DVec3,
    high: DVec3,
    /// For a leaf its first triangle, otherwise its left child; the right one follows.
    first: usize,
    /// Triangles of a leaf; 0 otherwise.
    count: usize,
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
    /// Sorts the triangles that are kept.
    pub(super) fn new(positions: &[DVec3], triangles: &[[u32; 3]], keep: impl Fn(&[u32; 3]) -> bool) -> Self {
        let mut vertex_normals = vec![DVec3::ZERO; positions.len()];
        for t in triangles {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            for i in 0..3 {
                let (u, w) = (positions[t[(i + 1) % 3] as usize], positions[t[(i + 2) % 3] as usize]);
                let apex = positions[t[i] as usize];
                // Weighted by angle, so that the sign is right next to corners \[Baerentzen and Aanaes 2005\].
                let angle = (u - apex).angle_between(w - apex);
                let normal = (b - a).cross(c - a).normalize_or_zero();
                if angle.is_finite() {
                    vertex_normals[t[i] as usize] += angle * normal;
                }
            }
        }
        let mut order: Vec<[u32; 3]> = triangles.iter().copied().filter(|t| keep(t)).collect();
        let centre = |t: &[u32; 3]| t.iter().map(|v| positions[*v as usize]).sum::<DVec3>();
        let mut nodes = vec![Node { low: DVec3::ZERO, high: DVec3::ZERO, first: 0, count: order.len() }];
        let mut next = 0;
        while next < nodes.len() {
            let (first, count) = (nodes[next].first, nodes[next].count);
            let part = &mut order[first..first + count];
            let points = || part.iter().flatten().map(|v| positions[*v as usize]);
            nodes[next].low = points().fold(DVec3::MAX, DVec3::min);
            nodes[next].high = points().fold(DVec3::MIN, DVec3::max);
            if count > LEAF {
                let axis = (nodes[next].high - nodes[next].low).max_position();
                let half = count / 2;
                part.select_nth_unstable_by(half, |a, b| {
                    centre(a)[axis].total_cmp(&centre(b)[axis]).then(a.cmp(b))
                });
                nodes[next].first = nodes.len();
                nodes[next].count = 0;
                let child = |first, count| Node { low: DVec3::ZERO, high: DVec3::ZERO, first, count };
                nodes.push(child(first, half));
                nodes.push(child(first + half, count - half));
            }
            next += 1;
        }
        let corners = order.iter().map(|t| t.map(|v| positions[v as usize])).collect();
        let normals =
            order.iter().map(|t| t.map(|v| vertex_normals[v as usize].normalize_or_zero())).collect();
        Self { corners, normals, nodes }
    }

    /// The nearest point within a distance.
    pub(super) fn find(&self, p: DVec3, within: f64) -> Option<Found> {
        let mut best: Option<(f64, usize, [f64; 3])> = None;
        let mut reach = within;
        let mut stack = vec![0usize];
        while let Some(index) = stack.pop() {
            let node = &self.nodes[index];
            if self.box_distance(index, p) > reach {
                continue;
            }
            if node.count == 0 && node.first > 0 {
                let (a, b) = (node.first, node.first + 1);
                let a_first = self.box_distance(a, p) <= self.box_distance(b, p);
                stack.extend(if a_first { [b, a] } else { [a, b] });
                continue;
            }
            for t in node.first..node.first + node.count {
                let c = self.corners[t];
                let w = closest_on_triangle(p, c);
                let distance = (w[0] * c[0] + w[1] * c[1] + w[2] * c[2]).distance(p);
                if distance <= reach {
                    reach = distance;
                    best = Some((distance, t, w));
                }
            }
        }
        best.map(|(distance, t, w)| {
            let mix = |c: [DVec3; 3]| w[0] * c[0] + w[1] * c[1] + w[2] * c[2];
            let (point, normal) = (mix(self.corners[t]), mix(self.normals[t]).normalize_or_zero());
            let signed = if (p - point).dot(normal) < 0.0 { -distance } else { distance };
            Found { normal, signed }
        })
    }

    fn box_distance(&self, node: usize, p: DVec3) -> f64 {
        let node = &self.nodes[node];
        p.distance(p.clamp(node.low, node.high))
    }
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
