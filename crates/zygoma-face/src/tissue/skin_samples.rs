//! Contact points on the skin of tissue, and grabs of it.

use glam::Vec3;
use zygoma_geometry::embedding::Embedding;
use zygoma_physics::projective::Row;

use super::build::Layout;
use super::coarse_skin::CoarseSkin;
use super::run::TissueBody;
use super::tissue_mesh::TissueMesh;
use crate::contact::{
    Below, Colliders, ContactScale, Grab, GrabId, HeadWay, LONGEST_GRAB, Order, SampledSkin, Samples,
};
use crate::model::FaceModel;

/// Stiffness that sets the minimum mass of a driven collider, N/m: several times the stiffness of the tissue that it presses on. Ours, as
/// those below.
const BORNE: f32 = 1500.0;
/// Displacement in a step by the largest acceleration of a driven collider, m.
const DEEPEST_STEP: f32 = 3e-4;
/// Distance from its target at which a driven collider is pulled with full force, m.
const STRAINED: f32 = 5e-3;

/// Contact scale of tissue, in metres and newtons.
pub(super) fn handling(step_time: f64, height: f32) -> ContactScale {
    let squared = (step_time * step_time) as f32;
    ContactScale {
        per_metre: 1.0,
        least_mass: BORNE * squared,
        hardest: DEEPEST_STEP / squared,
        strained: STRAINED,
        longest_pull: LONGEST_GRAB * height,
        height,
    }
}

/// The skin as colliders see it.
pub(super) struct SkinPoints {
    pub(super) samples: Samples,
    /// Triangles of the whole mesh that follow the tissue fully.
    pub(super) triangles: Vec<[u32; 3]>,
    /// Triangles of the tissue's own skin, as rows.
    coarse: Vec<[u32; 3]>,
    /// The rows of these triangles.
    rows: Vec<u32>,
    /// Area of skin at each row, m².
    pub(super) areas: Vec<f32>,
    /// The face's height, m.
    pub(super) height: f32,
}

impl SkinPoints {
    /// Samples a face's skin, with the tissue rows that carry each point.
    pub(super) fn new(
        face: &FaceModel,
        (skin, embedding): (&CoarseSkin, &Embedding),
        flesh: &TissueMesh,
        layout: &Layout,
    ) -> Self {
        let order = Order {
            rest: &skin.positions,
            places: &layout.rows,
            vertices: &layout.vertices,
            free: layout.free,
        };
        let sampled = SampledSkin {
            skin: &face.skin,
            triangles: &face.triangles,
            neutral: &face.neutral,
            height: face.height as f32,
        };
        let area = |vertex: &u32| skin.areas[flesh.above[*vertex as usize] as usize] as f32;
        let follows = |v: &u32| embedding.weights[*v as usize].iter().sum::<f32>() > 0.999;
        let coarse: Vec<[u32; 3]> =
            skin.triangles.iter().map(|t| t.map(|v| layout.rows[v as usize])).collect();
        let rows: std::collections::BTreeSet<u32> = coarse.iter().flatten().copied().collect();
        Self {
            rows: rows.into_iter().collect(),
            samples: Samples::new(&sampled, embedding, &order),
            triangles: face.triangles.iter().filter(|t| t.iter().all(follows)).copied().collect(),
            coarse,
            areas: layout.vertices.iter().map(area).collect(),
            height: face.height as f32,
        }
    }
}

impl SkinPoints {
    /// The skin below or above a position, in a state of the tissue.
    pub(super) fn below(&self, at: Vec3, x: &[Row<f32>]) -> Option<Below> {
        let place = |row: u32| Vec3::from_slice(&x[row as usize]);
        let normal = |index: usize| {
            let around = self.coarse.iter().filter(|t| t.contains(&self.rows[index]));
            let areas = around.map(|t| {
                let [a, b, c] = t.map(place);
                (b - a).cross(c - a)
            });
            areas.sum::<Vec3>().normalize_or_zero()
        };
        Below::new(at, self.rows.iter().map(|row| place(*row)), normal)
    }
}

impl TissueBody {
    /// The colliders and grabs.
    pub fn colliders(&self) -> &Colliders {
        &self.touches
    }

    /// The colliders and grabs, mutable. Poses of colliders are in the world, in metres.
    pub fn colliders_mut(&mut self) -> &mut Colliders {
        &mut self.touches
    }

    /// Grabs the skin nearest to a position (in metres, in the head's frame) and the connected skin within a radius, to drag it.
    pub fn grab(&mut self, at: Vec3, radius: f32) -> GrabId {
        let skin = &self.tissue.skin;
        let follows = |v: &usize| skin.embedding.weights[*v].iter().sum::<f32>() > 0.999;
        let distance = |v: &usize| self.positions[*v].distance_squared(at);
        let nearest =
            (0..self.positions.len()).filter(follows).min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let layout = &self.tissue.layout;
        let row = |v: u32| layout.rows[v as usize];
        let seeds = nearest.map_or([0; 3], |v| skin.embedding.vertices[v].map(row));
        let triangles = &self.tissue.touchable.coarse;
        let positions = &self.dynamics.positions;
        let place = |row: u32| Vec3::from_slice(&positions[row as usize]);
        self.touches.add_pull(Grab::new(at, radius, &seeds, &place, triangles, layout.free))
    }

    /// The deepest penetration of the skin of the last frame into a collider, in metres: at vertices, midpoints of edges and centres of
    /// triangles.
    pub fn penetration(&self) -> f32 {
        self.touches.penetration(&self.positions, &self.tissue.touchable.triangles.iter())
    }

    /// The head's motion in the present frame.
    pub(super) fn head_way(&self) -> HeadWay {
        let [before, now] = self.head.path.ends();
        HeadWay { before, now }
    }
}
