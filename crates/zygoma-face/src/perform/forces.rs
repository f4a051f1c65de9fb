//! The forces that make the expressions: what holds the artist's shapes.

use glam::DVec3;
use zygoma_geometry::tets::volume;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::projective::{Prefactored, Row, SolveOptions, Solver, System, position, row};
use zygoma_rig::arkit;

use super::elements::Expressed;
use super::progress::{Teller, TissueError};
use super::shortening::Shortened;
use super::stiffness::Posed;
use super::tissue::{Layout, Tissue};
use crate::interactive::Face;

/// Flesh whose skin is held where the rig has it, the rest in balance.
struct Held {
    /// All vertices.
    positions: Vec<DVec3>,
    /// The force on each free row that holds it.
    forces: Vec<DVec3>,
}

/// Finds what holds expressions.
struct Holder<'a> {
    tissue: &'a Tissue,
    /// The skin is not free here.
    pinned: Layout,
    below: System<f32>,
    below_expressed: Expressed<f32>,
    all: System<f32>,
    all_expressed: Expressed<f32>,
    global: Prefactored<f32>,
}

impl<'a> Holder<'a> {
    fn new(tissue: &'a Tissue) -> Result<Self, NotPositiveDefinite> {
        let count = tissue.skin_count();
        let is_free: Vec<bool> = (0..2 * count)
            .map(|v| (v >= count || tissue.is_loose[v]) && !tissue.is_held[v % count])
            .collect();
        let pinned = Layout::new(&tissue.flesh.mesh.positions[..count], &is_free);
        let (below, below_expressed) = tissue.system::<f32>(&pinned);
        let (all, all_expressed) = tissue.system::<f32>(&tissue.layout);
        let global = Prefactored::<f32>::new(&below.matrix(&[]), &[])?;
        Ok(Self { tissue, pinned, below, below_expressed, all, all_expressed, global })
    }

    fn hold(&mut self, weights: &[f32]) -> Held {
        let (tissue, pinned) = (self.tissue, &self.pinned);
        let moved = tissue.moved(weights);
        tissue.express(weights, &moved, &mut self.below, &mut self.below_expressed);
        tissue.express(weights, &moved, &mut self.all, &mut self.all_expressed);
        let mut x: Vec<Row<f32>> =
            pinned.vertices.iter().map(|v| row(tissue.target(&moved, *v as usize))).collect();
        let options = SolveOptions { iterations: 40, tolerance: 1e-3, ..Default::default() };
        Solver::new(&self.below).minimise(&self.below, None, &mut self.global, &options, &mut x);
        let place = |v: &u32| x[pinned.rows[*v as usize] as usize];
        let ordered: Vec<Row<f32>> = tissue.layout.vertices.iter().map(place).collect();
        let mut gradient = ordered.clone();
        self.all.energy_and_gradient(&ordered, &mut gradient);
        // Below the skin, and where it is loose, what is left is the tolerance of the equilibrium.
        let force = |(place, g): (usize, &Row<f32>)| {
            let vertex = tissue.layout.vertices[place] as usize;
            let is_driven = vertex < tissue.skin_count() && !tissue.is_loose[vertex];
            if is_driven { position(g) } else { DVec3::ZERO }
        };
        Held {
            positions: pinned.rows.iter().map(|place| position(&x[*place as usize])).collect(),
            forces: gradient[..tissue.layout.free].iter().enumerate().map(force).collect(),
        }
    }
}

impl Tissue {
    /// The blendforces: what holds the skin at each shape while the flesh below it is in equilibrium.
    ///
    /// The paper takes the shapes themselves for forces, c B, and fits stiffnesses for which these hold them; taking what holds
    /// them leaves no such error to a fit. `mouthClose` is made on top of an open jaw, and so is its force.
    ///
    /// Beside them the least share of its volume that each element keeps, half way and at the end of each shape.
    pub(super) fn find_forces(
        &self,
        face: &Face,
        teller: &mut Teller,
    ) -> Result<(Vec<Vec<DVec3>>, Vec<f64>), TissueError> {
        let mut holder = Holder::new(self)?;
        let rest = &self.flesh.mesh.positions;
        let volumes = self.flesh.mesh.volumes();
        let mut fullness = vec![1.0_f64; volumes.len()];
        let mut held = |weights: &[f32]| -> Vec<DVec3> {
            let Held { positions, forces } = holder.hold(weights);
            // On their way shapes cross what they end clear of, as lids cross the eye.
            let on_the_way = |v: u32, share: f64| rest[v as usize].lerp(positions[v as usize], share);
            for ((tet, volume_at_rest), least) in self.flesh.mesh.tets.iter().zip(&volumes).zip(&mut fullness)
            {
                for share in [0.5, 1.0] {
                    *least = least.min(volume(tet.map(|v| on_the_way(v, share))) / volume_at_rest);
                }
            }
            forces
        };
        let shapes = face.shapes.len();
        let mut forces = Vec::with_capacity(shapes);
        for shape in 0..shapes {
            teller.tell(shape, shapes)?;
            let mut of_shape: Vec<DVec3> = match base_shape(face, shape) {
                None => held(&only(shapes, &[shape])),
                Some(base) => {
                    let (both, alone) = (held(&only(shapes, &[shape, base])), held(&only(shapes, &[base])));
                    both.iter().zip(&alone).map(|(a, b)| *a - *b).collect()
                }
            };
            quieten(&mut of_shape);
            forces.push(of_shape);
        }
        teller.end_round();
        Ok((forces, fullness))
    }

    /// The flesh posed by each shape alone; those that are made on top of another are left out.
    pub(super) fn poses(&self, face: &Face, teller: &mut Teller) -> Result<Vec<Posed>, TissueError> {
        let mut holder = Holder::new(self)?;
        let shapes = face.shapes.len();
        let mut pose = |shape: usize| {
            teller.tell(shape, shapes)?;
            let weights = only(shapes, &[shape]);
            let jaw = self.jaw_pose(&weights);
            let feet = (0..self.skin_count()).map(|v| self.attachment(&weights, &jaw, v)).collect();
            let mut shapes = vec![Shortened::NOT; self.flesh.mesh.tets.len()];
            let moved = self.moved(&weights);
            self.shortening.each(
                |v| self.target(&moved, v as usize),
                |_, tets, shortened| {
                    self.shortening.tets[tets].iter().for_each(|tet| shapes[*tet as usize] = *shortened);
                },
            );
            Ok(Posed { positions: holder.hold(&weights).positions, feet, moves: moved, shapes })
        };
        let poses = (0..shapes).filter(|shape| base_shape(face, *shape).is_none()).map(&mut pose).collect();
        teller.end_round();
        poses
    }
}

/// Forces below this share of a shape's largest are what the search for its equilibrium left, far from what it moves; without them a frame has a
/// tenth of the forces to add up. Ours.
const QUIET: f64 = 1e-4;

/// Takes out forces that only are what a search left.
fn quieten(forces: &mut [DVec3]) {
    let least = QUIET * forces.iter().map(|force| force.length()).fold(0.0, f64::max);
    forces.iter_mut().filter(|force| force.length() < least).for_each(|force| *force = DVec3::ZERO);
}

/// Weights that are 1 for some shapes and 0 for all others.
fn only(count: usize, shapes_at_one: &[usize]) -> Vec<f32> {
    (0..count).map(|shape| if shapes_at_one.contains(&shape) { 1.0 } else { 0.0 }).collect()
}

/// The shape on top of which another is made.
fn base_shape(face: &Face, shape: usize) -> Option<usize> {
    let is = |index: usize, wanted: &str| {
        arkit::recognise(&face.shapes[index].name).is_some_and(|recognised| recognised.shape == wanted)
    };
    is(shape, "mouthClose").then(|| (0..face.shapes.len()).find(|index| is(*index, "jawOpen"))).flatten()
}
