//! Meshes of the colliders that touch a face, for display.

use std::f32::consts::{PI, TAU};

use glam::Vec3;
use zygoma_face::run::{HandProp, Prop};
use zygoma_geometry::TriMesh;
use zygoma_hand::Bone;
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_picture::Rgb;

/// Segments around a prop; half as many from pole to pole.
const AROUND: u32 = 48;
const DOWN: u32 = 24;

/// Colour of colliders: unlike any skin.
pub(crate) const PROP: Rgb = [0.28, 0.47, 0.74];

/// The mesh of a ball or capsule around its own origin. Other shapes are shown as their bounding ball.
pub(crate) fn prop_mesh(shape: &ColliderShape) -> TriMesh<Vec3> {
    let (half, radius) = match shape {
        ColliderShape::Capsule { half_length, radius } => (*half_length, *radius),
        other => (0.0, other.bounding_radius()),
    };
    // Rings from the upper pole to the lower one; the equator comes twice, separated by the length.
    let ring = |row: u32| {
        let (angle, middle) = if row <= DOWN / 2 { (row, half) } else { (row - 1, -half) };
        let (sin, cos) = (PI * angle as f32 / DOWN as f32).sin_cos();
        (radius * sin, middle + radius * cos)
    };
    let mut positions = Vec::new();
    for row in 0..=DOWN + 1 {
        let (wide, y) = ring(row);
        positions.extend((0..AROUND).map(|i| {
            let (sin, cos) = (TAU * i as f32 / AROUND as f32).sin_cos();
            Vec3::new(wide * sin, y, wide * cos)
        }));
    }
    let mut triangles = Vec::new();
    for row in 0..=DOWN {
        for i in 0..AROUND {
            let [a, b] = [i, (i + 1) % AROUND].map(|column| row * AROUND + column);
            let [c, d] = [a + AROUND, b + AROUND];
            triangles.extend([[a, c, b], [b, c, d]]);
        }
    }
    TriMesh { positions, triangles }
}

/// The capsules of a hand, which move as rigid props in any program.
pub(crate) fn hand_props(hand: &HandProp) -> Vec<Prop> {
    let Some(first) = hand.poses.iter().flatten().next() else { return Vec::new() };
    let prop = |bone: Bone| Prop {
        name: format!("{}: {}", hand.name, bone.from.name()),
        shape: bone.capsule(first).shape(),
        poses: hand.poses.iter().map(|pose| Some(bone.capsule(pose.as_ref()?).pose)).collect(),
        cut: None,
    };
    Bone::ALL.into_iter().map(prop).collect()
}

/// A mesh transformed by a pose.
pub(crate) fn placed(mesh: &TriMesh<Vec3>, pose: &Pose) -> TriMesh<Vec3> {
    TriMesh {
        positions: mesh.positions.iter().map(|p| pose.apply(*p)).collect(),
        triangles: mesh.triangles.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn props_have_the_shape_of_what_touches() {
        let capsule = ColliderShape::Capsule { half_length: 0.03, radius: 0.01 };
        for shape in [ColliderShape::Sphere { radius: 0.02 }, capsule] {
            let mesh = prop_mesh(&shape);
            assert!(mesh.positions.iter().all(|p| shape.depth(*p).abs() < 1e-6));
            let outward = |t: &[u32; 3]| {
                let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
                // Triangles at the poles are nearly degenerate.
                (b - a).cross(c - a).dot(a + b + c) > -1e-12
            };
            assert!(mesh.triangles.iter().all(outward));
        }
    }
}
