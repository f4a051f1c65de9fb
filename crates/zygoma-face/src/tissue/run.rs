//! Tissue in motion.

use std::sync::Arc;
use std::time::Instant;

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_numerics::simd::accumulate_runs;
use zygoma_physics::projective::{Changed, Dynamics, Prefactored, Row, SolveOptions, Solver, System, row};

use super::build::{Tissue, factor};
use super::clock::Clock;
use super::elements::Expressed;
use super::force_drive::ForceDrive;
use super::inertia::Head;
use super::live::LiveParams;
use super::markers::MarkerDrive;
use super::params::Actuation;
use super::stages::Stages;
use crate::volume::contact::{ContactMode, Surface, VolumeContact};

/// A face of simulated tissue: weights and a head pose go in, surfaces come out.
///
/// It is simulated in the head's frame: the head's motion acts as inertial forces, and gravity stays fixed in the world. The physics runs
/// at a step of its own and surfaces are interpolated between steps, so that the motion does not depend on the frame rate.
#[derive(Clone)]
pub struct TissueBody {
    pub(super) tissue: Arc<Tissue>,
    pub(super) system: System<f32>,
    pub(super) expressed: Expressed<f32>,
    pub(super) dynamics: Dynamics<f32>,
    pub(super) step_factor: Prefactored<f32>,
    pub(super) equilibrium: Equilibrium,
    /// Positions that the actuations lead to without inertia, gravity and contact, now and in the last step.
    pub(super) goal: Vec<Row<f32>>,
    last_goal: Vec<Row<f32>>,
    /// Displacements of the goal from rest.
    displaced: Vec<Row<f32>>,
    /// State of the force drive; `None` where shapes drive the tissue.
    forces: Option<Box<ForceDrive>>,
    pub(super) live: LiveParams,
    pub(super) contact: VolumeContact,
    /// The markers that drive the tissue, if any.
    pub(super) drive: Option<MarkerDrive>,
    /// The whole mesh without the displacements of the tissue.
    pub(super) base: Vec<Vec3>,
    pub(super) rest: Vec<Row<f32>>,
    pub(super) stages: Stages,
    pub(super) report: LipReport,
    pub(super) head: Head,
    pub(super) clock: Clock,
    /// Weights at the end of the last and of the present frame.
    pub(super) weights: [Vec<f32>; 2],
    pub(super) actuations: Vec<f32>,
    pub(super) displacements: Vec<Vec3>,
    pub(super) positions: Vec<Vec3>,
}

/// State of the contact between the lips.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LipReport {
    /// Number of contacts in the last step.
    pub contacts: usize,
    /// Current number of sticky springs.
    pub sticky: usize,
    /// The largest displacement by the last projection, m; at most 0.1 mm.
    pub projected: f32,
    /// Remaining penetration of the lips, m.
    pub penetration: f32,
}

/// Solves for equilibria.
#[derive(Clone)]
pub(super) struct Equilibrium {
    pub(super) factor: Prefactored<f32>,
    pub(super) solver: Solver<f32>,
}

/// An equilibrium has converged when a step moves no vertex by more than this, m. Ours: a tenth of the gap that contact keeps between the lips.
pub(super) const SETTLED: f64 = 4e-6;

impl TissueBody {
    /// Creates the body with its tissue at rest.
    pub fn new(tissue: Arc<Tissue>) -> Result<Self, NotPositiveDefinite> {
        let (layout, params) = (&tissue.layout, &tissue.params);
        let (mut system, expressed) = tissue.system::<f32>(layout);
        let contact = VolumeContact::new(
            &tissue.skin_points,
            (tissue.lips.clone(), &tissue.skin.neutral),
            (&tissue.skin.embedding, &layout.rows),
            (ContactMode::Absolute, params.contact, params.step_time),
            &mut system,
        );
        let candidates = contact.lip_rows(layout.free);
        let rest: Vec<Row<f32>> =
            layout.vertices.iter().map(|v| row(tissue.tissue_mesh.mesh.positions[*v as usize])).collect();
        let dynamics =
            Dynamics::new(&system, rest.clone(), tissue.masses[..layout.free].to_vec(), params.step_time);
        let step_factor = factor(&system, &dynamics.diagonal(), &candidates)?;
        let equilibrium = Equilibrium { factor: factor(&system, &[], &[])?, solver: Solver::new(&system) };
        let skin = tissue.skin_count();
        let forces = match params.actuation {
            Actuation::Shapes => None,
            Actuation::Forces => Some(Box::new(ForceDrive::new(&tissue, &rest))),
        };
        let none = vec![0.0; tissue.surface.moves.len()];
        let mut performing = Self {
            head: Head::still(layout.free),
            clock: Clock::new(&rest, &none),
            weights: [none.clone(), none.clone()],
            actuations: none,
            base: tissue.skin.neutral.clone(),
            equilibrium,
            goal: rest.clone(),
            last_goal: rest.clone(),
            displaced: vec![[0.0; 4]; rest.len()],
            rest,
            forces,
            stages: Stages::default(),
            live: LiveParams::of(params),
            contact,
            drive: None,
            report: LipReport::default(),
            displacements: vec![Vec3::ZERO; skin],
            positions: tissue.skin.neutral.clone(),
            tissue,
            system,
            expressed,
            dynamics,
            step_factor,
        };
        if let Some(teeth) = performing.tissue.teeth.clone() {
            performing.set_teeth(teeth);
        }
        performing.contact.set_bones(&performing.tissue.solid_bones);
        performing.output(1.0);
        Ok(performing)
    }

    /// State of the contact between the lips.
    pub fn lips(&self) -> LipReport {
        self.report
    }

    /// The present actuation of each shape.
    pub fn actuations(&self) -> &[f32] {
        &self.actuations
    }

    /// Timings of the last frame, by stage.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Sets the weights at the end of the next frame. Stops following markers.
    pub fn set_weights(&mut self, weights: &[f32]) {
        self.drive = None;
        self.aim_at(weights);
    }

    pub(super) fn aim_at(&mut self, weights: &[f32]) {
        for (own, weight) in self.weights[1].iter_mut().zip(weights) {
            *own = if weight.is_finite() { *weight } else { 0.0 };
        }
    }

    /// Finds the equilibrium of weights and markers under gravity, without contact.
    pub(super) fn find_rest(&mut self, weights: &[f32]) {
        match self.forces.take() {
            None => {
                if let Some(drive) = &mut self.drive {
                    drive.approach(1.0);
                }
                self.aim(weights);
                self.contact.clear(&mut self.system);
            }
            Some(mut force) => {
                self.approach_by_forces(&mut force, weights);
                self.forces = Some(force);
            }
        }
        self.last_goal.copy_from_slice(&self.goal);
        self.dynamics.positions.copy_from_slice(&self.goal);
        let felt = self.felt_gravity(&self.head.pose);
        if felt != DVec3::ZERO {
            self.sag(felt);
        }
    }

    /// Finds the equilibrium under a uniform acceleration, with the present actuations.
    fn sag(&mut self, acceleration: DVec3) {
        const ITERATIONS: usize = 200;
        self.apply_forces(acceleration);
        let options = SolveOptions { iterations: ITERATIONS, least_motion: SETTLED, ..Default::default() };
        let Equilibrium { solver, factor } = &mut self.equilibrium;
        let report = solver.minimise(&self.system, None, factor, &options, &mut self.dynamics.positions);
        self.stages.add(&report);
    }

    /// Gravity in the frame of a head with a pose, less the gravity under which the artist made the face.
    fn felt_gravity(&self, pose: &RigidMotion) -> DVec3 {
        pose.rotation.inverse() * DVec3::from_array(self.live.gravity)
            - DVec3::from_array(self.tissue.params.gravity)
    }

    /// Finds the goal for the given weights, or for the markers in use.
    fn find_goal(&mut self, weights: &[f32]) {
        self.last_goal.copy_from_slice(&self.goal);
        match self.forces.take() {
            None => self.aim(weights),
            Some(mut force) => {
                self.find_actuations(&mut force, weights, self.tissue.params.control_steps);
                self.forces = Some(force);
            }
        }
        let free = self.tissue.layout.free;
        let x = &mut self.dynamics.positions;
        x[free..].copy_from_slice(&self.goal[free..]);
        self.contact.place_held(&self.tissue.skin_points, &self.goal, x);
    }

    /// Pulls the tissue to the shapes of the weights, corrected where it follows markers. Their blend is the goal, so no solve is needed.
    fn aim(&mut self, weights: &[f32]) {
        let began = Instant::now();
        self.actuations.copy_from_slice(weights);
        self.blend();
        if let Some(drive) = &self.drive {
            drive.improve(&self.tissue, weights, &self.goal, &mut self.actuations);
            self.blend();
        }
        self.tissue.aim(&self.displaced, &mut self.system, &self.expressed);
        self.stages.place += began.elapsed();
    }

    /// Blends the shapes' volumes by the actuations.
    fn blend(&mut self) {
        self.tissue.shape_targets.blend(&self.actuations, &mut self.displaced);
        self.tissue.move_bones(&self.actuations, &mut self.displaced);
        for ((goal, rest), way) in self.goal.iter_mut().zip(&self.rest).zip(&self.displaced) {
            (0..3).for_each(|k| goal[k] = rest[k] + way[k]);
        }
    }

    /// Applies the blendforces, if any, and a uniform acceleration.
    fn apply_forces(&mut self, acceleration: DVec3) {
        for (force, mass) in self.system.forces.iter_mut().zip(&self.tissue.masses) {
            *force = row(*mass * acceleration);
        }
        if let Some(force) = &self.forces {
            force.add_forces(&self.actuations, &mut self.system);
        }
    }

    /// Simulates one step, which ends at a fraction of the frame with the head in the given pose.
    pub(super) fn step(&mut self, weights: &[f32], pose: &RigidMotion, fraction: f32) {
        self.find_goal(weights);
        let began = Instant::now();
        let h = self.tissue.params.step_time;
        self.head.carry_on(pose, h, &mut self.dynamics);
        self.apply_forces(self.felt_gravity(pose));
        self.find_base(weights);
        self.stages.inertia += began.elapsed();
        self.dynamics.begin_held();
        if self.forces.is_none() {
            // Warm start: most of the tissue moves along with the goal.
            let goals = self.goal.iter().zip(&self.last_goal);
            for (x, (goal, last)) in self.dynamics.positions[..self.tissue.layout.free].iter_mut().zip(goals)
            {
                (0..3).for_each(|k| x[k] += goal[k] - last[k]);
            }
        }
        self.begin_contact(weights, fraction);
        // The lips slide while they are pushed apart, so contacts are detected again in mid-solve.
        let iterations = self.tissue.params.iterations;
        let options = SolveOptions { iterations: iterations.div_ceil(2), ..Default::default() };
        let report = self.dynamics.search(&self.system, &mut self.step_factor, &options);
        self.stages.add(&report);
        self.dynamics.release_transients(&self.system);
        self.renew_contact(fraction);
        let options =
            SolveOptions { iterations: iterations / 2, changed: Changed::Transients, ..Default::default() };
        let report = self.dynamics.search(&self.system, &mut self.step_factor, &options);
        self.stages.add(&report);
        self.end_contact(fraction);
        self.dynamics.finish();
        let began = Instant::now();
        let (seed, sticks) = (self.tissue.params.seed, self.live.stickiness > 0.0);
        if let (Some(lips), true) = (&mut self.contact.lips, sticks) {
            let after =
                Surface { base: &self.base, rest: &self.rest, x: &self.dynamics.positions, origins: &[] };
            lips.stick(&after, h, seed);
            self.report.sticky = lips.sticky_count();
        }
        self.stages.contact += began.elapsed();
        let began = Instant::now();
        self.head.follow(pose, h, &self.dynamics);
        self.stages.inertia += began.elapsed();
    }

    /// Finds the neutral plus detail of the whole mesh for the given weights.
    pub(super) fn find_base(&mut self, weights: &[f32]) {
        self.base.copy_from_slice(&self.tissue.skin.neutral);
        let fits =
            accumulate_runs(bytemuck::cast_slice_mut(&mut self.base), weights, &self.tissue.skin.detail);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
    }
}
