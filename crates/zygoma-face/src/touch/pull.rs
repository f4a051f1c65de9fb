//! Skin that is held and dragged.

use glam::{Vec3, Vec4, Vec4Swizzles};

use super::one::Load;

/// Held skin. In the body's unit of length, in the head's frame.
#[derive(Clone, Debug)]
pub(crate) struct Pull {
    pins: Vec<(u32, Vec3)>,
    /// Where the skin was taken hold of.
    origin: Vec3,
    before: Vec3,
    now: Vec3,
    /// Where the skin should be at the end of the next frame.
    wanted: Vec3,
    pub(crate) load: Load,
}

impl Pull {
    /// Holds some vertices of a body at a place, and those within a radius of it that hang together with them there: not
    /// the other lip.
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
        let is_inside = |v: u32| position(v).distance(at) <= radius;
        let count = triangles.iter().flatten().chain(seeds).max().map_or(0, |last| *last as usize + 1);
        let mut held = vec![false; count];
        for v in seeds {
            held[*v as usize] = true;
        }
        loop {
            let mut has_grown = false;
            for t in triangles {
                if t.iter().any(|v| held[*v as usize]) {
                    for v in t.iter().filter(|v| is_inside(**v)) {
                        has_grown |= !std::mem::replace(&mut held[*v as usize], true);
                    }
                }
            }
            if !has_grown {
                break;
            }
        }
        let held = (0..count.min(free) as u32).filter(|v| held[*v as usize]);
        let pins = held.map(|v| (v, position(v) - at)).collect();
        Self::of(pins, at)
    }

    fn of(pins: Vec<(u32, Vec3)>, at: Vec3) -> Self {
        Self { pins, origin: at, before: at, now: at, wanted: at, load: Load::default() }
    }

    /// Drags the skin to a place, at most so far from where it was taken hold of. A place that is not finite changes nothing.
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

    /// The vertices that are held.
    pub(crate) fn vertices(&self) -> impl Iterator<Item = u32> {
        self.pins.iter().map(|(vertex, _)| *vertex)
    }

    /// Where the held vertices belong at a share of the frame.
    pub(crate) fn places(&self, share: f32) -> impl Iterator<Item = (u32, Vec3)> {
        let handle = self.before + share * (self.now - self.before);
        self.pins.iter().map(move |(vertex, offset)| (*vertex, handle + *offset))
    }

    /// Moves the held vertices to where they are at a share of the frame. `resistance` is force per displacement.
    pub(crate) fn hold(&mut self, share: f32, next: &mut [Vec4], resistance: &[f32]) {
        let handle = self.before + share * (self.now - self.before);
        for (vertex, offset) in &self.pins {
            let (vertex, place) = (*vertex as usize, handle + *offset);
            let force = resistance[vertex] * (place - next[vertex].xyz());
            self.load.add(force, place);
            next[vertex] = place.extend(0.0);
        }
    }
}
