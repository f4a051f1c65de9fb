//! Inertial forces of the head's motion on tissue that is simulated in the head's frame.

use glam::{DQuat, DVec3};
use rayon::prelude::*;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::projective::{Dynamics, Row, position, row};

use crate::body::head_path::HeadPath;

/// Minimum number of vertices per parallel job. Ours.
pub(super) const PIECE: usize = 2048;

const STILL: RigidMotion = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

/// The head's motion, and that of the tissue in the world.
#[derive(Clone)]
pub(super) struct Head {
    /// The pose at the end of the next frame.
    pub(super) pose: RigidMotion,
    pub(super) path: HeadPath,
    /// The pose at the end of the last step.
    at_step: RigidMotion,
    /// Velocities of the free vertices in the world.
    velocities: Vec<DVec3>,
    /// World positions of the free vertices at the end of the last step.
    places: Vec<DVec3>,
}

impl Head {
    /// At rest, with the given number of free vertices.
    pub(super) fn still(free: usize) -> Self {
        Self {
            pose: STILL,
            path: HeadPath::still(),
            at_step: STILL,
            velocities: vec![DVec3::ZERO; free],
            places: vec![DVec3::ZERO; free],
        }
    }

    /// Begins a frame of the given length.
    pub(super) fn begin_frame(&mut self, seconds: f64) {
        self.path.go_to(&self.pose, seconds);
    }

    /// Brings the head to rest at its latest pose, and the tissue with it.
    pub(super) fn rest(&mut self) {
        self.path.rest_at(&self.pose);
        self.at_step = self.pose;
        self.velocities.fill(DVec3::ZERO);
    }

    /// Moves the head to its latest pose, and the tissue with it, as if both had always moved as in this step: given the last pose and
    /// the positions of the tissue before and after.
    pub(super) fn glide(&mut self, from: &RigidMotion, before: &[Row<f32>], seconds: f64, now: &[Row<f32>]) {
        self.path.move_steadily(from, &self.pose, seconds);
        self.at_step = self.pose;
        let [from, to] = [from, &self.pose].map(RigidMotion::to_affine);
        for ((velocity, before), now) in self.velocities.iter_mut().zip(before).zip(now) {
            let way = to.transform_point3(position(now)) - from.transform_point3(position(before));
            *velocity = way / seconds;
        }
    }

    /// Blends the velocity of a free vertex, by a fraction, towards that of a point at rest in the head's frame.
    pub(super) fn stop(&mut self, vertex: usize, place: DVec3, fraction: f64) {
        let resting = self.path.velocity_of(place);
        let velocity = &mut self.velocities[vertex];
        *velocity = if velocity.is_finite() { velocity.lerp(resting, fraction) } else { resting };
    }

    /// Sets the velocities relative to the head: each vertex keeps its velocity in the world while the head moves to a pose.
    pub(super) fn carry_on(&mut self, pose: &RigidMotion, seconds: f64, dynamics: &mut Dynamics<f32>) {
        let (from, back) = (self.at_step.to_affine(), pose.to_affine().inverse());
        let of_vertices = self.places.par_iter_mut().zip(&self.velocities);
        let of_rows = dynamics.velocities.par_iter_mut().zip(&dynamics.positions);
        of_vertices.zip(of_rows).with_min_len(PIECE).for_each(|((place, velocity), (relative, x))| {
            let here = position(x);
            *place = from.transform_point3(here);
            let predicted = back.transform_point3(*place + seconds * *velocity);
            *relative = row((predicted - here) / seconds);
        });
    }

    /// Ends the step: finds velocities in the world from the displacements of the step.
    pub(super) fn follow(&mut self, pose: &RigidMotion, seconds: f64, dynamics: &Dynamics<f32>) {
        let to_world = pose.to_affine();
        let of_vertices = self.velocities.par_iter_mut().zip(&self.places);
        of_vertices.zip(&dynamics.positions).with_min_len(PIECE).for_each(|((velocity, place), x)| {
            *velocity = (to_world.transform_point3(position(x)) - *place) / seconds;
        });
        self.at_step = *pose;
    }
}
