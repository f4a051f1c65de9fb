//! Skin that is held and dragged.

use glam::{Vec3, Vec4, Vec4Swizzles};

use super::touch::Load;

/// Held skin. In heights, in the head's frame.
#[derive(Clone, Debug)]
pub(super) struct Pull {
    pins: Vec<(u32, Vec3)>,
    before: Vec3,
    now: Vec3,
    /// Where the skin should be at the end of the next frame.
    pub(super) wanted: Vec3,
    pub(super) load: Load,
}

impl Pull {
    /// Holds some vertices of a shell at a place, and those within a radius of it that hang together with them there: not
    /// the other lip.
    pub(super) fn new(
        at: Vec3,
        radius: f32,
        seeds: &[u32],
        shell: &[Vec4],
        triangles: &[[u32; 3]],
        free: usize,
    ) -> Self {
        let is_inside = |v: u32| shell[v as usize].xyz().distance(at) <= radius;
        let mut held = vec![false; shell.len()];
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
        let held = (0..free as u32).filter(|v| held[*v as usize]);
        let pins = held.map(|v| (v, shell[v as usize].xyz() - at)).collect();
        Self { pins, before: at, now: at, wanted: at, load: Load::default() }
    }

    pub(super) fn begin_frame(&mut self) {
        self.before = self.now;
        self.now = self.wanted;
        self.load.end_frame();
    }

    /// Moves the held vertices to where they are at a share of the frame. `resistance` is force per displacement.
    pub(super) fn hold(&mut self, share: f32, next: &mut [Vec4], resistance: &[f32]) {
        self.load.begin_step();
        let handle = self.before + share * (self.now - self.before);
        for (vertex, offset) in &self.pins {
            let vertex = *vertex as usize;
            let place = handle + *offset;
            let force = resistance[vertex] * (place - next[vertex].xyz());
            self.load.add(force, place);
            next[vertex] = place.extend(0.0);
        }
    }
}
