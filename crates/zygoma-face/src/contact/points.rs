//! State of contact points over a frame and its steps: nearby collider, contact force, friction anchor.

use glam::{Vec3, Vec4};

use super::collider_body::ColliderBody;
use super::colliders::{ColliderId, Colliders};
use super::side::Side;

/// A point of the skin that may touch a collider in a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) touch: u32,
    pub(crate) sample: u32,
    /// The part of the point's position that does not come from the body's positions, at the start and at the end of the frame.
    pub(crate) offset_before: Vec3,
    pub(crate) offset_now: Vec3,
    pub(crate) anchor: Option<Anchor>,
    /// The side of the collider that it met and is still behind.
    pub(crate) side: Option<Side>,
}

/// The point that friction holds a contact point at, in the collider's own frame. Measured from the position one step ago instead, the
/// small error of each step would accumulate, and resting contacts would creep.
pub(crate) type Anchor = Vec3;

/// State of a contact point that is kept from frame to frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) touch: ColliderId,
    pub(crate) sample: u32,
    pub(crate) anchor: Option<Anchor>,
    pub(crate) side: Option<Side>,
}

/// A point that is near a collider in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    pub(crate) candidate: u32,
    pub(crate) touch: u32,
    pub(crate) sample: u32,
    /// The part of its position that does not come from the body's positions, at the end of the step.
    pub(crate) offset: Vec3,
    /// Displacement per unit of force, if all vertices that it is embedded in can move.
    pub(crate) compliance: f32,
    pub(crate) hold: Hold,
    /// The side of the collider that it met on the way, where the way was long.
    pub(crate) side: Option<Side>,
}

/// Contact force of a collider on a point in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hold {
    /// Normal force, never negative, and friction force.
    pub(crate) pressing: f32,
    pub(crate) dragging: Vec3,
    /// Direction of the normal force.
    pub(crate) normal: Vec3,
    pub(crate) anchor: Option<Anchor>,
}

/// The full-resolution layer on top of the shell at one time: neutral and detail in metres, and the shell's residual from its target.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    pub(crate) base: &'a [Vec3],
    pub(crate) residual: &'a [Vec4],
}

impl Hold {
    /// Coulomb friction: the force that returns a point to its anchor, at most μ times the normal force. Returns the change.
    pub(crate) fn drag(
        &mut self,
        touch: &ColliderBody,
        at: Vec3,
        normal: Vec3,
        pressing: f32,
        compliance: f32,
    ) -> Vec3 {
        let Some(anchor) = self.anchor.filter(|_| touch.friction > 0.0) else { return Vec3::ZERO };
        let slide = at - touch.collider.now.apply(anchor);
        let along = slide - slide.dot(normal) * normal;
        let wanted = self.dragging - along / compliance;
        let dragging = wanted.clamp_length_max(touch.friction * pressing);
        let change = dragging - self.dragging;
        self.dragging = dragging;
        change
    }

    /// The point's anchor in the next step. A sliding point is anchored anew where it is.
    pub(crate) fn next_anchor(&self, touch: &ColliderBody, at: Vec3) -> Option<Anchor> {
        if self.pressing <= 0.0 || touch.friction <= 0.0 {
            return None;
        }
        let slides = self.dragging.length() > 0.999 * touch.friction * self.pressing;
        if slides { Some(touch.collider.now.apply_inverse(at)) } else { self.anchor }
    }
}

impl Colliders {
    /// Stores the state of contact points for the next frame.
    pub(crate) fn keep_points(&mut self) {
        self.kept.clear();
        for &Candidate { touch, sample, anchor, side, .. } in &self.candidates {
            if anchor.is_some() || side.is_some() {
                let touch = self.touches[touch as usize].0;
                self.kept.push(Kept { touch, sample, anchor, side });
            }
        }
    }

    /// Restores the state of contact points of the last frame. Both lists are sorted by collider and point.
    pub(crate) fn find_kept(&mut self) {
        let mut kept = self.kept.iter().peekable();
        for candidate in &mut self.candidates {
            let key = (self.touches[candidate.touch as usize].0, candidate.sample);
            while kept.next_if(|kept| (kept.touch, kept.sample) < key).is_some() {}
            if let Some(kept) = kept.next_if(|kept| (kept.touch, kept.sample) == key) {
                (candidate.anchor, candidate.side) = (kept.anchor, kept.side);
            }
        }
    }
}
