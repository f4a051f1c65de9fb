//! Flesh in motion.

use std::sync::Arc;
use std::time::Instant;

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_numerics::simd::accumulate_runs;
use zygoma_physics::projective::{Changed, Dynamics, Prefactored, Row, SolveOptions, Solver, System, row};

use super::build::{Tissue, factor};
use super::clock::Clock;
use super::collider_contact::ColliderContact;
use super::elements::Expressed;
use super::force_drive::ForceDrive;
use super::inertia::Head;
use super::lip_contact::{LipContact, Surface};
use super::live::LiveParams;
use super::markers::MarkerDrive;
use super::mouth::Mouth;
use super::params::Actuation;
use super::skin_samples::handling;
use super::stages::Stages;
use crate::contact::Colliders;

/// A face made of flesh that performs: weights and a head pose go in, surfaces come out.
///
/// It lives in the head's frame; the head's motion acts as inertia, and gravity stays with the world. The physics runs in steps of
/// its own, and surfaces lie between them, so that the motion does not depend on the frame rate.
#[derive(Clone)]
pub struct TissueBody {
    pub(super) tissue: Arc<Tissue>,
    pub(super) system: System<f32>,
    pub(super) expressed: Expressed<f32>,
    pub(super) dynamics: Dynamics<f32>,
    pub(super) step_factor: Prefactored<f32>,
    pub(super) equilibrium: Equilibrium,
    /// Where the actuations lead the flesh without inertia, gravity and contact, and where they led it in the last step.
    pub(super) goal: Vec<Row<f32>>,
    last_goal: Vec<Row<f32>>,
    /// How far that is from rest.
    displaced: Vec<Row<f32>>,
    /// What forces need that drive it; shapes drive it without.
    forces: Option<Box<ForceDrive>>,
    pub(super) lips: Option<LipContact>,
    pub(super) live: LiveParams,
    pub(super) touches: Colliders,
    pub(super) press: ColliderContact,
    /// The teeth that it meets, if any.
    pub(super) mouth: Option<Mouth>,
    /// The markers that it follows, if any.
    pub(super) drive: Option<MarkerDrive>,
    /// The whole mesh without what follows the flesh.
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

/// What is between the lips.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LipReport {
    /// Contacts in the last step.
    pub contacts: usize,
    /// Sticky springs now.
    pub sticky: usize,
    /// The largest way of the last projection, m; at most 0.1 mm.
    pub projected: f32,
    /// How deep the lips still are in each other, m.
    pub penetration: f32,
}

/// Finds equilibria.
#[derive(Clone)]
pub(super) struct Equilibrium {
    pub(super) factor: Prefactored<f32>,
    pub(super) solver: Solver<f32>,
}

/// The search for an equilibrium ends after a step that moves no vertex by more than this, m. Ours: a tenth of the lips' clearance.
pub(super) const SETTLED: f64 = 4e-6;

impl TissueBody {
    /// Puts flesh at rest.
    pub fn new(tissue: Arc<Tissue>) -> Result<Self, NotPositiveDefinite> {
        let (layout, params) = (&tissue.layout, &tissue.params);
        let (mut system, expressed) = tissue.system::<f32>(layout);
        let lips = LipContact::new(&tissue, tissue.lips.clone(), &mut system);
        let press = ColliderContact::new(params.contact, &mut system);
        let candidates = lips.as_ref().map_or_else(Vec::new, |lips| lips.candidates(layout.free));
        let rest: Vec<Row<f32>> =
            layout.vertices.iter().map(|v| row(tissue.flesh.mesh.positions[*v as usize])).collect();
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
            lips,
            live: LiveParams::of(params),
            touches: Colliders::new(
                handling(params.step_time, tissue.touchable.height),
                tissue.touchable.samples.len(),
            ),
            press,
            drive: None,
            mouth: None,
            report: LipReport::default(),
            displacements: vec![Vec3::ZERO; skin],
            positions: tissue.skin.neutral.clone(),
            tissue,
            system,
            expressed,
            dynamics,
            step_factor,
        };
        performing.output(1.0);
        Ok(performing)
    }

    /// What is between the lips now.
    pub fn lips(&self) -> LipReport {
        self.report
    }

    /// How strongly each shape acts now.
    pub fn actuations(&self) -> &[f32] {
        &self.actuations
    }

    /// Where the time of the last frame went.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// The weights that the face should have at the end of the next frame. It follows no markers any more.
    pub fn set_weights(&mut self, weights: &[f32]) {
        self.drive = None;
        self.aim_at(weights);
    }

    pub(super) fn aim_at(&mut self, weights: &[f32]) {
        for (own, weight) in self.weights[1].iter_mut().zip(weights) {
            *own = if weight.is_finite() { *weight } else { 0.0 };
        }
    }

    /// The head's pose at the end of the next frame.
    pub fn set_head_pose(&mut self, pose: &RigidMotion) {
        if pose.rotation.is_finite() && pose.translation.is_finite() {
            self.head.pose = *pose;
        }
    }

    /// The equilibrium of weights and markers under gravity, without contact.
    pub(super) fn find_rest(&mut self, weights: &[f32]) {
        match self.forces.take() {
            None => {
                if let Some(drive) = &mut self.drive {
                    drive.approach(1.0);
                }
                self.aim(weights);
                self.clear_contact();
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

    /// Lets the flesh hang at rest under an acceleration, with the present actuations.
    fn sag(&mut self, acceleration: DVec3) {
        const ITERATIONS: usize = 200;
        self.apply_forces(acceleration);
        let options = SolveOptions { iterations: ITERATIONS, least_motion: SETTLED, ..Default::default() };
        let Equilibrium { solver, factor } = &mut self.equilibrium;
        let report = solver.minimise(&self.system, None, factor, &options, &mut self.dynamics.positions);
        self.stages.add(&report);
    }

    /// Gravity as flesh feels it in the frame of a head with a pose: what differs from that under which the artist made the face.
    fn felt_gravity(&self, pose: &RigidMotion) -> DVec3 {
        pose.rotation.inverse() * DVec3::from_array(self.live.gravity)
            - DVec3::from_array(self.tissue.params.gravity)
    }

    /// Finds the goal for some weights, or for the markers in use.
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
        self.dynamics.positions[free..].copy_from_slice(&self.goal[free..]);
    }

    /// Pulls the flesh to the shapes of some weights, improved where it follows markers: with their blend for its goal, that takes no search.
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

    /// Blendforces, if any, and an acceleration of everything.
    fn apply_forces(&mut self, acceleration: DVec3) {
        for (force, mass) in self.system.forces.iter_mut().zip(&self.tissue.masses) {
            *force = row(*mass * acceleration);
        }
        if let Some(force) = &self.forces {
            force.add_forces(&self.actuations, &mut self.system);
        }
    }

    /// One step of the physics, which ends at a share of the frame, when the head has a pose.
    pub(super) fn step(&mut self, weights: &[f32], pose: &RigidMotion, share: f32) {
        self.find_goal(weights);
        let began = Instant::now();
        let h = self.tissue.params.step_time;
        self.head.carry_on(pose, h, &mut self.dynamics);
        self.apply_forces(self.felt_gravity(pose));
        self.find_base(weights);
        self.stages.inertia += began.elapsed();
        self.dynamics.begin_held();
        if self.forces.is_none() {
            // Where the goal goes, most of the flesh goes with it.
            let goals = self.goal.iter().zip(&self.last_goal);
            for (x, (goal, last)) in self.dynamics.positions[..self.tissue.layout.free].iter_mut().zip(goals)
            {
                (0..3).for_each(|k| x[k] += goal[k] - last[k]);
            }
        }
        self.begin_contact(weights, share);
        // The lips slide while they are pushed apart: half way what lies over what is looked at again.
        let iterations = self.tissue.params.iterations;
        let options = SolveOptions { iterations: iterations.div_ceil(2), ..Default::default() };
        let report = self.dynamics.search(&self.system, &mut self.step_factor, &options);
        self.stages.add(&report);
        self.dynamics.release_transients(&self.system);
        self.renew_contact(share);
        let options =
            SolveOptions { iterations: iterations / 2, changed: Changed::Transients, ..Default::default() };
        let report = self.dynamics.search(&self.system, &mut self.step_factor, &options);
        self.stages.add(&report);
        self.end_contact(share);
        self.dynamics.finish();
        let began = Instant::now();
        let (seed, sticks) = (self.tissue.params.seed, self.live.stickiness > 0.0);
        if let (Some(lips), true) = (&mut self.lips, sticks) {
            let after = Surface { base: &self.base, rest: &self.rest, x: &self.dynamics.positions };
            lips.stick(&after, h, seed);
            self.report.sticky = lips.sticky_count();
        }
        self.stages.contact += began.elapsed();
        let began = Instant::now();
        self.head.follow(pose, h, &self.dynamics);
        self.stages.inertia += began.elapsed();
    }

    /// Neutral and detail of the whole mesh for some weights.
    pub(super) fn find_base(&mut self, weights: &[f32]) {
        self.base.copy_from_slice(&self.tissue.skin.neutral);
        let fits =
            accumulate_runs(bytemuck::cast_slice_mut(&mut self.base), weights, &self.tissue.skin.detail);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
    }
}
