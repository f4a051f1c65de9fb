//! Motion does not depend on how often frames are asked for.

use super::*;

/// What happens to the face.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Happening {
    Expressions,
    Pull,
    Press { by: f32, friction: f32 },
    Push { force: f32 },
    HeadMotion,
    Everything,
}

/// How the head moves: it nods and sways.
fn head_pose(time: f64) -> RigidMotion {
    RigidMotion {
        rotation: DQuat::from_rotation_x(0.2 * (4.0 * time).sin()) * DQuat::from_rotation_y(0.3 * time),
        translation: DVec3::new(0.05 * (3.0 * time).sin(), 1.5, 0.0),
    }
}

fn run(happening: Happening, rate: f64, seconds: f64) -> Vec<Vec3> {
    use Happening::*;
    let mut running = InteractiveFace::new(&FACE, awake()).unwrap();
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
            let id = *touch.get_or_insert_with(|| running.touches_mut().add(sphere, place, Drive::Kinematic));
            running.touches_mut().get_mut(id).unwrap().pose = place;
            running.touches_mut().get_mut(id).unwrap().friction = friction;
        }
        if matches!(happening, Push { .. } | Everything) {
            let force = if let Push { force } = happening { force } else { 0.02 };
            let place = placed(Vec3::new(0.0, 0.06, 0.13 - 0.05 * time as f32));
            let sphere = ColliderShape::Sphere { radius: 0.012 };
            let drive = Drive::Bounded { force };
            let id = *pushing.get_or_insert_with(|| running.touches_mut().add(sphere, place, drive));
            running.touches_mut().get_mut(id).unwrap().pose = place;
        }
        if is(Pull)
            && let Some(id) = pull
        {
            running.touches_mut().drag(id, grip + Vec3::new(0.01, 0.0, 0.02) * time as f32);
        }
        running.advance(if frame == 0 { 0.0 } else { 1.0 / rate });
        if frame == 0 && is(Pull) {
            pull = Some(running.grab(grip, 0.01));
        }
    }
    running.output
}

#[test]
fn motion_does_not_depend_on_the_frame_rate() {
    use Happening::*;
    for happening in [
        Expressions,
        Pull,
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
/// Skin under a finger that stands still comes to rest.
#[test]
fn skin_does_not_tremble_under_a_finger() {
    for (by, friction, limit) in [(0.006f32, 0.0f32, 1e-3), (0.012, 0.3, 0.02), (0.02, 0.0, 0.1)] {
        let mut running = InteractiveFace::new(&FACE, awake()).unwrap();
        let sphere = ColliderShape::Sphere { radius: 0.024 };
        running.advance(0.0);
        let id = running.touches_mut().add(sphere, poke_by(by, 0.24, 0.0), Drive::Kinematic);
        running.touches_mut().get_mut(id).unwrap().friction = friction;
        for frame in 0..200 {
            let time = (0.01 * f64::from(frame)).min(0.5);
            running.touches_mut().get_mut(id).unwrap().pose = poke_by(by, 0.24, time);
            running.advance(0.01);
        }
        assert!(running.top_speed() < limit, "{by} {friction}: {} heights/s", running.top_speed());
        assert!(!running.touches().contacts().is_empty());
    }
}
