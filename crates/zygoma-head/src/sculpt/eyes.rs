//! Eyelids: a shell around the eyeball with an almond-shaped opening, and the pocket that holds the eye.

use glam::DVec3;

use super::field::{at, bell, carve, ellipsoid, join, ramp};

/// Centre of the left eyeball.
pub(crate) const CENTRE: DVec3 = at(31.2, 13.0, 70.0);
/// Radius of the eyeball.
pub(crate) const RADIUS: f64 = 12.8;
/// Radius of the pocket behind the lids.
pub(crate) const POCKET: f64 = RADIUS + 0.35;
/// Radius of the sphere on which the lid margins meet when the eye closes.
pub(crate) const MARGIN: f64 = RADIUS + 1.3;
const LID: f64 = RADIUS + 2.9;

/// Coordinates of a point in front of the eye: lateral offset over the margin radius (outwards positive), and
/// the angle of the lid's rotation about the eye's horizontal axis.
pub(crate) fn lid_coordinates(p: DVec3) -> (f64, f64) {
    let q = p - CENTRE;
    (q.x / MARGIN, q.y.atan2(q.z))
}

const INNER: f64 = -0.92;
const OUTER: f64 = 0.91;

/// Angle from the upper margin to the fold of the upper lid.
const FOLD: f64 = 0.36;
/// How deep that fold is.
const FOLD_DEPTH: f64 = 1.0;

/// Angles of the lower and the upper margin in the neutral face.
pub(crate) fn margins(xi: f64) -> (f64, f64) {
    let u = (2.0 * xi - INNER - OUTER) / (OUTER - INNER);
    let s = (1.0 - u * u).max(-0.12);
    // Between an ellipse, which looks startled, and a lens: an almond.
    let open = 1.7 * s / (s + 0.7);
    let middle = -0.03 + 0.10 * xi;
    let upper = 0.335 * open * (1.0 - 0.20 * u);
    let lower = 0.335 * open * (1.0 + 0.18 * u);
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
    let socket = ellipsoid(p, CENTRE + at(1.5, 1.5, 17.0), at(18.5, 10.5, 9.5));
    let mut d = carve(head, socket, 16.0);
    // Fat under the brow hangs over the fold of the upper lid.
    let hood = ellipsoid(p, CENTRE + at(3.0, 16.0, 4.6), at(17.0, 7.0, 9.5));
    d = join(d, hood, 12.0);
    let lid_ball = distance - LID;
    d = join(d, lid_ball, 6.0);

    let (xi, angle) = lid_coordinates(p);
    let (lower, upper) = margins(xi);
    let around = q.y.hypot(q.z);
    // The fold of the upper lid runs along its margin.
    let from_fold = (angle - upper - FOLD) * around;
    let in_front = ramp(2.0, 8.0, q.z) * ramp(LID + 7.0, LID + 4.0, distance);
    d += FOLD_DEPTH * bell(from_fold, 1.2) * ramp(0.95, 0.6, xi.abs()) * in_front;

    let opening = (angle - upper).max(lower - angle) * around * 0.8;
    // Near the axis the angles are unreliable; the corners of the eye end the opening there.
    let u = (2.0 * xi - INNER - OUTER) / (OUTER - INNER);
    let opening = opening.max((u.abs() - 1.0) * 0.8 * RADIUS).max(-q.z);
    let pocket = distance - POCKET;
    d = carve(d, opening.max(distance - LID - 6.0), 1.3);
    carve(d, pocket, 0.5)
}
