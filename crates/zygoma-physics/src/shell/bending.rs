//! Bending across the edge between two triangles (IFA eq. 9), with the side of the bend kept.
//!
//! Eq. 9 measures the vector q between the closest points of the common edge and of the segment between the two opposite
//! vertices, and knows only its length: a dent costs the same as a bump, and the energy has a peak at q = 0 on which no
//! actuation can hold a shell. Here q is measured along the normal n of the two triangles in the shape that is *wanted*:
//!
//! Ψ = ½ (‖e⁰‖ / h̄) κ (n · q − c⁰)²
//!
//! It resists flattening as much as folding, does not mind shear, and is convex, so that its constant matrix (eq. 11) makes
//! every step stable. Where a shell is carried away from its target, beyond ε^r, normals turn with it
//! ([`Stepper`](super::Stepper)): a bent ear is not straightened by where it should point. Within ε^r, which is what a fit
//! certifies, a shell in motion and one at rest have the very same forces.

use glam::DVec3;

use super::elements::Edge;

/// A bending element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bend {
    /// The two vertices of the common edge, then the two opposite ones.
    pub vertices: [u32; 4],
    /// q = Σ wᵢ xᵢ. They sum to zero.
    pub weights: [f64; 4],
    /// ‖e⁰‖ / h̄, where h̄ is a third of the mean height of the two triangles.
    pub scale: f64,
    /// c⁰ = n · q at rest: its sign tells the side.
    pub rest_distance: f64,
}

/// Slivers would otherwise get a bending stiffness without bound; uniform meshes have 3.5. Ours.
const LARGEST_SCALE: f64 = 30.0;

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
        let mut bend = Self { vertices, weights, scale, rest_distance: 0.0 };
        bend.rest_distance = bend.distance(rest, bend.normal(rest));
        Some(bend)
    }

    /// n · q: how far the edge lies from the line between the opposite vertices, along a normal.
    pub fn distance(&self, positions: &[DVec3], normal: DVec3) -> f64 {
        (0..4).map(|i| self.weights[i] * positions[self.vertices[i] as usize].dot(normal)).sum()
    }

    /// Unit normal of the two triangles together, or zero where they have none. Its sign depends on the
    /// order of the vertices, but not on the position of the shell.
    pub fn normal(&self, positions: &[DVec3]) -> DVec3 {
        let [a, b, c, d] = self.vertices.map(|v| positions[v as usize]);
        (b - a).cross(d - c).normalize_or_zero()
    }
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

    fn point() -> impl Strategy<Value = DVec3> {
        [-1.0..1.0, -1.0..1.0, -1.0..1.0f64].prop_map(DVec3::from_array)
    }

    fn bend_of(rest: &[DVec3; 4]) -> Bend {
        Bend::new(rest, &Edge { ends: [0, 1], opposite: vec![2, 3] }).unwrap()
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
    }

    #[test]
    fn a_regular_fold_has_the_known_element() {
        // Two right isosceles triangles on a common edge, folded by 90 degrees.
        let rest = [DVec3::ZERO, 2.0 * DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::new(1.0, 0.0, 1.0)];
        let bend = bend_of(&rest);
        assert_eq!(bend.weights, [0.5, 0.5, -0.5, -0.5]);
        assert!((bend.scale - 6.0).abs() < 1e-12);
        assert!((bend.rest_distance.abs() - 0.5f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn flattening_costs_as_much_as_folding_and_a_dent_more_than_flat() {
        let wings =
            |lift: f64| [DVec3::ZERO, DVec3::X, DVec3::new(0.5, 1.0, lift), DVec3::new(0.5, -1.0, lift)];
        let bend = bend_of(&wings(0.4));
        let energy = |lift: f64| {
            let x = wings(lift);
            (bend.distance(&x, bend.normal(&x)) - bend.rest_distance).powi(2)
        };
        assert!(energy(0.4) < 1e-24);
        assert!((energy(0.3) - 0.01).abs() < 1e-12 && (energy(0.5) - 0.01).abs() < 1e-12);
        assert!((energy(-0.4) - 0.64).abs() < 1e-12, "bent through: {}", energy(-0.4));
    }
}
