//! Maps between levels of detail.

use glam::DVec3;
use zygoma_geometry::closest::{SurfacePoint, TriangleTree};

use crate::Level;
use crate::template::Template;

/// For each skin vertex of `to`, its point on the skin of `from`.
///
/// The map is made on the template with the mouth open, so that it never leads from one lip to the other; it holds
/// for every head.
pub fn level_map(from: Level, to: Level) -> Vec<SurfacePoint> {
    let (from, to) = (&Template::of(from).base, &Template::of(to).base);
    let tree = TriangleTree::new(&from.open, &from.triangles);
    let nearest = |p: &DVec3| tree.closest(&from.open, &from.triangles, *p, f64::INFINITY);
    to.open.iter().filter_map(nearest).map(SurfacePoint::from).collect()
}
