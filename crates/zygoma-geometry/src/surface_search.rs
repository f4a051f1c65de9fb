//! The closest point of a whole surface.

use std::collections::HashMap;

use glam::{DVec3, IVec3};

use crate::closest::{SurfacePoint, closest_on_triangle};

/// Finds closest points on one surface.
#[derive(Clone, Debug)]
pub struct SurfaceSearch<'a> {
    positions: &'a [DVec3],
    triangles: &'a [[u32; 3]],
    cell: f64,
    grid: HashMap<IVec3, Vec<u32>>,
    /// Cells around the grid's own centre that hold everything.
    reach: i32,
}

impl<'a> SurfaceSearch<'a> {
    /// Sorts the triangles into cells of about two mean edges.
    pub fn new(positions: &'a [DVec3], triangles: &'a [[u32; 3]]) -> Self {
        let edges: f64 =
            triangles.iter().map(|t| positions[t[0] as usize].distance(positions[t[1] as usize])).sum();
        let cell = (2.0 * edges / triangles.len().max(1) as f64).max(1e-12);
        let mut grid: HashMap<IVec3, Vec<u32>> = HashMap::new();
        let (mut low, mut high) = (IVec3::MAX, IVec3::MIN);
        for (i, t) in (0u32..).zip(triangles) {
            let p = t.map(|v| positions[v as usize]);
            let from = (p[0].min(p[1]).min(p[2]) / cell).floor().as_ivec3();
            let to = (p[0].max(p[1]).max(p[2]) / cell).floor().as_ivec3();
            (low, high) = (low.min(from), high.max(to));
            for x in from.x..=to.x {
                for y in from.y..=to.y {
                    for z in from.z..=to.z {
                        grid.entry(IVec3::new(x, y, z)).or_default().push(i);
                    }
                }
            }
        }
        let reach = if triangles.is_empty() { 0 } else { (high - low).max_element() + 1 };
        Self { positions, triangles, cell, grid, reach }
    }

    /// The closest point of the surface.
    ///
    /// # Panics
    /// If the surface has no triangle.
    pub fn closest(&self, point: DVec3) -> SurfacePoint {
        assert!(!self.triangles.is_empty(), "a surface without triangles has no closest point");
        let centre = (point / self.cell).floor().as_ivec3();
        let mut best: Option<(f64, SurfacePoint)> = None;
        for ring in 0.. {
            for cell in shell(centre, ring) {
                for triangle in self.grid.get(&cell).into_iter().flatten() {
                    let vertices = self.triangles[*triangle as usize];
                    let barycentric =
                        closest_on_triangle(point, vertices.map(|v| self.positions[v as usize]));
                    let found = SurfacePoint { triangle: *triangle, barycentric };
                    let distance = found.interpolate(self.triangles, self.positions).distance(point);
                    let better = best.is_none_or(|(least, old)| {
                        distance < least || (distance == least && *triangle < old.triangle)
                    });
                    if better {
                        best = Some((distance, found));
                    }
                }
            }
            // Everything in the next ring is at least this many cells away.
            if let Some((least, found)) = best
                && least <= f64::from(ring) * self.cell
            {
                return found;
            }
            if ring > self.reach {
                return self.exhaustive(point);
            }
        }
        unreachable!("the loop over rings ends by returning")
    }

    /// For points far away from the surface.
    fn exhaustive(&self, point: DVec3) -> SurfacePoint {
        let all = (0u32..).zip(self.triangles).map(|(triangle, vertices)| {
            let barycentric = closest_on_triangle(point, vertices.map(|v| self.positions[v as usize]));
            SurfacePoint { triangle, barycentric }
        });
        let distance = |p: &SurfacePoint| p.interpolate(self.triangles, self.positions).distance(point);
        all.min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .unwrap_or(SurfacePoint { triangle: 0, barycentric: [1.0, 0.0, 0.0] })
    }
}

/// The cells whose largest coordinate difference to the centre is `ring`.
fn shell(centre: IVec3, ring: i32) -> impl Iterator<Item = IVec3> {
    let range = -ring..=ring;
    let all = range.clone().flat_map(move |x| {
        let range = -ring..=ring;
        range.clone().flat_map(move |y| (-ring..=ring).map(move |z| IVec3::new(x, y, z)))
    });
    all.filter(move |offset| offset.abs().max_element() == ring).map(move |offset| centre + offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_grid_finds_what_trying_all_triangles_finds(
            points in prop::collection::vec(prop::array::uniform3(-1.0f64..1.0), 12),
            query in prop::array::uniform3(-3.0f64..3.0),
        ) {
            let positions: Vec<_> = points.into_iter().map(DVec3::from).collect();
            let triangles: Vec<[u32; 3]> = (0..4).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
            let search = SurfaceSearch::new(&positions, &triangles);
            let query = DVec3::from(query);
            let (fast, slow) = (search.closest(query), search.exhaustive(query));
            let distance = |p: SurfacePoint| p.interpolate(&triangles, &positions).distance(query);
            prop_assert!((distance(fast) - distance(slow)).abs() < 1e-12);
        }
    }
}
