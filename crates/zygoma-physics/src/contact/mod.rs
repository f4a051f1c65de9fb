//! Colliders.
//!
//! A [`Collider`] has a shape, and a pose at the start and at the end of a frame, so that steps in between see it move. A
//! [query](Collider::probe) returns the signed distance of a point, the outward normal, the nearest surface point and its velocity.

mod mesh;
mod sweep;

use glam::{Quat, Vec3};
use zygoma_geometry::closest::SignedSurface;

pub use mesh::{ColliderMesh, MeshError};
pub use sweep::Swept;

/// A rotation followed by a translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// The rotation.
    pub rotation: Quat,
    /// The translation.
    pub translation: Vec3,
}

/// The shape of a collider, around its own origin.
#[derive(Clone, Debug)]
pub enum ColliderShape {
    /// A sphere.
    Sphere {
        /// Its radius.
        radius: f32,
    },
    /// A segment along Y with a radius.
    Capsule {
        /// From the middle to either end of the segment.
        half_length: f32,
        /// Distance of the surface from the segment.
        radius: f32,
    },
    /// A box with rounded edges.
    RoundedBox {
        /// From the middle to the faces of the inner box.
        half_extents: Vec3,
        /// Distance of the surface from the inner box.
        radius: f32,
    },
    /// A closed triangle mesh, which may deform from frame to frame.
    Mesh(Box<ColliderMesh>),
}

/// A point on the surface of a mesh collider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshPoint {
    /// The triangle.
    pub triangle: u32,
    /// Its barycentric coordinates.
    pub barycentric: [f32; 3],
}

/// A point that moves with a collider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaterialPoint {
    /// In the frame of a collider that does not deform.
    Fixed(Vec3),
    /// On a triangle of a mesh, however it deforms.
    OnMesh(MeshPoint),
}

/// The answer of a collider to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Distance from the surface, negative inside.
    pub distance: f32,
    /// Outward unit normal.
    pub normal: Vec3,
    /// The nearest point of the surface.
    pub point: Vec3,
    /// Velocity of that point.
    pub velocity: Vec3,
    /// The same point by triangle and barycentric coordinates, for a mesh.
    pub on_mesh: Option<MeshPoint>,
}

/// Signed distance of a point from a collider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedDistance {
    /// Distance from the surface, negative inside.
    pub distance: f32,
    /// Outward unit normal.
    pub normal: Vec3,
}

/// A rigid or deforming thing that presses, and its motion during a frame.
#[derive(Clone, Debug)]
pub struct Collider {
    /// Its shape.
    pub shape: ColliderShape,
    /// Pose at the start of the step.
    pub before: Pose,
    /// Pose at the end of the step.
    pub now: Pose,
    /// Time from `before` to `now`, s.
    pub duration: f32,
}

impl Pose {
    /// No rotation, no translation.
    pub const IDENTITY: Self = Self { rotation: Quat::IDENTITY, translation: Vec3::ZERO };

    /// A pose that only translates.
    pub fn at(translation: Vec3) -> Self {
        Self { translation, ..Self::IDENTITY }
    }

    /// Transforms a point.
    pub fn apply(&self, point: Vec3) -> Vec3 {
        self.rotation * point + self.translation
    }

    /// Transforms a point back.
    pub fn apply_inverse(&self, point: Vec3) -> Vec3 {
        self.rotation.inverse() * (point - self.translation)
    }

    /// Interpolates between this pose (t = 0) and another (t = 1).
    pub fn between(&self, other: &Self, t: f32) -> Self {
        Self {
            rotation: self.rotation.slerp(other.rotation, t),
            translation: self.translation.lerp(other.translation, t),
        }
    }
}

/// The answer of a shape to a query in its own frame.
struct Local {
    distance: f32,
    normal: Vec3,
    velocity: Vec3,
    on_mesh: Option<MeshPoint>,
}

/// Distance and outward direction from a shape's core (point, segment or box) to a point.
struct Offset {
    distance: f32,
    normal: Vec3,
}

#[inline]
fn from_core(offset: Vec3, radius: f32) -> Offset {
    let length = offset.length();
    // On the core itself every direction is outward; +Z is the front of a face.
    let normal = if length > f32::MIN_POSITIVE { offset / length } else { Vec3::Z };
    Offset { distance: length - radius, normal }
}

fn from_box(point: Vec3, half_extents: Vec3, radius: f32) -> Offset {
    let clamped = point.clamp(-half_extents, half_extents);
    if clamped != point {
        return from_core(point - clamped, radius);
    }
    // Inside the inner box: out through the nearest face.
    let gaps = half_extents - point.abs();
    let axis = gaps.min_position();
    let mut normal = Vec3::ZERO;
    normal[axis] = if point[axis] < 0.0 { -1.0 } else { 1.0 };
    Offset { distance: -gaps[axis] - radius, normal }
}

impl ColliderShape {
    /// Radius of a bounding sphere around the origin.
    pub fn bounding_radius(&self) -> f32 {
        match self {
            Self::Sphere { radius } => *radius,
            Self::Capsule { half_length, radius } => half_length + radius,
            Self::RoundedBox { half_extents, radius } => half_extents.length() + radius,
            Self::Mesh(mesh) => mesh.bounding_radius(),
        }
    }

    /// Penetration depth of a point in the shape's own frame; 0 outside.
    pub fn depth(&self, point: Vec3) -> f32 {
        self.probe(point, 0.0).map_or(0.0, |probe| -probe.distance)
    }

    /// Queries a point in the shape's own frame; none beyond a distance from its surface.
    fn probe(&self, point: Vec3, within: f32) -> Option<Local> {
        if point.length_squared() > (self.bounding_radius() + within).powi(2) {
            return None;
        }
        let offset = match self {
            Self::Sphere { radius } => from_core(point, *radius),
            Self::Capsule { half_length, radius } => {
                let along = point.y.clamp(-half_length, *half_length);
                from_core(point - along * Vec3::Y, *radius)
            }
            Self::RoundedBox { half_extents, radius } => from_box(point, *half_extents, *radius),
            Self::Mesh(mesh) => {
                let Probe { distance, normal, velocity, on_mesh, .. } = mesh.probe(point, within)?;
                return (distance <= within).then_some(Local { distance, normal, velocity, on_mesh });
            }
        };
        let Offset { distance, normal } = offset;
        (distance <= within).then_some(Local { distance, normal, velocity: Vec3::ZERO, on_mesh: None })
    }

    /// The same shape, larger by a factor.
    pub fn scaled(&self, by: f32) -> Self {
        match self {
            Self::Sphere { radius } => Self::Sphere { radius: by * radius },
            Self::Capsule { half_length, radius } => {
                Self::Capsule { half_length: by * half_length, radius: by * radius }
            }
            Self::RoundedBox { half_extents, radius } => {
                Self::RoundedBox { half_extents: by * *half_extents, radius: by * radius }
            }
            Self::Mesh(mesh) => Self::Mesh(Box::new(mesh.scaled(by))),
        }
    }
}

impl Collider {
    /// A collider at rest.
    pub fn new(shape: ColliderShape, pose: Pose) -> Self {
        Self { shape, before: pose, now: pose, duration: 0.0 }
    }

    /// The signed distance of a point; none beyond a distance from the surface. The part of a [probe](Self::probe) that contact needs most often.
    #[inline]
    pub fn signed_distance(&self, point: Vec3, within: f32) -> Option<SignedDistance> {
        if let ColliderShape::Sphere { radius } = self.shape {
            // A sphere does not depend on the rotation.
            let offset = point - self.now.translation;
            let bound = radius + within;
            if offset.length_squared() > bound * bound {
                return None;
            }
            let Offset { distance, normal } = from_core(offset, radius);
            return Some(SignedDistance { distance, normal });
        }
        let Local { distance, normal, .. } = self.shape.probe(self.now.apply_inverse(point), within)?;
        Some(SignedDistance { distance, normal: self.now.rotation * normal })
    }

    /// The point of the material nearest to a position at the start of the step.
    pub fn material_before(&self, at: Vec3) -> MaterialPoint {
        self.material(&self.before, at, |mesh| mesh.surface_before())
    }

    /// The point of the material nearest to a position at the end of the step.
    pub fn material_now(&self, at: Vec3) -> MaterialPoint {
        self.material(&self.now, at, |mesh| mesh.surface())
    }

    fn material(
        &self,
        pose: &Pose,
        at: Vec3,
        surface: impl Fn(&ColliderMesh) -> &SignedSurface,
    ) -> MaterialPoint {
        let local = pose.apply_inverse(at);
        let ColliderShape::Mesh(mesh) = &self.shape else { return MaterialPoint::Fixed(local) };
        surface(mesh).closest(local, f32::INFINITY).map_or(MaterialPoint::Fixed(local), |found| {
            MaterialPoint::OnMesh(mesh::point_of(&found.nearest))
        })
    }

    /// Where a point of the material is at the end of the step.
    pub fn place_of(&self, point: &MaterialPoint) -> Vec3 {
        let local = match (point, &self.shape) {
            (MaterialPoint::Fixed(local), _) => *local,
            (MaterialPoint::OnMesh(point), ColliderShape::Mesh(mesh)) => mesh.place_of(point),
            (MaterialPoint::OnMesh(_), _) => Vec3::ZERO,
        };
        self.now.apply(local)
    }

    /// Queries a point; none beyond a distance from the surface.
    pub fn probe(&self, point: Vec3, within: f32) -> Option<Probe> {
        let local = self.now.apply_inverse(point);
        let Local { distance, normal, velocity, on_mesh } = self.shape.probe(local, within)?;
        let surface = local - distance * normal;
        let now = self.now.apply(surface);
        let moved = now - self.before.apply(surface);
        let rigid = if self.duration > 0.0 { moved / self.duration } else { Vec3::ZERO };
        let velocity = rigid + self.now.rotation * velocity;
        Some(Probe { distance, normal: self.now.rotation * normal, point: now, velocity, on_mesh })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zygoma_geometry::shapes;

    fn shapes_to_test() -> Vec<ColliderShape> {
        let (positions, triangles) = shapes::sphere(24, 32);
        let mesh = ColliderMesh::new(positions.iter().map(|p| 0.5 * *p).collect(), triangles).unwrap();
        vec![
            ColliderShape::Sphere { radius: 0.5 },
            ColliderShape::Capsule { half_length: 0.4, radius: 0.3 },
            ColliderShape::RoundedBox { half_extents: Vec3::new(0.3, 0.2, 0.5), radius: 0.1 },
            ColliderShape::Mesh(Box::new(mesh)),
        ]
    }

    proptest! {
        #[test]
        fn stepping_out_by_the_distance_reaches_the_surface(
            p in prop::array::uniform3(-1.0f32..1.0), axis in prop::array::uniform3(-1.0f32..1.0), angle in -3.0f32..3.0,
        ) {
            let axis = Vec3::from(axis);
            prop_assume!(axis.length() > 0.1);
            let rotation = Quat::from_axis_angle(axis.normalize(), angle);
            let pose = Pose { rotation, translation: Vec3::new(0.1, -0.2, 0.05) };
            for shape in shapes_to_test() {
                let is_mesh = matches!(shape, ColliderShape::Mesh(_));
                let collider = Collider::new(shape, pose);
                let probe = collider.probe(p.into(), 10.0).unwrap();
                prop_assert!((probe.normal.length() - 1.0).abs() < 1e-4);
                let out = Vec3::from(p) - probe.distance * probe.normal;
                prop_assert!(out.distance(probe.point) < 1e-4);
                let found = collider.signed_distance(p.into(), 10.0).unwrap();
                prop_assert!((found.distance - probe.distance).abs() < 1e-6);
                prop_assert!(found.normal.distance(probe.normal) < 1e-5);
                prop_assert!(collider.signed_distance(p.into(), probe.distance.max(0.0) - 1e-3).is_none() || probe.distance < 1e-3);
                let again = collider.probe(out + 1e-3 * probe.normal, 10.0).unwrap();
                // At the corners of a faceted mesh the normal jumps.
                let tolerance = if is_mesh { 3e-3 } else { 1e-4 };
                prop_assert!((again.distance - 1e-3).abs() < tolerance, "{}", again.distance);
            }
        }
    }

    #[test]
    fn the_surface_moves_as_the_pose_does() {
        let before = Pose::at(Vec3::X);
        let now = Pose { rotation: Quat::from_rotation_z(0.01), translation: Vec3::new(1.0, 0.002, 0.0) };
        let mut collider = Collider::new(ColliderShape::Sphere { radius: 0.5 }, now);
        (collider.before, collider.duration) = (before, 0.002);
        let probe = collider.probe(Vec3::new(1.6, 0.002, 0.0), 1.0).unwrap();
        assert!(probe.velocity.distance(Vec3::new(0.0, 1.0 + 2.5, 0.0)) < 0.05, "{}", probe.velocity);
        assert!(collider.probe(Vec3::new(9.0, 0.0, 0.0), 1.0).is_none());
    }
}
