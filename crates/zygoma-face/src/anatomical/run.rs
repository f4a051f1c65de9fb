//! An anatomical face that follows a rig.

use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_rig::formats::markers::MarkerPlace;

use super::aim::Aim;
use super::build::{Anatomical, AnatomicalError};
use super::contact::contact_of;
use super::dynamics::Motion;
use super::inverse::{Carried, Inverse, Setup};
use super::landmarks::LandmarkDrive;
use super::measure::VolumeChange;
use super::turning::Turning;
use crate::body::head_path::HeadPath;
use crate::volume::contact::VolumeContact;

/// A target that moves farther than this from one solve to the next is approached in stages, m (a homotopy). Ours, as those below.
const LONG_WAY: f64 = 4e-3;
/// Most stages of one solve.
const MOST_STAGES: usize = 8;
/// Time in which a face settles, s: contact wants to know how fast skin moves.
const SETTLED_IN: f64 = 0.1;
/// The longest frame, s: the same as for other bodies.
const LONGEST_FRAME: f64 = 1.0;

/// Time spent in the last frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) solve: Duration,
    pub(super) contact: Duration,
    pub(super) output: Duration,
}

/// An anatomical face: weights or tracked points and a head pose go in, plausible surfaces come out.
#[derive(Clone)]
pub struct AnatomicalBody {
    pub(super) model: Arc<Anatomical>,
    pub(super) inverse: Inverse,
    pub(super) contact: VolumeContact,
    /// The expression that was solved for last.
    pub(super) reached: Aim,
    /// Weights to solve for next.
    weights: Vec<f32>,
    /// Time since it was created or settled, s.
    pub(super) time: f64,
    /// Second-order motion of each part, if the face does not follow at once.
    motion: Vec<Motion>,
    head: RigidMotion,
    pub(super) path: HeadPath,
    pub(super) positions: Vec<Vec3>,
    displacements: Vec<Vec3>,
    /// Points that drive it, with their carriers.
    landmarks: Option<(LandmarkDrive, Vec<Carried>)>,
    /// Dials that can be turned; none if the head was made with dials, or follows points.
    pub(super) turning: Option<Turning>,
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
        Ok(Self { landmarks: Some((drive, carried)), turning: None, ..Self::with_setup(model, &setup)? })
    }

    pub(super) fn with_setup(model: Arc<Anatomical>, setup: &Setup) -> Result<Self, NotPositiveDefinite> {
        let mut inverse = Inverse::new(&model, setup)?;
        let contact = contact_of(&model, &mut inverse);
        let shapes = model.output.shapes.len();
        let parts = model.swings.iter().flat_map(|swings| &swings.parts);
        let motion = parts.map(|part| Motion::new(part, shapes, model.skin_count())).collect();
        Ok(Self {
            inverse,
            contact,
            reached: Aim::new(&model, &[]),
            weights: vec![0.0; shapes],
            time: 0.0,
            motion,
            head: RigidMotion::IDENTITY,
            path: HeadPath::still(),
            positions: model.output.neutral.clone(),
            displacements: vec![Vec3::ZERO; model.skin_count()],
            landmarks: None,
            turning: Turning::of(&model),
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
        for (place, own) in self.weights.iter_mut().enumerate() {
            *own = weights.get(place).copied().filter(|weight| weight.is_finite()).unwrap_or(0.0);
        }
    }

    /// Sets the head's pose at the next known time.
    pub(super) fn set_head(&mut self, pose: &RigidMotion) {
        if pose.is_finite() {
            self.head = *pose;
        }
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

    /// Advances by a frame, to the inputs set last.
    pub(super) fn run(&mut self, seconds: f64) {
        if seconds.is_nan() || seconds <= 0.0 {
            return;
        }
        self.take_turned_dials();
        let seconds = seconds.min(LONGEST_FRAME);
        self.path.go_to(&self.head, seconds);
        self.swing_and_solve(seconds);
    }

    /// Advances by a frame as if the head had always moved as in it.
    pub(super) fn begin_moving(&mut self, seconds: f64) {
        if seconds.is_nan() || seconds <= 0.0 {
            return;
        }
        let seconds = seconds.min(LONGEST_FRAME);
        let from = self.path.ends()[1];
        self.path.move_steadily(&from, &self.head, seconds);
        self.swing_and_solve(seconds);
    }

    fn swing_and_solve(&mut self, seconds: f64) {
        self.contact.colliders.begin_frame();
        if let Some(swings) = &self.model.swings {
            let skin = (&self.model.rest[..self.model.skin_count()], &swings.compliance);
            self.motion.iter_mut().for_each(|part| part.advance(seconds, &self.weights, &self.path, skin));
        }
        self.time += seconds;
        let wanted = self.wanted();
        self.solve(&wanted, seconds);
    }

    /// The expression to solve for: that of the weights set last, or where it has swung to.
    fn wanted(&mut self) -> Aim {
        let mut aim = match &self.model.swings {
            None => Aim::new(&self.model, &self.weights),
            Some(swings) => {
                let swung = |motion: &Motion| {
                    let mut aim = Aim::new(&self.model, &motion.weights());
                    aim.displace(&self.model, motion.sway());
                    aim
                };
                let aims: Vec<Aim> = self.motion.iter().map(swung).collect();
                Aim::of_parts(&self.model, &swings.parts, &aims)
            }
        };
        self.blow(&mut aim);
        aim
    }

    /// Solves for an expression (Thesis ch. 3 eq. 8), in stages if it is far from the last one.
    fn solve(&mut self, wanted: &Aim, seconds: f64) {
        let began = Instant::now();
        self.times = Times::default();
        self.iterations = 0;
        let stages = ((wanted.farthest(&self.reached) / LONG_WAY).ceil() as usize).clamp(1, MOST_STAGES);
        let from = self.reached.clone();
        for stage in 1..=stages {
            let fraction = stage as f64 / stages as f64;
            let aim = if stage == stages { wanted.clone() } else { from.towards(wanted, fraction) };
            if let Some((drive, carried)) = &self.landmarks {
                let places = drive.carrier_targets(carried, &wanted.plain, &wanted.targets);
                self.inverse.aim_landmarks(&places);
            }
            let way = aim.farthest(&self.reached);
            self.iterations += self.solve_in_contact(&aim, way, fraction, seconds / stages as f64);
            self.reached = aim;
        }
        self.times.solve = began.elapsed().saturating_sub(self.times.contact);
        self.output();
    }

    /// Lets the face swing from where it is, with some velocities of the weights, 1/s.
    pub(super) fn set_swing(&mut self, velocities: &[f32]) {
        self.motion.iter_mut().for_each(|part| part.set_velocities(velocities));
    }

    /// Takes the expression and the pose of another body. Its swings are over.
    pub(super) fn continue_as(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.weights, &mut other.weights);
        self.head = other.head;
        std::mem::swap(&mut self.path, &mut other.path);
        self.end_swings();
    }

    fn end_swings(&mut self) {
        if let Some(swings) = &self.model.swings {
            let (rest, soft) = (&self.model.rest[..self.model.skin_count()], &swings.compliance);
            self.motion.iter_mut().for_each(|part| part.settle(&self.weights, &self.head, rest, soft));
        }
    }

    /// Solves from rest for the expression set last.
    pub(super) fn settle(&mut self) {
        self.take_turned_dials();
        self.inverse.reset(&self.model);
        self.path.rest_at(&self.head);
        self.reached = Aim::new(&self.model, &[]);
        self.forget_contact();
        self.end_swings();
        self.contact.colliders.begin_frame();
        self.time = 0.0;
        let wanted = self.wanted();
        self.solve(&wanted, SETTLED_IN);
    }

    /// The outside of the tissue relative to its targets, carried by the rig's own surface.
    pub(super) fn output(&mut self) {
        let began = Instant::now();
        self.contact.colliders.end_frame(0.0);
        for (v, (displacement, target)) in
            self.displacements.iter_mut().zip(&self.reached.targets).enumerate()
        {
            *displacement = (self.inverse.at(v) - *target).as_vec3();
        }
        let embedding = &self.model.output.embedding;
        for (v, (position, plain)) in self.positions.iter_mut().zip(&self.reached.plain).enumerate() {
            *position = *plain + embedding.displacement(v, &self.displacements);
        }
        if let Some(lips) = &mut self.contact.lips {
            lips.project(&mut self.positions);
        }
        self.times.output += began.elapsed();
    }
}
