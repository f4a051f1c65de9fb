//! Finds thin parts of a face, such as ears and the wings of a nose: bone does not limit how far they bend (IFA §4.4).

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::closest::TriangleTree;
use zygoma_geometry::normals::vertex_normals;
use zygoma_numerics::random::Keyed;
use zygoma_numerics::{Budget, Stop};

/// Number of rays per point that measure the thickness of the head there. Ours.
const RAYS: u64 = 16;

/// Opening of the ray cone, as the tangent of its half angle: 30°. Ours.
const CONE: f64 = 0.58;

/// The random stream of ray directions.
const THICKNESS: u64 = 1;

/// Parts thinner than this fraction of the height are ears or nose wings; a life-size ear is 1 cm thick. Ours.
const THIN: f64 = 0.06;

/// A point is thin if most of the skin within this fraction of the height is. Ours: wider than an ear is thick, since rays from its rim
/// run along it and measure its length.
const AROUND: f64 = 0.05;

/// Flags the points around which most of the skin is thin.
///
/// Measured on the artist's full-resolution skin: a coarse mesh rounds off exactly those parts.
pub(super) fn thin_places(
    points: &[DVec3],
    triangles: &[[u32; 3]],
    places: &[DVec3],
    budget: &Budget,
) -> Result<Vec<bool>, Stop> {
    let mut is_skin = vec![false; points.len()];
    for point in triangles.iter().flatten() {
        is_skin[*point as usize] = true;
    }
    let skin: Vec<usize> = (0..points.len()).filter(|point| is_skin[*point]).collect();
    let thickness = thickness(points, triangles, &skin, budget)?;
    let is_thin = |place: &DVec3| {
        budget.check()?;
        let near = |point: &usize| points[*point].distance_squared(*place) < AROUND * AROUND;
        let (mut thin, mut all) = (0, 0);
        for (point, thickness) in skin.iter().zip(&thickness) {
            if near(point) {
                all += 1;
                thin += usize::from(*thickness < THIN);
            }
        }
        Ok(2 * thin > all)
    };
    places.par_iter().map(is_thin).collect()
}

/// Shape diameter (\[Shapira et al. 2008\]): the median length of rays into the surface around the inward normal.
fn thickness(
    points: &[DVec3],
    triangles: &[[u32; 3]],
    skin: &[usize],
    budget: &Budget,
) -> Result<Vec<f64>, Stop> {
    let positions: Vec<Vec3> = points.iter().map(|p| p.as_vec3()).collect();
    let normals = vertex_normals(&positions, triangles);
    let tree = TriangleTree::new(&positions, triangles);
    let random = Keyed::new(0, THICKNESS);
    let leaves = |triangle: u32, direction: Vec3| {
        let [a, b, c] = triangles[triangle as usize].map(|v| positions[v as usize]);
        (b - a).cross(c - a).dot(direction) > 0.0
    };
    let at_point = |point: &usize| {
        budget.check()?;
        let normal = normals[*point].as_dvec3();
        let mut lengths = Vec::new();
        for ray in 0..RAYS {
            let number = |axis: u64| 2.0 * random.uniform(3 * (*point as u64 * RAYS + ray) + axis) - 1.0;
            let wobble = DVec3::new(number(0), number(1), number(2));
            let across = (wobble - normal * wobble.dot(normal)).normalize_or_zero();
            let direction = (-normal + CONE * wobble.x.abs() * across).normalize_or(DVec3::NEG_Z).as_vec3();
            let accepted = |t: u32| !triangles[t as usize].contains(&(*point as u32)) && leaves(t, direction);
            let hit = tree.first_hit(&positions, triangles, positions[*point], direction, 1e-4, accepted);
            // A ray that leaves through an opening has hit no opposite side.
            lengths.push(hit.map_or(f64::INFINITY, |hit| f64::from(hit.distance)));
        }
        lengths.sort_by(f64::total_cmp);
        Ok(lengths[lengths.len() / 2])
    };
    skin.par_iter().map(at_point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::shapes;

    /// A ball with a plate on it, like an ear on a head.
    #[test]
    fn a_plate_on_a_ball_is_thin_up_to_its_rim() {
        let (sphere, sphere_triangles) = shapes::sphere(60, 80);
        let mut points: Vec<DVec3> = sphere.iter().map(|p| 0.4 * p.as_dvec3()).collect();
        let mut triangles = sphere_triangles.clone();
        let offset = points.len() as u32;
        let plate = |p: &Vec3| DVec3::new(0.5, 0.0, 0.0) + p.as_dvec3() * DVec3::new(0.12, 0.12, 0.015);
        points.extend(sphere.iter().map(plate));
        triangles.extend(sphere_triangles.iter().map(|t| t.map(|v| v + offset)));
        let places = [DVec3::new(-0.4, 0.0, 0.0), DVec3::new(0.55, 0.0, 0.012), DVec3::new(0.62, 0.0, 0.0)];
        let thin = thin_places(&points, &triangles, &places, &Budget::default()).unwrap();
        assert_eq!(thin, [false, true, true]);
    }
}
