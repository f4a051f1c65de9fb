//! Builds the head of tissue and bones under a face's skin.

use std::sync::Arc;

use glam::{DVec3, Vec3};
use zygoma_geometry::curve::along_curve;
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::normals::area_vector;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::simd::Runs;
use zygoma_numerics::{BadParam, Checked, NotPositiveDefinite};

use super::dynamics::Swings;
use super::landmarks::LandmarkError;
use super::load::Gusts;
use super::moves::mend;
use super::{AnatomicalParams, BadDial, Dials};
use crate::contact::SampledSkin;
use crate::model::{BoneSource, Bones, FaceModel, JawMotion, Lips, SolidBone, Teeth};
use crate::volume::contact::SkinPoints;
use crate::volume::{
    Described, Layout, Muscles, Tie, TissueInput, TissueMesh, TissueSkin, TissueVolume, VolumeError,
    cartilage,
};

/// Tissue deeper below the skin than this is anchored, m: the vessels and vertebrae of a neck, which nobody models. Ours.
const DEEP: f64 = 0.02;
/// Half the size of the frame of points that stand for the jaw, m.
const JAW_ARM: f64 = 0.04;
/// Number of points that stand for the jaw.
pub(super) const JAW_POINTS: usize = 4;

/// Why a face has no anatomy that can be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AnatomicalError {
    /// A parameter is out of its range.
    #[error(transparent)]
    Param(#[from] BadParam),
    /// A dial cannot be set to its value.
    #[error(transparent)]
    Dial(#[from] BadDial),
    /// No tetrahedra between skin and bone are known.
    #[error("this face has neither bones nor deep tissue; an anatomical face needs a whole human head")]
    NoAnatomy,
    /// A tracked point is not on the skin.
    #[error(transparent)]
    Landmark(#[from] LandmarkError),
    /// There is no volume to simulate.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// A matrix is not positive definite.
    #[error("the tissue cannot be simulated with these parameters: {0}")]
    Matrix(#[from] NotPositiveDefinite),
}

/// A head of soft tissue, muscles and bones. Any number of bodies can simulate it. Lengths in metres.
#[derive(Clone)]
pub struct Anatomical {
    pub(super) params: AnatomicalParams,
    /// Rest positions: the skin first, then all other tissue, then the points that stand for the jaw.
    pub(super) rest: Vec<DVec3>,
    pub(super) tets: Vec<[u32; 4]>,
    pub(super) is_muscle: Vec<bool>,
    pub(super) surface: Surface,
    pub(super) ties: Vec<BoneTie>,
    /// Deep vertices with the volume around them, m³.
    pub(super) deep: Vec<(u32, f64)>,
    /// The surface vertex above each vertex of the tissue.
    pub(super) above: Vec<u32>,
    /// Vertices that belong to no element.
    pub(super) is_alone: Vec<bool>,
    /// All vertices in an order that keeps neighbours together.
    pub(super) order: Vec<u32>,
    /// The skin as colliders see it.
    pub(super) skin_points: Arc<SkinPoints>,
    pub(super) skin_source: Arc<SkinSource>,
    pub(super) teeth: Option<Teeth>,
    pub(super) solid_bones: Vec<SolidBone>,
    pub(super) jaw: JawMotion,
    pub(super) output: Output,
    pub(super) dials: Dials,
    /// Factor of the pull of each vertex of the surface to its target: below 1 where nerves are weak.
    pub(super) pull: Vec<f64>,
    /// Factor of strain around each vertex: 1 for passive tissue.
    pub(super) passive: Vec<f64>,
    /// Factor of strain around each vertex of a passive head: above 1 in cartilage.
    pub(super) cartilage: Vec<f64>,
    /// Factor of the skin's stiffness around each vertex of the surface.
    pub(super) skin_stiffness: Vec<f64>,
    /// Constant force on each vertex, N.
    pub(super) forces: Vec<DVec3>,
    /// Displacement of the passive surface by gravity and wind.
    pub(super) sag: Vec<DVec3>,
    /// Gusts of wind, if it does not blow steadily.
    pub(super) gusts: Option<Gusts>,
    /// Second-order motion, if it does not follow at once.
    pub(super) swings: Option<Arc<Swings>>,
}

/// All that the skin is to colliders, apart from which of it is held.
pub(super) struct SkinSource {
    skin: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    neutral: Vec<Vec3>,
    height: f32,
    embedding: Embedding,
    surface: TissueSkin,
    mesh: TissueMesh,
}

impl SkinSource {
    fn points(&self, layout: &Layout) -> SkinPoints {
        let Self { skin, triangles, neutral, height, embedding, surface, mesh } = self;
        let rows = &layout.rows[..surface.positions.len()];
        let sampled = SampledSkin { skin, triangles, neutral, height: *height };
        SkinPoints::new(&sampled, (surface, embedding), mesh, (layout, rows))
    }
}

/// The outside of the tissue. Its vertices are the first of all.
#[derive(Clone)]
pub(super) struct Surface {
    pub(super) triangles: Vec<[u32; 3]>,
    /// The corners of the whole mesh around each vertex, with their weights.
    pub(super) on_mesh: Vec<([u32; 3], [f64; 3])>,
    /// Area around each vertex, m².
    pub(super) areas: Vec<f64>,
    /// Displacement by each shape at weight 1.
    pub(super) moves: Vec<Vec<DVec3>>,
    /// Fraction by which nerves can move each vertex: 0 where no shape but those of the jaw does.
    pub(super) nerves: Vec<f64>,
    /// Pairs of vertices of the two lips that are close at rest.
    pub(super) closed: Vec<[u32; 2]>,
    /// Vertices that follow the rig exactly.
    pub(super) is_held: Vec<bool>,
}

/// A vertex of the tissue on a bone.
#[derive(Clone)]
pub(super) struct BoneTie {
    pub(super) vertex: u32,
    pub(super) on_jaw: bool,
    /// Normal of the bone, at rest.
    pub(super) normal: DVec3,
    /// Area around it, m².
    pub(super) area: f64,
}

/// The whole mesh of a face, and its embedding in the surface.
#[derive(Clone)]
pub(super) struct Output {
    pub(super) neutral: Vec<Vec3>,
    /// The artist's own displacements by each shape.
    pub(super) shapes: Vec<Runs>,
    pub(super) embedding: Embedding,
    pub(super) lips: Lips,
}

impl Anatomical {
    /// Builds the head of a face whose [anatomy](FaceModel::add_anatomy) is known.
    pub fn build(face: &FaceModel, params: &AnatomicalParams) -> Result<Self, AnatomicalError> {
        params.check()?;
        let fill = TissueVolume::of_face(face).ok_or(AnatomicalError::NoAnatomy)?;
        let input = TissueInput { volume: Some(&fill), ..TissueInput::new(face) };
        let bony: Vec<usize> =
            face.inside.jaw_shapes.iter().copied().filter(|shape| !face.is_mouth_close(*shape)).collect();
        let Described { mut surface, tissue_mesh: mut mesh, bones, .. } =
            Described::of(&input, &bony, &params.layer())?;
        mesh.check(&surface)?;
        // The built-in head's tissue is exactly below its own skin.
        if face.inside.bone_source != BoneSource::BuiltIn {
            mend(&surface.positions, &surface.triangles, &surface.is_held, &mut surface.moves);
        }
        let muscles = face.section::<Muscles>().and_then(Result::ok).map_or_else(Vec::new, |found| found.0);
        let mut is_alone = vec![true; mesh.mesh.positions.len()];
        mesh.mesh.tets.iter().flatten().for_each(|v| is_alone[*v as usize] = false);
        let mut rest = mesh.mesh.positions.clone();
        rest.extend(jaw_points(&mesh));
        is_alone.resize(rest.len(), false);
        let count = surface.positions.len();
        let output = Output::new(face, &surface);
        let order = along_curve(&rest);
        let layout = layout(&order, &is_alone, &surface.is_held);
        let (ties, deep, above) = (bone_ties(&mesh), deep_vertices(&mesh, &surface), mesh.above.clone());
        let stiffer: Vec<f64> = cartilage(face, &surface)
            .iter()
            .map(|fraction| 1.0 + fraction * (params.cartilage - 1.0))
            .collect();
        let mut cartilage: Vec<f64> = above.iter().map(|v| stiffer[*v as usize]).collect();
        cartilage.resize(rest.len(), 1.0);
        // The points that stand for the jaw are below no skin, and nothing touches them.
        mesh.above.resize(rest.len(), 0);
        let nerves = nerves(face, &surface);
        let own_surface = Surface {
            on_mesh: surface
                .places
                .iter()
                .map(|place| (face.triangles[place.triangle as usize], place.barycentric))
                .collect(),
            nerves,
            closed: closed_lips(&output.lips, &surface),
            triangles: surface.triangles.clone(),
            areas: surface.areas.clone(),
            moves: std::mem::take(&mut surface.moves),
            is_held: surface.is_held.clone(),
        };
        let tets = mesh.mesh.tets.clone();
        let skin_source = SkinSource {
            skin: face.skin.clone(),
            triangles: face.triangles.clone(),
            neutral: face.neutral.clone(),
            height: face.height as f32,
            embedding: output.embedding.clone(),
            surface,
            mesh,
        };
        Ok(Self {
            params: params.clone(),
            ties,
            deep,
            order,
            skin_points: Arc::new(skin_source.points(&layout)),
            skin_source: Arc::new(skin_source),
            teeth: face.inside.teeth.clone(),
            solid_bones: face.inside.bones.iter().flat_map(Bones::solids).collect(),
            is_muscle: if muscles.len() == tets.len() { muscles } else { vec![false; tets.len()] },
            jaw: bones.motion().clone(),
            surface: own_surface,
            output,
            tets,
            above,
            is_alone,
            dials: Dials::default(),
            pull: vec![1.0; count],
            passive: vec![params.active_strain; rest.len()],
            cartilage,
            skin_stiffness: vec![1.0; count],
            forces: vec![DVec3::ZERO; rest.len()],
            sag: vec![DVec3::ZERO; count],
            gusts: None,
            swings: None,
            rest,
        })
    }

    /// Number of tetrahedra.
    pub fn tet_count(&self) -> usize {
        self.tets.len()
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.rest.len() - JAW_POINTS
    }

    /// The pose of the jaw for some weights of the rig's shapes.
    pub fn jaw_pose(&self, weights: &[f32]) -> RigidMotion {
        self.jaw.pose(weights)
    }

    /// The settings of its dials.
    pub fn dials(&self) -> &Dials {
        &self.dials
    }

    /// The row of each vertex in a system in which some vertices of the surface are held.
    pub(super) fn layout(&self, is_held: &[bool]) -> Layout {
        layout(&self.order, &self.is_alone, is_held)
    }

    /// Lets some held vertices of the surface go.
    pub(super) fn let_go(&mut self, is_let_go: impl Fn(usize) -> bool) {
        for (v, is_held) in self.surface.is_held.iter_mut().enumerate() {
            *is_held &= !is_let_go(v);
        }
        self.skin_points = Arc::new(self.skin_source.points(&self.layout(&self.surface.is_held)));
    }

    /// Number of vertices of the surface.
    pub(super) fn skin_count(&self) -> usize {
        self.surface.areas.len()
    }

    /// The points that stand for the jaw, among all vertices.
    pub(super) fn jaw_points(&self) -> [u32; JAW_POINTS] {
        std::array::from_fn(|k| (self.node_count() + k) as u32)
    }

    /// Weights of the points that stand for the jaw at a place that moves with it.
    pub(super) fn jaw_weights(&self, at: DVec3) -> [f64; JAW_POINTS] {
        let [x, y, z] = ((at - self.rest[self.node_count()]) / JAW_ARM).to_array();
        [1.0 - x - y - z, x, y, z]
    }

    /// Positions of the surface's vertices in the rig itself.
    pub(super) fn targets(&self, weights: &[f32]) -> Vec<DVec3> {
        let mut targets: Vec<DVec3> = self.rest.iter().zip(&self.sag).map(|(p, sag)| *p + *sag).collect();
        for (weight, moves) in weights.iter().zip(&self.surface.moves).filter(|(weight, _)| **weight != 0.0) {
            targets.iter_mut().zip(moves).for_each(|(target, way)| *target += f64::from(*weight) * *way);
        }
        targets
    }
}

/// The row of each vertex: all are free but held ones of the surface and those without elements.
fn layout(order: &[u32], is_alone: &[bool], is_held: &[bool]) -> Layout {
    let is_free = |v: usize| !is_alone[v] && !is_held.get(v).copied().unwrap_or(false);
    Layout::new(order.iter().copied(), is_free)
}

/// Skin that expressions move by this much is wholly in the power of nerves, m. Ours.
const NERVED: f64 = 2e-3;
/// Lips closer than this at rest are closed, m. Ours.
const CLOSE: f64 = 3e-3;

/// Fraction by which nerves can move each vertex.
fn nerves(face: &FaceModel, surface: &TissueSkin) -> Vec<f64> {
    let soft =
        || surface.moves.iter().enumerate().filter(|(shape, _)| !face.inside.jaw_shapes.contains(shape));
    let farthest = |v: usize| soft().map(|(_, moves)| moves[v].length()).fold(0.0, f64::max);
    let fraction = |v: usize| {
        let fraction = (farthest(v) / NERVED).min(1.0);
        fraction * fraction * (3.0 - 2.0 * fraction)
    };
    (0..surface.positions.len()).map(fraction).collect()
}

/// Each vertex of the upper lip with the nearest one of the lower lip, where they are close.
fn closed_lips(lips: &Lips, surface: &TissueSkin) -> Vec<[u32; 2]> {
    let of = |lower: bool| (0u32..).zip(&lips.coarse).filter(move |(_, side)| **side == Some(lower));
    let at = |v: u32| surface.positions[v as usize];
    let partner = |(upper, _): (u32, &Option<bool>)| {
        let distance = |v: &u32| at(*v).distance(at(upper));
        let nearest = of(true).map(|(v, _)| v).min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        (distance(&nearest) < CLOSE).then_some([upper, nearest])
    };
    of(false).filter_map(partner).collect()
}

/// A frame of four points in the middle of the jaw's bone.
fn jaw_points(mesh: &TissueMesh) -> [DVec3; JAW_POINTS] {
    let on_jaw = mesh.mesh.positions.iter().zip(&mesh.ties).filter(|(_, tie)| **tie == Tie::Jaw);
    let (sum, count) = on_jaw.fold((DVec3::ZERO, 0.0), |(sum, count), (p, _)| (sum + *p, count + 1.0));
    let centre = sum / f64::max(count, 1.0);
    [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].map(|axis| centre + JAW_ARM * axis)
}

/// Tied vertices, with normals and areas from the boundary triangles between them.
fn bone_ties(mesh: &TissueMesh) -> Vec<BoneTie> {
    let is_bone = |v: u32| matches!(mesh.ties[v as usize], Tie::Cranium | Tie::Jaw);
    let mut normals = vec![DVec3::ZERO; mesh.ties.len()];
    let mut areas = vec![0.0; mesh.ties.len()];
    for t in mesh.mesh.boundary().iter().filter(|t| t.iter().all(|v| is_bone(*v))) {
        let [a, b, c] = t.map(|v| mesh.mesh.positions[v as usize]);
        let vector = area_vector(a, b, c);
        for v in t {
            normals[*v as usize] += vector;
            areas[*v as usize] += vector.length() / 3.0;
        }
    }
    let mean = areas.iter().sum::<f64>() / areas.iter().filter(|area| **area > 0.0).count().max(1) as f64;
    let tie = |v: u32| BoneTie {
        vertex: v,
        on_jaw: mesh.ties[v as usize] == Tie::Jaw,
        normal: normals[v as usize].normalize_or_zero(),
        // A vertex inside the bone has no triangle of its own.
        area: if areas[v as usize] > 0.0 { areas[v as usize] } else { mean },
    };
    (0..mesh.ties.len() as u32).filter(|v| is_bone(*v)).map(tie).collect()
}

fn deep_vertices(mesh: &TissueMesh, surface: &TissueSkin) -> Vec<(u32, f64)> {
    let mut volumes = vec![0.0; mesh.ties.len()];
    for (tet, volume) in mesh.mesh.tets.iter().zip(mesh.mesh.volumes()) {
        tet.iter().for_each(|v| volumes[*v as usize] += volume / 4.0);
    }
    let is_deep = |v: &usize| {
        let above = surface.positions[mesh.above[*v] as usize];
        mesh.ties[*v] == Tie::Free && mesh.mesh.positions[*v].distance(above) > DEEP
    };
    (0..mesh.ties.len()).filter(is_deep).map(|v| (v as u32, volumes[v])).collect()
}

impl Output {
    fn new(face: &FaceModel, surface: &TissueSkin) -> Self {
        let mut embedding = surface.embedding.clone();
        let lips = face.lips(&surface.places);
        lips.part(&mut embedding, face, &surface.positions);
        let runs = |shape: usize| Runs::from_dense(bytemuck::cast_slice(&face.displacements(shape)), 8);
        Self {
            neutral: face.neutral.clone(),
            shapes: (0..face.shapes.len()).map(runs).collect(),
            embedding,
            lips,
        }
    }
}
