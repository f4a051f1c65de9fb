//! How deep the skin may be pushed, from the rig's own expressions (IFA §4.4).

use glam::DVec3;
use zygoma_geometry::normals::vertex_normals;
use zygoma_physics::shell::{Shell, ShellParams};

/// Skin gives way a little everywhere, by this share of the tolerance: 0.5 mm on a life-size face. The depth counts from where
/// the corrected shell rests, so that the shell needs no room to settle. Ours.
const LEAST: f64 = 0.2;

/// Flesh does not end suddenly: between neighbours the depth falls by at most this share of their distance. Ours.
const SLOPE: f64 = 0.3;

/// The largest depth of each vertex: how far any expression moves it or its surroundings along the normal, and δ^thin
/// where the skin is thin.
pub(super) fn largest_depth(
    shell: &Shell,
    shapes: &[&[DVec3]],
    is_thin: &[bool],
    params: &ShellParams,
) -> Vec<f32> {
    let positions: Vec<glam::Vec3> = shell.rest.iter().map(|p| p.as_vec3()).collect();
    let normals = vertex_normals(&positions, &shell.triangles);
    let moved = |v: usize| {
        let normal = normals[v].as_dvec3();
        shapes.iter().map(|shape| shape[v].dot(normal).abs()).fold(0.0, f64::max)
    };
    let flesh = with_surroundings(shell, (0..shell.vertex_count()).map(moved).collect());
    let depth = |v: usize| {
        let thin = if is_thin[v] { params.thin_depth } else { 0.0 };
        flesh[v].max(thin).max(LEAST * params.tolerance) as f32
    };
    (0..shell.vertex_count()).map(depth).collect()
}

/// Raises a field to the cones below its peaks, along the edges of the shell.
fn with_surroundings(shell: &Shell, mut field: Vec<f64>) -> Vec<f64> {
    let mut changed = true;
    while changed {
        changed = false;
        for spring in &shell.springs {
            let [a, b] = spring.ends.map(|v| v as usize);
            let fall = SLOPE * spring.rest_length;
            for (low, high) in [(a, b), (b, a)] {
                if field[low] < field[high] - fall {
                    field[low] = field[high] - fall;
                    changed = true;
                }
            }
        }
    }
    field
}
