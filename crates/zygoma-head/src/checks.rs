//! What must hold for every head: laws that tests and benchmarks ask for.

use glam::DVec3;
use zygoma_geometry::intersect::crossing_pairs;

use crate::Head;

/// The skin's positions with shapes at weights, in metres.
pub fn posed_skin(head: &Head, weights: &[(&str, f64)]) -> Vec<DVec3> {
    let mut positions = head.skin.positions.clone();
    for (name, weight) in weights {
        if let Some((_, offsets)) = head.skin.shapes.iter().find(|(shape, _)| shape == name) {
            for (p, offset) in positions.iter_mut().zip(offsets) {
                *p += *weight * *offset;
            }
        }
    }
    positions
}

/// Pairs of skin triangles that cut through each other.
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

/// How deep skin lies inside the eyeballs, in metres; negative when none does.
pub fn eye_penetration(head: &Head, weights: &[(&str, f64)]) -> f64 {
    let eye = head.warp.left_eye();
    let radius = head.eye_radius();
    let positions = posed_skin(head, weights);
    let depth = |p: &DVec3| radius - DVec3::new(p.x.abs(), p.y, p.z).distance(eye.centre / 1000.0);
    positions.iter().map(depth).fold(f64::MIN, f64::max)
}
