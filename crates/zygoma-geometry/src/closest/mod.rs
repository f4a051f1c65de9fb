//! Closest points: on a triangle, on a mesh ([`TriangleTree`]), and with a signed distance on a closed mesh ([`SignedSurface`]).

mod signed;
mod tree;

use glam::{DVec3, Vec3};

pub use signed::{SignedNearest, SignedSurface, SignedSurfaceError};
pub use tree::{Hit, Nearest, TriangleTree};

use crate::point::Point;

/// A point of a triangle mesh, by triangle and barycentric coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    /// The triangle.
    pub triangle: u32,
    /// Weights of the triangle's corners; not negative, sum 1.
    pub barycentric: [f64; 3],
}

impl From<Nearest<DVec3>> for SurfacePoint {
    fn from(nearest: Nearest<DVec3>) -> Self {
        Self { triangle: nearest.triangle, barycentric: nearest.barycentric }
    }
}

impl SurfacePoint {
    /// The values at the corners, interpolated.
    pub fn interpolate(&self, triangles: &[[u32; 3]], values: &[DVec3]) -> DVec3 {
        let corners = triangles[self.triangle as usize];
        (0..3).map(|i| self.barycentric[i] * values[corners[i] as usize]).sum()
    }
}

/// Barycentric coordinates of the point of triangle `abc` that is closest to `p`.
///
/// The plane's regions around the triangle are distinguished by signs of dot products, corners first
/// (\[Ericson 2005\] §5.1.5). A triangle without area gives one of its closest corners or edges.
pub fn closest_on_triangle(p: DVec3, [a, b, c]: [DVec3; 3]) -> [f64; 3] {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return [0.0, 1.0, 0.0];
    }
    let vc = d1 * d4 - d3 * d2;
    // An edge without length has no place on it: another edge takes its part.
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 && d1 > d3 {
        let v = d1 / (d1 - d3);
        return [1.0 - v, v, 0.0];
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return [0.0, 0.0, 1.0];
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 && d2 > d6 {
        let w = d2 / (d2 - d6);
        return [1.0 - w, 0.0, w];
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 && (d4 - d3) + (d5 - d6) > 0.0 {
        let w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return [0.0, 1.0 - w, w];
    }
    let sum = va + vb + vc;
    if !(sum > 0.0 && va.min(vb).min(vc) >= -1e-9 * sum) {
        // A triangle without area: the signs are rounding.
        let [da, db, dc] = [a, b, c].map(|corner| corner.distance_squared(p));
        return match () {
            () if da <= db && da <= dc => [1.0, 0.0, 0.0],
            () if db <= dc => [0.0, 1.0, 0.0],
            () => [0.0, 0.0, 1.0],
        };
    }
    [va / sum, vb / sum, vc / sum]
}

/// The point with these barycentric coordinates.
pub fn at_barycentric([u, v, w]: [f64; 3], [a, b, c]: [DVec3; 3]) -> DVec3 {
    u * a + v * b + w * c
}

/// [`closest_on_triangle`] in single precision, for queries per frame.
pub fn closest_on_triangle_f32(p: Vec3, corners: [Vec3; 3]) -> [f32; 3] {
    Point::closest_on_triangle(p, corners)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-1.0f64..1.0).prop_map(DVec3::from)
    }

    proptest! {
        #[test]
        fn no_sampled_point_of_the_triangle_is_closer(
            p in vector(), a in vector(), b in vector(), c in vector(),
        ) {
            let weights = closest_on_triangle(p, [a, b, c]);
            prop_assert!(weights.iter().all(|w| *w >= -1e-12));
            prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let found = p.distance(at_barycentric(weights, [a, b, c]));
            for i in 0..=20 {
                for j in 0..=20 - i {
                    let (v, w) = (f64::from(i) / 20.0, f64::from(j) / 20.0);
                    let other = p.distance(at_barycentric([1.0 - v - w, v, w], [a, b, c]));
                    prop_assert!(found <= other + 1e-9);
                }
            }
        }
    }

    #[test]
    fn a_triangle_without_area_still_gives_a_finite_point() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::X * 2.0];
        let weights = closest_on_triangle(DVec3::new(1.5, 1.0, 0.0), corners);
        assert!((at_barycentric(weights, corners) - DVec3::new(1.5, 0.0, 0.0)).length() < 1e-12);
        let weights = closest_on_triangle(DVec3::ONE, [DVec3::ZERO; 3]);
        assert!(weights.iter().all(|w| w.is_finite()));
        // Two corners in one place, whichever they are.
        for single in 0..3 {
            let mut corners = [DVec3::ZERO; 3];
            corners[single] = DVec3::X;
            let weights = closest_on_triangle(DVec3::new(0.25, 1.0, 0.0), corners);
            let found = at_barycentric(weights, corners);
            assert!(found.distance(DVec3::new(0.25, 0.0, 0.0)) < 1e-12, "{single}: {found}");
        }
    }
}
