//! Areas, springs and bending elements of the rest shape.

use glam::DVec3;

/// A spring along an edge. Its energy is ½ l κ ‖p₁ − p₂ − d‖² (IFA eq. 7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// The vertices at its ends, the smaller first.
    pub ends: [u32; 2],
    /// l^r, its length at rest.
    pub rest_length: f64,
}

/// A bending element across an edge between two triangles (IFA eq. 9).
///
/// Its energy is ½ scale κ max(‖q‖ − r, 0)², where q = Σ wᵢ xᵢ joins the closest points of the common edge and of
/// the segment between the two opposite vertices, and r is the length of q at rest, or zero while the element is bent
/// through.
///
/// IFA eq. 9 also resists being flattened, ‖q‖ < r. There the direction of q is mostly shear rather than bending, and its
/// energy has a peak at q = 0 that no actuation can hold a shell on: on a real rig of 8,000 triangles hundreds of
/// elements sat on it, the equilibrium jumped with every small change of stiffness, and no fit came near its end. Without
/// it the energy is convex (it is the convex envelope of IFA eq. 9 in q). Flattened skin still resists being bent through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bend {
    /// The two vertices of the common edge, then the two opposite ones.
    pub vertices: [u32; 4],
    /// q₁ − q₂ = Σ wᵢ xᵢ. They sum to zero.
    pub weights: [f64; 4],
    /// ‖e‖ / h̄, where h̄ is a third of the mean height of the two triangles.
    pub scale: f64,
    /// Length of q at rest.
    pub rest_distance: f64,
    /// Side of the surface that q points to at rest: +1 along the normal, −1 against it, and 0 where q
    /// has no side (closest points at the end of a segment).
    pub side: f64,
}

/// Slivers would otherwise get a bending stiffness without bound; uniform meshes have 3.5. Ours.
const LARGEST_SCALE: f64 = 30.0;

/// A bending element is bent through where q points to the wrong side of the surface. From the surface itself to this
/// sine of the angle beyond it, the free length fades out; with a jump, skin whose q lies nearly in the surface would jitter
/// for ever. Ours.
pub(super) const SIDEWAYS: f64 = 0.5;

impl Spring {
    pub(super) fn new(rest: &[DVec3], ends: [u32; 2]) -> Self {
        let [a, b] = ends.map(|v| rest[v as usize]);
        Self { ends, rest_length: a.distance(b) }
    }
}

impl Bend {
    /// The bending element of an edge, if it has exactly two triangles.
    pub(super) fn new(rest: &[DVec3], edge: &Edge) -> Option<Self> {
        let [c, d] = <[u32; 2]>::try_from(edge.opposite.as_slice()).ok()?;
        let vertices = [edge.ends[0], edge.ends[1], c, d];
        let [a, b, c, d] = vertices.map(|v| rest[v as usize]);
        let (s, t) = closest_on_segments(a, b, c, d);
        let weights = [1.0 - s, s, t - 1.0, -t];
        let length = a.distance(b);
        let heights = [c, d].map(|p| (p - a).cross(b - a).length() / length);
        let scale = (6.0 * length / (heights[0] + heights[1])).min(LARGEST_SCALE);
        let mut bend = Self { vertices, weights, scale, rest_distance: 0.0, side: 0.0 };
        let q = bend.span(rest);
        bend.rest_distance = q.length();
        let lift = q.normalize_or_zero().dot(bend.normal(rest));
        // At the end of a segment q lies in the surface rather than across it.
        bend.side = if lift.abs() > 0.5 { lift.signum() } else { 0.0 };
        Some(bend)
    }

    /// q = q₁ − q₂ = Σ wᵢ xᵢ.
    pub fn span(&self, positions: &[DVec3]) -> DVec3 {
        (0..4).map(|i| self.weights[i] * positions[self.vertices[i] as usize]).sum()
    }

    /// Unit normal of the two triangles together, or zero where they have none. Its sign depends on the
    /// order of the vertices, but not on the position of the shell.
    pub fn normal(&self, positions: &[DVec3]) -> DVec3 {
        let [a, b, c, d] = self.vertices.map(|v| positions[v as usize]);
        ((b - a).cross(c - a) - (b - a).cross(d - a)).normalize_or_zero()
    }

    /// The length up to which q is free: that at rest, or zero while the element is bent through.
    ///
    /// IFA eq. 9 depends on lengths only, so an element pushed through flat would come to rest on the wrong side; with zero
    /// it is drawn back to flat. In between the length fades out.
    pub fn free_distance(&self, positions: &[DVec3]) -> f64 {
        let lift = self.span(positions).normalize_or_zero().dot(self.normal(positions));
        self.rest_distance * (1.0 + lift * self.side / SIDEWAYS).clamp(0.0, 1.0)
    }

    /// Excess of q over its free length: the pull of the element per unit of `scale` κ.
    pub fn pull(&self, positions: &[DVec3]) -> DVec3 {
        let q = self.span(positions);
        q.normalize_or_zero() * (q.length() - self.free_distance(positions)).max(0.0)
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
pub(super) fn voronoi_areas(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut areas = vec![0.0; positions.len()];
    for triangle in triangles {
        let p = triangle.map(|v| positions[v as usize]);
        let doubled = (p[1] - p[0]).cross(p[2] - p[0]).length();
        let around = |k: usize| (p[(k + 1) % 3] - p[k], p[(k + 2) % 3] - p[k]);
        let dots = [0, 1, 2].map(|k| around(k).0.dot(around(k).1));
        let obtuse = dots.iter().position(|dot| *dot < 0.0);
        for k in 0..3 {
            let fraction = match obtuse {
                Some(corner) => doubled * if corner == k { 0.25 } else { 0.125 },
                None => {
                    let (next, last) = around(k);
                    (next.length_squared() * dots[(k + 2) % 3] + last.length_squared() * dots[(k + 1) % 3])
                        / (8.0 * doubled)
                }
            };
            areas[triangle[k] as usize] += fraction;
        }
    }
    areas
}

/// Parameters (s, t) in [0, 1] of the closest points a + s (b − a) and c + t (d − c) of two segments.
fn closest_on_segments(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> (f64, f64) {
    let (u, v, w) = (b - a, d - c, a - c);
    let (uu, uv, vv) = (u.dot(u), u.dot(v), v.dot(v));
    let (uw, vw) = (u.dot(w), v.dot(w));
    let crossing = uu * vv - uv * uv;
    // Parallel segments have no single closest pair: the middle of the edge is as good as any.
    let s = if crossing > 1e-9 * uu * vv { ((uv * vw - vv * uw) / crossing).clamp(0.0, 1.0) } else { 0.5 };
    // A segment without length is its start: two triangles over the same three points.
    let t = if vv > 0.0 { ((uv * s + vw) / vv).clamp(0.0, 1.0) } else { 0.0 };
    // Where t was clamped, the closest point of the edge moves.
    (((t * uv - uw) / uu).clamp(0.0, 1.0), t)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_triangles_over_the_same_points_have_a_finite_bend() {
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Y];
        let bend = Bend::new(&rest, &Edge { ends: [0, 1], opposite: vec![2, 3] });
        assert!(bend.is_some_and(|bend| bend.weights.iter().all(|weight| weight.is_finite())));
    }

    fn point() -> impl Strategy<Value = DVec3> {
        [-1.0..1.0, -1.0..1.0, -1.0..1.0f64].prop_map(DVec3::from_array)
    }

    proptest! {
        #[test]
        fn no_other_pair_of_points_is_closer(a in point(), b in point(), c in point(), d in point(),
                                             s in 0.0..=1.0f64, t in 0.0..=1.0f64) {
            prop_assume!(a.distance(b) > 0.1 && c.distance(d) > 0.1);
            let between = |s: f64, t: f64| (a.lerp(b, s) - c.lerp(d, t)).length();
            let (s0, t0) = closest_on_segments(a, b, c, d);
            prop_assert!((0.0..=1.0).contains(&s0) && (0.0..=1.0).contains(&t0));
            prop_assert!(between(s0, t0) <= between(s, t) + 1e-9);
        }

        #[test]
        fn areas_of_vertices_add_up_to_the_area(a in point(), b in point(), c in point()) {
            let doubled = (b - a).cross(c - a).length();
            prop_assume!(doubled > 1e-3);
            let areas = voronoi_areas(&[a, b, c], &[[0, 1, 2]]);
            prop_assert!(areas.iter().all(|area| *area > 0.0));
            prop_assert!((areas.iter().sum::<f64>() - 0.5 * doubled).abs() < 1e-12);
        }
    }

    #[test]
    fn a_regular_fold_has_the_known_element() {
        // Two right isosceles triangles on a common edge, folded by 90 degrees.
        let rest = [DVec3::ZERO, 2.0 * DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::new(1.0, 0.0, 1.0)];
        let edge = Edge { ends: [0, 1], opposite: vec![2, 3] };
        let bend = Bend::new(&rest, &edge).unwrap();
        assert_eq!(bend.weights, [0.5, 0.5, -0.5, -0.5]);
        assert!((bend.scale - 6.0).abs() < 1e-12);
        assert!((bend.rest_distance - 0.5f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn an_element_knows_when_it_is_bent_through() {
        let wings =
            |lift: f64| [DVec3::ZERO, DVec3::X, DVec3::new(0.5, 1.0, lift), DVec3::new(0.5, -1.0, lift)];
        let bend = Bend::new(&wings(0.4), &Edge { ends: [0, 1], opposite: vec![2, 3] }).unwrap();
        assert_eq!(bend.pull(&wings(0.4)), DVec3::ZERO);
        assert_eq!(bend.pull(&wings(0.1)), DVec3::ZERO);
        assert!((bend.pull(&wings(0.6)) + 0.2 * DVec3::Z).length() < 1e-12);
        assert!((bend.pull(&wings(-0.1)) - 0.1 * DVec3::Z).length() < 1e-12);
    }

    #[test]
    fn an_edge_of_three_triangles_does_not_bend() {
        let found = edges(&[[0, 1, 2], [1, 0, 3], [0, 1, 4]]);
        assert_eq!(found[0].opposite, [2, 3, 4]);
        assert!(Bend::new(&[DVec3::ZERO; 5], &found[0]).is_none());
    }
}
