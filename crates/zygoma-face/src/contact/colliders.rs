//! All colliders and grabs of a face.

use std::sync::Arc;

use glam::Vec3;
use zygoma_physics::contact::{ColliderShape, MeshError, Pose};

use super::HeadWay;
use super::collider_body::{ColliderBody, ColliderFrame, ColliderMotion, ContactScale};
use super::grab::Grab;
use super::hand::{HandBody, HandId};
use super::point::ContactPoint;
use super::points::Kept;

/// Identifies a collider; never reused by the same face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColliderId(pub(crate) u64);

/// Identifies a grab; never reused by the same face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrabId(pub(crate) u64);

/// A contact between a collider and the skin in the last step. In the head's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// The collider.
    pub collider: ColliderId,
    /// A vertex of the whole mesh at or next to the contact.
    pub vertex: u32,
    /// The contact's position, in metres.
    pub point: Vec3,
    /// Unit vector out of the collider.
    pub normal: Vec3,
    /// Force of the collider on the skin, N.
    pub force: Vec3,
    /// The normal component of the force per skin area, N/m².
    pub pressure: f32,
}

/// Total load of all colliders and grabs on the head, in its frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeadLoad {
    /// Force, N.
    pub force: Vec3,
    /// Torque about the origin of the head's frame, N m.
    pub torque: Vec3,
}

/// Memory is reserved for this many colliders that all of the skin is near to. Ours: more never touch all of it at once.
const MOST_AT_ONCE: usize = 4;

/// All colliders and grabs of a face: those that others add, which this lists and reports, and those of the face itself, such as its teeth.
#[derive(Clone, Debug)]
pub struct Colliders {
    pub(crate) entries: Vec<(ColliderId, ColliderBody)>,
    pub(crate) grabs: Vec<(GrabId, Grab)>,
    pub(super) hands: Vec<(HandId, HandBody)>,
    /// Number of identifiers given so far.
    last_id: u64,
    pub(crate) scale: ContactScale,
    /// Number of contact points of the skin, for reserving memory.
    samples: usize,
    /// Triangles of the whole mesh that follow the body fully.
    triangles: Arc<[[u32; 3]]>,
    /// Points that may touch a collider, sorted by collider and point.
    pub(crate) candidates: Vec<ContactPoint>,
    /// State of contact points before the last re-detection.
    pub(super) kept: Vec<Kept>,
    pub(crate) contacts: Vec<Contact>,
}

impl Colliders {
    /// For a body with `samples` contact points and some triangles that follow it fully.
    pub(crate) fn new(scale: ContactScale, samples: usize, triangles: Arc<[[u32; 3]]>) -> Self {
        Self {
            entries: Vec::new(),
            grabs: Vec::new(),
            hands: Vec::new(),
            last_id: 0,
            scale,
            samples,
            triangles,
            candidates: Vec::new(),
            kept: Vec::new(),
            contacts: Vec::new(),
        }
    }

    /// Adds a collider whose poses are in the world.
    pub fn add(&mut self, shape: ColliderShape, pose: Pose, drive: ColliderMotion) -> ColliderId {
        self.add_in(ColliderFrame::World, shape, pose, drive)
    }

    /// Adds a collider whose poses are in a frame.
    pub fn add_in(
        &mut self,
        frame: ColliderFrame,
        shape: ColliderShape,
        pose: Pose,
        drive: ColliderMotion,
    ) -> ColliderId {
        let id = ColliderId(self.next_id());
        self.entries.push((id, ColliderBody::new(shape, (frame, pose), drive, self.scale)));
        self.reserve();
        id
    }

    /// Adds a collider of the face itself, which the rig moves in the head's frame ([`ColliderBody::follow_rig`]). Skin may be as deep in it
    /// as the rig itself has it there.
    pub(crate) fn add_own(&mut self, shape: ColliderShape, pose: Pose) -> ColliderId {
        let id = self.add_in(ColliderFrame::Head, shape, pose, ColliderMotion::Kinematic);
        if let Some(added) = self.get_mut(id) {
            added.is_own = true;
        }
        id
    }

    /// Adds a bone of the face: it pushes nothing, but nothing pushes skin into it.
    pub(crate) fn add_bone(&mut self, shape: ColliderShape, pose: Pose) -> ColliderId {
        let id = self.add_own(shape, pose);
        if let Some(added) = self.get_mut(id) {
            added.is_bone = true;
        }
        id
    }

    /// A collider, mutable; `None` after it was removed.
    pub fn get_mut(&mut self, id: ColliderId) -> Option<&mut ColliderBody> {
        self.entries.iter_mut().find(|(name, _)| *name == id).map(|(_, touch)| touch)
    }

    /// A collider.
    pub fn get(&self, id: ColliderId) -> Option<&ColliderBody> {
        self.entries.iter().find(|(name, _)| *name == id).map(|(_, touch)| touch)
    }

    /// Sets the vertices of a mesh collider at the end of the next frame, in metres in its own frame. Allocates only the first time.
    pub fn deform(&mut self, id: ColliderId, positions: &[Vec3]) -> Result<(), MeshError> {
        self.get_mut(id).map_or(Ok(()), |touch| touch.deform(positions))
    }

    /// Removes a collider.
    pub fn remove(&mut self, id: ColliderId) {
        self.entries.retain(|(name, _)| *name != id);
        self.contacts.retain(|contact| contact.collider != id);
        // These lists refer to colliders by index; the next frame rebuilds them.
        self.candidates.clear();
    }

    /// All colliders but those of the face itself, with their identifiers.
    pub fn iter(&self) -> impl Iterator<Item = (ColliderId, &ColliderBody)> {
        self.entries.iter().filter(|(_, touch)| !touch.is_own).map(|(name, touch)| (*name, touch))
    }

    /// The same, mutable.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ColliderBody> {
        self.entries.iter_mut().map(|(_, touch)| touch).filter(|touch| !touch.is_own)
    }

    /// Drags a grab to a position, in metres in the head's frame, but no farther from its origin than skin stretches. A position that is
    /// not finite is ignored.
    pub fn drag(&mut self, id: GrabId, to: Vec3) {
        let ContactScale { per_metre, longest_grab, .. } = self.scale;
        if let Some((_, grab)) = self.grabs.iter_mut().find(|(name, _)| *name == id) {
            grab.drag(per_metre * to, longest_grab);
        }
    }

    /// Mean force of the grabbed skin on the grab in the last frame, N at the face's own size, in the head's frame; `None` after it was
    /// released.
    pub fn grab_force(&self, id: GrabId) -> Option<Vec3> {
        let (_, grab) = self.grabs.iter().find(|(name, _)| *name == id)?;
        Some(-grab.load.force(self.scale.per_metre))
    }

    /// Releases a grab.
    pub fn release(&mut self, id: GrabId) {
        self.grabs.retain(|(name, _)| *name != id);
    }

    /// Removes all colliders but those of the face itself and all hands, and releases all grabs.
    pub fn clear(&mut self) {
        self.entries.retain(|(_, touch)| touch.is_own);
        self.grabs.clear();
        self.hands.clear();
        self.contacts.clear();
        // The points refer to colliders by index.
        self.forget_points();
    }

    /// Contacts between colliders and the skin in the last step.
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Mean force and torque on the head in the last frame.
    pub fn head_load(&self) -> HeadLoad {
        let loads = self.iter().map(|(_, touch)| &touch.load);
        let mut sum = HeadLoad::default();
        for load in loads.chain(self.grabs.iter().map(|(_, grab)| &grab.load)) {
            sum.force += load.force(self.scale.per_metre);
            sum.torque += load.torque(self.scale.per_metre);
        }
        sum
    }

    /// The largest penetration of a surface's triangles into a collider, in metres: at corners, edge midpoints and centroids. Colliders
    /// that cut through the face are ignored.
    pub(crate) fn penetration(&self, surface: &[Vec3]) -> f32 {
        let mut worst = 0.0f32;
        for (_, touch) in self.iter().filter(|(_, touch)| !touch.is_through()) {
            let (shape, place) = (touch.shape(), touch.place());
            let radius = shape.bounding_radius();
            for t in &*self.triangles {
                let [a, b, c] = t.map(|v| surface[v as usize]);
                let size = a.distance(b).max(a.distance(c));
                if a.distance(place.translation) > radius + size {
                    continue;
                }
                let points = [a, b, c, 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a), (a + b + c) / 3.0];
                worst = points.iter().map(|p| shape.depth(place.apply_inverse(*p))).fold(worst, f32::max);
            }
        }
        worst
    }

    /// Whether there is neither a grab nor a collider besides those of the face itself.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none() && self.grabs.is_empty()
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Adds a grab and returns its identifier.
    pub(crate) fn add_grab(&mut self, grab: Grab) -> GrabId {
        let id = GrabId(self.next_id());
        self.grabs.push((id, grab));
        id
    }

    /// Whether there is any grab.
    pub(crate) fn has_grabs(&self) -> bool {
        !self.grabs.is_empty()
    }

    /// Whether a contact point is near any collider in this frame.
    pub(crate) fn is_near(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// Reserves memory, so that frames do not allocate.
    fn reserve(&mut self) {
        let wanted = self.samples * self.entries.len().min(MOST_AT_ONCE);
        reserve(&mut self.candidates, wanted);
        reserve(&mut self.kept, wanted);
        reserve(&mut self.contacts, wanted);
    }

    /// Begins a frame: records where colliders and grabs start.
    pub(crate) fn begin_frame(&mut self) {
        self.begin_hands();
        self.entries.iter_mut().for_each(|(_, touch)| touch.begin_frame());
        self.bend_hands();
        self.grabs.iter_mut().for_each(|(_, grab)| grab.begin_frame());
    }

    /// Ends the frame, which is a fraction of a step before the end of the last step.
    pub(crate) fn end_frame(&mut self, earlier: f32) {
        self.entries.iter_mut().for_each(|(_, touch)| touch.end_frame(earlier));
        self.end_hands(earlier);
        self.keep_points();
    }

    /// Teleports colliders to their goals while nothing is simulated.
    pub(crate) fn teleport(&mut self, head: &HeadWay) {
        self.teleport_hands(head);
        self.entries.iter_mut().for_each(|(_, touch)| touch.teleport(head));
        self.contacts.clear();
    }

    /// Begins a step: clears the contacts and moves colliders to the step's end, at the given fraction of the frame.
    pub(crate) fn move_colliders(&mut self, fraction: f32, head: &HeadWay, step: f32) {
        self.contacts.clear();
        self.move_hands(fraction, head, step);
        for (_, touch) in &mut self.entries {
            touch.load.begin_step();
            touch.step(head, fraction, step);
        }
        self.grabs.iter_mut().for_each(|(_, grab)| grab.load.begin_step());
    }
}

fn reserve<T>(list: &mut Vec<T>, wanted: usize) {
    list.reserve(wanted.saturating_sub(list.len()));
}
