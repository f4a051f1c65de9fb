//! Eyelids: a shell around the eyeball with an almond-shaped opening, and the pocket that holds the eye.

use glam::DVec3;

use super::field::{at, carve, ellipsoid, join, tube};

/// Centre of the left eyeball.
pub(crate) const CENTRE: DVec3 = at(32.0, 13.0, 69.0);
/// Radius of the eyeball.
pub(crate) const RADIUS: f64 = 15.0;
/// Radius of the pocket behind the lids.
pub(crate) const POCKET: f64 = RADIUS + 0.35;
/// Radius of the sphere on which the lid margins meet when the eye closes.
pub(crate) const MARGIN: f64 = RADIUS + 1.4;
const LID: f64 = RADIUS + 2.65;

/// Coordinates of a point in front of the eye: lateral offset over the margin radius (outwards positive), and
/// the angle of the lid's rotation about the eye's horizontal axis.
pub(crate) fn lid_coordinates(p: DVec3) -> (f64, f64) {
    let q = p - CENTRE;
    (q.x / MARGIN, q.y.atan2(q.z))
}

const INNER: f64 = -0.88;
const OUTER: f64 = 0.89;

/// Angles of the lower and the upper margin in the neutral face.
pub(crate) fn margins(xi: f64) -> (f64, f64) {
    let u = (2.0 * xi - INNER - OUTER) / (OUTER - INNER);
    let s = (1.0 - u * u).max(-0.12);
    let open = 1.25 * s / (s + 0.25);
    let middle = -0.03 + 0.13 * xi;
    let upper = 0.45 * open * (1.0 - 0.16 * u);
    let lower = 0.40 * open * (1.0 + 0.14 * u);
    (middle - lower, middle + upper)
}

/// Inner and outer corner of the left eye.
pub(crate) fn corners() -> [DVec3; 2] {
    [0.96 * INNER, 0.96 * OUTER].map(|xi| {
        let (lower, upper) = margins(xi);
        let angle = 0.5 * (lower + upper);
        let around = MARGIN * (1.0 - xi * xi).sqrt();
        CENTRE + at(MARGIN * xi, around * angle.sin(), around * angle.cos())
    })
}

/// Adds lids and eye pocket to the head.
pub(crate) fn add(head: f64, p: DVec3) -> f64 {
    let q = p - CENTRE;
    let distance = q.length();
    if distance > 45.0 {
        return head;
    }
    // The socket: a hollow under the brow that the lid ball fills.
    let socket = ellipsoid(p, CENTRE + at(2.5, 0.5, 18.0), at(20.0, 13.0, 12.5));
    let mut d = carve(head, socket, 18.0);
    let lid_ball = distance - LID;
    d = join(d, lid_ball, 5.0);
    // The fold above the upper lid.
    let fold = tube(
        p,
        &[
            (CENTRE + at(-11.5, 8.0, 13.5), 0.3),
            (CENTRE + at(-3.0, 12.8, 14.4), 0.3),
            (CENTRE + at(6.0, 11.8, 14.4), 0.3),
            (CENTRE + at(14.5, 6.0, 11.0), 0.2),
        ],
        1.0,
    );
    d = carve(d, fold, 2.6);

    let (xi, angle) = lid_coordinates(p);
    let (lower, upper) = margins(xi);
    let around = q.y.hypot(q.z);
    let opening = (angle - upper).max(lower - angle) * around * 0.8;
    // Near the axis the angles are unreliable; the corners of the eye end the opening there.
    let u = (2.0 * xi - INNER - OUTER) / (OUTER - INNER);
    let opening = opening.max((u.abs() - 1.0) * 0.8 * RADIUS).max(-q.z);
    let pocket = distance - POCKET;
    d = carve(d, opening.max(distance - LID - 6.0), 1.3);
    carve(d, pocket, 0.5)
}
