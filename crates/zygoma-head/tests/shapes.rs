//! How far, where and which way the shapes of the built-in head move its skin.

use glam::DVec3;
use zygoma_head::compare::{Canvas, CarriedShape};
use zygoma_head::{Head, HeadOptions, Level, checks};
use zygoma_rig::formats::{Limits, read_rig};
use zygoma_testing::real_data;

/// Largest displacement of the skin in each shape, in millimetres at the size of the built-in head: of ICT-FaceKit, and
/// the mean of eight people of MPFB, as `zygoma bench head --rig` prints them.
const MEASURED: [(&str, f64, f64); 31] = [
    ("browDownLeft", 6.4, 7.2),
    ("browInnerUp", 6.2, 5.4),
    ("browOuterUpLeft", 8.4, 7.2),
    ("cheekPuff", 13.8, 14.9),
    ("cheekSquintLeft", 6.2, 9.3),
    ("eyeBlinkLeft", 9.4, 12.8),
    ("eyeLookDownLeft", 7.6, 4.1),
    ("eyeLookInLeft", 2.4, 1.2),
    ("eyeLookOutLeft", 2.5, 1.4),
    ("eyeLookUpLeft", 3.6, 3.5),
    ("eyeSquintLeft", 3.6, 4.5),
    ("eyeWideLeft", 3.5, 4.7),
    ("jawForward", 10.9, 9.1),
    ("jawLeft", 8.8, 8.1),
    ("jawOpen", 41.2, 41.0),
    ("mouthClose", 40.9, 37.4),
    ("mouthDimpleLeft", 8.7, 8.1),
    ("mouthFrownLeft", 6.0, 7.0),
    ("mouthFunnel", 11.5, 11.2),
    ("mouthLeft", 18.5, 11.0),
    ("mouthLowerDownLeft", 4.5, 5.0),
    ("mouthPressLeft", 4.2, 8.1),
    ("mouthPucker", 11.9, 9.2),
    ("mouthRollLower", 13.1, 7.7),
    ("mouthRollUpper", 11.4, 11.2),
    ("mouthShrugLower", 11.1, 7.0),
    ("mouthShrugUpper", 6.1, 5.5),
    ("mouthSmileLeft", 15.4, 18.5),
    ("mouthStretchLeft", 9.9, 8.9),
    ("mouthUpperUpLeft", 8.6, 6.2),
    ("noseSneerLeft", 10.1, 5.0),
];

fn head() -> Head {
    Head::new(&HeadOptions::sampled(0, Level::High))
}

fn offsets<'a>(head: &'a Head, name: &str) -> &'a [DVec3] {
    &head.skin.shapes.iter().find(|(shape, _)| shape == name).expect("the shape exists").1
}

/// The vertex of the left corner of the mouth.
fn corner(head: &Head) -> usize {
    head.places.landmarks[54] as usize
}

#[test]
fn every_shape_moves_as_far_as_those_of_other_rigs() {
    let own = Canvas::default().built_in(&head());
    let mut wrong = Vec::new();
    for (name, ict, mpfb) in MEASURED {
        let largest = 1e3 * own.iter().find(|shape| shape.name == name).unwrap().largest;
        let range = 0.75 * ict.min(mpfb)..=1.25 * ict.max(mpfb);
        if !range.contains(&largest) {
            wrong.push(format!("{name} moves {largest:.2} mm, not within {range:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("; "));
}

#[test]
fn a_pucker_narrows_the_mouth_by_a_third() {
    let head = head();
    let width = |skin: &[DVec3]| {
        let [right, left] = [48, 54].map(|mark| skin[head.places.landmarks[mark] as usize]);
        left.distance(right)
    };
    let puckered = checks::posed_skin(&head, &[("mouthPucker", 1.0)]);
    let share = width(&puckered) / width(&head.skin.positions);
    assert!((0.6..0.72).contains(&share), "{share}");
}

#[test]
fn corner_shapes_take_the_cheek_along() {
    let head = head();
    let rest = &head.skin.positions;
    let from = rest[corner(&head)];
    let cheek = &head.places.regions.iter().find(|region| region.name == "cheek_L").unwrap().vertices;
    for name in ["mouthSmileLeft", "mouthFrownLeft", "mouthStretchLeft"] {
        let offsets = offsets(&head, name);
        let own = offsets[corner(&head)];
        let ring: Vec<f64> = (cheek.iter().map(|v| *v as usize))
            .filter(|v| (0.012..0.018).contains(&rest[*v].distance(from)))
            .map(|v| offsets[v].dot(own) / own.length_squared())
            .collect();
        let mean = ring.iter().sum::<f64>() / ring.len() as f64;
        assert!(ring.len() > 20 && mean > 0.5, "{name}: cheek follows by {mean:.2}, {} vertices", ring.len());
    }
}

#[test]
fn cheeks_puff_beside_the_mouth() {
    let head = head();
    let offsets = offsets(&head, "cheekPuff");
    let left = |v: &usize| head.skin.positions[*v].x > 0.0;
    let most =
        (0..offsets.len()).filter(left).max_by(|a, b| offsets[*a].length().total_cmp(&offsets[*b].length()));
    let place = head.skin.positions[most.unwrap()];
    let away = place.distance(head.skin.positions[corner(&head)]);
    assert!(away < 0.035, "the largest bulge lies {:.1} mm from the corner of the mouth", 1e3 * away);
}

#[test]
fn rolled_lips_hide_their_red() {
    let head = head();
    let lips = &head.places.lips;
    let middle = |chain: &[u32]| chain[chain.len() / 2] as usize;
    for (name, outer, inner) in [
        ("mouthRollUpper", middle(&lips.outer_upper), middle(&lips.inner_upper)),
        ("mouthRollLower", middle(&lips.outer_lower), middle(&lips.inner_lower)),
    ] {
        let rolled = checks::posed_skin(&head, &[(name, 1.0)]);
        let height = |skin: &[DVec3]| (skin[outer].y - skin[inner].y).abs();
        let share = height(&rolled) / height(&head.skin.positions);
        assert!(share < 0.6, "{name} leaves {share:.2} of the red");
    }
}

#[test]
fn shapes_move_the_same_way_as_those_of_other_rigs() {
    let canvas = Canvas::default();
    let own = canvas.built_in(&head());
    // Least cosine of lids and of all other shapes, and the least median. The people of MPFB close the fold of the lid, not the lid.
    for (path, lids, others, median) in
        [("ict/FaceXModel", 0.7, 0.65, 0.8), ("mpfb/african_male_young.glb", 0.2, 0.5, 0.75)]
    {
        let Some(path) = real_data(path) else { continue };
        let rig = read_rig(&path, &Limits::default()).unwrap();
        let carried = canvas.carry(&rig).unwrap();
        let mut cosines = Vec::new();
        for own in &own {
            let same = |shape: &&CarriedShape| shape.name == own.name && shape.largest > 0.0;
            let Some(other) = carried.shapes.iter().find(same) else { continue };
            let cosine = canvas.cosine(&own.field, &other.registered);
            let least = if own.name.starts_with("eye") { lids } else { others };
            assert!(cosine > least, "{}: {} has {cosine:.2}", rig.name, own.name);
            cosines.push(cosine);
        }
        cosines.sort_by(f64::total_cmp);
        assert!(cosines.len() > 50, "{}: {} shapes", rig.name, cosines.len());
        assert!(cosines[cosines.len() / 2] > median, "{}: median {}", rig.name, cosines[cosines.len() / 2]);
    }
}
