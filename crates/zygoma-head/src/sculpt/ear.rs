//! The ear, modelled in its own frame: u towards the back, v up, w away from the head.

use std::sync::LazyLock;

use glam::DVec3;

use super::field::{at, ball, carve, common, ellipsoid, join, smooth, tube};

/// Where the ear canal opens.
pub(crate) const CENTRE: DVec3 = at(69.0, 2.0, -6.0);
/// Size of the ear relative to the numbers below.
const SIZE: f64 = 0.93;

/// A point in the ear's frame.
fn to_ear(p: DVec3) -> DVec3 {
    let q = (p - CENTRE) / SIZE;
    // Leans back by 12° and stands off the head by 28°.
    let (lean_s, lean_c) = 0.21f64.sin_cos();
    let back = -q.z * lean_c - q.y * lean_s;
    let up = q.y * lean_c - q.z * lean_s;
    let (off_s, off_c) = 0.50f64.sin_cos();
    let u = back * off_c + q.x * off_s;
    let w = -back * off_s + q.x * off_c;
    at(u, up, w)
}

type Knots = Vec<(DVec3, f64)>;

/// The rolled rim, from its root in the concha around to the lobe.
static HELIX: LazyLock<Knots> = LazyLock::new(|| {
    smooth(&[
        (at(3.0, 4.0, 3.0), 1.6),
        (at(-3.5, 10.0, 3.5), 2.4),
        (at(-4.5, 21.0, 4.5), 2.9),
        (at(1.0, 31.0, 5.5), 3.1),
        (at(10.0, 35.0, 6.5), 3.2),
        (at(20.0, 32.5, 6.8), 3.2),
        (at(27.5, 24.0, 6.8), 3.1),
        (at(30.0, 12.0, 6.2), 2.9),
        (at(27.5, 0.0, 5.2), 2.7),
        (at(22.0, -10.0, 3.5), 2.8),
        (at(14.0, -18.0, 2.0), 3.6),
    ])
});

/// The inner ridge: its two limbs meet and run down to the antitragus.
static ANTIHELIX: LazyLock<Knots> = LazyLock::new(|| {
    smooth(&[
        (at(9.0, 26.0, 4.4), 1.6),
        (at(16.0, 19.0, 5.8), 2.5),
        (at(19.5, 9.0, 6.4), 2.8),
        (at(16.5, -4.0, 6.0), 2.6),
        (at(10.0, -10.0, 5.2), 3.0),
    ])
});
static LOWER_LIMB: LazyLock<Knots> = LazyLock::new(|| {
    smooth(&[(at(3.0, 19.0, 3.6), 1.4), (at(10.0, 17.0, 5.0), 2.0), (at(17.0, 15.0, 5.8), 2.4)])
});

/// Adds the ear to the head.
pub(crate) fn add(head: f64, p: DVec3) -> f64 {
    if ball(p, CENTRE + at(6.0, 4.0, -10.0), 42.0) > 8.0 {
        return head;
    }
    let e = to_ear(p);
    // The blade: an egg cut to a plate.
    let egg = ellipsoid(e, at(12.0, 7.0, 2.0), at(19.0, 28.0, 30.0));
    let bend = 0.010 * ((e.x - 12.0).powi(2) + 0.5 * (e.y - 6.0).powi(2));
    let plate = (e.z - 1.0 - bend).abs() - 2.5;
    let blade = common(egg, plate, 2.5);
    let root = tube(e, &[(at(2.0, 18.0, -8.0), 8.0), (at(6.0, -8.0, -9.0), 9.0)], 6.0);

    let lobe = ellipsoid(e, at(8.0, -20.0, 1.5), at(8.5, 9.0, 4.2));
    let tragus = ellipsoid(e, at(-2.5, -1.0, 3.4), at(3.8, 6.0, 4.4));
    let mut ear = join(blade, root, 6.0);
    ear = join(ear, tube(e, &HELIX, 1.5), 2.2);
    ear = join(ear, lobe, 5.0);
    ear = join(ear, tube(e, &ANTIHELIX, 2.0), 2.6);
    ear = join(ear, tube(e, &LOWER_LIMB, 2.0), 2.6);
    let mut d = join(head, SIZE * ear, 5.0);
    let concha =
        tube(e, &[(at(9.5, 7.0, 7.8), 6.2), (at(6.5, -3.0, 7.0), 5.8), (at(2.5, -2.0, 1.5), 3.0)], 4.0);
    d = carve(d, SIZE * concha, 2.6);
    join(d, SIZE * tragus, 2.6)
}

/// Whether a point of the skin belongs to the ear.
pub(crate) fn is_ear(p: DVec3) -> bool {
    let e = to_ear(p);
    e.z > -3.0 && e.x > -7.0 && e.x < 36.0 && e.y > -32.0 && e.y < 42.0 && p.x > 62.0
}
