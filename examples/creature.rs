//! A creature made by code that dries: it shrinks and stiffens while its body is shaken (*Blendvolumes*, Fig. 7).
//!
//! `cargo run --release --example creature`

use std::error::Error;
use std::sync::Arc;

use glam::{DAffine3, DQuat, DVec3, Vec3};
use zygoma_face::body::{Body, Drive};
use zygoma_face::enriched::{Coat, Enriched, EnrichedBody, EnrichedParams, MaterialPaint, Stroke};
use zygoma_face::model::{Continue, FaceModel};
use zygoma_face::tissue::TissueInput;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_geometry::{Faces, shapes};
use zygoma_numerics::Budget;
use zygoma_rig::{RigMesh, Shape, SparseDeltas};

const FRAME: f64 = 1.0 / 60.0;
/// μ of wet and of dry skin, Pa.
const WET: f64 = 1e3;
const DRY: f64 = 1.2e4;

/// A slug with two horns. Its one shape shrinks it, most of all along its back.
fn slug() -> RigMesh {
    let (points, triangles) = shapes::sphere(40, 60);
    let horn = |p: Vec3, at: Vec3| (-(p.distance_squared(at)) / 0.02).exp();
    let grown = |p: &Vec3| {
        let horns = horn(*p, Vec3::new(0.5, 0.7, 0.5)) + horn(*p, Vec3::new(-0.5, 0.7, 0.5));
        (*p + 0.8 * horns * Vec3::new(p.x, p.y, 0.3)) * Vec3::new(0.06, 0.05, 0.09)
    };
    let positions: Vec<Vec3> = points.iter().map(grown).collect();
    let shrink = |(p, own): (&Vec3, &Vec3)| -(0.12 + 0.1 * p.y.max(0.0)) * *own;
    let dried: Vec<Vec3> = points.iter().zip(&positions).map(shrink).collect();
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

/// Shakes the creature by some radians for a second while it dries, then holds it still; the largest distance from the artist's own shape in the first
/// and after the next half second, m.
fn shake(
    body: &mut EnrichedBody,
    plain: impl Fn(f32) -> Vec<Vec3>,
    dryness: [f32; 2],
    radians: f64,
) -> Result<[f32; 2], Box<dyn Error>> {
    let mut swings = [0.0_f32; 2];
    body.drive(Drive::Weights(&[dryness[0]]))?;
    body.set_head_pose(&RigidMotion::IDENTITY);
    body.settle();
    for frame in 1..=120 {
        let time = f64::from(frame) * FRAME;
        let share = (time as f32).min(1.0);
        let weight = dryness[0] + share * (dryness[1] - dryness[0]);
        body.drive(Drive::Weights(&[weight]))?;
        let angle = radians * (30.0 * time.min(1.0)).sin();
        let rotation = DQuat::from_rotation_y(angle);
        body.set_head_pose(&RigidMotion { rotation, translation: DVec3::ZERO });
        let shown = body.advance(FRAME).positions;
        let off = shown.iter().zip(plain(weight)).map(|(a, b)| a.distance(b)).fold(0.0, f32::max);
        let second = usize::from(time > 1.5);
        swings[second] = swings[second].max(off);
    }
    Ok(swings)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mesh = slug();
    let model = FaceModel::new("slug", &mesh, 2000, &Budget::default())?;
    let params = EnrichedParams {
        mu: WET,
        contracted_mu: WET,
        firm_mu: WET,
        thickness: 0.01,
        attachment: 2e6,
        ..EnrichedParams::default()
    };
    let enriched = Enriched::build(&TissueInput::new(&model), &params, &mut |_| Continue::Yes)?;
    let mut body = EnrichedBody::new(Arc::new(enriched))?;
    let stroke = Stroke { mu: Coat { value: DRY, cover: 1.0 }, ..Stroke::default() };
    body.paint(&[MaterialPaint { shape: Some(0), strokes: vec![stroke; model.vertex_count()] }]);
    let dried = mesh.shapes[0].deltas.to_dense(mesh.positions.len());
    let plain = |weight: f32| mesh.positions.iter().zip(&dried).map(|(p, d)| *p + weight * *d).collect();
    for (name, dryness) in [("wet", [0.0, 0.0]), ("drying", [0.0, 1.0]), ("dry", [1.0, 1.0])] {
        let [shaken, after] = shake(&mut body, plain, dryness, 0.15)?;
        println!("{name:>6}: swings by {:5.2} mm, {:.4} mm half a second later", 1e3 * shaken, 1e3 * after);
    }
    for (name, rebalance) in [("rebalanced", 1.0), ("naive", 0.0)] {
        body.set_param("rebalance", rebalance)?;
        let [lag, _] = shake(&mut body, plain, [0.0, 1.0], 0.0)?;
        println!("drying, held still, {name}: {:.4} mm from the artist's own shape", 1e3 * lag);
    }
    Ok(())
}
