//! The nose: bridge, tip, wings, columella and nostrils.

use glam::DVec3;

use super::field::{at, ball, carve, ellipsoid, join, rod, tube};

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
            (at(0.0, 21.0, 86.5), 6.2),
            (at(0.0, 6.0, 95.0), 5.3),
            (at(0.0, -10.0, 105.0), 5.8),
        ],
        5.0,
    );
    let sides = ellipsoid(s, at(4.0, -6.0, 90.0), at(9.8, 22.0, 12.5));
    let tip = ellipsoid(p, at(0.0, -14.5, 107.5), at(8.2, 7.2, 8.0));
    let wing = ellipsoid(s, at(10.9, -17.0, 99.8), at(5.6, 6.2, 9.2));
    let base = tube(s, &[(at(0.6, -19.8, 108.5), 3.4), (at(0.5, -22.8, 101.0), 3.8)], 3.0);

    let mut d = join(head, sides, 11.0);
    d = join(d, bridge, 8.0);
    d = join(d, tip, 8.0);
    d = join(d, wing, 5.5);
    d = join(d, base, 5.0);
    // The groove around the wing, from the tip over its top to the cheek.
    let groove = tube(
        s,
        &[
            (at(10.5, -9.6, 105.5), 0.1),
            (at(14.5, -9.6, 101.5), 0.1),
            (at(17.6, -12.5, 97.5), 0.1),
            (at(18.6, -19.5, 95.2), 0.1),
        ],
        1.0,
    );
    d = carve(d, groove, 4.5);
    carve(d, nostril(p), 1.8)
}

/// Signed distance to the left nostril: a drop that lies along the wing, and the passage above it.
pub(crate) fn nostril(p: DVec3) -> f64 {
    let p = DVec3::new(p.x.abs(), p.y, p.z);
    let rim = rod(p, (at(5.6, -23.6, 106.0), 1.5), (at(9.0, -24.4, 99.5), 2.7));
    let passage = rod(p, (at(7.4, -20.0, 102.0), 2.8), (at(5.4, -10.0, 97.0), 2.2));
    join(rim, passage, 3.0)
}
