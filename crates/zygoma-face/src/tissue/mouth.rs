//! Contact between tissue and teeth.

use glam::{DQuat, DVec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::Pose;

use super::build::Tissue;
use super::collider_contact::ColliderContact;
use super::run::TissueBody;
use super::skin_samples::handling;
use crate::contact::{ColliderId, ColliderMotion, Colliders, HeadWay};
use crate::model::Teeth;

/// Teeth as colliders that the rig moves.
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

/// Teeth are in the head's frame already.
pub(super) const IN_HEAD: HeadWay = {
    const STILL: RigidMotion = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };
    HeadWay { before: STILL, now: STILL }
};

impl Mouth {
    fn new(tissue: &Tissue, teeth: Teeth, press: ColliderContact) -> Self {
        let samples = &tissue.touchable.samples;
        let mut touches =
            Colliders::new(handling(tissue.params.step_time, tissue.touchable.height), samples.len());
        let poses: Vec<Pose> = teeth.poses(&[], &tissue.jaw_pose(&[]));
        let rows = teeth
            .arches()
            .zip(&poses)
            .map(|(arch, pose)| touches.add(arch, *pose, ColliderMotion::Kinematic));
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
}

impl TissueBody {
    /// Keeps lips and cheeks out of the given teeth from now on, which replace earlier ones. Resolves only the penetrations by touch and
    /// motion: where the expression itself has the skin in the teeth, or they stand before it, the skin stays there. Artists let lips
    /// roll over teeth that they have not made thin enough, and to resolve all of it would tear the lips from their shapes.
    pub fn set_teeth(&mut self, teeth: Teeth) {
        let mut press = match self.mouth.take() {
            Some(mouth) => mouth.press,
            None => ColliderContact::new(self.tissue.params.contact, &mut self.system),
        };
        press.clear(&mut self.system);
        press.forget();
        self.mouth = Some(Mouth::new(&self.tissue, teeth, press));
    }

    /// State of the contact between tissue and teeth.
    pub fn teeth(&self) -> TeethReport {
        let Some(mouth) = &self.mouth else { return TeethReport::default() };
        TeethReport {
            contacts: mouth.touches.contacts().len(),
            penetration: mouth.touches.iter().map(|(_, touch)| touch.deepest()).fold(0.0, f32::max),
        }
    }
}
