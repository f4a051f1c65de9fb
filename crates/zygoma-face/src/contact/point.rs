//! A point of the skin near a collider: the plane that it must not cross, and the force that holds it there.

use glam::Vec3;
use zygoma_physics::contact::{MaterialPoint, SignedDistance};

use super::collider_body::ColliderBody;
use super::side::Side;

/// A point of the skin that may touch a collider.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactPoint {
    /// Index of the collider.
    pub(crate) touch: u32,
    pub(crate) sample: u32,
    /// The part of its position that does not come from the body's positions, at the start and at the end of the time for which it
    /// was found.
    pub(crate) offsets: [Vec3; 2],
    /// The same, at the end of the step.
    pub(crate) offset: Vec3,
    /// Its position at the start of the step.
    pub(crate) start: Vec3,
    /// Where the rig has it, if the rig moves the collider.
    pub(crate) home: Option<Home>,
    /// The side of the collider that it met and is still behind.
    pub(crate) side: Option<Side>,
    pub(crate) hold: Hold,
}

/// A point near a collider that the rig moves. It is never pushed farther than to its position in the rig.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    pub(crate) place: Vec3,
    /// Signed distance from the collider at the start of the step.
    pub(crate) distance: f32,
}

/// The plane that a point must not cross in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactPlane {
    /// Signed distance of the point above it.
    pub(crate) distance: f32,
    /// Unit vector out of the collider.
    pub(crate) normal: Vec3,
    /// A point of the plane.
    pub(crate) through: Vec3,
}

impl ContactPoint {
    /// A point at the start of a step or frame, with its offsets at the start and at the end.
    pub(crate) fn new(touch: u32, sample: u32, offsets: [Vec3; 2], start: Vec3) -> Self {
        let [offset, _] = offsets;
        Self { touch, sample, offsets, offset, start, home: None, side: None, hold: Hold::default() }
    }

    /// The side of the collider that the point has met, in this step on its way to a position or earlier.
    pub(crate) fn side_met(&self, touch: &ColliderBody, at: Vec3) -> Option<Side> {
        if self.home.is_some() {
            return None;
        }
        self.side.or_else(|| touch.side_met(self.start, at - self.start))
    }

    /// The plane that the point must not cross, where that is at most `near` away: of the side that it met, or of the surface next to it.
    pub(crate) fn plane(
        &self,
        touch: &ColliderBody,
        side: Option<Side>,
        at: Vec3,
        near: f32,
    ) -> Option<ContactPlane> {
        if self.home.is_some() {
            return self.plane_at_home(touch, at, near);
        }
        let SignedDistance { distance, normal } = match side {
            Some(side) => Some(side.distance(&touch.collider, at)).filter(|found| found.distance <= near)?,
            None => touch.collider.signed_distance(at, near)?,
        };
        Some(ContactPlane { distance, normal, through: at - distance * normal })
    }

    /// [`plane`](Self::plane) of a collider that the rig moves: the depth that the rig itself has there is allowed.
    fn plane_at_home(&self, touch: &ColliderBody, at: Vec3, near: f32) -> Option<ContactPlane> {
        let home = self.home?;
        // The distance changes by no more than the point has moved.
        if home.distance - self.start.distance(at) > near {
            return None;
        }
        let SignedDistance { distance, normal } = touch.collider.signed_distance(at, near)?;
        let surface = at - distance * normal;
        let allowed = normal.dot(surface - home.place).max(0.0);
        let distance = distance + allowed;
        (distance <= near).then(|| ContactPlane { distance, normal, through: surface - allowed * normal })
    }

    /// Starts friction in a step: a new contact is held where the collider met it.
    pub(crate) fn begin_friction(&mut self, touch: &ColliderBody) {
        let met = || touch.collider.material_before(self.start);
        self.hold.anchor = (touch.friction > 0.0).then(|| self.hold.anchor.unwrap_or_else(met));
    }
}

/// The point of the collider that friction holds a contact point at. Measured from the position one step ago instead, the small error of
/// each step would accumulate, and resting contacts would creep.
pub(crate) type Anchor = MaterialPoint;

/// Contact force of a collider on a point in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hold {
    /// Normal force, never negative, and friction force.
    pub(crate) pressing: f32,
    pub(crate) dragging: Vec3,
    /// Direction of the normal force.
    pub(crate) normal: Vec3,
    pub(crate) anchor: Option<Anchor>,
    /// Whether friction is at its limit.
    pub(crate) slides: bool,
}

impl Hold {
    /// The whole force.
    pub(crate) fn force(&self) -> Vec3 {
        self.pressing * self.normal + self.dragging
    }

    /// How far a point has slid from its anchor along the surface; `None` without friction.
    pub(crate) fn slip(&self, touch: &ColliderBody, at: Vec3, normal: Vec3) -> Option<Vec3> {
        let anchor = self.anchor.filter(|_| touch.friction > 0.0)?;
        Some((at - touch.collider.place_of(&anchor)).reject_from_normalized(normal))
    }

    /// Coulomb friction: takes the force that would return the point to its anchor, at most μ times the normal force. Returns the change.
    pub(crate) fn drag(&mut self, touch: &ColliderBody, wanted: Vec3, pressing: f32) -> Vec3 {
        let limit = touch.friction * pressing;
        let dragging = wanted.clamp_length_max(limit);
        self.slides = wanted.length() > limit;
        dragging - std::mem::replace(&mut self.dragging, dragging)
    }

    /// The point's anchor in the next step. A sliding point is anchored anew, at a position from which the next step starts at the limit of
    /// friction.
    pub(crate) fn next_anchor(&self, touch: &ColliderBody, limit: Vec3) -> Option<Anchor> {
        if self.pressing <= 0.0 || touch.friction <= 0.0 {
            return None;
        }
        if self.slides { Some(touch.collider.material_now(limit)) } else { self.anchor }
    }
}
