//! Points of the skin on their way through a frame and its steps: near which collider, pressed how, stuck where.

use glam::{Vec3, Vec4};

use super::collider_body::ColliderBody;
use super::colliders::{ColliderId, Colliders};

/// A point of the skin that may meet a collider in a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) touch: u32,
    pub(crate) sample: u32,
    /// Where the point lies apart from the body's own positions, at the start and at the end of the frame.
    pub(crate) offset_before: Vec3,
    pub(crate) offset_now: Vec3,
    pub(crate) anchor: Option<Anchor>,
}

/// What a point sticks to by friction, in the collider's own frame. Measured from where the point was a step ago, the
/// little that each step leaves would add up, and what rests would creep.
pub(crate) type Anchor = Vec3;

/// An anchor that lasts from frame to frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) touch: ColliderId,
    pub(crate) sample: u32,
    pub(crate) anchor: Anchor,
}

/// A point that is near a collider in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    pub(crate) candidate: u32,
    pub(crate) touch: u32,
    pub(crate) sample: u32,
    /// Where it lies apart from the body's own positions at the end of the step.
    pub(crate) offset: Vec3,
    /// How far a force on it moves it, if all that carries it gives way.
    pub(crate) compliance: f32,
    pub(crate) hold: Hold,
}

/// What a collider does to a point in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hold {
    /// Forces: along the normal, never pulling, and of friction.
    pub(crate) pressing: f32,
    pub(crate) dragging: Vec3,
    /// Where the pressing is directed.
    pub(crate) normal: Vec3,
    pub(crate) anchor: Option<Anchor>,
}

/// What is drawn on the shell at one time: neutral and detail in metres, and what the shell misses of its target.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    pub(crate) base: &'a [Vec3],
    pub(crate) residual: &'a [Vec4],
}

impl Hold {
    /// Coulomb: what it takes to bring a point back to what it sticks to, at most μ times the pressing. Returns the change.
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

    /// What the point sticks to in the next step. One that slides sticks to where it came.
    pub(crate) fn next_anchor(&self, touch: &ColliderBody, at: Vec3) -> Option<Anchor> {
        if self.pressing <= 0.0 || touch.friction <= 0.0 {
            return None;
        }
        let slides = self.dragging.length() > 0.999 * touch.friction * self.pressing;
        if slides { Some(touch.collider.now.apply_inverse(at)) } else { self.anchor }
    }
}

impl Colliders {
    /// Notes what skin sticks to, for the next frame.
    pub(crate) fn keep_anchors(&mut self) {
        self.kept.clear();
        for candidate in &self.candidates {
            if let Some(anchor) = candidate.anchor {
                let touch = self.touches[candidate.touch as usize].0;
                self.kept.push(Kept { touch, sample: candidate.sample, anchor });
            }
        }
    }

    /// Finds again what skin stuck to in the last frame. Both lists are in the order of touches and points.
    pub(crate) fn find_anchors(&mut self) {
        let mut kept = self.kept.iter().peekable();
        for candidate in &mut self.candidates {
            let key = (self.touches[candidate.touch as usize].0, candidate.sample);
            while kept.next_if(|kept| (kept.touch, kept.sample) < key).is_some() {}
            candidate.anchor = kept.next_if(|kept| (kept.touch, kept.sample) == key).map(|kept| kept.anchor);
        }
    }
}
