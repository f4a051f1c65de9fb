//! From a face to flesh: elements, attachment and the forces that make its expressions.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::normals::area_vector;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_numerics::simd::Runs;
use zygoma_physics::projective::{
    Attachments, Elements, Factored, Handle, Precision, Prefactored, Stencil, System, TissueTets,
    TriangleStrain,
};
use zygoma_rig::arkit;

use super::PerformParams;
use super::bones::Bones;
use super::depth::Depths;
use super::footing::{Foot, Footing, JawShapes, carried};
use super::hypodermis::{Flesh, seen_normals};
use super::lips::Lips;
use super::progress::{Teller, TissueError, TissueProgress};
use super::stiffness::{FitOptions, Regions, StiffnessFit, StiffnessMap};
use super::touches::SkinPoints;
use crate::interactive::fit::Continue;
use crate::interactive::{Face, FaceShape};

/// Thickness of skin without flesh, m. Ours.
const BARE_SKIN: f64 = 2e-3;

/// An element that a shape presses to less than this share of its volume is crushed. Ours, as those below: combinations of shapes and
/// motion press it further.
const CRUSHED: f64 = 0.15;
/// With less than this share of its volume it is as good as inside out.
const INVERTED: f64 = 0.02;
/// How often flesh is made thinner where shapes crush it, by which factor.
const THINNINGS: usize = 2;
const THINNER: f64 = 0.6;
/// From this weight on a shape that squeezes the skin braces it fully: folds begin early. Ours.
const BRACED: f64 = 0.3;
/// How often stiffness is fitted, each time to the balance that the last one gives.
const STIFFNESS_ROUNDS: usize = 2;

/// What flesh is made from.
#[derive(Clone, Copy)]
pub struct TissueInput<'a> {
    /// The face with its shell and shapes.
    pub face: &'a Face,
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
    pub fn new(face: &'a Face, jaw: &'a [usize]) -> Self {
        Self { face, jaw, bones: None, thickness: None, free: &[] }
    }
}

/// Flesh under a face's shell, ready to be put in motion, once or many times. Lengths in metres.
pub struct Tissue {
    pub(super) params: PerformParams,
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
    /// What the flesh is attached to.
    footing: Footing,
    /// Shapes that carry what is below the skin along though they move no bone.
    carrying: Vec<usize>,
    /// Vertices of the skin that nothing holds, nor what lies below them.
    pub(super) is_loose: Vec<bool>,
    /// The force on each free row that holds each shape at weight 1: the blendforces.
    pub(super) forces: Vec<Vec<DVec3>>,
    /// Vertices of the skin that follow the rig exactly, with what lies below them.
    pub(super) is_held: Vec<bool>,
    /// Area of each vertex' skin, m².
    areas: Vec<f64>,
    /// How much of its area the skin around a vertex loses by each shape, beyond what it bears, where it does.
    squeeze: Vec<Vec<(u32, f64)>>,
    /// How stiff the flesh is from place to place.
    stiffness: StiffnessMap,
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
    fn new(face: &Face, lips: &Lips, moves: &[Vec<DVec3>]) -> Self {
        let height = face.height as f32;
        let mut embedding = face.embedding.clone();
        lips.part(&mut embedding, face);
        let detail = |shape: usize| {
            let coarse: Vec<Vec3> = moves[shape].iter().map(|d| d.as_vec3()).collect();
            let mut dense = face.displacements(shape);
            for (vertex, offset) in dense.iter_mut().enumerate() {
                *offset = height * *offset - embedding.displacement(vertex, &coarse);
            }
            Runs::from_dense(bytemuck::cast_slice(&dense), 8)
        };
        Self {
            neutral: face.neutral.iter().map(|p| height * *p).collect(),
            detail: (0..face.shapes.len()).into_par_iter().map(detail).collect(),
            embedding,
        }
    }
}

/// Which row of a system each vertex of the flesh is: free ones first.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Row of each vertex.
    pub(super) rows: Vec<u32>,
    /// Vertex of each row.
    pub(super) vertices: Vec<u32>,
    pub(super) free: usize,
}

impl Layout {
    pub(super) fn new(is_free: &[bool]) -> Self {
        let (free, held): (Vec<u32>, Vec<u32>) =
            (0..is_free.len() as u32).partition(|vertex| is_free[*vertex as usize]);
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
    pub fn new(face: &Face, jaw: &[usize], params: &PerformParams) -> Result<Self, TissueError> {
        Self::build(&TissueInput::new(face, jaw), params, &mut |_| Continue::Yes)
    }

    /// The flesh of a face, with what is known of its inside. `progress` is told before each shape whose force is found, and may give up.
    pub fn build(
        input: &TissueInput,
        params: &PerformParams,
        progress: &mut dyn FnMut(TissueProgress) -> Continue,
    ) -> Result<Self, TissueError> {
        params.check()?;
        let mut teller = Teller::new(progress);
        let TissueInput { face, jaw, .. } = *input;
        let triangles = &face.shell.triangles;
        let skin: Vec<DVec3> = face.shell.rest.iter().map(|p| face.height * *p).collect();
        let count = skin.len();
        let areas: Vec<f64> = face.shell.area.iter().map(|area| area * face.height * face.height).collect();
        let is_loose = loose_vertices(input);
        let is_held: Vec<bool> = (0..count).map(|v| face.held[v] && !is_loose[v]).collect();
        let layout = Layout::new(&(0..2 * count).map(|v| !is_held[v % count]).collect::<Vec<_>>());
        let moves = skin_moves(face, &is_loose);
        let lips = Lips::find(face, jaw);
        let depths = Depths::find(input, &skin, &seen_normals(&skin, triangles), params);
        let mut thickness = depths.thickness.clone();
        let make = |thickness: &[f64], left_out: &[bool]| {
            Flesh::new(&skin, triangles, thickness.to_vec(), left_out, &params.hypodermis())
        };
        let (carrying, bony): (Vec<usize>, Vec<usize>) = jaw.iter().partition(|shape| closes(face, **shape));
        let jaw_shapes = JawShapes { skin: &skin, moves: &moves, shapes: &bony };
        let footing = match input.bones {
            Some(bones) => {
                Footing::on_bones(bones.jaw.clone(), &jaw_shapes, &depths.below, &depths.thickness)
            }
            None => Footing::of_skin(&jaw_shapes),
        };
        let squeeze = squeeze(&skin, triangles, &moves);
        let mut left_out = vec![false; triangles.len()];
        let flesh = make(&thickness, &left_out)?;
        let whole = Skin::new(face, &lips, &moves);
        let mut tissue = Self {
            touchable: SkinPoints::new(face, &whole.embedding, &layout),
            skin: whole,
            lips,
            masses: masses(&flesh, &layout, params.density),
            moves,
            footing,
            carrying,
            is_loose,
            forces: Vec::new(),
            params: params.clone(),
            flesh,
            layout,
            is_held,
            areas,
            squeeze,
            stiffness: StiffnessMap::uniform(count),
            misfit: None,
        };
        // Where a shape crushes an element, the flesh becomes thinner, and where that is not enough, there is none.
        for round in 0..=THINNINGS {
            let (forces, fullness) = tissue.find_forces(face, &mut teller)?;
            tissue.forces = forces;
            let crushed: Vec<usize> = (0..fullness.len()).filter(|tet| fullness[*tet] < CRUSHED).collect();
            if crushed.is_empty() || round == THINNINGS {
                break;
            }
            let mut is_thin = vec![false; count];
            for tet in &crushed {
                tissue.flesh.mesh.tets[*tet].iter().for_each(|v| is_thin[*v as usize % count] = true);
                left_out[tissue.flesh.triangles[*tet / 3] as usize] |=
                    round + 1 == THINNINGS && fullness[*tet] < INVERTED;
            }
            (0..count).filter(|v| is_thin[*v]).for_each(|v| thickness[v] *= THINNER);
            tissue.flesh = make(&thickness, &left_out)?;
            tissue.masses = masses(&tissue.flesh, &tissue.layout, tissue.params.density);
        }
        if params.fit_stiffness {
            tissue.fit_stiffness(face, &mut teller)?;
        }
        Ok(tissue)
    }

    /// Finds from place to place how stiff the flesh is, and the forces anew.
    fn fit_stiffness(&mut self, face: &Face, teller: &mut Teller) -> Result<(), TissueError> {
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
                triangles: &face.shell.triangles,
                areas: &self.areas,
                is_counted: &is_counted,
                regions: &regions,
                params: &self.params,
            };
            let (found, misfit) = fit.solve(&poses, &options);
            (self.stiffness, self.misfit) = (found, Some(misfit));
        }
        self.forces = self.find_forces(face, teller)?.0;
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

    /// The elements, with vertices in the order of a layout.
    pub(super) fn system<T: Precision>(&self, layout: &Layout) -> (System<T>, Handle<Attachments<T>>) {
        let params = &self.params;
        let mut system = System::new(layout.rows.len(), layout.free);
        let rest: Vec<DVec3> =
            layout.vertices.iter().map(|v| self.flesh.mesh.positions[*v as usize]).collect();
        let mut tets = TissueTets::new();
        for tet in &self.flesh.mesh.tets {
            if let Some(stencil) = Stencil::tetrahedron(&rest, tet.map(|v| layout.rows[v as usize])) {
                let [strain, volume] = self.stiffness.of_element(tet);
                let mut weights = params.material().tissue(stencil.size, 1.0);
                weights[0] *= strain;
                weights[1] *= volume;
                tets.push(&stencil, weights);
            }
        }
        // Where there is no room for flesh, skin alone holds together.
        let mut sheet = Elements::<T, TriangleStrain, 3, 2, 1>::new();
        for t in &self.flesh.bare {
            if let Some(stencil) = Stencil::triangle(&rest, t.map(|v| layout.rows[v as usize])) {
                let weight = params.material().sheet_strain_weight(BARE_SKIN) * stencil.size;
                sheet.push(&stencil, [weight]);
            }
        }
        // A factor of this system is for the firmest hold: what is softer is found by the search.
        let tone = self.tone(&vec![1.0; self.moves.len()]);
        let mut holds = Attachments::new();
        for vertex in 0..2 * self.skin_count() {
            let at = self.flesh.mesh.positions[vertex];
            holds.push(&Stencil::vertex(layout.rows[vertex]), self.hold(vertex, at, &tone));
        }
        let fits = "the layout has a row for every vertex";
        system.add(tets).expect(fits);
        system.add(sheet).expect(fits);
        let holds = system.add(holds).expect(fits);
        (system, holds)
    }

    /// Where the bone has the hypodermis under a vertex, for some weights and the jaw's pose.
    pub(super) fn attachment(&self, weights: &[f32], pose: &RigidMotion, vertex: usize) -> DVec3 {
        let positions = &self.flesh.mesh.positions;
        let foot = Foot {
            vertex,
            at: positions[self.skin_count() + vertex],
            skin: positions[vertex],
            moves: &self.moves,
        };
        self.footing.place(&foot, weights, pose) + carried(&self.carrying, weights, &foot)
    }

    /// Tells the attachments where the bone is.
    pub(super) fn attach<T: Precision>(
        &self,
        system: &mut System<T>,
        holds: Handle<Attachments<T>>,
        weights: &[f32],
    ) {
        let holds = system.group_mut(holds);
        let skin = self.skin_count();
        let (pose, tone) = (self.jaw_pose(weights), self.tone(weights));
        for vertex in 0..skin {
            holds.set_parameters(vertex, self.hold(vertex, self.target(weights, vertex), &tone));
            let below = self.attachment(weights, &pose, vertex);
            holds.set_parameters(skin + vertex, self.hold(skin + vertex, below, &tone));
        }
    }

    /// Stiffness with which muscles hold each vertex of the skin for some weights, N/m per m²: a shape that squeezes the skin makes it firmer.
    fn tone(&self, weights: &[f32]) -> Vec<f64> {
        let PerformParams { tone, bracing, .. } = self.params;
        let mut firm = vec![tone; self.skin_count()];
        for (weight, squeeze) in weights.iter().zip(&self.squeeze).filter(|(weight, _)| **weight > 0.0) {
            let share = (f64::from(*weight) / BRACED).min(1.0);
            for (vertex, lost) in squeeze {
                let firm = &mut firm[*vertex as usize];
                *firm = firm.max(tone * (1.0 + bracing * share * lost));
            }
        }
        firm
    }

    /// Parameters of what holds a vertex somewhere: the tone of the muscles for the skin, the bone for what lies below it.
    fn hold(&self, vertex: usize, at: DVec3, tone: &[f64]) -> [f64; 4] {
        let skin = self.skin_count();
        let stiffness = match vertex {
            _ if self.is_loose[vertex % skin] => 0.0,
            _ if vertex < skin => tone[vertex],
            _ => self.params.attachment * self.stiffness.attachment[vertex - skin],
        };
        [stiffness * self.areas[vertex % skin], at.x, at.y, at.z]
    }

    /// Puts a vertex of the skin, and what lies below it, where the rig has it.
    pub(super) fn target(&self, weights: &[f32], vertex: usize) -> DVec3 {
        let skin = vertex % self.skin_count();
        let moved: DVec3 = (0..weights.len())
            .filter(|shape| weights[*shape] != 0.0)
            .map(|shape| f64::from(weights[shape]) * self.moves[shape][skin])
            .sum();
        self.flesh.mesh.positions[vertex] + moved
    }
}

/// Which vertices of the shell lie where the whole mesh is left free.
fn loose_vertices(input: &TissueInput) -> Vec<bool> {
    let is_free = |v: u32| input.free.get(v as usize).copied().unwrap_or(false);
    let face = input.face;
    let on = |place: &SurfacePoint| face.triangles[place.triangle as usize].iter().all(|v| is_free(*v));
    face.places.iter().map(on).collect()
}

/// Displacement of the shell by each shape at weight 1, m; where it is loose it follows none.
fn skin_moves(face: &Face, is_loose: &[bool]) -> Vec<Vec<DVec3>> {
    let move_of = |shape: &FaceShape| -> Vec<DVec3> {
        let dense = shape.coarse.to_dense(is_loose.len());
        let moved = |(offset, loose): (&Vec3, &bool)| {
            if *loose { DVec3::ZERO } else { face.height * offset.as_dvec3() }
        };
        dense.iter().zip(is_loose).map(moved).collect()
    };
    face.shapes.iter().map(move_of).collect()
}

/// Whether a shape closes the lips over a jaw that stays open.
fn closes(face: &Face, shape: usize) -> bool {
    arkit::recognise(&face.shapes[shape].name).is_some_and(|recognised| recognised.shape == "mouthClose")
}

/// How much of its area the skin around each vertex loses by each shape, beyond what it bears without folding.
fn squeeze(skin: &[DVec3], triangles: &[[u32; 3]], moves: &[Vec<DVec3>]) -> Vec<Vec<(u32, f64)>> {
    // Ours: a fifth is common in smiles and brows, and stays smooth.
    const BORNE: f64 = 0.2;
    let by_shape = |moved: &Vec<DVec3>| {
        let mut most = vec![0.0_f64; skin.len()];
        for t in triangles {
            let area = |at: &dyn Fn(usize) -> DVec3| {
                let [a, b, c] = t.map(|v| at(v as usize));
                area_vector(a, b, c).length()
            };
            let lost = 1.0 - area(&|v| skin[v] + moved[v]) / area(&|v| skin[v]) - BORNE;
            t.iter().for_each(|v| most[*v as usize] = most[*v as usize].max(lost));
        }
        (0..).zip(most).filter(|(_, lost)| *lost > 0.0).collect()
    };
    moves.par_iter().map(by_shape).collect()
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
