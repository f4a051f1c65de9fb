//! The large masses: cranium, brow, cheekbones, jaw, chin and neck.

use glam::DVec3;

use super::field::{at, ball, bell, carve, ellipsoid, join, ramp, rod, tube};

/// Height of the open end of the neck.
pub(crate) const NECK_END: f64 = -152.0;

/// The head without features.
pub(crate) fn masses(p: DVec3) -> f64 {
    // Rounds off the mirror plane, so that masses of the two sides meet without a crease.
    let s = DVec3::new((p.x * p.x + 9.0).sqrt(), p.y, p.z);

    let cranium = ellipsoid(p, at(0.0, 53.0, -10.0), at(76.0, 79.0, 90.0));
    let forehead = ellipsoid(p, at(0.0, 54.0, 34.0), at(59.0, 50.0, 56.0));
    let mut d = join(cranium, forehead, 30.0);

    // The face: a wedge from the temples to the chin.
    let face = ellipsoid(p, at(0.0, -10.0, 34.0), at(55.0, 62.0, 55.0));
    let muzzle = ellipsoid(p, at(0.0, -44.0, 64.0), at(35.0, 34.0, 39.5));
    d = join(d, face, 30.0);
    d = join(d, muzzle, 24.0);

    let upper_lip = ellipsoid(p, at(0.0, -33.0, 75.5), at(25.0, 15.0, 25.5));
    d = join(d, upper_lip, 14.0);

    let cheekbone = ellipsoid(s, at(39.0, -11.0, 57.0), at(24.0, 17.0, 27.5));
    d = join(d, cheekbone, 24.0);
    let arch = rod(s, (at(53.0, -4.0, 42.0), 9.0), (at(59.0, 2.0, 6.0), 8.0));
    d = join(d, arch, 34.0);
    // Masseter and parotid gland fill the side of the face between arch and jaw.
    let side = ellipsoid(s, at(43.0, -28.0, 22.0), at(18.0, 32.0, 28.0));
    d = join(d, side, 30.0);
    let temporal = ellipsoid(s, at(42.0, 24.0, 26.0), at(20.0, 30.0, 36.0));
    d = join(d, temporal, 26.0);

    // Jaw: body from the chin to the angle, ramus up to the joint.
    let body = tube(
        s,
        &[
            (at(8.5, -75.5, 79.0), 12.0),
            (at(25.5, -65.5, 50.0), 12.0),
            (at(39.0, -50.0, 18.0), 12.5),
            (at(50.0, -6.0, 8.0), 14.0),
        ],
        16.0,
    );
    d = join(d, body, 30.0);
    let chin = ellipsoid(p, at(0.0, -73.0, 82.0), at(14.5, 12.5, 18.0));
    d = join(d, chin, 24.0);

    let cheek = ellipsoid(s, at(29.5, -33.0, 55.0), at(20.0, 29.0, 27.0));
    d = join(d, cheek, 24.0);

    d = nasolabial(d, p);

    let brow =
        tube(s, &[(at(8.0, 37.0, 84.0), 5.0), (at(28.0, 42.0, 81.0), 6.0), (at(48.0, 35.0, 63.0), 6.0)], 8.0);
    d = join(d, brow, 22.0);

    // A soft hollow at the temples.
    d = carve(d, ball(p, at(106.0, 38.0, 58.0), 33.0), 30.0);

    let neck = neck(p, s);
    join(d, neck, 22.0)
}

/// The fold between nose and cheek, down to the corner of the mouth, and the fat that bulges beside it.
fn nasolabial(d: f64, p: DVec3) -> f64 {
    let flat = at(p.x, p.y, 0.0);
    let path = [(at(19.5, -19.0, 0.0), 0.0), (at(26.0, -32.0, 0.0), 0.0), (at(31.5, -46.0, 0.0), 0.0)];
    let beside = path.map(|(q, r)| (q + at(6.0, 3.0, 0.0), r));
    let fold = 0.8 * bell(tube(flat, &path, 2.0), 4.0);
    let bulge = 0.7 * bell(tube(flat, &beside, 2.0), 6.0);
    d + (fold - bulge) * ramp(60.0, 78.0, p.z)
}

fn neck(p: DVec3, s: DVec3) -> f64 {
    // A leaning elliptical column: distances across are measured in a squeezed space.
    let lean = -6.0 - 0.22 * (-p.y - 60.0);
    let flare = 14.0 * bell(p.y + 190.0, 45.0);
    let across = ((p.x / 1.0).powi(2) + ((p.z - lean) / 1.0).powi(2)).sqrt();
    let column = (across - 41.0 - flare).max(p.y - 10.0);
    // The sternomastoid, from behind the ear to the pit of the neck.
    let strap = rod(s, (at(51.0, -24.0, -20.0), 8.5), (at(13.0, -176.0, 20.0), 8.0));
    let nape = rod(s, (at(18.0, -6.0, -50.0), 16.0), (at(34.0, -190.0, -56.0), 22.0));
    let throat = rod(p, (at(0.0, -98.0, 28.0), 13.0), (at(0.0, -190.0, 8.0), 13.0));
    let larynx = ellipsoid(p, at(0.0, -119.0, 29.0), at(6.5, 11.0, 8.0));
    let d = join(column, strap, 12.0);
    let d = join(d, nape, 28.0);
    let d = join(d, throat, 22.0);
    join(d, larynx, 14.0)
}
