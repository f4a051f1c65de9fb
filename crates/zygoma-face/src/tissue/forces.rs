//! Blendforces: the forces that hold the artist's shapes.

use glam::DVec3;
use zygoma_geometry::tets::volume;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::projective::{Row, System, position, row};

use super::build::Tissue;
use super::contraction::ContractedShape;
use super::elements::Expressed;
use super::hold::{Holder, only};
use super::progress::{ProgressReporter, TissueError};
use super::stiffness::Posed;
use crate::model::FaceModel;
use crate::volume::Tie;

/// Finds the forces that hold expressions.
struct Forces<'a> {
    tissue: &'a Tissue,
    holder: Holder<'a>,
    system: System<f32>,
    expressed: Expressed<f32>,
}

impl<'a> Forces<'a> {
    fn new(tissue: &'a Tissue) -> Result<Self, NotPositiveDefinite> {
        let (system, expressed) = tissue.system::<f32>(&tissue.layout);
        Ok(Self { tissue, holder: Holder::new(tissue)?, system, expressed })
    }

    /// All vertices, and the force on each free row that holds them.
    fn find(&mut self, weights: &[f32]) -> (Vec<DVec3>, Vec<DVec3>) {
        let tissue = self.tissue;
        let positions = self.holder.hold(weights);
        tissue.express(weights, &tissue.moved(weights), &mut self.system, &mut self.expressed);
        let x: Vec<Row<f32>> = tissue.layout.vertices.iter().map(|v| row(positions[*v as usize])).collect();
        let mut gradient = x.clone();
        self.system.energy_and_gradient(&x, &mut gradient);
        // Below the skin, and where it is loose, the gradient is the residual of the equilibrium.
        let force = |(place, g): (usize, &Row<f32>)| {
            let vertex = tissue.layout.vertices[place] as usize;
            let is_driven = tissue.tissue_mesh.ties[vertex] == Tie::Skin && !tissue.surface.is_loose[vertex];
            if is_driven { position(g) } else { DVec3::ZERO }
        };
        let forces = gradient[..tissue.layout.free].iter().enumerate().map(force).collect();
        (positions, forces)
    }
}

impl Tissue {
    /// The blendforces: forces that hold the skin at each shape while the tissue below it is in equilibrium.
    ///
    /// The paper takes the shapes themselves for forces, c B, and fits stiffnesses for which these hold them; to take the holding forces
    /// leaves no such error to a fit. `mouthClose` is sculpted on top of an open jaw, and so is its force.
    ///
    /// Also returns the smallest fraction of its volume that each element keeps, at half and at full weight of each shape.
    pub(super) fn find_forces(
        &self,
        face: &FaceModel,
        reporter: &mut ProgressReporter,
    ) -> Result<(Vec<Vec<DVec3>>, Vec<f64>), TissueError> {
        let mut finder = Forces::new(self)?;
        let rest = &self.tissue_mesh.mesh.positions;
        let volumes = self.tissue_mesh.mesh.volumes();
        let mut fullness = vec![1.0_f64; volumes.len()];
        let mut held = |weights: &[f32]| -> Vec<DVec3> {
            let (positions, forces) = finder.find(weights);
            // At half weight shapes pass through places that they end clear of, as lids pass through the eye.
            let on_the_way = |v: u32, fraction: f64| rest[v as usize].lerp(positions[v as usize], fraction);
            for ((tet, volume_at_rest), least) in
                self.tissue_mesh.mesh.tets.iter().zip(&volumes).zip(&mut fullness)
            {
                for fraction in [0.5, 1.0] {
                    *least = least.min(volume(tet.map(|v| on_the_way(v, fraction))) / volume_at_rest);
                }
            }
            forces
        };
        let shapes = face.shapes.len();
        let mut forces = Vec::with_capacity(shapes);
        for shape in 0..shapes {
            reporter.report(shape, shapes)?;
            let mut of_shape: Vec<DVec3> = match face.base_shape(shape) {
                None => held(&only(shapes, &[shape])),
                Some(base) => {
                    let (both, alone) = (held(&only(shapes, &[shape, base])), held(&only(shapes, &[base])));
                    both.iter().zip(&alone).map(|(a, b)| *a - *b).collect()
                }
            };
            quieten(&mut of_shape);
            forces.push(of_shape);
        }
        reporter.end_round();
        Ok((forces, fullness))
    }

    /// The tissue posed by each shape alone; shapes that are sculpted on top of another are left out.
    pub(super) fn poses(
        &self,
        face: &FaceModel,
        reporter: &mut ProgressReporter,
    ) -> Result<Vec<Posed>, TissueError> {
        let mut holder = Holder::new(self)?;
        let shapes = face.shapes.len();
        let mut pose = |shape: usize| {
            reporter.report(shape, shapes)?;
            let weights = only(shapes, &[shape]);
            let jaw = self.jaw_pose(&weights);
            let moved = self.moved(&weights);
            let foot = |vertex| self.attached_place(&weights, &moved, &jaw, vertex);
            let feet = (0..self.tissue_mesh.mesh.positions.len()).map(foot).collect();
            let mut shapes = vec![ContractedShape::NOT; self.tissue_mesh.mesh.tets.len()];
            self.shortening.each(
                |v| self.target(&moved, v as usize),
                |_, tets, shortened| {
                    self.shortening.tets[tets].iter().for_each(|tet| shapes[*tet as usize] = *shortened);
                },
            );
            Ok(Posed { positions: holder.hold(&weights), feet, moves: moved, shapes })
        };
        let poses = (0..shapes).filter(|shape| face.base_shape(*shape).is_none()).map(&mut pose).collect();
        reporter.end_round();
        poses
    }
}

/// Forces below this fraction of a shape's largest are solver residual, far from the skin that it moves; without them a frame has a tenth
/// of the forces to sum. Ours.
const QUIET: f64 = 1e-4;

/// Removes forces that are solver residual only.
fn quieten(forces: &mut [DVec3]) {
    let least = QUIET * forces.iter().map(|force| force.length()).fold(0.0, f64::max);
    forces.iter_mut().filter(|force| force.length() < least).for_each(|force| *force = DVec3::ZERO);
}
