//! A creature made by code that dries (*Blendvolumes* Fig. 7).

use glam::DAffine3;
use zygoma_geometry::{Faces, shapes};
use zygoma_rig::{RigMesh, Shape, SparseDeltas};

use super::*;

const WET: f64 = 1e3;
const DRY: f64 = 1.2e4;

/// A slug whose one shape shrinks it, most of all along its back.
fn slug() -> RigMesh {
    let (points, triangles) = shapes::sphere(24, 36);
    let positions: Vec<Vec3> = points.iter().map(|p| *p * Vec3::new(0.06, 0.05, 0.09)).collect();
    let dried: Vec<Vec3> =
        points.iter().zip(&positions).map(|(p, own)| -(0.12 + 0.1 * p.y.max(0.0)) * *own).collect();
    RigMesh {
        name: "slug".to_owned(),
        faces: Faces::from_triangles(&triangles),
        positions,
        uvs: None,
        shapes: vec![Shape { name: "dry".to_owned(), deltas: SparseDeltas::from_dense(&dried) }],
        regions: Vec::new(),
        to_rig: DAffine3::IDENTITY,
        quantum: 1e-6,
    }
}

/// Performs a change of dryness within a second in a body that turns to and fro by some radians for as long, and stays for another second; the largest
/// distance from the artist's own shape in the first second, and at the end, m.
fn dry(body: &mut EnrichedBody, face: &FaceModel, dryness: [f32; 2], radians: f64) -> [f32; 2] {
    let mut plain = RigBody::new(face);
    body.drive(Drive::Weights(&[dryness[0]])).unwrap();
    body.set_head_pose(&turned(0.0));
    body.settle();
    let mut swings = [0.0_f32; 2];
    for frame in 1..=120 {
        let time = (f64::from(frame) * FRAME).min(1.0);
        let weight = [dryness[0] + time as f32 * (dryness[1] - dryness[0])];
        body.drive(Drive::Weights(&weight)).unwrap();
        plain.drive(Drive::Weights(&weight)).unwrap();
        body.set_head_pose(&turned(radians * (30.0 * time).sin()));
        let shown = body.advance(FRAME).positions;
        let off = shown.iter().zip(plain.advance(FRAME).positions).map(|(a, b)| a.distance(*b));
        let off = off.fold(0.0, f32::max);
        swings = if frame <= 60 { [swings[0].max(off), off] } else { [swings[0], off] };
    }
    swings
}

#[test]
fn a_creature_that_dries_shrinks_and_stiffens_without_a_swing_of_its_own() {
    let mesh = slug();
    let face = FaceModel::new("slug", &mesh, 600, &Budget::default()).unwrap();
    let params = EnrichedParams {
        mu: WET,
        contracted_mu: WET,
        firm_mu: WET,
        thickness: 0.01,
        attachment: 2e6,
        step_time: FRAME,
        ..EnrichedParams::default()
    };
    let slug = Enriched::build(&TissueInput::new(&face), &params, &mut |_| Continue::Yes).unwrap();
    let size = |weight: f32| {
        let (x, tets) = slug.rest_shape(&[weight]);
        tets.iter().map(|tet| volume(tet.map(|v| x[v as usize]))).sum::<f64>()
    };
    let [wet, dried] = [0.0, 1.0].map(size);
    assert!(dried < 0.75 * wet, "{dried} of {wet} m³");
    let mut body = EnrichedBody::new(Arc::new(slug)).unwrap();
    let stroke = Stroke { mu: Coat { value: DRY, cover: 1.0 }, ..Stroke::default() };
    body.paint(&[MaterialPaint { shape: Some(0), strokes: vec![stroke; face.vertex_count()] }]);
    let [soft, drying, stiff] =
        [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]].map(|dryness| dry(&mut body, &face, dryness, 0.15));
    let message = format!("wet {soft:?}, drying {drying:?}, dry {stiff:?} m");
    println!("{message}");
    assert!(soft[0] > 1e-3 && stiff[0] < 0.5 * soft[0], "{message}");
    assert!([soft, drying, stiff].iter().all(|swing| swing[1] < 1e-6), "still again: {message}");
    assert_eq!(dry(&mut body, &face, [0.0, 1.0], 0.0), [0.0; 2], "held still it is the artist's own");
    body.set_param("rebalance", 0.0).unwrap();
    let [naive, _] = dry(&mut body, &face, [0.0, 1.0], 0.0);
    assert!(naive > 1e-5, "a naive run lags by {naive} m");
}
