//! From one level of detail to another.

use glam::DVec3;
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::surface_search::SurfaceSearch;

use crate::Level;
use crate::template::Template;

/// For each skin vertex of `to` the point of the skin of `from` where it lies.
///
/// The map is made in the template with the mouth open, so that it never leads from one lip to the other; it holds
/// for every head.
pub fn level_map(from: Level, to: Level) -> Vec<SurfacePoint> {
    let (from, to) = (&Template::of(from).base, &Template::of(to).base);
    let search = SurfaceSearch::new(&from.open, &from.triangles);
    to.open.iter().map(|p: &DVec3| search.closest(*p)).collect()
}
