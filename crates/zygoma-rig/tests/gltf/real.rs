//! The importer on files that nobody here made. They are used when present beside the checkout.

use glam::Vec3;
use zygoma_rig::formats::{Limits, gltf};
use zygoma_rig::{JointRole, Rig, RigMesh};
use zygoma_testing::real_data;

/// The rig of a file of the test data, where it is there.
fn read(file: &str) -> Option<Rig> {
    Some(gltf::read_rig(&real_data(file)?, &Limits::default()).unwrap())
}

fn size(mesh: &RigMesh) -> Vec3 {
    let low = mesh.positions.iter().copied().reduce(Vec3::min).unwrap();
    let high = mesh.positions.iter().copied().reduce(Vec3::max).unwrap();
    high - low
}

/// Where a shape does most of its moving.
fn centre(mesh: &RigMesh, shape: &str) -> Vec3 {
    let deltas = &mesh.shape(shape).unwrap().deltas;
    let moment: Vec3 = deltas.iter().map(|(v, offset)| mesh.positions[v as usize] * offset.length()).sum();
    moment / deltas.offsets.iter().map(|offset| offset.length()).sum::<f32>()
}

#[test]
fn facecap_has_its_52_shapes_its_take_and_its_eyes_and_teeth() {
    let Some(rig) = read("rigs/facecap.glb") else { return };
    let names: Vec<&str> = rig.meshes.iter().map(|mesh| mesh.name.as_str()).collect();
    assert_eq!(names, ["eyeLeft", "eyeRight", "head", "teeth"]);
    assert_eq!((rig.skin, rig.skin().shapes.len()), (2, 52));
    assert_eq!((rig.skin().positions.len(), rig.skin().faces.len()), (2694, 5032));
    // The file stands 2.3 units tall: its own scale nodes make decimetres of centimetres.
    assert_eq!(rig.units.metres_per_unit, 0.1);
    let head = size(rig.skin());
    assert!((0.22..0.24).contains(&head.y) && (0.18..0.20).contains(&head.x), "{head}");
    // The character's left is +X, and the jaw is below the eyes.
    assert!(centre(rig.skin(), "eyeBlink_L").x > 0.02 && centre(rig.skin(), "eyeBlink_R").x < -0.02);
    assert!(centre(rig.skin(), "jawOpen").y < centre(rig.skin(), "eyeBlink_L").y - 0.03);
    let uvs = &rig.skin().uvs.as_ref().unwrap().coordinates;
    assert!(uvs.iter().all(|uv| (-0.01..1.01).contains(&uv.x) && (-0.01..1.01).contains(&uv.y)));
}

#[test]
fn the_four_animations_of_facecap_are_one_take() {
    let Some(rig) = read("rigs/facecap.glb") else { return };
    let [take] = rig.takes.as_slice() else { panic!("{} takes", rig.takes.len()) };
    assert_eq!((take.name.as_str(), take.weights.len()), ("Take 001", 52));
    assert!((take.duration() - 11.13).abs() < 0.01, "{}", take.duration());
    let roles: Vec<JointRole> = take.motions.iter().map(|motion| motion.role).collect();
    assert_eq!(roles, [JointRole::Head, JointRole::LeftEye, JointRole::RightEye]);
    // The eye that its maker called "eyeLeft" lies on the character's right.
    let right = rig.joints.iter().find(|joint| joint.role == JointRole::RightEye).unwrap();
    assert_eq!(right.name, "eyeLeft");
    assert!(right.position.x < -0.02);
    // Eyes turn about themselves: against the head their centres hardly travel.
    for track in take.motions.iter().filter(|track| track.role != JointRole::Head) {
        let centre = rig.joints.iter().find(|joint| joint.role == track.role).unwrap().position;
        let travel =
            track.motions.iter().map(|motion| motion.apply(centre).distance(centre)).fold(0.0, f64::max);
        assert!(travel < 1e-6, "{travel}");
    }
    let blink = take.weights.iter().find(|track| track.shape == "eyeBlink_L").unwrap();
    let strongest = blink.curve.values.iter().copied().fold(0.0, f32::max);
    assert!((0.5..=1.0).contains(&strongest), "{strongest}");
}

#[test]
fn a_scan_without_shapes_gets_a_plausible_size() {
    let Some(rig) = read("rigs/lee_perry_smith.glb") else { return };
    assert_eq!((rig.skin().positions.len(), rig.skin().faces.len()), (9279, 17684));
    let height = size(rig.skin()).y;
    assert!((0.12..0.4).contains(&height), "{height}: {}", rig.units.reason);
}

#[test]
fn the_sample_files_come_in_whole() {
    if let Some(rig) = read("gltf-samples/MorphStressTest.glb") {
        assert_eq!((rig.meshes.len(), rig.skin().positions.len()), (1, 1528));
        let names: Vec<&str> = rig.skin().shapes.iter().map(|shape| shape.name.as_str()).collect();
        assert_eq!(names, ["Key 1", "Key 2", "Key 3", "Key 4", "Key 5", "Key 6", "Key 7", "Key 8"]);
        let takes: Vec<&str> = rig.takes.iter().map(|take| take.name.as_str()).collect();
        assert_eq!(takes, ["Individuals", "TheWave", "Pulse"]);
        assert_eq!(rig.units.metres_per_unit, 1.0);
    }
    if let Some(rig) = read("gltf-samples/SimpleMorph_embedded.gltf") {
        assert_eq!(rig.skin().positions, [Vec3::ZERO, Vec3::X, Vec3::new(0.5, 0.5, 0.0)]);
        assert_eq!(rig.skin().shapes[1].deltas.to_dense(3)[2], Vec3::new(1.0, 1.0, 0.0));
        assert_eq!(rig.takes[0].weights[1].curve.values, [0.0, 1.0, 1.0, 0.0, 0.0]);
    }
    if let Some(rig) = read("gltf-samples/AnimatedMorphCube-Quantized/AnimatedMorphCube.gltf") {
        let side = size(rig.skin());
        assert!((side - Vec3::splat(2.0)).abs().max_element() < 1e-3, "{side}");
        assert_eq!(rig.units.metres_per_unit, 1.0);
        assert!(rig.skin().quantum > 3e-4 && rig.skin().quantum < 4e-4);
        assert!((rig.takes[0].end() - 4.2).abs() < 1e-6);
        // Normalised bytes: the cube's own weights lie between 0 and 1.
        let values = rig.takes[0].weights.iter().flat_map(|track| &track.curve.values);
        assert!(
            values.clone().all(|w| (0.0..=1.0).contains(w)) && values.copied().fold(0.0, f32::max) > 0.99
        );
    }
}

#[test]
fn hands_stand_in_bind_pose() {
    for file in ["hands/generic_hand_left.glb", "hands/generic_hand_right.glb"] {
        let Some(rig) = read(file) else { return };
        assert_eq!(rig.skin().positions.len(), 1360);
        assert_eq!(rig.units.metres_per_unit, 1.0);
        assert!((size(rig.skin()).y - 0.212).abs() < 1e-3);
    }
}
