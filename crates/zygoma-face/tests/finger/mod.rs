//! A fingertip of 1 cm.

use glam::Vec3;
use zygoma_face::body::Touchable;
use zygoma_face::contact::ColliderMotion;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::shell::{RunParams, ShellBody};
use zygoma_physics::contact::{ColliderShape, Pose};

const RADIUS: f32 = 0.01;

/// A fingertip over a landmark of a resting face.
pub(crate) struct Finger {
    running: ShellBody,
    at: Vec3,
    normal: Vec3,
    rest: Vec<Vec3>,
}

impl Finger {
    pub(crate) fn new(face: &FaceModel, place: &str) -> Self {
        let mut running = ShellBody::new(face, RunParams::default().awake()).expect("it can run");
        let frame = running.advance(0.0);
        let (rest, normals) = (frame.positions.to_vec(), frame.normals.to_vec());
        let vertex = Landmarks::new(face).find(place).expect("every head has it").vertex as usize;
        Self { at: rest[vertex], normal: normals[vertex], running, rest }
    }

    fn pose(&self, depth: f32) -> Pose {
        Pose::at(self.at + (RADIUS - depth) * self.normal)
    }

    /// Presses 6 mm into the skin and lets go. Returns the worst penetration and the remaining displacement 1 s later, in heights.
    pub(crate) fn press(mut self) -> (f32, f32) {
        let height = self.running.face().height as f32;
        let sphere = ColliderShape::Sphere { radius: RADIUS };
        let start = self.pose(-0.002);
        let touch = self.running.colliders_mut().add(sphere, start, ColliderMotion::Kinematic);
        let mut deepest = 0.0f32;
        for frame in 1..=60 {
            let pose = self.pose(-0.002 + 0.008 * (frame as f32 / 40.0).min(1.0));
            self.running.colliders_mut().get_mut(touch).expect("it is there").pose = pose;
            self.running.advance(0.01);
            deepest = deepest.max(self.running.penetration());
        }
        self.running.colliders_mut().remove(touch);
        for _ in 0..100 {
            self.running.advance(0.01);
        }
        let left = self.running.advance(0.0).positions.iter().zip(&self.rest);
        (deepest / height, left.map(|(a, b)| a.distance(*b)).fold(0.0, f32::max) / height)
    }

    /// Depth to which a force pushes the fingertip, in metres.
    pub(crate) fn push(mut self, force: f32) -> f32 {
        let sphere = ColliderShape::Sphere { radius: RADIUS };
        let start = self.pose(-0.002);
        let touch = self.running.colliders_mut().add(sphere, start, ColliderMotion::Bounded { force });
        let pose = self.pose(0.02);
        self.running.colliders_mut().get_mut(touch).expect("it is there").pose = pose;
        for _ in 0..100 {
            self.running.advance(0.01);
        }
        let touch = self.running.colliders().get(touch).expect("it is there");
        assert!((touch.force().length() - force).abs() < 0.1 * force, "{}", touch.force());
        (self.pose(0.0).translation - touch.place().translation).dot(self.normal)
    }
}
