mod hands;
mod rates;
mod recovery;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use glam::{DQuat, DVec3, Vec4Swizzles};
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::{Faces, shapes};
use zygoma_numerics::{Budget, Stop};
use zygoma_physics::contact::{ColliderMesh, ColliderShape, Pose};
use zygoma_rig::formats::Limits;
use zygoma_rig::{RigMesh, Shape, SparseDeltas};

use super::*;
use crate::body::{Body, Touchable};
use crate::contact::ColliderMotion;
use crate::model::{CoarseSkin, Continue, Section};
use crate::shell::{BuildParams, BuildProgress, FittedShell, build};

/// A ball as a head, `height` metres high, with a cheek that swells and a lower half that slides down.
fn head(height: f32) -> RigMesh {
    let (unit, triangles) = shapes::sphere(40, 64);
    // Uneven, so that no two edges are equally long: meshing would break such ties by rounding.
    let random = zygoma_numerics::random::Keyed::new(1, 2);
    let uneven = |(v, p): (usize, &Vec3)| {
        let number = |axis: u64| random.uniform(3 * v as u64 + axis) as f32 - 0.5;
        (*p + 0.02 * Vec3::new(number(0), number(1), number(2))).normalize()
    };
    let unit: Vec<Vec3> = unit.iter().enumerate().map(uneven).collect();
    let positions: Vec<Vec3> = unit.iter().map(|p| 0.5 * height * *p).collect();
    let shape = |name: &str, moved: &dyn Fn(Vec3) -> Vec3| Shape {
        name: name.into(),
        deltas: SparseDeltas::from_dense(&unit.iter().map(|p| height * moved(*p)).collect::<Vec<_>>()),
    };
    let bump = |p: Vec3, at: Vec3, width: f32| (-p.distance_squared(at) / (width * width)).exp();
    let cheek = Vec3::new(0.5, -0.2, 0.84);
    let cut = |v: Vec3| if v.length() < 1e-5 { Vec3::ZERO } else { v };
    let swell = shape("cheekPuff", &|p| cut(0.05 * p * bump(p, cheek, 0.35)));
    let pinch = shape("mouthPucker", &|p| cut(0.04 * Vec3::X * bump(p, Vec3::Z, 0.3)));
    RigMesh {
        name: "ball".into(),
        positions,
        faces: Faces::from_triangles(&triangles),
        uvs: None,
        shapes: vec![swell, pinch],
        regions: Vec::new(),
        to_rig: glam::DAffine3::IDENTITY,
        quantum: 1e-6 * height,
    }
}

fn built(height: f32) -> FaceModel {
    let params = BuildParams { triangles: 900, uniform_stiffness: Some(2.0), ..BuildParams::default() };
    build("ball", &head(height), &params, &mut |_| Continue::Yes).unwrap()
}

static FACE: LazyLock<FaceModel> = LazyLock::new(|| built(0.24));

fn awake() -> RunParams {
    RunParams { sleep_after: None, ..RunParams::default() }
}

fn plain(face: &FaceModel, mesh: &RigMesh, weights: &[f32]) -> Vec<Vec3> {
    let mut positions = mesh.positions.clone();
    for (shape, weight) in mesh.shapes.iter().zip(weights) {
        for (vertex, offset) in shape.deltas.iter() {
            positions[vertex as usize] += *weight * offset;
        }
    }
    assert_eq!(positions.len(), face.vertex_count());
    positions
}

fn worst(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

/// Radius of the collider and its path towards the cheek of a head of this height, `depth` into the skin at time 0.5.
fn poke(height: f32, time: f64) -> Pose {
    poke_by(0.02, height, time)
}

fn poke_by(deepest: f32, height: f32, time: f64) -> Pose {
    let radius = 0.1 * height;
    let out = Vec3::new(0.5, -0.2, 0.84).normalize();
    let depth = (0.03 + deepest) * height * (std::f64::consts::PI * time).sin().max(0.0) as f32;
    Pose::at(out * (0.5 * height + radius - depth + 0.03 * height))
}

fn run_poke(face: &FaceModel, height: f32, rate: f64, seconds: f64) -> (Vec<Vec3>, f32) {
    let mut running = ShellBody::new(face, awake()).unwrap();
    let sphere = ColliderShape::Sphere { radius: 0.1 * height };
    let touch = running.colliders_mut().add(sphere, poke(height, 0.0), ColliderMotion::Kinematic);
    let mut deepest = 0.0f32;
    let mut last = Vec::new();
    for frame in 1..=(seconds * rate).round() as usize {
        let time = frame as f64 / rate;
        running.colliders_mut().get_mut(touch).unwrap().pose = poke(height, time);
        running.set_weights(&[0.5 * (3.0 * time).sin().powi(2) as f32]);
        last = running.advance(1.0 / rate).positions.to_vec();
        deepest = deepest.max(running.penetration());
    }
    (last, deepest)
}

#[test]
fn a_held_shape_is_the_artists_own() {
    let (face, mesh) = (&*FACE, head(0.24));
    for weights in [[1.0, 0.0], [0.0, 1.0], [0.5, 0.0], [0.0, 0.0]] {
        let mut running = ShellBody::new(face, awake()).unwrap();
        for _ in 0..200 {
            running.set_weights(&weights);
            running.advance(0.01);
        }
        let error = worst(running.advance(0.01).positions, &plain(face, &mesh, &weights)) / 0.24;
        assert!(error < 3e-4, "{weights:?}: {error}");
    }
}

#[test]
fn a_surface_can_be_the_target() {
    let (face, mesh) = (&*FACE, head(0.24));
    let surface = plain(face, &mesh, &[0.6, 0.3]);
    let mut running = ShellBody::new(face, awake()).unwrap();
    for _ in 0..200 {
        assert!(running.set_target(&surface));
        running.advance(0.01);
    }
    let error = worst(running.advance(0.01).positions, &surface) / 0.24;
    assert!(error < 0.01, "{error}");
    assert!(!running.set_target(&surface[1..]));
}

#[test]
fn nothing_sinks_into_a_finger_and_the_skin_comes_back() {
    let (pressed, deepest) = run_poke(&FACE, 0.24, 100.0, 0.5);
    assert!(deepest < 0.003 * FACE.height as f32, "a point sank in by {deepest}");
    let (untouched, _) = {
        let mut running = ShellBody::new(&FACE, awake()).unwrap();
        for frame in 1..=50 {
            running.set_weights(&[0.5 * (0.03 * f64::from(frame)).sin().powi(2) as f32]);
            running.advance(0.01);
        }
        (running.advance(0.0).positions.to_vec(), 0.0)
    };
    assert!(worst(&pressed, &untouched) > 0.015 * 0.24, "the finger made no dent");
    let (back, _) = run_poke(&FACE, 0.24, 100.0, 1.9);
    let weights = [0.5 * (3.0f64 * 1.9).sin().powi(2) as f32];
    let left = worst(&back, &plain(&FACE, &head(0.24), &weights));
    assert!(left < 0.005 * 0.24, "{left}");
}

#[test]
fn the_same_input_gives_the_same_bits() {
    assert_eq!(run_poke(&FACE, 0.24, 60.0, 0.6), run_poke(&FACE, 0.24, 60.0, 0.6));
    assert_eq!(built(0.24), *FACE);
}

#[test]
fn motion_does_not_depend_on_the_scale() {
    let reference = run_poke(&FACE, 0.24, 60.0, 0.5).0;
    for scale in [0.01f32, 100.0] {
        let height = 0.24 * scale;
        let other = run_poke(&built(height), height, 60.0, 0.5).0;
        let unscaled: Vec<Vec3> = other.iter().map(|p| *p / scale).collect();
        let difference = worst(&reference, &unscaled) / 0.24;
        assert!(difference < 1e-3, "at scale {scale} the surface differs by {difference}");
    }
}

#[test]
fn the_same_touch_on_a_turned_head_gives_the_same_surface() {
    let run = |pose: RigidMotion| {
        let params = awake().weightless();
        let mut running = ShellBody::new(&FACE, params).unwrap();
        let place = |time: f64| {
            let local = poke(0.24, time);
            Pose {
                rotation: pose.rotation.as_quat(),
                translation: pose.apply(local.translation.as_dvec3()).as_vec3(),
            }
        };
        let sphere = ColliderShape::Sphere { radius: 0.024 };
        running.set_head_pose(&pose);
        let touch = running.colliders_mut().add(sphere, poke(0.24, 0.0), ColliderMotion::Kinematic);
        for frame in 1..=40 {
            running.colliders_mut().get_mut(touch).unwrap().pose = place(f64::from(frame) * 0.01);
            running.advance(0.01);
        }
        running.advance(0.0).positions.to_vec()
    };
    let straight = run(RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO });
    let turned = run(RigidMotion {
        rotation: DQuat::from_euler(glam::EulerRot::XYZ, 0.4, -0.9, 0.2),
        translation: DVec3::new(0.3, 1.2, -0.4),
    });
    let difference = worst(&straight, &turned) / 0.24;
    assert!(difference < 1e-4, "{difference}");
}

#[test]
fn a_head_that_starts_to_move_leaves_its_skin_behind() {
    let mut running = ShellBody::new(&FACE, awake().weightless()).unwrap();
    let rest = running.advance(0.01).positions.to_vec();
    for frame in 1..=10 {
        // 50 m/s² along X.
        let x = 25.0 * (0.01 * f64::from(frame)).powi(2);
        running.set_head_pose(&RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::X * x });
        running.advance(0.01);
    }
    let mean: Vec3 = running.advance(0.0).positions.iter().zip(&rest).map(|(a, b)| *a - *b).sum::<Vec3>()
        / rest.len() as f32;
    assert!(mean.x < -1e-5 && mean.y.abs() < 0.1 * mean.x.abs(), "{mean}");
}

#[test]
fn pulled_skin_follows_and_lets_go() {
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    let rest = running.advance(0.01).positions.to_vec();
    let at = Vec3::Z * 0.12;
    let pull = running.grab(at, 0.01).unwrap();
    for frame in 1..=30 {
        running.colliders_mut().drag(pull, at + Vec3::Z * 0.0005 * frame as f32);
        running.advance(0.01);
    }
    let pulled = worst(running.advance(0.0).positions, &rest);
    assert!((pulled - 0.015).abs() < 0.001, "{pulled}");
    running.colliders_mut().release(pull);
    for _ in 0..300 {
        running.advance(0.01);
    }
    assert!(worst(running.advance(0.0).positions, &rest) < 5e-4 * 0.24);
}

#[test]
fn a_bounded_finger_stops_where_the_skin_holds_it() {
    let press = |force: f32| {
        let mut running = ShellBody::new(&FACE, awake()).unwrap();
        let start = Pose::at(Vec3::Z * 0.15);
        let sphere = ColliderShape::Sphere { radius: 0.012 };
        let touch = running.colliders_mut().add(sphere, start, ColliderMotion::Bounded { force });
        running.colliders_mut().get_mut(touch).unwrap().pose = Pose::at(Vec3::Z * 0.1);
        for _ in 0..300 {
            running.advance(0.01);
        }
        let touch = running.colliders().get(touch).unwrap();
        (touch.place().translation.z, touch.force().z)
    };
    let (gentle, firm) = (press(0.002), press(0.02));
    assert!(gentle.0 > firm.0 && firm.0 > 0.1, "{gentle:?} {firm:?}");
    // At rest the skin pushes back as hard as the finger is pushed.
    assert!((gentle.1 - 0.002).abs() < 0.0006, "{gentle:?}");
}

#[test]
fn a_finger_feels_what_the_actuation_of_the_skin_withstands() {
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    let sphere = ColliderShape::Sphere { radius: 0.012 };
    let touch = running.colliders_mut().add(sphere, Pose::at(Vec3::Z * 0.135), ColliderMotion::Kinematic);
    for frame in 1..=400 {
        let z = 0.135 - 0.004 * (frame as f32 / 40.0).min(1.0);
        running.colliders_mut().get_mut(touch).unwrap().pose = Pose::at(Vec3::new(0.01, 0.0, z));
        running.advance(0.01);
    }
    // Springs only transmit force: far from held edges, pressure is balanced by the actuation alone (IFA eq. 5, 6).
    let (params, order) = (&running.face.fitted.params, running.stepper.order());
    let bound = Vec3::splat(params.tolerance as f32);
    let (mut force, mut torque) = (Vec3::ZERO, Vec3::ZERO);
    for (place, vertex) in order.vertices.iter().enumerate() {
        let at = running.stepper.positions()[place].xyz();
        let pull = (running.target[place].xyz() - at).clamp(-bound, bound);
        let pull = params.actuation(running.face.shell.area[*vertex as usize]) as f32 * pull;
        force += pull;
        torque += at.cross(pull);
    }
    let height = FACE.height as f32;
    let (force, torque) = (height.powi(2) * force, height.powi(3) * torque);
    let touch = running.colliders().get(touch).unwrap();
    assert!(force.length() > 1e-3, "{force}");
    assert!(touch.force().distance(force) < 0.02 * force.length(), "{} {force}", touch.force());
    let load = running.colliders().head_load();
    assert!(load.force.distance(-force) < 0.02 * force.length(), "{load:?} {force}");
    assert!(load.torque.distance(-torque) < 0.05 * 0.12 * force.length(), "{load:?} {torque}");
    let contacts = running.colliders().contacts();
    let sum: Vec3 = contacts.iter().map(|contact| contact.force).sum();
    assert!(sum.distance(load.force) < 0.02 * force.length(), "{sum}");
    assert!(
        contacts.iter().all(|c| c.point.distance(touch.place().translation) < 0.0125 && c.pressure >= 0.0)
    );
}

#[test]
fn gravity_pulls_where_it_points() {
    let gravity = [3.0, 0.0, -4.0];
    let mut running = ShellBody::new(&FACE, RunParams { gravity, ..awake().weightless() }).unwrap();
    assert!(!running.within_certificate());
    let rest = running.advance(0.0).positions.to_vec();
    for _ in 0..200 {
        running.advance(0.01);
    }
    let after = running.advance(0.0).positions;
    let front = (0..rest.len()).max_by(|a, b| rest[*a].z.total_cmp(&rest[*b].z)).unwrap();
    let moved = after[front] - rest[front];
    // Far from its held edge the shell as a whole is held by its actuation: ρ g against p^max / ε^r.
    let wanted = 0.1 * Vec3::new(3.0, 0.0, -4.0) / (100.0 / 0.01);
    assert!(moved.distance(wanted) < 0.05 * wanted.length(), "{moved} {wanted}");
}

#[test]
fn held_skin_pulls_back() {
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    running.advance(0.0);
    let pull = running.grab(Vec3::Z * 0.12, 0.01).unwrap();
    for frame in 1..=200 {
        running.colliders_mut().drag(pull, Vec3::Z * (0.12 + 1e-4 * (frame as f32).min(50.0)));
        running.advance(0.01);
    }
    let force = running.colliders().grab_force(pull).unwrap();
    assert!(force.z < -1e-4 && force.z.abs() > 5.0 * force.x.hypot(force.y), "{force}");
    assert!(running.colliders().head_load().force.distance(-force) < 1e-6);
    assert!(running.deviation().worst > 0.004 && running.deviation().mean < 0.001);
}

#[test]
fn every_shape_of_collider_is_kept_out() {
    let (positions, triangles) = shapes::sphere(12, 16);
    let mesh = ColliderMesh::new(positions.iter().map(|p| 0.012 * *p).collect(), triangles).unwrap();
    for shape in [
        ColliderShape::Capsule { half_length: 0.01, radius: 0.008 },
        ColliderShape::RoundedBox { half_extents: Vec3::splat(0.006), radius: 0.004 },
        ColliderShape::Mesh(Box::new(mesh)),
    ] {
        let mut running = ShellBody::new(&FACE, awake()).unwrap();
        let touch = running.colliders_mut().add(shape, Pose::at(Vec3::Z * 0.14), ColliderMotion::Kinematic);
        for frame in 1..=20 {
            running.colliders_mut().get_mut(touch).unwrap().pose =
                Pose::at(Vec3::Z * (0.14 - 0.0006 * frame as f32));
            running.advance(0.01);
        }
        let deepest = running.colliders().get(touch).unwrap().deepest();
        assert!(deepest < 0.003 * 0.24, "{deepest}");
    }
}

#[test]
fn friction_drags_the_skin_along() {
    let slide = |friction: f32| {
        let mut running = ShellBody::new(&FACE, awake()).unwrap();
        let sphere = ColliderShape::Sphere { radius: 0.012 };
        let touch = running.colliders_mut().add(sphere, Pose::at(Vec3::Z * 0.135), ColliderMotion::Kinematic);
        running.colliders_mut().get_mut(touch).unwrap().friction = friction;
        let rest = running.advance(0.01).positions.to_vec();
        for frame in 1..=60 {
            let (down, along) = (frame.min(20), (frame - 20).max(0));
            running.colliders_mut().get_mut(touch).unwrap().pose =
                Pose::at(Vec3::new(2e-4 * along as f32, 0.0, 0.135 - 0.0004 * down as f32));
            running.advance(0.01);
        }
        // The skin that was under the finger when it came down.
        let under = (0..rest.len()).filter(|v| rest[*v].distance(Vec3::Z * 0.12) < 0.008);
        let moved: Vec<f32> = under.map(|v| running.output[v].x - rest[v].x).collect();
        moved.iter().sum::<f32>() / moved.len() as f32
    };
    assert!(slide(0.8) > slide(0.0) + 5e-4, "{} {}", slide(0.8), slide(0.0));
}

/// Positions, after one second and after three, of a finger that is pressed onto bone and slightly sideways, along which it could slide,
/// in face heights.
fn places_on_bone(friction: f32) -> [f32; 2] {
    let out = Vec3::new(-0.5, 0.6, 0.62).normalize();
    let aside = out.any_orthonormal_vector();
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    let sphere = ColliderShape::Sphere { radius: 0.012 };
    let start = Pose::at(0.135 * out);
    let touch = running.colliders_mut().add(sphere, start, ColliderMotion::Bounded { force: 1.0 });
    running.colliders_mut().get_mut(touch).unwrap().friction = friction;
    let mut places = [0.0; 2];
    for frame in 1..=300 {
        let down = (frame as f32 / 30.0).min(1.0);
        running.colliders_mut().get_mut(touch).unwrap().pose =
            Pose::at((0.135 - 0.015 * down) * out + 0.004 * down * aside);
        running.advance(0.01);
        if frame == 100 || frame == 300 {
            places[frame / 300] =
                running.colliders().get(touch).unwrap().place().translation.dot(aside) / 0.24;
        }
    }
    let touch = running.colliders().get(touch).unwrap();
    assert!(touch.force().dot(out) > 0.5, "the bone should bear the finger: {}", touch.force());
    places
}

#[test]
fn a_finger_with_friction_does_not_creep_on_bone() {
    let [smooth, _] = places_on_bone(0.0);
    assert!(smooth > 0.01, "without friction it slides to its target: {smooth}");
    let [before, after] = places_on_bone(0.8);
    assert!((after - before).abs() < 5e-6, "it crept by {} in two seconds", after - before);
    // Skin slides on bone, so it is dragged along, but it holds the finger back.
    assert!(after < smooth - 2e-3, "friction should hold it back: {after} {smooth}");
}

#[test]
fn an_untouched_face_sleeps_and_wakes_unseen() {
    let mesh = head(0.24);
    let mut running =
        ShellBody::new(&FACE, RunParams { sleep_after: Some(0.3), ..RunParams::default() }).unwrap();
    let weights = |frame: i32| [0.3 + 0.1 * (0.01 * frame as f32).sin(), 0.0];
    let mut slept_at = None;
    for frame in 0..200 {
        running.set_weights(&weights(frame));
        if running.advance(0.01).asleep && slept_at.is_none() {
            slept_at = Some(frame);
        }
    }
    let slept_at = slept_at.expect("an untouched face falls asleep");
    assert!(slept_at > 29);
    let error = worst(running.advance(0.0).positions, &plain(&FACE, &mesh, &weights(199))) / 0.24;
    assert!(error < 3e-4, "{error}");
    let sphere = ColliderShape::Sphere { radius: 0.012 };
    let touch = running.colliders_mut().add(sphere, poke(0.24, 0.0), ColliderMotion::Kinematic);
    running.colliders_mut().get_mut(touch).unwrap().pose = poke(0.24, 0.05);
    let before = running.output.clone();
    running.set_weights(&weights(200));
    let frame = running.advance(0.01);
    assert!(!frame.asleep);
    let rig_moved = worst(&plain(&FACE, &mesh, &weights(200)), &plain(&FACE, &mesh, &weights(199)));
    assert!(worst(frame.positions, &before) < rig_moved + 1e-4 * 0.24 + 1e-6);
}

#[test]
fn parameters_change_while_it_runs() {
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    running.advance(0.01);
    let before = running.matrices().factor_bytes();
    let change = running.set_params(RunParams { stiffness_scale: 4.0, ..awake() });
    assert!(!change.within_certificate);
    running.finish_params();
    assert_eq!(running.matrices().factor_bytes(), before);
    running.advance(0.01);
}

#[test]
fn violent_touching_stays_finite() {
    let random = zygoma_numerics::random::Keyed::new(5, 9);
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    let colliders: Vec<_> = (0..3)
        .map(|_| {
            let sphere = ColliderShape::Sphere { radius: 0.02 };
            running.colliders_mut().add(sphere, Pose::at(Vec3::Z * 0.3), ColliderMotion::Kinematic)
        })
        .collect();
    for frame in 0..300u64 {
        for (index, touch) in (0u64..).zip(&colliders) {
            let number = |axis: u64| 0.3 * (random.uniform(100 * frame + 10 * index + axis) as f32 - 0.5);
            running.colliders_mut().get_mut(*touch).unwrap().pose =
                Pose::at(Vec3::new(number(0), number(1), number(2)));
        }
        running.set_weights(&[random.uniform(7 * frame) as f32, random.uniform(11 * frame + 3) as f32]);
        let frame = running.advance(1.0 / 60.0);
        assert!(frame.positions.iter().all(|p| p.is_finite() && p.length() < 1.0));
        assert!(running.top_speed() < 1.001 * TOP_SPEED, "{}", running.top_speed());
    }
}

#[test]
fn a_face_survives_its_file() {
    let bytes = FACE.to_bytes();
    assert_eq!(FaceModel::from_bytes(&bytes).unwrap(), *FACE);
    assert_eq!(bytes, built(0.24).to_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ball.safetensors");
    FACE.write(&path).unwrap();
    let limits = Limits::default();
    assert_eq!(FaceModel::read(&path, &limits).unwrap(), *FACE);
    let refused = |limits| FaceModel::read(&path, &limits).unwrap_err().to_string();
    assert!(refused(Limits { vertices: 10, ..limits }).contains("and 10 are allowed"));
    assert!(refused(Limits { file_bytes: 100, ..limits }).contains("larger than the 100 bytes"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn broken_files_are_refused_with_a_sentence() {
    let bytes = FACE.to_bytes();
    for end in (0..bytes.len()).step_by(bytes.len() / 97) {
        assert!(FaceModel::from_bytes(&bytes[..end]).is_err());
    }
    let header = u64::from_le_bytes(*bytes.first_chunk::<8>().unwrap()) as usize;
    for place in (8..8 + header).step_by(header / 211) {
        let mut broken = bytes.clone();
        broken[place] ^= 0x15;
        // Either rejected or still a complete face; never a panic.
        let _ = FaceModel::from_bytes(&broken);
    }
    let text = String::from_utf8_lossy(&bytes[8..8 + header]);
    let of_version = |version: u32| {
        let text = text.replace(r#"\"version\":5"#, &format!(r#"\"version\":{version}"#));
        FaceModel::from_bytes(&[&bytes[..8], text.as_bytes(), &bytes[8 + header..]].concat())
    };
    assert_eq!(of_version(5).unwrap(), *FACE);
    for (version, age) in [(4, "an older"), (7, "a newer")] {
        let problem = of_version(version).unwrap_err();
        assert!(problem.contains(age) && problem.contains("zygoma build RIG -o FACE"), "{problem}");
    }
}

#[test]
fn sections_of_unknown_bodies_are_kept() {
    let mut face = FACE.clone();
    let mut section = Section::new(&"made by a body of the future");
    section.add("numbers", 1, &[1.0f32, 2.0]);
    face.sections.insert("echo".to_owned(), section);
    let read = FaceModel::from_bytes(&face.to_bytes()).unwrap();
    assert_eq!(read, face);
    assert_eq!(read.sections["echo"].numbers::<f32>("numbers").unwrap(), [1.0, 2.0]);
}

#[test]
fn every_stage_of_a_build_stops_when_its_budget_is_over() {
    let params = BuildParams { triangles: 400, combinations: 2, ..BuildParams::default() };
    let stage_of = |now: &BuildProgress| match now {
        BuildProgress::Meshing => "meshing",
        BuildProgress::Fitting(_) => "fitting",
        BuildProgress::Certifying => "certifying",
        BuildProgress::Correcting => "correcting",
    };
    for stage in ["meshing", "fitting", "certifying", "correcting"] {
        let flag = Arc::new(AtomicBool::new(false));
        let params = BuildParams { budget: Budget::cancelled_by(flag.clone()), ..params.clone() };
        let mut told_after = 0;
        let built = build("ball", &head(0.24), &params, &mut |now| {
            told_after += usize::from(flag.load(Ordering::Relaxed));
            if stage_of(&now) == stage {
                flag.store(true, Ordering::Relaxed);
            }
            Continue::Yes
        });
        assert_eq!(built.unwrap_err().stopped(), Some(Stop::Cancelled), "{stage}");
        assert_eq!(told_after, 0, "{stage} went on to other stages");
    }
    let params = BuildParams { seconds: Some(0.0), ..params };
    let built = build("ball", &head(0.24), &params, &mut |_| Continue::Yes);
    assert_eq!(built.unwrap_err().stopped(), Some(Stop::Late));
}

/// Each corruption passed the reader before faces were validated as a whole, and panicked or hung later.
#[test]
fn faces_whose_parts_do_not_fit_are_refused_when_they_are_opened() {
    type Damage = fn(&mut FaceModel);
    let damages: [(&str, Damage); 8] = [
        ("neutral is empty", |face| {
            face.neutral.clear();
            face.triangles.clear();
            face.embedding = Embedding::default();
            face.skin.clear();
            face.coarse = CoarseSkin::default();
            face.shapes.clear();
        }),
        ("skin is empty", |face| face.skin.clear()),
        ("skin names", |face| face.skin[0] = 1 << 30),
        ("neutral has a number", |face| face.neutral[5].x = f32::NAN),
        ("neutral has a number", |face| face.neutral[5].y = 1e30),
        ("embedding.weights has a number", |face| face.embedding.weights[2] = [9.0, -8.0, 0.0]),
        ("barycentric has a number", |face| face.coarse.on_mesh[1].barycentric[0] = f64::INFINITY),
        ("shape 0", |face| face.shapes[0].coarse.offsets[0].z = f32::INFINITY),
    ];
    for (words, damage) in damages {
        let mut face = FACE.clone();
        damage(&mut face);
        let problem = FaceModel::from_bytes(&face.to_bytes()).err().unwrap_or_default();
        assert!(problem.contains(words), "{words}: {problem}");
    }
}

#[test]
fn shells_whose_parts_do_not_fit_are_refused_when_they_are_to_run() {
    type Damage = fn(&mut FittedShell);
    let damages: [(&str, Damage); 5] = [
        ("depth has", |shell| shell.depth.truncate(3)),
        ("strain and bending has", |shell| shell.stiffness.strain[2] = -1.0),
        ("residual has", |shell| shell.neutral_residual.truncate(1)),
        ("step_time", |shell| shell.params.step_time = 0.0),
        ("step_time", |shell| shell.params.step_time = 1e-9),
    ];
    for (words, damage) in damages {
        let (mut face, mut shell) = (FACE.clone(), FittedShell::of(&FACE).unwrap());
        damage(&mut shell);
        face.add_section(&shell);
        let problem = ShellBody::new(&face, awake()).err().unwrap().to_string();
        assert!(problem.contains(words) && problem.contains("build the face again"), "{words}: {problem}");
    }
    let bare = FaceModel { sections: Default::default(), ..FACE.clone() };
    let problem = ShellBody::new(&bare, awake()).err().unwrap().to_string();
    assert!(problem.contains("--for shell"), "{problem}");
}

#[test]
fn a_finger_that_skin_sticks_to_can_be_taken_away() {
    let mut running = ShellBody::new(&FACE, awake()).unwrap();
    let sphere = ColliderShape::Sphere { radius: 0.024 };
    let touch = running.colliders_mut().add(sphere, poke(0.24, 0.0), ColliderMotion::Kinematic);
    running.colliders_mut().get_mut(touch).unwrap().friction = 0.5;
    for frame in 1..=50 {
        running.colliders_mut().get_mut(touch).unwrap().pose = poke(0.24, f64::from(frame) * 0.01);
        running.advance(0.01);
    }
    assert!(!running.colliders().contacts().is_empty(), "it presses");
    running.colliders_mut().remove(touch);
    running.advance(0.01);
    assert!(running.colliders().contacts().is_empty());
}
