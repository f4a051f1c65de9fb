//! The mouth: lips, philtrum, the slit that is sculpted open, and the bag behind it.

use glam::DVec3;

use super::field::{at, ball, bell, carve, cushion, join, ramp, rod, tube};

/// Distance of the mouth's corners from the middle.
pub(crate) const CORNER_X: f64 = 24.2;
const SLOT_END: f64 = 23.2;
const SLOT_HALF_CENTRE: f64 = 3.0;
const SLOT_HALF_END: f64 = 1.0;
/// Half of the gap between the closed lips.
const REST_HALF_GAP: f64 = 0.17;

/// Height of the line where the lips meet.
pub(crate) fn line_y(x: f64) -> f64 {
    let u = (x / CORNER_X).min(1.4);
    -45.6 - 0.9 * bell(x, 5.0) - 0.5 * u * u * u * u + 0.2 * bell(x - 11.0, 5.0)
}

/// Z coordinate of the front of the lips.
pub(crate) fn front_z(x: f64) -> f64 {
    108.0 - 15.0 * (x / CORNER_X).powi(2)
}

/// Height of the slit at a point: behind the front of the lips it slopes down, so that one cannot see through it.
pub(crate) fn slit_y(p: DVec3) -> f64 {
    let x = p.x.abs();
    line_y(x) - 2.2 * ramp(0.0, 11.0, front_z(x.min(CORNER_X)) - p.z)
}

/// Half height of the sculpted slit at `x`.
pub(crate) fn slot_half(x: f64) -> f64 {
    let x = x.abs();
    if x <= SLOT_END {
        return SLOT_HALF_CENTRE + (SLOT_HALF_END - SLOT_HALF_CENTRE) * x / SLOT_END;
    }
    (SLOT_HALF_END.powi(2) - (x - SLOT_END).powi(2)).max(0.0).sqrt()
}

/// How far the slit is open at a depth: closed behind the mouth bag, so that it does not affect the neck.
fn opening(p: DVec3) -> f64 {
    slot_half(p.x) * ramp(20.0, 60.0, p.z)
}

/// How much tissue at a distance beyond the slit gives way to it: less far at the corners, not at all at the eyes.
fn give(half: f64, beyond: f64) -> f64 {
    (-beyond / (2.0 + 4.0 * half)).exp() * ramp(34.0, 20.0, beyond)
}

/// Maps the sculpted space with an open slit to the space in which the lips are modelled closed.
pub(crate) fn to_closed(p: DVec3) -> DVec3 {
    let line = slit_y(p);
    let h = opening(p);
    let t = p.y - line;
    let beyond = (t.abs() - h).max(0.0);
    let kept = (t.abs() - h * give(h, beyond)).max(0.0);
    DVec3::new(p.x, line + t.signum() * kept, p.z)
}

/// Closes a vertex of the open sculpture to the rest gap.
pub(crate) fn close(p: DVec3) -> DVec3 {
    let line = slit_y(p);
    let t = p.y - line;
    let h = opening(p);
    let beyond = (t.abs() - h).max(0.0);
    let shift = (h - REST_HALF_GAP * (h / 0.5).min(1.0)) * give(h, beyond);
    DVec3::new(p.x, p.y - t.signum() * shift.min(t.abs()), p.z)
}

/// Signed distance to the slit.
pub(crate) fn slot(p: DVec3) -> f64 {
    let y = p.y - slit_y(p);
    let x = (p.x - 0.0).clamp(0.0, SLOT_END);
    let half = SLOT_HALF_CENTRE + (SLOT_HALF_END - SLOT_HALF_CENTRE) * x / SLOT_END;
    let across = DVec3::new(p.x - x, y, 0.0).length() - half;
    across.max(62.0 - p.z)
}

/// Adds the lips to the closed-mouth head.
pub(crate) fn add(head: f64, p: DVec3) -> f64 {
    if ball(p, at(0.0, -47.0, 98.0), 40.0) > 10.0 {
        return head;
    }
    let x = p.x;
    let u = (x / CORNER_X).min(1.2);
    let s = DVec3::new((x * x + 1.0).sqrt(), p.y, p.z);
    let slope = 1.0 / (1.0 + (2.0 * 15.0 * x / CORNER_X.powi(2)).powi(2)).sqrt();
    let sweep = |y: f64, z: f64, r: f64| ((p.y - y).hypot((p.z - z) * slope) - r) * 0.95;

    let fade = (1.0 - u * u).max(0.0);
    let upper_r = 1.5 + 3.3 * fade.powf(0.8);
    let upper_y = line_y(x) + 0.2 + 2.6 * fade.powf(0.75) + 1.0 * bell(x - 6.5, 4.0) - 0.3 * bell(x, 3.0);
    let sink = 3.2 * ramp(0.82, 1.15, x / CORNER_X) + 2.0 * (x - CORNER_X - 3.0).max(0.0);
    let upper = sweep(upper_y, front_z(x) - sink - upper_r + 0.8 + 1.7 * fade + 0.7 * bell(x, 5.0), upper_r);
    let lower_r = 1.6 + 4.0 * fade.powf(0.9);
    let lower_y = line_y(x) - 0.2 - 3.8 * fade.powf(0.85);
    let lower = sweep(lower_y, front_z(x) - sink - lower_r + 0.4 + 1.5 * fade, lower_r);

    let philtrum = rod(p, (at(0.0, -28.0, 106.0), 0.6), (at(0.0, -35.5, 109.6), 1.8));
    let ridge = tube(s, &[(at(3.6, -27.0, 99.6), 1.2), (at(5.6, -38.0, 103.6), 1.8)], 2.0);
    let mut d = join(head, ridge, 8.0);
    d = carve(d, philtrum, 5.0);
    d = join(d, upper, 2.6);
    d = join(d, lower, 4.0);
    // The hollow between lip and chin, and the dimple beside the corner.
    let sulcus = rod(s, (at(0.0, -63.0, 108.3), 5.6), (at(12.0, -61.0, 104.5), 4.0));
    d = carve(d, sulcus, 9.0);
    let corner = ball(s, at(CORNER_X + 2.5, line_y(CORNER_X) - 0.5, front_z(CORNER_X) + 4.0), 2.0);
    carve(d, corner, 4.0)
}

/// Carves the slit and the bag behind it into the open head.
pub(crate) fn carve_mouth(head: f64, p: DVec3, slot: f64) -> f64 {
    let bag = cushion(p, at(0.0, -46.5, 61.0), at(28.0, 23.5, 36.3));
    let inside = join(bag, slot, 6.0);
    carve(head, inside, 2.0)
}

/// Vanishes where the lips touch: a line a little behind their front, inside the slit.
pub(crate) fn contact_field(p: DVec3) -> f64 {
    front_z(p.x.min(CORNER_X + 2.0)) - 3.2 - p.z
}

/// The part of the surface that [`contact_field`] may cut.
pub(crate) fn contact_region(p: DVec3) -> bool {
    slot(p).abs() < 2.2 && p.x < CORNER_X + 2.0
}

/// Heights of the upper and lower border of the red of the lips in the closed mouth.
pub(crate) fn border_y(x: f64) -> (f64, f64) {
    let fade = (1.0 - (x / (CORNER_X + 1.3)).powi(2)).max(-0.3);
    let rise = fade.max(0.0).powf(0.75) + fade.min(0.0);
    let upper = line_y(x) + 6.8 * rise + 1.6 * bell(x - 6.0, 4.2) - 0.5 * bell(x, 3.0);
    let lower = line_y(x) - 9.0 * rise;
    (upper, lower)
}

/// Vanishes on the border of the red of the lips.
pub(crate) fn border_field(p: DVec3) -> f64 {
    let q = to_closed(p);
    let (upper, lower) = border_y(q.x.abs());
    (q.y - upper).max(lower - q.y)
}

/// The part of the surface that [`border_field`] may cut.
pub(crate) fn border_region(p: DVec3) -> bool {
    p.z > front_z(p.x.min(CORNER_X + 3.0)) - 6.0 && p.x < CORNER_X + 4.0 && slot(p) > 0.3
}
