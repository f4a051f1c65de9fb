//! Takes out of hand-made animations.

use glam::{DQuat, DVec3};
use serde_json::json;
use zygoma_rig::Interpolation;
use zygoma_rig::JointRole;

use crate::support::{Maker, U8, lift};

fn two_shapes() -> Maker {
    let mut maker = Maker::square(&[lift(2, 0.01), lift(1, 0.01)]);
    maker.json["meshes"][0]["extras"] = json!({ "targetNames": ["jawOpen", "mouthSmile_L"] });
    maker
}

#[test]
fn linear_and_step_weights_become_one_track_per_shape() {
    for (mode, kind) in [("LINEAR", Interpolation::Linear), ("STEP", Interpolation::Step)] {
        let mut maker = two_shapes();
        let output = maker.floats("SCALAR", &[0.0, 1.0, 0.5, 0.75, 1.0, 0.25]);
        maker.animate("wave", 0, "weights", &[0.5, 1.0, 2.0], output, mode);
        let rig = maker.rig();
        let [take] = rig.takes.as_slice() else { panic!() };
        assert_eq!((take.name.as_str(), take.start(), take.end()), ("wave", 0.5, 2.0));
        assert_eq!(take.weights[0].shape, "jawOpen");
        assert_eq!(take.weights[0].curve.values, [0.0, 0.5, 1.0]);
        assert_eq!(take.weights[1].curve.values, [1.0, 0.75, 0.25]);
        assert_eq!(take.weights[1].curve.interpolation, kind);
    }
}

#[test]
fn cubic_weights_keep_their_tangents() {
    let mut maker = two_shapes();
    // Per key: incoming tangents of both shapes, values of both, outgoing tangents of both.
    let keys = [0.0, 0.0, 0.0, 1.0, 1.0, -1.0, 3.0, -3.0, 1.0, 0.0, 0.0, 0.0];
    let output = maker.floats("SCALAR", &keys);
    maker.animate("wave", 0, "weights", &[0.0, 1.0], output, "CUBICSPLINE");
    let rig = maker.rig();
    let curve = &rig.takes[0].weights[0].curve;
    assert_eq!(curve.values, [0.0, 1.0]);
    let Interpolation::Cubic { incoming, outgoing } = &curve.interpolation else { panic!() };
    assert_eq!((incoming.as_slice(), outgoing.as_slice()), (&[0.0, 3.0][..], &[1.0, 0.0][..]));
    // From 0 with slope 1 to 1 with slope 3: (0 + 1) / 2 + (1 − 3) / 8 at the middle.
    assert!((curve.sample(0.5) - 0.25).abs() < 1e-6);
}

#[test]
fn normalised_bytes_are_weights_from_zero_to_one() {
    let mut maker = two_shapes();
    let output = maker.accessor(&[0, 255, 51, 0], U8, "SCALAR", 4);
    maker.json["accessors"][output]["normalized"] = json!(true);
    maker.animate("wave", 0, "weights", &[0.0, 1.0], output, "LINEAR");
    let take = &maker.rig().takes[0];
    assert_eq!(take.weights[1].curve.values, [1.0, 0.0]);
    assert!((take.weights[0].curve.values[1] - 0.2).abs() < 1e-6);
}

#[test]
fn layers_of_one_take_are_one_take_and_other_names_are_others() {
    let mut maker = two_shapes();
    let output = maker.floats("SCALAR", &[0.0, 1.0]);
    maker.animate("Key|Take 001|Base", 0, "weights", &[0.0], output, "LINEAR");
    let moved = maker.floats("VEC3", &[0.0, 0.0, 0.0, 0.0, 0.1, 0.0]);
    maker.animate("face|Take 001|Base", 0, "translation", &[0.0, 1.0], moved, "LINEAR");
    maker.animate("face|Take 002|Base", 0, "translation", &[0.0, 3.0], moved, "LINEAR");
    let rig = maker.rig();
    let names: Vec<&str> = rig.takes.iter().map(|take| take.name.as_str()).collect();
    assert_eq!(names, ["Take 001", "Take 002"]);
    assert_eq!((rig.takes[0].weights.len(), rig.takes[0].motions.len()), (2, 1));
    assert!(rig.takes[1].weights.is_empty());
}

#[test]
fn without_a_head_joint_the_nearest_animated_carrier_is_the_head() {
    let mut maker = two_shapes();
    maker.push("nodes", json!({ "children": [0], "name": "carrier", "translation": [0.0, 1.0, 0.0] }));
    maker.json["scenes"][0]["nodes"] = json!([1]);
    let moved = maker.floats("VEC3", &[0.0, 1.0, 0.0, 0.5, 1.0, 0.0]);
    maker.animate("move", 1, "translation", &[0.0, 1.0], moved, "LINEAR");
    let rig = maker.rig();
    let [track] = rig.takes[0].motions.as_slice() else { panic!() };
    assert_eq!(track.role, JointRole::Head);
    let motion = track.sample(0.5).unwrap();
    assert!(motion.translation.distance(DVec3::X * 0.25) < 1e-9, "{motion:?}");
}

/// A head at (0, 1, 0) with a jaw at (0, 1, 0.1) below a body that moves as well.
fn head_and_jaw() -> Maker {
    let mut maker = two_shapes();
    maker.push("nodes", json!({ "name": "body", "children": [2] }));
    maker.push("nodes", json!({ "name": "head", "translation": [0.0, 1.0, 0.0], "children": [0, 3] }));
    maker.push("nodes", json!({ "name": "jaw", "translation": [0.0, 0.0, 0.1] }));
    maker.json["scenes"][0]["nodes"] = json!([1]);
    maker
}

#[test]
fn jaws_move_in_the_frame_of_the_head() {
    let mut maker = head_and_jaw();
    let turn = DQuat::from_rotation_y(0.5).as_quat().to_array();
    let rest = [0.0, 0.0, 0.0, 1.0];
    let head = maker.floats("VEC4", &[rest, turn].concat());
    maker.animate("a|t|b", 2, "rotation", &[0.0, 1.0], head, "LINEAR");
    let lifted = maker.floats("VEC3", &[0.0, 0.0, 0.0, 0.0, 0.3, 0.0]);
    maker.animate("b|t|b", 1, "translation", &[0.0, 1.0], lifted, "LINEAR");
    let open = DQuat::from_rotation_x(0.2).as_quat().to_array();
    let jaw = maker.floats("VEC4", &[rest, open].concat());
    maker.animate("c|t|b", 3, "rotation", &[0.0, 1.0], jaw, "LINEAR");
    let rig = maker.rig();
    let [head, jaw] = rig.takes[0].motions.as_slice() else { panic!() };
    assert_eq!((head.role, jaw.role), (JointRole::Head, JointRole::Jaw));
    let head = head.sample(1.0).unwrap();
    // The head turns about itself and is carried up.
    assert!(head.apply(DVec3::Y).distance(DVec3::Y * 1.3) < 1e-6, "{head:?}");
    assert!(head.rotation.angle_between(DQuat::from_rotation_y(0.5)) < 1e-5);
    let jaw = jaw.sample(1.0).unwrap();
    let hinge = DVec3::new(0.0, 1.0, 0.1);
    assert!(jaw.apply(hinge).distance(hinge) < 1e-6, "the jaw turns about its own joint: {jaw:?}");
    assert!(jaw.rotation.angle_between(DQuat::from_rotation_x(0.2)) < 1e-5);
}

#[test]
fn a_jaw_that_only_follows_the_head_has_no_track() {
    let mut maker = head_and_jaw();
    let lifted = maker.floats("VEC3", &[0.0, 0.0, 0.0, 0.0, 0.3, 0.0]);
    maker.animate("lift", 1, "translation", &[0.0, 1.0], lifted, "LINEAR");
    let roles: Vec<JointRole> = maker.rig().takes[0].motions.iter().map(|track| track.role).collect();
    assert_eq!(roles, [JointRole::Head]);
}

#[test]
fn bent_and_stepped_motion_is_sampled_between_its_keys() {
    for (mode, rows, middle) in [
        ("STEP", vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0], 0.0),
        // Without slopes the cubic is 3t² − 2t³, which is 0.15625 at a quarter.
        ("CUBICSPLINE", [[0.0; 12].as_slice(), &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]].concat(), 0.15625),
    ] {
        let mut maker = two_shapes();
        let output = maker.floats("VEC3", &rows);
        maker.animate("move", 0, "translation", &[0.0, 1.0], output, mode);
        let rig = maker.rig();
        let track = &rig.takes[0].motions[0];
        assert!(track.times.len() >= 60, "{mode}: {} keys", track.times.len());
        let x = track.sample(0.25).unwrap().translation.x;
        assert!((x - middle).abs() < 1e-3, "{mode}: {x}");
    }
}

#[test]
fn meshes_that_share_shapes_share_tracks() {
    let mut maker = two_shapes();
    maker.push("nodes", json!({ "mesh": 0, "name": "lashes" }));
    maker.json["scenes"][0]["nodes"] = json!([0, 1]);
    let same = maker.floats("SCALAR", &[0.0, 1.0]);
    let other = maker.floats("SCALAR", &[0.0, 0.5]);
    maker.animate("a|t|b", 0, "weights", &[0.0], same, "LINEAR");
    maker.animate("c|t|d", 1, "weights", &[0.0], same, "LINEAR");
    let rig = maker.rig();
    assert_eq!((rig.takes[0].weights.len(), rig.notes.len()), (2, 0));
    maker.json["animations"][1]["samplers"][0]["output"] = json!(other);
    let rig = maker.rig();
    assert_eq!(rig.takes[0].weights[1].curve.values, [1.0], "the first mesh's curve is kept");
    assert!(rig.notes[0].starts_with("1 shapes are animated differently"), "{:?}", rig.notes);
}

#[test]
fn broken_animations_are_named() {
    let refuse = |times: &[f32], values: &[f32], mode: &str, wanted: &str| {
        let mut maker = two_shapes();
        let output = maker.floats("SCALAR", values);
        maker.animate("wave", 0, "weights", times, output, mode);
        let error = maker.error();
        assert!(error.contains(wanted) && error.contains("sampler 0 of animation 0"), "{error}");
    };
    refuse(&[0.0, 0.0], &[0.0; 4], "LINEAR", "key 1 at 0 s");
    refuse(&[1.0, 0.5], &[0.0; 4], "LINEAR", "key 1 at 0.5 s");
    refuse(&[f32::NAN], &[0.0; 2], "LINEAR", "key 0");
    refuse(&[], &[0.0; 2], "LINEAR", "0 keys");
    refuse(&[0.0, 1.0], &[0.0; 3], "LINEAR", "3 values");
    refuse(&[0.0, 1.0], &[0.0; 4], "CUBICSPLINE", "4 values");
    refuse(&[0.0, 1.0], &[0.0; 4], "MAGIC", "MAGIC");
    refuse(&[0.0], &[0.0, f32::INFINITY], "LINEAR", "not finite");
}
