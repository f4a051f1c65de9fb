//! The laws of the built-in head.

use glam::DVec3;
use zygoma_geometry::topology::{EdgeCounts, connected_parts};
use zygoma_head::{Head, HeadOptions, JawWeights, Level, checks, dials, level_map};

const LEVELS: [Level; 3] = [Level::Low, Level::Middle, Level::High];

/// ARKit's blendshape locations.
const ARKIT: &str = "eyeBlinkLeft eyeLookDownLeft eyeLookInLeft eyeLookOutLeft eyeLookUpLeft eyeSquintLeft eyeWideLeft \
    eyeBlinkRight eyeLookDownRight eyeLookInRight eyeLookOutRight eyeLookUpRight eyeSquintRight eyeWideRight \
    jawForward jawLeft jawRight jawOpen mouthClose mouthFunnel mouthPucker mouthLeft mouthRight mouthSmileLeft \
    mouthSmileRight mouthFrownLeft mouthFrownRight mouthDimpleLeft mouthDimpleRight mouthStretchLeft \
    mouthStretchRight mouthRollLower mouthRollUpper mouthShrugLower mouthShrugUpper mouthPressLeft \
    mouthPressRight mouthLowerDownLeft mouthLowerDownRight mouthUpperUpLeft mouthUpperUpRight browDownLeft \
    browDownRight browInnerUp browOuterUpLeft browOuterUpRight cheekPuff cheekSquintLeft cheekSquintRight \
    noseSneerLeft noseSneerRight tongueOut";

fn head(seed: u64, level: Level) -> Head {
    Head::new(&HeadOptions::sampled(seed, level))
}

fn offsets<'a>(head: &'a Head, name: &str) -> &'a [DVec3] {
    &head.skin.shapes.iter().find(|(shape, _)| shape == name).expect("the shape exists").1
}

#[test]
fn the_skin_is_one_disc_whose_border_is_the_neck() {
    for (level, wanted) in LEVELS.into_iter().zip([3500.0, 7000.0, 14000.0]) {
        let head = head(0, level);
        let (vertices, triangles) = (head.skin.positions.len(), &head.skin.triangles);
        assert!((vertices as f64 / wanted - 1.0).abs() < 0.12, "{level:?} has {vertices} vertices");
        let edges = EdgeCounts::new(triangles);
        assert!(edges.non_manifold().is_empty());
        assert_eq!(connected_parts(vertices, triangles).1, 1);
        let border = edges.border();
        assert_eq!(border.len(), head.places.neck.len());
        assert!(border.iter().all(|(a, _)| head.places.neck.contains(a)));
        // Euler's number of a disc: no holes through lids or ears.
        let edge_count = (3 * triangles.len() + border.len()) / 2;
        assert_eq!(vertices + triangles.len(), edge_count + 1, "{level:?}");
    }
}

#[test]
fn triangles_are_well_shaped() {
    for level in LEVELS {
        let head = head(0, level);
        let mut least: Vec<f64> = head
            .skin
            .triangles
            .iter()
            .map(|t| {
                let p = t.map(|v| head.skin.positions[v as usize]);
                let angle =
                    |i: usize| (p[(i + 1) % 3] - p[i]).angle_between(p[(i + 2) % 3] - p[i]).to_degrees();
                angle(0).min(angle(1)).min(angle(2))
            })
            .collect();
        least.sort_by(f64::total_cmp);
        assert!(least[least.len() / 50] > 25.0, "{level:?}: 2 % lie below {}", least[least.len() / 50]);
    }
}

#[test]
fn a_head_is_life_size_and_looks_to_plus_z() {
    let head = head(0, Level::High);
    let y = |v: u32| head.skin.positions[v as usize].y;
    let crown = head.skin.positions.iter().map(|p| p.y).fold(f64::MIN, f64::max);
    let chin = y(head.places.landmarks[8]);
    // Between ICT-FaceKit's generic head (221 mm) and the tallest of MPFB's people (226 mm), a few millimetres either way.
    assert!((0.215..0.230).contains(&(crown - chin)), "{}", crown - chin);
    assert!(head.skin.positions[head.places.landmarks[30] as usize].z > 0.1);
}

#[test]
fn both_sides_are_mirror_images_in_every_shape() {
    for (seed, level) in [(0, Level::High), (5, Level::Low)] {
        let head = head(seed, level);
        assert!(checks::asymmetry(&head) < 1e-9);
        for (name, left) in &head.skin.shapes {
            let other = if name.contains("Left") {
                name.replace("Left", "Right")
            } else {
                name.replace("Right", "Left")
            };
            let right = offsets(&head, &other);
            for v in 0..left.len() {
                let mirrored = right[head.mirror[v] as usize] * DVec3::new(-1.0, 1.0, 1.0);
                assert!(left[v].distance(mirrored) < 1e-9, "{name} at vertex {v}");
            }
        }
    }
}

#[test]
fn all_52_shapes_have_arkit_names_and_move_something() {
    let rig = head(0, Level::Low).rig();
    let names: Vec<&str> = rig.skin().shapes.iter().map(|shape| &shape.name[..]).collect();
    for name in ARKIT.split_whitespace() {
        assert_eq!(names.iter().filter(|n| **n == name).count(), 1, "{name}");
        let largest = rig.skin().shape(name).unwrap().deltas.largest();
        assert!(largest > 0.0005, "{name} moves {largest} m");
    }
    assert_eq!(names.len(), 52);
    let eye = rig.meshes.iter().find(|mesh| mesh.name == "eye_left").unwrap();
    assert!(eye.shape("eyeLookUpLeft").unwrap().deltas.largest() > 0.004);
    let tongue = rig.meshes.iter().find(|mesh| mesh.name == "tongue").unwrap();
    assert!(tongue.shape("tongueOut").unwrap().deltas.largest() > 0.02);
}

#[test]
fn shapes_are_local() {
    let head = head(0, Level::Middle);
    let still = |name: &str, region: &str| {
        let region = head.places.regions.iter().find(|r| r.name == region).unwrap();
        assert!(!region.vertices.is_empty());
        region.vertices.iter().map(|v| offsets(&head, name)[*v as usize].length()).fold(0.0, f64::max)
    };
    for (name, region) in [
        ("eyeBlinkLeft", "lip_upper"),
        ("eyeBlinkLeft", "eyelids_R"),
        ("browDownLeft", "chin"),
        ("mouthSmileLeft", "brow_R"),
        ("mouthPucker", "forehead"),
        ("jawOpen", "nose"),
        ("jawOpen", "scalp"),
        ("noseSneerLeft", "ear_L"),
        ("cheekPuff", "brow_L"),
    ] {
        assert!(still(name, region) < 2e-4, "{name} moves {region} by {} m", still(name, region));
    }
}

#[test]
fn no_shape_makes_the_skin_cut_through_itself() {
    for level in LEVELS {
        let found = checks::crossing_shapes(&head(0, level));
        assert!(found.is_empty(), "{level:?}: {found:?}");
    }
}

#[test]
fn sampled_heads_do_not_cut_through_themselves() {
    for seed in 1..13 {
        assert!(checks::crossings(&head(seed, Level::Middle), &[]).is_empty(), "seed {seed}");
    }
    for seed in [3, 9] {
        let found = checks::crossing_shapes(&head(seed, Level::Low));
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
}

#[test]
fn closed_lids_cover_the_eye() {
    let head = head(0, Level::High);
    let posed = checks::posed_skin(&head, &[("eyeBlinkLeft", 1.0)]);
    let lids = &head.places.lids[0];
    let open = |chain: &[u32], skin: &[DVec3]| chain.iter().map(|v| skin[*v as usize]).collect::<Vec<_>>();
    let (upper, lower) = (open(&lids.upper, &posed), open(&lids.lower, &posed));
    for p in &upper {
        let near = lower.iter().map(|q| p.distance(*q)).fold(f64::MAX, f64::min);
        assert!(near < 0.0016, "a vertex of the upper margin is {near} m from the lower one");
        let below = lower.windows(2).filter(|w| w[0].x.min(w[1].x) <= p.x && p.x <= w[0].x.max(w[1].x));
        for w in below {
            let t = (p.x - w[0].x) / (w[1].x - w[0].x);
            let gap = p.y - (w[0].y + t * (w[1].y - w[0].y));
            assert!((-5e-5..8e-4).contains(&gap), "gap {gap} m");
        }
    }
    for name in ARKIT.split_whitespace() {
        assert!(checks::eye_penetration(&head, &[(name, 1.0)]) < 0.0, "{name}");
    }
}

#[test]
fn lips_rest_apart_and_stay_sealed_over_an_open_jaw() {
    for seed in [0, 4] {
        let head = head(seed, Level::High);
        for w in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let pose = [("jawOpen", w), ("mouthClose", w)];
            let gaps = checks::lip_gaps(&head, &pose);
            let (least, most) =
                gaps.iter().fold((f64::MAX, f64::MIN), |(l, m), gap| (l.min(*gap), m.max(*gap)));
            assert!(least > 5e-5 && most < 7e-4, "seed {seed}, {w}: gaps from {least} to {most} m");
            assert!(checks::crossings(&head, &pose).is_empty());
        }
        let open = checks::lip_gaps(&head, &[("jawOpen", 1.0)]);
        assert!(open.iter().fold(0.0f64, |m, gap| m.max(*gap)) > 0.02);
    }
}

#[test]
fn the_same_seed_gives_the_same_head() {
    let bytes = |seed| {
        let rig = head(seed, Level::Low).rig();
        rig.meshes
            .iter()
            .flat_map(|m| m.positions.iter().flat_map(|p| p.to_array().map(f32::to_bits)))
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes(7), bytes(7));
    assert_ne!(bytes(7), bytes(8));
}

#[test]
fn every_dial_changes_the_head_or_its_colours() {
    let plain = head(0, Level::Low);
    for dial in dials::DIALS {
        let mut options = HeadOptions { level: Level::Low, ..HeadOptions::default() };
        options.dials.set(dial.name, 1.0).unwrap();
        let turned = Head::new(&options);
        let moved = plain.skin.positions.iter().zip(&turned.skin.positions).map(|(a, b)| a.distance(*b));
        let moved = moved.fold(0.0, f64::max);
        assert!(moved > 0.0015 || turned.texture() != plain.texture(), "{} moves {moved} m", dial.name);
    }
    let mut dials = HeadOptions::default().dials;
    assert!(dials.set("nose", 0.0).unwrap_err().to_string().contains("nose_length"));
    assert!(dials.set("nose_length", 1.5).is_err());
}

#[test]
fn levels_map_onto_each_other() {
    let (low, high) = (head(6, Level::Low), head(6, Level::High));
    let map = level_map(Level::High, Level::Low);
    assert_eq!(map.len(), low.skin.positions.len());
    for (point, wanted) in map.iter().zip(&low.skin.positions) {
        assert!(point.interpolate(&high.skin.triangles, &high.skin.positions).distance(*wanted) < 7e-4);
    }
}

#[test]
fn landmarks_lie_where_they_should() {
    let head = head(0, Level::High);
    let places = &head.places;
    assert_eq!(places.landmarks.len(), 68);
    assert!((140..=175).contains(&places.contour_landmarks.len()), "{}", places.contour_landmarks.len());
    // Mirror images of each other: jaw, brows, eyes and mouth corners.
    for (right, left) in
        [(0, 16), (3, 13), (17, 26), (21, 22), (36, 45), (39, 42), (48, 54), (60, 64), (31, 35)]
    {
        let (right, left) = (places.landmarks[right], places.landmarks[left]);
        assert_eq!(head.mirror[right as usize], left);
        assert!(head.skin.positions[left as usize].x > 0.0);
    }
    for chain in [&places.lips.inner_upper, &places.lips.outer_lower] {
        assert!(chain.windows(2).all(|w| {
            head.skin.positions[w[0] as usize].distance(head.skin.positions[w[1] as usize]) < 0.006
        }));
    }
}

#[test]
fn lower_teeth_follow_the_jaw_rigidly() {
    let head = head(2, Level::Low);
    let teeth = head.parts.iter().find(|part| part.name == "teeth_lower").unwrap();
    let (_, offsets) = teeth.shapes.iter().find(|(name, _)| name == "jawOpen").unwrap();
    let motion = head.jaw_motion(&JawWeights { open: 1.0, ..JawWeights::default() });
    for (p, offset) in teeth.positions.iter().zip(offsets) {
        // The head's own warp bends the motion a little.
        assert!(motion.transform_point3(*p).distance(*p + *offset) < 0.004);
    }
}

#[test]
fn takes_use_shapes_that_exist() {
    let rig = head(0, Level::Low).rig();
    let names: Vec<&str> = rig.takes.iter().map(|take| &take.name[..]).collect();
    assert_eq!(names, ["tour", "speech", "shake", "run"]);
    for take in &rig.takes {
        assert!(take.weights.iter().all(|track| rig.skin().shape(&track.shape).is_some()));
        assert!(take.weights.iter().all(|track| track.curve.values.iter().all(|w| (0.0..=1.0).contains(w))));
        assert!(take.duration() > 2.0);
    }
}

#[test]
fn teeth_and_gums_stay_inside_the_mouth() {
    for seed in [0, 3] {
        let head = head(seed, Level::Middle);
        for name in ARKIT.split_whitespace().filter(|name| *name != "mouthClose") {
            let clearance = checks::teeth_clearance(&head, &[(name, 1.0)]);
            assert!(clearance > 5e-4, "seed {seed}, {name}: {clearance} m");
        }
        assert!(checks::teeth_clearance(&head, &[("jawOpen", 1.0), ("mouthClose", 1.0)]) > 5e-4);
    }
}
