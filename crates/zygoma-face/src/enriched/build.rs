//! Builds the volume of an enriched face, with a rest shape for each blendshape.

use std::sync::{Mutex, OnceLock};

use glam::{DVec3, Vec3};
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::curve::along_curve;
use zygoma_geometry::embedding::Embedding;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_numerics::{BadParam, Checked, NotPositiveDefinite};

use super::EnrichedParams;
use super::blend_materials::BlendMaterials;
use super::blend_volumes::{BlendVolumes, solve_volumes};
use super::section::{self, SolvedVolumes};
use crate::contact::SampledSkin;
use crate::model::{Bones, Continue, FaceModel, Lips, SolidBone, Teeth};
use crate::volume::Harmonic;
use crate::volume::contact::SkinPoints;
use crate::volume::{
    BoneAttachment, Described, Layout, Tie, TissueInput, TissueMesh, TissueSkin, VolumeError, attachment_at,
    mobility,
};

/// Tissue deeper below the skin than this stays in its rest shape, m: the muscles, vessels and vertebrae of a neck, which nobody models. Ours.
const DEEP: f64 = 0.02;

/// Progress of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnrichedProgress {
    /// Number of shapes whose volume is solved.
    pub shape: usize,
    /// Number of all shapes.
    pub shapes: usize,
}

/// Why a face cannot be enriched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EnrichedError {
    /// A parameter is out of its range.
    #[error(transparent)]
    Param(#[from] BadParam),
    /// There is no volume to simulate.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// A matrix is not positive definite.
    #[error("the volume under the skin cannot be simulated with these parameters: {0}")]
    Matrix(#[from] NotPositiveDefinite),
    /// The caller cancelled the build.
    #[error("the build of the enriched face was cancelled")]
    Cancelled,
}

/// A volume of soft tissue under a face's skin that changes its rest shape with the rig. Any number of bodies can simulate it. Lengths in metres.
pub struct Enriched {
    pub(super) params: EnrichedParams,
    pub(super) layout: Layout,
    /// Rest shape of the neutral, by rows.
    pub(super) rest: Vec<DVec3>,
    pub(super) tets: Vec<[u32; 4]>,
    /// Attachment of each free row to its rest place, N/m.
    pub(super) springs: Vec<f64>,
    pub(super) volumes: BlendVolumes,
    pub(super) materials: BlendMaterials,
    pub(super) skin: Skin,
    /// The row that each vertex of the coarse skin moves with: its own, or that of the nearest one that belongs to an element.
    pub(super) skin_rows: Vec<u32>,
    /// For each vertex of the coarse skin its point on the whole mesh, and its own row.
    pub(super) skin_places: Vec<(SurfacePoint, u32)>,
    /// The skin as colliders see it.
    pub(super) skin_points: SkinPoints,
    pub(super) lips: Lips,
    pub(super) teeth: Option<Teeth>,
    pub(super) solid_bones: Vec<SolidBone>,
    pub(super) bones: BoneAttachment,
    /// Rows that the interior solve of a crushed rest shape may not move: on bones.
    pub(super) is_bone: Vec<bool>,
    /// Whether each row is on the skin.
    pub(super) is_skin: Vec<bool>,
    /// Volume of each tetrahedron in the neutral, m³.
    pub(super) first_volumes: Vec<f64>,
    /// Spreads paint from the skin into the tissue below it; made when something is painted.
    pub(super) below_skin: OnceLock<Option<Mutex<Harmonic>>>,
    /// Hash of everything that the volumes depend on.
    pub(super) key: u64,
    pub(super) was_solved_before: bool,
}

/// The whole mesh of a face, and its embedding in the volume's skin.
pub(super) struct Skin {
    pub(super) neutral: Vec<Vec3>,
    /// The artist's own displacements by each shape.
    pub(super) shapes: Vec<Runs>,
    pub(super) embedding: Embedding,
}

/// The volume before its blend volumes are known.
pub(super) struct Ground<'a> {
    pub(super) face: &'a FaceModel,
    pub(super) surface: TissueSkin,
    pub(super) mesh: TissueMesh,
    pub(super) bones: BoneAttachment,
    /// Shapes that carry attachments along although they move no bone.
    pub(super) carrying: Vec<usize>,
    pub(super) layout: Layout,
}

impl Enriched {
    /// Builds the volume of a face. `progress` is called before each shape that is solved, and may cancel.
    pub fn build(
        input: &TissueInput,
        params: &EnrichedParams,
        progress: &mut dyn FnMut(EnrichedProgress) -> Continue,
    ) -> Result<Self, EnrichedError> {
        params.check()?;
        let ground = Ground::new(input, params)?;
        let (volumes, was_solved_before) = match SolvedVolumes::of_face(&ground) {
            Some(solved) => (solved, true),
            None => (solve_volumes(&ground, progress)?, false),
        };
        Ok(Self { was_solved_before, ..Self::of_ground(ground, volumes, params) })
    }

    fn of_ground(ground: Ground, volumes: BlendVolumes, params: &EnrichedParams) -> Self {
        let key = section::key(&ground);
        let Ground { face, surface, mesh, layout, bones, .. } = ground;
        let lips = face.lips(&surface.places);
        let skin = Skin::new(face, &lips, &surface);
        let skin_rows: Vec<u32> =
            nearest_with_element(&surface, &mesh).iter().map(|v| layout.rows[*v as usize]).collect();
        let rest: Vec<DVec3> = layout.vertices.iter().map(|v| mesh.mesh.positions[*v as usize]).collect();
        let tets: Vec<[u32; 4]> =
            mesh.mesh.tets.iter().map(|tet| tet.map(|v| layout.rows[v as usize])).collect();
        let soft =
            surface.moves.iter().enumerate().filter(|(shape, _)| !face.inside.jaw_shapes.contains(shape));
        let mobility = mobility(soft.map(|(_, moves)| &moves[..]), surface.positions.len(), face.height);
        let spring = |vertex: &u32| {
            let above = mesh.above[*vertex as usize] as usize;
            match mesh.ties[*vertex as usize] {
                Tie::Ligaments { .. } => {
                    params.attachment * attachment_at(mobility[above]) * surface.areas[above]
                }
                _ => 0.0,
            }
        };
        let springs = layout.vertices[..layout.free].iter().map(spring).collect();
        let of_element = |tet: &[u32; 4]| {
            let above = |v: &u32| mesh.above[layout.vertices[*v as usize] as usize] as usize;
            0.25 * tet.iter().map(|v| mobility[above(v)]).sum::<f64>()
        };
        let mobile: Vec<f64> = tets.iter().map(of_element).collect();
        let tie_of_row = |row: usize| mesh.ties[layout.vertices[row] as usize];
        let is_bone = (0..rest.len()).map(|row| matches!(tie_of_row(row), Tie::Cranium | Tie::Jaw)).collect();
        let is_skin: Vec<bool> = (0..rest.len()).map(|row| tie_of_row(row) == Tie::Skin).collect();
        let skin_places = surface.places.iter().copied().zip(layout.rows.iter().copied()).collect();
        Self {
            skin_places,
            skin_points: SkinPoints::new(
                &SampledSkin::of(face),
                (&surface, &skin.embedding),
                &mesh,
                (&layout, &skin_rows),
            ),
            skin,
            skin_rows,
            lips,
            teeth: face.inside.teeth.clone(),
            solid_bones: face.inside.bones.iter().flat_map(Bones::solids).collect(),
            bones,
            materials: BlendMaterials::by_contraction(&rest, &tets, &volumes, &mobile, params),
            params: params.clone(),
            first_volumes: mesh.mesh.volumes(),
            below_skin: OnceLock::new(),
            key,
            was_solved_before: false,
            layout,
            rest,
            tets,
            springs,
            volumes,
            is_bone,
            is_skin,
        }
    }

    /// Number of tetrahedra.
    pub fn tet_count(&self) -> usize {
        self.tets.len()
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.rest.len()
    }

    /// The rest shape for some weights, with its tetrahedra: as it is blended, without repair.
    pub fn rest_shape(&self, weights: &[f32]) -> (Vec<DVec3>, &[[u32; 4]]) {
        let mut positions = self.rest.clone();
        self.volumes.blend(weights, &self.rest, &mut Vec::new(), &mut positions);
        (positions, &self.tets)
    }
}

impl<'a> Ground<'a> {
    pub(super) fn new(input: &TissueInput<'a>, params: &EnrichedParams) -> Result<Self, VolumeError> {
        let face = input.face;
        let (carrying, bony): (Vec<usize>, Vec<usize>) =
            face.inside.jaw_shapes.iter().partition(|shape| face.is_mouth_close(**shape));
        let Described { surface, tissue_mesh: mut mesh, bones, .. } =
            Described::of(input, &bony, &params.layer())?;
        mesh.leave_bone_out();
        mesh.check(&surface)?;
        let layout = layout(&mesh, &surface);
        Ok(Self { face, surface, mesh, bones, carrying, layout })
    }
}

/// Orders the vertices along a curve, and frees those that no bone, no boundary of the simulated skin and no great depth holds.
fn layout(mesh: &TissueMesh, surface: &TissueSkin) -> Layout {
    let mut is_alone = vec![true; mesh.mesh.positions.len()];
    mesh.mesh.tets.iter().flatten().for_each(|v| is_alone[*v as usize] = false);
    let depth =
        |vertex: usize| mesh.mesh.positions[vertex].distance(surface.positions[mesh.above[vertex] as usize]);
    let is_free = |vertex: usize| match mesh.ties[vertex] {
        Tie::Cranium | Tie::Jaw => false,
        Tie::Skin | Tie::Ligaments { .. } => !surface.is_held[mesh.above[vertex] as usize],
        Tie::Free => depth(vertex) < DEEP,
    };
    let order = along_curve(&mesh.mesh.positions);
    Layout::new(order.into_iter(), |v| is_free(v) && !is_alone[v])
}

impl Skin {
    fn new(face: &FaceModel, lips: &Lips, surface: &TissueSkin) -> Self {
        let mut embedding = surface.embedding.clone();
        lips.part(&mut embedding, face, &surface.positions);
        let runs = |shape: usize| Runs::from_dense(bytemuck::cast_slice(&face.displacements(shape)), 8);
        Self { neutral: face.neutral.clone(), shapes: (0..face.shapes.len()).map(runs).collect(), embedding }
    }

    /// Adds the artist's own displacements for some weights.
    pub(super) fn add_shapes(&self, weights: &[f32], positions: &mut [Vec3]) {
        let fits = accumulate_runs(bytemuck::cast_slice_mut(positions), weights, &self.shapes);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
    }
}

/// The nearest skin vertex, along edges, that belongs to an element; itself where it does.
fn nearest_with_element(surface: &TissueSkin, mesh: &TissueMesh) -> Vec<u32> {
    let count = surface.positions.len();
    let mut source: Vec<Option<u32>> = vec![None; count];
    for v in mesh.mesh.tets.iter().flatten().filter(|v| (**v as usize) < count) {
        source[*v as usize] = Some(*v);
    }
    while source.iter().any(Option::is_none) {
        let before = source.clone();
        for triangle in &surface.triangles {
            let known = triangle.iter().find_map(|v| before[*v as usize]);
            for v in triangle.iter().filter(|v| before[**v as usize].is_none()) {
                source[*v as usize] = source[*v as usize].or(known);
            }
        }
        if source == before {
            break;
        }
    }
    (0..).zip(source).map(|(own, source)| source.unwrap_or(own)).collect()
}
