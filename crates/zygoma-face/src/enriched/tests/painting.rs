//! Painted materials.

use super::*;

/// Paint of a stiffness, Pa, on the skin within 3 cm of a landmark.
fn painted(shape: Option<&str>, place: &str, mu: f64) -> MaterialPaint {
    let at = FACE.neutral[Landmarks::new(&FACE).find(place).unwrap().vertex as usize];
    let stroke = |p: &Vec3| Stroke {
        mu: Coat { value: mu, cover: if p.distance(at) < 0.03 { 1.0 } else { 0.0 } },
        ..Stroke::default()
    };
    let strokes = FACE.neutral.iter().map(stroke).collect();
    let number = |name: &str| FACE.shapes.iter().position(|shape| shape.name == name).unwrap();
    MaterialPaint { shape: shape.map(number), strokes }
}

/// How far a landmark swings in a shaken head, m.
fn swing(body: &mut EnrichedBody, place: &str) -> f32 {
    let vertex = Landmarks::new(&FACE).find(place).unwrap().vertex as usize;
    body.settle();
    let still = body.frame_before(0.0).positions[vertex];
    let mut most = 0.0_f32;
    for frame in 1..=20 {
        body.set_head_pose(&turned(0.3 * (25.0 * f64::from(frame) * FRAME).sin()));
        most = most.max(body.advance(FRAME).positions[vertex].distance(still));
    }
    body.set_head_pose(&turned(0.0));
    most
}

#[test]
fn painted_skin_is_as_stiff_as_painted_where_it_is_and_when_its_weight_says_so() {
    let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
    let plain = ["cheek-left", "cheek-right"].map(|place| swing(&mut body, place));
    // Few shapes of this head move its cheeks, so that they are firm until they are painted.
    body.paint(&[painted(None, "cheek-left", 3e3)]);
    let [left, right] = ["cheek-left", "cheek-right"].map(|place| swing(&mut body, place));
    assert!(left > 2.0 * plain[0], "{left} of {plain:?}");
    assert!((right - plain[1]).abs() < 0.1 * plain[1], "{right} of {plain:?}");
    // The material of a shape acts by that shape's weight, or by one of its own.
    body.paint(&[painted(Some("cheekPuff"), "cheek-left", 3e3)]);
    let without = swing(&mut body, "cheek-left");
    body.drive(Drive::Materials(&weights(&[("cheekPuff", 1.0)]))).unwrap();
    let with = swing(&mut body, "cheek-left");
    assert!((without - plain[0]).abs() < 0.1 * plain[0] && with > 2.0 * plain[0], "{without} {with}");
}

#[test]
fn a_face_shaken_while_its_materials_change_comes_back_exactly() {
    let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
    body.paint(&[painted(Some("mouthSmileLeft"), "cheek-left", 3e4)]);
    body.settle();
    for frame in 1..=40 {
        let time = f64::from(frame) * FRAME;
        let wave = (0.5 - 0.5 * (15.0 * time).cos()) as f32;
        body.drive(Drive::Weights(&weights(&[("mouthSmileLeft", wave), ("jawOpen", 0.5 * wave)]))).unwrap();
        body.drive(Drive::Materials(&weights(&[("mouthSmileLeft", 1.0 - wave)]))).unwrap();
        body.set_head_pose(&turned(0.3 * (25.0 * time).sin()));
        body.advance(FRAME);
    }
    let last = weights(&[("mouthSmileLeft", 0.7)]);
    body.drive(Drive::Weights(&last)).unwrap();
    body.set_head_pose(&turned(0.0));
    let frames = (0..300).take_while(|_| {
        body.advance(FRAME);
        off_the_rig(&mut body, &last) > 1e-6
    });
    assert!(frames.count() < 300, "{} m after five seconds", off_the_rig(&mut body, &last));
}
