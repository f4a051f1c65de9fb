//! Guarantees of a running face: it allocates no memory per frame and may move between threads.

use glam::Vec3;
use zygoma_face::body::{Body, Touchable};
use zygoma_face::contact::ColliderMotion;
use zygoma_face::model::Continue;
use zygoma_face::model::FaceModel;
use zygoma_face::shell::{BuildParams, RunParams, ShellBody, build};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_geometry::{Faces, shapes};
use zygoma_physics::contact::{ColliderMesh, ColliderShape, Pose};
use zygoma_rig::{RigMesh, Shape, SparseDeltas};

fn ball() -> FaceModel {
    let params = BuildParams { triangles: 800, uniform_stiffness: Some(1.0), ..BuildParams::default() };
    built(&params)
}

fn built(params: &BuildParams) -> FaceModel {
    let (unit, triangles) = shapes::sphere(24, 36);
    let swelling = unit.iter().map(|p| 0.01 * *p * (-8.0 * p.distance_squared(Vec3::Z)).exp());
    let mesh = RigMesh {
        name: "ball".into(),
        positions: unit.iter().map(|p| 0.12 * *p).collect(),
        faces: Faces::from_triangles(&triangles),
        uvs: None,
        shapes: vec![Shape {
            name: "swell".into(),
            deltas: SparseDeltas::from_dense(&swelling.collect::<Vec<_>>()),
        }],
        regions: Vec::new(),
        to_rig: glam::DAffine3::IDENTITY,
        quantum: 1e-6,
    };
    build("ball", &mesh, params, &mut |_| Continue::Yes).expect("a ball can be built")
}

fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

#[test]
fn a_face_may_go_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<ShellBody>();
}

#[test]
fn frames_need_no_memory_of_their_own() {
    let face = ball();
    for sleep_after in [None, Some(0.05)] {
        let params = RunParams { sleep_after, ..RunParams::default() };
        let mut running = ShellBody::new(&face, params).expect("a face can run");
        running.set_weights(&[0.0]);
        // The instruction set is detected once per process.
        running.advance(0.01);
        let (positions, triangles) = shapes::sphere(8, 10);
        let hand = ColliderMesh::new(positions.iter().map(|p| 0.012 * *p).collect(), triangles)
            .expect("a sphere is closed");
        let grown: Vec<Vec3> = positions.iter().map(|p| 0.013 * *p).collect();
        let touches = running.colliders_mut();
        let finger = touches.add(
            ColliderShape::Sphere { radius: 0.012 },
            Pose::at(Vec3::Z * 0.14),
            ColliderMotion::Kinematic,
        );
        let pusher = touches.add(
            ColliderShape::Sphere { radius: 0.012 },
            Pose::at(Vec3::X * 0.14),
            ColliderMotion::Bounded { force: 0.05 },
        );
        let hand = touches.add(
            ColliderShape::Mesh(Box::new(hand)),
            Pose::at(Vec3::Y * 0.14),
            ColliderMotion::Kinematic,
        );
        touches.deform(hand, &grown).expect("the same vertices");
        let pull = running.grab(Vec3::NEG_Z * 0.12, 0.01).expect("it can be pulled");
        let mut deepest = 0.0f32;
        let used = allocations(|| {
            for frame in 0..60 {
                let near = 0.14 - 0.0004 * frame as f32;
                running.set_weights(&[0.01 * frame as f32]);
                let touches = running.colliders_mut();
                touches.get_mut(finger).expect("it is there").pose = Pose::at(Vec3::Z * near);
                touches.get_mut(pusher).expect("it is there").pose = Pose::at(Vec3::X * near);
                touches.get_mut(hand).expect("it is there").pose = Pose::at(Vec3::Y * near);
                touches.deform(hand, &grown).expect("the same vertices");
                touches.drag(pull, Vec3::NEG_Z * (0.12 + 1e-4 * frame as f32));
                running.set_head_pose(&RigidMotion {
                    rotation: glam::DQuat::from_rotation_y(0.01 * f64::from(frame)),
                    translation: glam::DVec3::ZERO,
                });
                running.advance(0.01);
                deepest = deepest.max(running.penetration());
                assert!(running.colliders().head_load().force.is_finite());
            }
        });
        assert!(!running.colliders().contacts().is_empty(), "nothing was touched");
        assert_eq!(used, 0, "frames asked for memory");
    }
}

/// A build with its fit, and then some frames, are the same to the last bit on one thread and on two.
#[test]
fn the_number_of_threads_changes_nothing() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let face = built(&BuildParams { triangles: 400, combinations: 4, ..BuildParams::default() });
            let mut running = ShellBody::new(&face, RunParams::default().awake()).expect("a face can run");
            let sphere = ColliderShape::Sphere { radius: 0.012 };
            let finger =
                running.colliders_mut().add(sphere, Pose::at(Vec3::Z * 0.14), ColliderMotion::Kinematic);
            running.colliders_mut().get_mut(finger).expect("it is there").friction = 0.4;
            for frame in 0..60 {
                let at = Vec3::new(2e-4 * frame as f32, 0.0, 0.14 - 0.0003 * frame as f32);
                running.colliders_mut().get_mut(finger).expect("it is there").pose = Pose::at(at);
                running.set_weights(&[0.01 * frame as f32]);
                running.advance(1.0 / 60.0);
            }
            assert!(!running.colliders().contacts().is_empty(), "the finger should touch");
            (face.to_bytes(), running.advance(0.0).positions.to_vec())
        })
    };
    let (one, two) = (run(1), run(2));
    assert!(one.0 == two.0, "the built faces differ");
    assert!(one.1 == two.1, "the frames differ");
}
