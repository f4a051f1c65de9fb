//! The large masses: cranium, brow, cheekbones, jaw, chin and neck.

use glam::DVec3;

use super::field::{at, ball, bell, carve, ellipsoid, join, rod, tube};

/// Height of the open end of the neck.
pub(crate) const NECK_END: f64 = -152.0;

/// The head without features.
pub(crate) fn masses(p: DVec3) -> f64 {
    // Rounds off the mirror plane, so that masses of the two sides meet without a crease.
    let s = DVec3::new((p.x * p.x + 9.0).sqrt(), p.y, p.z);

    let cranium = ellipsoid(p, at(0.0, 54.0, -10.0), at(73.0, 82.0, 90.0));
    let forehead = ellipsoid(p, at(0.0, 54.0, 34.0), at(59.0, 50.0, 56.0));
    let mut d = join(cranium, forehead, 30.0);

    // The face: a wedge from the temples to the chin.
    let face = ellipsoid(p, at(0.0, -10.0, 34.0), at(55.0, 62.0, 55.0));
    let muzzle = ellipsoid(p, at(0.0, -44.0, 64.0), at(35.0, 34.0, 39.5));
    d = join(d, face, 30.0);
    d = join(d, muzzle, 24.0);

    let upper_lip = ellipsoid(p, at(0.0, -33.0, 76.0), at(25.0, 15.0, 26.5));
    d = join(d, upper_lip, 14.0);

    let cheekbone = ellipsoid(s, at(39.0, -11.0, 57.0), at(24.0, 17.0, 27.5));
    d = join(d, cheekbone, 24.0);
    let arch = rod(s, (at(56.0, -4.0, 42.0), 9.0), (at(62.0, 4.0, 8.0), 8.0));
    d = join(d, arch, 26.0);

    // Jaw: body from the chin to the angle, ramus up to the joint.
    let body = tube(
        s,
        &[
            (at(9.0, -84.0, 80.0), 13.0),
            (at(28.0, -71.0, 50.0), 13.0),
            (at(42.0, -52.0, 18.0), 13.0),
            (at(51.0, -6.0, 8.0), 14.0),
        ],
        16.0,
    );
    d = join(d, body, 30.0);
    let chin = ellipsoid(p, at(0.0, -80.0, 82.5), at(15.0, 14.0, 18.5));
    d = join(d, chin, 14.0);

    let cheek = ellipsoid(s, at(31.0, -34.0, 56.0), at(20.0, 30.0, 27.0));
    d = join(d, cheek, 24.0);

    let brow =
        tube(s, &[(at(8.0, 37.0, 84.0), 5.0), (at(28.0, 42.0, 81.0), 6.0), (at(48.0, 35.0, 63.0), 6.0)], 8.0);
    d = join(d, brow, 22.0);

    // A soft hollow at the temples.
    d = carve(d, ball(p, at(104.0, 34.0, 52.0), 36.0), 30.0);

    let neck = neck(p, s);
    join(d, neck, 22.0)
}

fn neck(p: DVec3, s: DVec3) -> f64 {
    // A leaning elliptical column: distances across are measured in a squeezed space.
    let lean = -14.0 - 0.22 * (-p.y - 60.0);
    let flare = 12.0 * bell(p.y + 190.0, 45.0);
    let across = ((p.x / 1.0).powi(2) + ((p.z - lean) / 1.04).powi(2)).sqrt();
    let column = (across - 43.0 - flare).max(p.y - 10.0);
    // The strap muscle from behind the ear to the pit of the neck.
    let strap = rod(s, (at(50.0, -24.0, -22.0), 9.0), (at(12.0, -176.0, 14.0), 8.0));
    let nape = rod(s, (at(18.0, -6.0, -54.0), 18.0), (at(34.0, -190.0, -56.0), 22.0));
    let throat = rod(p, (at(0.0, -98.0, 22.0), 14.0), (at(0.0, -190.0, 2.0), 14.0));
    let d = join(column, strap, 16.0);
    let d = join(d, nape, 28.0);
    join(d, throat, 24.0)
}
