//! The scalp, and a shell over it from the hairline to the crown.

use std::f64::consts::{FRAC_PI_2, TAU};

use glam::DVec3;

use crate::parts::grid;
use crate::parts::strands::Strands;
use crate::scalp::above_hairline;
use crate::sculpt::field::{at, ramp};
use crate::sculpt::skull::masses;
use crate::uv::HAIR;

/// A point inside the skull from which all of the scalp can be seen.
const MIDDLE: DVec3 = at(0.0, 54.0, -10.0);

/// The direction with an angle around the head (0 is forwards, a quarter is left) and an elevation.
pub(super) fn direction(around: f64, elevation: f64) -> DVec3 {
    at(around.sin() * elevation.cos(), elevation.sin(), around.cos() * elevation.cos())
}

/// The point of the head in a direction, without ears.
pub(super) fn scalp_point(direction: DVec3) -> DVec3 {
    let (mut near, mut far) = (20.0, 170.0);
    for _ in 0..18 {
        let middle = 0.5 * (near + far);
        if masses(MIDDLE + middle * direction) < 0.0 { near = middle } else { far = middle }
    }
    MIDDLE + 0.5 * (near + far) * direction
}

/// Elevation of the hairline at an angle around the head.
pub(super) fn hairline_elevation(around: f64) -> f64 {
    let (mut low, mut high) = (-1.2, 1.2);
    for _ in 0..14 {
        let middle = 0.5 * (low + high);
        let above = above_hairline(scalp_point(direction(around, middle)));
        if above < 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Adds a shell of a thickness in mm; `streaks` is how much of the texture its hairs show.
pub(super) fn add(strands: &mut Strands, thickness: f64, streaks: f64) {
    const AROUND: u32 = 72;
    const ROWS: u32 = 10;
    let turn = |step: u32| f64::from(step) / f64::from(AROUND);
    // A ragged edge behind the line, which the clumps cover.
    let edge = |step: u32| {
        let around = TAU * turn(step);
        hairline_elevation(around) + 0.016 + 0.010 * (61.0 * around).sin() * (23.0 * around).cos()
    };
    let edges: Vec<f64> = (0..AROUND).map(edge).collect();
    let mut points = Vec::new();
    let mut places = Vec::new();
    for row in 0..ROWS {
        let share = f64::from(row) / f64::from(ROWS - 1);
        for step in 0..AROUND {
            let (turn, line) = (turn(step), edges[step as usize]);
            let around = TAU * turn;
            let elevation = line + share.powf(1.3) * (FRAC_PI_2 - 0.01 - line);
            let toward = direction(around, elevation);
            // The edge dives under the skin.
            let lift = -0.4 + (thickness + 0.4) * ramp(-0.05, 0.25, share);
            points.push(scalp_point(toward) + lift * toward);
            let zigzag = (2.0 * (5.0 * turn).fract() - 1.0).abs();
            places.push(HAIR.at(0.4 + streaks * (zigzag - 0.4), 0.15 + 0.35 * share));
        }
    }
    let outwards = grid(ROWS, AROUND, true).into_iter().map(|t| [t[0], t[2], t[1]]);
    strands.add(&points, &outwards.collect::<Vec<_>>(), &places);
}
