//! Builds tissue for a face: elements, attachments and the drive of its expressions.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::curve::along_curve;
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_geometry::topology::half_edges;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_numerics::{Checked, NotPositiveDefinite};
use zygoma_physics::projective::{Factored, Prefactored, Row, System, row};

use super::TissueParams;
use super::contraction::MuscleContraction;
use super::params::Actuation;
use super::progress::{ProgressReporter, TissueError, TissueProgress};
use super::shape_targets::ShapeTargets;
use super::stiffness::{FitOptions, Regions, StiffnessFit, StiffnessMap};
use crate::contact::SampledSkin;
use crate::model::{Bones, Continue, FaceModel, Lips, SolidBone, Teeth};
use crate::volume::contact::SkinPoints;
use crate::volume::{
    AttachmentPoint, BoneAttachment, Described, Layer, Layout, Tie, TissueInput, TissueMesh, TissueSkin,
    carried,
};

/// An element that a shape compresses below this fraction of its volume is crushed. Ours, as those below: combinations of shapes and
/// motion compress it further.
const CRUSHED: f64 = 0.15;
/// Below this fraction of its volume an element is as good as inverted.
const INVERTED: f64 = 0.02;
/// How often tissue is thinned where shapes crush it, how often it is checked, and by which factor it is thinned. After the last
/// thinning, elements that are still inverted are removed.
const THINNINGS: usize = 2;
const LOOKS: usize = 4;
const THINNER: f64 = 0.6;
/// Rounds of stiffness fitting, each at the equilibria of the last one.
const STIFFNESS_ROUNDS: usize = 2;

/// Soft tissue under a face's skin, which any number of bodies can simulate. Lengths in metres.
pub struct Tissue {
    pub(super) params: TissueParams,
    /// The visible skin that is embedded in the tissue: see [`Skin`].
    pub(super) skin: Skin,
    pub(super) lips: Lips,
    pub(super) teeth: Option<Teeth>,
    pub(super) solid_bones: Vec<SolidBone>,
    pub(super) skin_points: SkinPoints,
    /// The tissue's own skin.
    pub(super) surface: TissueSkin,
    pub(super) tissue_mesh: TissueMesh,
    pub(super) layout: Layout,
    /// Mass of each row, kg.
    pub(super) masses: Vec<f64>,
    /// Displacement of the skin by each shape at weight 1, where it is not zero.
    sparse_moves: Vec<Runs>,
    /// Attachments of the tissue to the bones.
    pub(super) bones: BoneAttachment,
    /// Vertices that are rigidly fixed to the moving jaw.
    on_jaw: Vec<u32>,
    /// Shapes that carry the attachments along although they move no bone.
    pub(super) carrying: Vec<usize>,
    /// Tissue vertices that belong to no element.
    pub(super) is_alone: Vec<bool>,
    /// Displacements of all tissue rows by each shape, which drive the tissue unless forces do.
    pub(super) shape_targets: ShapeTargets,
    /// The blendforces, where these drive the tissue: the force on each free row that holds each shape at weight 1.
    pub(super) forces: Vec<Vec<DVec3>>,
    /// Edges of skin triangles without tissue below them.
    pub(super) bare_edges: Vec<[u32; 2]>,
    /// Contraction of the tissue that shapes compress, where forces drive it.
    pub(super) shortening: MuscleContraction,
    /// Relative stiffness of the tissue below each vertex of the skin.
    pub(super) stiffness: StiffnessMap,
    pub(super) misfit: Option<f64>,
    /// The layer that the tissue was made from, if it is one layer.
    pub(super) layer: Option<Layer>,
    /// Hash of everything that the solution depends on.
    pub(super) key: u64,
    was_solved_before: bool,
}

/// The whole mesh of a face, embedded in the tissue.
pub(super) struct Skin {
    pub(super) embedding: Embedding,
    pub(super) neutral: Vec<Vec3>,
    /// Displacement by each shape beyond that of the embedding.
    pub(super) detail: Vec<Runs>,
}

impl Skin {
    fn new(face: &FaceModel, lips: &Lips, surface: &TissueSkin) -> Self {
        let mut embedding = surface.embedding.clone();
        lips.part(&mut embedding, face, &surface.positions);
        let detail = |shape: usize| {
            let coarse: Vec<Vec3> = surface.moves[shape].iter().map(|d| d.as_vec3()).collect();
            let mut dense = face.displacements(shape);
            for (vertex, offset) in dense.iter_mut().enumerate() {
                *offset -= embedding.displacement(vertex, &coarse);
            }
            Runs::from_dense(bytemuck::cast_slice(&dense), 8)
        };
        Self {
            neutral: face.neutral.clone(),
            detail: (0..face.shapes.len()).into_par_iter().map(detail).collect(),
            embedding,
        }
    }
}

/// Orders the vertices of a tissue mesh along the skin, those below it in the order of the skin above them: neighbours are close in memory.
pub(super) fn layout(tissue_mesh: &TissueMesh, skin: &TissueSkin, is_free: impl Fn(usize) -> bool) -> Layout {
    let order = along_curve(&skin.positions);
    let mut ranks = vec![0; order.len()];
    order.iter().enumerate().for_each(|(rank, vertex)| ranks[*vertex as usize] = rank);
    let mut below: Vec<u32> = (order.len() as u32..tissue_mesh.above.len() as u32).collect();
    below.sort_by_key(|vertex| ranks[tissue_mesh.above[*vertex as usize] as usize]);
    Layout::new(order.into_iter().chain(below), is_free)
}

impl Tissue {
    /// Builds the tissue of a face.
    pub fn new(face: &FaceModel, params: &TissueParams) -> Result<Self, TissueError> {
        Self::build(&TissueInput::new(face), params, &mut |_| Continue::Yes)
    }

    /// Builds the tissue of a face from all that is given. `progress` is called before each shape that is solved, and may cancel.
    pub fn build(
        input: &TissueInput,
        params: &TissueParams,
        progress: &mut dyn FnMut(TissueProgress) -> Continue,
    ) -> Result<Self, TissueError> {
        params.check()?;
        let may_go_on = params.fit_stiffness || params.actuation == Actuation::Forces;
        let mut reporter = ProgressReporter::new(progress, may_go_on);
        let face = input.face;
        let jaw = &face.inside.jaw_shapes;
        let (carrying, bony): (Vec<usize>, Vec<usize>) =
            jaw.iter().partition(|shape| face.is_mouth_close(**shape));
        let Described { surface, tissue_mesh, layer, bones } = Described::of(input, &bony, &params.layer())?;
        tissue_mesh.check(&surface)?;
        let layout = layout(&tissue_mesh, &surface, |v| !is_kinematic(&tissue_mesh, &surface, v));
        let lips = face.lips(&surface.places);
        let skin = Skin::new(face, &lips, &surface);
        let stiffness = match params.actuation {
            Actuation::Shapes => {
                let soft = surface.moves.iter().enumerate().filter(|(shape, _)| !jaw.contains(shape));
                let moves = soft.map(|(_, moves)| &moves[..]);
                let mut map = StiffnessMap::by_motion(moves, surface.positions.len(), face.height);
                map.stiffen_cartilage(face, &surface, params.cartilage);
                map
            }
            Actuation::Forces => StiffnessMap::uniform(surface.positions.len()),
        };
        let on_jaw = (0u32..).zip(&tissue_mesh.ties).filter(|(_, tie)| **tie == Tie::Jaw);
        let mut tissue = Self {
            skin_points: SkinPoints::new(
                &SampledSkin::of(face),
                (&surface, &skin.embedding),
                &tissue_mesh,
                (&layout, &layout.rows),
            ),
            on_jaw: on_jaw.map(|(vertex, _)| vertex).collect(),
            sparse_moves: surface.moves.iter().map(|moves| sparse(moves)).collect(),
            surface,
            skin,
            lips,
            teeth: face.inside.teeth.clone(),
            solid_bones: face.inside.bones.iter().flat_map(Bones::solids).collect(),
            masses: Vec::new(),
            shortening: MuscleContraction::default(),
            bare_edges: Vec::new(),
            is_alone: Vec::new(),
            bones,
            carrying,
            forces: Vec::new(),
            shape_targets: ShapeTargets::default(),
            params: params.clone(),
            tissue_mesh: TissueMesh::default(),
            layout,
            stiffness,
            misfit: None,
            layer,
            key: 0,
            was_solved_before: false,
        };
        tissue.set_tissue_mesh(tissue_mesh);
        tissue.key = tissue.solution_key();
        tissue.was_solved_before = tissue.take_solved(face);
        if !tissue.was_solved_before {
            tissue.solve(face, &mut reporter)?;
        }
        Ok(tissue)
    }

    /// Finds the drive of every shape, and the stiffness if it is fitted.
    fn solve(&mut self, face: &FaceModel, reporter: &mut ProgressReporter) -> Result<(), TissueError> {
        let fits_stiffness = self.params.fit_stiffness;
        match self.params.actuation {
            Actuation::Shapes => {
                if fits_stiffness {
                    self.fit_stiffness(face, reporter)?;
                }
                self.shape_targets = ShapeTargets::find(self, face, reporter)?;
            }
            Actuation::Forces => {
                self.find_mesh_and_forces(face, reporter)?;
                if fits_stiffness {
                    self.fit_stiffness(face, reporter)?;
                    self.forces = self.find_forces(face, reporter)?.0;
                }
            }
        }
        Ok(())
    }

    /// Finds the blendforces. Thins a layer where a shape crushes its elements; where that is not enough, removes them.
    fn find_mesh_and_forces(
        &mut self,
        face: &FaceModel,
        reporter: &mut ProgressReporter,
    ) -> Result<(), TissueError> {
        for look in 0..LOOKS {
            let (forces, fullness) = self.find_forces(face, reporter)?;
            self.forces = forces;
            let Some(layer) = &mut self.layer else { break };
            let (thins, leaves_out) = (look < THINNINGS, look + 1 >= THINNINGS);
            let least = if thins { CRUSHED } else { INVERTED };
            let crushed: Vec<usize> = (0..fullness.len()).filter(|tet| fullness[*tet] < least).collect();
            if crushed.is_empty() || look + 1 == LOOKS {
                break;
            }
            let mut is_thin = vec![false; layer.thickness.len()];
            for tet in &crushed {
                self.tissue_mesh.skin_corners(*tet).iter().for_each(|v| is_thin[*v as usize] = thins);
                if let Some(triangle) = self.tissue_mesh.triangle_above[*tet] {
                    layer.left_out[triangle as usize] |= leaves_out && fullness[*tet] < INVERTED;
                }
            }
            let thin = layer.thickness.iter_mut().zip(is_thin).filter(|(_, is_thin)| *is_thin);
            thin.for_each(|(thickness, _)| *thickness *= THINNER);
            let tissue_mesh = layer.make(&self.surface)?;
            self.set_tissue_mesh(tissue_mesh);
        }
        Ok(())
    }

    /// Replaces the tissue under the same skin.
    pub(super) fn set_tissue_mesh(&mut self, tissue_mesh: TissueMesh) {
        self.masses = masses(&tissue_mesh, &self.layout, self.params.density);
        if self.params.actuation == Actuation::Forces {
            self.shortening =
                MuscleContraction::find(&tissue_mesh, &self.surface.triangles, &self.surface.moves);
        }
        self.bare_edges = edges(&tissue_mesh.bare);
        self.is_alone = vec![true; tissue_mesh.mesh.positions.len()];
        tissue_mesh.mesh.tets.iter().flatten().for_each(|v| self.is_alone[*v as usize] = false);
        self.tissue_mesh = tissue_mesh;
    }

    /// Fits stiffness by region.
    fn fit_stiffness(
        &mut self,
        face: &FaceModel,
        reporter: &mut ProgressReporter,
    ) -> Result<(), TissueError> {
        let options =
            FitOptions { bounds: self.params.stiffness_bounds, smooth: self.params.stiffness_smooth };
        let TissueSkin { is_held, is_loose, .. } = &self.surface;
        let is_counted: Vec<bool> =
            is_held.iter().zip(is_loose).map(|(held, loose)| !held && !loose).collect();
        let regions = Regions::spread(&self.surface.positions, self.params.stiffness_regions);
        // The equilibria below the skin depend on the stiffness.
        for _ in 0..STIFFNESS_ROUNDS {
            let poses = self.poses(face, reporter)?;
            let fit = StiffnessFit {
                tissue_mesh: &self.tissue_mesh,
                triangles: &self.surface.triangles,
                areas: &self.surface.areas,
                is_counted: &is_counted,
                regions: &regions,
                params: &self.params,
            };
            let (found, misfit) = fit.solve(&poses, &options);
            (self.stiffness, self.misfit) = (found, Some(misfit));
        }
        Ok(())
    }

    /// Whether its solution was taken from the face.
    pub fn was_solved_before(&self) -> bool {
        self.was_solved_before
    }

    /// Fraction of the misfit between shapes and forces along them that is left after the fit of stiffness; `None` without a fit.
    pub fn stiffness_misfit(&self) -> Option<f64> {
        self.misfit
    }

    /// Stiffness of the tissue below a vertex of the shell, relative to the parameters: strain, volume and attachment.
    pub fn stiffness(&self, vertex: usize) -> [f64; 3] {
        [&self.stiffness.strain, &self.stiffness.volume, &self.stiffness.attachment].map(|map| map[vertex])
    }

    /// Pose of the lower jaw for the given weights, in the head's frame; the identity where no shape moves it.
    pub fn jaw_pose(&self, weights: &[f32]) -> RigidMotion {
        self.bones.pose(weights)
    }

    /// Number of tetrahedra.
    pub fn tet_count(&self) -> usize {
        self.tissue_mesh.mesh.tets.len()
    }

    /// Number of nodes of these tetrahedra.
    pub fn node_count(&self) -> usize {
        self.tissue_mesh.mesh.positions.len()
    }

    /// Number of vertices of the whole mesh that were found to be upper and lower lip.
    pub fn lip_counts(&self) -> [usize; 2] {
        [self.lips.upper, self.lips.vertices.len() - self.lips.upper]
    }

    /// Number of skin triangles with no room for tissue below them.
    pub fn bare_count(&self) -> usize {
        self.tissue_mesh.bare.len()
    }

    /// Number of vertices of the skin.
    pub(super) fn skin_count(&self) -> usize {
        self.surface.positions.len()
    }

    /// Whether a vertex follows the rig or a bone exactly, whatever acts on it.
    pub(super) fn is_kinematic(&self, vertex: usize) -> bool {
        is_kinematic(&self.tissue_mesh, &self.surface, vertex)
    }

    /// Position that ligaments, bone or the rig give a vertex, for the given weights, displacements of the skin and pose of the jaw.
    pub(super) fn attached_place(
        &self,
        weights: &[f32],
        moved: &[DVec3],
        pose: &RigidMotion,
        vertex: usize,
    ) -> DVec3 {
        let Tie::Ligaments { jaw } = self.tissue_mesh.ties[vertex] else {
            return self.kinematic_place(moved, pose, vertex);
        };
        let above = self.tissue_mesh.above[vertex] as usize;
        let foot = AttachmentPoint {
            at: self.tissue_mesh.mesh.positions[vertex],
            jaw,
            above,
            skin: self.surface.positions[above],
            moves: &self.surface.moves,
        };
        self.bones.place(&foot, weights, pose) + carried(&self.carrying, weights, &foot)
    }

    /// Position of a vertex that follows its bone, or else the skin above it, for the given displacements of the skin and pose of the
    /// jaw.
    pub(super) fn kinematic_place(&self, moved: &[DVec3], pose: &RigidMotion, vertex: usize) -> DVec3 {
        let rest = self.tissue_mesh.mesh.positions[vertex];
        match self.tissue_mesh.ties[vertex] {
            Tie::Cranium => rest,
            Tie::Jaw => pose.apply(rest),
            _ => self.target(moved, vertex),
        }
    }

    /// Replaces the displacements of rows on the jaw by its rigid motion for the given weights: a blend of displacements is not rigid.
    pub(super) fn move_bones(&self, weights: &[f32], displacements: &mut [Row<f32>]) {
        if self.on_jaw.is_empty() {
            return;
        }
        let pose = self.jaw_pose(weights);
        for vertex in self.on_jaw.iter().map(|vertex| *vertex as usize) {
            let rest = self.tissue_mesh.mesh.positions[vertex];
            displacements[self.layout.rows[vertex] as usize] = row(pose.apply(rest) - rest);
        }
    }

    /// Displacement of each vertex of the skin by the rig for the given weights.
    pub(super) fn moved(&self, weights: &[f32]) -> Vec<DVec3> {
        let mut moved = vec![Vec3::ZERO; self.skin_count()];
        let fits = accumulate_runs(bytemuck::cast_slice_mut(&mut moved), weights, &self.sparse_moves);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
        moved.iter().map(|way| way.as_dvec3()).collect()
    }

    /// Position of a vertex that moves with the skin above it, for the given displacements of the skin.
    pub(super) fn target(&self, moved: &[DVec3], vertex: usize) -> DVec3 {
        self.tissue_mesh.mesh.positions[vertex] + moved[self.tissue_mesh.above[vertex] as usize]
    }
}

/// The edges of some triangles, each once.
fn edges(triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let mut edges: Vec<[u32; 2]> =
        triangles.iter().flat_map(|t| half_edges(*t)).map(|(a, b)| [a.min(b), a.max(b)]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Whether a vertex follows the rig or a bone exactly: on bones, and where the skin is held, with the ligaments below it.
fn is_kinematic(tissue_mesh: &TissueMesh, skin: &TissueSkin, vertex: usize) -> bool {
    match tissue_mesh.ties[vertex] {
        Tie::Free => false,
        Tie::Skin | Tie::Ligaments { .. } => skin.is_held[tissue_mesh.above[vertex] as usize],
        Tie::Cranium | Tie::Jaw => true,
    }
}

fn sparse(moves: &[DVec3]) -> Runs {
    let single: Vec<Vec3> = moves.iter().map(|way| way.as_vec3()).collect();
    Runs::from_dense(bytemuck::cast_slice(&single), 8)
}

fn masses(tissue_mesh: &TissueMesh, layout: &Layout, density: f64) -> Vec<f64> {
    let mut masses = vec![0.0; layout.rows.len()];
    for (tet, volume) in tissue_mesh.mesh.tets.iter().zip(tissue_mesh.mesh.volumes()) {
        tet.iter().for_each(|v| masses[layout.rows[*v as usize] as usize] += 0.25 * density * volume);
    }
    let positive = masses.iter().copied().filter(|mass| *mass > 0.0);
    let least = positive.fold(f64::INFINITY, f64::min);
    masses.iter().map(|mass| if *mass > 0.0 { *mass } else { least }).collect()
}

/// Factors the matrix of an equilibrium or of a step.
pub(super) fn factor<T: Factored>(
    system: &System<T>,
    diagonal: &[f64],
    candidates: &[u32],
) -> Result<Prefactored<T>, NotPositiveDefinite> {
    Prefactored::new(&system.matrix(diagonal), candidates)
}
