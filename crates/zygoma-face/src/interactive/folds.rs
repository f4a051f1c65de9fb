//! Which skin is folded in and never seen: the bag of a mouth, the pockets behind eyelids, the inside of a nose.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::geodesic::{Source, nearest_sources};
use zygoma_geometry::normals::vertex_normals;
use zygoma_geometry::triangle_tree::TriangleTree;
use zygoma_numerics::random::Keyed;

/// Rays per point that look for a way out of the face, and how many have to find one for the point to be seen. Ours.
const RAYS: u64 = 40;
const SEEN: usize = 2;

/// The stream of random directions.
const DIRECTIONS: u64 = 2;

/// Skin is kept up to this share of the height beyond the last that is seen, along the skin: 12 mm on a life-size face. Ours: the
/// inner side of the lips, which an open mouth shows, and the rim of the eyelids.
const KEPT: f64 = 0.05;

/// Rays start this share of the height above the skin, so that the triangles around a point stop them in a hollow only. Ours.
const LIFT: f32 = 5e-4;

/// Flags the points of a skin that lie deep in a fold. `blocking` are other triangles that rays do not pass, such as those of
/// eyeballs. Lengths are in heights.
pub(super) fn folded_points(points: &[DVec3], skin: &[[u32; 3]], blocking: &[[Vec3; 3]]) -> Vec<bool> {
    let mut positions: Vec<Vec3> = points.iter().map(|p| p.as_vec3()).collect();
    let normals = vertex_normals(&positions, skin);
    let mut is_skin = vec![false; points.len()];
    skin.iter().flatten().for_each(|p| is_skin[*p as usize] = true);
    let mut triangles = skin.to_vec();
    for corners in blocking {
        let first = positions.len() as u32;
        positions.extend(corners);
        triangles.push([first, first + 1, first + 2]);
    }
    let tree = TriangleTree::new(&positions, &triangles);
    let random = Keyed::new(0, DIRECTIONS);
    let is_seen = |point: usize| {
        let normal = normals[point];
        let start = positions[point] + LIFT * normal;
        let escapes = |ray: &u64| {
            let number = |axis: u64| 2.0 * random.uniform(3 * (point as u64 * RAYS + ray) + axis) - 1.0;
            // Points of a ball that touches the surface from outside: more rays straight ahead than along the skin.
            let spread = Vec3::new(number(0) as f32, number(1) as f32, number(2) as f32).normalize_or_zero();
            let direction = (normal + 0.98 * spread).normalize_or(normal);
            tree.first_hit(&positions, &triangles, start, direction, 0.0, |_| true).is_none()
        };
        (0..RAYS).filter(escapes).take(SEEN).count() == SEEN
    };
    let seen: Vec<bool> = (0..points.len()).into_par_iter().map(|p| is_skin[p] && is_seen(p)).collect();
    let sources: Vec<Source> = (0..points.len() as u32)
        .filter(|p| seen[*p as usize])
        .map(|p| Source { vertex: p, distance: 0.0, label: p })
        .collect();
    let nearest = nearest_sources(points, skin, &sources);
    (0..points.len()).map(|p| is_skin[p] && nearest[p].is_none_or(|found| found.distance > KEPT)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flat square with a narrow, deep bag behind a slit in its middle, as a lathe of rings.
    #[test]
    fn the_bottom_of_a_bag_is_folded_and_its_rim_is_not() {
        let around = 24;
        // Radius and depth of each ring: a disc, a narrow neck, a wide bag, its bottom.
        let rings = [
            (1.0, 0.0),
            (0.5, 0.0),
            (0.02, 0.0),
            (0.02, -0.03),
            (0.05, -0.1),
            (0.2, -0.2),
            (0.2, -0.4),
            (0.01, -0.5),
        ];
        let at = |(radius, depth): (f64, f64), k: usize| {
            let angle = std::f64::consts::TAU * k as f64 / around as f64;
            DVec3::new(radius * angle.cos(), radius * angle.sin(), depth)
        };
        let points: Vec<DVec3> =
            rings.iter().flat_map(|ring| (0..around).map(move |k| at(*ring, k))).collect();
        let mut triangles = Vec::new();
        for ring in 0..rings.len() - 1 {
            for k in 0..around {
                let corner = |ring: usize, k: usize| (ring * around + k % around) as u32;
                let [a, b, c, d] =
                    [corner(ring, k), corner(ring, k + 1), corner(ring + 1, k + 1), corner(ring + 1, k)];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        let folded = folded_points(&points, &triangles, &[]);
        let ring = |ring: usize| &folded[ring * around..][..around];
        assert!(ring(0).iter().chain(ring(2)).all(|folded| !folded), "the disc is seen");
        assert!(ring(3).iter().all(|folded| !folded), "the neck is kept");
        assert!(ring(5).iter().chain(ring(6)).all(|folded| *folded), "the bag is not seen");
    }
}
