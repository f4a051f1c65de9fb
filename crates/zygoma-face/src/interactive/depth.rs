//! How deep the skin may be pushed, from the rig's own expressions (IFA §4.4).

use glam::DVec3;
use zygoma_geometry::normals::vertex_normals;
use zygoma_physics::shell::{Shell, ShellParams};

/// The largest depth of each vertex: how far any expression moves it along its normal, δ^thin where the skin is
/// thin, and never less than the tolerance, within which the shell must be free to settle.
pub(super) fn largest_depth(
    shell: &Shell,
    shapes: &[&[DVec3]],
    is_thin: &[bool],
    params: &ShellParams,
) -> Vec<f32> {
    let positions: Vec<glam::Vec3> = shell.rest.iter().map(|p| p.as_vec3()).collect();
    let normals = vertex_normals(&positions, &shell.triangles);
    let depth = |v: usize| {
        let normal = normals[v].as_dvec3();
        let moved = shapes.iter().map(|shape| shape[v].dot(normal).abs()).fold(0.0, f64::max);
        let thin = if is_thin[v] { params.thin_depth } else { 0.0 };
        moved.max(thin).max(params.tolerance) as f32
    };
    (0..shell.vertex_count()).map(depth).collect()
}
