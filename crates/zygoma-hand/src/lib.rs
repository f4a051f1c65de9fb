//! **What is a hand?**
//!
//! A [`HandPose`] is 25 [`Joint`]s with poses and radii, named and oriented as in WebXR, in metres. Everything that touches a face as a hand
//! comes as one: the built-in hand ([`Posture`]), a recorded [`HandTake`], and what trackers deliver ([`trackers`]).
//!
//! - [`Bone`]s carry capsules, with which a hand presses.
//! - [`HandMesh`] is a closed surface that is skinned to the joints: that of the built-in hand, or of a glTF file.
//! - [`CachedHand`] is any closed mesh with a point cache. It has no joints, so it presses but does not pinch.
//! - [`Gesture`]s move it: poke, pinch, stroke, pull, punch, slap, press.
//! - [`Finger`]tips that pinch are joined to the thumb's ([`HandPose::pinch_points`]).
//!
//! ```
//! use zygoma_hand::{Finger, Posture, Side};
//!
//! let pinching = Posture::pinch(0.010).pose(Side::Right);
//! let [thumb, index] = pinching.pinch_points(Finger::Index);
//! assert!((thumb.distance(index) - 0.010).abs() < 1e-4);
//! ```

mod bones;
mod cached;
mod gesture;
mod joints;
mod mesh;
mod pose;
mod posture;
mod skinned;
mod take;
pub mod trackers;

pub use bones::{Bone, Capsule};
pub use cached::CachedHand;
pub use gesture::{Extent, Gesture, Spot, pinch_between};
pub use joints::{Finger, Joint, Side};
pub use mesh::HandMesh;
pub use pose::HandPose;
pub use posture::{FingerPosture, Posture, ThumbPosture};
pub use take::{HandFrame, HandTake};
