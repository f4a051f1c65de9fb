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
    body.paint(&[painted(None, "cheek-left", 4e4)]);
    let [left, right] = ["cheek-left", "cheek-right"].map(|place| swing(&mut body, place));
    assert!(left < 0.5 * plain[0], "{left} of {plain:?}");
    assert!((right - plain[1]).abs() < 0.1 * plain[1], "{right} of {plain:?}");
    // The material of a shape acts by that shape's weight, or by one of its own.
    body.paint(&[painted(Some("cheekPuff"), "cheek-left", 4e4)]);
    let without = swing(&mut body, "cheek-left");
    body.drive(Drive::Materials(&weights(&[("cheekPuff", 1.0)]))).unwrap();
    let with = swing(&mut body, "cheek-left");
    assert!((without - plain[0]).abs() < 0.1 * plain[0] && with < 0.5 * plain[0], "{without} {with}");
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

#[test]
fn a_brush_paints_what_its_file_says_and_can_be_taken_away() {
    let places = Landmarks::new(&FACE);
    let [cheek, chin] = ["cheek-left", "chin"].map(|name| places.find(name).unwrap().vertex as usize);
    let smile = FACE.shapes.iter().position(|shape| shape.name == "mouthSmileLeft").unwrap();
    let spot = |mu: Option<f64>, erase: bool| MaterialSpot {
        shape: "mouthSmileLeft".into(),
        at: SpotPlace::Vertex(cheek as u32),
        radius: 25.0,
        mu,
        lambda: None,
        erase,
    };
    let mut file = MaterialSpots { material: vec![spot(Some(40.0), false)] };
    assert_eq!(toml::from_str::<MaterialSpots>(&toml::to_string(&file).unwrap()).unwrap(), file);
    let canvas = Canvas::new(&FACE);
    let paint = |file: &MaterialSpots| {
        let mut paints = Vec::new();
        for spot in &file.material {
            let strokes = &mut MaterialPaint::among(&mut paints, Some(smile), FACE.vertex_count()).strokes;
            canvas.paint(spot, &places, strokes).unwrap();
        }
        paints
    };
    let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
    let before = body.skin_stiffness(Some(smile));
    let paints = paint(&file);
    body.repaint(Some(smile), &paints);
    let painted = body.skin_stiffness(Some(smile));
    assert!(
        painted[cheek] > 2e4 && before[cheek] < 0.6 * painted[cheek],
        "{} {}",
        before[cheek],
        painted[cheek]
    );
    assert!((painted[chin] - before[chin]).abs() < 0.02 * before[chin], "{} {}", before[chin], painted[chin]);
    assert_ne!(body.skin_stiffness(None), painted, "the relaxed face is as it was");
    let mut other = EnrichedBody::new(ENRICHED.clone()).unwrap();
    other.paint(&paints);
    assert_eq!(other.skin_stiffness(Some(smile)), painted, "all at once or one by one");
    file.material.push(spot(None, true));
    body.repaint(Some(smile), &paint(&file));
    let erased = body.skin_stiffness(Some(smile));
    // A ring that both spots cover by half keeps a quarter of the paint.
    let [taken, given] = [painted[cheek] - erased[cheek], painted[cheek] - before[cheek]];
    assert!(taken > 0.7 * given && taken < 1.01 * given, "{taken} of {given}");
    body.repaint(Some(smile), &[]);
    assert_eq!(body.skin_stiffness(Some(smile)), before);
    let nowhere = MaterialSpot { at: SpotPlace::Landmark("moustache".into()), ..spot(None, false) };
    let message = canvas.paint(&nowhere, &places, &mut []).unwrap_err().to_string();
    assert!(message.contains("no place 'moustache'; there are"), "{message}");
}

/// An enriched face with one material everywhere, whatever the expression.
fn uniform() -> Arc<Enriched> {
    let mut face = FACE.clone();
    face.add_section(&ENRICHED.solved());
    let fill = TissueVolume::of_face(&face);
    let input = TissueInput { volume: fill.as_ref(), ..TissueInput::new(&face) };
    let EnrichedParams { mu, .. } = EnrichedParams::default();
    let params =
        EnrichedParams { step_time: FRAME, contracted_mu: mu, firm_mu: mu, ..EnrichedParams::default() };
    Arc::new(Enriched::build(&input, &params, &mut |_| Continue::No).unwrap())
}

/// Largest displacements from the rig at some places while the head bounces as in a run, m.
fn bounce<const N: usize>(body: &mut EnrichedBody, now: &[(&str, f32)], places: [&str; N]) -> [f32; N] {
    let now = weights(now);
    let marks = Landmarks::new(&FACE);
    let vertices = places.map(|place| marks.find(place).unwrap().vertex as usize);
    body.set_head_pose(&turned(0.0));
    body.drive(Drive::Weights(&now)).unwrap();
    body.settle();
    let still = body.frame_before(0.0).positions.to_vec();
    let mut most = [0.0_f32; N];
    for frame in 1..=20 {
        let height = 0.02 * (18.0 * f64::from(frame) * FRAME).sin();
        let translation = DVec3::new(0.0, height, 0.0);
        body.set_head_pose(&RigidMotion { rotation: DQuat::IDENTITY, translation });
        let positions = body.advance(FRAME).positions;
        for (most, vertex) in most.iter_mut().zip(vertices) {
            *most = most.max(positions[vertex].distance(still[vertex]));
        }
    }
    most
}

/// Blendvolumes Fig. 8 with smiles in place of squints, and Fig. 1: only a material that changes with the expression stiffens the side that is tense.
#[test]
fn only_materials_that_change_with_the_expression_stiffen_the_side_that_smiles() {
    let plain = uniform();
    let sides = ["mouth-left", "mouth-right"];
    let smiles = ["mouthSmileLeft", "mouthSmileRight"];
    // For each smile how far the tense and the relaxed side move.
    let run = |paints: &[MaterialPaint]| {
        let mut body = EnrichedBody::new(plain.clone()).unwrap();
        body.paint(paints);
        let [left, right] = smiles.map(|smile| bounce(&mut body, &[(smile, 1.0)], sides));
        [left, [right[1], right[0]]]
    };
    let stiff = 2e4;
    let b = run(&[]);
    let c = run(&[painted(None, sides[0], stiff)]);
    let d = run(&[0, 1].map(|side| painted(Some(smiles[side]), sides[side], stiff)));
    let message = format!("homogeneous {b:?}, constant {c:?}, changing {d:?}");
    // The same material everywhere lets tense tissue swing, and a constant one has one side only.
    assert!(c[0][0] < 0.5 * b[0][0] && c[1][0] > 0.8 * b[1][0] && c[1][1] < 0.5 * b[1][1], "{message}");
    for side in 0..2 {
        assert!(d[side][0] < 0.5 * b[side][0], "the tense side is stiff: {message}");
        assert!(d[side][1] > 0.7 * b[side][1], "the relaxed side is not: {message}");
    }
    let mut body = EnrichedBody::new(plain.clone()).unwrap();
    body.paint(&[0, 1].map(|side| painted(Some(smiles[side]), "lip-lower", stiff)));
    let [relaxed] = bounce(&mut body, &[], ["lip-lower"]);
    let [smiling] = bounce(&mut body, &smiles.map(|smile| (smile, 1.0)), ["lip-lower"]);
    assert!(relaxed > 2e-4 && smiling <= 0.5 * relaxed, "a smile {smiling} m, relaxed {relaxed} m");
}
