//! Signed distances to the skin for the anatomy: mouth closed as at rest, with or without its openings.

use glam::DVec3;

use crate::sculpt::field::{at, ellipsoid, join, tube};
use crate::sculpt::{ear, eyes, lips, nose, skull};

/// Larger than any distance in a head.
const FAR: f64 = 1e3;

/// The bag behind the lips.
pub(super) fn mouth_bag(p: DVec3) -> f64 {
    -lips::carve_mouth(-FAR, p, FAR)
}

/// Signed distance to the face without ears, with nostrils, eyes and mouth filled.
pub(super) fn filled_face(p: DVec3) -> f64 {
    let p = at(p.x.abs(), p.y, p.z);
    let mut d = nose::add(skull::masses(p), p);
    let nostril = tube(p, &[(at(7.6, -23.5, 102.5), 3.4), (at(6.6, -17.0, 102.0), 5.0)], 2.0);
    d = join(d, nostril, 2.0);
    d = eyes::add(d, p);
    d = join(d, p.distance(eyes::CENTRE) - eyes::MARGIN - 1.2, 1.0);
    lips::add(d, p)
}

/// Signed distance to the skin at rest: negative in tissue, positive in the mouth bag and the eye pockets.
pub(super) fn skin_at_rest(p: DVec3) -> f64 {
    let p = at(p.x.abs(), p.y, p.z);
    let mut d = nose::add(skull::masses(p), p);
    d = eyes::add(d, p);
    d = lips::add(d, p);
    d = ear::add(d, p);
    lips::carve_mouth(d, p, FAR)
}

/// The filled face with ears as mounds without overhang, so that the tissue under them can be layered.
pub(super) fn filled_head(p: DVec3) -> f64 {
    let p = at(p.x.abs(), p.y, p.z);
    let d = ear::add(filled_face(p), p);
    let mound = ellipsoid(p, at(61.0, 7.0, -15.0), at(23.0, 34.0, 27.0));
    join(d, mound, 14.0)
}
