//! The side of a fast collider that skin meets.
//!
//! Skin cannot always follow a fast collider at once. As long as it is behind the side that it met, it is pushed back to that side, however
//! thin the collider is.

use glam::Vec3;
use zygoma_physics::contact::{Collider, SignedDistance};

use super::collider_body::ColliderBody;
use super::through::DEEPEST;

/// The motion in a step is followed in parts of about this fraction of the height: 2 mm on a life-size face. Ours.
const STRIDE: f32 = 0.008;

/// Normals with a cosine above this are those of one side. Ours.
const SAME_SIDE: f32 = 0.5;

/// A tangent plane of a collider, in the collider's own frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    point: Vec3,
    normal: Vec3,
}

impl Side {
    /// Signed distance of a point above the plane, and the plane's normal.
    pub(crate) fn distance(&self, collider: &Collider, at: Vec3) -> SignedDistance {
        let normal = collider.now.rotation * self.normal;
        SignedDistance { distance: (at - collider.now.apply(self.point)).dot(normal), normal }
    }

    /// Whether a point is still more than `depth` behind the side, but no deeper than tissue yields, and not beside the collider.
    pub(crate) fn holds(&self, touch: &ColliderBody, at: Vec3, depth: f32) -> bool {
        let SignedDistance { distance, normal } = self.distance(&touch.collider, at);
        let deepest = DEEPEST * touch.scale.height;
        let above = at - distance * normal;
        (-deepest..-depth).contains(&distance)
            && touch.collider.signed_distance(above, touch.stride()).is_some()
    }
}

impl ColliderBody {
    fn stride(&self) -> f32 {
        STRIDE * self.scale.height
    }

    /// Whether a point that moves by some distance in the step may end up on another side of the collider.
    pub(crate) fn may_pass(&self, motion: f32) -> bool {
        self.collider.may_pass(motion, self.stride())
    }

    /// Whether a query at a point finds the side with some normal. Skin that springs into a thick collider which moves little is on no
    /// other side at the end of a step; thin ones change sides while skin is pushed out of them.
    fn shows_side(&self, at: Vec3, normal: Vec3) -> bool {
        let (collider, stride) = (&self.collider, self.stride());
        let is_thick_and_slow = collider.shape.half_thickness() >= stride && collider.travel() <= stride;
        is_thick_and_slow
            && collider.signed_distance(at, 0.0).is_some_and(|found| found.normal.dot(normal) > SAME_SIDE)
    }

    /// The side of the collider that a point meets in the step while it moves by `motion`; `None` if it meets none, if neither is so fast
    /// that the point could pass, if it would be pushed farther than tissue yields, or if a query at its end finds the same side.
    pub(crate) fn side_met(&self, from: Vec3, motion: Vec3) -> Option<Side> {
        if !self.may_pass(motion.length()) {
            return None;
        }
        let swept = self.collider.sweep(from, motion, self.stride());
        let found = self.collider.signed_distance(swept.at, self.stride()).filter(|_| swept.is_hit)?;
        let surface = swept.at - found.distance * found.normal;
        let now = &self.collider.now;
        let side = Side { point: now.apply_inverse(surface), normal: now.rotation.inverse() * found.normal };
        let end = from + motion;
        let depth = -side.distance(&self.collider, end).distance;
        (depth < DEEPEST * self.scale.height && !self.shows_side(end, found.normal)).then_some(side)
    }
}
