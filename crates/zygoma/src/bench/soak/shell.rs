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
use zygoma_face::body::{Body, BodyParam, Drive, RigBody};
use zygoma_face::contact::{ColliderId, ColliderMotion, GrabId};
use zygoma_face::model::{Continue, FaceModel};
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

/// Parameters vary in this part of their range: density from 0.35 to 2.8 times that of the face, gravity up to 30 m/s².
const VARIED: f64 = 0.3;

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
    let usual = fuzzer.body.params();
    let mut found = Soaked { all_finite: true, ..Soaked::default() };
    while found.simulated_seconds < seconds {
        let end = found.simulated_seconds + ROUND.min(seconds);
        while found.simulated_seconds < end {
            let frame = fuzzer.act()?;
            fuzzer.advance(frame, &mut found);
        }
        fuzzer.let_go(&usual)?;
        let recovered = found.simulated_seconds + RECOVERY;
        while found.simulated_seconds < recovered {
            fuzzer.advance(0.01, &mut found);
        }
        found.left_percent = found.left_percent.max(100.0 * fuzzer.farthest());
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

/// Generates violent random input to a body.
struct Fuzzer {
    body: Box<dyn Body>,
    /// The plain rig, which the body returns to.
    rig: RigBody,
    /// Length of a step of the physics, s.
    step: f64,
    height: f32,
    dice: Dice,
    colliders: Vec<ColliderId>,
    grabs: Vec<GrabId>,
    weights: Vec<f32>,
    middle: Vec3,
    extent: f32,
}

impl Fuzzer {
    fn new(face: &FaceModel, seed: u64) -> anyhow::Result<Self> {
        let body = ShellBody::new(face, RunParams::default())?;
        let points = || face.skin.iter().map(|v| face.neutral[*v as usize]);
        let low = points().fold(Vec3::MAX, Vec3::min);
        let high = points().fold(Vec3::MIN, Vec3::max);
        Ok(Self {
            step: body.face().fitted.params.step_time,
            height: face.height as f32,
            body: Box::new(body),
            rig: RigBody::new(face),
            dice: Dice::new(seed),
            colliders: Vec::new(),
            grabs: Vec::new(),
            weights: vec![0.0; face.shapes.len()],
            middle: 0.5 * (low + high),
            extent: 0.7 * (high - low).max_element(),
        })
    }

    /// Makes a random, violent change, and returns the length of the next frame.
    fn act(&mut self) -> anyhow::Result<f64> {
        let place = self.middle + self.extent * self.dice.vector();
        self.press(place);
        self.pull(place);
        if self.dice.chance(0.3) {
            for shape in 0..self.weights.len() {
                self.weights[shape] = if self.dice.chance(0.15) { 1.3 * self.dice.number() } else { 0.0 };
            }
            self.drive()?;
        }
        if self.dice.chance(0.2) {
            let turn = 0.8 * self.dice.vector();
            let rotation = DQuat::from_scaled_axis(turn.as_dvec3());
            let translation: DVec3 = 0.2 * self.dice.vector().as_dvec3();
            self.body.set_head_pose(&RigidMotion { rotation, translation });
        }
        if self.dice.chance(0.01) {
            self.change_params()?;
        }
        Ok(self.dice.frame())
    }

    fn drive(&mut self) -> anyhow::Result<()> {
        self.rig.drive(Drive::Weights(&self.weights))?;
        Ok(self.body.drive(Drive::Weights(&self.weights))?)
    }

    fn press(&mut self, place: Vec3) {
        let Some(colliders) = self.body.colliders_mut() else { return };
        if self.colliders.len() < 4 && self.dice.chance(0.1) {
            let radius = 0.002 + 0.03 * self.dice.number();
            let shape = if self.dice.chance(0.5) {
                ColliderShape::Sphere { radius }
            } else {
                ColliderShape::Capsule { half_length: 0.05 * self.dice.number(), radius }
            };
            let motion = if self.dice.chance(0.5) {
                ColliderMotion::Kinematic
            } else {
                ColliderMotion::Bounded { force: 20.0 * self.dice.number().powi(4) }
            };
            self.colliders.push(colliders.add(shape, Pose::at(place), motion));
        }
        for id in &self.colliders {
            if self.dice.chance(0.4) {
                let at = self.middle + self.extent * self.dice.vector();
                let friction = if self.dice.chance(0.5) { self.dice.number() } else { 0.0 };
                if let Some(collider) = colliders.get_mut(*id) {
                    (collider.pose, collider.friction) = (Pose::at(at), friction);
                }
            }
        }
        if self.dice.chance(0.05) && !self.colliders.is_empty() {
            colliders.remove(self.colliders.remove(0));
        }
    }

    fn pull(&mut self, place: Vec3) {
        if self.grabs.len() < 2 && self.dice.chance(0.05) {
            let radius = 0.02 * self.dice.number();
            self.grabs.extend(self.body.grab(place, radius));
        }
        let Some(colliders) = self.body.colliders_mut() else { return };
        for grab in &self.grabs {
            colliders.drag(*grab, self.middle + self.extent * self.dice.vector());
        }
        if self.dice.chance(0.05) && !self.grabs.is_empty() {
            colliders.release(self.grabs.remove(0));
        }
    }

    /// Gives every parameter a random value around the middle of its range.
    fn change_params(&mut self) -> anyhow::Result<()> {
        for param in self.body.params() {
            let (least, most) = (*param.range.start(), *param.range.end());
            let t = 0.5 + VARIED * (f64::from(self.dice.number()) - 0.5);
            let value =
                if param.is_factor { least * (most / least).powf(t) } else { least + t * (most - least) };
            self.body.set_param(param.name, value)?;
        }
        // Waiting makes the result depend on the seed alone, however fast the machine is.
        self.body.finish_params();
        Ok(())
    }

    fn let_go(&mut self, usual: &[BodyParam]) -> anyhow::Result<()> {
        if let Some(colliders) = self.body.colliders_mut() {
            colliders.clear();
        }
        self.colliders.clear();
        self.grabs.clear();
        self.weights.fill(0.0);
        self.drive()?;
        self.body.set_head_pose(&RigidMotion::IDENTITY);
        for param in usual {
            self.body.set_param(param.name, param.value)?;
        }
        self.body.finish_params();
        Ok(())
    }

    /// The largest distance from the rig, in heights.
    fn farthest(&mut self) -> f32 {
        let plain = self.rig.frame_before(0.0).positions;
        let shown = self.body.frame_before(0.0).positions;
        shown.iter().zip(plain).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max) / self.height
    }

    fn advance(&mut self, seconds: f64, found: &mut Soaked) {
        let steps = (seconds / self.step).ceil().max(1.0);
        let began = Instant::now();
        let frame = self.body.advance(seconds);
        let spent = began.elapsed().as_secs_f64();
        found.seconds += spent;
        found.slowest_step_ms = found.slowest_step_ms.max(1e3 * spent / steps);
        found.all_finite &= frame.positions.iter().all(|p| p.is_finite());
        found.frames += 1;
        found.simulated_seconds += seconds;
        if let Some(shell) = self.body.downcast_ref::<ShellBody>() {
            found.top_speed = found.top_speed.max(shell.top_speed());
        }
        found.farthest = found.farthest.max(self.farthest());
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
