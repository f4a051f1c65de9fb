//! The built-in head fitted into others: heads whose anatomy is known, and heads that nobody here made.

use glam::{DQuat, DVec3};
use zygoma_geometry::shapes;
use zygoma_geometry::similarity::Similarity;
use zygoma_head::anatomy::{Anatomy, Bone, Inverted};
use zygoma_head::fit::{FitError, FitInput, FittedHead, fit};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::formats::{Limits, read_rig};
use zygoma_testing::real_data;

const MILLIMETRE: f64 = 1e-3;

/// Laws that hold for every fitted head.
fn assert_sound(name: &str, fitted: &FittedHead) {
    let report = &fitted.report;
    assert_eq!(report.inverted, Inverted::default(), "{name}");
    assert_eq!(report.penetrating, 0, "{name}");
    assert!(report.cover > MILLIMETRE, "{name}: {report:?}");
    assert!(report.registration.mean < report.by_dials.mean, "{name}");
}

/// Mean distance between corresponding bone vertices of the face, in metres.
fn bone_error(truth: &[&Bone; 2], found: &[&Bone; 2]) -> f64 {
    let pairs = truth.iter().zip(found);
    let pairs = pairs.flat_map(|(a, b)| a.surface.positions.iter().zip(&b.surface.positions));
    let distances: Vec<f64> = pairs.filter(|(p, _)| p.z > 0.02).map(|(p, q)| p.distance(*q)).collect();
    distances.iter().sum::<f64>() / distances.len() as f64
}

#[test]
fn bones_of_a_turned_scaled_and_noisy_generated_head_are_found_from_its_skin() {
    let head = Head::new(&HeadOptions::sampled(11, Level::Middle));
    let truth = Anatomy::new(&head);
    // Centimetres, +Z up, somewhere else, with noise of 0.2 mm.
    let placed = Similarity {
        scale: 100.0,
        rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2) * DQuat::from_rotation_y(0.2),
        translation: DVec3::new(40.0, -3.0, 170.0),
    };
    let random = zygoma_numerics::random::Keyed::new(4, 0);
    let noisy = |(v, p): (usize, &DVec3)| {
        let noise = DVec3::from_array([0, 1, 2].map(|k| random.normal((3 * v + k) as u64)));
        placed.apply(*p + 0.2 * MILLIMETRE / 3f64.sqrt() * noise)
    };
    let positions: Vec<DVec3> = head.skin.positions.iter().enumerate().map(noisy).collect();
    let input =
        FitInput { positions: &positions, triangles: &head.skin.triangles, inner: &[], landmarks: &[] };
    let fitted = fit(&input).unwrap();
    assert_sound("generated", &fitted);
    let back = placed.inverse();
    let home = |bone: &Bone| {
        let mut bone = bone.clone();
        bone.surface.positions.iter_mut().for_each(|p| *p = back.apply(*p));
        bone
    };
    let (cranium, mandible) = (home(&fitted.anatomy.cranium), home(&fitted.anatomy.mandible));
    let error = bone_error(&[&truth.cranium, &truth.mandible], &[&cranium, &mandible]);
    assert!(error < 2.0 * MILLIMETRE, "{error}");
    // The hinge lies where the head's own jaw turns, and opens by what its chin says.
    let [left, right] = fitted.condyles().map(|p| back.apply(p));
    let joint = head.jaw_joint();
    assert!((0.5 * (left + right)).distance(joint) < 8.0 * MILLIMETRE, "{left} {right} {joint}");
    let chin = fitted.chin(&positions);
    assert!(chin.len() > 50);
    let rest: Vec<DVec3> = chin.iter().map(|v| positions[*v as usize]).collect();
    let turn = DQuat::from_axis_angle((left - right).normalize(), 0.3);
    let turned = |p: &DVec3| placed.apply(joint + turn * (back.apply(*p) - joint));
    let posed: Vec<DVec3> = rest.iter().map(turned).collect();
    let found = fitted.hinge_motion(&rest, &posed);
    let angle = DQuat::from_mat3(&found.matrix3).angle_between(DQuat::IDENTITY);
    assert!((angle - 0.3).abs() < 0.02, "{angle}");
}

#[test]
fn the_ict_head_is_registered_and_its_withheld_landmarks_are_met() {
    let Some(folder) = real_data("ict/FaceXModel") else { return };
    let rig = read_rig(&folder.join("generic_neutral_mesh.obj"), &Limits::default()).unwrap();
    let positions: Vec<DVec3> = rig.skin().positions.iter().map(|p| p.as_dvec3()).collect();
    let triangles = rig.skin().faces.triangles();
    let input = FitInput { positions: &positions, triangles: &triangles, inner: &[], landmarks: &[] };
    let fitted = fit(&input).unwrap();
    assert_sound("ICT", &fitted);
    let registration = fitted.report.registration;
    assert!(registration.mean < 0.3 * MILLIMETRE && registration.p95 < MILLIMETRE, "{registration:?}");
    // Eyes and mouth; jaw, brows and bridge are other places on ICT's face than on ours.
    let text = std::fs::read_to_string(folder.join("vertex_indices.json")).unwrap();
    let indices = landmark_vertices(&text);
    let ours = Head::new(&HeadOptions::default()).places.landmarks;
    let distance = |i: usize| fitted.skin[ours[i] as usize].distance(positions[indices[i]]);
    let mean = (36..68).map(distance).sum::<f64>() / 32.0;
    assert!(mean < 3.0 * MILLIMETRE, "{mean}");
}

/// The 68 numbers after "idx_to_landmark_verts".
fn landmark_vertices(json: &str) -> Vec<usize> {
    let after = json.split("\"idx_to_landmark_verts\"").nth(1).expect("a list of landmarks");
    let list = after.split(['[', ']']).nth(1).expect("a list of landmarks");
    list.split(',').map(|number| number.trim().parse().expect("an index")).collect()
}

#[test]
fn what_is_no_head_is_refused_in_a_sentence() {
    let (positions, triangles) = shapes::sphere(40, 60);
    let long: Vec<DVec3> = positions.iter().map(|p| p.as_dvec3() * DVec3::new(0.1, 0.1, 2.0)).collect();
    let input = FitInput { positions: &long, triangles: &triangles, inner: &[], landmarks: &[] };
    assert!(matches!(fit(&input).err(), Some(FitError::NoHead { .. })));
    let mut broken = long.clone();
    broken[7].y = f64::NAN;
    let input = FitInput { positions: &broken, ..input };
    assert_eq!(fit(&input).err(), Some(FitError::NotFinite { vertex: 7 }));
    let input = FitInput { positions: &long[..50], ..input };
    assert!(matches!(fit(&input).err(), Some(FitError::Index { count: 50, .. })));
    let input = FitInput { positions: &long, landmarks: &[(68, DVec3::ZERO)], ..input };
    assert_eq!(fit(&input).err(), Some(FitError::Landmark(68)));
    let few = &triangles[..40];
    let input = FitInput { positions: &long, triangles: few, inner: &[], landmarks: &[] };
    assert!(matches!(fit(&input).err(), Some(FitError::TooSmall { .. })));
}
