//! The sculpture: one implicit surface for the template head, with mouth and eyes open.
//!
//! Lengths here are millimetres, so that the numbers can be compared with anthropometric tables. The origin
//! lies between the ear canals, +Y is up and the face looks to +Z. Only x ≥ 0 is modelled; the other side is its
//! mirror image.

pub(crate) mod ear;
pub(crate) mod eyes;
pub(crate) mod field;
pub(crate) mod lips;
pub(crate) mod nose;
pub(crate) mod skull;

use glam::DVec3;

/// Signed distance to the skin of the open-mouthed template: negative inside the tissue.
pub(crate) fn skin(p: DVec3) -> f64 {
    let p = DVec3::new(p.x.abs(), p.y, p.z);
    let open = lips::slot(p);
    let closed = lips::to_closed(p);
    let mut d = skull::masses(closed);
    d = nose::add(d, closed);
    d = eyes::add(d, p);
    d = lips::add(d, closed);
    d = ear::add(d, closed);
    lips::carve_mouth(d, p, open)
}

/// Gradient of [`skin`] by central differences.
pub(crate) fn skin_gradient(p: DVec3) -> DVec3 {
    gradient(skin, p)
}

/// Gradient of any field by central differences.
pub(crate) fn gradient(field: impl Fn(DVec3) -> f64, p: DVec3) -> DVec3 {
    const STEP: f64 = 0.05;
    let slope = |axis: DVec3| (field(p + STEP * axis) - field(p - STEP * axis)) / (2.0 * STEP);
    DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z))
}
