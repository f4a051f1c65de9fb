//! How deep the skin may be pushed, from the rig's own expressions (IFA §4.4).

use glam::DVec3;
use zygoma_geometry::normals::vertex_normals;
use zygoma_geometry::triangle_tree::TriangleTree;
use zygoma_numerics::random::Keyed;
use zygoma_physics::shell::{Shell, ShellParams};

/// Rays per vertex that measure how thick the head is there. Ours.
const RAYS: u64 = 16;

/// Opening of the cone of rays, as the tangent of its half angle: 30°. Ours.
const CONE: f64 = 0.58;

/// The stream of random directions.
const THICKNESS: u64 = 1;

/// Thinner than this share of the height is an ear or a nose wing; a life-size ear measures 1 cm across. Ours.
const THIN: f64 = 0.06;

/// The largest depth of each vertex: how far any expression moves it along its normal, δ^thin where the skin is
/// thin, and never less than the tolerance, within which the shell must be free to settle.
pub(super) fn largest_depth(shell: &Shell, shapes: &[&[DVec3]], params: &ShellParams) -> Vec<f32> {
    let positions: Vec<glam::Vec3> = shell.rest.iter().map(|p| p.as_vec3()).collect();
    let normals: Vec<DVec3> =
        vertex_normals(&positions, &shell.triangles).iter().map(|n| n.as_dvec3()).collect();
    let thickness = thickness(shell, &normals);
    let depth = |v: usize| {
        let moved = shapes.iter().map(|shape| shape[v].dot(normals[v]).abs()).fold(0.0, f64::max);
        let thin = if thickness[v] < THIN { params.thin_depth } else { 0.0 };
        moved.max(thin).max(params.tolerance) as f32
    };
    (0..shell.vertex_count()).map(depth).collect()
}

/// Shape diameter (\[Shapira et al. 2008\]): the median length of rays into the surface around the inward normal.
fn thickness(shell: &Shell, normals: &[DVec3]) -> Vec<f64> {
    let positions: Vec<glam::Vec3> = shell.rest.iter().map(|p| p.as_vec3()).collect();
    let tree = TriangleTree::new(&positions, &shell.triangles);
    let random = Keyed::new(0, THICKNESS);
    let of_vertex = |v: usize| {
        let mut lengths = Vec::new();
        for ray in 0..RAYS {
            let number = |axis: u64| 2.0 * random.uniform(3 * (v as u64 * RAYS + ray) + axis) - 1.0;
            let wobble = DVec3::new(number(0), number(1), number(2));
            let across = (wobble - normals[v] * wobble.dot(normals[v])).normalize_or_zero();
            let direction = (-normals[v] + CONE * wobble.x.abs() * across).normalize_or(DVec3::NEG_Z);
            let own = |t: u32| !shell.triangles[t as usize].contains(&(v as u32));
            let hit =
                tree.first_hit(&positions, &shell.triangles, positions[v], direction.as_vec3(), 1e-4, own);
            lengths.extend(hit.map(|hit| f64::from(hit.distance)));
        }
        lengths.sort_by(f64::total_cmp);
        lengths.get(lengths.len() / 2).copied().unwrap_or(f64::INFINITY)
    };
    (0..shell.vertex_count()).map(of_vertex).collect()
}
