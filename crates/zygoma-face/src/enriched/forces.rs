//! Forces of the head's motion and of gravity on tissue that is simulated in the head's frame.

use glam::{DMat3, DVec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::projective::{Row, position, row};

use crate::body::head_path::HeadPath;

/// The acceleration that a point of the head's frame feels: affine in its position, and turned by its velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Felt {
    constant: DVec3,
    by_position: DMat3,
    by_velocity: DMat3,
}

impl Felt {
    /// At a fraction of a frame. `gravity` acts in the world, `made_under` in the head's frame: the artist made the face under it.
    pub(super) fn at(path: &HeadPath, fraction: f64, gravity: DVec3, made_under: DVec3) -> Self {
        let [rate, acceleration] = path.motion(fraction);
        let RigidMotion { rotation, .. } = path.at(fraction);
        let back = rotation.inverse();
        let (spin, spun_up) = (back * rate.spin, back * acceleration.spin);
        let across = |w: DVec3| DMat3::from_cols(w.cross(DVec3::X), w.cross(DVec3::Y), w.cross(DVec3::Z));
        Self {
            constant: back * (gravity - acceleration.velocity) - made_under,
            by_position: -(across(spun_up) + across(spin) * across(spin)),
            by_velocity: -2.0 * across(spin),
        }
    }

    /// Gravity alone, for a head at rest.
    pub(super) fn of_gravity(pose: &RigidMotion, gravity: DVec3, made_under: DVec3) -> Self {
        let constant = pose.rotation.inverse() * gravity - made_under;
        Self { constant, by_position: DMat3::ZERO, by_velocity: DMat3::ZERO }
    }

    /// Forces on the free vertices, N.
    pub(super) fn forces(
        &self,
        masses: &[f64],
        rest: &[DVec3],
        displacements: &[Row<f32>],
        velocities: &[Row<f32>],
        out: &mut [Row<f32>],
    ) {
        for (v, (force, mass)) in out.iter_mut().zip(masses).enumerate() {
            let at = rest[v] + position(&displacements[v]);
            let acceleration =
                self.constant + self.by_position * at + self.by_velocity * position(&velocities[v]);
            *force = row(*mass * acceleration);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    #[test]
    fn a_turning_head_throws_outwards_and_a_still_one_feels_nothing() {
        let mut path = HeadPath::still();
        let felt = Felt::at(&path, 1.0, DVec3::ZERO, DVec3::ZERO);
        assert_eq!(felt, Felt { constant: DVec3::ZERO, by_position: DMat3::ZERO, by_velocity: DMat3::ZERO });
        let turned =
            |angle: f64| RigidMotion { rotation: DQuat::from_rotation_y(angle), translation: DVec3::ZERO };
        // 4 rad/s, steadily.
        path.move_steadily(&turned(0.0), &turned(0.04), 0.01);
        let felt = Felt::at(&path, 0.5, DVec3::ZERO, DVec3::ZERO);
        let mut force = [[0.0; 4]];
        felt.forces(&[2.0], &[DVec3::new(0.0, 0.5, 0.1)], &[[0.0; 4]], &[[0.0; 4]], &mut force);
        assert!(position(&force[0]).distance(DVec3::new(0.0, 0.0, 2.0 * 16.0 * 0.1)) < 1e-4, "{force:?}");
        // Moving outwards in it, a point is turned aside (Coriolis).
        let velocity = [[0.0, 0.0, 1.0, 0.0]];
        felt.forces(&[1.0], &[DVec3::ZERO], &[[0.0; 4]], &velocity, &mut force);
        assert!(position(&force[0]).distance(DVec3::new(-8.0, 0.0, 0.0)) < 1e-4, "{force:?}");
    }
}
