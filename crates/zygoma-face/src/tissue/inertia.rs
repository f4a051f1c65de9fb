//! What the head's motion does to the flesh that lives in its frame.

use glam::{DQuat, DVec3};
use rayon::prelude::*;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::projective::{Dynamics, Row, position, row};

use crate::body::head_path::HeadPath;

/// Vertices that are worth handing to another thread. Ours.
pub(super) const PIECE: usize = 2048;

const STILL: RigidMotion = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

/// The head's motion, and the flesh's in the world.
#[derive(Clone)]
pub(super) struct Head {
    /// The pose at the end of the next frame.
    pub(super) pose: RigidMotion,
    pub(super) path: HeadPath,
    /// The pose at the end of the last step.
    at_step: RigidMotion,
    /// Velocities of the free vertices in the world.
    velocities: Vec<DVec3>,
    /// Where the free vertices were in the world at the end of the last step.
    places: Vec<DVec3>,
}

impl Head {
    /// At rest, for so many free vertices.
    pub(super) fn still(free: usize) -> Self {
        Self {
            pose: STILL,
            path: HeadPath::still(),
            at_step: STILL,
            velocities: vec![DVec3::ZERO; free],
            places: vec![DVec3::ZERO; free],
        }
    }

    /// A frame of some seconds begins.
    pub(super) fn begin_frame(&mut self, seconds: f64) {
        self.path.go_to(&self.pose, seconds);
    }

    /// Stops where it was told to be last, and the flesh with it.
    pub(super) fn rest(&mut self) {
        self.path.rest_at(&self.pose);
        self.at_step = self.pose;
        self.velocities.fill(DVec3::ZERO);
    }

    /// Goes on to where it was told to be last, with the flesh, as if both had always moved as in this step: from a pose and places of the
    /// flesh to other places.
    pub(super) fn glide(&mut self, from: &RigidMotion, before: &[Row<f32>], seconds: f64, now: &[Row<f32>]) {
        self.path.move_steadily(from, &self.pose, seconds);
        self.at_step = self.pose;
        let [from, to] = [from, &self.pose].map(RigidMotion::to_affine);
        for ((velocity, before), now) in self.velocities.iter_mut().zip(before).zip(now) {
            let way = to.transform_point3(position(now)) - from.transform_point3(position(before));
            *velocity = way / seconds;
        }
    }

    /// Lets a free vertex rest in the head, by a share, at a place there.
    pub(super) fn stop(&mut self, vertex: usize, place: DVec3, share: f64) {
        let resting = self.path.velocity_of(place);
        let velocity = &mut self.velocities[vertex];
        *velocity = if velocity.is_finite() { velocity.lerp(resting, share) } else { resting };
    }

    /// Inertia: in the world each vertex would go on as it went, which gives it a velocity in the head that goes to a pose.
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

    /// The step is over: velocities in the world follow from the way made.
    pub(super) fn follow(&mut self, pose: &RigidMotion, seconds: f64, dynamics: &Dynamics<f32>) {
        let to_world = pose.to_affine();
        let of_vertices = self.velocities.par_iter_mut().zip(&self.places);
        of_vertices.zip(&dynamics.positions).with_min_len(PIECE).for_each(|((velocity, place), x)| {
            *velocity = (to_world.transform_point3(position(x)) - *place) / seconds;
        });
        self.at_step = *pose;
    }
}
