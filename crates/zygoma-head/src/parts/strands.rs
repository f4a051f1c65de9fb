//! Tapered strands: single hairs and clumps of hair.

use glam::DVec3;
use zygoma_rig::UvMap;

use crate::uv::Tile;

/// A place along a strand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Station {
    pub(super) point: DVec3,
    /// Away from the skin, unit.
    pub(super) out: DVec3,
    /// Half of the strand's width.
    pub(super) half: f64,
    /// Height of its ridge.
    pub(super) rise: f64,
}

/// How much of a strand can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    /// It lies on something: only its roof.
    Roof,
    /// All around.
    All,
}

/// Strands in one mesh: three-sided prisms that end in a point.
#[derive(Clone, Debug, Default)]
pub(super) struct Strands {
    pub(super) positions: Vec<DVec3>,
    pub(super) triangles: Vec<[u32; 3]>,
    coordinates: Vec<glam::Vec2>,
}

impl Strands {
    /// Adds a strand through at least two stations, the last of which is its tip. `band` is the part of the tile across it, `reach` the
    /// part along it, from the root to the tip.
    pub(super) fn push(
        &mut self,
        stations: &[Station],
        sides: Sides,
        tile: Tile,
        band: (f64, f64),
        reach: (f64, f64),
    ) {
        let Some((tip, rings)) = stations.split_last() else { return };
        let first = self.positions.len() as u32;
        let share = |i: usize| reach.0 + (reach.1 - reach.0) * i as f64 / rings.len() as f64;
        for (i, station) in rings.iter().enumerate() {
            let before = stations[i.saturating_sub(1)].point;
            let tangent = (stations[i + 1].point - before).normalize_or_zero();
            let across = station.out.cross(tangent).normalize_or_zero();
            for side in [-1.0, 0.0, 1.0] {
                let lift = if side == 0.0 { station.rise } else { 0.0 };
                self.positions.push(station.point + side * station.half * across + lift * station.out);
                let middle = 0.5 * (band.0 + band.1);
                self.coordinates.push(tile.at(middle + 0.5 * side * (band.1 - band.0), share(i)));
            }
        }
        self.positions.push(tip.point);
        self.coordinates.push(tile.at(0.5 * (band.0 + band.1), reach.1));
        let end = first + 3 * rings.len() as u32;
        let closed = sides == Sides::All;
        let prism = super::grid(rings.len() as u32, 3, closed);
        self.triangles.extend(prism.into_iter().map(|t| t.map(|v| v + first)));
        let last = end - 3;
        self.triangles.extend([[last, end, last + 1], [last + 1, end, last + 2]]);
        if closed {
            self.triangles.extend([[last + 2, end, last], [first, first + 1, first + 2]]);
        }
    }

    /// Adds any surface.
    pub(super) fn add(&mut self, points: &[DVec3], triangles: &[[u32; 3]], places: &[glam::Vec2]) {
        let first = self.positions.len() as u32;
        self.positions.extend(points);
        self.coordinates.extend(places);
        self.triangles.extend(triangles.iter().map(|t| t.map(|v| v + first)));
    }

    pub(super) fn uvs(&self) -> UvMap {
        UvMap { coordinates: self.coordinates.clone(), corners: None }
    }
}
