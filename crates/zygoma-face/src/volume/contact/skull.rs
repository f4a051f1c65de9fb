//! Bones: nothing presses skin into them.

use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::{ColliderShape, Pose};

use crate::contact::{ColliderId, Colliders};
use crate::model::SolidBone;

/// Bones among the colliders of a face, each with whether it is the lower jaw.
#[derive(Clone)]
pub(super) struct Skull {
    bones: Vec<(ColliderId, bool)>,
}

impl Skull {
    /// Adds bones in the neutral to the colliders.
    pub(super) fn new(bones: &[SolidBone], colliders: &mut Colliders) -> Self {
        let mut add = |bone: &SolidBone| {
            let shape = ColliderShape::Mesh(Box::new(bone.mesh.clone()));
            (colliders.add_bone(shape, Pose::IDENTITY), bone.is_jaw)
        };
        Self { bones: bones.iter().map(&mut add).collect() }
    }

    /// Moves the lower jaw to its pose.
    pub(super) fn place(&self, jaw: &RigidMotion, colliders: &mut Colliders) {
        let pose = Pose { rotation: jaw.rotation.as_quat(), translation: jaw.translation.as_vec3() };
        for (bone, _) in self.bones.iter().filter(|(_, is_jaw)| *is_jaw) {
            if let Some(bone) = colliders.get_mut(*bone) {
                bone.follow_rig(pose);
            }
        }
    }
}
