//! Invariants of every head, for tests and benchmarks.

use glam::{DVec3, Vec3};
use zygoma_geometry::closest::{SurfacePoint, TriangleTree};
use zygoma_geometry::intersect::crossing_pairs;
use zygoma_geometry::normals::vertex_normals;

use crate::{Head, HeadMesh};

/// The skin's positions with shapes at weights, in metres.
pub fn posed_skin(head: &Head, weights: &[(&str, f64)]) -> Vec<DVec3> {
    posed(&head.skin, weights)
}

/// A mesh's positions with shapes at weights, in metres.
pub fn posed(mesh: &HeadMesh, weights: &[(&str, f64)]) -> Vec<DVec3> {
    let mut positions = mesh.positions.clone();
    for (name, weight) in weights {
        if let Some((_, offsets)) = mesh.shapes.iter().find(|(shape, _)| shape == name) {
            for (p, offset) in positions.iter_mut().zip(offsets) {
                *p += *weight * *offset;
            }
        }
    }
    positions
}

/// Pairs of skin triangles that intersect.
pub fn crossings(head: &Head, weights: &[(&str, f64)]) -> Vec<(u32, u32)> {
    crossing_pairs(&posed_skin(head, weights), &head.skin.triangles)
}

/// The largest deviation of the neutral skin from its mirror image, in metres.
pub fn asymmetry(head: &Head) -> f64 {
    let positions = &head.skin.positions;
    (0..positions.len())
        .map(|v| {
            let other = positions[head.mirror[v] as usize];
            positions[v].distance(DVec3::new(-other.x, other.y, other.z))
        })
        .fold(0.0, f64::max)
}

/// Deepest penetration of skin into the eyeballs, in metres; negative when there is none.
pub fn eye_penetration(head: &Head, weights: &[(&str, f64)]) -> f64 {
    let eye = head.warp.left_eye();
    let radius = head.eye_radius();
    let positions = posed_skin(head, weights);
    let depth = |p: &DVec3| radius - DVec3::new(p.x.abs(), p.y, p.z).distance(eye.centre / 1000.0);
    positions.iter().map(depth).fold(f64::MIN, f64::max)
}

/// Every single shape at weight 1, and the lips' seal over an opening jaw, that makes the skin intersect itself, with the
/// number of crossing pairs.
pub fn crossing_shapes(head: &Head) -> Vec<(String, usize)> {
    let single = head.skin.shapes.iter().map(|(name, _)| &name[..]).filter(|name| *name != "mouthClose");
    let mut poses: Vec<Vec<(&str, f64)>> = vec![Vec::new()];
    poses.extend(single.map(|name| vec![(name, 1.0)]));
    poses.extend([0.25, 0.5, 0.75, 1.0].map(|w| vec![("jawOpen", w), ("mouthClose", w)]));
    let counted = poses.iter().map(|pose| (format!("{pose:?}"), crossings(head, pose).len()));
    counted.filter(|(_, count)| *count > 0).collect()
}

/// Distances from the vertices of the upper lip's contact line to the lower lip's, in metres; negative where the upper
/// lip hangs below the lower one.
pub fn lip_gaps(head: &Head, weights: &[(&str, f64)]) -> Vec<f64> {
    let skin = posed_skin(head, weights);
    let lips = &head.places.lips;
    let lower: Vec<DVec3> = lips.inner_lower.iter().map(|v| skin[*v as usize]).collect();
    let upper = &lips.inner_upper[1..lips.inner_upper.len() - 1];
    let gap = |v: &u32| {
        let p = skin[*v as usize];
        let to_segment = |w: &[DVec3]| {
            let along = w[1] - w[0];
            let t = ((p - w[0]).dot(along) / along.length_squared().max(1e-18)).clamp(0.0, 1.0);
            p - (w[0] + t * along)
        };
        let nearest = lower.windows(2).map(to_segment).min_by(|a, b| a.length().total_cmp(&b.length()));
        let away = nearest.unwrap_or(DVec3::ZERO);
        // Beside the corners the lips part sideways; only a drop counts as crossing.
        if away.y < -0.5 * away.length() { -away.length() } else { away.length() }
    };
    upper.iter().map(gap).collect()
}

/// The smallest distance from teeth and gums to the skin around them, in metres; negative where they pierce it.
pub fn teeth_clearance(head: &Head, weights: &[(&str, f64)]) -> f64 {
    let skin = posed_skin(head, weights);
    let tree = TriangleTree::new(&skin, &head.skin.triangles);
    let single: Vec<Vec3> = skin.iter().map(|p| p.as_vec3()).collect();
    let normals: Vec<DVec3> =
        vertex_normals(&single, &head.skin.triangles).iter().map(|n| n.as_dvec3()).collect();
    let hard =
        head.parts.iter().filter(|part| part.name.starts_with("teeth") || part.name.starts_with("gums"));
    let clearance = |p: DVec3| {
        let Some(near) = tree.closest(&skin, &head.skin.triangles, p, f64::INFINITY) else { return f64::MAX };
        let near = SurfacePoint::from(near);
        let away = p - near.interpolate(&head.skin.triangles, &skin);
        // The bag's skin faces the teeth: points in front of it are in the mouth. Vertex normals decide, because
        // those of single triangles are unreliable at an edge.
        away.length().copysign(away.dot(near.interpolate(&head.skin.triangles, &normals)))
    };
    hard.flat_map(|part| posed(part, weights)).map(clearance).fold(f64::MAX, f64::min)
}
