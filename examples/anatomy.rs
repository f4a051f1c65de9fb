//! Finds the bones in a rig or a scan, and writes them beside it.
//!
//! `cargo run --release --example anatomy -- face.glb with_bones.glb`

use std::error::Error;
use std::path::Path;

use zygoma_face::tissue::{AnatomyOptions, fit_head};
use zygoma_rig::JointRole;
use zygoma_rig::formats::{Limits, gltf, read_rig};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mesh = arguments.next().ok_or("name a neutral head, e.g. face.glb")?;
    let out = arguments.next().ok_or("name the file to write, e.g. with_bones.glb")?;
    let rig = read_rig(Path::new(&mesh), &Limits::default())?;

    let fitted = fit_head(&rig, &AnatomyOptions::default())?;
    let cranium = fitted.anatomy.cranium.surface.rig_mesh("cranium");
    let mandible = fitted.anatomy.mandible.surface.rig_mesh("mandible");
    let bones = [(cranium, JointRole::Head), (mandible, JointRole::Jaw)];
    gltf::write_rig_with(&rig, &bones, Path::new(&out))?;
    println!(
        "skin {:.2} mm off on average, bone at least {:.1} mm deep, {} tetrahedra between them",
        1e3 * fitted.report.registration.mean,
        1e3 * fitted.report.cover,
        fitted.anatomy.fill.tets.len()
    );
    Ok(())
}
