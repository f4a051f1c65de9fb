//! The flesh and its teeth.

use glam::{DQuat, DVec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::Pose;

use super::build::Tissue;
use super::collider_contact::ColliderContact;
use super::run::TissueBody;
use super::skin_samples::handling;
use crate::contact::{ColliderId, ColliderMotion, Colliders, HeadWay};
use crate::model::Teeth;

/// Teeth that flesh meets: colliders that the rig moves.
#[derive(Clone)]
pub(super) struct Mouth {
    pub(super) teeth: Teeth,
    pub(super) touches: Colliders,
    pub(super) press: ColliderContact,
    rows: Vec<ColliderId>,
}

/// What is between flesh and teeth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TeethReport {
    /// Landmarks where the flesh was pressed against teeth in the last step.
    pub contacts: usize,
    /// How much deeper than the rig's own skin any of it was in them after a step of the last frame, m.
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

    /// Puts the teeth where they are for some weights and a pose of the jaw.
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
    /// Keeps lips and cheeks out of teeth from now on, and no longer out of those before: what touch and motion bring there. Where the
    /// expression itself has the skin in the teeth, or they stand before it, they let it be there: artists let lips roll over teeth that
    /// they have not made thin enough, and to keep all of it out would tear the lips from their shapes.
    pub fn set_teeth(&mut self, teeth: Teeth) {
        let mut press = match self.mouth.take() {
            Some(mouth) => mouth.press,
            None => ColliderContact::new(self.tissue.params.contact, &mut self.system),
        };
        press.clear(&mut self.system);
        press.forget();
        self.mouth = Some(Mouth::new(&self.tissue, teeth, press));
    }

    /// What is between flesh and teeth now.
    pub fn teeth(&self) -> TeethReport {
        let Some(mouth) = &self.mouth else { return TeethReport::default() };
        TeethReport {
            contacts: mouth.touches.contacts().len(),
            penetration: mouth.touches.iter().map(|(_, touch)| touch.deepest()).fold(0.0, f32::max),
        }
    }
}
