//! Bones in cross-section, for pictures; [`zygoma_geometry::cut`] clips surfaces and cuts tissue.

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::TriMesh;
use zygoma_geometry::cut::Plane;

use super::Surface;
use super::nearest::Nearest;

/// The cross-section of a closed surface with a plane, as small squares of a given edge that face along the plane's normal.
pub fn solid_section(surface: &Surface, plane: &Plane, edge: f64) -> TriMesh {
    let search = Nearest::new(&surface.positions, &surface.triangles, |_| true);
    let along = plane.normal.any_orthonormal_vector();
    let across = plane.normal.cross(along);
    let place = |p: &DVec3| ((*p - plane.point).dot(along) / edge, (*p - plane.point).dot(across) / edge);
    let (mut low, mut high) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
    for (a, b) in surface.positions.iter().map(place) {
        (low, high) = ((low.0.min(a), low.1.min(b)), (high.0.max(a), high.1.max(b)));
    }
    let rows: Vec<i64> = (low.1.floor() as i64..=high.1.ceil() as i64).collect();
    let squares: Vec<[DVec3; 4]> = rows
        .par_iter()
        .flat_map_iter(|row| (low.0.floor() as i64..=high.0.ceil() as i64).map(move |column| (column, *row)))
        .filter_map(|(column, row)| {
            let at = |i: f64, j: f64| {
                plane.point + edge * ((column as f64 + i) * along + (row as f64 + j) * across)
            };
            let inside = search.find(at(0.5, 0.5), f64::MAX).is_some_and(|found| found.signed < 0.0);
            inside.then(|| [at(0.0, 0.0), at(1.0, 0.0), at(1.0, 1.0), at(0.0, 1.0)])
        })
        .collect();
    let mut piece = TriMesh::default();
    squares.iter().for_each(|square| piece.push_polygon(square));
    piece
}
