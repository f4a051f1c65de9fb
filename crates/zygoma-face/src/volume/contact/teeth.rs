//! Teeth: colliders of the face itself that the rig moves.

use zygoma_geometry::rigid::RigidMotion;

use crate::contact::{ColliderBody, ColliderId, Colliders};
use crate::model::Teeth;

/// Teeth among the colliders of a face.
#[derive(Clone)]
pub(super) struct Mouth {
    teeth: Teeth,
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
    /// Adds teeth in the neutral to the colliders.
    pub(super) fn new(teeth: Teeth, colliders: &mut Colliders) -> Self {
        let poses = teeth.poses(&[], &RigidMotion::IDENTITY);
        let rows = teeth.arches().zip(&poses).map(|(arch, pose)| colliders.add_own(arch, *pose)).collect();
        Self { teeth, rows }
    }

    /// Removes the teeth from the colliders.
    pub(super) fn remove(&self, colliders: &mut Colliders) {
        self.rows.iter().for_each(|row| colliders.remove(*row));
    }

    /// Moves the teeth to their poses for the given weights and pose of the jaw.
    pub(super) fn place(&self, weights: &[f32], jaw: &RigidMotion, colliders: &mut Colliders) {
        for (row, pose) in self.rows.iter().zip(self.teeth.poses(weights, jaw)) {
            if let Some(row) = colliders.get_mut(*row) {
                row.follow_rig(pose);
            }
        }
    }

    /// State of the contact.
    pub(super) fn report(&self, colliders: &Colliders) -> TeethReport {
        let rows = || self.rows.iter().filter_map(|row| colliders.get(*row));
        TeethReport {
            contacts: rows().map(|row| row.load.contacts()).sum(),
            penetration: rows().map(ColliderBody::deepest).fold(0.0, f32::max),
        }
    }
}
