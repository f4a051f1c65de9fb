//! Tests of recovery: from removed touches, NaN input, sleep and jolts.

use super::*;

const BALL: ColliderShape = ColliderShape::Sphere { radius: 0.024 };

/// A face that a finger with friction has pressed for half a second.
fn pressed(drive: ColliderMotion) -> (ShellBody, crate::contact::ColliderId) {
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    let touch = running.colliders_mut().add(BALL, poke(0.24, 0.0), drive);
    running.colliders_mut().get_mut(touch).unwrap().friction = 0.5;
    for frame in 1..=50 {
        running.colliders_mut().get_mut(touch).unwrap().pose = poke(0.24, f64::from(frame) * 0.01);
        running.advance(0.01);
    }
    assert!(!running.colliders().contacts().is_empty(), "it presses");
    (running, touch)
}

#[test]
fn all_touches_can_be_taken_away_at_once() {
    let (mut running, _) = pressed(ColliderMotion::Kinematic);
    running.colliders_mut().clear();
    running.advance(0.01);
    assert!(running.colliders().contacts().is_empty());
}

#[test]
fn a_finger_that_has_left_feels_nothing() {
    let (mut running, touch) = pressed(ColliderMotion::Kinematic);
    running.colliders_mut().get_mut(touch).unwrap().pose = Pose::at(Vec3::Z);
    running.advance(0.01);
    running.advance(0.01);
    assert_eq!(running.colliders().get(touch).unwrap().force(), Vec3::ZERO);
    assert_eq!(running.colliders().head_load(), crate::contact::HeadLoad::default());
    assert!(running.colliders().contacts().is_empty());
}

#[test]
fn numbers_that_are_none_are_passed_over() {
    for drive in [ColliderMotion::Kinematic, ColliderMotion::Bounded { force: 0.05 }] {
        let run = |broken: Option<Pose>| {
            let (mut running, touch) = pressed(drive);
            let pull = running.grab(Vec3::new(-0.06, 0.0, 0.1), 0.01).unwrap();
            for frame in 0..20 {
                if let (7, Some(broken)) = (frame, broken) {
                    running.colliders_mut().get_mut(touch).unwrap().pose = broken;
                    running.colliders_mut().drag(pull, Vec3::NAN);
                } else {
                    running.colliders_mut().get_mut(touch).unwrap().pose = poke(0.24, 0.5);
                    running.colliders_mut().drag(pull, Vec3::new(-0.065, 0.0, 0.11));
                }
                running.advance(0.01);
            }
            running.output
        };
        let whole = run(None);
        let spun = Pose { rotation: glam::Quat::from_xyzw(0.0, 0.0, 0.0, 0.0), ..poke(0.24, 0.5) };
        for broken in [Pose::at(Vec3::NAN), Pose::at(Vec3::INFINITY), spun] {
            assert!(run(Some(broken)) == whole, "{broken:?}");
        }
    }
}

#[test]
fn held_skin_is_not_pulled_off() {
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    let rest = running.advance(0.01).positions.to_vec();
    let pull = running.grab(Vec3::Z * 0.12, 0.01).unwrap();
    for frame in 1..=60 {
        running.colliders_mut().drag(pull, Vec3::Z * (0.12 + 0.02 * frame as f32));
        running.advance(0.01);
    }
    let pulled = worst(&running.output, &rest) / FACE.height as f32;
    assert!((0.2..0.27).contains(&pulled), "{pulled} heights");
}

#[test]
fn a_tilted_head_falls_asleep() {
    let params = RunParams { sleep_after: Some(0.2), ..RunParams::default() };
    let mut running = ShellBody::new(&FACE, params).unwrap();
    let tilted = RigidMotion { rotation: DQuat::from_rotation_x(0.0175), translation: DVec3::ZERO };
    running.set_head_pose(&tilted);
    let slept = (0..100).any(|_| running.advance(0.01).asleep);
    assert!(slept, "one degree keeps it awake");
}

/// Skin that gravity pulls slightly from the rig, half asleep: half of its deviation is shown, and it wakes from there.
#[test]
fn a_drowsy_face_wakes_unseen() {
    let params = RunParams { gravity: [0.0, 0.0, -30.0], ..RunParams::default().weightless() };
    let mut running = ShellBody::new(&FACE, params).unwrap();
    for _ in 0..150 {
        running.advance(0.01);
    }
    let pulled = running.shell_deviation();
    assert!(pulled > 5e-4, "{pulled} heights");
    running.wakefulness = Wakefulness::Drowsy { fraction: 0.5 };
    running.show_between_steps();
    running.warp();
    let before = running.output.clone();
    running.advance(0.002);
    assert!(matches!(running.wakefulness, Wakefulness::Awake { .. }));
    let moved = worst(&running.output, &before) / FACE.height as f32;
    assert!(moved < 0.05 * pulled, "{moved} of {pulled} heights");
}

/// A head in steady motion from the start: its skin stays at rest.
#[test]
fn steady_motion_is_not_felt() {
    let run = |pose: &dyn Fn(f64) -> RigidMotion, frames: &[f64]| {
        let mut running = ShellBody::new(&FACE, awake().weightless()).unwrap();
        running.set_head_pose(&pose(0.0));
        let rest = running.advance(0.0).positions.to_vec();
        let (mut time, mut most) = (0.0, 0.0f32);
        for seconds in frames.iter().cycle().take(40) {
            time += seconds;
            running.set_head_pose(&pose(time));
            most = most.max(worst(running.advance(*seconds).positions, &rest) / 0.24);
        }
        most
    };
    let moving = |t: f64| RigidMotion { rotation: DQuat::IDENTITY, translation: 3.0 * t * DVec3::X };
    for frames in [&[0.01][..], &[1.0 / 60.0], &[0.011, 0.031, 0.016, 0.005, 0.042]] {
        let moved = run(&moving, frames);
        assert!(moved < 1e-6, "{frames:?}: {moved} heights");
    }
}

#[test]
fn a_mesh_deforms_through_the_frame_and_then_stands_still() {
    let (positions, triangles) = shapes::sphere(16, 24);
    let ball = |radius: f32| positions.iter().map(|p| radius * *p).collect::<Vec<Vec3>>();
    let mesh = ColliderMesh::new(ball(0.01), triangles).unwrap();
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    let far = Pose::at(Vec3::Z * 0.5);
    let shape = ColliderShape::Mesh(Box::new(mesh));
    let touch = running.colliders_mut().add(shape, far, ColliderMotion::Kinematic);
    running.advance(0.01);
    running.colliders_mut().deform(touch, &ball(0.02)).unwrap();
    // Physics is at the last of five steps of 2 ms; a quarter of the way it is a quarter larger.
    let radius = |running: &ShellBody| {
        let collider = &running.colliders.entries[0].1.collider;
        let at = collider.now.translation + 0.1 * Vec3::X;
        let probe = collider.probe(at, 10.0).unwrap();
        let height = FACE.height as f32;
        (height * (0.1 - probe.distance), height * probe.velocity.x)
    };
    running.colliders.begin_frame();
    let way = running.head.way();
    running.colliders.move_colliders(0.25, &way, 0.002);
    let (quarter, growing) = radius(&running);
    assert!((quarter - 0.0125).abs() < 2e-4, "{quarter} m");
    assert!((growing - 0.0025 / 0.002).abs() < 0.05, "{growing} m/s");
    running.colliders.move_colliders(1.0, &way, 0.006);
    running.advance(0.01);
    let (whole, still) = radius(&running);
    assert!((whole - 0.02).abs() < 2e-4 && still == 0.0, "{whole} m, {still} m/s");
}
