//! An anatomical face that follows a rig.

use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_numerics::simd::accumulate_runs;
use zygoma_rig::formats::markers::MarkerPlace;

use super::build::{Anatomical, AnatomicalError};
use super::inverse::{Carried, Inverse, Setup};
use super::landmarks::LandmarkDrive;
use super::lips::LipPass;
use super::measure::VolumeChange;

/// A target that moves farther than this from one solve to the next is approached in stages, m (a homotopy). Ours.
const LONG_WAY: f64 = 4e-3;
/// Most stages of one solve. Ours.
const MOST_STAGES: usize = 8;

/// Time spent in the last frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) solve: Duration,
    pub(super) lips: Duration,
    pub(super) output: Duration,
}

/// An anatomical face: weights or a surface go in, plausible surfaces come out.
#[derive(Clone)]
pub struct AnatomicalBody {
    model: Arc<Anatomical>,
    inverse: Inverse,
    lips: Option<LipPass>,
    /// Targets of the surface, and the jaw's pose, that were solved for last.
    reached: (Vec<DVec3>, RigidMotion),
    /// Those to solve for next.
    targets: Vec<DVec3>,
    pose: RigidMotion,
    /// The rig's own surface for them.
    pub(super) plain: Vec<Vec3>,
    pub(super) positions: Vec<Vec3>,
    displacements: Vec<Vec3>,
    /// Points that drive it, with their carriers.
    landmarks: Option<(LandmarkDrive, Vec<Carried>)>,
    pub(super) times: Times,
    iterations: usize,
}

impl AnatomicalBody {
    /// Creates the body at rest.
    pub fn new(model: Arc<Anatomical>) -> Result<Self, NotPositiveDefinite> {
        let setup = Setup::of(&model);
        Self::with_setup(model, &setup)
    }

    /// Creates a body that follows tracked points on the skin (Thesis ch. 4 eq. 22 and 23).
    pub fn following(model: Arc<Anatomical>, places: &[MarkerPlace]) -> Result<Self, AnatomicalError> {
        let drive = LandmarkDrive::new(&model, places)?;
        let carried = drive.carried(&model);
        let mut setup = Setup { landmarks: carried.clone(), ..Setup::of(&model) };
        setup.pull.iter_mut().for_each(|pull| *pull *= model.params.regulariser);
        Ok(Self { landmarks: Some((drive, carried)), ..Self::with_setup(model, &setup)? })
    }

    fn with_setup(model: Arc<Anatomical>, setup: &Setup) -> Result<Self, NotPositiveDefinite> {
        let candidates = LipPass::candidates(&model.output);
        let mut inverse = Inverse::new(&model, setup, &candidates)?;
        let lips = LipPass::new(&model.output, &mut inverse);
        let targets = model.targets(&[]);
        let neutral = model.output.neutral.clone();
        Ok(Self {
            inverse,
            lips,
            reached: (targets.clone(), RigidMotion::IDENTITY),
            targets,
            pose: RigidMotion::IDENTITY,
            plain: neutral.clone(),
            positions: neutral,
            displacements: vec![Vec3::ZERO; model.skin_count()],
            landmarks: None,
            times: Times::default(),
            iterations: 0,
            model,
        })
    }

    /// The head that it simulates.
    pub fn anatomical(&self) -> &Anatomical {
        &self.model
    }

    /// Iterations of the last solve.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// The jaw's pose, in the head's frame.
    pub fn jaw(&self) -> RigidMotion {
        self.inverse.jaw()
    }

    /// The change of volume of all tissue now.
    pub fn volume_change(&self) -> VolumeChange {
        let now = self.inverse.positions(self.model.node_count());
        VolumeChange::between(&self.model.rest, &now, &self.model.tets)
    }

    /// Inverted tetrahedra.
    pub(super) fn inverted_tets(&self) -> Vec<u32> {
        let now = self.inverse.positions(self.model.node_count());
        let is_inverted = |tet: &[u32; 4]| zygoma_geometry::tets::volume(tet.map(|v| now[v as usize])) <= 0.0;
        (0..).zip(&self.model.tets).filter(|(_, tet)| is_inverted(tet)).map(|(index, _)| index).collect()
    }

    /// Sets the expression to solve for next.
    pub(super) fn set_weights(&mut self, weights: &[f32]) {
        let shapes = self.model.output.shapes.len();
        let weight = |shape: usize| weights.get(shape).copied().filter(|w| w.is_finite()).unwrap_or(0.0);
        let weights: Vec<f32> = (0..shapes).map(weight).collect();
        self.targets = self.model.targets(&weights);
        self.pose = self.model.jaw.pose(&weights);
        self.plain.copy_from_slice(&self.model.output.neutral);
        let plain = bytemuck::cast_slice_mut(&mut self.plain);
        let fits = accumulate_runs(plain, &weights, &self.model.output.shapes);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
    }

    /// Sets the tracked points to follow next, in metres in the head's frame. Returns the weights of the rig's shapes that come closest to them; none
    /// if the body follows no points.
    pub fn set_landmarks(&mut self, positions: &[Vec3]) -> Option<Vec<f32>> {
        let (drive, _) = self.landmarks.as_mut()?;
        let weights = drive.set(positions);
        self.set_weights(&weights);
        Some(weights)
    }

    /// Mean and worst distance of the last frame from its tracked points, m, and how many of them are outliers.
    pub fn landmark_miss(&self) -> Option<([f64; 2], usize)> {
        let (drive, _) = self.landmarks.as_ref()?;
        Some((drive.miss(&self.positions), drive.outliers))
    }

    /// Solves for the expression set last (Thesis ch. 3 eq. 8), in stages if it is far from the last one.
    pub(super) fn solve(&mut self) {
        let began = Instant::now();
        self.times = Times::default();
        self.iterations = 0;
        let way = self.targets.iter().zip(&self.reached.0).map(|(to, from)| to.distance(*from));
        let stages = ((way.fold(0.0, f64::max) / LONG_WAY).ceil() as usize).clamp(1, MOST_STAGES);
        let model = self.model.clone();
        for stage in 1..=stages {
            let share = stage as f64 / stages as f64;
            let targets: Vec<DVec3> =
                self.reached.0.iter().zip(&self.targets).map(|(from, to)| from.lerp(*to, share)).collect();
            let from = self.reached.1;
            let pose = RigidMotion {
                rotation: from.rotation.slerp(self.pose.rotation, share),
                translation: from.translation.lerp(self.pose.translation, share),
            };
            self.inverse.aim(&model, &targets, &pose);
            if let Some((drive, carried)) = &self.landmarks {
                let places = drive.carrier_targets(carried, &self.plain, &self.targets);
                self.inverse.aim_landmarks(&places);
            }
            self.iterations += self.inverse.solve().iterations();
        }
        self.reached = (self.targets.clone(), self.pose);
        self.times.solve = began.elapsed();
        self.part_lips();
    }

    /// Solves from rest for the expression set last.
    pub(super) fn settle(&mut self) {
        self.inverse.reset(&self.model);
        if let Some(lips) = &mut self.lips {
            lips.forget();
        }
        self.reached = (self.model.targets(&[]), RigidMotion::IDENTITY);
        self.solve();
    }

    /// The second pass: brings lips that pass through each other to one place (Thesis ch. 3, §3.3.2).
    fn part_lips(&mut self) {
        self.output();
        let began = Instant::now();
        if let Some(mut lips) = self.lips.take() {
            self.iterations += lips.run(self);
            self.lips = Some(lips);
        }
        self.times.lips = began.elapsed();
    }

    pub(super) fn inverse_mut(&mut self) -> &mut Inverse {
        &mut self.inverse
    }

    /// The outside of the tissue relative to its targets, carried by the rig's own surface.
    pub(super) fn output(&mut self) {
        let began = Instant::now();
        for (v, (displacement, target)) in self.displacements.iter_mut().zip(&self.targets).enumerate() {
            *displacement = (self.inverse.at(v) - *target).as_vec3();
        }
        let embedding = &self.model.output.embedding;
        for (v, (position, plain)) in self.positions.iter_mut().zip(&self.plain).enumerate() {
            *position = *plain + embedding.displacement(v, &self.displacements);
        }
        self.times.output += began.elapsed();
    }
}
