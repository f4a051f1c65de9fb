//! The alveolar ridges: bone that holds the teeth, along the dental arches.

use glam::DVec3;

use crate::sculpt::field::{at, bell, common, ramp};

/// Half axes and centre of the upper arch through the middle of the teeth (as the teeth's).
const ARCH: (f64, f64, f64) = (20.0, 27.0, 65.0);
/// Angle at which the arch ends at the back.
const END: f64 = 1.72;

/// Coordinates of a point along an arch: the distance from its curve, seen from above, and the angle.
fn along(p: DVec3, inset: f64) -> (f64, f64) {
    let (a, b) = (ARCH.0 - inset, ARCH.1 - inset);
    let mut angle = (p.x.abs() / a).atan2((p.z - ARCH.2) / b).clamp(0.0, END);
    let point = |angle: f64| at(a * angle.sin(), p.y, ARCH.2 + b * angle.cos());
    let q = at(p.x.abs(), p.y, p.z);
    for _ in 0..3 {
        let tangent = at(a * angle.cos(), 0.0, -b * angle.sin());
        angle = (angle + (q - point(angle)).dot(tangent) / tangent.length_squared()).clamp(0.0, END);
    }
    (q.distance(point(angle)), angle)
}

/// Bumps where the roots of the teeth lie.
fn roots(angle: f64) -> f64 {
    const FIRST: f64 = 0.20;
    const SPACING: f64 = 0.29;
    let place = (angle - FIRST) / SPACING;
    0.5 * bell(place - place.round(), 0.28)
}

/// Signed distance to the upper ridge.
pub(super) fn upper(p: DVec3) -> f64 {
    let (distance, angle) = along(p, 0.0);
    let thickness = 2.5 + 2.6 * ramp(-35.0, -27.0, p.y) + roots(angle);
    common(distance - thickness, (-38.6 - p.y).max(p.y + 16.0), 2.0)
}

/// Signed distance to the lower ridge.
pub(super) fn lower(p: DVec3) -> f64 {
    let (distance, angle) = along(p, 1.6);
    let thickness = 2.4 + 2.6 * ramp(-58.0, -66.0, p.y) + roots(angle);
    let floor = -78.0 + 14.0 * ramp(0.3, 1.5, angle);
    common(distance - thickness, (p.y + 56.6).max(floor - p.y), 2.0)
}
