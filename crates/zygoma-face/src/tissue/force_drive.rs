//! Tissue driven by forces: finds actuations at an equilibrium beside the motion (*Progressive PD*, §3.2).

use std::time::Instant;

use glam::DVec3;
use zygoma_physics::projective::{Changed, Row, SolveOptions, System, position, row};

use super::blendforces::Blendforces;
use super::build::Tissue;
use super::control::Control;
use super::run::{Equilibrium, SETTLED, TissueBody};

/// The equilibrium at which actuations are found; its positions are the [goal](TissueBody).
#[derive(Clone)]
pub(super) struct ForceDrive {
    blendforces: Blendforces,
    control: Option<Control>,
    /// The last equilibrium, and the present one extrapolated from it.
    last: Vec<Row<f32>>,
    onward: Vec<Row<f32>>,
    /// Number of free rows that are skin; they come first.
    markers: usize,
}

impl ForceDrive {
    pub(super) fn new(tissue: &Tissue, rest: &[Row<f32>]) -> Self {
        let (layout, skin) = (&tissue.layout, tissue.skin_count());
        let markers = layout.vertices[..layout.free].iter().take_while(|v| (**v as usize) < skin).count();
        let rows = &layout.vertices[..markers];
        let response =
            tissue.surface.moves.iter().map(|moves| rows.iter().map(|v| moves[*v as usize]).collect());
        Self {
            blendforces: Blendforces::new(&tissue.forces),
            control: Control::new(response.collect(), tissue.params.regularisation),
            last: rest.to_vec(),
            onward: rest[..layout.free].to_vec(),
            markers,
        }
    }

    /// Adds the forces of the given actuations.
    pub(super) fn add_forces(&self, actuations: &[f32], system: &mut System<f32>) {
        self.blendforces.add(actuations, &mut system.forces);
    }
}

impl TissueBody {
    /// Finds the equilibrium of weights and markers from the neutral in small steps: a jump to a wide open mouth may leave elements
    /// inverted. Further steps let it converge.
    pub(super) fn approach_by_forces(&mut self, force: &mut ForceDrive, weights: &[f32]) {
        const STEPS: usize = 10;
        const MORE: usize = 6;
        self.goal.copy_from_slice(&self.rest);
        force.last.copy_from_slice(&self.rest);
        for step in 1..=STEPS + MORE {
            let fraction = step.min(STEPS) as f32 / STEPS as f32;
            let part: Vec<f32> = weights.iter().map(|w| w * fraction).collect();
            if step <= STEPS {
                self.actuations.copy_from_slice(&part);
            }
            if let Some(drive) = &mut self.drive {
                drive.approach(f64::from(fraction));
            }
            self.find_actuations(force, &part, self.tissue.params.iterations);
        }
    }

    /// Finds actuations for an equilibrium without inertia, gravity and contact: found for the step itself (*Progressive PD* eq. 11),
    /// they would cancel its inertia.
    pub(super) fn find_actuations(&mut self, force: &mut ForceDrive, weights: &[f32], iterations: usize) {
        let began = Instant::now();
        for (k, onward) in force.onward.iter_mut().enumerate() {
            let (x, last) = (self.goal[k], force.last[k]);
            (0..3).for_each(|axis| onward[axis] = x[axis] + (x[axis] - last[axis]));
        }
        force.last.copy_from_slice(&self.goal);
        let moved = self.tissue.moved(weights);
        self.tissue.express(weights, &moved, &mut self.system, &mut self.expressed);
        let layout = &self.tissue.layout;
        let pose = self.tissue.jaw_pose(weights);
        for place in layout.free..layout.vertices.len() {
            let vertex = layout.vertices[place] as usize;
            self.goal[place] = row(self.tissue.kinematic_place(&moved, &pose, vertex));
        }
        self.contact.clear(&mut self.system);
        let options = SolveOptions { iterations, least_motion: SETTLED, ..Default::default() };
        let markers = &self.tissue.layout.vertices[..force.markers];
        let skin: Vec<DVec3> =
            markers.iter().map(|vertex| self.tissue.target(&moved, *vertex as usize)).collect();
        self.stages.place += began.elapsed();
        let controls = self.tissue.params.control_iterations;
        if controls == 0 {
            self.actuations.copy_from_slice(weights);
        }
        for round in 0..controls.max(1) {
            let began = Instant::now();
            self.system.forces.fill([0.0; 4]);
            force.add_forces(&self.actuations, &mut self.system);
            self.stages.control += began.elapsed();
            let (Equilibrium { solver, factor }, x) = (&mut self.equilibrium, &mut self.goal);
            if round == 0 {
                solver.choose_start(&self.system, None, x, &mut force.onward);
            }
            let changed = if round > 0 { Changed::Forces } else { Changed::Anything };
            let options = SolveOptions { changed, ..options };
            let report = solver.minimise(&self.system, None, factor, &options, x);
            self.stages.add(&report);
            if controls == 0 {
                break;
            }
            let began = Instant::now();
            if let Some(drive) = &self.drive {
                drive.improve(&self.tissue, weights, &self.goal, &mut self.actuations);
                self.stages.control += began.elapsed();
                continue;
            }
            let miss = |(target, x): (&DVec3, &Row<f32>)| row(*target - position(x));
            if let Some(control) = &force.control {
                let misses: Vec<Row<f32>> = skin.iter().zip(&self.goal).map(miss).collect();
                control.improve(&misses, weights, &mut self.actuations);
            }
            self.stages.control += began.elapsed();
        }
    }
}
