//! Writes rigs and takes to GLB files.

use std::path::Path;

use super::Document;
use super::animate::AnimationWriter;
use super::stage::Stage;
use crate::{Error, Result, Rig, Source, Take};

/// Writes a rig as one self-contained GLB.
///
/// A rig that came from a glTF file is written back whole: meshes, skins, materials, extras and unknown
/// extensions unchanged. A rig from elsewhere becomes a new file in metres, with its takes.
pub fn write_rig(rig: &Rig, path: &Path) -> Result<()> {
    check_ending(path)?;
    match &rig.source {
        Source::Gltf(document) => document.write_glb(path),
        _ => whole_fresh(rig, path).write_glb(path),
    }
}

fn whole_fresh(rig: &Rig, path: &Path) -> Document {
    let mut stage = Stage::fresh(rig, path, &[]);
    // In reverse, since each animation is inserted first.
    for take in rig.takes.iter().rev() {
        add_take(&mut stage, rig, take);
    }
    stage.document
}

fn add_take(stage: &mut Stage, rig: &Rig, take: &Take) {
    let mut writer = AnimationWriter::default();
    stage.animate_weights(rig, take, None, &mut writer);
    stage.animate_joints(&take.motions, &mut writer);
    stage.add_animation(writer, &take.name);
}

/// Refuses the extension `.gltf`, since a GLB is written.
pub(super) fn check_ending(path: &Path) -> Result<()> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gltf")) {
        return Err(Error::Request(format!(
            "{}: glTF is written as one self-contained file; give it the ending .glb",
            path.display()
        )));
    }
    Ok(())
}
