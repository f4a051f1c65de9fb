//! Texture coordinates: the skin unrolled around the head, the mouth bag, eye pockets and parts in tiles below it.

use std::collections::HashMap;

use glam::{DVec3, Vec2};
use zygoma_rig::UvMap;

use crate::base::{Base, Part};
use crate::sculpt::{eyes, nose};

/// Lower end of the unrolled skin; the tiles lie below.
pub(crate) const SKIN_HEIGHT: f64 = 0.78;

/// A tile of the texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tile {
    pub(crate) left: f64,
    pub(crate) width: f64,
}

pub(crate) const BAG: Tile = Tile { left: 0.01, width: 0.06 };
pub(crate) const HAIR: Tile = Tile { left: 0.09, width: 0.09 };
pub(crate) const POCKET: Tile = Tile { left: 0.20, width: 0.07 };
pub(crate) const WET: Tile = Tile { left: 0.285, width: 0.02 };
pub(crate) const EYE: Tile = Tile { left: 0.32, width: 0.19 };
pub(crate) const TEETH: Tile = Tile { left: 0.53, width: 0.09 };
pub(crate) const GUMS: Tile = Tile { left: 0.64, width: 0.09 };
pub(crate) const TONGUE: Tile = Tile { left: 0.75, width: 0.09 };
pub(crate) const LASHES: Tile = Tile { left: 0.86, width: 0.05 };
pub(crate) const NOSTRIL: Tile = Tile { left: 0.93, width: 0.05 };
/// All tiles.
pub(crate) const TILES: [Tile; 10] = [BAG, HAIR, POCKET, WET, EYE, TEETH, GUMS, TONGUE, LASHES, NOSTRIL];
const TILE_TOP: f64 = 0.80;
const TILE_HEIGHT: f64 = 0.19;

impl Tile {
    /// The texture coordinate of a position in the tile, both from 0 to 1.
    pub(crate) fn at(&self, s: f64, t: f64) -> Vec2 {
        let clamped = |x: f64| x.clamp(0.02, 0.98);
        Vec2::new((self.left + self.width * clamped(s)) as f32, (TILE_TOP + TILE_HEIGHT * clamped(t)) as f32)
    }

    /// The position in the tile of a texture coordinate, if it lies there.
    pub(crate) fn place(&self, u: f64, v: f64) -> Option<(f64, f64)> {
        let (s, t) = ((u - self.left) / self.width, (v - TILE_TOP) / TILE_HEIGHT);
        ((-0.05..=1.05).contains(&s) && (-0.05..=1.05).contains(&t)).then_some((s, t))
    }
}

/// Unrolls a point of the outer skin: around the head from the back seam over the right ear, and from the crown down.
fn unrolled(p: DVec3) -> (f64, f64) {
    let axis = p - DVec3::new(0.0, 20.0, 4.0);
    // The face gets three times as much of the texture as the back of the head.
    let turn = axis.x.atan2(axis.z);
    let around = 0.5 + (turn + 0.5 * turn.sin()) / std::f64::consts::TAU;
    let ring = axis.x.hypot(axis.z);
    // An angle near the crown, a height on the neck, smoothly blended.
    let down = if axis.y > 0.0 {
        std::f64::consts::FRAC_PI_2 - axis.y.atan2(ring)
    } else {
        std::f64::consts::FRAC_PI_2 - axis.y / 88.0
    };
    (around, SKIN_HEIGHT * (down / 3.55).clamp(0.0, 1.0))
}

/// Texture coordinates of the skin, one per corner.
pub(crate) fn skin(base: &Base) -> UvMap {
    let mut coordinates = Vec::new();
    let mut known: HashMap<(u32, u32), u32> = HashMap::new();
    let mut corners = Vec::with_capacity(3 * base.triangles.len());
    for t in &base.triangles {
        let parts = t.map(|v| base.parts[v as usize]);
        let inside = |wanted: [Part; 2]| parts.iter().any(|part| wanted.contains(part));
        let island = if inside([Part::UpperBag, Part::LowerBag]) {
            1
        } else if inside([Part::LeftPocket, Part::RightPocket]) {
            2
        } else if t.iter().all(|v| nose::nostril(base.open[*v as usize]) < 0.5) {
            3
        } else {
            0
        };
        let points = t.map(|v| base.rest[v as usize]);
        let mut around = points.map(|p| unrolled(p).0);
        let widest = around.iter().fold(0.0f64, |m, u| m.max(*u));
        let narrowest = around.iter().fold(1.0f64, |m, u| m.min(*u));
        let wraps = island == 0 && widest - narrowest > 0.5;
        if wraps {
            // Triangles at the back seam stay on its right side.
            around = around.map(|u| if u < 0.5 { u + 1.0 } else { u });
        }
        for (i, v) in t.iter().enumerate() {
            let wrapped = u32::from(wraps && around[i] > 1.0);
            let index = *known.entry((*v, 2 * island + wrapped)).or_insert_with(|| {
                coordinates.push(match island {
                    1 => BAG.at(0.5 + points[i].x / 64.0, 0.5 + (points[i].y + 47.0) / 60.0),
                    2 => {
                        let q =
                            (points[i] - eyes::CENTRE * DVec3::new(points[i].x.signum(), 1.0, 1.0)) / 40.0;
                        POCKET.at(0.5 + q.x * points[i].x.signum(), 0.5 + q.y)
                    }
                    3 => NOSTRIL.at(points[i].x.abs() / 16.0, (-10.0 - points[i].y) / 16.0),
                    _ => Vec2::new(around[i] as f32, unrolled(points[i]).1 as f32),
                });
                coordinates.len() as u32 - 1
            });
            corners.push(index);
        }
    }
    UvMap { coordinates, corners: Some(corners) }
}
