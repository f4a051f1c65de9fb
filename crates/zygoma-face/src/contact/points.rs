//! Contact points from frame to frame, and those that stand for others next to them.

use glam::{Vec3, Vec4};

use super::colliders::{ColliderId, Colliders};
use super::point::{ContactPoint, Hold};
use super::side::Side;

/// State of a contact point that is kept while the points near colliders are found anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    touch: ColliderId,
    sample: u32,
    hold: Hold,
    side: Option<Side>,
    /// Its depth behind that side.
    depth: f32,
}

/// The full-resolution layer on top of the shell at one time: neutral and detail in metres, and the shell's residual from its target.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    pub(crate) base: &'a [Vec3],
    pub(crate) residual: &'a [Vec4],
}

impl Colliders {
    /// Stores the state of contact points until they are found anew.
    pub(crate) fn keep_points(&mut self) {
        self.kept.clear();
        for &ContactPoint { touch, sample, hold, side, start, .. } in &self.candidates {
            if hold.anchor.is_some() || side.is_some() {
                let (touch, body) = &self.entries[touch as usize];
                let depth = side.map_or(0.0, |side| -side.distance(&body.collider, start).distance);
                self.kept.push(Kept { touch: *touch, sample, hold, side, depth });
            }
        }
    }

    /// Restores the state of contact points that were found anew. Both lists are sorted by collider and point.
    pub(crate) fn find_kept(&mut self) {
        let mut kept = self.kept.iter().peekable();
        for point in &mut self.candidates {
            let key = (self.entries[point.touch as usize].0, point.sample);
            while kept.next_if(|kept| (kept.touch, kept.sample) < key).is_some() {}
            if let Some(kept) = kept.next_if(|kept| (kept.touch, kept.sample) == key) {
                (point.hold, point.side) = (kept.hold, kept.side);
            }
        }
    }

    /// The deepest that a point is behind the side of a collider that it met.
    pub(crate) fn depth_behind(&self, id: ColliderId) -> f32 {
        self.kept.iter().filter(|kept| kept.touch == id).map(|kept| kept.depth).fold(0.0, f32::max)
    }

    /// Forgets all contact points.
    pub(crate) fn forget_points(&mut self) {
        self.candidates.clear();
        self.kept.clear();
    }
}
