//! A fingertip of 1 cm on life-size heads.

mod rigs;

use glam::Vec3;
use zygoma_face::interactive::fit::Continue;
use zygoma_face::interactive::{BuildParams, Drive, Face, InteractiveFace, Places, RunParams, build};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_rig::Rig;

use rigs::other_rigs;

const RADIUS: f32 = 0.01;

/// How many times farther the same force pushes into the cheek than into the forehead.
const SOFTER: f32 = 3.0;

struct Finger {
    running: InteractiveFace,
    at: Vec3,
    normal: Vec3,
    rest: Vec<Vec3>,
}

impl Finger {
    fn new(face: &Face, place: &str) -> Self {
        let mut running = InteractiveFace::new(face, RunParams::default().awake()).expect("it can run");
        let frame = running.advance(0.0);
        let (rest, normals) = (frame.positions.to_vec(), frame.normals.to_vec());
        let vertex = Places::new(face).find(place).expect("every head has it").vertex as usize;
        Self { at: rest[vertex], normal: normals[vertex], running, rest }
    }

    fn pose(&self, depth: f32) -> Pose {
        Pose::at(self.at + (RADIUS - depth) * self.normal)
    }

    /// Presses 6 mm into the skin and lets go. Returns the worst penetration and what is left 1 s later, in heights.
    fn press(mut self) -> (f32, f32) {
        let height = self.running.face().height as f32;
        let sphere = ColliderShape::Sphere { radius: RADIUS };
        let start = self.pose(-0.002);
        let touch = self.running.touches_mut().add(sphere, start, Drive::Kinematic);
        let mut deepest = 0.0f32;
        for frame in 1..=60 {
            let pose = self.pose(-0.002 + 0.008 * (frame as f32 / 40.0).min(1.0));
            self.running.touches_mut().get_mut(touch).expect("it is there").pose = pose;
            self.running.advance(0.01);
            deepest = deepest.max(self.running.penetration());
        }
        self.running.touches_mut().remove(touch);
        for _ in 0..100 {
            self.running.advance(0.01);
        }
        let left = self.running.advance(0.0).positions.iter().zip(&self.rest);
        (deepest / height, left.map(|(a, b)| a.distance(*b)).fold(0.0, f32::max) / height)
    }

    /// How far a force pushes the fingertip in, in metres.
    fn push(mut self, force: f32) -> f32 {
        let sphere = ColliderShape::Sphere { radius: RADIUS };
        let start = self.pose(-0.002);
        let touch = self.running.touches_mut().add(sphere, start, Drive::Bounded { force });
        let pose = self.pose(0.02);
        self.running.touches_mut().get_mut(touch).expect("it is there").pose = pose;
        for _ in 0..100 {
            self.running.advance(0.01);
        }
        let touch = self.running.touches().get(touch).expect("it is there");
        assert!((touch.force().length() - force).abs() < 0.1 * force, "{}", touch.force());
        (self.pose(0.0).translation - touch.place().translation).dot(self.normal)
    }
}

fn check(rig: &Rig, triangles: usize, limit: f32) {
    let params = BuildParams { triangles, uniform_stiffness: Some(1.0), ..BuildParams::default() };
    let face = build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes).expect("it can be built");
    for place in ["cheek-left", "nose-tip", "lip-upper", "lip-lower", "forehead", "ear-left"] {
        let (deepest, left) = Finger::new(&face, place).press();
        println!("{} {triangles} {place}: sank in by {deepest:.5}, left {left:.6} heights", rig.name);
        assert!(deepest < limit, "{} {place}: sank in by {deepest} heights", rig.name);
        assert!(left < 5e-4, "{} {place}: {left} heights are left", rig.name);
    }
    let pushed = |place: &str, force: f32| Finger::new(&face, place).push(force);
    let (cheek, forehead) = (pushed("cheek-left", 0.3), pushed("forehead", 0.3));
    println!("{}: 0.3 N push in the cheek {cheek} m, the forehead {forehead} m", rig.name);
    assert!(cheek > SOFTER * forehead, "{}: cheek {cheek} m, forehead {forehead} m", rig.name);
    // However strong the push, the bone holds.
    for force in [5.0, 50.0] {
        let pushed = pushed("cheek-left", force);
        assert!(pushed < cheek + 0.003, "{}: {force} N push in the cheek {pushed} m", rig.name);
    }
}

#[test]
fn fingers_do_not_sink_into_the_built_in_head() {
    let rig = Head::new(&HeadOptions::sampled(0, Level::Middle)).rig();
    check(&rig, 2000, 0.006);
    check(&rig, 4000, 0.003);
}

#[test]
fn fingers_do_not_sink_into_other_rigs() {
    for rig in other_rigs() {
        check(&rig, 2000, 0.006);
        check(&rig, 4000, 0.003);
    }
}
