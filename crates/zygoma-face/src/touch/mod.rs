//! What presses on a face and pulls at it, whatever the face is made of.
//!
//! [`Touches`] are the colliders and the held skin of one face. A shell and flesh take them alike ([`Touchable`]): contact is decided at points
//! of the full-resolution skin, and each body answers in its own way.

mod one;
mod points;
mod pull;
mod samples;
mod through;
mod touches;

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::Pose;

pub use one::{Drive, Touch};
pub(crate) use one::{Handling, LONGEST_PULL};
pub(crate) use points::{Candidate, Hold, Layer, Near};
pub(crate) use pull::Pull;
pub(crate) use samples::{Order, Samples};
pub(crate) use through::Below;
pub use touches::{Contact, HeadLoad, PullId, TouchId, Touches};

/// A face that can be touched.
pub trait Touchable {
    /// What presses and pulls.
    fn touches(&self) -> &Touches;

    /// What presses and pulls, to be changed.
    fn touches_mut(&mut self) -> &mut Touches;

    /// Takes hold of the skin nearest to a place (in metres, in the head's frame) and of what hangs together with it within a radius, to
    /// drag it.
    fn grab(&mut self, at: Vec3, radius: f32) -> PullId;
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
