//! Flesh in motion.

use std::sync::Arc;
use std::time::Instant;

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_numerics::simd::accumulate_runs;
use zygoma_physics::projective::{
    Changed, Dynamics, Prefactored, Row, SolveOptions, Solver, System, position, row,
};

use super::blendforces::Blendforces;
use super::clock::Clock;
use super::contact::{LipContact, Surface};
use super::control::Control;
use super::elements::Expressed;
use super::inertia::Head;
use super::live::LiveParams;
use super::markers::Drive;
use super::mouth::Mouth;
use super::press::Press;
use super::stages::Stages;
use super::tissue::{Tissue, factor};
use super::touches::handling;
use crate::touch::Touches;

/// A face made of flesh that performs: weights and a head pose go in, surfaces come out.
///
/// It lives in the head's frame; the head's motion acts as inertia, and gravity stays with the world. The physics runs in steps of
/// its own, and surfaces lie between them, so that the motion does not depend on the frame rate.
pub struct PerformingFace {
    pub(super) tissue: Arc<Tissue>,
    pub(super) system: System<f32>,
    expressed: Expressed<f32>,
    pub(super) dynamics: Dynamics<f32>,
    pub(super) step_factor: Prefactored<f32>,
    pub(super) quasistatic: Quasistatic,
    pub(super) lips: Option<LipContact>,
    pub(super) live: LiveParams,
    pub(super) touches: Touches,
    pub(super) press: Press,
    /// The teeth that it meets, if any.
    pub(super) mouth: Option<Mouth>,
    /// The markers that it follows, if any.
    pub(super) drive: Option<Drive>,
    /// The whole mesh without what follows the flesh.
    pub(super) base: Vec<Vec3>,
    pub(super) rest: Vec<Row<f32>>,
    blendforces: Blendforces,
    pub(super) stages: Stages,
    pub(super) report: LipReport,
    pub(super) head: Head,
    pub(super) clock: Clock,
    /// Weights at the end of the last and of the present frame.
    pub(super) weights: [Vec<f32>; 2],
    actuations: Vec<f32>,
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

/// The equilibrium in which actuations are found.
pub(super) struct Quasistatic {
    factor: Prefactored<f32>,
    control: Option<Control>,
    solver: Solver<f32>,
    pub(super) x: Vec<Row<f32>>,
    /// The equilibrium before, and where the present one would be if it went on as from that one.
    last: Vec<Row<f32>>,
    onward: Vec<Row<f32>>,
    /// Free rows that are skin; they come first.
    markers: usize,
}

/// The search for an equilibrium ends after a step that moves no vertex by more than this, m. Ours: a tenth of the lips' clearance.
const SETTLED: f64 = 4e-6;

impl PerformingFace {
    /// Puts flesh at rest.
    pub fn new(tissue: Arc<Tissue>) -> Result<Self, NotPositiveDefinite> {
        let (layout, params) = (&tissue.layout, &tissue.params);
        let (mut system, expressed) = tissue.system::<f32>(layout);
        let lips = LipContact::new(&tissue, tissue.lips.clone(), &mut system);
        let press = Press::new(params.contact, &mut system);
        let candidates = lips.as_ref().map_or_else(Vec::new, |lips| lips.candidates(layout.free));
        let rest: Vec<Row<f32>> =
            layout.vertices.iter().map(|v| row(tissue.flesh.mesh.positions[*v as usize])).collect();
        let dynamics =
            Dynamics::new(&system, rest.clone(), tissue.masses[..layout.free].to_vec(), params.step_time);
        let step_factor = factor(&system, &dynamics.diagonal(), &candidates)?;
        let equilibrium = factor(&system, &[], &[])?;
        let skin = tissue.skin_count();
        let markers = layout.vertices[..layout.free].iter().take_while(|v| (**v as usize) < skin).count();
        let rows = &layout.vertices[..markers];
        let response = tissue.moves.iter().map(|moves| rows.iter().map(|v| moves[*v as usize]).collect());
        let control = Control::new(response.collect(), params.regularisation);
        let quasistatic = Quasistatic {
            factor: equilibrium,
            control,
            solver: Solver::new(&system),
            x: rest.clone(),
            last: rest.clone(),
            onward: rest[..layout.free].to_vec(),
            markers,
        };
        let none = vec![0.0; tissue.moves.len()];
        let mut performing = Self {
            head: Head::still(layout.free),
            clock: Clock::new(&rest, &none),
            weights: [none.clone(), none.clone()],
            actuations: none,
            base: tissue.skin.neutral.clone(),
            rest,
            blendforces: Blendforces::new(&tissue.forces),
            stages: Stages::default(),
            lips,
            live: LiveParams::of(params),
            touches: Touches::new(handling(params.step_time), tissue.touchable.samples.len()),
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
            quasistatic,
        };
        performing.output(1.0);
        Ok(performing)
    }

    /// What is between the lips now.
    pub fn lips(&self) -> LipReport {
        self.report
    }

    /// How strongly each shape's force acts now.
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
        // From the neutral in small steps: a jump to a wide open mouth may leave elements inside out. Some more come to rest there.
        const STEPS: usize = 10;
        const MORE: usize = 6;
        self.quasistatic.x.copy_from_slice(&self.rest);
        self.quasistatic.last.copy_from_slice(&self.rest);
        for step in 1..=STEPS + MORE {
            let share = step.min(STEPS) as f32 / STEPS as f32;
            let part: Vec<f32> = weights.iter().map(|w| w * share).collect();
            if step <= STEPS {
                self.actuations.copy_from_slice(&part);
            }
            if let Some(drive) = &mut self.drive {
                drive.approach(f64::from(share));
            }
            self.find_actuations(&part, self.tissue.params.iterations);
        }
        self.dynamics.positions.copy_from_slice(&self.quasistatic.x);
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
        let Quasistatic { solver, factor, .. } = &mut self.quasistatic;
        let report = solver.minimise(&self.system, None, factor, &options, &mut self.dynamics.positions);
        self.stages.add(&report);
    }

    /// Gravity as flesh feels it in the frame of a head with a pose: what differs from that under which the artist made the face.
    fn felt_gravity(&self, pose: &RigidMotion) -> DVec3 {
        pose.rotation.inverse() * DVec3::from_array(self.live.gravity)
            - DVec3::from_array(self.tissue.params.gravity)
    }

    /// Puts kinematic vertices and attachments where the rig, which moves the skin so, and the jaw have them.
    fn place(&mut self, weights: &[f32], moved: &[DVec3]) {
        self.tissue.express(weights, moved, &mut self.system, &mut self.expressed);
        let layout = &self.tissue.layout;
        for place in layout.free..layout.vertices.len() {
            let at: Row<f32> = row(self.tissue.target(moved, layout.vertices[place] as usize));
            self.dynamics.positions[place] = at;
            self.quasistatic.x[place] = at;
        }
    }

    /// Finds actuations for an equilibrium without inertia, gravity and contact: found for the step itself (eq. 11), they would cancel
    /// its inertia.
    fn find_actuations(&mut self, weights: &[f32], iterations: usize) {
        let began = Instant::now();
        let quasistatic = &mut self.quasistatic;
        for (k, onward) in quasistatic.onward.iter_mut().enumerate() {
            let (x, last) = (quasistatic.x[k], quasistatic.last[k]);
            (0..3).for_each(|axis| onward[axis] = x[axis] + (x[axis] - last[axis]));
        }
        quasistatic.last.copy_from_slice(&quasistatic.x);
        let moved = self.tissue.moved(weights);
        self.place(weights, &moved);
        self.clear_contact();
        let options = SolveOptions { iterations, least_motion: SETTLED, ..Default::default() };
        let markers = &self.tissue.layout.vertices[..self.quasistatic.markers];
        let skin: Vec<DVec3> =
            markers.iter().map(|vertex| self.tissue.target(&moved, *vertex as usize)).collect();
        self.stages.place += began.elapsed();
        let controls = self.tissue.params.control_iterations;
        if controls == 0 {
            self.actuations.copy_from_slice(weights);
        }
        for round in 0..controls.max(1) {
            let began = Instant::now();
            self.apply_forces(DVec3::ZERO);
            self.stages.control += began.elapsed();
            let quasistatic = &mut self.quasistatic;
            let (solver, x) = (&mut quasistatic.solver, &mut quasistatic.x);
            if round == 0 {
                solver.choose_start(&self.system, None, x, &mut quasistatic.onward);
            }
            let changed = if round > 0 { Changed::Forces } else { Changed::Anything };
            let options = SolveOptions { changed, ..options };
            let report = solver.minimise(&self.system, None, &mut quasistatic.factor, &options, x);
            self.stages.add(&report);
            if controls == 0 {
                break;
            }
            let began = Instant::now();
            if let Some(drive) = &self.drive {
                drive.improve(&self.tissue, weights, &quasistatic.x, &mut self.actuations);
                self.stages.control += began.elapsed();
                continue;
            }
            let miss = |(target, x): (&DVec3, &Row<f32>)| row(*target - position(x));
            if let Some(control) = &quasistatic.control {
                let misses: Vec<Row<f32>> = skin.iter().zip(&quasistatic.x).map(miss).collect();
                control.improve(&misses, weights, &mut self.actuations);
            }
            self.stages.control += began.elapsed();
        }
    }

    /// Blendforces, and an acceleration of everything.
    fn apply_forces(&mut self, acceleration: DVec3) {
        if acceleration == DVec3::ZERO {
            self.system.forces.fill([0.0; 4]);
        } else {
            for (force, mass) in self.system.forces.iter_mut().zip(&self.tissue.masses) {
                *force = row(*mass * acceleration);
            }
        }
        self.blendforces.add(&self.actuations, &mut self.system.forces);
    }

    /// One step of the physics, which ends at a share of the frame, when the head has a pose.
    pub(super) fn step(&mut self, weights: &[f32], pose: &RigidMotion, share: f32) {
        self.find_actuations(weights, self.tissue.params.control_steps);
        let began = Instant::now();
        let h = self.tissue.params.step_time;
        self.head.carry_on(pose, h, &mut self.dynamics);
        self.apply_forces(self.felt_gravity(pose));
        self.find_base(weights);
        self.stages.inertia += began.elapsed();
        self.begin_contact(weights, share);
        self.dynamics.begin_held();
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
