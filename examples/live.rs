//! Drives a face live: weights and head poses come in as they are tracked, surfaces go out.
//!
//! `cargo run --release --example live`

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::{DQuat, DVec3};
use zygoma_face::body::{Body, Drive};
use zygoma_face::model::FaceModel;
use zygoma_face::tissue::{Tissue, TissueBody, TissueParams};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_head::{Head, HeadOptions};
use zygoma_numerics::Budget;

fn main() -> Result<(), Box<dyn Error>> {
    let rig = Head::new(&HeadOptions::default()).rig();
    let model = FaceModel::of_rig(&rig, 1500, &Budget::default())?;
    let tissue = Tissue::new(&model, &TissueParams::default())?;
    let mut body: Box<dyn Body> = Box::new(TissueBody::new(Arc::new(tissue))?);
    let jaw = model.shape("jawOpen").ok_or("this rig has no jawOpen")?;
    let mut weights = vec![0.0; model.shapes.len()];
    body.settle();

    let start = Instant::now();
    let mut last = start;
    let (mut frames, mut spent) = (0, BTreeMap::<&str, f64>::new());
    while start.elapsed() < Duration::from_secs(2) {
        // A tracker would give these; here the head shakes while the mouth speaks.
        let time = start.elapsed().as_secs_f64();
        weights[jaw] = (0.3 - 0.3 * (9.0 * time).cos()) as f32;
        let turned = DQuat::from_rotation_y(0.3 * (8.0 * time).sin());
        body.drive(Drive::Weights(&weights))?;
        body.set_head_pose(&RigidMotion { rotation: turned, translation: DVec3::ZERO });
        // However long the last frame took, the physics keeps its own step.
        let seconds = last.elapsed().as_secs_f64();
        last = Instant::now();
        let surface = body.advance(seconds).positions;
        assert!(surface.iter().all(|p| p.is_finite()), "send `surface` to your renderer");
        frames += 1;
        for stage in body.stages() {
            *spent.entry(stage.name).or_default() += stage.time.as_secs_f64();
        }
        std::thread::sleep(Duration::from_millis(8).saturating_sub(last.elapsed()));
    }
    println!("{frames} frames in 2 s; mean milliseconds of a frame by stage:");
    for (name, seconds) in spent {
        println!("{name:>9}: {:.2}", 1e3 * seconds / f64::from(frames));
    }
    Ok(())
}
