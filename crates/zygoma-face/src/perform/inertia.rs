//! What the head's motion does to the flesh that lives in its frame.

use glam::{DQuat, DVec3};
use rayon::prelude::*;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::projective::{Dynamics, position, row};

/// Vertices that are worth handing to another thread. Ours.
pub(super) const PIECE: usize = 2048;

const STILL: RigidMotion = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

/// Poses of the head at the end of the last frame, of the present one, and of the last step, with the world's velocities.
pub(super) struct Head {
    pub(super) poses: [RigidMotion; 2],
    pub(super) at_step: RigidMotion,
    pub(super) velocities: Vec<DVec3>,
    /// Where the free vertices were in the world at the end of the last step.
    places: Vec<DVec3>,
}

impl Head {
    /// At rest, for so many free vertices.
    pub(super) fn still(free: usize) -> Self {
        Self {
            poses: [STILL; 2],
            at_step: STILL,
            velocities: vec![DVec3::ZERO; free],
            places: vec![DVec3::ZERO; free],
        }
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
