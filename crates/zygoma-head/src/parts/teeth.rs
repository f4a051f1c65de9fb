//! Teeth and gums along the two dental arches. The lower ones follow the jaw.

use glam::DVec3;
use zygoma_rig::UvMap;

use super::{Part, following_jaw, grid};
use crate::sculpt::field::at;
use crate::uv::{GUMS, TEETH, Tile};

/// Height at which the teeth meet.
const BITE: f64 = -49.4;
/// Semi-axes and centre of the arch through the middle of the teeth.
const ARCH: (f64, f64, f64) = (20.0, 27.0, 65.0);

/// Width along the arch, height and thickness of the teeth of one side, from the middle.
const UPPER: [(f64, f64, f64); 7] = [
    (8.3, 9.6, 3.4),
    (6.6, 8.6, 3.2),
    (7.4, 9.4, 4.2),
    (6.8, 7.8, 5.6),
    (6.6, 7.2, 5.8),
    (9.0, 6.6, 6.6),
    (8.6, 6.0, 6.4),
];
const LOWER: [(f64, f64, f64); 7] = [
    (5.6, 8.4, 3.2),
    (6.0, 8.4, 3.2),
    (6.8, 9.0, 4.0),
    (6.8, 7.8, 5.2),
    (6.8, 7.2, 5.6),
    (9.4, 6.4, 6.4),
    (9.0, 6.0, 6.2),
];

/// Upper and lower teeth, upper and lower gums.
pub(super) fn all() -> [Part; 4] {
    [teeth("teeth_upper", 1.0), teeth("teeth_lower", -1.0), gums("gums_upper", 1.0), gums("gums_lower", -1.0)]
}

/// A point of the arch and the outward direction there; the lower arch lies a little behind the upper one.
fn arch(angle: f64, up: f64) -> (DVec3, DVec3) {
    let inset = if up < 0.0 { 1.6 } else { 0.0 };
    let (a, b, z) = (ARCH.0 - inset, ARCH.1 - inset, ARCH.2);
    let point = at(a * angle.sin(), BITE, z + b * angle.cos());
    let outward = at(angle.sin() / a, 0.0, angle.cos() / b).normalize();
    (point, outward)
}

/// The angle at a given arc length further along the arch.
fn further(mut angle: f64, length: f64, up: f64) -> f64 {
    const STEPS: usize = 32;
    for _ in 0..STEPS {
        let speed = (arch(angle + 1e-4, up).0 - arch(angle, up).0).length() / 1e-4;
        angle += length / STEPS as f64 / speed;
    }
    angle
}

fn flat_uvs(tile: Tile, places: Vec<(f64, f64)>) -> UvMap {
    UvMap { coordinates: places.into_iter().map(|(s, t)| tile.at(s, t)).collect(), corners: None }
}

fn teeth(name: &'static str, up: f64) -> Part {
    let (mut positions, mut triangles, mut places) = (Vec::new(), Vec::new(), Vec::new());
    let sizes = if up > 0.0 { UPPER } else { LOWER };
    for side in [1.0, -1.0] {
        let mut angle = 0.0;
        for (width, height, thickness) in sizes {
            let middle = further(angle, 0.5 * width, up);
            angle = further(angle, width, up);
            let (centre, outward) = arch(middle, up);
            let along = outward.cross(DVec3::Y);
            let mirror = at(side, 1.0, 1.0);
            let first = positions.len() as u32;
            const RINGS: u32 = 9;
            const SEGMENTS: u32 = 14;
            for ring in 0..RINGS {
                // From the biting edge to the root: a rounded block that narrows at both ends.
                let share = f64::from(ring) / f64::from(RINGS - 1);
                let swell = (1.0 - (2.0 * share - 1.0).abs().powf(8.0)).max(0.0).powf(0.35);
                let taper = 1.0 - 0.22 * share.powi(2);
                for segment in 0..SEGMENTS {
                    let around = std::f64::consts::TAU * f64::from(segment) / f64::from(SEGMENTS);
                    let square = |x: f64| x.signum() * x.abs().powf(0.62);
                    let across = 0.5 * (width - 0.25) * taper * swell * square(around.cos());
                    let edge = 1.0 - 0.55 * (1.0 - share).powi(3);
                    let deep = 0.5 * thickness * edge * swell * square(around.sin());
                    let y = up * (share * (height + 1.5));
                    let p = centre + along * across + outward * deep + at(0.0, y, 0.0);
                    positions.push(p * mirror);
                    places.push((0.5 + 0.5 * around.cos(), share));
                }
            }
            let flip = (side > 0.0) == (up > 0.0);
            triangles.extend(grid(RINGS, SEGMENTS, true).into_iter().map(|t| {
                let t = t.map(|v| v + first);
                if flip { [t[0], t[2], t[1]] } else { t }
            }));
        }
    }
    let shapes = if up > 0.0 { Vec::new() } else { following_jaw(&positions, |_| 1.0) };
    Part { name, uvs: flat_uvs(TEETH, places), positions, triangles, shapes }
}

fn gums(name: &'static str, up: f64) -> Part {
    const STATIONS: u32 = 41;
    const AROUND: u32 = 12;
    let (mut positions, mut places) = (Vec::new(), Vec::new());
    for station in 0..STATIONS {
        let share = 2.0 * f64::from(station) / f64::from(STATIONS - 1) - 1.0;
        let angle = share * 1.50;
        let (centre, outward) = arch(angle, up);
        let end = (1.0 - share.abs().powi(12)).max(0.0).sqrt();
        for step in 0..AROUND {
            let around = std::f64::consts::TAU * f64::from(step) / f64::from(AROUND);
            let middle = at(0.0, up * 10.0, 0.0) - outward * 0.6;
            let ring = outward * (3.1 * around.cos()) + at(0.0, 3.4 * around.sin(), 0.0);
            positions.push(centre + middle + end * ring);
            places.push((0.5, 0.5));
        }
    }
    let triangles = grid(STATIONS, AROUND, true);
    let shapes = if up > 0.0 { Vec::new() } else { following_jaw(&positions, |_| 1.0) };
    Part { name, uvs: flat_uvs(GUMS, places), positions, triangles, shapes }
}
