//! What presses on a face and pulls at it, whatever the face is made of.
//!
//! [`Colliders`] are the colliders and the held skin of one face. A shell and flesh take them alike ([`Touchable`]): contact is decided at points
//! of the full-resolution skin, and each body answers in its own way.

mod collider_body;
mod colliders;
mod grab;
mod lip_pairs;
mod points;
mod samples;
mod through;

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::Pose;

pub use collider_body::{ColliderBody, ColliderMotion};
pub(crate) use collider_body::{ContactScale, LONGEST_GRAB};
pub use colliders::{ColliderId, Colliders, Contact, GrabId, HeadLoad};
pub(crate) use grab::Grab;
pub(crate) use lip_pairs::{ContactPair, LipContactDetector, LipPoint, Margins, area_of};
pub(crate) use points::{Candidate, Hold, Layer, Near};
pub(crate) use samples::{Order, SampledSkin, Samples};
pub(crate) use through::Below;

/// A face that can be touched.
pub trait Touchable {
    /// What presses and pulls.
    fn colliders(&self) -> &Colliders;

    /// What presses and pulls, to be changed.
    fn colliders_mut(&mut self) -> &mut Colliders;

    /// Takes hold of the skin nearest to a place (in metres, in the head's frame) and of what hangs together with it within a radius, to
    /// drag it.
    fn grab(&mut self, at: Vec3, radius: f32) -> GrabId;
}

/// Where the head is at the start and at the end of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadWay {
    pub(crate) before: RigidMotion,
    pub(crate) now: RigidMotion,
}

impl HeadWay {
    /// The pose at a share of the frame.
    pub(crate) fn pose(&self, share: f64) -> Pose {
        Pose {
            rotation: self.before.rotation.slerp(self.now.rotation, share).as_quat(),
            translation: self.before.translation.lerp(self.now.translation, share).as_vec3(),
        }
    }
}
