//! Where hair grows on the head.

use glam::DVec3;

use crate::sculpt::field::{bell, ramp};

/// Height of a point above the hairline, mm: high in front, a corner at the temples, down in front of the ear, low at the nape.
pub(crate) fn above_hairline(p: DVec3) -> f64 {
    let around = p.x.abs().atan2(p.z - 4.0);
    let line = 92.0
        - 4.0 * bell(around, 0.25)
        - 6.0 * ramp(0.55, 0.85, around)
        - 30.0 * ramp(0.72, 1.05, around)
        - 44.0 * ramp(1.05, 1.36, around)
        + 30.0 * bell(around - 1.78, 0.20)
        - 46.0 * ramp(1.75, 2.35, around);
    p.y - line
}
