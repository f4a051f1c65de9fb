//! The nose: bridge, tip, wings, columella and nostrils.

use glam::DVec3;

use super::field::{at, ball, carve, ellipsoid, join, tube};

/// Middle of the left wing.
pub(crate) const WING: DVec3 = at(9.0, -18.0, 102.0);

/// Adds the nose to the head.
pub(crate) fn add(head: f64, p: DVec3) -> f64 {
    if ball(p, at(0.0, 0.0, 100.0), 48.0) > 12.0 {
        return head;
    }
    let s = DVec3::new((p.x * p.x + 2.25).sqrt(), p.y, p.z);
    let bridge = tube(
        p,
        &[
            (at(0.0, 34.0, 83.0), 8.0),
            (at(0.0, 18.0, 87.5), 6.4),
            (at(0.0, 2.0, 97.0), 6.2),
            (at(0.0, -11.0, 104.0), 7.2),
        ],
        4.0,
    );
    let sides = ellipsoid(s, at(4.0, -7.0, 91.0), at(12.0, 21.0, 13.0));
    let tip = ellipsoid(p, at(0.0, -13.0, 106.0), at(9.0, 8.4, 9.2));
    let wing = ellipsoid(s, at(11.0, -17.0, 99.5), at(6.2, 6.6, 9.5));
    let base = tube(s, &[(at(0.6, -19.0, 108.0), 3.8), (at(0.5, -23.0, 100.0), 4.5)], 3.0);

    let mut d = join(head, sides, 12.0);
    d = join(d, bridge, 9.0);
    d = join(d, tip, 9.0);
    d = join(d, wing, 6.5);
    d = join(d, base, 5.5);
    d = carve(d, nostril(p), 1.8);
    // The crease where the wing meets the cheek.
    let crease = tube(s, &[(at(16.0, -9.5, 100.5), 0.1), (at(20.0, -18.0, 98.0), 0.1)], 1.0);
    carve(d, crease, 6.0)
}

/// Signed distance to the left nostril.
pub(crate) fn nostril(p: DVec3) -> f64 {
    let path = [(at(8.4, -26.0, 102.0), 3.2), (at(7.6, -20.0, 101.5), 3.6), (at(5.4, -10.0, 96.0), 2.6)];
    tube(DVec3::new(p.x.abs(), p.y, p.z), &path, 2.0)
}
