//! The wet flesh of the eye: the caruncle in the inner corner, and the line of tears along the lower lid.

use std::f64::consts::{PI, TAU};

use glam::{DQuat, DVec3, Vec2};
use zygoma_rig::UvMap;

use super::{Part, grid};
use crate::Level;
use crate::sculpt::eyes::{CENTRE, MARGIN, RADIUS, corners, margins};
use crate::sculpt::field::at;
use crate::shapes::lid_shapes;
use crate::template::Template;
use crate::uv::{POCKET, WET};

/// Radii of the caruncle, mm.
const SIZE: DVec3 = at(1.9, 1.3, 1.0);
/// Radius of the line of tears, mm.
const TEARS: f64 = 0.22;

/// Caruncle and tears of the left and the right eye.
pub(super) fn pair() -> [Part; 2] {
    let left = left();
    let right = left.mirrored("caruncle_right");
    [left, right]
}

#[derive(Default)]
struct Wet {
    positions: Vec<DVec3>,
    /// For each vertex the point of the lid that it follows.
    roots: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    coordinates: Vec<Vec2>,
}

fn left() -> Part {
    let mut wet = Wet::default();
    wet.add_caruncle();
    wet.add_tears();
    let base = &Template::of(Level::High).base;
    let shapes = lid_shapes(base)
        .into_iter()
        .map(|(name, shape)| {
            let offsets = wet.positions.iter().zip(&wet.roots).map(|(p, root)| {
                let moved = *root + shape(*root) - CENTRE;
                let turn = DQuat::from_rotation_arc((*root - CENTRE).normalize(), moved.normalize());
                CENTRE + turn * (*p - CENTRE) - *p
            });
            (format!("{name}Left"), offsets.collect())
        })
        .collect();
    let uvs = UvMap { coordinates: wet.coordinates, corners: None };
    Part { name: "caruncle_left", positions: wet.positions, triangles: wet.triangles, uvs, shapes }
}

impl Wet {
    fn add_caruncle(&mut self) {
        const RINGS: u32 = 7;
        const SEGMENTS: u32 = 10;
        let [inner, outer] = corners();
        let inwards = (outer - inner).normalize();
        // Behind the corner, where the lids meet, and a little towards the eyeball.
        let corner = inner + 0.3 * inwards - CENTRE;
        let centre = CENTRE + corner.normalize() * (RADIUS - 0.2);
        for ring in 0..RINGS {
            let polar = PI * (0.02 + 0.96 * f64::from(ring) / f64::from(RINGS - 1));
            for segment in 0..SEGMENTS {
                let around = TAU * f64::from(segment) / f64::from(SEGMENTS);
                let unit = at(polar.sin() * around.cos(), polar.sin() * around.sin(), polar.cos());
                self.positions.push(centre + SIZE * unit);
                self.roots.push(inner);
                self.coordinates.push(POCKET.at(0.5, 0.5));
            }
        }
        self.triangles.extend(grid(RINGS, SEGMENTS, true));
    }

    fn add_tears(&mut self) {
        const STATIONS: u32 = 25;
        const SIDES: u32 = 4;
        let [inner, outer] = corners().map(|corner| (corner.x - CENTRE.x) / MARGIN);
        let first = self.positions.len() as u32;
        for station in 0..STATIONS {
            let share = f64::from(station) / f64::from(STATIONS - 1);
            let xi = 0.87 * (inner + (outer - inner) * share);
            let (lower, _) = margins(xi);
            let place = |radius: f64, angle: f64| {
                let x = xi * MARGIN;
                let around = (radius * radius - x * x).max(1.0).sqrt();
                CENTRE + at(x, around * angle.sin(), around * angle.cos())
            };
            // Where the lid's inner rim meets the eyeball.
            let centre = place(RADIUS + 0.35, lower + 0.02);
            let out = (centre - CENTRE).normalize();
            let up = (DVec3::Y - out.y * out).normalize();
            let ends = (4.0 * share * (1.0 - share)).sqrt().min(1.0);
            for side in 0..SIDES {
                let around = TAU * f64::from(side) / f64::from(SIDES);
                self.positions.push(centre + TEARS * ends * (around.cos() * out + 1.4 * around.sin() * up));
                self.roots.push(place(MARGIN, lower));
                self.coordinates.push(WET.at(0.5, 0.5));
            }
        }
        self.triangles.extend(grid(STATIONS, SIDES, true).into_iter().map(|t| t.map(|v| v + first)));
    }
}
