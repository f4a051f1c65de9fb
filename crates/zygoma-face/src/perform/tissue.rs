//! From a face to flesh: elements, attachment and the forces that make its expressions.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::normals::area_vector;
use zygoma_geometry::tets::volume;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_numerics::simd::Runs;
use zygoma_physics::projective::{
    Attachments, Elements, Factored, Handle, Precision, Prefactored, Row, SolveOptions, Solver, Stencil,
    System, TissueTets, TriangleStrain, position, row,
};
use zygoma_rig::arkit;

use super::PerformParams;
use super::hypodermis::Flesh;
use super::lips::Lips;
use super::touches::SkinPoints;
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
    /// Which shapes carry the jaw, and with it what is attached to it.
    pub(super) is_jaw: Vec<bool>,
    /// The force on each free row that holds each shape at weight 1: the blendforces.
    pub(super) forces: Vec<Vec<DVec3>>,
    /// Vertices of the skin that follow the rig exactly, with what lies below them.
    is_held: Vec<bool>,
    /// Area of each vertex' skin, m².
    areas: Vec<f64>,
    /// Stiffness with which muscles hold each vertex of the skin, N/m per m².
    tone: Vec<f64>,
}

/// The whole mesh of a face: how it follows the flesh.
pub(super) struct Skin {
    pub(super) embedding: Embedding,
    pub(super) neutral: Vec<Vec3>,
    /// What each shape adds beyond what follows the flesh.
    pub(super) detail: Vec<Runs>,
}

impl Skin {
    fn new(face: &Face, lips: &Lips) -> Self {
        let height = face.height as f32;
        let mut embedding = face.embedding.clone();
        lips.part(&mut embedding, face);
        let detail = |shape: usize| {
            let coarse = face.shapes[shape].coarse.to_dense(face.shell.vertex_count());
            let mut dense = face.displacements(shape);
            for (vertex, offset) in dense.iter_mut().enumerate() {
                *offset = height * (*offset - embedding.displacement(vertex, &coarse));
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
    fn new(is_free: &[bool]) -> Self {
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
    pub fn new(face: &Face, jaw: &[usize], params: &PerformParams) -> Result<Self, NotPositiveDefinite> {
        let skin: Vec<DVec3> = face.shell.rest.iter().map(|p| face.height * *p).collect();
        let count = skin.len();
        let areas: Vec<f64> = face.shell.area.iter().map(|area| area * face.height * face.height).collect();
        let is_held = face.held.clone();
        let layout = Layout::new(&(0..2 * count).map(|v| !is_held[v % count]).collect::<Vec<_>>());
        let move_of = |shape: &FaceShape| -> Vec<DVec3> {
            shape.coarse.to_dense(count).iter().map(|offset| face.height * offset.as_dvec3()).collect()
        };
        let lips = Lips::find(face, jaw);
        let mut thickness = vec![params.thickness; count];
        let make = |thickness: &[f64], left_out: &[bool]| {
            Flesh::new(&skin, &face.shell.triangles, thickness.to_vec(), left_out, &params.hypodermis())
        };
        let mut left_out = vec![false; face.shell.triangles.len()];
        let flesh = make(&thickness, &left_out)?;
        let whole = Skin::new(face, &lips);
        let mut tissue = Self {
            touchable: SkinPoints::new(face, &whole.embedding, &layout),
            skin: whole,
            lips,
            masses: masses(&flesh, &layout, params.density),
            moves: face.shapes.iter().map(move_of).collect(),
            is_jaw: (0..face.shapes.len()).map(|shape| jaw.contains(&shape)).collect(),
            forces: Vec::new(),
            params: params.clone(),
            flesh,
            layout,
            is_held,
            areas,
            tone: Vec::new(),
        };
        let squeeze = squeeze(&skin, &face.shell.triangles, &tissue.moves);
        tissue.tone = squeeze.iter().map(|s| params.tone * (1.0 + params.bracing * s)).collect();
        // Where a shape crushes an element, the flesh becomes thinner, and where that is not enough, there is none.
        for round in 0..=THINNINGS {
            let (forces, fullness) = tissue.find_forces(face)?;
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
        Ok(tissue)
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
                tets.push(&stencil, params.material().tissue(stencil.size, 1.0));
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
        let mut holds = Attachments::new();
        for vertex in 0..2 * self.skin_count() {
            let at = self.flesh.mesh.positions[vertex];
            holds.push(&Stencil::vertex(layout.rows[vertex]), self.hold(vertex, at));
        }
        let fits = "the layout has a row for every vertex";
        system.add(tets).expect(fits);
        system.add(sheet).expect(fits);
        let holds = system.add(holds).expect(fits);
        (system, holds)
    }

    /// Where the bone has the hypodermis under each vertex for some weights: what lies under skin that the jaw carries rides along.
    pub(super) fn attachment(&self, weights: &[f32], vertex: usize) -> DVec3 {
        let carried: DVec3 = (0..weights.len())
            .filter(|shape| self.is_jaw[*shape] && weights[*shape] != 0.0)
            .map(|shape| f64::from(weights[shape]) * self.moves[shape][vertex])
            .sum();
        self.flesh.mesh.positions[self.skin_count() + vertex] + carried
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
        for vertex in 0..skin {
            holds.set_parameters(vertex, self.hold(vertex, self.target(weights, vertex)));
            holds.set_parameters(skin + vertex, self.hold(skin + vertex, self.attachment(weights, vertex)));
        }
    }

    /// Parameters of what holds a vertex somewhere: the tone of the muscles for the skin, the bone for what lies below it.
    fn hold(&self, vertex: usize, at: DVec3) -> [f64; 4] {
        let skin = self.skin_count();
        let stiffness = if vertex < skin { self.tone[vertex] } else { self.params.attachment };
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

    /// The blendforces: what holds the skin at each shape while the flesh below it is in equilibrium.
    ///
    /// The paper takes the shapes themselves for forces, c B, and fits stiffnesses for which these hold them; taking what holds
    /// them leaves no such error to a fit. `mouthClose` is made on top of an open jaw, and so is its force.
    ///
    /// Beside them the least share of its volume that each element keeps.
    fn find_forces(&self, face: &Face) -> Result<(Vec<Vec<DVec3>>, Vec<f64>), NotPositiveDefinite> {
        let count = self.skin_count();
        let is_free: Vec<bool> = (0..2 * count).map(|v| v >= count && !self.is_held[v - count]).collect();
        let pinned = Layout::new(&is_free);
        let (mut below, holds) = self.system::<f32>(&pinned);
        let (mut all, all_holds) = self.system::<f32>(&self.layout);
        let mut global = Prefactored::<f32>::new(&below.matrix(&[]), &[])?;
        let rest = self.flesh.mesh.volumes();
        let mut fullness = vec![1.0_f64; rest.len()];
        let mut held = |weights: &[f32]| -> Vec<DVec3> {
            self.attach(&mut below, holds, weights);
            self.attach(&mut all, all_holds, weights);
            let mut x: Vec<Row<f32>> =
                pinned.vertices.iter().map(|v| row(self.target(weights, *v as usize))).collect();
            let options = SolveOptions { iterations: 40, tolerance: 1e-3, ..Default::default() };
            Solver::new(&below).minimise(&below, None, &mut global, &options, &mut x);
            let place = |v: &u32| x[pinned.rows[*v as usize] as usize];
            for ((tet, rest), least) in self.flesh.mesh.tets.iter().zip(&rest).zip(&mut fullness) {
                *least = least.min(volume(tet.map(|v| position(&place(&v)))) / rest);
            }
            let x: Vec<Row<f32>> = self.layout.vertices.iter().map(place).collect();
            let mut gradient = x.clone();
            all.energy_and_gradient(&x, &mut gradient);
            // Below the skin what is left is the tolerance of the equilibrium.
            let force = |(place, g): (usize, &Row<f32>)| {
                let is_skin = (self.layout.vertices[place] as usize) < count;
                if is_skin { position(g) } else { DVec3::ZERO }
            };
            gradient[..self.layout.free].iter().enumerate().map(force).collect()
        };
        let shapes = face.shapes.len();
        let only = |shapes_at_one: &[usize]| -> Vec<f32> {
            (0..shapes).map(|shape| if shapes_at_one.contains(&shape) { 1.0 } else { 0.0 }).collect()
        };
        let mut forces = Vec::with_capacity(shapes);
        for shape in 0..shapes {
            forces.push(match base_shape(face, shape) {
                None => held(&only(&[shape])),
                Some(base) => {
                    let (both, alone) = (held(&only(&[shape, base])), held(&only(&[base])));
                    both.iter().zip(&alone).map(|(a, b)| *a - *b).collect()
                }
            });
        }
        Ok((forces, fullness))
    }
}

/// The shape on top of which another is made.
fn base_shape(face: &Face, shape: usize) -> Option<usize> {
    let is = |index: usize, wanted: &str| {
        arkit::recognise(&face.shapes[index].name).is_some_and(|recognised| recognised.shape == wanted)
    };
    is(shape, "mouthClose").then(|| (0..face.shapes.len()).find(|index| is(*index, "jawOpen"))).flatten()
}

/// How much of its area the skin around each vertex loses by some shape, beyond what it bears without folding.
fn squeeze(skin: &[DVec3], triangles: &[[u32; 3]], moves: &[Vec<DVec3>]) -> Vec<f64> {
    // Ours: a fifth is common in smiles and brows, and stays smooth.
    const BORNE: f64 = 0.2;
    let mut most = vec![0.0_f64; skin.len()];
    for moved in moves {
        for t in triangles {
            let area = |at: &dyn Fn(usize) -> DVec3| {
                let [a, b, c] = t.map(|v| at(v as usize));
                area_vector(a, b, c).length()
            };
            let lost = 1.0 - area(&|v| skin[v] + moved[v]) / area(&|v| skin[v]) - BORNE;
            t.iter().for_each(|v| most[*v as usize] = most[*v as usize].max(lost));
        }
    }
    most
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
