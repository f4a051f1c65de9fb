//! Upper lashes: curved prisms that are rooted in the lid margin and follow it.

use glam::DVec3;
use zygoma_rig::UvMap;

use super::{Part, grid};
use crate::Level;
use crate::dice::Dice;
use crate::sculpt::eyes::{CENTRE, MARGIN, corners, margins};
use crate::sculpt::field::at;
use crate::shapes::lid_shapes;
use crate::template::Template;
use crate::uv::LASHES;

const COUNT: usize = 58;

/// Lashes of the left and the right eye.
pub(super) fn pair() -> [Part; 2] {
    let left = left();
    let right = left.mirrored("lashes_right");
    [left, right]
}

fn left() -> Part {
    let (mut positions, mut triangles, mut coordinates) = (Vec::new(), Vec::new(), Vec::new());
    let mut roots = Vec::new();
    // From near the inner corner to near the outer one.
    let [inner, outer] = corners().map(|corner| (corner.x - CENTRE.x) / MARGIN);
    let (inner, outer) = (0.90 * inner, 0.94 * outer);
    let mut dice = Dice::new(0x1A5);
    for i in 0..COUNT {
        let share = (i as f64 + dice.between(0.1, 0.9)) / COUNT as f64;
        let xi = inner + (outer - inner) * share;
        let length = (2.4 + 2.6 * share - 1.0 * (2.0 * share - 1.0).powi(2)) * dice.between(0.7, 1.12);
        // Neighbours lean together in small groups.
        let lean = 0.10 * (2.1 * i as f64).sin() + dice.between(-0.07, 0.07);
        let first = positions.len() as u32;
        // Four cross-sections along the lash, three sides each; it curls upwards and fans outwards.
        for step in 0..4 {
            let along = f64::from(step) / 3.0;
            for side in [-1.0, 0.0, 1.0] {
                let half = 0.13 * (1.0 - along) + 0.015;
                let station = (xi + side * half / MARGIN).clamp(-0.95, 0.95);
                let root = margin_point(station);
                let ridge = at(0.0, if side == 0.0 { 0.8 * half } else { 0.0 }, 0.0);
                let out = (root - CENTRE).normalize();
                let fan = at((0.75 * (xi + 0.1) + lean) * length * along, 0.0, 0.0);
                let curl = at(0.0, 0.62 * along * along - 0.10 * along, 0.0) * length;
                positions.push(root + out * (0.1 + 0.85 * length * along) + curl + fan + ridge);
                roots.push(root);
                coordinates.push(LASHES.at(0.5 + 0.4 * side, along));
            }
        }
        triangles.extend(grid(4, 3, true).into_iter().map(|t| t.map(|v| v + first)));
    }
    let base = &Template::of(Level::High).base;
    let shapes = lid_shapes(base)
        .into_iter()
        .map(|(name, shape)| {
            // Every lash turns with its root about the eyeball.
            let offsets = positions.iter().zip(&roots).map(|(p, root)| {
                let moved = *root + shape(*root) - CENTRE;
                let turn = glam::DQuat::from_rotation_arc((*root - CENTRE).normalize(), moved.normalize());
                CENTRE + turn * (*p - CENTRE) - *p
            });
            (format!("{name}Left"), offsets.collect())
        })
        .collect();
    Part { name: "lashes_left", positions, triangles, uvs: UvMap { coordinates, corners: None }, shapes }
}

/// A point of the upper margin, slightly in front of the line where the lids meet.
fn margin_point(xi: f64) -> DVec3 {
    let (_, upper) = margins(xi);
    let angle = upper + 0.015;
    let radius = MARGIN + 0.5;
    let x = xi * MARGIN;
    let across = (radius * radius - x * x).max(1.0).sqrt();
    CENTRE + at(x, across * angle.sin(), across * angle.cos())
}
