//! Contact points on the skin of a volume, and grabs of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use glam::Vec3;
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::topology::half_edges;

use super::Surface;
use crate::contact::{Below, ContactScale, Grab, LONGEST_GRAB, Order, SampledSkin, Samples};
use crate::volume::{Layout, Tie, TissueMesh, TissueSkin};

/// Stiffness that sets the minimum mass of a driven collider, N/m: several times the stiffness of the tissue that it presses on. Ours, as
/// those below.
const BORNE: f32 = 1500.0;
/// Displacement in a step by the largest acceleration of a driven collider, m.
const DEEPEST_STEP: f32 = 3e-4;
/// Distance from its target at which a driven collider is pulled with full force, m.
const STRAINED: f32 = 5e-3;

/// Contact scale of a volume, in metres and newtons.
pub(crate) fn contact_scale(step_time: f64, height: f32) -> ContactScale {
    let squared = (step_time * step_time) as f32;
    ContactScale {
        per_metre: 1.0,
        least_mass: BORNE * squared,
        hardest: DEEPEST_STEP / squared,
        strained: STRAINED,
        longest_grab: LONGEST_GRAB * height,
        height,
    }
}

/// The skin as colliders see it.
pub(crate) struct SkinPoints {
    pub(crate) samples: Samples,
    /// Triangles of the whole mesh that follow the tissue fully.
    pub(crate) triangles: Arc<[[u32; 3]]>,
    /// Triangles of the tissue's own skin, as rows.
    coarse: Vec<[u32; 3]>,
    /// The rows of these triangles, and the triangles around each of them.
    rows: Vec<u32>,
    around: Vec<Vec<u32>>,
    /// Area of skin at each row, m².
    pub(crate) areas: Vec<f32>,
    /// Number of free rows.
    pub(crate) free: usize,
    /// Rows of held skin, each with those beside it.
    pub(crate) held: Vec<(u32, Vec<u32>)>,
    /// Held rows below held skin, each with that of the skin: they go along where it makes way.
    pub(crate) below_held: Vec<(u32, u32)>,
    /// The face's height, m.
    pub(crate) height: f32,
}

impl SkinPoints {
    /// Samples a face's skin at full resolution, with the rows that carry each point. `rows_of_skin` are those of the coarse skin.
    pub(crate) fn new(
        sampled: &SampledSkin<'_>,
        (skin, embedding): (&TissueSkin, &Embedding),
        tissue_mesh: &TissueMesh,
        (layout, rows_of_skin): (&Layout, &[u32]),
    ) -> Self {
        let order = Order {
            rest: &skin.positions,
            places: rows_of_skin,
            vertices: &layout.vertices,
            free: layout.free,
        };
        let area = |vertex: &u32| skin.areas[tissue_mesh.above[*vertex as usize] as usize] as f32;
        let follows = |v: &u32| embedding.weights[*v as usize].iter().sum::<f32>() > 0.999;
        let coarse: Vec<[u32; 3]> =
            skin.triangles.iter().map(|t| t.map(|v| rows_of_skin[v as usize])).collect();
        let rows: BTreeSet<u32> = coarse.iter().flatten().copied().collect();
        let rows: Vec<u32> = rows.into_iter().collect();
        let mut around = vec![Vec::new(); rows.len()];
        for (triangle, t) in (0u32..).zip(&coarse) {
            for place in t.iter().filter_map(|row| rows.binary_search(row).ok()) {
                around[place].push(triangle);
            }
        }
        let is_held = |row: u32| row as usize >= layout.free;
        let below_held =
            (0u32..).zip(&tissue_mesh.ties).zip(&tissue_mesh.above).filter_map(|((vertex, tie), above)| {
                let (row, above) = (layout.rows[vertex as usize], rows_of_skin[*above as usize]);
                (matches!(tie, Tie::Ligaments { .. }) && is_held(row) && is_held(above))
                    .then_some((row, above))
            });
        Self {
            below_held: below_held.collect(),
            held: held_rows(&coarse, layout.free),
            rows,
            around,
            samples: Samples::new(sampled, embedding, &order),
            triangles: sampled.triangles.iter().filter(|t| t.iter().all(follows)).copied().collect(),
            coarse,
            areas: layout.vertices.iter().map(area).collect(),
            free: layout.free,
            height: sampled.height,
        }
    }
}

/// The rows of some triangles that are held, each with those that it shares an edge with.
fn held_rows(triangles: &[[u32; 3]], free: usize) -> Vec<(u32, Vec<u32>)> {
    let is_held = |row: &u32| *row as usize >= free;
    let held = triangles.iter().flatten().filter(|row| is_held(row));
    let mut beside: BTreeMap<u32, BTreeSet<u32>> = held.map(|row| (*row, BTreeSet::new())).collect();
    for (a, b) in triangles.iter().flat_map(|t| half_edges(*t)).filter(|(a, b)| is_held(a) && is_held(b)) {
        beside.entry(a).or_default().insert(b);
        beside.entry(b).or_default().insert(a);
    }
    beside.into_iter().map(|(row, beside)| (row, beside.into_iter().collect())).collect()
}

impl SkinPoints {
    /// The skin below or above a position, all or what faces some side, in a state of the volume.
    pub(crate) fn below(&self, at: (Vec3, Option<Vec3>), state: &Surface<'_>) -> Option<Below> {
        let place = |row: u32| state.place(row as usize);
        let normal = |index: usize| {
            let areas = self.around[index].iter().map(|t| {
                let [a, b, c] = self.coarse[*t as usize].map(place);
                (b - a).cross(c - a)
            });
            areas.sum::<Vec3>().normalize_or_zero()
        };
        Below::new(at, self.rows.iter().map(|row| place(*row)), normal)
    }

    /// Grabs the connected skin within a radius of a position, in metres in the head's frame. `seeds` are the rows nearest to it.
    pub(crate) fn grab(&self, at: Vec3, radius: f32, seeds: &[u32], state: &Surface<'_>) -> Grab {
        Grab::new(at, radius, seeds, &|row| state.place(row as usize), &self.coarse, self.free)
    }
}

/// The corners of the coarse skin that carry the vertex of the whole mesh nearest to a position.
pub(super) fn nearest_corners(at: Vec3, positions: &[Vec3], embedding: &Embedding) -> [u32; 3] {
    let follows = |v: &usize| embedding.weights[*v].iter().sum::<f32>() > 0.999;
    let distance = |v: &usize| positions[*v].distance_squared(at);
    let nearest = (0..positions.len()).filter(follows).min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.map_or([0; 3], |v| embedding.vertices[v])
}
