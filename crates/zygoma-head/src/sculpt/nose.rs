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
    let nostril = tube(
        s,
        &[(at(8.2, -25.5, 102.5), 3.0), (at(7.6, -21.0, 102.0), 3.4), (at(5.6, -13.0, 98.0), 2.4)],
        2.0,
    );
    d = carve(d, nostril, 2.0);
    // The crease where the wing meets the cheek.
    let crease = tube(s, &[(at(16.5, -10.5, 99.5), 0.2), (at(19.6, -18.0, 97.5), 0.2)], 1.0);
    carve(d, crease, 4.5)
}
