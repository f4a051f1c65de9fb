//! Grabs: skin that is held and dragged.

use glam::{DVec3, Vec3, Vec4, Vec4Swizzles};
use zygoma_geometry::geodesic::{Source, nearest_sources};

use super::collider_body::Load;

/// A grab. In the body's unit of length, in the head's frame.
#[derive(Clone, Debug)]
pub(crate) struct Grab {
    pins: Vec<(u32, Vec3)>,
    /// Where the skin was grabbed.
    origin: Vec3,
    before: Vec3,
    now: Vec3,
    /// The goal at the end of the next frame.
    wanted: Vec3,
    pub(crate) load: Load,
}

impl Grab {
    /// Grabs the seed vertices of a body and those within a radius along the skin: not the other lip, however close it is in space.
    pub(crate) fn new(
        at: Vec3,
        radius: f32,
        seeds: &[u32],
        position: &dyn Fn(u32) -> Vec3,
        triangles: &[[u32; 3]],
        free: usize,
    ) -> Self {
        if !at.is_finite() {
            return Self::of(Vec::new(), Vec3::ZERO);
        }
        let count = triangles.iter().flatten().chain(seeds).max().map_or(0, |last| *last + 1);
        let positions: Vec<DVec3> = (0..count).map(|v| position(v).as_dvec3()).collect();
        let source = |v: &u32| Source {
            vertex: *v,
            distance: positions[*v as usize].distance(at.as_dvec3()),
            label: 0,
        };
        let sources: Vec<Source> = seeds.iter().map(source).collect();
        let along_skin = nearest_sources(&positions, triangles, &sources);
        let is_near =
            |v: u32| along_skin[v as usize].is_some_and(|found| found.distance <= f64::from(radius));
        let held = (0..count.min(free as u32)).filter(|v| seeds.contains(v) || is_near(*v));
        let pins = held.map(|v| (v, position(v) - at)).collect();
        Self::of(pins, at)
    }

    /// Holds vertices at positions of their own.
    pub(crate) fn pinned(places: Vec<(u32, Vec3)>) -> Self {
        Self::of(places, Vec3::ZERO)
    }

    /// Changes the positions of [pinned](Self::pinned) vertices.
    pub(crate) fn pin(&mut self, places: Vec<(u32, Vec3)>) {
        self.pins = places;
    }

    fn of(pins: Vec<(u32, Vec3)>, at: Vec3) -> Self {
        Self { pins, origin: at, before: at, now: at, wanted: at, load: Load::default() }
    }

    /// Drags the skin to a position, at most `longest` from where it was grabbed. A position that is not finite is ignored.
    pub(crate) fn drag(&mut self, to: Vec3, longest: f32) {
        if to.is_finite() {
            self.wanted = self.origin + (to - self.origin).clamp_length_max(longest);
        }
    }

    pub(crate) fn begin_frame(&mut self) {
        self.before = self.now;
        self.now = self.wanted;
        self.load.end_frame();
    }

    /// The held vertices.
    pub(crate) fn vertices(&self) -> impl Iterator<Item = u32> {
        self.pins.iter().map(|(vertex, _)| *vertex)
    }

    /// Goals of the held vertices at a fraction of the frame.
    pub(crate) fn places(&self, fraction: f32) -> impl Iterator<Item = (u32, Vec3)> {
        let handle = self.before + fraction * (self.now - self.before);
        self.pins.iter().map(move |(vertex, offset)| (*vertex, handle + *offset))
    }

    /// Moves the held vertices to their goals at a fraction of the frame. `resistance` is force per displacement.
    pub(crate) fn hold(&mut self, fraction: f32, next: &mut [Vec4], resistance: &[f32]) {
        let handle = self.before + fraction * (self.now - self.before);
        for (vertex, offset) in &self.pins {
            let (vertex, place) = (*vertex as usize, handle + *offset);
            let force = resistance[vertex] * (place - next[vertex].xyz());
            self.load.add(force, place);
            next[vertex] = place.extend(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two lips that meet at a corner: a slit along x from 0 to the edge of a sheet.
    #[test]
    fn one_lip_is_held_and_not_the_other() {
        let (columns, step) = (31, 0.002f32);
        // Rows of the upper lip, then of the lower; left of the corner, at x = 0, they have their first row in common.
        let at = |row: usize, i: usize| Vec3::new(step * (i as f32 - 10.0), step * row as f32, 0.0);
        let mut positions: Vec<Vec3> = (0..5).flat_map(|row| (0..columns).map(move |i| at(row, i))).collect();
        let lower = positions.len();
        positions
            .extend((0..5).flat_map(|row| (0..columns).map(move |i| at(row, i) * Vec3::new(1.0, -1.0, 1.0))));
        let corner = |is_lower: bool, row: usize, i: usize| {
            let is_shared = row == 0 && i <= 10;
            (row * columns + i + if is_lower && !is_shared { lower } else { 0 }) as u32
        };
        let mut triangles = Vec::new();
        for is_lower in [false, true] {
            for (row, i) in (0..4).flat_map(|row| (0..columns - 1).map(move |i| (row, i))) {
                let [a, b] = [corner(is_lower, row, i), corner(is_lower, row, i + 1)];
                let [c, d] = [corner(is_lower, row + 1, i + 1), corner(is_lower, row + 1, i)];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        // 2 cm from the corner, on the lower lip; the upper one is just across.
        let seed = corner(true, 0, 20);
        let position = |v: u32| positions[v as usize];
        let pull = Grab::new(position(seed), 0.03, &[seed], &position, &triangles, positions.len());
        let held: Vec<u32> = pull.vertices().collect();
        assert!(held.contains(&corner(true, 2, 22)) && held.contains(&corner(true, 0, 12)));
        let upper = held.iter().filter(|v| (**v as usize) < lower && position(**v).x > 0.012);
        assert_eq!(upper.count(), 0, "the upper lip beyond what is near along the skin");
    }
}
