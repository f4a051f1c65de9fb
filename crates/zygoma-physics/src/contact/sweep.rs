//! Sweeps: where a point ends up that a collider meets on its way through a step.
//!
//! A query at the end of a step misses a thin collider that has passed the point by then, or finds its far side. A sweep follows the
//! motion in parts. In each the nearest point of the surface is carried along with its normal, and the point is kept on the outer side of
//! that plane. A part whose motion is shorter than the distance to the surface needs no query.

use glam::{Quat, Vec3};

use super::{Collider, ColliderShape, Local};

/// Parts of a step turn by at most this angle, rad, as far as there are enough of them. Ours, as below.
const TURN: f32 = 0.1;
/// Maximum number of parts.
const MOST_PARTS: usize = 16;

/// The end of a point's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swept {
    /// The point's position, pushed ahead by the collider.
    pub at: Vec3,
    /// Whether the collider pushed it.
    pub is_hit: bool,
}

impl ColliderShape {
    /// Half of the smallest thickness; 0 for a mesh, which may be of any thickness.
    pub fn half_thickness(&self) -> f32 {
        match self {
            Self::Sphere { radius } | Self::Capsule { radius, .. } => *radius,
            Self::RoundedBox { half_extents, radius } => half_extents.min_element() + radius,
            Self::Mesh(_) => 0.0,
        }
    }
}

impl Collider {
    /// Upper bound on the distance that any point of the surface travels in the step: by translation, rotation and deformation.
    pub fn travel(&self) -> f32 {
        self.rigid_travel() + self.deformation()
    }

    fn rigid_travel(&self) -> f32 {
        let shift = self.before.translation.distance(self.now.translation);
        // A sphere looks the same however it is turned.
        if matches!(self.shape, ColliderShape::Sphere { .. }) || self.before.rotation == self.now.rotation {
            return shift;
        }
        shift + self.angle() * self.shape.bounding_radius()
    }

    fn angle(&self) -> f32 {
        self.before.rotation.angle_between(self.now.rotation)
    }

    fn deformation(&self) -> f32 {
        match &self.shape {
            ColliderShape::Mesh(mesh) => mesh.deformation(),
            _ => 0.0,
        }
    }

    /// Whether a point that moves by some distance in the step may end up on another side of the collider. Motions up to `stride` are
    /// short for anything thicker than that.
    pub fn may_pass(&self, motion: f32, stride: f32) -> bool {
        self.travel() + motion > stride.min(self.shape.half_thickness())
    }

    /// Follows a point that moves by `motion` while the collider moves through its step, in parts of about `stride`.
    pub fn sweep(&self, start: Vec3, motion: Vec3, stride: f32) -> Swept {
        let rigid = self.rigid_travel() + motion.length();
        let parts = (rigid / stride).max(self.angle() / TURN).ceil().clamp(1.0, MOST_PARTS as f32);
        let (length, step) = (rigid / parts, motion / parts);
        let mut swept = Swept { at: start, is_hit: false };
        // A distance from the surface within which there is nothing.
        let mut clear = 0.0;
        for part in 0..parts as usize {
            let [from, to] = [part, part + 1].map(|k| self.before.between(&self.now, k as f32 / parts));
            let mut side = None;
            if clear <= length {
                let local = from.apply_inverse(swept.at);
                let found = self.probe_before(local, rigid + self.deformation());
                clear = found.as_ref().map_or(f32::INFINITY, |found| found.distance);
                side = found.filter(|found| found.distance <= length).map(|found| {
                    (to.apply(local - found.distance * found.normal), to.rotation * found.normal)
                });
            }
            swept.at += step;
            clear -= length;
            if let Some((surface, normal)) = side {
                swept.keep_above(surface, normal);
                clear = 0.0;
            }
        }
        self.sweep_deformation(&mut swept);
        swept
    }

    /// Lets a mesh deform around the point after it has moved as a rigid body.
    fn sweep_deformation(&self, swept: &mut Swept) {
        let ColliderShape::Mesh(mesh) = &self.shape else { return };
        let most = mesh.deformation();
        if most == 0.0 {
            return;
        }
        let local = self.now.apply_inverse(swept.at);
        if let Some((surface, normal)) = mesh.carried_side(local, most) {
            swept.keep_above(self.now.apply(surface), self.now.rotation * normal);
        }
    }

    /// Queries the shape before its deformation in this step, in its own frame.
    fn probe_before(&self, point: Vec3, within: f32) -> Option<Local> {
        match &self.shape {
            ColliderShape::Mesh(mesh) if mesh.deformation() > 0.0 => {
                let found = mesh.surface_before().closest(point, within)?;
                let distance = found.signed_distance;
                (distance <= within).then_some(Local {
                    distance,
                    normal: found.normal,
                    velocity: Vec3::ZERO,
                    on_mesh: None,
                })
            }
            shape => shape.probe(point, within),
        }
    }
}

impl Swept {
    /// Pushes the point out where it is below a plane.
    fn keep_above(&mut self, surface: Vec3, normal: Vec3) {
        let height = (self.at - surface).dot(normal);
        if height < 0.0 {
            self.at -= height * normal;
            self.is_hit = true;
        }
    }
}

/// The normal of a surface after a triangle of it has turned from one normal to another.
pub(super) fn turned(normal: Vec3, from: Vec3, to: Vec3) -> Vec3 {
    let is_unit = |v: Vec3| (v.length_squared() - 1.0).abs() < 1e-3;
    if is_unit(from) && is_unit(to) { Quat::from_rotation_arc(from, to) * normal } else { normal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::{ColliderMesh, Pose};
    use zygoma_geometry::shapes;

    const STRIDE: f32 = 2e-3;

    fn blade(before: Pose, now: Pose) -> Collider {
        let half_extents = Vec3::new(0.05, 0.0, 0.02);
        let mut collider = Collider::new(ColliderShape::RoundedBox { half_extents, radius: 5e-4 }, now);
        (collider.before, collider.duration) = (before, 1.0 / 60.0);
        collider
    }

    #[test]
    fn a_turning_blade_keeps_points_on_the_side_that_it_meets() {
        let turn = |degrees: f32| Pose {
            rotation: Quat::from_rotation_z(degrees.to_radians()),
            translation: Vec3::ZERO,
        };
        let collider = blade(turn(10.0), turn(-50.0));
        assert!(collider.may_pass(0.0, STRIDE));
        for x in [0.01f32, 0.02, 0.03, 0.04] {
            let point = Vec3::new(x, -0.3 * x, 0.005);
            let swept = collider.sweep(point, Vec3::ZERO, STRIDE);
            let below = collider.now.apply_inverse(swept.at).y;
            assert!(swept.is_hit && (-1e-3..=-4e-4).contains(&below), "{x}: {below}");
        }
        // It turns away from these, and the last is beyond its end.
        for point in [Vec3::new(-0.02, -0.03, 0.0), Vec3::new(0.03, 0.02, 0.0), Vec3::new(0.06, -0.02, 0.0)] {
            assert_eq!(collider.sweep(point, Vec3::ZERO, STRIDE), Swept { at: point, is_hit: false });
        }
    }

    #[test]
    fn a_point_that_flies_at_a_plate_stays_before_it() {
        let collider = blade(Pose::IDENTITY, Pose::IDENTITY);
        let from = Vec3::new(0.01, 0.01, 0.0);
        assert!(!collider.may_pass(1e-4, STRIDE) && collider.may_pass(0.02, STRIDE));
        let swept = collider.sweep(from, -0.02 * Vec3::Y, STRIDE);
        assert!(swept.is_hit && (swept.at.y - 5e-4).abs() < 1e-5, "{swept:?}");
        let beside = collider.sweep(from + 0.05 * Vec3::X, -0.02 * Vec3::Y, STRIDE);
        assert!(!beside.is_hit && (beside.at.y + 0.01).abs() < 1e-6, "{beside:?}");
    }

    #[test]
    fn a_mesh_that_deforms_through_a_point_takes_it_along() {
        let (ball, triangles) = shapes::sphere(24, 32);
        // A thin pancake.
        let at = |y: f32| -> Vec<Vec3> {
            ball.iter().map(|p| Vec3::new(0.03 * p.x, y + 5e-4 * p.y, 0.03 * p.z)).collect()
        };
        let mut mesh = ColliderMesh::new(at(0.01), triangles).unwrap();
        mesh.deform(&at(-0.01), 0.002).unwrap();
        let collider = Collider::new(ColliderShape::Mesh(Box::new(mesh)), Pose::IDENTITY);
        assert!((collider.travel() - 0.02).abs() < 1e-6);
        let swept = collider.sweep(Vec3::new(0.005, 0.0, 0.003), Vec3::ZERO, STRIDE);
        assert!(swept.is_hit && (swept.at.y + 0.0105).abs() < 1e-4, "{swept:?}");
        let aside = Vec3::new(0.05, 0.0, 0.0);
        assert_eq!(collider.sweep(aside, Vec3::ZERO, STRIDE).at, aside);
    }
}
