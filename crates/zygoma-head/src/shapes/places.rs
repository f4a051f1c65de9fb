//! Where muscles act on the left half of the face: handles a little under the skin, in template space.

use glam::DVec3;

use crate::sculpt::field::at;
use crate::sculpt::lips::{CORNER_X, front_z, line_y};
use crate::sculpt::{eyes, nose};

/// A place at the lips: `up` above the line where they meet, `out` before their front.
fn lip(x: f64, up: f64, out: f64) -> DVec3 {
    at(x, line_y(x) + up, front_z(x) + out)
}

/// Corner of the mouth.
pub(super) fn corner() -> DVec3 {
    lip(CORNER_X, 0.0, -4.0)
}

/// Middle of the upper lip.
pub(super) fn upper_lip() -> DVec3 {
    lip(0.0, 5.3, -1.0)
}

/// Middle of the lower lip.
pub(super) fn lower_lip() -> DVec3 {
    lip(0.0, -4.7, -2.0)
}

/// Half way from the middle of the upper lip to the corner.
pub(super) fn upper_side() -> DVec3 {
    lip(0.52 * CORNER_X, 4.7, 0.0)
}

/// Half way from the middle of the lower lip to the corner.
pub(super) fn lower_side() -> DVec3 {
    lip(0.52 * CORNER_X, -5.3, -1.0)
}

/// The hollow between lower lip and chin.
pub(super) fn sulcus() -> DVec3 {
    lip(0.0, -17.7, -12.0)
}

/// Its side.
pub(super) fn sulcus_side() -> DVec3 {
    lip(0.64 * CORNER_X, -17.5, -9.0)
}

/// The nasolabial fold beside the wing of the nose.
pub(super) const FOLD: DVec3 = at(24.0, -26.0, 94.0);
/// The apple of the cheek.
pub(super) const CHEEK: DVec3 = at(38.0, -12.0, 88.0);
/// The cheekbone.
pub(super) const MALAR: DVec3 = at(54.0, -8.0, 78.0);
/// The cheek beside the mouth.
pub(super) const BUCCAL: DVec3 = at(46.0, -42.0, 77.0);
/// The chewing muscle.
pub(super) const MASSETER: DVec3 = at(58.0, -38.0, 47.0);
/// Below the corner of the mouth, over the jaw.
pub(super) const JOWL: DVec3 = at(38.0, -66.0, 75.0);
/// The chin.
pub(super) const CHIN: DVec3 = at(0.0, -80.0, 101.0);
/// The side of the chin.
pub(super) const CHIN_SIDE: DVec3 = at(18.0, -76.0, 94.0);
/// Under the jaw.
pub(super) const UNDER_JAW: DVec3 = at(22.0, -96.0, 21.0);

/// The wing of the nose.
pub(super) fn wing() -> DVec3 {
    nose::WING + at(4.0, 1.0, 2.0)
}

/// Side of the nose.
pub(super) const NOSE_SIDE: DVec3 = at(12.0, 4.0, 87.0);

/// Between the brows.
pub(super) const GLABELLA: DVec3 = at(0.0, 30.0, 94.0);
/// Inner end of the brow.
pub(super) const BROW_IN: DVec3 = at(9.0, 38.0, 94.0);
/// Middle of the brow.
pub(super) const BROW: DVec3 = at(28.0, 42.0, 92.0);
/// Outer end of the brow.
pub(super) const BROW_OUT: DVec3 = at(45.0, 37.0, 79.0);
/// The forehead above the inner brow.
pub(super) const FOREHEAD: DVec3 = at(11.0, 62.0, 89.0);
/// The forehead above the outer brow.
pub(super) const FOREHEAD_OUT: DVec3 = at(36.0, 60.0, 83.0);
/// The temple.
pub(super) const TEMPLE: DVec3 = at(56.0, 34.0, 63.0);

/// Beside the outer corner of the eye.
pub(super) fn crow() -> DVec3 {
    eyes::CENTRE + at(23.0, -1.0, -11.0)
}

/// Below the lower lid.
pub(super) fn under_eye() -> DVec3 {
    eyes::CENTRE + at(-4.0, -20.0, 17.0)
}
