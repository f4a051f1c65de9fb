//! Tetrahedral meshes bent to targets without inverted elements.

use glam::DVec3;
use zygoma_geometry::tets::volume as volume_of;
use zygoma_numerics::{NotPositiveDefinite, SplitAnalysis};

use crate::projective::{
    Attachments, Handle, Prefactored, Row, SolveOptions, Solver, Stencil, System, Target, Unfolding,
    UnfoldingTets, position, row,
};

/// Weight of the volume's distortion against that of the shape. Ours: tissue bulges and thins under an artist's shapes more than it would by itself.
const VOLUME: f64 = 0.3;
/// ε of successive rounds, in determinants: inverted elements are cheap at first, so that they can be unfolded, and ever more expensive. Ours.
const ROUNDS: [f64; 5] = [1.0, 0.5, 0.25, 0.12, 0.06];
/// ε of the last rounds, which go on until nothing is crushed, and the largest number of them. Ours.
const LAST: f64 = 0.03;
const LAST_ROUNDS: usize = 2;
/// Iterations of a round. Ours.
const ITERATIONS: usize = 30;
/// Between two attempts the vertices of crushed elements are pulled less, by this factor. Ours.
const LET_GO: f64 = 0.02;
/// Crushed elements count as at most this much stiffer than at rest. Ours.
const STIFFEST: f64 = 1e4;
/// A round ends when an iteration moves no vertex by more than this, m. Ours.
const SETTLED: f64 = 2e-6;

/// A mesh and its weights.
#[derive(Clone, Copy, Debug)]
pub struct UnfoldInput<'a> {
    /// The shape that elements keep as far as they can.
    pub rest: &'a [DVec3],
    /// Tetrahedra, of positive volume at rest.
    pub tets: &'a [[u32; 4]],
    /// Vertices that stay at their given positions.
    pub fixed: &'a [bool],
    /// How firmly each vertex is pulled to its target, m: stiffness per stiffness of the material; 0 for not at all.
    pub pulls: &'a [f64],
}

/// The outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unfolded {
    /// The smallest volume of a tetrahedron as a fraction of that at rest.
    pub least_fullness: f64,
    /// Tetrahedra below the wanted fraction.
    pub crushed: usize,
    /// Iterations.
    pub iterations: usize,
}

/// Bends one mesh to any number of targets.
pub struct Unfolder {
    /// Row of each vertex: free vertices first.
    rows: Vec<u32>,
    vertices: Vec<u32>,
    free: usize,
    tets: Vec<[u32; 4]>,
    volumes: Vec<f64>,
    system: System<f32>,
    elements: Handle<UnfoldingTets<f32>>,
    pulls: Handle<Attachments<f32>>,
    /// Vertices that are pulled, with their weights.
    pulled: Vec<(u32, f64)>,
    /// The order of elimination, the same for all stiffnesses.
    analysis: SplitAnalysis,
    factor: Prefactored<f32>,
    solver: Solver<f32>,
}

impl Unfolder {
    /// Prepares a mesh. An error if some part of it is neither pulled nor next to a fixed vertex.
    pub fn new(input: &UnfoldInput<'_>) -> Result<Self, NotPositiveDefinite> {
        let count = input.rest.len() as u32;
        let (mut vertices, fixed): (Vec<u32>, Vec<u32>) = (0..count).partition(|v| !input.fixed[*v as usize]);
        let free = vertices.len();
        vertices.extend(fixed);
        let mut rows = vec![0; vertices.len()];
        (0u32..).zip(&vertices).for_each(|(row, vertex)| rows[*vertex as usize] = row);
        let mut system = System::<f32>::new(vertices.len(), free);
        let mut elements = UnfoldingTets::new();
        let mut volumes = Vec::with_capacity(input.tets.len());
        let mut tets = Vec::with_capacity(input.tets.len());
        for tet in input.tets {
            let Some(mut stencil) = Stencil::tetrahedron(input.rest, *tet) else { continue };
            stencil.vertices = tet.map(|v| rows[v as usize]);
            elements.push(&stencil, Unfolding { weight: stencil.size, volume: VOLUME, epsilon: LAST });
            volumes.push(stencil.size);
            tets.push(*tet);
        }
        let elements = system.add(elements).expect("tetrahedra name vertices that there are");
        let mut springs = Attachments::new();
        let mut pulled = Vec::new();
        for (vertex, weight) in (0..).zip(input.pulls).filter(|(_, weight)| **weight > 0.0) {
            if !input.fixed[vertex as usize] {
                let target = Target { weight: *weight, target: [0.0; 3] };
                springs.push(&Stencil::vertex(rows[vertex as usize]), target);
                pulled.push((vertex, *weight));
            }
        }
        let pulls = system.add(springs).expect("springs pull vertices that there are");
        let matrix = system.matrix(&[]);
        let analysis = SplitAnalysis::new(&matrix);
        let factor = Prefactored::analysed(&analysis, &matrix, &[])?;
        let solver = Solver::new(&system);
        Ok(Self {
            rows,
            vertices,
            free,
            tets,
            volumes,
            system,
            elements,
            pulls,
            pulled,
            analysis,
            factor,
            solver,
        })
    }

    /// Moves the free vertices of `x` towards `targets`, until no tetrahedron has less than a fraction of its volume at rest if that is possible in some
    /// attempts. Between two attempts the vertices of crushed elements are pulled less.
    pub fn run(&mut self, x: &mut [DVec3], targets: &[DVec3], fullness: f64, attempts: usize) -> Unfolded {
        self.set_targets(targets);
        let (least_fullness, crushed) = self.measure(x, fullness);
        let mut report = Unfolded { least_fullness, crushed, iterations: 0 };
        for attempt in 0..attempts {
            for epsilon in ROUNDS {
                if report.crushed == 0 {
                    break;
                }
                self.round(epsilon, fullness, x, &mut report);
            }
            for _ in 0..LAST_ROUNDS {
                self.round(LAST, fullness, x, &mut report);
                if report.crushed == 0 {
                    return report;
                }
            }
            if attempt + 1 == attempts || !self.give_way(x, fullness) {
                break;
            }
        }
        report
    }

    /// Moves the free vertices of `x` towards `targets` and to where they distort elements least, without attempts to unfold those that stay crushed.
    pub fn relax(&mut self, x: &mut [DVec3], targets: &[DVec3], fullness: f64) -> Unfolded {
        self.set_targets(targets);
        let (least_fullness, crushed) = self.measure(x, fullness);
        let mut report = Unfolded { least_fullness, crushed, iterations: 0 };
        self.round(LAST, fullness, x, &mut report);
        report
    }

    fn set_targets(&mut self, targets: &[DVec3]) {
        for (index, (vertex, weight)) in self.pulled.iter().enumerate() {
            let target = targets[*vertex as usize].to_array();
            self.system.group_mut(self.pulls).set_parameters(index, Target { weight: *weight, target });
        }
    }

    /// Lets go of the vertices of crushed elements: their targets contradict each other. False if none of them is pulled.
    fn give_way(&mut self, x: &[DVec3], fullness: f64) -> bool {
        let mut lets_go = vec![false; x.len()];
        for (tet, volume) in self.tets.iter().zip(&self.volumes) {
            if volume_of(tet.map(|v| x[v as usize])) < fullness * volume {
                tet.iter().for_each(|v| lets_go[*v as usize] = true);
            }
        }
        let pulls = self.system.group_mut(self.pulls);
        let mut gives_way = false;
        for (index, (vertex, _)) in self.pulled.iter().enumerate().filter(|(_, (v, _))| lets_go[*v as usize])
        {
            let Target { weight, target } = pulls.parameters(index);
            debug_assert!(self.rows[*vertex as usize] < self.free as u32, "only free vertices are pulled");
            pulls.set_parameters(index, Target { weight: LET_GO * weight, target });
            gives_way = true;
        }
        gives_way
    }

    /// Minimises with one ε.
    fn round(&mut self, epsilon: f64, fullness: f64, x: &mut [DVec3], report: &mut Unfolded) {
        let stiff = if report.crushed > 0 { self.factor_stiff(epsilon, x) } else { None };
        self.set_epsilon(epsilon);
        let mut at: Vec<Row<f32>> = self.vertices.iter().map(|v| row(x[*v as usize])).collect();
        let options = SolveOptions {
            iterations: ITERATIONS,
            history: 12,
            tolerance: 1e-3,
            least_motion: SETTLED,
            ..SolveOptions::default()
        };
        let mut stiff = stiff;
        let factor = stiff.as_mut().unwrap_or(&mut self.factor);
        let found = self.solver.minimise(&self.system, None, factor, &options, &mut at);
        self.vertices[..self.free].iter().zip(&at).for_each(|(v, p)| x[*v as usize] = position(p));
        report.iterations += found.iterations();
        (report.least_fullness, report.crushed) = self.measure(x, fullness);
    }

    /// A factor in which elements are as stiff as they are where they are crushed: with that of the rest shape, steps there would be far too long.
    fn factor_stiff(&mut self, epsilon: f64, x: &[DVec3]) -> Option<Prefactored<f32>> {
        let at: Vec<Row<f32>> = self.vertices.iter().map(|v| row(x[*v as usize])).collect();
        let elements = self.system.group_mut(self.elements);
        for (index, weight) in self.volumes.iter().enumerate() {
            let f = elements.sample(index, &at).map(|column| column.map(f64::from));
            let law = Unfolding { weight: *weight, volume: VOLUME, epsilon };
            let weight = (weight * law.stiffening(&f).min(STIFFEST)).max(*weight);
            elements.set_parameters(index, Unfolding { weight, ..law });
        }
        Prefactored::analysed(&self.analysis, &self.system.matrix(&[]), &[]).ok()
    }

    fn set_epsilon(&mut self, epsilon: f64) {
        let elements = self.system.group_mut(self.elements);
        for (index, weight) in self.volumes.iter().enumerate() {
            elements.set_parameters(index, Unfolding { weight: *weight, volume: VOLUME, epsilon });
        }
    }

    /// The smallest fullness, and the number of tetrahedra below a limit. Those without a free vertex cannot be helped and do not count.
    fn measure(&self, x: &[DVec3], limit: f64) -> (f64, usize) {
        let is_free = |v: u32| (self.rows[v as usize] as usize) < self.free;
        let fullness = self.tets.iter().zip(&self.volumes).filter(|(tet, _)| tet.iter().any(|v| is_free(*v)));
        let fullness = fullness.map(|(tet, volume)| volume_of(tet.map(|v| x[v as usize])) / volume);
        fullness.fold((f64::INFINITY, 0), |(least, count), full| {
            (least.min(full), count + usize::from(full < limit))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projective::test_bodies::Block;

    #[test]
    fn a_block_whose_top_is_pressed_through_its_bottom_is_unfolded() {
        let block = Block::new([4, 4, 4], DVec3::splat(0.04));
        let fixed: Vec<bool> = block.positions.iter().map(|p| p.y < 1e-9).collect();
        let pulls: Vec<f64> = block.positions.iter().map(|p| if p.y > 0.039 { 0.02 } else { 0.0 }).collect();
        let input = UnfoldInput { rest: &block.positions, tets: &block.tets, fixed: &fixed, pulls: &pulls };
        // The top goes down to a quarter of the height, and starts below the bottom.
        let targets: Vec<DVec3> = block.positions.iter().map(|p| DVec3::new(p.x, 0.25 * p.y, p.z)).collect();
        let mut x: Vec<DVec3> = block.positions.clone();
        x.iter_mut().filter(|p| p.y > 0.039).for_each(|p| p.y = -0.01);
        let found = Unfolder::new(&input).unwrap().run(&mut x, &targets, 0.05, 1);
        assert_eq!(found.crushed, 0, "{found:?}");
        let top = x.iter().zip(&pulls).filter(|(_, pull)| **pull > 0.0);
        assert!(top.clone().all(|(p, _)| p.y > 0.005 && p.y < 0.03), "{found:?} {x:?}");
    }
}
