//! The mesh to fit: its skin, without eyeballs, teeth and mouth bag.

use std::collections::HashMap;

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::closest::TriangleTree;
use zygoma_geometry::icp::{IcpTarget, SurfaceHit};
use zygoma_geometry::similarity::Similarity;
use zygoma_geometry::topology::{EdgeCounts, connected_parts, distinct_triangles};

use super::FitError;
use super::occluders::Enclosure;
use super::partners::Partners;

/// Fewer triangles are not enough for a face.
const LEAST_TRIANGLES: usize = 200;

/// The outer skin of a mesh, for closest-point queries.
pub(super) struct Target {
    pub(super) positions: Vec<DVec3>,
    pub(super) triangles: Vec<[u32; 3]>,
    /// Unit normals of the vertices.
    pub(super) normals: Vec<DVec3>,
    search: IcpTarget,
    /// For each triangle, which of its edges (opposite corner i) lie on the border of the skin.
    border: Vec<[bool; 3]>,
}

impl Target {
    /// Welds a mesh, keeps its largest connected part, and of that the triangles visible from outside. Other parts occlude the skin behind them, and so
    /// do those of `others` that lie inside the head (eyeballs, teeth). Hair and glasses do not: the skin below them is there all the same.
    pub(super) fn new(
        positions: &[DVec3],
        triangles: &[[u32; 3]],
        others: &[(&[DVec3], &[[u32; 3]])],
    ) -> Result<Self, FitError> {
        let (positions, triangles) = welded(positions, triangles)?;
        let skin = largest_part(&positions, &triangles);
        let (mut all, mut opaque) = (positions.clone(), triangles);
        let enclosure = Enclosure::new(&positions, &skin);
        for (points, faces) in others.iter().filter(|(points, _)| enclosure.holds(points)) {
            let first = all.len() as u32;
            let (points, faces) = welded(points, faces)?;
            all.extend(points);
            opaque.extend(faces.iter().map(|t| t.map(|v| first + v)));
        }
        let skin = outside(&all, &skin, &opaque);
        Self::from_skin(&positions, &skin)
    }

    fn from_skin(positions: &[DVec3], triangles: &[[u32; 3]]) -> Result<Self, FitError> {
        let (positions, triangles) = compacted(positions, triangles);
        if triangles.len() < LEAST_TRIANGLES {
            return Err(FitError::TooSmall { triangles: triangles.len(), least: LEAST_TRIANGLES });
        }
        let search = IcpTarget::new(&positions, &triangles)
            .ok_or(FitError::TooSmall { triangles: 0, least: LEAST_TRIANGLES })?;
        let edges = EdgeCounts::new(&triangles);
        let on_border = |a: u32, b: u32| edges.count(a, b) == 1;
        let border =
            triangles.iter().map(|[a, b, c]| [on_border(*b, *c), on_border(*c, *a), on_border(*a, *b)]);
        let mut normals = vec![DVec3::ZERO; positions.len()];
        for t in &triangles {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            t.iter().for_each(|v| normals[*v as usize] += (b - a).cross(c - a));
        }
        let normals = normals.into_iter().map(DVec3::normalize_or_zero).collect();
        let border = border.collect();
        Ok(Self { positions, triangles, normals, search, border })
    }

    /// The closest point, unless it lies on the border: beyond it the skin continues but is unknown.
    pub(super) fn closest_inside(&self, p: DVec3) -> Option<SurfaceHit> {
        const ON_EDGE: f64 = 1e-6;
        let hit = self.search.closest(p)?;
        let border = self.border[hit.triangle as usize];
        let outside = (0..3).any(|i| border[i] && hit.barycentric[i] < ON_EDGE);
        (!outside).then_some(hit)
    }

    /// Vertices that may be partners of points, subsampled.
    pub(super) fn partners(&self) -> Partners {
        const MOST: usize = 8000;
        let border = self.triangles.iter().zip(&self.border).filter(|(_, border)| border.contains(&true));
        let mut on_border = vec![false; self.positions.len()];
        border.flat_map(|(t, _)| t).for_each(|v| on_border[*v as usize] = true);
        let inner: Vec<usize> = (0..self.positions.len()).filter(|v| !on_border[*v]).collect();
        let chosen = inner.iter().copied().step_by(inner.len().div_ceil(MOST).max(1));
        Partners::new(chosen.map(|v| (self.positions[v], self.normals[v])))
    }

    /// The surface for rigid alignment.
    pub(super) fn search(&self) -> &IcpTarget {
        &self.search
    }

    /// The part of the skin near a head, in the head's own frame: `to_mesh` maps that frame to the mesh.
    pub(super) fn around_head(
        &self,
        to_mesh: &Similarity,
        low: DVec3,
        high: DVec3,
    ) -> Result<Self, FitError> {
        let back = to_mesh.inverse();
        let positions: Vec<DVec3> = self.positions.iter().map(|p| back.apply(*p)).collect();
        let inside = |v: &u32| {
            let p = positions[*v as usize];
            p.cmpge(low).all() && p.cmple(high).all()
        };
        let triangles: Vec<[u32; 3]> =
            self.triangles.iter().copied().filter(|t| t.iter().all(inside)).collect();
        Self::from_skin(&positions, &triangles)
    }
}

/// Welds border vertices at the same position, as along texture seams; parts that only touch the interior of a surface, as lashes
/// and tear lines do, stay separate. Degenerate and duplicate triangles are removed.
fn welded(positions: &[DVec3], triangles: &[[u32; 3]]) -> Result<(Vec<DVec3>, Vec<[u32; 3]>), FitError> {
    if let Some(v) = positions.iter().position(|p| !p.is_finite()) {
        return Err(FitError::NotFinite { vertex: v });
    }
    if let Some(v) = triangles.iter().flatten().find(|v| **v as usize >= positions.len()) {
        return Err(FitError::Index { vertex: *v, count: positions.len() });
    }
    let mut is_border = vec![false; positions.len()];
    for (a, b) in EdgeCounts::new(triangles).border() {
        (is_border[a as usize], is_border[b as usize]) = (true, true);
    }
    let mut places: HashMap<[u64; 3], u32> = HashMap::with_capacity(positions.len());
    let mut kept = Vec::new();
    let mut keep = |p: DVec3| {
        kept.push(p);
        kept.len() as u32 - 1
    };
    let number: Vec<u32> = positions
        .iter()
        .zip(&is_border)
        .map(|(p, border)| match border {
            // Adding zero makes −0 and 0 equal.
            true => *places.entry((*p + 0.0).to_array().map(f64::to_bits)).or_insert_with(|| keep(*p)),
            false => keep(*p),
        })
        .collect();
    let all: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(|v| number[v as usize])).collect();
    let distinct = distinct_triangles(&all).iter().map(|t| all[*t as usize]).collect();
    Ok((kept, distinct))
}

/// The triangles of the connected part with the largest area.
fn largest_part(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let (parts, count) = connected_parts(positions.len(), triangles);
    let mut areas = vec![0.0; count];
    for t in triangles {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        areas[parts[t[0] as usize] as usize] += (b - a).cross(c - a).length();
    }
    let largest =
        (0..count).max_by(|a, b| areas[*a].total_cmp(&areas[*b]).then(b.cmp(a))).unwrap_or(0) as u32;
    triangles.iter().copied().filter(|t| parts[t[0] as usize] == largest).collect()
}

/// The triangles that are visible from outside: enough rays from their centroids leave the mesh. Mouth bag, eye sockets and
/// the inside of the nose are removed.
fn outside(positions: &[DVec3], triangles: &[[u32; 3]], opaque: &[[u32; 3]]) -> Vec<[u32; 3]> {
    /// Rays around the normal, as (height, angle): a stratified cosine-weighted hemisphere.
    const RAYS: usize = 16;
    /// Rays that must escape. Ours: the red of closed lips passes, the bag behind them does not.
    const LEAST: usize = 5;
    let origin = positions.first().copied().unwrap_or(DVec3::ZERO);
    let single: Vec<Vec3> = positions.iter().map(|p| (*p - origin).as_vec3()).collect();
    let tree = TriangleTree::new(&single, opaque);
    let (low, high) = tree.bounds();
    let from = 1e-5 * (high - low).length();
    let seen = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| single[v as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let (middle, side) = ((a + b + c) / 3.0, normal.any_orthonormal_vector());
        let other = normal.cross(side);
        let leaves = |ray: usize| {
            const GOLDEN: f32 = 2.399_963;
            let radius = ((ray as f32 + 0.5) / RAYS as f32).sqrt();
            let (sine, cosine) = (GOLDEN * ray as f32).sin_cos();
            let up = (1.0 - radius * radius).sqrt();
            let direction = up * normal + radius * (cosine * side + sine * other);
            tree.first_hit(&single, opaque, middle + from * normal, direction, 0.0, |_| true).is_none()
        };
        // Most triangles are decided by their first rays.
        normal != Vec3::ZERO && (0..RAYS).filter(|ray| leaves(*ray)).nth(LEAST - 1).is_some()
    };
    triangles.par_iter().copied().filter(seen).collect()
}

/// The vertices that triangles use, renumbered.
fn compacted(positions: &[DVec3], triangles: &[[u32; 3]]) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let mut number = vec![u32::MAX; positions.len()];
    let mut kept = Vec::new();
    let renumbered = triangles.iter().map(|t| {
        t.map(|v| {
            let new = &mut number[v as usize];
            if *new == u32::MAX {
                *new = kept.len() as u32;
                kept.push(positions[v as usize]);
            }
            *new
        })
    });
    let renumbered = renumbered.collect();
    (kept, renumbered)
}
