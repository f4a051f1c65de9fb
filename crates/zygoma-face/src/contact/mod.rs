//! Colliders and grabs, lip contact and self-contact: the same for every body.
//!
//! [`Colliders`] are the colliders and grabs of one face. Every [`Body`](crate::body::Body) uses them alike: contact is detected at
//! points of the full-resolution skin, and each body supplies its own response.

mod collider_body;
mod colliders;
mod grab;
mod hand;
mod lip_grid;
mod lip_pairs;
mod pinch;
mod point;
mod points;
mod samples;
mod side;
mod thin;
mod through;

use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::Pose;

pub use collider_body::{ColliderBody, ColliderFrame, ColliderMotion};
pub(crate) use collider_body::{ContactScale, LONGEST_GRAB};
pub use colliders::{ColliderId, Colliders, Contact, GrabId, HeadLoad};
pub(crate) use grab::Grab;
pub(crate) use hand::Reach;
pub use hand::{HAND_FRICTION, HandBody, HandId, HandSurface};
pub(crate) use lip_pairs::{ContactPair, LipContactDetector, LipPoint, Margins, area_of};
pub(crate) use pinch::PinchedSkin;
pub(crate) use point::{ContactPoint, Hold, Home};
pub(crate) use points::Layer;
pub(crate) use samples::{Order, SampledSkin, Samples};
pub(crate) use thin::{Thinned, thin};
pub(crate) use through::Below;

/// The head's motion over a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadWay {
    pub(crate) before: RigidMotion,
    pub(crate) now: RigidMotion,
}

impl HeadWay {
    /// The pose at a fraction of the frame.
    pub(crate) fn pose(&self, fraction: f64) -> Pose {
        Pose {
            rotation: self.before.rotation.slerp(self.now.rotation, fraction).as_quat(),
            translation: self.before.translation.lerp(self.now.translation, fraction).as_vec3(),
        }
    }
}
