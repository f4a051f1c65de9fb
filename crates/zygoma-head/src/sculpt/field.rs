//! Sculpting primitives: signed distances of simple solids and their smooth blends, in millimetres.

use glam::DVec3;

/// Shorthand for a point.
pub(crate) const fn at(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

/// The union of two solids, rounded over a width `k`.
pub(crate) fn join(a: f64, b: f64, k: f64) -> f64 {
    let h = (k - (a - b).abs()).max(0.0) / k;
    a.min(b) - 0.25 * k * h * h
}

/// Solid `a` without solid `b`, rounded over a width `k`.
pub(crate) fn carve(a: f64, b: f64, k: f64) -> f64 {
    -join(-a, b, k)
}

/// The intersection of two solids, rounded over a width `k`.
pub(crate) fn common(a: f64, b: f64, k: f64) -> f64 {
    -join(-a, -b, k)
}

/// An ellipsoid along the axes (a first-order distance).
pub(crate) fn ellipsoid(p: DVec3, centre: DVec3, radii: DVec3) -> f64 {
    let q = (p - centre) / radii;
    let scale = (q / radii).length();
    if scale < 1e-12 {
        return -radii.min_element();
    }
    let length = q.length();
    length * (length - 1.0) / scale
}

/// An elliptical pillbox with a soft rim: round seen from above, nearly a box seen from the side (a first-order
/// distance).
pub(crate) fn cushion(p: DVec3, centre: DVec3, radii: DVec3) -> f64 {
    let q = (p - centre) / radii;
    let round = q.x * q.x + q.z * q.z;
    let norm = (round * round + q.y.powi(4)).powf(0.25);
    if norm < 0.2 {
        return -radii.min_element();
    }
    let slope = (DVec3::new(round * q.x, q.y.powi(3), round * q.z) / radii).length() / norm.powi(3);
    (norm - 1.0) / slope
}

/// A ball.
pub(crate) fn ball(p: DVec3, centre: DVec3, radius: f64) -> f64 {
    p.distance(centre) - radius
}

/// A capsule whose radius changes from one end to the other.
pub(crate) fn rod(p: DVec3, (a, ra): (DVec3, f64), (b, rb): (DVec3, f64)) -> f64 {
    let along = b - a;
    let t = ((p - a).dot(along) / along.length_squared()).clamp(0.0, 1.0);
    p.distance(a + t * along) - (ra + t * (rb - ra))
}

/// A tube through points with a radius at each.
pub(crate) fn tube(p: DVec3, knots: &[(DVec3, f64)], k: f64) -> f64 {
    knots.windows(2).map(|w| rod(p, w[0], w[1])).fold(f64::MAX, |all, one| join(all, one, k))
}

/// A smooth curve through points with a radius at each, as knots for [`tube`]: four pieces between neighbours
/// (Catmull and Rom's spline).
pub(crate) fn smooth(knots: &[(DVec3, f64)]) -> Vec<(DVec3, f64)> {
    const PIECES: usize = 4;
    let last = knots.len() - 1;
    let knot = |i: usize| (knots[i].0, knots[i].1);
    let mut fine = Vec::with_capacity(PIECES * last + 1);
    for i in 0..last {
        let [(a, ra), (b, rb), (c, rc), (d, rd)] =
            [knot(i.saturating_sub(1)), knot(i), knot(i + 1), knot((i + 2).min(last))];
        for piece in 0..PIECES {
            let t = piece as f64 / PIECES as f64;
            let weights = [
                -0.5 * t + t * t - 0.5 * t * t * t,
                1.0 - 2.5 * t * t + 1.5 * t * t * t,
                0.5 * t + 2.0 * t * t - 1.5 * t * t * t,
                -0.5 * t * t + 0.5 * t * t * t,
            ];
            let at = weights[0] * a + weights[1] * b + weights[2] * c + weights[3] * d;
            let radius = weights[0] * ra + weights[1] * rb + weights[2] * rc + weights[3] * rd;
            fine.push((at, radius));
        }
    }
    fine.push(knots[last]);
    fine
}

/// A smooth step from 0 at `from` to 1 at `to`.
pub(crate) fn ramp(from: f64, to: f64, value: f64) -> f64 {
    let t = ((value - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// A bell of height 1 and the given half width.
pub(crate) fn bell(value: f64, width: f64) -> f64 {
    (-(value / width).powi(2)).exp()
}
