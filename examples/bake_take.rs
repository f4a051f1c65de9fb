//! Lets soft tissue perform a take and writes the frames as a point cache.
//!
//! `cargo run --release --example bake_take -- out.pc2 [face.glb]`

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::run::{Performance, TouchScript};
use zygoma_face::tissue::{Tissue, TissueBody, TissueParams};
use zygoma_head::{Head, HeadOptions, built_in_takes};
use zygoma_numerics::Budget;
use zygoma_rig::formats::{Limits, caches, read_rig};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().ok_or("name the point cache to write, e.g. out.pc2")?;
    let rig = match arguments.next() {
        Some(path) => read_rig(Path::new(&path), &Limits::default())?,
        None => Head::new(&HeadOptions::default()).rig(),
    };
    let takes = built_in_takes();
    let take = takes.iter().find(|take| take.name == "shake").ok_or("there is no such take")?;

    let model = FaceModel::of_rig(&rig, 2000, &Budget::default())?;
    let tissue = Tissue::new(&model, &TissueParams::default())?;
    let mut body = TissueBody::new(Arc::new(tissue))?;
    let performance = Performance {
        face: &model,
        places: &Landmarks::new(&model),
        rig: &rig,
        take,
        markers: None,
        materials: None,
        edit_of: None,
        touches: &TouchScript::default(),
        hands: None,
        fps: 30.0,
        folder: Path::new("."),
    };
    let mut outcome = performance.run(&mut body, &mut ())?;
    caches::write_pc2(&mut outcome.frames, Path::new(&out))?;
    println!("{} frames, {:.1} ms each, in {out}", outcome.deviations.len(), outcome.frame_ms);
    Ok(())
}
