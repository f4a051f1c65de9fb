//! Random, violent contact.
//!
//! Spheres, capsules and grabs that jump about, a head that is shaken, jumping weights, parameters that change
//! and frames of all lengths. Nothing may become infinite or faster than the limit, and whenever everything is released, the
//! face must return to the rig.

use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use glam::{DQuat, DVec3, Vec3};
use serde::Serialize;
use zygoma_face::contact::{ColliderId, ColliderMotion, GrabId};
use zygoma_face::model::Continue;
use zygoma_face::model::FaceModel;
use zygoma_face::shell::{BuildParams, RunParams, ShellBody, build};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::{ColliderShape, Pose};

use super::{Dice, rig_or_head};

/// Largest allowed speed, in heights per second.
const TOP_SPEED: f32 = 50.5;

/// Largest allowed distance from the rig, in heights.
const FARTHEST: f32 = 1.0;

/// Largest distance that may remain after the release, in percent of the height, and the time to recover, in seconds.
const LEFT_PERCENT: f32 = 0.1;
const RECOVERY: f64 = 2.0;

/// Simulated seconds from one release to the next.
const ROUND: f64 = 8.0;

/// The results of a soak test of a shell.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Soaked {
    pub(crate) simulated_seconds: f64,
    pub(crate) frames: usize,
    /// Wall-clock seconds of the frames.
    pub(crate) seconds: f64,
    /// The slowest frame, in milliseconds per step of the physics.
    pub(crate) slowest_step_ms: f64,
    pub(crate) all_finite: bool,
    /// Heights per second.
    pub(crate) top_speed: f32,
    /// The largest distance of a vertex from the rig, in heights.
    pub(crate) farthest: f32,
    /// Number of releases, and the worst distance from the rig after recovering.
    pub(crate) releases: usize,
    pub(crate) left_percent: f32,
}

/// Presses, pulls and shakes a rig, or the built-in head, for some simulated seconds.
pub(crate) fn run(path: Option<&Path>, seconds: f64, seed: u64) -> anyhow::Result<Soaked> {
    let rig = rig_or_head(path)?;
    let params = BuildParams { triangles: 2000, uniform_stiffness: Some(2.0), ..BuildParams::default() };
    let face = build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes)?;
    soak(&face, seconds, seed)
}

fn soak(face: &FaceModel, seconds: f64, seed: u64) -> anyhow::Result<Soaked> {
    let mut fuzzer = Fuzzer::new(face, seed)?;
    let mut found = Soaked { all_finite: true, ..Soaked::default() };
    while found.simulated_seconds < seconds {
        let end = found.simulated_seconds + ROUND.min(seconds);
        while found.simulated_seconds < end {
            let frame = fuzzer.act();
            fuzzer.advance(frame, &mut found);
        }
        fuzzer.let_go();
        let recovered = found.simulated_seconds + RECOVERY;
        while found.simulated_seconds < recovered {
            fuzzer.advance(0.01, &mut found);
        }
        let left = fuzzer.running.deviation().worst / face.height as f32;
        found.left_percent = found.left_percent.max(100.0 * left);
        found.releases += 1;
    }
    Ok(found)
}

impl Soaked {
    /// Fails if anything happened that must not happen.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(self.all_finite, "a vertex became infinite or not a number");
        ensure!(self.top_speed <= TOP_SPEED, "the skin reached {} heights per second", self.top_speed);
        ensure!(self.farthest <= FARTHEST, "the skin was pushed away by {} heights", self.farthest);
        ensure!(
            self.left_percent <= LEFT_PERCENT,
            "{} % of the height were left {RECOVERY} s after letting go",
            self.left_percent
        );
        Ok(())
    }
}

/// Generates violent random input to a face.
struct Fuzzer {
    running: ShellBody,
    dice: Dice,
    touches: Vec<ColliderId>,
    pulls: Vec<GrabId>,
    weights: Vec<f32>,
    middle: Vec3,
    reach: f32,
}

impl Fuzzer {
    fn new(face: &FaceModel, seed: u64) -> anyhow::Result<Self> {
        let running = ShellBody::new(face, RunParams::default())?;
        let points = || face.skin.iter().map(|v| face.neutral[*v as usize]);
        let low = points().fold(Vec3::MAX, Vec3::min);
        let high = points().fold(Vec3::MIN, Vec3::max);
        Ok(Self {
            running,
            dice: Dice::new(seed),
            touches: Vec::new(),
            pulls: Vec::new(),
            weights: vec![0.0; face.shapes.len()],
            middle: 0.5 * (low + high),
            reach: 0.7 * (high - low).max_element(),
        })
    }

    /// Makes a random, violent change, and returns the length of the next frame.
    fn act(&mut self) -> f64 {
        let place = self.middle + self.reach * self.dice.vector();
        if self.touches.len() < 4 && self.dice.chance(0.1) {
            let radius = 0.002 + 0.03 * self.dice.number();
            let shape = if self.dice.chance(0.5) {
                ColliderShape::Sphere { radius }
            } else {
                ColliderShape::Capsule { half_length: 0.05 * self.dice.number(), radius }
            };
            let drive = if self.dice.chance(0.5) {
                ColliderMotion::Kinematic
            } else {
                ColliderMotion::Bounded { force: 20.0 * self.dice.number().powi(4) }
            };
            self.touches.push(self.running.colliders_mut().add(shape, Pose::at(place), drive));
        }
        for index in 0..self.touches.len() {
            if self.dice.chance(0.4) {
                let at = self.middle + self.reach * self.dice.vector();
                let friction = if self.dice.chance(0.5) { self.dice.number() } else { 0.0 };
                if let Some(touch) = self.running.colliders_mut().get_mut(self.touches[index]) {
                    (touch.pose, touch.friction) = (Pose::at(at), friction);
                }
            }
        }
        if self.dice.chance(0.05) && !self.touches.is_empty() {
            let touch = self.touches.remove(0);
            self.running.colliders_mut().remove(touch);
        }
        self.pull(place);
        if self.dice.chance(0.3) {
            for shape in 0..self.weights.len() {
                self.weights[shape] = if self.dice.chance(0.15) { 1.3 * self.dice.number() } else { 0.0 };
            }
            self.running.set_weights(&self.weights);
        }
        if self.dice.chance(0.2) {
            let turn = 0.8 * self.dice.vector();
            let rotation = DQuat::from_scaled_axis(turn.as_dvec3());
            let translation: DVec3 = 0.2 * self.dice.vector().as_dvec3();
            self.running.set_head_pose(&RigidMotion { rotation, translation });
        }
        if self.dice.chance(0.01) {
            self.change_params();
        }
        self.dice.frame()
    }

    fn pull(&mut self, place: Vec3) {
        if self.pulls.len() < 2 && self.dice.chance(0.05) {
            let radius = 0.02 * self.dice.number();
            self.pulls.push(self.running.grab(place, radius));
        }
        for index in 0..self.pulls.len() {
            let to = self.middle + self.reach * self.dice.vector();
            self.running.colliders_mut().drag(self.pulls[index], to);
        }
        if self.dice.chance(0.05) && !self.pulls.is_empty() {
            let pull = self.pulls.remove(0);
            self.running.colliders_mut().release(pull);
        }
    }

    fn change_params(&mut self) {
        let mut shell = self.running.face().fitted.params.clone();
        shell.density *= f64::from(0.2 + 3.0 * self.dice.number());
        shell.damping = f64::from(5.0 * self.dice.number());
        shell.max_pressure *= f64::from(0.5 + 2.0 * self.dice.number());
        let gravity = (20.0 * self.dice.vector()).as_dvec3().to_array();
        let stiffness_scale = f64::from(10f32.powf(self.dice.number() - 0.5));
        let params = RunParams { shell: Some(shell), stiffness_scale, gravity, ..RunParams::default() };
        self.running.set_params(params);
        // Waiting makes the result depend on the seed alone, however fast the machine is.
        self.running.finish_params();
    }

    fn let_go(&mut self) {
        self.running.colliders_mut().clear();
        self.touches.clear();
        self.pulls.clear();
        self.weights.fill(0.0);
        self.running.set_weights(&self.weights);
        self.running.set_head_pose(&RigidMotion::IDENTITY);
        self.running.set_params(RunParams::default());
        self.running.finish_params();
    }

    fn advance(&mut self, seconds: f64, found: &mut Soaked) {
        let steps = (seconds / self.running.face().fitted.params.step_time).ceil().max(1.0);
        let began = Instant::now();
        let frame = self.running.advance(seconds);
        let spent = began.elapsed().as_secs_f64();
        found.seconds += spent;
        found.slowest_step_ms = found.slowest_step_ms.max(1e3 * spent / steps);
        found.all_finite &= frame.positions.iter().all(|p| p.is_finite());
        found.frames += 1;
        found.simulated_seconds += seconds;
        found.top_speed = found.top_speed.max(self.running.top_speed());
        let farthest = self.running.deviation().worst / self.running.face().height as f32;
        found.farthest = found.farthest.max(farthest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_head::{Head, HeadOptions, Level};

    #[test]
    fn a_face_survives_seconds_of_violence() {
        let rig = Head::new(&HeadOptions::sampled(1, Level::Low)).rig();
        let params = BuildParams { triangles: 1000, uniform_stiffness: Some(2.0), ..BuildParams::default() };
        let face = build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes).unwrap();
        let found = soak(&face, 6.0, 3).unwrap();
        found.check().unwrap();
        assert!(found.frames > 100 && found.farthest > 0.05 && found.top_speed > 1.0, "{found:?}");
        let again = soak(&face, 6.0, 3).unwrap();
        assert_eq!((found.top_speed, found.left_percent), (again.top_speed, again.left_percent));
    }
}
