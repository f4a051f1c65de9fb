//! Skin between a collider and teeth or bones: it is pushed up to them, never through them.
//!
//! A hand that is led into the teeth would push the skin to their other side while they push it back. Such contradictory planes tear lips
//! apart, and solve nothing: where there is no room for the skin, the collider stays inside it.

use glam::Vec3;

use super::collider_body::{ColliderBody, ColliderMotion};
use super::colliders::Colliders;
use super::point::ContactPlane;

/// Skin that is pressed against teeth is at least this fraction of the height thick: 2 mm on a life-size face. Ours, as those below.
const ROOM: f32 = 0.008;
/// Stride along the teeth, and the shortest one towards them, in the same unit.
const STRIDE: f32 = 0.002;
const CREEP: f32 = 0.0004;

impl ColliderBody {
    /// Whether it reaches its pose whatever is in its way, and is no part of the face.
    pub(crate) fn is_unstoppable(&self) -> bool {
        !self.is_own && self.drive == ColliderMotion::Kinematic
    }
}

impl Colliders {
    /// The plane of a collider for a point inside it, moved back to where the point meets teeth or bone of the face itself on its way out.
    pub(crate) fn before_bone(&self, touch: &ColliderBody, plane: ContactPlane, at: Vec3) -> ContactPlane {
        if !touch.is_unstoppable() || plane.distance >= 0.0 {
            return plane;
        }
        let way = self.way_to_bone(at, plane.normal, -plane.distance);
        ContactPlane { distance: -way, through: at + way * plane.normal, ..plane }
    }

    /// How far a point can go in a direction, at most some distance, until it is just before a tooth or a bone.
    fn way_to_bone(&self, at: Vec3, along: Vec3, most: f32) -> f32 {
        let [room, stride, creep] = [ROOM, STRIDE, CREEP].map(|part| part * self.scale.height);
        let mut gone = 0.0;
        while gone < most {
            let mut step = most - gone;
            for (_, own) in self.entries.iter().filter(|(_, own)| own.is_own) {
                let Some(found) = own.collider.signed_distance(at + gone * along, room + step) else {
                    continue;
                };
                let left = found.distance - room;
                // A point that is near already may still go along the tooth, or away from it.
                let may_go = if found.normal.dot(along) >= 0.0 { stride } else { 0.0 };
                step = step.min(if left > 0.0 { left.max(creep) } else { may_go });
            }
            if step <= 0.0 {
                break;
            }
            gone += step;
        }
        gone.min(most)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zygoma_physics::contact::{ColliderShape, Pose};

    use super::super::HeadWay;
    use super::super::collider_body::{ColliderFrame, ContactScale};
    use super::*;

    #[test]
    fn skin_is_pushed_up_to_teeth_and_bones_and_no_farther() {
        stops_skin(Colliders::add_own);
        stops_skin(Colliders::add_bone);
    }

    fn stops_skin(add: impl Fn(&mut Colliders, ColliderShape, Pose) -> super::super::ColliderId) {
        let scale = ContactScale {
            per_metre: 1.0,
            least_mass: 0.0,
            hardest: 1.0,
            strained: 1.0,
            longest_grab: 1.0,
            height: 0.25,
        };
        let mut colliders = Colliders::new(scale, 0, Arc::new([]));
        let half_extents = Vec3::new(0.02, 0.01, 0.003);
        let tooth = ColliderShape::RoundedBox { half_extents, radius: 0.0 };
        add(&mut colliders, tooth, Pose::IDENTITY);
        let palm = ColliderShape::Sphere { radius: 0.03 };
        let palm = colliders.add_in(ColliderFrame::Head, palm, Pose::IDENTITY, ColliderMotion::Kinematic);
        let still = zygoma_geometry::rigid::RigidMotion::IDENTITY;
        colliders.teleport(&HeadWay { before: still, now: still });
        let pushed = |from: Vec3, along: Vec3, depth: f32| {
            let touch = colliders.get(palm).expect("it was added");
            let through = from + depth * along;
            let plane =
                colliders.before_bone(touch, ContactPlane { distance: -depth, normal: along, through }, from);
            assert!(plane.through.distance(from - plane.distance * along) < 1e-6);
            -plane.distance
        };
        // The surface of the teeth is 3 mm before their middle, and skin 2 mm thick.
        let before = Vec3::new(0.0, 0.0, 0.012);
        assert!((pushed(before, Vec3::NEG_Z, 0.02) - 0.007).abs() < 2e-4);
        assert!((pushed(before, Vec3::NEG_Z, 0.004) - 0.004).abs() < 1e-6, "there is room");
        assert!((pushed(before, Vec3::Z, 0.02) - 0.02).abs() < 1e-6, "away from the teeth");
        let on = Vec3::new(0.0, 0.0, 0.004);
        assert_eq!(pushed(on, Vec3::NEG_Z, 0.005), 0.0);
        assert!((pushed(on, Vec3::X, 0.005) - 0.005).abs() < 1e-6, "along the teeth");
        let beside = Vec3::new(0.03, 0.0, 0.012);
        assert!((pushed(beside, Vec3::NEG_Z, 0.02) - 0.02).abs() < 1e-6);
    }
}
