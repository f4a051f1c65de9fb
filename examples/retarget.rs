//! Gives a head without expressions the shapes of the built-in head, through the anatomy of both, and writes it as a rig.
//!
//! `cargo run --release --example retarget -- scan.obj rigged.glb`

use std::error::Error;
use std::path::Path;

use zygoma_face::retarget::{
    Known, Method, RetargetError, RetargetHead, RetargetParams, RigRetarget, SourceFace,
};
use zygoma_head::{Head, HeadOptions};
use zygoma_rig::formats::{Limits, gltf, read_rig};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("name a neutral head, e.g. scan.obj")?;
    let out = arguments.next().ok_or("name the rig to write, e.g. rigged.glb")?;
    let source = Head::new(&HeadOptions::default()).rig();
    let target = read_rig(Path::new(&target), &Limits::default())?;

    let mut face = SourceFace::new(&source, RetargetHead::of_rig(&source)?);
    let head = RetargetHead::of_rig(&target)?;
    let mut retarget =
        RigRetarget::new(&face, &target, head, Method::Adt, Known::default(), &RetargetParams::default())?;
    let carried = (0..face.shape_count()).map(|shape| Ok(retarget.shape(&mut face, shape)?.0));
    let shapes: Vec<_> = carried.collect::<Result<_, RetargetError>>()?;
    gltf::write_reshaped(&target, &retarget.rig_with(&shapes), Path::new(&out))?;
    println!("{} shapes in {out}", shapes.len());
    Ok(())
}
