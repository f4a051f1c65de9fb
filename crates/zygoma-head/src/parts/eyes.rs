//! Eyeballs, turned by the gaze shapes. The iris is set back behind the limbus, which gives it depth without a clear cornea.

use std::f64::consts::{PI, TAU};

use glam::{DVec3, Vec2};
use zygoma_rig::UvMap;

use super::{Part, grid};
use crate::sculpt::eyes::{CENTRE, RADIUS};
use crate::sculpt::field::ramp;
use crate::shapes::{GAZE, gaze_turn};
use crate::uv::EYE;

/// Rings from the pupil to behind the limbus, and from there to the back.
const FRONT: u32 = 14;
const RINGS: u32 = 28;
const SEGMENTS: u32 = 32;
/// Radius of the iris, mm.
const IRIS: f64 = 5.9;
/// Depth of the iris at its rim, and how much deeper it is at the pupil, mm.
const DEPTH: (f64, f64) = (0.35, 0.55);

/// The angle from the pupil to the limbus.
pub(crate) fn limbus() -> f64 {
    (IRIS / RADIUS).asin()
}

/// How far the tile's middle is from the place of an angle, from 0 to 0.5: most of the tile shows the front.
fn reach(angle: f64) -> f64 {
    0.5 * (angle / PI).powf(SPREAD)
}
const SPREAD: f64 = 0.6;

/// The angle from the pupil at a distance from the tile's middle, from 0 to 1.
pub(crate) fn angle_at(distance: f64) -> f64 {
    PI * distance.powf(1.0 / SPREAD)
}

/// Both eyeballs: left, right.
pub(super) fn pair() -> [Part; 2] {
    let left = left();
    let mut right = left.mirrored("eye_right");
    // Light comes from the same side in both eyes: the picture is not mirrored.
    let middle = (EYE.at(0.0, 0.5) + EYE.at(1.0, 0.5)).x;
    right.uvs.coordinates.iter_mut().for_each(|uv| uv.x = middle - uv.x);
    [left, right]
}

/// The angle of a ring.
fn polar(ring: u32) -> f64 {
    let front = limbus() + 0.12;
    if ring <= FRONT {
        return front * f64::from(ring) / f64::from(FRONT);
    }
    let share = f64::from(ring - FRONT) / f64::from(RINGS - FRONT);
    front + (PI - front) * share
}

/// How far the surface is set back at an angle from the pupil.
fn recess(angle: f64) -> f64 {
    let iris = limbus();
    DEPTH.0 * ramp(iris + 0.03, iris - 0.05, angle) + DEPTH.1 * ramp(iris, 0.3 * iris, angle)
}

fn left() -> Part {
    let mut arms = Vec::new();
    let mut coordinates: Vec<Vec2> = Vec::new();
    for ring in 0..=RINGS {
        for segment in 0..SEGMENTS {
            let polar = polar(ring);
            let around = TAU * f64::from(segment) / f64::from(SEGMENTS);
            let direction = DVec3::new(polar.sin() * around.cos(), polar.sin() * around.sin(), polar.cos());
            arms.push((RADIUS - recess(polar)) * direction);
            coordinates.push(EYE.at(0.5 + reach(polar) * around.cos(), 0.5 - reach(polar) * around.sin()));
        }
    }
    let positions: Vec<DVec3> = arms.iter().map(|arm| CENTRE + *arm).collect();
    let shapes = GAZE
        .map(|(name, down, out)| {
            let turn = gaze_turn(down, out);
            let offsets = arms.iter().map(|arm| turn * *arm - *arm).collect();
            (format!("{name}Left"), offsets)
        })
        .to_vec();
    let triangles = grid(RINGS + 1, SEGMENTS, true);
    let degenerate = |t: &[u32; 3]| {
        let p = t.map(|v| positions[v as usize]);
        (p[1] - p[0]).cross(p[2] - p[0]).length() < 1e-9
    };
    let triangles = triangles.into_iter().filter(|t| !degenerate(t)).collect();
    Part { name: "eye_left", triangles, uvs: UvMap { coordinates, corners: None }, positions, shapes }
}
