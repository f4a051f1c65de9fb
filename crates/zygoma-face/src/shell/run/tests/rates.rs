//! Motion does not depend on the frame rate.

use super::*;

/// The disturbance of the face.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Happening {
    Expressions,
    Grab,
    Press { by: f32, friction: f32 },
    Push { force: f32 },
    HeadMotion,
    Everything,
}

/// The head's motion: it nods and sways.
fn head_pose(time: f64) -> RigidMotion {
    RigidMotion {
        rotation: DQuat::from_rotation_x(0.2 * (4.0 * time).sin()) * DQuat::from_rotation_y(0.3 * time),
        translation: DVec3::new(0.05 * (3.0 * time).sin(), 1.5, 0.0),
    }
}

fn run(happening: Happening, rate: f64, seconds: f64) -> Vec<Vec3> {
    use Happening::*;
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    let is = |other: Happening| happening == other || happening == Everything;
    let (mut pull, mut touch, mut pushing) = (None, None, None);
    let grip = Vec3::new(-0.5, 0.3, 0.81).normalize() * 0.12;
    for frame in 0..=(seconds * rate).round() as usize {
        let time = frame as f64 / rate;
        if is(Expressions) {
            running.set_weights(&[0.5 * (3.0 * time).sin().powi(2) as f32, 0.4 * time as f32]);
        }
        let pose = if is(HeadMotion) {
            head_pose(time)
        } else {
            RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO }
        };
        running.set_head_pose(&pose);
        let placed = |local: Vec3| Pose {
            rotation: pose.rotation.as_quat(),
            translation: pose.apply(local.as_dvec3()).as_vec3(),
        };
        let (by, friction) = match happening {
            Press { by, friction } => (by, friction),
            _ => (0.02, 0.3),
        };
        if matches!(happening, Press { .. } | Everything) {
            let place = placed(poke_by(by, 0.24, time).translation);
            let sphere = ColliderShape::Sphere { radius: 0.024 };
            let id = *touch
                .get_or_insert_with(|| running.colliders_mut().add(sphere, place, ColliderMotion::Kinematic));
            running.colliders_mut().get_mut(id).unwrap().pose = place;
            running.colliders_mut().get_mut(id).unwrap().friction = friction;
        }
        if matches!(happening, Push { .. } | Everything) {
            let force = if let Push { force } = happening { force } else { 0.02 };
            let place = placed(Vec3::new(0.0, 0.06, 0.13 - 0.05 * time as f32));
            let sphere = ColliderShape::Sphere { radius: 0.012 };
            let drive = ColliderMotion::Bounded { force };
            let id = *pushing.get_or_insert_with(|| running.colliders_mut().add(sphere, place, drive));
            running.colliders_mut().get_mut(id).unwrap().pose = place;
        }
        if is(Grab)
            && let Some(id) = pull
        {
            running.colliders_mut().drag(id, grip + Vec3::new(0.01, 0.0, 0.02) * time as f32);
        }
        running.advance(if frame == 0 { 0.0 } else { 1.0 / rate });
        if frame == 0 && is(Grab) {
            pull = running.grab(grip, 0.01);
        }
    }
    running.output
}

#[test]
fn motion_does_not_depend_on_the_frame_rate() {
    use Happening::*;
    for happening in [
        Expressions,
        Grab,
        Press { by: 0.006, friction: 0.5 },
        Press { by: 0.006, friction: 0.0 },
        Press { by: 0.02, friction: 0.0 },
        Press { by: 0.02, friction: 0.5 },
        Push { force: 0.02 },
        HeadMotion,
        Everything,
    ] {
        let reference = run(happening, 60.0, 0.5);
        for rate in [30.0, 144.0] {
            let difference = worst(&reference, &run(happening, rate, 0.5)) / FACE.height as f32;
            println!("{happening:?} at {rate} Hz: {difference:.2e}");
            assert!(difference < 1e-3, "{happening:?} at {rate} Hz: {difference}");
        }
    }
}

/// Frames of constant and of changing length, while the head turns and nods and the face moves.
#[test]
fn a_turning_head_moves_its_skin_alike_at_any_rate() {
    let surfaces = |lengths: &[f64]| {
        let mut running = ShellBody::new(&FACE, awake()).unwrap();
        running.set_head_pose(&head_pose(0.0));
        running.advance(0.0);
        let mut lengths = lengths.iter().cycle();
        let (mut time, mut found) = (0.0, Vec::new());
        for moment in [0.25, 0.5] {
            while time < moment {
                let left = moment - time;
                let seconds = lengths.next().unwrap().min(left);
                let seconds = if left - seconds < 1e-6 { left } else { seconds };
                time += seconds;
                running.set_head_pose(&head_pose(time));
                running.set_weights(&[0.8 * time as f32, 0.4 * time as f32]);
                running.advance(seconds);
            }
            found.push(running.output.clone());
        }
        found
    };
    let usual = surfaces(&[1.0 / 60.0]);
    let rates = [24.0, 25.0, 29.97, 59.94, 90.0, 144.0].map(|rate| vec![1.0 / rate]);
    for lengths in rates.into_iter().chain([vec![0.011, 0.031, 0.016, 0.005, 0.042, 0.018, 0.023]]) {
        let found = surfaces(&lengths);
        let apart = usual.iter().zip(&found).map(|(a, b)| 1e3 * worst(a, b)).fold(0.0, f32::max);
        println!("frames of {lengths:.4?} s: {apart:.4} mm");
        assert!(apart < 0.1, "frames of {lengths:?} s: {apart} mm");
    }
}

/// Skin under a resting finger comes to rest.
#[test]
fn skin_does_not_tremble_under_a_finger() {
    for (by, friction, limit) in [(0.006f32, 0.0f32, 1e-3), (0.012, 0.3, 0.02), (0.02, 0.0, 0.1)] {
        let mut running = ShellBody::new(&FACE, awake()).unwrap();
        let sphere = ColliderShape::Sphere { radius: 0.024 };
        running.advance(0.0);
        let id = running.colliders_mut().add(sphere, poke_by(by, 0.24, 0.0), ColliderMotion::Kinematic);
        running.colliders_mut().get_mut(id).unwrap().friction = friction;
        for frame in 0..200 {
            let time = (0.01 * f64::from(frame)).min(0.5);
            running.colliders_mut().get_mut(id).unwrap().pose = poke_by(by, 0.24, time);
            running.advance(0.01);
        }
        assert!(running.top_speed() < limit, "{by} {friction}: {} heights/s", running.top_speed());
        assert!(!running.colliders().contacts().is_empty());
    }
}
