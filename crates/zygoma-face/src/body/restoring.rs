//! The law of [`Snapshot`](super::Snapshot), for the tests of every body.

use std::ops::Range;

use glam::{DQuat, DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::{ColliderShape, Pose};

use super::{Body, Drive};
use crate::contact::ColliderMotion;

/// Frames before the state is saved, and after it.
const FRAMES: usize = 12;

/// Performs some frames with a head that turns, and returns all their surfaces.
fn perform(body: &mut dyn Body, frames: Range<usize>) -> Vec<Vec3> {
    let surface = |frame: usize| {
        let time = frame as f64 / 50.0;
        let turn = DQuat::from_rotation_y(0.3 * (9.0 * time).sin());
        body.drive(Drive::Weights(&[(0.5 - 0.5 * (7.0 * time).cos()) as f32; 3])).unwrap();
        body.set_head_pose(&RigidMotion { rotation: turn, translation: DVec3::ZERO });
        body.advance(1.0 / 50.0).positions.to_vec()
    };
    frames.flat_map(surface).collect()
}

/// Checks that a body continues from a saved state, in motion and touched near a point of its skin if it can be, with the same bits.
pub(crate) fn assert_restores(body: &mut dyn Body, at: Vec3) {
    body.drive(Drive::Weights(&[0.0; 3])).unwrap();
    body.settle();
    if let Some(colliders) = body.colliders_mut() {
        let ball = ColliderShape::Sphere { radius: 0.012 };
        colliders.add(ball, Pose::at(at + Vec3::Z * 0.008), ColliderMotion::Bounded { force: 2.0 });
        body.grab(at - Vec3::Y * 0.02, 0.01).unwrap();
    }
    perform(body, 0..FRAMES);
    let state = body.save();
    let first = perform(body, FRAMES..2 * FRAMES);
    body.restore(&state).unwrap();
    let second = perform(body, FRAMES..2 * FRAMES);
    let bits = |p: &Vec3| p.to_array().map(f32::to_bits);
    let same = first.iter().zip(&second).all(|(a, b)| bits(a) == bits(b));
    assert!(same, "{} does not go on alike", body.name());
    let count = first.len() / FRAMES;
    let [start, end] = [&first[..count], &first[first.len() - count..]];
    assert!(start.iter().zip(end).any(|(a, b)| a.distance(*b) > 1e-4), "it moves");
}
