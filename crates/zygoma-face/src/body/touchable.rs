//! The part of a body that can be touched.

use glam::Vec3;

use crate::contact::{Colliders, GrabId};

/// A body with skin that can be touched. Everything else about colliders, grabs and hands is in [`Colliders`].
pub trait Touchable {
    /// The colliders and grabs.
    fn colliders(&self) -> &Colliders;

    /// The colliders and grabs, mutable.
    fn colliders_mut(&mut self) -> &mut Colliders;

    /// The surface of the last frame.
    fn shown(&self) -> &[Vec3];

    /// Grabs the skin nearest to a point (in metres, in the head's frame) and the skin connected to it within a radius, to drag it.
    /// `None` if the body cannot be pulled.
    fn grab(&mut self, _at: Vec3, _radius: f32) -> Option<GrabId> {
        None
    }

    /// The largest penetration of the last frame's skin into a collider, in metres: at vertices, edge midpoints and triangle centroids.
    fn penetration(&self) -> f32 {
        self.colliders().penetration(self.shown())
    }
}
