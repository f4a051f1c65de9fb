//! A fine mesh that follows a coarse one.

use glam::{DVec3, Vec3};

use crate::closest::{SurfacePoint, at_barycentric, closest_on_triangle};
use crate::coarsen::CoarseMesh;
use crate::geodesic::{Source, nearest_sources};
use crate::normals::area_vector;

/// Rings of coarse triangles that are searched around the nearest coarse vertex.
const RINGS: usize = 2;

/// A point follows the nearest coarse triangle wholly within this fraction of its longest edge: round surfaces are that far from a chord.
const WITHIN: f64 = 0.5;

/// The fraction by which a point follows the coarse triangle nearest to it, given its distance from that triangle. Farther from it than the
/// triangle is long, as in a hole of the coarse surface, the triangle says nothing about the point.
pub fn followed_fraction(distance: f64, [a, b, c]: [DVec3; 3]) -> f64 {
    let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
    ((1.0 - distance / longest.max(f64::MIN_POSITIVE)) / (1.0 - WITHIN)).clamp(0.0, 1.0)
}

/// For each fine vertex the coarse vertices that it follows, with weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedding {
    /// Three coarse vertices per fine vertex.
    pub vertices: Vec<[u32; 3]>,
    /// Their weights: not negative; their sum is 1 where the fine vertex follows fully, less where it fades out.
    pub weights: Vec<[f32; 3]>,
}

impl Embedding {
    /// Binds the vertices of a fine surface to the coarse mesh that was made on it.
    ///
    /// A vertex is only bound to coarse triangles near it *along the surface* that face the same way, so that one lip never follows the other.
    /// Vertices without triangles follow nothing.
    pub fn new(positions: &[DVec3], triangles: &[[u32; 3]], coarse: &CoarseMesh) -> Self {
        let corner_sources = |(label, (place, at)): (u32, (&SurfacePoint, &DVec3))| {
            triangles[place.triangle as usize].map(|vertex| Source {
                vertex,
                distance: positions[vertex as usize].distance(*at),
                label,
            })
        };
        let sources: Vec<Source> =
            (0u32..).zip(coarse.places.iter().zip(&coarse.positions)).flat_map(corner_sources).collect();
        let owners = nearest_sources(positions, triangles, &sources);
        let normals = fine_normals(positions, triangles);
        let patches = Patches::new(coarse);
        let bind = |vertex: usize| -> ([u32; 3], [f32; 3]) {
            let Some(owner) = owners[vertex] else { return ([0; 3], [0.0; 3]) };
            patches.nearest(coarse, owner.label, positions[vertex], normals[vertex])
        };
        let (vertices, weights) = (0..positions.len()).map(bind).unzip();
        Self { vertices, weights }
    }

    /// Number of fine vertices.
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// The carriers of each vertex, and their weights.
    pub fn iter(&self) -> impl Iterator<Item = ([u32; 3], [f32; 3])> {
        self.vertices.iter().copied().zip(self.weights.iter().copied())
    }

    /// Whether there is no fine vertex.
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// The displacement of one fine vertex.
    pub fn displacement(&self, vertex: usize, coarse: &[Vec3]) -> Vec3 {
        let (corners, weights) = (self.vertices[vertex], self.weights[vertex]);
        (0..3).map(|i| weights[i] * coarse[corners[i] as usize]).sum()
    }

    /// [`displacement`](Self::displacement) in double precision.
    pub fn displacement_f64(&self, vertex: usize, coarse: &[DVec3]) -> DVec3 {
        let (corners, weights) = (self.vertices[vertex], self.weights[vertex]);
        (0..3).map(|i| f64::from(weights[i]) * coarse[corners[i] as usize]).sum()
    }
}

fn fine_normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        for v in t {
            normals[*v as usize] += area_vector(a, b, c);
        }
    }
    normals
}

/// The coarse triangles around each coarse vertex, ring by ring.
struct Patches {
    triangles: Vec<Vec<u32>>,
}

impl Patches {
    fn new(coarse: &CoarseMesh) -> Self {
        let mut ring = vec![Vec::new(); coarse.positions.len()];
        for (index, t) in (0u32..).zip(&coarse.triangles) {
            for v in t {
                ring[*v as usize].push(index);
            }
        }
        let mut patches = ring.clone();
        for _ in 1..RINGS {
            patches = patches
                .iter()
                .map(|patch| {
                    let corners = patch.iter().flat_map(|t| coarse.triangles[*t as usize]);
                    let mut wider: Vec<u32> =
                        corners.flat_map(|v| ring[v as usize].iter().copied()).collect();
                    wider.sort_unstable();
                    wider.dedup();
                    wider
                })
                .collect();
        }
        Self { triangles: patches }
    }

    fn nearest(&self, coarse: &CoarseMesh, owner: u32, point: DVec3, normal: DVec3) -> ([u32; 3], [f32; 3]) {
        let mut best = (f64::MAX, [owner; 3], [1.0, 0.0, 0.0]);
        for t in &self.triangles[owner as usize] {
            let corners = coarse.triangles[*t as usize];
            let p = corners.map(|v| coarse.positions[v as usize]);
            let barycentric = closest_on_triangle(point, p);
            let distance = at_barycentric(barycentric, p).distance(point);
            // A triangle that faces away lies on the other side of a fold: only if there is nothing else nearby.
            let away = area_vector(p[0], p[1], p[2]).dot(normal) < 0.0;
            let cost = if away { 4.0 * distance + 0.1 * p[0].distance(p[1]) } else { distance };
            if cost < best.0 {
                best = (cost, corners, barycentric);
            }
        }
        (best.1, best.2.map(|weight| weight as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coarsen::coarsen;
    use crate::shapes;

    #[test]
    fn affine_motion_of_a_flat_sheet_is_followed_exactly() {
        let (positions, triangles) = shapes::square(30);
        let positions: Vec<DVec3> = positions.iter().map(|p| p.as_dvec3()).collect();
        let coarse = coarsen(&positions, &triangles, 120).unwrap();
        let embedding = Embedding::new(&positions, &triangles, &coarse);
        let motion = |p: DVec3| DVec3::new(0.3 * p.y, 0.1 - 0.2 * p.x, p.x + p.y);
        let moved: Vec<DVec3> = coarse.positions.iter().map(|p| motion(*p)).collect();
        for (vertex, position) in positions.iter().enumerate() {
            let error = embedding.displacement_f64(vertex, &moved).distance(motion(*position));
            assert!(error < 1e-6, "{error}");
        }
    }

    /// A folded strip: up, round a bend and back down close behind itself, as a lip is. Also where each point was before
    /// folding, and how far behind the bend's middle lies.
    fn folded_strip() -> (Vec<DVec3>, Vec<[u32; 3]>, Vec<Vec3>, f64) {
        let (flat, triangles) = shapes::square(40);
        let radius = 0.1 / std::f64::consts::PI;
        let fold = |p: &Vec3| {
            let p = p.as_dvec3();
            let angle = (p.y - 0.45).clamp(0.0, 0.1) / radius;
            let (rise, back) = (radius * angle.sin(), radius * (angle.cos() - 1.0));
            DVec3::new(p.x, p.y.min(0.45) - (p.y - 0.55).max(0.0) + rise, back)
        };
        (flat.iter().map(fold).collect(), triangles, flat, radius)
    }

    #[test]
    fn two_sheets_that_touch_do_not_follow_each_other() {
        let (positions, triangles, flat, radius) = folded_strip();
        // From edges of half the fold's thickness to edges of twice of it.
        for wanted in [2000, 1000, 500, 250, 150] {
            let coarse = coarsen(&positions, &triangles, wanted).unwrap();
            let embedding = Embedding::new(&positions, &triangles, &coarse);
            let behind: Vec<DVec3> =
                coarse.positions.iter().map(|p| if p.z < -radius { DVec3::X } else { DVec3::ZERO }).collect();
            // Two edges away from the bend each sheet follows itself alone.
            let away = 0.05 + 2.0 * (4.0 / 3f64.sqrt() / wanted as f64).sqrt();
            for (vertex, position) in flat.iter().enumerate() {
                let (beyond, corners) = (
                    f64::from(position.y) - 0.5,
                    embedding.vertices[vertex].map(|v| coarse.positions[v as usize]),
                );
                let followed = embedding.displacement_f64(vertex, &behind).x;
                if beyond.abs() > away {
                    let own = if beyond > 0.0 { 1.0 } else { 0.0 };
                    assert!((followed - own).abs() < 1e-6, "{wanted}: {position} follows {corners:?}");
                }
            }
        }
    }

    #[test]
    fn no_coarse_edge_joins_two_sheets() {
        let (positions, triangles, flat, _) = folded_strip();
        for wanted in [2000, 1000, 500, 250, 150] {
            let coarse = coarsen(&positions, &triangles, wanted).unwrap();
            let length = (4.0 / 3f64.sqrt() / wanted as f64).sqrt();
            let along: Vec<f64> =
                coarse.places.iter().map(|place| place.interpolate(&triangles, &unfolded(&flat)).y).collect();
            for t in &coarse.triangles {
                for (a, b) in crate::topology::half_edges(*t) {
                    // At most one edge on either side of the bend, however close in space.
                    let apart = (along[a as usize] - along[b as usize]).abs();
                    assert!(apart < 0.1 + 8.0 / 3.0 * length, "{wanted}: an edge joins points {apart} apart");
                }
            }
        }
    }

    fn unfolded(flat: &[Vec3]) -> Vec<DVec3> {
        flat.iter().map(|p| p.as_dvec3()).collect()
    }
}
