//! Eyeballs, turned by the gaze shapes.

use glam::{DVec3, Vec2};
use zygoma_rig::UvMap;

use super::{Part, grid};
use crate::sculpt::eyes::{CENTRE, RADIUS};
use crate::shapes::{GAZE, gaze_turn};
use crate::uv::EYE;

const RINGS: u32 = 24;
const SEGMENTS: u32 = 32;

/// Both eyeballs: left, right.
pub(super) fn pair() -> [Part; 2] {
    let left = left();
    let right = left.mirrored("eye_right");
    [left, right]
}

fn left() -> Part {
    let mut directions = Vec::new();
    let mut coordinates: Vec<Vec2> = Vec::new();
    for ring in 0..=RINGS {
        for segment in 0..SEGMENTS {
            // Rings are denser around the iris.
            let share = f64::from(ring) / f64::from(RINGS);
            let polar = std::f64::consts::PI * share.powf(1.4);
            let around = std::f64::consts::TAU * f64::from(segment) / f64::from(SEGMENTS);
            directions.push(DVec3::new(polar.sin() * around.cos(), polar.sin() * around.sin(), polar.cos()));
            let reach = 0.5 * polar / std::f64::consts::PI;
            coordinates.push(EYE.at(0.5 + reach * around.cos(), 0.5 - reach * around.sin()));
        }
    }
    let positions: Vec<DVec3> = directions.iter().map(|d| CENTRE + RADIUS * *d).collect();
    let shapes = GAZE
        .map(|(name, down, out)| {
            let turn = gaze_turn(down, out);
            let offsets = directions.iter().map(|d| RADIUS * (turn * *d - *d)).collect();
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
