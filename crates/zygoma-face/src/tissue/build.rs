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
use zygoma_rig::arkit;

use super::TissueParams;
use super::bone_attachment::{AttachmentPoint, BoneAttachment, JawShapes, carried};
use super::coarse_skin::CoarseSkin;
use super::contraction::MuscleContraction;
use super::layer::Layer;
use super::params::Actuation;
use super::progress::{Teller, TissueError, TissueProgress};
use super::shape_targets::ShapeTargets;
use super::skin_samples::SkinPoints;
use super::stiffness::{FitOptions, Regions, StiffnessFit, StiffnessMap};
use super::tissue_mesh::{Tie, TissueMesh, TissueVolume};
use crate::model::Bones;
use crate::model::Continue;
use crate::model::FaceModel;
use crate::model::Lips;

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

/// Input of a tissue build.
#[derive(Clone, Copy)]
pub struct TissueInput<'a> {
    /// The face with its shell and shapes.
    pub face: &'a FaceModel,
    /// The shapes that move the jaw ([`jaw_driven_shapes`](zygoma_rig::jaw::jaw_driven_shapes)).
    pub jaw: &'a [usize],
    /// The skull, if known. Otherwise attachments under skin that the jaw carries follow that skin.
    pub bones: Option<&'a Bones>,
    /// Painted thickness of the tissue at each vertex of the whole mesh, m, if any.
    pub thickness: Option<&'a [f64]>,
    /// Flags the vertices of the whole mesh that no bone and no muscle holds. Empty for none.
    pub free: &'a [bool],
    /// A tetrahedral mesh of the tissue, if any, such as the fill of a head's anatomy. Otherwise the tissue is one layer under the face's
    /// own coarse mesh, of the thickness above.
    pub volume: Option<&'a TissueVolume>,
}

impl<'a> TissueInput<'a> {
    /// The input for a face alone.
    pub fn new(face: &'a FaceModel, jaw: &'a [usize]) -> Self {
        Self { face, jaw, bones: None, thickness: None, free: &[], volume: None }
    }
}

/// Soft tissue under a face's skin, which any number of bodies can simulate. Lengths in metres.
pub struct Tissue {
    pub(super) params: TissueParams,
    /// The visible skin that is embedded in the tissue: see [`Skin`].
    pub(super) skin: Skin,
    pub(super) lips: Lips,
    pub(super) touchable: SkinPoints,
    /// The tissue's own skin.
    pub(super) surface: CoarseSkin,
    pub(super) flesh: TissueMesh,
    pub(super) layout: Layout,
    /// Mass of each row, kg.
    pub(super) masses: Vec<f64>,
    /// Displacement of the skin by each shape at weight 1, where it is not zero.
    sparse_moves: Vec<Runs>,
    /// Attachments of the tissue to the bones.
    bones: BoneAttachment,
    /// Vertices that are rigidly fixed to the moving jaw.
    on_jaw: Vec<u32>,
    /// Shapes that carry the attachments along although they move no bone.
    carrying: Vec<usize>,
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
    misfit: Option<f64>,
}

/// Tissue as an input describes it.
struct Described {
    surface: CoarseSkin,
    flesh: TissueMesh,
    /// The layer from which the tissue can be rebuilt, if it is one layer.
    layer: Option<Layer>,
    bones: BoneAttachment,
}

impl Described {
    /// `bony` are the shapes that move the bone of the jaw.
    fn of(input: &TissueInput, bony: &[usize], params: &TissueParams) -> Result<Self, TissueError> {
        fn jaw_shapes<'a>(surface: &'a CoarseSkin, shapes: &'a [usize]) -> JawShapes<'a> {
            JawShapes { skin: &surface.positions, moves: &surface.moves, shapes }
        }
        if let Some(volume) = input.volume {
            let (surface, flesh) = volume.under_face(input, params)?;
            let of_skin = || jaw_shapes(&surface, bony).motion();
            let bones = BoneAttachment::rigid(input.bones.map_or_else(of_skin, |bones| bones.jaw.clone()));
            return Ok(Self { surface, flesh, layer: None, bones });
        }
        let surface = CoarseSkin::of_shell(input);
        let (layer, bones) = Layer::new(input, &surface, &jaw_shapes(&surface, bony), params);
        Ok(Self { flesh: layer.make(&surface)?, surface, layer: Some(layer), bones })
    }
}

/// The whole mesh of a face, embedded in the tissue.
pub(super) struct Skin {
    pub(super) embedding: Embedding,
    pub(super) neutral: Vec<Vec3>,
    /// Displacement by each shape beyond that of the embedding.
    pub(super) detail: Vec<Runs>,
}

impl Skin {
    fn new(face: &FaceModel, lips: &Lips, surface: &CoarseSkin) -> Self {
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

/// The row of each tissue vertex in a system: free vertices first, and of these the skin. Neighbours are close in memory.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Row of each vertex.
    pub(super) rows: Vec<u32>,
    /// Vertex of each row.
    pub(super) vertices: Vec<u32>,
    pub(super) free: usize,
}

impl Layout {
    /// Orders the vertices of a tissue mesh: those below the skin in the order of the skin above them.
    pub(super) fn new(flesh: &TissueMesh, skin: &CoarseSkin, is_free: impl Fn(usize) -> bool) -> Self {
        let order = along_curve(&skin.positions);
        let mut ranks = vec![0; order.len()];
        order.iter().enumerate().for_each(|(rank, vertex)| ranks[*vertex as usize] = rank);
        let mut below: Vec<u32> = (order.len() as u32..flesh.above.len() as u32).collect();
        below.sort_by_key(|vertex| ranks[flesh.above[*vertex as usize] as usize]);
        let all = order.into_iter().chain(below);
        let (free, held): (Vec<u32>, Vec<u32>) = all.partition(|vertex| is_free(*vertex as usize));
        let count = free.len();
        let vertices: Vec<u32> = free.into_iter().chain(held).collect();
        let mut rows = vec![0; vertices.len()];
        vertices.iter().enumerate().for_each(|(place, vertex)| rows[*vertex as usize] = place as u32);
        Self { rows, vertices, free: count }
    }
}

impl Tissue {
    /// Builds the tissue of a face. `jaw` lists the shapes that move the jaw
    /// ([`jaw_driven_shapes`](zygoma_rig::jaw::jaw_driven_shapes)).
    pub fn new(face: &FaceModel, jaw: &[usize], params: &TissueParams) -> Result<Self, TissueError> {
        Self::build(&TissueInput::new(face, jaw), params, &mut |_| Continue::Yes)
    }

    /// Builds the tissue of a face from all given anatomy. `progress` is called before each shape that is solved, and may cancel.
    pub fn build(
        input: &TissueInput,
        params: &TissueParams,
        progress: &mut dyn FnMut(TissueProgress) -> Continue,
    ) -> Result<Self, TissueError> {
        params.check()?;
        let may_go_on = params.fit_stiffness || params.actuation == Actuation::Forces;
        let mut teller = Teller::new(progress, may_go_on);
        let TissueInput { face, jaw, .. } = *input;
        let (carrying, bony): (Vec<usize>, Vec<usize>) = jaw.iter().partition(|shape| closes(face, **shape));
        let Described { surface, flesh, layer, bones } = Described::of(input, &bony, params)?;
        flesh.check(&surface)?;
        let layout = Layout::new(&flesh, &surface, |v| !is_kinematic(&flesh, &surface, v));
        let lips = Lips::find(face, jaw, &surface.places);
        let skin = Skin::new(face, &lips, &surface);
        let stiffness = match params.actuation {
            Actuation::Shapes => {
                let soft = surface.moves.iter().enumerate().filter(|(shape, _)| !jaw.contains(shape));
                let moves = soft.map(|(_, moves)| &moves[..]);
                StiffnessMap::by_motion(moves, surface.positions.len(), face.height)
            }
            Actuation::Forces => StiffnessMap::uniform(surface.positions.len()),
        };
        let on_jaw = (0u32..).zip(&flesh.ties).filter(|(_, tie)| **tie == Tie::Jaw);
        let mut tissue = Self {
            touchable: SkinPoints::new(face, (&surface, &skin.embedding), &flesh, &layout),
            on_jaw: on_jaw.map(|(vertex, _)| vertex).collect(),
            sparse_moves: surface.moves.iter().map(|moves| sparse(moves)).collect(),
            surface,
            skin,
            lips,
            masses: Vec::new(),
            shortening: MuscleContraction::default(),
            bare_edges: Vec::new(),
            is_alone: Vec::new(),
            bones,
            carrying,
            forces: Vec::new(),
            shape_targets: ShapeTargets::default(),
            params: params.clone(),
            flesh: TissueMesh::default(),
            layout,
            stiffness,
            misfit: None,
        };
        tissue.put_flesh(flesh);
        match params.actuation {
            Actuation::Shapes if tissue.take_solved(face) => {}
            Actuation::Shapes => {
                if params.fit_stiffness {
                    tissue.fit_stiffness(face, &mut teller)?;
                }
                tissue.shape_targets = ShapeTargets::find(&tissue, face, &mut teller)?;
            }
            Actuation::Forces => {
                tissue.find_flesh_and_forces(face, layer, &mut teller)?;
                if params.fit_stiffness {
                    tissue.fit_stiffness(face, &mut teller)?;
                    tissue.forces = tissue.find_forces(face, &mut teller)?.0;
                }
            }
        }
        Ok(tissue)
    }

    /// Finds the blendforces. Thins a layer where a shape crushes its elements; where that is not enough, removes them.
    fn find_flesh_and_forces(
        &mut self,
        face: &FaceModel,
        mut layer: Option<Layer>,
        teller: &mut Teller,
    ) -> Result<(), TissueError> {
        for look in 0..LOOKS {
            let (forces, fullness) = self.find_forces(face, teller)?;
            self.forces = forces;
            let Some(layer) = &mut layer else { break };
            let (thins, leaves_out) = (look < THINNINGS, look + 1 >= THINNINGS);
            let least = if thins { CRUSHED } else { INVERTED };
            let crushed: Vec<usize> = (0..fullness.len()).filter(|tet| fullness[*tet] < least).collect();
            if crushed.is_empty() || look + 1 == LOOKS {
                break;
            }
            let mut is_thin = vec![false; self.skin_count()];
            for tet in &crushed {
                self.flesh.skin_corners(*tet).iter().for_each(|v| is_thin[*v as usize] = thins);
                if let Some(triangle) = self.flesh.triangle_above[*tet] {
                    layer.left_out[triangle as usize] |= leaves_out && fullness[*tet] < INVERTED;
                }
            }
            let thin = layer.thickness.iter_mut().zip(is_thin).filter(|(_, is_thin)| *is_thin);
            thin.for_each(|(thickness, _)| *thickness *= THINNER);
            self.put_flesh(layer.make(&self.surface)?);
        }
        Ok(())
    }

    /// Replaces the tissue under the same skin.
    fn put_flesh(&mut self, flesh: TissueMesh) {
        self.masses = masses(&flesh, &self.layout, self.params.density);
        if self.params.actuation == Actuation::Forces {
            self.shortening = MuscleContraction::find(&flesh, &self.surface.triangles, &self.surface.moves);
        }
        self.bare_edges = edges(&flesh.bare);
        self.is_alone = vec![true; flesh.mesh.positions.len()];
        flesh.mesh.tets.iter().flatten().for_each(|v| self.is_alone[*v as usize] = false);
        self.flesh = flesh;
    }

    /// Fits stiffness by region.
    fn fit_stiffness(&mut self, face: &FaceModel, teller: &mut Teller) -> Result<(), TissueError> {
        let options =
            FitOptions { bounds: self.params.stiffness_bounds, smooth: self.params.stiffness_smooth };
        let CoarseSkin { is_held, is_loose, .. } = &self.surface;
        let is_counted: Vec<bool> =
            is_held.iter().zip(is_loose).map(|(held, loose)| !held && !loose).collect();
        let regions = Regions::spread(&self.surface.positions, self.params.stiffness_regions);
        // The equilibria below the skin depend on the stiffness.
        for _ in 0..STIFFNESS_ROUNDS {
            let poses = self.poses(face, teller)?;
            let fit = StiffnessFit {
                flesh: &self.flesh,
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
        self.flesh.mesh.tets.len()
    }

    /// Number of vertices of the whole mesh that were found to be upper and lower lip.
    pub fn lip_counts(&self) -> [usize; 2] {
        [self.lips.upper, self.lips.vertices.len() - self.lips.upper]
    }

    /// Number of skin triangles with no room for tissue below them.
    pub fn bare_count(&self) -> usize {
        self.flesh.bare.len()
    }

    /// Number of vertices of the skin.
    pub(super) fn skin_count(&self) -> usize {
        self.surface.positions.len()
    }

    /// Whether a vertex follows the rig or a bone exactly, whatever acts on it.
    pub(super) fn is_kinematic(&self, vertex: usize) -> bool {
        is_kinematic(&self.flesh, &self.surface, vertex)
    }

    /// Position that ligaments, bone or the rig give a vertex, for the given weights, displacements of the skin and pose of the jaw.
    pub(super) fn attached_place(
        &self,
        weights: &[f32],
        moved: &[DVec3],
        pose: &RigidMotion,
        vertex: usize,
    ) -> DVec3 {
        let Tie::Ligaments { jaw } = self.flesh.ties[vertex] else {
            return self.kinematic_place(moved, pose, vertex);
        };
        let above = self.flesh.above[vertex] as usize;
        let foot = AttachmentPoint {
            at: self.flesh.mesh.positions[vertex],
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
        let rest = self.flesh.mesh.positions[vertex];
        match self.flesh.ties[vertex] {
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
            let rest = self.flesh.mesh.positions[vertex];
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
        self.flesh.mesh.positions[vertex] + moved[self.flesh.above[vertex] as usize]
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
fn is_kinematic(flesh: &TissueMesh, skin: &CoarseSkin, vertex: usize) -> bool {
    match flesh.ties[vertex] {
        Tie::Free => false,
        Tie::Skin | Tie::Ligaments { .. } => skin.is_held[flesh.above[vertex] as usize],
        Tie::Cranium | Tie::Jaw => true,
    }
}

fn sparse(moves: &[DVec3]) -> Runs {
    let single: Vec<Vec3> = moves.iter().map(|way| way.as_vec3()).collect();
    Runs::from_dense(bytemuck::cast_slice(&single), 8)
}

/// Whether a shape closes the lips over a jaw that stays open.
fn closes(face: &FaceModel, shape: usize) -> bool {
    arkit::recognise(&face.shapes[shape].name).is_some_and(|recognised| recognised.shape == "mouthClose")
}

fn masses(flesh: &TissueMesh, layout: &Layout, density: f64) -> Vec<f64> {
    let mut masses = vec![0.0; layout.rows.len()];
    for (tet, volume) in flesh.mesh.tets.iter().zip(flesh.mesh.volumes()) {
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
