//! How deep the skin may be pushed, from the rig's own expressions (IFA §4.4).

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::normals::{area_vector, vertex_normals};
use zygoma_geometry::triangle_tree::TriangleTree;
use zygoma_numerics::random::Keyed;
use zygoma_physics::shell::{Shell, ShellParams};

use super::region::Region;

/// Rays per vertex that measure how thick the head is there. Ours.
const RAYS: u64 = 16;

/// Opening of the cone of rays, as the tangent of its half angle: 30°. Ours.
const CONE: f64 = 0.58;

/// The stream of random directions.
const THICKNESS: u64 = 1;

/// Thinner than this share of the height is an ear or a nose wing; a life-size ear measures 1 cm across. Ours.
const THIN: f64 = 0.06;

/// Flesh does not end suddenly: this share of a height away from deep flesh, skin is shallower by at most as much times
/// this. Ours.
const SLOPE: f64 = 0.3;

/// Even skin on bone gives a little: 0.5 mm of a life-size head. Ours.
const LEAST: f64 = 0.002;

/// The largest depth of each vertex: how far any expression moves it or its surroundings along the normal, δ^thin where
/// the skin is thin, and never less than how far it settles from its targets, within which the shell must be free.
pub(super) fn largest_depth(
    shell: &Shell,
    region: &Region,
    shapes: &[&[DVec3]],
    settled: &[f64],
    params: &ShellParams,
) -> Vec<f32> {
    let positions: Vec<Vec3> = shell.rest.iter().map(|p| p.as_vec3()).collect();
    let normals: Vec<DVec3> =
        vertex_normals(&positions, &shell.triangles).iter().map(|n| n.as_dvec3()).collect();
    let thickness = thickness(shell, region, &normals);
    let moved = |v: usize| shapes.iter().map(|shape| shape[v].dot(normals[v]).abs()).fold(0.0, f64::max);
    let flesh = with_surroundings(shell, (0..shell.vertex_count()).map(moved).collect());
    let depth = |v: usize| {
        let thin = if thickness[v] < THIN { params.thin_depth } else { 0.0 };
        flesh[v].max(thin).max(1.05 * settled[v]).max(LEAST) as f32
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

/// Shape diameter (\[Shapira et al. 2008\]): the median length of rays into the full-resolution skin around the inward
/// normal.
fn thickness(shell: &Shell, region: &Region, normals: &[DVec3]) -> Vec<f64> {
    let positions: Vec<Vec3> = region.points.iter().map(|p| p.as_vec3()).collect();
    let tree = TriangleTree::new(&positions, &region.triangles);
    let random = Keyed::new(0, THICKNESS);
    let of_vertex = |v: usize| {
        let mut lengths = Vec::new();
        for ray in 0..RAYS {
            let number = |axis: u64| 2.0 * random.uniform(3 * (v as u64 * RAYS + ray) + axis) - 1.0;
            let wobble = DVec3::new(number(0), number(1), number(2));
            let across = (wobble - normals[v] * wobble.dot(normals[v])).normalize_or_zero();
            let direction = (-normals[v] + CONE * wobble.x.abs() * across).normalize_or(DVec3::NEG_Z);
            // Only what faces away is the other side.
            let far_side = |t: u32| {
                let [a, b, c] = region.triangles[t as usize].map(|p| region.points[p as usize]);
                area_vector(a, b, c).dot(direction) > 0.0
            };
            let from = shell.rest[v].as_vec3();
            let hit =
                tree.first_hit(&positions, &region.triangles, from, direction.as_vec3(), 1e-4, far_side);
            lengths.extend(hit.map(|hit| f64::from(hit.distance)));
        }
        lengths.sort_by(f64::total_cmp);
        lengths.get(lengths.len() / 2).copied().unwrap_or(f64::INFINITY)
    };
    (0..shell.vertex_count()).into_par_iter().map(of_vertex).collect()
}
