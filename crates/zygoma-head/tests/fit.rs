//! The built-in head fitted into others: heads whose anatomy is known, and heads that nobody here made.

use glam::{DQuat, DVec3};
use zygoma_geometry::shapes;
use zygoma_geometry::similarity::Similarity;
use zygoma_head::anatomy::checks::Inverted;
use zygoma_head::anatomy::{Anatomy, Bone, FillDetail};
use zygoma_head::fit::{BoneModel, Fat, FitError, FitInput, FittedHead, Registration, fit, truth};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::RigMesh;
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
    let input = FitInput::new(&positions, &head.skin.triangles);
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
    // The hinge lies in the head's own condyles, and opens by what its chin says.
    let [left, right] = fitted.condyles().map(|p| back.apply(p));
    for condyle in [left, right] {
        let near = |points: &[DVec3]| {
            let pairs = mandible.surface.positions.iter().zip(points);
            let near = pairs.filter(|(p, _)| p.distance(condyle) < 10.0 * MILLIMETRE).map(|(_, q)| *q);
            let near: Vec<DVec3> = near.collect();
            near.iter().sum::<DVec3>() / near.len() as f64
        };
        let off = near(&truth.mandible.surface.positions).distance(near(&mandible.surface.positions));
        assert!(off < 3.0 * MILLIMETRE, "{off}");
    }
    let joint = head.jaw_joint();
    let chin = fitted.chin(&positions);
    assert!(chin.len() > 50);
    let rest: Vec<DVec3> = chin.iter().map(|v| positions[*v as usize]).collect();
    let turn = DQuat::from_axis_angle((left - right).normalize(), 0.3);
    let turned = |p: &DVec3| placed.apply(joint + turn * (back.apply(*p) - joint));
    let posed: Vec<DVec3> = rest.iter().map(turned).collect();
    let found = fitted.hinge_motion(&rest, &posed);
    let angle = DQuat::from_mat3(&found.matrix3).angle_between(DQuat::IDENTITY);
    assert!((angle - 0.3).abs() < 0.02, "{angle}");
    let to_own = fitted.to_mesh.inverse();
    let truth = Head::new(&HeadOptions::sampled(11, Level::High));
    assert_performs(&fitted, &truth, |p| to_own.apply(placed.apply(p)));
}

#[test]
fn bones_of_a_head_with_fat_of_its_own_are_found_better_than_by_a_space_warp() {
    // One head of the fifty of `zygoma bench anatomy`, whose errors reach 2.6 mm on single faces.
    let found = truth(5000).unwrap();
    let error = |wanted: BoneModel| {
        let model = found.models.iter().find(|(model, _)| *model == wanted);
        model.expect("every model is tried").1
    };
    let (linear, warp) = (error(BoneModel::default()), error(BoneModel::SpaceWarp));
    assert!(linear.face < 2.0 * MILLIMETRE && linear.all < 2.5 * MILLIMETRE, "{found:?}");
    assert!(linear.face < 0.85 * warp.face, "{found:?}");
    assert!(found.floor.face < linear.face, "{found:?}");
    assert!((found.fat[0] - found.fat[1]).abs() < 0.3, "{:?}", found.fat);
}

#[test]
fn mirrored_rescaled_z_up_and_noisy_input_moves_the_skull_by_less_than_half_a_millimetre() {
    let head = Head::new(&HeadOptions::sampled(12, Level::Low));
    let plain = Registration::new(&FitInput::new(&head.skin.positions, &head.skin.triangles)).unwrap();
    let (plain_bones, fat) = plain.bones(BoneModel::default(), Fat::Auto).unwrap();
    let random = zygoma_numerics::random::Keyed::new(5, 0);
    let changed = |(v, p): (usize, &DVec3)| {
        let noise = DVec3::from_array([0, 1, 2].map(|k| random.normal((3 * v + k) as u64)));
        let p = *p + 0.1 * MILLIMETRE * noise;
        // Mirrored, centimetres, +Z up.
        100.0 * DVec3::new(-p.x, -p.z, p.y)
    };
    let back = |p: DVec3| DVec3::new(-p.x, p.z, -p.y) / 100.0;
    let positions: Vec<DVec3> = head.skin.positions.iter().enumerate().map(changed).collect();
    let triangles: Vec<[u32; 3]> = head.skin.triangles.iter().map(|t| [t[0], t[2], t[1]]).collect();
    let other = Registration::new(&FitInput::new(&positions, &triangles)).unwrap();
    let (other_bones, _) = other.bones(BoneModel::default(), Fat::Auto).unwrap();
    let anatomy = Anatomy::new(&head);
    let mirrors = [&anatomy.cranium, &anatomy.mandible].map(|bone| &bone.surface.mirror);
    let mut distances = Vec::new();
    for ((a, b), mirror) in plain_bones.iter().zip(&other_bones).zip(mirrors) {
        distances.extend((0..a.len()).map(|v| a[v].distance(back(b[mirror[v] as usize]))));
    }
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    assert!(mean < 0.5 * MILLIMETRE, "{mean}");
    // If the head is said to be fatter than it looks, the bones lie deeper: both jaw angles come nearer to each other.
    let (thin, _) = plain.bones(BoneModel::default(), Fat::Given((fat + 0.8).min(1.0))).unwrap();
    let width = |bones: &[Vec<DVec3>; 2]| {
        let x = bones[1].iter().map(|p| p.x);
        x.clone().fold(f64::MIN, f64::max) - x.fold(f64::MAX, f64::min)
    };
    assert!(
        width(&thin) < width(&plain_bones) - 0.2 * MILLIMETRE,
        "{} {}",
        width(&thin),
        width(&plain_bones)
    );
}

#[test]
fn the_ict_head_is_registered_and_its_withheld_landmarks_are_met() {
    let Some(folder) = real_data("ict/FaceXModel") else { return };
    let rig = read_rig(&folder.join("generic_neutral_mesh.obj"), &Limits::default()).unwrap();
    let positions: Vec<DVec3> = rig.skin().positions.iter().map(|p| p.as_dvec3()).collect();
    let triangles = rig.skin().faces.triangles();
    let input = FitInput::new(&positions, &triangles);
    let fitted = fit(&input).unwrap();
    assert_sound("ICT", &fitted);
    let registration = fitted.report.registration;
    assert!(registration.mean < 0.3 * MILLIMETRE && registration.p95 < MILLIMETRE, "{registration:?}");
    // Without the brows, which are hair: on ICT's face they are higher and longer than on ours.
    let text = std::fs::read_to_string(folder.join("vertex_indices.json")).unwrap();
    let indices = landmark_vertices(&text);
    let ours = Head::new(&HeadOptions::default()).places.landmarks;
    let distance = |i: usize| fitted.skin[ours[i] as usize].distance(positions[indices[i]]);
    for (part, numbers) in [("outline", 0..17), ("nose", 27..36), ("eyes", 36..48), ("mouth", 48..68)] {
        let count = numbers.len() as f64;
        let mean = numbers.map(distance).sum::<f64>() / count;
        assert!(mean < 4.0 * MILLIMETRE, "{part}: {mean}");
    }
    let mean = (0..17).chain(27..68).map(distance).sum::<f64>() / 58.0;
    assert!(mean < 3.0 * MILLIMETRE, "{mean}");
    // Its lower teeth, withheld, turn about an axis so near to the condyles that these glide little in their joints.
    let open = read_rig(&folder.join("jawOpen.obj"), &Limits::default()).unwrap();
    let is_tooth = fitted.lower_teeth(&positions);
    let teeth = || (0..positions.len()).filter(|v| is_tooth[*v]);
    let rest: Vec<DVec3> = teeth().map(|v| positions[v]).collect();
    let posed: Vec<DVec3> = teeth().map(|v| open.skin().positions[v].as_dvec3()).collect();
    let motion = fitted.teeth_motion(&rest, &posed).expect("lower teeth that move as one");
    let degrees = DQuat::from_mat3(&motion.matrix3).to_axis_angle().1.to_degrees();
    assert!((degrees - 25.3).abs() < 0.3, "{degrees}");
    let off = fitted.condyles_off_axis(&motion).expect("an axis");
    let glide = off.map(|length| 2.0 * length * (0.5 * degrees.to_radians()).sin());
    assert!(glide.into_iter().all(|length| length < 8.0 * MILLIMETRE), "{glide:?}");
}

#[test]
fn bones_of_a_rig_stay_under_its_skin_in_all_its_shapes() {
    let Some(path) = real_data("mpfb/mixed_child.glb") else { return };
    let rig = read_rig(&path, &Limits::default()).unwrap();
    let points = |mesh: &RigMesh| mesh.positions.iter().map(|p| p.as_dvec3()).collect::<Vec<DVec3>>();
    let (positions, triangles) = (points(rig.skin()), rig.skin().faces.triangles());
    let input = FitInput { fill: FillDetail::Coarse, ..FitInput::new(&positions, &triangles) };
    let at_rest = fit(&input).unwrap();
    let poses = at_rest.poses(&rig);
    assert_eq!(poses.len(), rig.skin().shapes.len());
    let outside = |head: &FittedHead| head.covers(&poses).iter().map(|cover| cover.outside).sum::<usize>();
    // A bone that fits under the skin at rest sticks out where a smile thins the cheek.
    assert!(outside(&at_rest) > 0);
    let fitted = at_rest.covered_in_shapes(&rig, FillDetail::Coarse);
    assert_sound("mixed_child", &fitted);
    assert_eq!(outside(&fitted), 0);
    assert_eq!(fitted.report.posed.map(|posed| (posed.shapes, posed.outside)), Some((poses.len(), 0)));
}

/// The rig of a fitted head has the shapes of the head that it was fitted to, and its eyes in the same place.
fn assert_performs(fitted: &FittedHead, truth: &Head, home: impl Fn(DVec3) -> DVec3) {
    let rig = fitted.rig().expect("a rig");
    assert_eq!(rig.skin().shapes.len(), 52);
    for name in ["jawOpen", "mouthSmileLeft", "browInnerUp"] {
        let (_, wanted) =
            truth.skin.shapes.iter().find(|(shape, _)| shape == name).expect("the shape exists");
        let found = rig.skin().shape(name).expect("the shape exists").deltas.to_dense(wanted.len());
        let off = found.iter().zip(wanted).map(|(a, b)| a.as_dvec3().distance(*b)).sum::<f64>();
        let all = wanted.iter().map(|offset| offset.length()).sum::<f64>();
        assert!(off < 0.25 * all, "{name}: {off} of {all}");
    }
    let middle = |points: &mut dyn Iterator<Item = DVec3>| {
        let (low, high) = points.fold((DVec3::MAX, DVec3::MIN), |(low, high), p| (low.min(p), high.max(p)));
        0.5 * (low + high)
    };
    let eye = rig.meshes.iter().find(|mesh| mesh.name == "eye_left").expect("an eye");
    let true_eye = truth.parts.iter().find(|part| part.name == "eye_left").expect("an eye");
    let found = middle(&mut eye.positions.iter().map(|p| p.as_dvec3()));
    let wanted = middle(&mut true_eye.positions.iter().map(|p| home(*p)));
    assert!(found.distance(wanted) < 3.0 * MILLIMETRE, "{found} {wanted}");
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
    let input = FitInput::new(&long, &triangles);
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
    let input = FitInput::new(&long, few);
    assert!(matches!(fit(&input).err(), Some(FitError::TooSmall { .. })));
}
