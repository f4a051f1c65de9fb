//! Contact between a volume and teeth.

use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::Pose;

use super::colliders::ColliderContact;
use crate::contact::{ColliderFrame, ColliderId, ColliderMotion, Colliders};
use crate::model::Teeth;

/// Teeth as colliders in the head's frame that the rig moves.
#[derive(Clone)]
pub(super) struct Mouth {
    pub(super) teeth: Teeth,
    pub(super) touches: Colliders,
    pub(super) press: ColliderContact,
    rows: Vec<ColliderId>,
}

/// State of the contact between tissue and teeth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TeethReport {
    /// Number of contacts between skin and teeth in the last step.
    pub contacts: usize,
    /// The deepest penetration beyond that of the rig's own skin after a step of the last frame, m.
    pub penetration: f32,
}

impl Mouth {
    /// Teeth in the neutral, as colliders of their own beside `touches`.
    pub(super) fn new(mut touches: Colliders, teeth: Teeth, press: ColliderContact) -> Self {
        let poses: Vec<Pose> = teeth.poses(&[], &RigidMotion::IDENTITY);
        let rows = teeth
            .arches()
            .zip(&poses)
            .map(|(arch, pose)| touches.add_in(ColliderFrame::Head, arch, *pose, ColliderMotion::Kinematic));
        let rows = rows.collect();
        Self { teeth, touches, press, rows }
    }

    /// Moves the teeth to their poses for the given weights and pose of the jaw.
    pub(super) fn place(&mut self, weights: &[f32], jaw: &RigidMotion) {
        for (row, pose) in self.rows.iter().zip(self.teeth.poses(weights, jaw)) {
            if let Some(touch) = self.touches.get_mut(*row) {
                touch.pose = pose;
            }
        }
        self.touches.begin_frame();
    }

    /// State of the contact.
    pub(super) fn report(&self) -> TeethReport {
        TeethReport {
            contacts: self.touches.contacts().len(),
            penetration: self.touches.iter().map(|(_, touch)| touch.deepest()).fold(0.0, f32::max),
        }
    }
}
