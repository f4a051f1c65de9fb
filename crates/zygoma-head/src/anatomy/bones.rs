//! The bones, sculpted like the skin: solids blended, never nearer to the skin than the published depths.

use glam::DVec3;

use super::arches;
use super::cover::Cover;
use super::depths::depth;
use super::flesh::mouth_bag;
use crate::sculpt::eyes;
use crate::sculpt::field::{at, ball, carve, common, ellipsoid, join, ramp, rod, tube};

/// Smallest thickness of tissue over bone, in the template.
const LEAST_COVER: f64 = 2.4;
/// The table's depths are capped at this: where they are larger, muscles and fat lie over bone whose own shape is deep enough.
const DEEPEST: f64 = 11.5;
/// Width of the blend between bone and ridge.
const RIDGE_ROUNDING: f64 = 2.5;
/// Clearance between cranium and mandible.
const JOINT_GAP: f64 = 1.2;

/// The head of the mandible, from its inner to its outer end, on the left.
const CONDYLE: [DVec3; 2] = [at(43.5, -4.5, 10.5), at(54.5, -3.5, 9.5)];
const CONDYLE_RADIUS: f64 = 4.0;
/// Tissue nearer than this to both bones is tied to neither. The jaw's largest motion in its joint would shear tissue between nearer bones through
/// itself.
pub(super) const BETWEEN: f64 = crate::jaw::FORWARD.z;

/// Rounds off the mirror plane, so that solids of the two sides meet without a crease.
fn rounded(p: DVec3, by: f64) -> DVec3 {
    at((p.x * p.x + by * by).sqrt(), p.y, p.z)
}

/// Sculpts bones under a given skin.
pub(super) struct Sculptor<'a> {
    /// Skin that is visible with mouth and eyes closed.
    pub(super) outer: &'a Cover,
    /// All skin, with mouth bag and eye pockets.
    pub(super) all: &'a Cover,
}

impl Sculptor<'_> {
    /// Keeps a solid below the skin, with the soft tissue that belongs over it.
    fn below_skin(&self, bone: f64, p: DVec3) -> f64 {
        if bone > 6.0 {
            return bone;
        }
        let deep = common(bone, self.outer.depth(p) + depth(p).min(DEEPEST), 2.0);
        common(deep, self.all.depth(p) + LEAST_COVER, 1.0)
    }

    /// Adds the part of a ridge inside the mouth, where only the lips limit it.
    fn with_ridge(&self, bone: f64, ridge: f64, p: DVec3, cover: f64) -> f64 {
        if ridge > 6.0 {
            return bone;
        }
        join(bone, common(ridge, self.outer.depth(p) + cover, 2.0), 4.0)
    }

    /// Signed distance to the cranium with the upper jaw.
    pub(super) fn cranium(&self, p: DVec3) -> f64 {
        self.skull(p, true)
    }

    /// Signed distance to both bones, with the cranial cavity filled.
    pub(super) fn filled_bones(&self, p: DVec3) -> f64 {
        self.skull(p, false).min(self.mandible(p))
    }

    fn skull(&self, p: DVec3, hollow: bool) -> f64 {
        let p = at(p.x.abs(), p.y, p.z);
        let s = rounded(p, 2.0);
        let mut d = vault(p);
        let brow = tube(
            s,
            &[(at(6.0, 36.0, 82.0), 6.0), (at(28.0, 39.0, 78.0), 6.5), (at(48.0, 34.0, 62.0), 6.0)],
            8.0,
        );
        d = join(d, brow, 10.0);
        d = join(d, maxilla(p, s), 10.0);
        // The hollow behind the cheekbone, where the temporal muscle runs down to the jaw.
        let temple = tube(
            p,
            &[(at(66.0, 30.0, 40.0), 16.0), (at(56.0, 4.0, 32.0), 13.0), (at(46.0, -24.0, 34.0), 15.0)],
            10.0,
        );
        d = carve(d, temple, 12.0);
        d = join(d, cheekbone(s), 6.0);
        let mastoid = ellipsoid(s, at(49.0, -15.0, -13.0), at(9.0, 20.0, 11.0));
        d = join(d, mastoid, 8.0);
        let canal = rod(p, (at(80.0, 1.0, -3.0), 3.4), (at(48.0, 0.0, -3.0), 2.6));
        d = carve(d, canal, 1.5);

        let (orbit, nose) = (orbit(p), nasal_cavity(p));
        d = carve(d, orbit, 3.0);
        d = carve(d, nose, 2.0);
        let septum = ellipsoid(p, at(0.0, -5.0, 62.0), at(1.3, 22.0, 24.0));
        d = join(d, septum, 1.5);
        if hollow {
            // The cranial cavity leaves five millimetres of bone to every other hollow.
            let wall = 5.0 - orbit.min(nose).min(canal).min(temple);
            let inner = brain(p).max(wall).max(self.outer.depth(p) + depth(p) + 5.0);
            d = carve(d, inner, 4.0);
            let foramen = rod(p, (at(0.0, 12.0, -24.0), 13.0), (at(0.0, -60.0, -34.0), 15.0));
            d = carve(d, foramen, 8.0);
        }

        d = carve(d, mouth_bag(p) - 1.0, 3.0);
        d = join(d, arches::upper(p).max(-nose), 3.0);
        d = carve(d, mandible_solid(p) - JOINT_GAP, 1.0);
        let cover = 6.0 + 5.0 * ramp(-34.0, -26.0, p.y);
        self.with_ridge(self.below_skin(d, p), arches::upper(p), p, cover)
    }

    /// Signed distance to the mandible.
    pub(super) fn mandible(&self, p: DVec3) -> f64 {
        let p = at(p.x.abs(), p.y, p.z);
        let mut d = mandible_solid(p);
        if d > 12.0 && ball(p, at(0.0, -64.0, 68.0), 40.0) > 12.0 {
            return d;
        }
        d = carve(d, mouth_bag(p) - 1.0, 3.0);
        d = join(d, arches::lower(p), 4.0);
        let cover = 6.0 + 5.0 * ramp(-61.0, -70.0, p.y);
        self.with_ridge(self.below_skin(d, p), arches::lower(p), p, cover)
    }
}

/// The hollow around the left eye.
fn orbit(p: DVec3) -> f64 {
    let front = ellipsoid(p, eyes::CENTRE + at(0.5, -0.5, 4.0), at(18.5, 19.0, 24.0));
    let back = rod(p, (eyes::CENTRE + at(-1.0, 0.0, -2.0), 17.5), (at(17.0, 12.0, 28.0), 5.0));
    let mouth =
        rod(p, (eyes::CENTRE + at(0.5, -0.5, 11.0), 18.0), (eyes::CENTRE + at(8.0, -1.0, 40.0), 22.0));
    join(join(front, back, 6.0), mouth, 6.0)
}

/// The hollow of the nose.
fn nasal_cavity(p: DVec3) -> f64 {
    let s = rounded(p, 1.5);
    let pear =
        tube(s, &[(at(0.5, -4.0, 98.0), 3.0), (at(4.0, -11.0, 95.0), 5.5), (at(6.0, -15.0, 92.0), 6.0)], 5.0);
    let back = rod(s, (at(5.0, -9.0, 92.0), 7.0), (at(5.0, -7.0, 44.0), 7.5));
    join(pear, back, 6.0)
}

/// The cranial cavity.
fn brain(p: DVec3) -> f64 {
    let back = ellipsoid(p, at(0.0, 58.0, -12.0), at(64.0, 68.0, 82.0));
    let front = ellipsoid(p, at(0.0, 62.0, 34.0), at(50.0, 38.0, 46.0));
    let inside = join(back, front, 20.0);
    let floor = 2.0 - p.y - 0.28 * p.z.min(10.0) + 0.9 * (p.z - 10.0).max(0.0);
    common(inside, floor, 12.0)
}

fn vault(p: DVec3) -> f64 {
    let back = ellipsoid(p, at(0.0, 53.0, -10.0), at(73.0, 78.0, 90.0));
    let front = ellipsoid(p, at(0.0, 56.0, 34.0), at(57.0, 48.0, 56.0));
    let occiput = ellipsoid(p, at(0.0, 20.0, -52.0), at(50.0, 40.0, 44.0));
    join(join(back, front, 22.0), occiput, 16.0)
}

/// Cheekbone, its arch to the ear, and the rim beside the orbit.
fn cheekbone(s: DVec3) -> f64 {
    let body = tube(
        s,
        &[(at(22.0, -15.0, 76.0), 9.0), (at(40.0, -13.0, 70.0), 9.5), (at(54.0, -6.0, 54.0), 7.0)],
        8.0,
    );
    let arch = tube(
        s,
        &[
            (at(54.0, -5.0, 54.0), 5.6),
            (at(63.0, -4.0, 34.0), 4.2),
            (at(65.5, -2.0, 16.0), 4.0),
            (at(59.0, 3.0, -2.0), 5.0),
        ],
        5.0,
    );
    let rim = tube(
        s,
        &[(at(52.0, -5.0, 58.0), 5.5), (at(48.5, 13.0, 57.0), 4.2), (at(48.0, 33.0, 61.0), 5.0)],
        5.0,
    );
    join(join(body, arch, 5.0), rim, 6.0)
}

/// The upper jaw without its ridge, and the bridge of the nose.
fn maxilla(p: DVec3, s: DVec3) -> f64 {
    let body = ellipsoid(s, at(14.0, -12.0, 66.0), at(21.0, 20.0, 27.0));
    let middle = ellipsoid(p, at(0.0, 4.0, 48.0), at(30.0, 28.0, 34.0));
    let bridge = tube(
        p,
        &[
            (at(0.0, 30.0, 84.0), 6.5),
            (at(0.0, 18.0, 87.0), 5.5),
            (at(0.0, 8.0, 93.5), 4.8),
            (at(0.0, 2.0, 98.5), 3.6),
        ],
        5.0,
    );
    let process = tube(
        s,
        &[
            (at(6.0, 22.0, 81.0), 5.0),
            (at(9.0, 6.0, 87.0), 4.6),
            (at(14.5, -9.0, 86.0), 4.6),
            (at(17.0, -20.0, 82.0), 6.0),
        ],
        5.0,
    );
    let spine = rod(p, (at(0.0, -23.0, 84.0), 3.4), (at(0.0, -22.5, 92.5), 1.2));
    let mut d = join(body, middle, 12.0);
    d = join(d, bridge, 6.0);
    d = join(d, process, 5.0);
    join(d, spine, 4.0)
}

fn mandible_solid(p: DVec3) -> f64 {
    let p = at(p.x.abs(), p.y, p.z);
    let s = rounded(p, 3.0);
    let border = tube(
        s,
        &[
            (at(4.0, -76.5, 83.5), 5.5),
            (at(14.0, -75.5, 75.5), 5.8),
            (at(27.5, -67.5, 50.0), 5.6),
            (at(41.0, -54.0, 19.0), 5.0),
        ],
        6.0,
    );
    let body = tube(
        s,
        &[
            (at(5.0, -72.0, 84.0), 4.5),
            (at(16.0, -70.0, 75.0), 4.8),
            (at(25.0, -61.0, 56.0), 5.2),
            (at(36.0, -47.0, 32.0), 4.2),
        ],
        6.0,
    );
    let chin = ellipsoid(p, at(0.0, -76.0, 86.5), at(13.0, 6.5, 6.0));
    let mut d = join(border, body, 9.0);
    d = join(d, chin, 6.0);
    let sheet = |from: DVec3, to: DVec3, r: f64, q: f64| rod(s, (from, r), (to, q));
    d = join(d, sheet(at(42.0, -53.0, 18.0), at(47.5, -14.0, 9.0), 4.6, 4.0), 5.0);
    d = join(d, sheet(at(40.0, -50.0, 28.0), at(45.5, -17.0, 18.0), 4.0, 3.2), 7.0);
    d = join(d, sheet(at(37.5, -48.0, 33.0), at(44.5, -17.0, 24.0), 4.0, 3.2), 7.0);
    d = join(d, sheet(at(35.0, -46.0, 38.0), at(43.5, -14.0, 29.0), 3.8, 3.0), 7.0);
    d = join(d, sheet(at(43.0, -18.0, 30.0), at(45.0, -5.0, 30.0), 3.2, 2.4), 5.0);
    let condyle = sheet(CONDYLE[0], CONDYLE[1], CONDYLE_RADIUS, CONDYLE_RADIUS);
    join(d, condyle, 4.0)
}

/// Whether a point of a bone's surface belongs to an alveolar ridge, which may lie in the mouth.
pub(super) fn is_ridge(p: DVec3) -> bool {
    arches::upper(p).min(arches::lower(p)) < RIDGE_ROUNDING
}
