//! The built-in head with its anatomy, with few shapes.

use std::sync::{Arc, LazyLock};

use glam::{DMat3, DVec3, Vec3};
use zygoma_geometry::intersect::triangles_cross;
use zygoma_geometry::normals::vertex_normals;
use zygoma_geometry::tets::volume;
use zygoma_hand::{Extent, Gesture, Side, Spot};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_numerics::Budget;
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_rig::formats::markers::MarkerPlace;

use super::*;
use crate::body::restoring::assert_restores;
use crate::body::{Body, Drive, Touchable};
use crate::contact::{ColliderFrame, ColliderMotion, HAND_FRICTION};
use crate::enriched::{Canvas, SpotPlace};
use crate::model::{Continue, FaceModel, Landmarks};

static FACE: LazyLock<FaceModel> = LazyLock::new(|| {
    let mut rig =
        Head::new(&HeadOptions { level: Level::Low, ..HeadOptions::default() }).rig_with_texture(None);
    let skin = rig.skin;
    let kept = ["jawOpen", "jawLeft", "mouthSmileLeft", "mouthSmileRight", "mouthPucker"];
    rig.meshes[skin].shapes.retain(|shape| kept.contains(&shape.name.as_str()));
    let mut face = FaceModel::of_rig(&rig, 1000, &Budget::default()).unwrap();
    face.add_anatomy(&rig).unwrap();
    face
});

static HEAD: LazyLock<Arc<Anatomical>> =
    LazyLock::new(|| Arc::new(Anatomical::build(&FACE, &AnatomicalParams::default()).unwrap()));

const SMILE: [(&str, f32); 2] = [("mouthSmileLeft", 1.0), ("mouthSmileRight", 1.0)];

fn weights(named: &[(&str, f32)]) -> Vec<f32> {
    let weight = |name: &str| named.iter().find(|(wanted, _)| *wanted == name).map_or(0.0, |(_, w)| *w);
    FACE.shapes.iter().map(|shape| weight(&shape.name)).collect()
}

fn settled_head(head: &Arc<Anatomical>, named: &[(&str, f32)]) -> (AnatomicalBody, Vec<Vec3>) {
    let mut body = AnatomicalBody::new(head.clone()).unwrap();
    body.drive(Drive::Weights(&weights(named))).unwrap();
    body.settle();
    let shown = body.frame_before(0.0).positions.to_vec();
    (body, shown)
}

fn settled(named: &[(&str, f32)]) -> (AnatomicalBody, Vec<Vec3>) {
    settled_head(&HEAD, named)
}

fn with_dials(settings: &[(&str, &str)]) -> Arc<Anatomical> {
    let mut dials = Dials::default();
    settings.iter().for_each(|(name, value)| dials.set(name, value).unwrap());
    Arc::new(HEAD.with_dials(&dials).unwrap())
}

fn distances(a: &[Vec3], b: &[Vec3]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).collect()
}

fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len().max(1) as f32
}

fn landmark(name: &str) -> usize {
    Landmarks::new(&FACE).find(name).unwrap().vertex as usize
}

#[test]
fn the_neutral_stays_the_neutral() {
    let (_, shown) = settled(&[]);
    let off = distances(&shown, &FACE.neutral).into_iter().fold(0.0, f32::max);
    assert!(off < 1e-6, "{off} m");
}

#[test]
fn an_expression_keeps_its_volume_and_its_look_and_its_jaw_is_rigid() {
    let named = [("jawOpen", 0.4), ("mouthSmileLeft", 0.5), ("mouthSmileRight", 0.5)];
    let (body, shown) = settled(&named);
    let change = body.volume_change();
    let plain = PlainVolume::new(&HEAD).unwrap().change(&HEAD, &weights(&named));
    assert!(change.mean < 0.5 * plain.mean, "{change:?} {plain:?}");
    let off = mean(&distances(&shown, &body.reached.plain));
    assert!((1e-5..1e-3).contains(&off), "{off} m");
    let (jaw, wanted) = (body.jaw(), HEAD.jaw.pose(&weights(&named)));
    let chin = FACE.neutral[landmark("chin")].as_dvec3();
    assert!(jaw.apply(chin).distance(wanted.apply(chin)) < 5e-4);
    assert!(wanted.apply(chin).distance(chin) > 5e-3);
}

#[test]
fn a_mirrored_expression_is_mirrored() {
    let [left, right] = ["mouthSmileLeft", "mouthSmileRight"].map(|name| {
        let (mut body, _) = settled(&[(name, 1.0)]);
        // Usual solves end a little before the minimum, on either side of it.
        body.inverse.solve_to(1000, 1e-7);
        body.output();
        body.positions
    });
    let flip = |p: Vec3| Vec3::new(-p.x, p.y, p.z);
    let mut worst = 0.0_f32;
    for (vertex, at) in FACE.neutral.iter().enumerate().step_by(7) {
        let distance = |v: &usize| FACE.neutral[*v].distance_squared(flip(*at));
        let twin = (0..FACE.neutral.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap();
        // Vertices without a mirror image are not compared.
        if distance(&twin) < 1e-10 {
            worst = worst.max(left[vertex].distance(flip(right[twin])));
        }
    }
    let moved = distances(&left, &FACE.neutral).into_iter().fold(0.0, f32::max);
    // Neither the order of sums nor the coarse skin that decides which vertices are held is symmetric.
    assert!(worst < 0.02 * moved && moved > 5e-3, "{worst} {moved}");
}

/// Pairs of triangles of the two lips that cross.
fn crossings(surface: &[Vec3]) -> usize {
    let [upper, lower] = FACE.lip_triangles();
    let corners = |t: &[u32; 3]| t.map(|v| surface[v as usize].as_dvec3());
    let crosses = |a: &[u32; 3]| lower.iter().filter(|b| triangles_cross(corners(a), corners(b))).count();
    upper.iter().map(crosses).sum()
}

#[test]
fn lips_that_pass_through_each_other_are_parted() {
    // A jaw that closes beyond the neutral.
    let (body, shown) = settled(&[("jawOpen", -0.1)]);
    let (plain, left) = (crossings(&body.reached.plain), crossings(&shown));
    assert!(plain > 10 && left == 0, "{plain} {left}");
}

/// A landmark of the skin, and the outward direction there.
fn spot(name: &str) -> (Vec3, Vec3) {
    let vertex = landmark(name);
    (FACE.neutral[vertex], vertex_normals(&FACE.neutral, &FACE.triangles)[vertex])
}

#[test]
fn a_fingertip_dents_a_cheek_that_comes_back() {
    const RADIUS: f32 = 0.01;
    let (mut body, before) = settled(&[]);
    let (at, normal) = spot("cheek-left");
    let pose = |depth: f32| Pose::at(at + (RADIUS - depth) * normal);
    let sphere = ColliderShape::Sphere { radius: RADIUS };
    let finger = body.colliders_mut().add(sphere, pose(-0.002), ColliderMotion::Kinematic);
    for frame in 1..=7 {
        body.colliders_mut().get_mut(finger).unwrap().pose = pose(-0.002 + 0.001 * frame as f32);
        body.advance(0.04);
    }
    let dented = distances(body.frame_before(0.0).positions, &before).into_iter().fold(0.0, f32::max);
    assert!(dented > 4e-3 && body.penetration() < 2e-4, "{dented} {} m inside", body.penetration());
    let force = body.colliders().get(finger).unwrap().force();
    assert!(force.dot(normal) > 0.02, "{force}");
    body.colliders_mut().remove(finger);
    (0..5).for_each(|_| body.run(0.04));
    let left = distances(body.frame_before(0.0).positions, &before).into_iter().fold(0.0, f32::max);
    assert!(left < 1e-4, "{left} m");
}

#[test]
fn grabbed_skin_is_pulled() {
    let (mut body, _) = settled(&[]);
    let (at, normal) = spot("cheek-left");
    let grab = body.grab(at, 0.01).unwrap();
    for frame in 1..=5 {
        body.colliders_mut().drag(grab, at + 1e-3 * frame as f32 * normal);
        body.advance(0.04);
    }
    let pulled = (body.frame_before(0.0).positions[landmark("cheek-left")] - at).dot(normal);
    assert!((3.5e-3..6e-3).contains(&pulled), "{pulled} m of 5 mm");
}

#[test]
fn a_hand_pinches_a_cheek_and_pulls_it() {
    let (mut body, before) = settled(&[]);
    let (at, out) = spot("cheek-left");
    let place = Spot::new(at, out, 0.0);
    let extent = Extent { depth: Gesture::Pull.usual_depth(), by: 0.008 * out, fingers: 1 };
    let pose = |t: f32| Gesture::Pull.pose(Side::Left, &place, &extent, t);
    let hand = body.colliders_mut().add_hand(ColliderFrame::Head, &pose(0.15), HAND_FRICTION);
    for frame in 1..=10 {
        body.colliders_mut().move_hand(hand, &pose(0.15 + 0.05 * frame as f32));
        body.advance(0.04);
    }
    assert!(body.colliders().hand(hand).unwrap().is_holding());
    let shown = body.frame_before(0.0).positions;
    let near = before.iter().zip(shown).filter(|(a, _)| a.distance(at) < 0.01);
    let pulled = near.map(|(a, b)| (*b - *a).dot(out)).fold(0.0, f32::max);
    assert!(pulled > 4e-3, "{pulled} m of 8 mm");
}

#[test]
fn a_jaw_swings_as_it_is_dialled_at_any_frame_rate() {
    let head = with_dials(&[("frequency", "4"), ("half_life", "0.1")]);
    let angles = |rate: usize| -> Vec<f64> {
        let (mut body, _) = settled_head(&head, &[]);
        body.drive(Drive::Weights(&weights(&[("jawOpen", 0.2)]))).unwrap();
        let angle = |_| {
            body.advance(1.0 / rate as f64);
            body.jaw().rotation.to_axis_angle().1
        };
        // Until after the second peak.
        (0..rate * 4 / 10).map(angle).collect()
    };
    let still = settled(&[("jawOpen", 0.2)]).0.jaw().rotation.to_axis_angle().1;
    for rate in [25, 60] {
        let angles = angles(rate);
        let (peak, highest) = (0..).zip(&angles).max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        // The first peak is half a period after the step, which takes one frame.
        let seconds = (f64::from(peak) + 0.5) / rate as f64;
        assert!((seconds - 0.125).abs() < 0.6 / rate as f64, "{seconds} s at {rate} Hz");
        let beyond = highest / still - 1.0;
        assert!((beyond / 0.5_f64.powf(1.25) - 1.0).abs() < 0.1, "{beyond} at {rate} Hz");
    }
}

/// Frequency, Hz, and half-life, s, of a damped swing from samples some seconds apart: y₊ = 2α y − β y₋ + γ by least squares.
fn pace(samples: &[f64], seconds: f64) -> [f64; 2] {
    let (mut products, mut pulls) = (DMat3::ZERO, DVec3::ZERO);
    for three in samples.windows(3) {
        let known = DVec3::new(three[1], three[0], 1.0);
        products += DMat3::from_cols(known.x * known, known.y * known, known.z * known);
        pulls += three[2] * known;
    }
    let found = products.inverse() * pulls;
    let (alpha, beta) = (0.5 * found.x, -found.y);
    let turning = (alpha / beta.sqrt()).acos() / seconds;
    [turning / std::f64::consts::TAU, -2.0 * std::f64::consts::LN_2 * seconds / beta.ln()]
}

#[test]
fn each_part_of_a_face_swings_as_it_is_dialled_at_any_frame_rate() {
    let mut dials = Dials::default();
    dials.set("frequency", "3").unwrap();
    dials.set("half_life", "0.2").unwrap();
    for (name, value) in [("frequency", "5"), ("half_life", "0.15")] {
        // The left half, with a centimetre in between.
        let cover = FACE.neutral.iter().map(|p| f64::from((0.5 + 100.0 * p.x).clamp(0.0, 1.0))).collect();
        dials.set_at(name, value, "the left half", cover).unwrap();
    }
    let head = Arc::new(HEAD.with_dials(&dials).unwrap());
    let step = weights(&[("mouthSmileLeft", 0.4), ("mouthSmileRight", 0.4)]);
    let wanted = [("cheek-left", [5.0, 0.15]), ("cheek-right", [3.0, 0.2])];
    // Frames between samples, which are about 1/25 s apart.
    for (rate, stride) in [(25, 1), (144, 6)] {
        let (mut body, _) = settled_head(&head, &[]);
        body.drive(Drive::Weights(&step)).unwrap();
        let mut shown: Vec<Vec<Vec3>> = Vec::new();
        for frame in 0..rate * 4 / 5 {
            body.advance(1.0 / rate as f64);
            if frame % stride == 0 {
                shown.push(wanted.iter().map(|(name, _)| body.positions[landmark(name)]).collect());
            }
        }
        for (k, (name, [frequency, half_life])) in wanted.iter().enumerate() {
            let way = (shown[shown.len() - 1][k] - FACE.neutral[landmark(name)]).normalize();
            let samples: Vec<f64> = shown.iter().map(|shown| f64::from(shown[k].dot(way))).collect();
            let found = pace(&samples, stride as f64 / rate as f64);
            let off = [found[0] / frequency - 1.0, found[1] / half_life - 1.0];
            assert!(off.iter().all(|off| off.abs() < 0.1), "{name} at {rate} Hz: {found:?}");
        }
    }
    dials.set("dynamics", "0.7,0.8,0.4").unwrap();
    let refused = dials.set_at("frequency", "5", "here", Vec::new()).unwrap_err().to_string();
    assert!(refused.contains("for the whole face"), "{refused}");
}

#[test]
fn fat_grows_as_much_as_its_dial_says() {
    let before = HEAD.tissue_volumes();
    let head = with_dials(&[("fat", "0.2")]);
    let after = head.tissue_volumes();
    assert!((after[0] / before[0] - 1.2).abs() < 0.02, "{before:?} {after:?}");
    assert!((after[1] / before[1] - 1.0).abs() < 0.02, "{before:?} {after:?}");
    let cheek = landmark("cheek-left");
    let moved = head.output.neutral[cheek] - FACE.neutral[cheek];
    assert!(moved.x > 3e-4, "{moved}");
    // The smile is still there, on the new neutral.
    let corner = landmark("mouth-left");
    let (_, smile) = settled_head(&head, &SMILE);
    let moved = smile[corner].distance(head.output.neutral[corner]);
    assert!(moved > 3e-3, "{moved}");
}

#[test]
fn a_longer_jaw_keeps_its_tissue() {
    let head = with_dials(&[("jaw.y", "1.1")]);
    let (before, after) = (HEAD.tissue_volumes(), head.tissue_volumes());
    for k in 0..2 {
        assert!((after[k] / before[k] - 1.0).abs() < 0.02, "{before:?} {after:?}");
    }
    let chin = landmark("chin");
    let moved = head.output.neutral[chin] - FACE.neutral[chin];
    assert!(moved.y < -3e-3, "{moved}");
    // Its lower teeth go with it, the upper ones stay.
    let lowest = |head: &Anatomical| -> Vec<f32> {
        let arches = head.teeth.as_ref().unwrap().arch_meshes();
        arches.map(|arch| arch.positions.iter().map(|p| p.y).fold(f32::MAX, f32::min)).collect()
    };
    let moved: Vec<f32> = lowest(&head).iter().zip(lowest(&HEAD)).map(|(now, before)| now - before).collect();
    assert!(moved.len() == 2 && moved[0].abs() < 1e-6 && (-1e-2..-2e-3).contains(&moved[1]), "{moved:?}");
}

#[test]
fn a_palsied_side_hardly_smiles() {
    let head = with_dials(&[("palsy", "left:1")]);
    let moved = |head: &Arc<Anatomical>, name: &str| {
        let [rest, smile] = [&[][..], &SMILE].map(|named| settled_head(head, named).1);
        rest[landmark(name)].distance(smile[landmark(name)])
    };
    let [left, right] = ["mouth-left", "mouth-right"].map(|name| moved(&head, name) / moved(&HEAD, name));
    assert!(left < 0.15 && right > 0.8, "{left} {right}");
}

#[test]
fn tissue_sags_along_gravity_in_proportion() {
    let cheek = landmark("cheek-left");
    let sag = |gravity: &str| {
        let moved = with_dials(&[("gravity", gravity)]).output.neutral[cheek] - FACE.neutral[cheek];
        moved.as_dvec3()
    };
    let (once, twice) = (sag("0,0,-1"), sag("0,0,-2"));
    assert!(once.z < -3e-4 && once.normalize().dot(DVec3::NEG_Z) > 0.5, "{once}");
    assert!((1.8..2.2).contains(&(twice.z / once.z)), "{once} {twice}");
}

#[test]
fn a_corrected_rig_comes_close_to_its_direct_solve() {
    let corrected = Corrected::new(&HEAD, &FACE, &mut |_| Continue::Yes).unwrap().unwrap();
    let named = [("jawOpen", 0.3), ("mouthSmileLeft", 0.6), ("mouthSmileRight", 0.4)];
    let blended = corrected.blend(&weights(&named));
    let (body, direct) = settled(&named);
    let [baked, plain] = [&blended, &body.reached.plain].map(|surface| mean(&distances(surface, &direct)));
    assert!(baked < 3e-4 && baked < plain, "{baked} {plain} m");
    assert!(Corrected::new(&HEAD, &FACE, &mut |_| Continue::No).unwrap().is_none());
}

#[test]
fn a_dense_face_comes_from_few_points() {
    let named = [("jawOpen", 0.4), ("mouthSmileLeft", 0.8)];
    let (reference, _) = settled(&named);
    let truth = reference.reached.plain.clone();
    let points: Vec<u32> = FACE.skin.iter().copied().step_by(FACE.skin.len() / 150).collect();
    let places: Vec<MarkerPlace> = points.iter().map(|v| MarkerPlace::Vertex(*v)).collect();
    let follow = |positions: &[Vec3]| {
        let mut body = AnatomicalBody::following(HEAD.clone(), &places).unwrap();
        body.drive(Drive::Markers(positions)).unwrap();
        body.settle();
        let shown = body.frame_before(0.0).positions.to_vec();
        let moving = truth.iter().zip(&FACE.neutral).map(|(a, b)| a.distance(*b) > 1e-3);
        let misses = moving.zip(distances(&shown, &truth)).filter(|(moves, _)| *moves).map(|(_, miss)| miss);
        (mean(&misses.collect::<Vec<_>>()), body)
    };
    let mut positions: Vec<Vec3> = points.iter().map(|v| truth[*v as usize]).collect();
    let (clean, body) = follow(&positions);
    let frozen = distances(&truth, &FACE.neutral).into_iter().filter(|way| *way > 1e-3);
    let frozen = mean(&frozen.collect::<Vec<_>>());
    assert!(clean < 1e-3 && clean < 0.25 * frozen, "{clean} {frozen} m");
    assert_eq!(body.landmark_miss().unwrap().1, 0);
    // One point in five is missing.
    let mut gaps = positions.clone();
    gaps.iter_mut().step_by(5).for_each(|at| *at = Vec3::NAN);
    let (missing, body) = follow(&gaps);
    assert!(missing < clean + 2e-4, "{missing} {clean}");
    assert_eq!(body.landmark_miss().unwrap().1, 0);
    // One point is 2 cm off.
    positions[40].y += 0.02;
    let (outlier, body) = follow(&positions);
    assert!(outlier < clean + 1e-4, "{outlier} {clean}");
    assert_eq!(body.landmark_miss().unwrap().1, 1);
    let beyond = AnatomicalBody::following(HEAD.clone(), &[MarkerPlace::Vertex(u32::MAX)]);
    assert!(matches!(beyond, Err(AnatomicalError::Landmark(LandmarkError { point: 0 }))));
}

#[test]
fn it_goes_on_from_a_saved_state_bit_for_bit() {
    let cheek = Landmarks::new(&FACE).find("cheek-left").unwrap().vertex as usize;
    let (mut body, shown) = settled(&[]);
    assert_restores(&mut body, shown[cheek]);
}

/// Whatever touches a face stays while its dials are turned, and a dial that is turned back gives the head back.
#[test]
fn dials_are_turned_while_a_face_is_touched() {
    let (mut body, usual) = settled(&[]);
    let ball = ColliderShape::Sphere { radius: 0.01 };
    let far = Pose::at(Vec3::new(0.0, 0.0, 1.0));
    let collider = body.colliders_mut().add(ball, far, ColliderMotion::Kinematic);
    let turn = |body: &mut AnatomicalBody, fat: f64| {
        body.set_param("fat", fat).unwrap();
        body.finish_params();
        (0..12).for_each(|_| body.run(1.0 / 30.0));
        assert_eq!(body.params().iter().find(|param| param.name == "fat").unwrap().value, fat);
        [
            body.model.tissue_volumes()[0] / HEAD.tissue_volumes()[0],
            f64::from(mean(&distances(&body.positions, &usual))),
        ]
    };
    let [grown, moved] = turn(&mut body, 0.1);
    assert!((grown - 1.1).abs() < 0.01 && moved > 1e-4, "{grown}, {moved} m");
    assert!(body.colliders().get(collider).is_some());
    let [back, moved] = turn(&mut body, 0.0);
    assert!(back == 1.0 && moved < 1e-5, "{back}, {moved} m");
    let refused = |name: &str, value: f64| body.clone().set_param(name, value).unwrap_err().to_string();
    assert!(refused("fat", 0.9).contains("fat") && refused("fat", f64::NAN).contains("fat"));
    assert!(refused("height", 1.0).contains("an anatomical face has no parameter 'height'"));
    body.set_param("gravity.y", -9.81).unwrap();
    assert_eq!(body.turning.as_ref().unwrap().wanted, Dials::default(), "the usual gravity");
}

#[test]
fn wind_moves_exposed_skin_by_millimetres() {
    let head = with_dials(&[("wind", "0,0,-40")]);
    let moved = |name: &str| {
        let vertex = landmark(name);
        f64::from(head.output.neutral[vertex].distance(FACE.neutral[vertex]))
    };
    for name in ["cheek-left", "lip-upper", "lip-lower", "chin"] {
        assert!((2e-4..8e-3).contains(&moved(name)), "{name} {} m", moved(name));
    }
    // The corner of the mouth has neither teeth nor another lip behind it.
    assert!((2e-4..1.2e-2).contains(&moved("mouth-left")), "{} m", moved("mouth-left"));
    // Ears bend back by more than a centimetre, and all other skin moves by less.
    let ways = distances(&head.output.neutral, &FACE.neutral);
    let largest = |is_meant: &dyn Fn(&Vec3) -> bool| {
        let meant = FACE.neutral.iter().zip(&ways).filter(|(p, _)| is_meant(p));
        meant.map(|(_, way)| *way).fold(0.0, f32::max)
    };
    let [face, all] = [largest(&|p| p.z > 0.0), largest(&|_| true)];
    assert!(face < 1.2e-2 && all < 2e-2, "{face} {all} m");
    let mut sorted = ways.clone();
    sorted.sort_by(f32::total_cmp);
    let most = sorted[sorted.len() * 9 / 10];
    assert!((2e-3..8e-3).contains(&most), "{most} m");
    // The stagnation pressure on the 0.03 m² that a head shows is 29 N.
    let total: DVec3 = head.wind_forces(DVec3::new(0.0, 0.0, -40.0)).into_iter().sum();
    assert!((-40.0..-10.0).contains(&total.z), "{total} N");
    // Skin that other skin covers, such as that of the mouth, is sheltered.
    let forces = head.wind_forces(DVec3::new(0.0, 0.0, -40.0));
    let covered = forces.iter().zip(head.open_skin()).filter(|(_, open)| !open);
    let covered: f64 = covered.map(|(force, _)| force.length()).sum();
    assert!(covered < 0.15 * total.length(), "{covered} of {total} N");
}

#[test]
fn gusts_are_seeded_and_end_with_the_wind() {
    let blown = |seed: &str| {
        let head = with_dials(&[("wind", "0,0,-20"), ("gusts", "0.5"), ("seed", seed)]);
        let (mut body, _) = settled_head(&head, &[]);
        let cheek = landmark("cheek-left");
        (0..10).map(|_| body.advance(0.1).positions[cheek].z).collect::<Vec<f32>>()
    };
    let (one, again, other) = (blown("1"), blown("1"), blown("2"));
    let spread = |values: &[f32]| {
        let [low, high] = [f32::min, f32::max].map(|pick| values.iter().copied().reduce(pick).unwrap());
        high - low
    };
    assert_eq!(one, again);
    assert!(one != other && spread(&one) > 5e-5, "{one:?} {other:?}");
}

#[test]
fn a_dial_at_a_place_changes_that_place_only() {
    let places = Landmarks::new(&FACE);
    let cover = Canvas::new(&FACE).cover(&SpotPlace::Landmark("cheek-left".into()), 15.0, &places).unwrap();
    let mut dials = Dials::default();
    dials.set_at("fat", "0.4", "the left cheek", cover).unwrap();
    let head = HEAD.with_dials(&dials).unwrap();
    let moved = |name: &str| head.output.neutral[landmark(name)].distance(FACE.neutral[landmark(name)]);
    let [left, right] = ["cheek-left", "cheek-right"].map(moved);
    assert!(left > 5e-4 && right < 0.05 * left, "{left} {right} m");
    let [wanted, _] = HEAD.wanted_volumes(&HEAD.fields(&dials).unwrap());
    let (before, after) = (HEAD.tissue_volumes()[0], head.tissue_volumes()[0]);
    let gained = (after - before) / (wanted[0] - before);
    assert!(
        (gained - 1.0).abs() < 0.05 && wanted[0] - before > 1e-7,
        "{gained} of {} m³",
        wanted[0] - before
    );
    // Only on one side.
    let half = |head: &Anatomical, sign: f64| {
        let on_side = |tet: &&[u32; 4]| tet.iter().all(|v| sign * HEAD.rest[*v as usize].x > 0.0);
        head.tets.iter().filter(on_side).map(|t| volume(t.map(|v| head.rest[v as usize]))).sum::<f64>()
    };
    let [left, right] = [1.0, -1.0].map(|sign| half(&head, sign) - half(&HEAD, sign));
    assert!(left > 0.9 * (after - before) && right.abs() < 0.02 * left, "{left} {right} m³");
    let refused = Dials::default().set_at("jaw.y", "1.1", "here", Vec::new()).unwrap_err().to_string();
    assert!(refused.contains("one value for the whole face") && refused.contains("skin_area"), "{refused}");
}

/// The lids of a palsied side stay open in a blink. They are light, and hardly hang.
#[test]
fn a_palsied_lid_does_not_blink() {
    let mut rig =
        Head::new(&HeadOptions { level: Level::Low, ..HeadOptions::default() }).rig_with_texture(None);
    let skin = rig.skin;
    rig.meshes[skin].shapes.retain(|shape| shape.name.starts_with("eyeBlink"));
    let mut face = FaceModel::of_rig(&rig, 1000, &Budget::default()).unwrap();
    face.add_anatomy(&rig).unwrap();
    let healthy = Anatomical::build(&face, &AnatomicalParams::default()).unwrap();
    let [first, second] = [0, 1].map(|shape| face.displacements(shape));
    let ways: Vec<Vec3> = first.into_iter().zip(second).map(|(a, b)| a + b).collect();
    // How far the lids of each side follow a blink, as a fraction, and how far those of the left side hang at rest, m.
    let blinking = |weakness: &str| {
        let mut dials = Dials::default();
        dials.set("palsy", &format!("left:{weakness}")).unwrap();
        let mut body = AnatomicalBody::new(Arc::new(healthy.with_dials(&dials).unwrap())).unwrap();
        let mut settled = |weight: f32| {
            body.drive(Drive::Weights(&[weight; 2])).unwrap();
            body.settle();
            body.positions.clone()
        };
        let (rest, shut) = (settled(0.0), settled(1.0));
        let followed = |side: f32| {
            let (mut moved, mut whole) = (0.0, 0.0);
            for (v, way) in ways.iter().enumerate() {
                if way.length() > 5e-3 && side * face.neutral[v].x > 0.0 {
                    moved += (shut[v] - rest[v]).dot(way.normalize());
                    whole += way.length();
                }
            }
            moved / whole
        };
        let hangs = face.neutral.iter().zip(&rest).filter(|(from, _)| from.x > 0.0);
        let hangs = hangs.map(|(from, to)| from.y - to.y).fold(0.0, f32::max);
        [followed(1.0), followed(-1.0), hangs]
    };
    let [healthy, other, still] = blinking("0");
    let [left, right, hangs] = blinking("1");
    assert!(healthy > 0.5 && left < 0.15 * healthy, "{left} of {healthy}");
    assert!((right / other - 1.0).abs() < 0.02, "{right} of {other}");
    assert!(still < 1e-6 && (1e-6..5e-3).contains(&hangs), "{still} {hangs} m");
    // Between a healthy and a palsied lid there are all others.
    let [weak, ..] = blinking("0.8");
    assert!(weak < 0.95 * healthy && weak > left + 0.05, "{healthy} {weak} {left}");
}

/// A palsied side hangs while it smiles, and smiles again as before once its nerves work.
#[test]
fn a_palsy_that_ends_leaves_nothing_behind() {
    let (mut body, smile) = settled(&[("mouthSmileLeft", 1.0)]);
    let mut turned = |palsy: f64| {
        body.set_param("palsy.left", palsy).unwrap();
        body.finish_params();
        (0..30).for_each(|_| body.run(1.0 / 30.0));
        distances(&body.positions, &smile).into_iter().fold(0.0, f32::max)
    };
    assert!(turned(1.0) > 3e-3);
    let left = turned(0.0);
    assert!(left < 2e-4, "{left} m");
}

#[test]
fn samples_are_seeded_and_their_sequences_begin_in_motion() {
    let frame = |k: usize| {
        let part = (k as f32 * 0.7).sin().abs();
        weights(&[("jawOpen", 0.3 * part), ("mouthSmileLeft", 0.5 * part)])
    };
    let pieces = [(0..24).map(frame).collect::<Vec<_>>()];
    let settings = SampleSettings { seed: 5, statics: 1, sequences: 1, spread: 2.0, dials: 0.1 };
    let points = [landmark("chin") as u32, landmark("mouth-left") as u32];
    let of = |person: usize| {
        Samples::of(&HEAD, (person, &points), &pieces, &settings, &mut |_| Continue::Yes).unwrap().unwrap()
    };
    let samples = of(3);
    assert_eq!(samples.counts(), [1, SEQUENCE, 0]);
    let bytes = samples.bytes();
    assert!(bytes == of(3).bytes() && bytes != of(4).bytes());
    // Eight bytes say how long the header is.
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let array = |name: &str| -> (usize, Vec<f32>) {
        let entry = &header[format!("samples.{name}")];
        let [from, to] = [0, 1].map(|k| 8 + length + entry["data_offsets"][k].as_u64().unwrap() as usize);
        let values = bytes[from..to].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
        (entry["shape"][1].as_u64().unwrap() as usize, values.collect())
    };
    let rows = |name: &str| {
        let (width, values) = array(name);
        values.chunks_exact(width).map(<[f32]>::to_vec).collect::<Vec<_>>()
    };
    let velocities = rows("velocities");
    assert_eq!(velocities.len(), 1 + SEQUENCE);
    assert!(velocities[0].iter().all(|v| *v == 0.0) && velocities[1].iter().any(|v| v.abs() > 0.1));
    let (plain, corrected) = (rows("plain"), rows("corrected"));
    assert_eq!(plain[0].len(), 3 * FACE.neutral.len());
    let shown = |frame: &[f32]| frame.chunks_exact(3).map(Vec3::from_slice).collect::<Vec<_>>();
    assert!(mean(&distances(&shown(&plain[0]), &shown(&corrected[0]))) > 1e-5);
    assert_eq!(rows("landmarks")[0][..3], plain[0][3 * points[0] as usize..][..3]);
    // Samples have parameters of their own.
    let parameters = rows("parameters");
    assert_eq!(parameters[1], parameters[SEQUENCE]);
    assert!(parameters[0].iter().zip(&parameters[1]).filter(|(a, b)| a != b).count() > 15);
    assert_eq!(SampleParams::names().count(), parameters[0].len());
}
