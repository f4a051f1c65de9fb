//! Fixed time steps and interpolated output.
//!
//! The physics runs in steps of fixed length and never beyond the last known frame: each step ends at a time between two known frames and
//! takes weights, head, markers and colliders from there. A surface is interpolated between the last two steps, so the newest one
//! available is a step old. Live, every surface has exactly that latency ([`latency`](TissueBody::latency)): a latency that varied from
//! frame to frame would show as jitter. Callers that know the future, as with a take, ask for the surface at any time between the last
//! two steps ([`show`](TissueBody::show)) and have no latency.

use std::time::Instant;

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_physics::projective::{Row, position};

use super::inertia::PIECE;
use super::run::TissueBody;
use super::stages::Stages;
use crate::volume::contact::Surface;

/// The longest frame, s: the same as for a shell.
const LONGEST_FRAME: f64 = 1.0;

/// A step that ends within this fraction of its length after the known time counts as ending with it: frames as long as steps then have a
/// step each, whatever rounding accumulates. Ours.
const ROUNDING: f64 = 1e-6;

/// Time of the physics, and its last two steps.
#[derive(Clone)]
pub(super) struct Clock {
    /// Time from the end of the last step to the last known frame, s; less than a step.
    behind: f64,
    /// Tissue positions at the start of the last step; the dynamics hold those at its end.
    pub(super) before: Vec<Row<f32>>,
    /// Inputs at the start and at the end of the last step.
    inputs: [Inputs; 2],
}

/// Inputs at one time.
#[derive(Clone, Default)]
struct Inputs {
    weights: Vec<f32>,
    /// Marker targets; empty without markers.
    targets: Vec<DVec3>,
}

impl Clock {
    /// At rest with the given weights.
    pub(super) fn new(rest: &[Row<f32>], weights: &[f32]) -> Self {
        let inputs = Inputs { weights: weights.to_vec(), targets: Vec::new() };
        Self { behind: 0.0, before: rest.to_vec(), inputs: [inputs.clone(), inputs] }
    }
}

impl TissueBody {
    /// Latency of the surface that [`advance`](Self::advance) returns behind the last known frame, s: one step of the physics.
    pub fn latency(&self) -> f64 {
        self.tissue.params.step_time
    }

    /// Advances by a frame, at whose end the face has the weights and the pose that were set last, and returns the surface one
    /// [latency](Self::latency) earlier, in metres in the head's frame. A frame whose length is zero, negative or NaN changes nothing. Of
    /// a frame longer than a second only one second is simulated.
    pub fn advance(&mut self, seconds: f64) -> &[Vec3] {
        self.run(seconds);
        self.show(self.latency())
    }

    /// Advances as [`advance`](Self::advance) does, without computing a surface.
    pub fn run(&mut self, seconds: f64) {
        if seconds.is_nan() || seconds <= 0.0 {
            return;
        }
        // Runs inside the thread pool: from outside, each parallel loop would be handed over and waited for.
        rayon::scope(|_| self.run_here(seconds.min(LONGEST_FRAME)));
    }

    fn run_here(&mut self, seconds: f64) {
        self.stages = Stages::default();
        self.contact.colliders.begin_frame();
        self.head.begin_frame(seconds);
        let h = self.tissue.params.step_time;
        let mut next = h - self.clock.behind;
        while next <= seconds + ROUNDING * h {
            self.step_at((next / seconds).min(1.0));
            next += h;
        }
        self.clock.behind = (seconds - (next - h)).max(0.0);
        self.weights[0] = self.weights[1].clone();
        if let Some(drive) = &mut self.drive {
            drive.targets[0] = drive.targets[1].clone();
        }
    }

    /// Simulates a step that ends at a fraction of the frame.
    fn step_at(&mut self, fraction: f64) {
        let [from, to] = &self.weights;
        let weights: Vec<f32> = from.iter().zip(to).map(|(a, b)| a + fraction as f32 * (b - a)).collect();
        if let Some(drive) = &mut self.drive {
            drive.go_to(fraction);
        }
        let pose = self.head.path.at(fraction);
        self.clock.before.copy_from_slice(&self.dynamics.positions);
        self.step(&weights, &pose, fraction as f32);
        self.clock.inputs.swap(0, 1);
        self.clock.inputs[1] = self.inputs(weights);
    }

    fn inputs(&self, weights: Vec<f32>) -> Inputs {
        Inputs { weights, targets: self.drive.as_ref().map_or_else(Vec::new, |drive| drive.now.clone()) }
    }

    /// Returns the surface some seconds before the last known frame, in metres in the head's frame. The time is clamped to the interval
    /// of the last step.
    pub fn show(&mut self, seconds_ago: f64) -> &[Vec3] {
        let began = Instant::now();
        let earlier = (seconds_ago - self.clock.behind) / self.tissue.params.step_time;
        self.output(if earlier.is_nan() { 1.0 } else { 1.0 - earlier.clamp(0.0, 1.0) });
        self.stages.output += began.elapsed();
        &self.positions
    }

    /// Finds the full-resolution surface at a fraction of the last step.
    pub(super) fn output(&mut self, fraction: f64) {
        self.contact.colliders.end_frame(1.0 - fraction as f32);
        let (tissue, before, now) = (&self.tissue, &self.clock.before, &self.dynamics.positions);
        for (vertex, displacement) in self.displacements.iter_mut().enumerate() {
            let place = tissue.layout.rows[vertex] as usize;
            let [a, b] = [&before[place], &now[place]].map(position);
            *displacement = (a.lerp(b, fraction) - tissue.tissue_mesh.mesh.positions[vertex]).as_vec3();
        }
        let [before, now] = &self.clock.inputs;
        let mix = |(a, b): (&f32, &f32)| a + fraction as f32 * (b - a);
        let weights: Vec<f32> = before.weights.iter().zip(&now.weights).map(mix).collect();
        if let Some(drive) = &mut self.drive {
            let targets = before.targets.iter().zip(&now.targets);
            drive.shown.clear();
            drive.shown.extend(targets.map(|(a, b)| a.lerp(*b, fraction)));
        }
        self.find_base(&weights);
        let (embedding, base, displacements) = (&self.tissue.skin.embedding, &self.base, &self.displacements);
        self.positions.par_iter_mut().enumerate().with_min_len(PIECE).for_each(|(vertex, position)| {
            *position = base[vertex] + embedding.displacement(vertex, displacements);
        });
        if let Some(lips) = &mut self.contact.lips {
            let projected = lips.project(&mut self.positions);
            (self.report.projected, self.report.penetration) = (projected.moved, projected.left);
        }
    }

    /// Jumps to the equilibrium of the weights, the markers and the head's pose that were set last, and returns that surface. Call it at
    /// the start of every performance, and after every jump in one.
    pub fn settle(&mut self) -> &[Vec3] {
        rayon::scope(|_| self.settle_here());
        &self.positions
    }

    /// Advances by one step to the inputs that were set last, as if the face had always moved like that: for the second step of a
    /// performance that starts at speed, where inertia would jolt a face that was at rest.
    pub fn glide(&mut self) {
        let (before, inputs) = (self.dynamics.positions.clone(), self.clock.inputs[1].clone());
        let pose = self.head.path.ends()[1];
        rayon::scope(|_| self.settle_here());
        self.head.glide(&pose, &before, self.tissue.params.step_time, &self.dynamics.positions);
        self.clock.before = before;
        self.clock.inputs[0] = inputs;
    }

    /// Resolves penetrations of an equilibrium found without contact, in stages from the neutral: lips that the rig has passed through
    /// each other by some millimetres would be separated to the wrong sides if contacts were first detected at the end.
    fn resolve_penetration_from_rest(&mut self, weights: &[f32]) {
        const STAGES: usize = 8;
        const ROUNDS: usize = 5;
        let end = std::mem::replace(&mut self.dynamics.positions, self.rest.clone());
        let mut rig = self.rest.clone();
        for stage in 1..=STAGES {
            let fraction = stage as f32 / STAGES as f32;
            let part: Vec<f32> = weights.iter().map(|weight| fraction * weight).collect();
            for (row, rest) in self.rest.iter().enumerate() {
                for axis in 0..3 {
                    self.dynamics.positions[row][axis] += (end[row][axis] - rest[axis]) / STAGES as f32;
                    rig[row][axis] = rest[axis] + fraction * (self.goal[row][axis] - rest[axis]);
                }
            }
            self.find_base(&part);
            self.contact.follow_rig(&Surface { base: &self.base, rest: &self.rest, x: &rig, origins: &[] });
            self.part(ROUNDS);
        }
    }

    fn settle_here(&mut self) {
        self.stages = Stages::default();
        let weights = self.weights[1].clone();
        self.weights[0] = weights.clone();
        self.head.rest();
        self.find_rest(&weights);
        if let Some(drive) = &mut self.drive {
            drive.targets[0] = drive.targets[1].clone();
        }
        self.forget_contact(&weights);
        self.resolve_penetration_from_rest(&weights);
        self.clock.behind = 0.0;
        self.clock.before.copy_from_slice(&self.dynamics.positions);
        let inputs = self.inputs(weights);
        self.clock.inputs = [inputs.clone(), inputs];
        self.output(1.0);
    }
}
