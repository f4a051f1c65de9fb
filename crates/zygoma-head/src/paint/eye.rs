//! The painted eye.

use glam::DVec2;

use super::noise::{noise, threads};
use super::{Color, Palette};
use crate::parts::eyes::{angle_at, limbus};
use crate::sculpt::field::{at, bell, ramp};

/// The eyeball seen along its axis, with the tile's middle at the pupil.
pub(super) fn eye_color(palette: &Palette, s: f64, t: f64) -> Color {
    let (x, y) = (2.0 * s - 1.0, 2.0 * t - 1.0);
    let angle = angle_at(x.hypot(y).min(1.0));
    let (around, edge) = (y.atan2(x), limbus());
    let place = angle / edge;
    // Under the upper lid it is darker; the other side of the iris catches the light that the cornea gathers.
    let up = -y.atan2(x).sin() * angle;
    let lid = 1.0 - 0.30 * ramp(0.10, 0.55, up);
    let color = iris_color(palette, around, place).lerp(white_color(x, y, angle), ramp(0.97, 1.09, place));
    let rim = bell(place - 1.0, 0.09);
    let color = color.lerp(palette.iris * 0.25, 0.55 * rim) * lid;
    // A window, up on the side of the main light.
    let window = (angle * around.cos() + 0.20).hypot(up - 0.19);
    color.lerp(at(0.97, 0.98, 1.0), 0.8 * ramp(0.105, 0.045, window))
}

/// The iris at an angle around the pupil and a fraction of its radius: fibres, a collarette around the pupil, a dark rim.
fn iris_color(palette: &Palette, around: f64, place: f64) -> Color {
    let spoke = |count: f64, depth: f64| {
        let turn = DVec2::from_angle(around) * count;
        noise(at(turn.x + 40.0, turn.y + 40.0, depth * place))
    };
    let fibres = 0.55 * spoke(9.0, 1.2) + 0.45 * spoke(22.0, 2.0);
    let ring = 0.52 + 0.08 * (spoke(4.0, 0.0) - 0.5);
    let inner = palette.iris * at(1.45, 1.2, 0.95) + at(0.06, 0.03, 0.0);
    let outer = palette.iris * 1.1;
    let color = inner.lerp(outer, ramp(ring - 0.10, ring + 0.08, place)) * (0.62 + 0.75 * fibres);
    let color = color * (1.0 + 0.25 * bell(place - ring, 0.05));
    let caught = 0.28 * ramp(-0.2, 0.9, around.sin()) * bell(place - 0.68, 0.22);
    let color = color * (1.0 + caught) * (1.0 - 0.62 * ramp(0.74, 1.0, place));
    color.lerp(at(0.015, 0.012, 0.012), ramp(0.40, 0.34, place))
}

/// The white of the eye: not white, with faint veins towards the corners.
fn white_color(x: f64, y: f64, angle: f64) -> Color {
    let side = ramp(0.55, 1.15, angle) * (x / x.hypot(y).max(1e-9)).abs().powi(2);
    let thread = |scale: f64, z: f64| threads(at(scale * 0.6 * x + 7.0, scale * y + 7.0, z), 14);
    let veins = (thread(13.0, 0.5) + 0.7 * thread(24.0, 4.5)) * ramp(0.5, 0.95, angle);
    let white = at(0.905, 0.885, 0.865).lerp(at(0.84, 0.66, 0.61), 0.5 * side);
    white
        .lerp(at(0.74, 0.36, 0.32), (0.30 * veins).min(0.4))
        .lerp(at(0.80, 0.52, 0.48), ramp(1.2, 1.7, angle))
}
