//! Random takes for soft tissue.
//!
//! Jumping weights, a shaken head, sticky lips and frames of all lengths. Nothing may become infinite, and whenever the
//! face comes to rest, no element stays inverted and the face returns to the rig.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::ensure;
use glam::{DQuat, DVec3, Vec3};
use serde::Serialize;
use zygoma_face::body::{Body, Drive};
use zygoma_face::model::Continue;
use zygoma_face::shell::{BuildParams, build};
use zygoma_face::tissue::{STICKY, Tissue, TissueBody, TissueParams};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::{Rig, RigMesh};

use super::{Dice, rig_or_head};

/// Simulated seconds from one rest to the next, and the length of a rest, s.
const ROUND: f64 = 6.0;
const REST: f64 = 2.0;

/// Largest distance from the rig that may remain after a rest, m.
const LEFT: f32 = 5e-4;

/// Largest allowed distance from the rig, m.
const FARTHEST: f32 = 0.3;

/// Time constant with which the head approaches its goal, s.
const THROW: f64 = 0.05;

/// The results of a soak test of tissue.
#[derive(Debug, Default, Serialize)]
pub(crate) struct TissueSoaked {
    pub(crate) simulated_seconds: f64,
    pub(crate) frames: usize,
    /// Wall-clock seconds of the frames.
    pub(crate) seconds: f64,
    pub(crate) all_finite: bool,
    /// The largest distance of a vertex from the rig in motion, m.
    pub(crate) farthest: f32,
    /// The largest number of elements inverted at once in motion.
    pub(crate) inverted_in_motion: usize,
    /// Number of rests, and what was left after them: inverted elements, crossing pairs of lip triangles beyond those of the
    /// rig itself, and the largest distance from the rig, m.
    pub(crate) rests: usize,
    pub(crate) inverted_left: usize,
    pub(crate) crossings_left: usize,
    pub(crate) distance_left: f32,
}

/// Lets a rig with tissue, or the built-in head, perform random takes for some simulated seconds.
pub(crate) fn run(path: Option<&Path>, seconds: f64, seed: u64) -> anyhow::Result<TissueSoaked> {
    soak(&rig_or_head(path)?, 4000, seconds, seed)
}

fn soak(rig: &Rig, triangles: usize, seconds: f64, seed: u64) -> anyhow::Result<TissueSoaked> {
    let mesh = rig.skin();
    let build_params =
        BuildParams { triangles, uniform_stiffness: Some(1.0), corrected: false, ..BuildParams::default() };
    let face = build(&rig.name, mesh, &build_params, &mut |_| Continue::Yes)?;
    let params = TissueParams { stickiness: STICKY, seed, ..TissueParams::default() };
    let tissue = Arc::new(Tissue::new(&face, &params)?);
    let mut performance = Performance::new(tissue, mesh, seed)?;
    let mut found = TissueSoaked { all_finite: true, ..TissueSoaked::default() };
    while found.simulated_seconds < seconds {
        let end = found.simulated_seconds + ROUND.min(seconds);
        while found.simulated_seconds < end {
            let frame = performance.act();
            performance.advance(frame, &mut found)?;
        }
        performance.rest(&mut found)?;
    }
    Ok(found)
}

impl TissueSoaked {
    /// Fails if anything happened that must not happen.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(self.all_finite, "a vertex became infinite or not a number");
        ensure!(self.farthest <= FARTHEST, "the skin was {} m from the rig", self.farthest);
        ensure!(self.inverted_left == 0, "{} elements stayed inverted", self.inverted_left);
        ensure!(self.crossings_left == 0, "the lips stayed crossed {} times", self.crossings_left);
        ensure!(self.distance_left <= LEFT, "{} m were left after {REST} s of rest", self.distance_left);
        Ok(())
    }
}

/// A performance with extreme, random motion.
struct Performance {
    tissue: Arc<Tissue>,
    body: Box<dyn Body>,
    dice: Dice,
    weights: Vec<f32>,
    /// The head's rotation now, and its goal.
    turn: [DVec3; 2],
    place: [DVec3; 2],
    rig: Evaluator,
    /// The plain rig's surface.
    plain: Vec<Vec3>,
}

impl Performance {
    fn new(tissue: Arc<Tissue>, mesh: &RigMesh, seed: u64) -> anyhow::Result<Self> {
        let mut body: Box<dyn Body> = Box::new(TissueBody::new(tissue.clone())?);
        body.settle();
        Ok(Self {
            tissue,
            body,
            dice: Dice::new(seed),
            weights: vec![0.0; mesh.shapes.len()],
            rig: Evaluator::new(mesh),
            turn: [DVec3::ZERO; 2],
            place: [DVec3::ZERO; 2],
            plain: mesh.positions.clone(),
        })
    }

    /// Jumps to another expression, moves the head's goal, and returns the length of the next frame.
    fn act(&mut self) -> f64 {
        if self.dice.chance(0.2) {
            for shape in 0..self.weights.len() {
                self.weights[shape] = if self.dice.chance(0.15) { 1.2 * self.dice.number() } else { 0.0 };
            }
        }
        if self.dice.chance(0.1) {
            self.turn[1] = 0.8 * self.dice.vector().as_dvec3();
            self.place[1] = 0.2 * self.dice.vector().as_dvec3();
        }
        self.dice.frame()
    }

    fn advance(&mut self, seconds: f64, found: &mut TissueSoaked) -> anyhow::Result<()> {
        let fraction = 1.0 - (-seconds / THROW).exp();
        for [now, goal] in [&mut self.turn, &mut self.place] {
            *now = now.lerp(*goal, fraction);
        }
        let rotation = DQuat::from_scaled_axis(self.turn[0]);
        self.body.drive(Drive::Weights(&self.weights))?;
        self.body.set_head_pose(&RigidMotion { rotation, translation: self.place[0] });
        let began = Instant::now();
        let surface = self.body.advance(seconds).positions;
        found.seconds += began.elapsed().as_secs_f64();
        found.all_finite &= surface.iter().all(|p| p.is_finite());
        self.rig.evaluate(&self.weights, &mut self.plain);
        found.farthest = found.farthest.max(farthest(surface, &self.plain));
        found.inverted_in_motion = found.inverted_in_motion.max(self.body.inverted().len());
        found.frames += 1;
        found.simulated_seconds += seconds;
        Ok(())
    }

    /// Comes to rest at the neutral face, with sticking switched off: lips that stick would not return.
    fn rest(&mut self, found: &mut TissueSoaked) -> anyhow::Result<()> {
        self.weights.fill(0.0);
        self.body.set_param("stickiness", 0.0)?;
        (self.turn[1], self.place[1]) = (DVec3::ZERO, DVec3::ZERO);
        let end = found.simulated_seconds + REST;
        while found.simulated_seconds < end {
            self.advance(1.0 / 60.0, found)?;
        }
        let surface = self.body.advance(1.0 / 60.0).positions;
        let crossings = self.tissue.lip_crossings(surface);
        found.crossings_left += crossings.saturating_sub(self.tissue.lip_crossings(&self.plain));
        found.distance_left = found.distance_left.max(farthest(surface, &self.plain));
        found.inverted_left = found.inverted_left.max(self.body.inverted().len());
        found.rests += 1;
        Ok(self.body.set_param("stickiness", 1.0)?)
    }
}

fn farthest(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_head::{Head, HeadOptions, Level};

    #[test]
    fn tissue_survives_a_random_take() {
        let rig = Head::new(&HeadOptions::sampled(1, Level::Low)).rig();
        let found = soak(&rig, 1000, 3.0, 3).unwrap();
        found.check().unwrap();
        assert!(found.frames > 100 && found.farthest > 0.005 && found.rests == 1, "{found:?}");
    }
}
