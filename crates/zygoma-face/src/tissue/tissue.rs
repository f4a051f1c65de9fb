//! From a face to flesh: elements, attachment and the forces that make its expressions.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::curve::along_curve;
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_geometry::topology::half_edges;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_numerics::{Checked, NotPositiveDefinite};
use zygoma_physics::projective::{Factored, Prefactored, System};
use zygoma_rig::arkit;

use super::TissueParams;
use super::bone_attachment::{AttachmentPoint, BoneAttachment, JawShapes, carried};
use super::contraction::MuscleContraction;
use super::depth::Depths;
use super::hypodermis::{Flesh, seen_normals};
use super::params::Actuation;
use super::progress::{Teller, TissueError, TissueProgress};
use super::shape_targets::ShapeTargets;
use super::skin_samples::SkinPoints;
use super::stiffness::{FitOptions, Regions, StiffnessFit, StiffnessMap};
use crate::model::Bones;
use crate::model::Continue;
use crate::model::Lips;
use crate::model::{FaceModel, FaceShape};

/// An element that a shape presses to less than this share of its volume is crushed. Ours, as those below: combinations of shapes and
/// motion press it further.
const CRUSHED: f64 = 0.15;
/// With less than this share of its volume it is as good as inside out.
const INVERTED: f64 = 0.02;
/// How often flesh is made thinner where shapes crush it, by which factor, and how often it is looked at: after the last thinning, what is
/// still inside out is left out.
const THINNINGS: usize = 2;
const LOOKS: usize = 4;
const THINNER: f64 = 0.6;
/// How often stiffness is fitted, each time to the balance that the last one gives.
const STIFFNESS_ROUNDS: usize = 2;

/// What flesh is made from.
#[derive(Clone, Copy)]
pub struct TissueInput<'a> {
    /// The face with its shell and shapes.
    pub face: &'a FaceModel,
    /// The shapes that move the jaw ([`jaw_driven_shapes`](zygoma_rig::jaw::jaw_driven_shapes)).
    pub jaw: &'a [usize],
    /// The skull, where it is known. Without, what lies under skin that the jaw carries rides along.
    pub bones: Option<&'a Bones>,
    /// Thickness of the flesh at each vertex of the whole mesh, m, where it is painted.
    pub thickness: Option<&'a [f64]>,
    /// Which vertices of the whole mesh are left free: no bone and no muscle holds them. Empty for none.
    pub free: &'a [bool],
}

impl<'a> TissueInput<'a> {
    /// A face of which nothing more is known.
    pub fn new(face: &'a FaceModel, jaw: &'a [usize]) -> Self {
        Self { face, jaw, bones: None, thickness: None, free: &[] }
    }
}

/// Flesh under a face's shell, ready to be put in motion, once or many times. Lengths in metres.
pub struct Tissue {
    pub(super) params: TissueParams,
    /// What the face shows of the flesh: see [`Skin`].
    pub(super) skin: Skin,
    pub(super) lips: Lips,
    pub(super) touchable: SkinPoints,
    pub(super) flesh: Flesh,
    pub(super) layout: Layout,
    /// Mass of each row, kg.
    pub(super) masses: Vec<f64>,
    /// Displacement of the skin by each shape at weight 1.
    pub(super) moves: Vec<Vec<DVec3>>,
    /// The same, where it is not zero.
    sparse_moves: Vec<Runs>,
    /// What the flesh is attached to.
    footing: BoneAttachment,
    /// Shapes that carry what is below the skin along though they move no bone.
    carrying: Vec<usize>,
    /// Vertices of the skin that nothing holds, nor what lies below them.
    pub(super) is_loose: Vec<bool>,
    /// Vertices of the flesh that belong to no element.
    pub(super) is_alone: Vec<bool>,
    /// Where the shapes have all of the flesh, which they drive unless forces do.
    pub(super) shape_targets: ShapeTargets,
    /// The force on each free row that holds each shape at weight 1: the blendforces, where these drive it.
    pub(super) forces: Vec<Vec<DVec3>>,
    /// Vertices of the skin that follow the rig exactly, with what lies below them.
    pub(super) is_held: Vec<bool>,
    /// Area of each vertex' skin, m².
    pub(super) areas: Vec<f64>,
    /// Edges of the skin that has no flesh below it.
    pub(super) bare_edges: Vec<[u32; 2]>,
    /// The flesh that shapes squeeze, where forces drive it.
    pub(super) shortening: MuscleContraction,
    /// How stiff the flesh is from place to place.
    pub(super) stiffness: StiffnessMap,
    misfit: Option<f64>,
}

/// The whole mesh of a face: how it follows the flesh.
pub(super) struct Skin {
    pub(super) embedding: Embedding,
    pub(super) neutral: Vec<Vec3>,
    /// What each shape adds beyond what follows the flesh.
    pub(super) detail: Vec<Runs>,
}

impl Skin {
    /// `moves` are those of the shell, in metres.
    fn new(face: &FaceModel, lips: &Lips, moves: &[Vec<DVec3>]) -> Self {
        let mut embedding = face.embedding.clone();
        lips.part(&mut embedding, face);
        let detail = |shape: usize| {
            let coarse: Vec<Vec3> = moves[shape].iter().map(|d| d.as_vec3()).collect();
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

/// Which row of a system each vertex of the flesh is: free ones first, and of these the skin. Neighbours are near each other.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Row of each vertex.
    pub(super) rows: Vec<u32>,
    /// Vertex of each row.
    pub(super) vertices: Vec<u32>,
    pub(super) free: usize,
}

impl Layout {
    /// For the vertices of a skin, and as many below them.
    pub(super) fn new(skin: &[DVec3], is_free: &[bool]) -> Self {
        let order = along_curve(skin);
        let all = order.iter().copied().chain(order.iter().map(|vertex| vertex + skin.len() as u32));
        let (free, held): (Vec<u32>, Vec<u32>) = all.partition(|vertex| is_free[*vertex as usize]);
        let count = free.len();
        let vertices: Vec<u32> = free.into_iter().chain(held).collect();
        let mut rows = vec![0; vertices.len()];
        vertices.iter().enumerate().for_each(|(place, vertex)| rows[*vertex as usize] = place as u32);
        Self { rows, vertices, free: count }
    }
}

impl Tissue {
    /// The flesh of a face. `jaw` names the shapes that move the jaw
    /// ([`jaw_driven_shapes`](zygoma_rig::jaw::jaw_driven_shapes)).
    pub fn new(face: &FaceModel, jaw: &[usize], params: &TissueParams) -> Result<Self, TissueError> {
        Self::build(&TissueInput::new(face, jaw), params, &mut |_| Continue::Yes)
    }

    /// The flesh of a face, with what is known of its inside. `progress` is told before each shape whose force is found, and may give up.
    pub fn build(
        input: &TissueInput,
        params: &TissueParams,
        progress: &mut dyn FnMut(TissueProgress) -> Continue,
    ) -> Result<Self, TissueError> {
        params.check()?;
        let may_go_on = params.fit_stiffness || params.actuation == Actuation::Forces;
        let mut teller = Teller::new(progress, may_go_on);
        let TissueInput { face, jaw, .. } = *input;
        let triangles = &face.coarse.triangles;
        let skin = face.coarse.positions.clone();
        let count = skin.len();
        let areas = face.coarse.areas();
        let is_loose = loose_vertices(input);
        let is_held: Vec<bool> = (0..count).map(|v| face.coarse.is_held[v] && !is_loose[v]).collect();
        let layout = Layout::new(&skin, &(0..2 * count).map(|v| !is_held[v % count]).collect::<Vec<_>>());
        let moves = skin_moves(face, &is_loose);
        let lips = Lips::find(face, jaw);
        let depths = Depths::find(input, &skin, &seen_normals(&skin, triangles), params);
        let make = |thickness: &[f64], left_out: &[bool]| {
            let flesh = Flesh::new(&skin, triangles, thickness.to_vec(), left_out, &params.hypodermis())?;
            if flesh.mesh.tets.is_empty() { Err(TissueError::NoRoom) } else { Ok(flesh) }
        };
        let (carrying, bony): (Vec<usize>, Vec<usize>) = jaw.iter().partition(|shape| closes(face, **shape));
        let jaw_shapes = JawShapes { skin: &skin, moves: &moves, shapes: &bony };
        let footing = match input.bones {
            Some(bones) => {
                BoneAttachment::on_bones(bones.jaw.clone(), &jaw_shapes, &depths.below, &depths.thickness)
            }
            None => BoneAttachment::of_skin(&jaw_shapes),
        };
        let stiffness = match params.actuation {
            Actuation::Shapes => {
                let soft = moves.iter().enumerate().filter(|(shape, _)| !jaw.contains(shape));
                StiffnessMap::by_motion(soft.map(|(_, moves)| &moves[..]), count, face.height)
            }
            Actuation::Forces => StiffnessMap::uniform(count),
        };
        let flesh = make(&depths.thickness, &vec![false; triangles.len()])?;
        let whole = Skin::new(face, &lips, &moves);
        let mut tissue = Self {
            touchable: SkinPoints::new(face, &whole.embedding, &layout),
            skin: whole,
            lips,
            masses: Vec::new(),
            shortening: MuscleContraction::default(),
            bare_edges: Vec::new(),
            is_alone: Vec::new(),
            sparse_moves: moves.iter().map(|moves| sparse(moves)).collect(),
            moves,
            footing,
            carrying,
            is_loose,
            forces: Vec::new(),
            shape_targets: ShapeTargets::default(),
            params: params.clone(),
            flesh: Flesh::default(),
            layout,
            is_held,
            areas,
            stiffness,
            misfit: None,
        };
        tissue.put_flesh(flesh, triangles);
        match params.actuation {
            Actuation::Shapes => {
                if params.fit_stiffness {
                    tissue.fit_stiffness(face, &mut teller)?;
                }
                tissue.shape_targets = ShapeTargets::find(&tissue, face, &mut teller)?;
            }
            Actuation::Forces => {
                tissue.find_flesh_and_forces(face, depths.thickness, make, &mut teller)?;
                if params.fit_stiffness {
                    tissue.fit_stiffness(face, &mut teller)?;
                    tissue.forces = tissue.find_forces(face, &mut teller)?.0;
                }
            }
        }
        Ok(tissue)
    }

    /// Finds the blendforces. Where a shape crushes an element, the flesh becomes thinner, and where that is not enough, there is none.
    fn find_flesh_and_forces(
        &mut self,
        face: &FaceModel,
        mut thickness: Vec<f64>,
        make: impl Fn(&[f64], &[bool]) -> Result<Flesh, TissueError>,
        teller: &mut Teller,
    ) -> Result<(), TissueError> {
        let (count, triangles) = (self.skin_count(), &face.coarse.triangles);
        let mut left_out = vec![false; triangles.len()];
        for look in 0..LOOKS {
            let (forces, fullness) = self.find_forces(face, teller)?;
            self.forces = forces;
            let (thins, leaves_out) = (look < THINNINGS, look + 1 >= THINNINGS);
            let least = if thins { CRUSHED } else { INVERTED };
            let crushed: Vec<usize> = (0..fullness.len()).filter(|tet| fullness[*tet] < least).collect();
            if crushed.is_empty() || look + 1 == LOOKS {
                break;
            }
            let mut is_thin = vec![false; count];
            for tet in &crushed {
                self.flesh.mesh.tets[*tet].iter().for_each(|v| is_thin[*v as usize % count] = thins);
                left_out[self.flesh.triangles[*tet / 3] as usize] |= leaves_out && fullness[*tet] < INVERTED;
            }
            (0..count).filter(|v| is_thin[*v]).for_each(|v| thickness[v] *= THINNER);
            self.put_flesh(make(&thickness, &left_out)?, triangles);
        }
        Ok(())
    }

    /// Other flesh under the same skin.
    fn put_flesh(&mut self, flesh: Flesh, triangles: &[[u32; 3]]) {
        self.masses = masses(&flesh, &self.layout, self.params.density);
        if self.params.actuation == Actuation::Forces {
            self.shortening = MuscleContraction::find(&flesh, triangles, &self.moves);
        }
        self.bare_edges = edges(&flesh.bare);
        self.is_alone = vec![true; flesh.mesh.positions.len()];
        flesh.mesh.tets.iter().flatten().for_each(|v| self.is_alone[*v as usize] = false);
        self.flesh = flesh;
    }

    /// Finds from place to place how stiff the flesh is.
    fn fit_stiffness(&mut self, face: &FaceModel, teller: &mut Teller) -> Result<(), TissueError> {
        let options =
            FitOptions { bounds: self.params.stiffness_bounds, smooth: self.params.stiffness_smooth };
        let is_counted: Vec<bool> =
            self.is_held.iter().zip(&self.is_loose).map(|(held, loose)| !held && !loose).collect();
        let regions =
            Regions::spread(&self.flesh.mesh.positions[..self.skin_count()], self.params.stiffness_regions);
        // The balance below the skin depends on what is found.
        for _ in 0..STIFFNESS_ROUNDS {
            let poses = self.poses(face, teller)?;
            let fit = StiffnessFit {
                flesh: &self.flesh,
                triangles: &face.coarse.triangles,
                areas: &self.areas,
                is_counted: &is_counted,
                regions: &regions,
                params: &self.params,
            };
            let (found, misfit) = fit.solve(&poses, &options);
            (self.stiffness, self.misfit) = (found, Some(misfit));
        }
        Ok(())
    }

    /// How much of the shapes' misfit to forces along them is left after stiffnesses were fitted; none where they were not.
    pub fn stiffness_misfit(&self) -> Option<f64> {
        self.misfit
    }

    /// How stiff the flesh below each vertex of the shell is over the parameters' stiffness: strain, volume and attachment.
    pub fn stiffness(&self, vertex: usize) -> [f64; 3] {
        [&self.stiffness.strain, &self.stiffness.volume, &self.stiffness.attachment].map(|map| map[vertex])
    }

    /// Where the lower jaw is for some weights, in the head's frame; unmoved where no shape moves it.
    pub fn jaw_pose(&self, weights: &[f32]) -> RigidMotion {
        self.footing.pose(weights)
    }

    /// Number of tetrahedra.
    pub fn tet_count(&self) -> usize {
        self.flesh.mesh.tets.len()
    }

    /// How many vertices of the whole mesh were found to be upper and lower lip.
    pub fn lip_counts(&self) -> [usize; 2] {
        [self.lips.upper, self.lips.vertices.len() - self.lips.upper]
    }

    /// How many triangles of the skin have no room for flesh below them.
    pub fn bare_count(&self) -> usize {
        self.flesh.bare.len()
    }

    /// Number of vertices of the skin.
    pub(super) fn skin_count(&self) -> usize {
        self.areas.len()
    }

    /// Where the bone has the hypodermis under a vertex, for some weights and the jaw's pose.
    pub(super) fn attachment(&self, weights: &[f32], pose: &RigidMotion, vertex: usize) -> DVec3 {
        let positions = &self.flesh.mesh.positions;
        let foot = AttachmentPoint {
            vertex,
            at: positions[self.skin_count() + vertex],
            skin: positions[vertex],
            moves: &self.moves,
        };
        self.footing.place(&foot, weights, pose) + carried(&self.carrying, weights, &foot)
    }

    /// How far the rig moves each vertex of the skin for some weights.
    pub(super) fn moved(&self, weights: &[f32]) -> Vec<DVec3> {
        let mut moved = vec![Vec3::ZERO; self.skin_count()];
        let fits = accumulate_runs(bytemuck::cast_slice_mut(&mut moved), weights, &self.sparse_moves);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
        moved.iter().map(|way| way.as_dvec3()).collect()
    }

    /// Where the rig has a vertex of the skin, or what lies below it and goes along, for the skin moved by so much.
    pub(super) fn target(&self, moved: &[DVec3], vertex: usize) -> DVec3 {
        self.flesh.mesh.positions[vertex] + moved[vertex % self.skin_count()]
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

/// Which vertices of the shell lie where the whole mesh is left free.
fn loose_vertices(input: &TissueInput) -> Vec<bool> {
    let is_free = |v: u32| input.free.get(v as usize).copied().unwrap_or(false);
    let face = input.face;
    let on = |place: &SurfacePoint| face.triangles[place.triangle as usize].iter().all(|v| is_free(*v));
    face.coarse.on_mesh.iter().map(on).collect()
}

/// Displacement of the shell by each shape at weight 1, m; where it is loose it follows none.
fn skin_moves(face: &FaceModel, is_loose: &[bool]) -> Vec<Vec<DVec3>> {
    let move_of = |shape: &FaceShape| -> Vec<DVec3> {
        let dense = shape.coarse.to_dense(is_loose.len());
        let moved = |(offset, loose): (&Vec3, &bool)| {
            if *loose { DVec3::ZERO } else { offset.as_dvec3() }
        };
        dense.iter().zip(is_loose).map(moved).collect()
    };
    face.shapes.iter().map(move_of).collect()
}

fn sparse(moves: &[DVec3]) -> Runs {
    let single: Vec<Vec3> = moves.iter().map(|way| way.as_vec3()).collect();
    Runs::from_dense(bytemuck::cast_slice(&single), 8)
}

/// Whether a shape closes the lips over a jaw that stays open.
fn closes(face: &FaceModel, shape: usize) -> bool {
    arkit::recognise(&face.shapes[shape].name).is_some_and(|recognised| recognised.shape == "mouthClose")
}

fn masses(flesh: &Flesh, layout: &Layout, density: f64) -> Vec<f64> {
    let mut masses = vec![0.0; layout.rows.len()];
    for (tet, volume) in flesh.mesh.tets.iter().zip(flesh.mesh.volumes()) {
        tet.iter().for_each(|v| masses[layout.rows[*v as usize] as usize] += 0.25 * density * volume);
    }
    let positive = masses.iter().copied().filter(|mass| *mass > 0.0);
    let least = positive.fold(f64::INFINITY, f64::min);
    masses.iter().map(|mass| if *mass > 0.0 { *mass } else { least }).collect()
}

/// A factor of the matrix of an equilibrium or of a step.
pub(super) fn factor<T: Factored>(
    system: &System<T>,
    diagonal: &[f64],
    candidates: &[u32],
) -> Result<Prefactored<T>, NotPositiveDefinite> {
    Prefactored::new(&system.matrix(diagonal), candidates)
}
