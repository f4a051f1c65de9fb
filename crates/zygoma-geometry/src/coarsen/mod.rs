//! A coarse mesh of even triangles on a finer surface.
//!
//! Long edges are split, short ones collapsed, the rest flipped towards Delaunay and vertices relaxed in the
//! surface (\[Botsch and Kobbelt 2004\]). Every vertex remembers where it lies on the fine surface and is only moved
//! through neighbouring triangles, so nothing ever jumps across a gap: lips that touch stay apart. Vertices on
//! a border slide along that border and never leave it; sharp corners of a border stay where they are.

mod fine;
mod work;

use glam::DVec3;

use zygoma_numerics::{Budget, Stop};

use crate::closest::SurfacePoint;
use crate::normals::triangle_area;
use crate::topology::distinct_triangles;
use crate::tri_mesh::{TriMeshError, check_mesh};
use fine::FineSurface;
use work::Work;

/// Rounds of splitting, collapsing, flipping and relaxing per wanted edge length. Ours: later rounds change little.
const ROUNDS: usize = 8;

/// Corrections of the edge length to meet the wanted number of triangles.
const CORRECTIONS: usize = 5;

/// The edge length changes by at most this factor in a correction. Ours: a damaged surface may be far from the wanted number
/// however short its edges are.
const LARGEST_CORRECTION: f64 = 2.0;

/// The number of triangles may differ from the wanted one by this fraction.
const COUNT_TOLERANCE: f64 = 0.01;

/// A coarse mesh and where its vertices lie on the fine one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoarseMesh {
    /// Vertices, all on the fine surface.
    pub positions: Vec<DVec3>,
    /// Triangles, oriented as the fine ones.
    pub triangles: Vec<[u32; 3]>,
    /// The point of the fine surface at which each vertex lies.
    pub places: Vec<SurfacePoint>,
}

/// A surface that cannot be remeshed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoarsenError {
    /// There is nothing to mesh.
    #[error("the surface has no triangle with an area")]
    NoArea,
    /// The arrays do not make a mesh.
    #[error(transparent)]
    Mesh(#[from] TriMeshError),
    /// Every triangle is a line or has an edge with more than two triangles, so that nothing of it is a surface.
    #[error(
        "no usable triangle is left: all have no area or share an edge with more than one other; clean the mesh"
    )]
    NoSurface,
    /// It was cancelled, or took too long.
    #[error(transparent)]
    Stopped(#[from] Stop),
}

/// A mesh of about `wanted` even triangles on a surface, respecting its borders.
///
/// # Errors
/// If the surface has no area, a coordinate is not finite or an index is out of range.
pub fn coarsen(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    wanted: usize,
) -> Result<CoarseMesh, CoarsenError> {
    coarsen_within(positions, triangles, wanted, &Budget::default())
}

/// [`coarsen`] that stops when a budget is over.
///
/// # Errors
/// As [`coarsen`], and if the budget is over.
pub fn coarsen_within(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    wanted: usize,
    budget: &Budget,
) -> Result<CoarseMesh, CoarsenError> {
    check_mesh(positions, triangles)?;
    let distinct = distinct_triangles(triangles);
    let triangles: Vec<[u32; 3]> = distinct.iter().map(|t| triangles[*t as usize]).collect();
    let area: f64 = triangles
        .iter()
        .map(|t| t.map(|v| positions[v as usize]))
        .map(|[a, b, c]| triangle_area(a, b, c))
        .sum();
    if area <= 0.0 {
        return Err(CoarsenError::NoArea);
    }
    let wanted = wanted.max(1);
    // An even mesh of n triangles with sides l has the area n √3/4 l².
    let mut length = (area / wanted as f64 * 4.0 / 3f64.sqrt()).sqrt();
    let fine = FineSurface::new(positions, &triangles);
    let mut work = Work::new(&fine, length, wanted);
    for _ in 0..CORRECTIONS {
        for _ in 0..ROUNDS {
            work.round(length, budget)?;
        }
        let ratio = work.triangle_count().max(1) as f64 / wanted as f64;
        if (ratio - 1.0).abs() < COUNT_TOLERANCE {
            break;
        }
        length *= ratio.sqrt().clamp(LARGEST_CORRECTION.recip(), LARGEST_CORRECTION);
    }
    let mut mesh = work.finish();
    if mesh.triangles.is_empty() {
        return Err(CoarsenError::NoSurface);
    }
    mesh.places.iter_mut().for_each(|place| place.triangle = distinct[place.triangle as usize]);
    Ok(mesh)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes;
    use crate::topology::{EdgeCounts, connected_parts};

    fn doubled((positions, triangles): (Vec<glam::Vec3>, Vec<[u32; 3]>)) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        (positions.iter().map(|p| p.as_dvec3()).collect(), triangles)
    }

    fn edge_lengths(mesh: &CoarseMesh) -> Vec<f64> {
        let edges = mesh.triangles.iter().flat_map(|t| crate::topology::half_edges(*t));
        edges.map(|(a, b)| mesh.positions[a as usize].distance(mesh.positions[b as usize])).collect()
    }

    /// Two squares that touch along a slit from x = 0.25 to 0.75 at y = 0 with their own vertices there.
    fn slit(cells: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let (upper, triangles) = doubled(shapes::square(cells));
        let count = upper.len() as u32;
        let mut positions = upper.clone();
        positions.extend(upper.iter().map(|p| DVec3::new(p.x, -p.y, 0.0)));
        // Outside the slit the lower square uses the upper one's vertices.
        let lower = |v: u32| {
            let p = upper[v as usize];
            let apart = p.y > 0.0 || (p.x > 0.25 + 1e-9 && p.x < 0.75 - 1e-9);
            if apart { v + count } else { v }
        };
        let mut all = triangles.clone();
        all.extend(triangles.iter().map(|[a, b, c]| [lower(*a), lower(*c), lower(*b)]));
        (positions, all)
    }

    #[test]
    fn a_sphere_keeps_its_shape_with_the_wanted_number_of_even_triangles() {
        let (positions, triangles) = doubled(shapes::sphere(60, 90));
        let mesh = coarsen(&positions, &triangles, 1000).unwrap();
        assert!((mesh.triangles.len() as f64 / 1000.0 - 1.0).abs() < 0.03, "{}", mesh.triangles.len());
        assert!(EdgeCounts::new(&mesh.triangles).border().is_empty());
        assert!(mesh.positions.iter().all(|p| (p.length() - 1.0).abs() < 0.01));
        let lengths = edge_lengths(&mesh);
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        let spread = (lengths.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / lengths.len() as f64).sqrt();
        assert!(spread < 0.15 * mean, "edges vary by {:.3} of their mean", spread / mean);
    }

    #[test]
    fn a_finer_mesh_can_be_wanted_too() {
        let (positions, triangles) = doubled(shapes::sphere(8, 12));
        let mesh = coarsen(&positions, &triangles, 800).unwrap();
        assert!((mesh.triangles.len() as f64 / 800.0 - 1.0).abs() < 0.05, "{}", mesh.triangles.len());
    }

    #[test]
    fn borders_and_their_corners_stay() {
        let (positions, triangles) = doubled(shapes::square(40));
        let mesh = coarsen(&positions, &triangles, 200).unwrap();
        for corner in [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(1.0, 1.0, 0.0)] {
            let nearest = mesh.positions.iter().map(|p| p.distance(corner)).fold(f64::MAX, f64::min);
            assert!(nearest < 1e-9, "the corner {corner} moved by {nearest}");
        }
        let area: f64 = mesh
            .triangles
            .iter()
            .map(|t| t.map(|v| mesh.positions[v as usize]))
            .map(|[a, b, c]| triangle_area(a, b, c))
            .sum();
        assert!((area - 1.0).abs() < 1e-9, "the area became {area}");
    }

    #[test]
    fn touching_lips_are_never_joined() {
        let (positions, triangles) = slit(40);
        let mesh = coarsen(&positions, &triangles, 300).unwrap();
        let (_, parts) = connected_parts(mesh.positions.len(), &mesh.triangles);
        assert_eq!(parts, 1);
        // No triangle has corners on both sides of the slit unless it lies beside it.
        for t in &mesh.triangles {
            let corners = t.map(|v| mesh.positions[v as usize]);
            let crosses = corners.iter().any(|p| p.y > 1e-6) && corners.iter().any(|p| p.y < -1e-6);
            let over_slit = corners.iter().all(|p| p.x > 0.25 && p.x < 0.75);
            assert!(!(crosses && over_slit), "{corners:?} bridges the slit");
        }
        // The slit's border is still there: its length counts twice.
        let border = EdgeCounts::new(&mesh.triangles).border();
        let on_slit = border.iter().map(|(a, b)| [*a, *b].map(|v| mesh.positions[v as usize]));
        let length: f64 =
            on_slit.filter(|ends| ends.iter().all(|p| p.y.abs() < 1e-9)).map(|[a, b]| a.distance(b)).sum();
        assert!((length - 1.0).abs() < 0.06, "the slit's border is {length} long");
    }

    #[test]
    fn places_say_where_the_vertices_are() {
        let (positions, triangles) = slit(30);
        let mesh = coarsen(&positions, &triangles, 250).unwrap();
        for (position, place) in mesh.positions.iter().zip(&mesh.places) {
            assert!(place.interpolate(&triangles, &positions).distance(*position) < 1e-9);
        }
    }

    /// Two triangles with one vertex in common: their border is a figure of eight.
    fn bow_tie() -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let positions = [[0.0, 0.0], [1.0, 0.3], [1.0, -0.3], [-1.0, -0.3], [-1.0, 0.3]];
        let positions = positions.map(|[x, y]| DVec3::new(x, y, 0.05 * x * x)).to_vec();
        (positions, vec![[0, 2, 1], [0, 4, 3]])
    }

    /// A dome without every n-th triangle: holes that touch at their corners.
    fn moth_eaten(every: usize) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let (positions, triangles) = doubled(shapes::square(20));
        let dome = |p: &DVec3| DVec3::new(p.x, p.y, 0.5 * (p.x * (1.0 - p.x) + p.y * (1.0 - p.y)));
        let kept = triangles.iter().enumerate().filter(|(i, _)| i % every != 0).map(|(_, t)| *t);
        (positions.iter().map(dome).collect(), kept.collect())
    }

    fn area(mesh: &CoarseMesh) -> f64 {
        let corners = mesh.triangles.iter().map(|t| t.map(|v| mesh.positions[v as usize]));
        corners.map(|[a, b, c]| triangle_area(a, b, c)).sum()
    }

    #[test]
    fn triangles_that_share_one_vertex_are_meshed() {
        let (positions, triangles) = bow_tie();
        let mesh = coarsen(&positions, &triangles, 300).unwrap();
        assert!((250..350).contains(&mesh.triangles.len()), "{}", mesh.triangles.len());
        assert!((area(&mesh) - 0.6).abs() < 0.01, "{}", area(&mesh));
        assert!(mesh.positions.contains(&DVec3::ZERO), "the vertex between them stays");
    }

    #[test]
    fn a_surface_with_many_holes_is_meshed() {
        for (every, wanted) in [(2, 300), (3, 400), (7, 1500), (13, 3000)] {
            let (positions, triangles) = moth_eaten(every);
            let mesh = coarsen(&positions, &triangles, wanted).unwrap();
            assert!(mesh.triangles.len() < 2 * wanted, "{every}: {}", mesh.triangles.len());
            assert!(EdgeCounts::new(&mesh.triangles).non_manifold().is_empty());
        }
    }

    #[test]
    fn doubled_triangles_and_backs_change_nothing() {
        let (positions, triangles) = doubled(shapes::sphere(16, 24));
        let once = coarsen(&positions, &triangles, 300).unwrap();
        let mut doubled = triangles.clone();
        doubled.extend(triangles.iter().step_by(7));
        assert_eq!(coarsen(&positions, &doubled, 300).as_ref(), Ok(&once));
        let both_sides: Vec<[u32; 3]> =
            triangles.iter().flat_map(|[a, b, c]| [[*a, *b, *c], [*a, *c, *b]]).collect();
        let mesh = coarsen(&positions, &both_sides, 300).unwrap();
        assert_eq!((&mesh.positions, &mesh.triangles), (&once.positions, &once.triangles));
        for (position, place) in mesh.positions.iter().zip(&mesh.places) {
            assert!(place.interpolate(&both_sides, &positions).distance(*position) < 1e-9);
        }
    }

    #[test]
    fn vertices_in_one_place_or_line_leave_no_line_behind() {
        let (mut positions, triangles) = moth_eaten(5);
        // A hole whose whole border lies in one place, and flipped triangles, whose corners may not move, in one line.
        let heap = triangles.iter().step_by(60).flatten().chain(&triangles[100]);
        heap.for_each(|v| positions[*v as usize] = DVec3::new(0.5, 0.5, 0.1));
        let flipped = |(i, t): (usize, &[u32; 3])| if i % 11 == 0 { [t[0], t[2], t[1]] } else { *t };
        let turned: Vec<[u32; 3]> = triangles.iter().enumerate().map(flipped).collect();
        for t in turned.iter().step_by(11) {
            positions[t[2] as usize] = 0.5 * (positions[t[0] as usize] + positions[t[1] as usize]);
        }
        let mesh = coarsen(&positions, &turned, 400).unwrap();
        assert!(mesh.positions.iter().all(|p| p.is_finite()));
        for t in &mesh.triangles {
            let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
            let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
            assert!(2.0 * triangle_area(a, b, c) > 2e-5 * longest * longest, "{a} {b} {c}");
        }
    }

    #[test]
    fn slivers_do_not_multiply() {
        // A needle a million times as long as wide beside a triangle that wants short edges.
        let positions = [[0.0, 0.0], [1e3, 1e-3], [1e3, 0.0], [0.0, 1.0], [1.0, 1.0]];
        let positions = positions.map(|[x, y]| DVec3::new(x, y, 0.0)).to_vec();
        let mesh = coarsen(&positions, &[[0, 2, 1], [0, 4, 3]], 500).unwrap();
        assert!(mesh.triangles.len() <= 4 * 500 + 2, "{}", mesh.triangles.len());
    }

    #[test]
    fn a_cancelled_or_late_mesh_stops() {
        let (positions, triangles) = doubled(shapes::sphere(16, 24));
        let late = Budget::default().within(Some(0.0));
        let stopped = coarsen_within(&positions, &triangles, 300, &late);
        assert_eq!(stopped, Err(CoarsenError::Stopped(Stop::Late)));
    }

    #[test]
    fn bad_input_is_named() {
        let fan: Vec<[u32; 3]> = (2..6).map(|v| [0, 1, v]).collect();
        let positions: Vec<DVec3> = (0..6).map(|i| DVec3::new(f64::from(i * i), f64::from(i), 0.0)).collect();
        assert_eq!(coarsen(&positions, &fan, 10), Err(CoarsenError::NoSurface));
        assert_eq!(coarsen(&[DVec3::ZERO; 3], &[[0, 1, 2]], 10), Err(CoarsenError::NoArea));
        assert_eq!(coarsen(&[DVec3::NAN], &[], 10), Err(TriMeshError::NotFinite(0).into()));
        assert_eq!(
            coarsen(&[DVec3::ZERO], &[[0, 0, 1]], 10),
            Err(TriMeshError::BadIndex { triangle: 0, vertex: 1, count: 1 }.into())
        );
    }
}
