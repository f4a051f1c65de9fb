//! Rigs and takes back into GLB files.

use std::path::Path;

use super::Document;
use super::animate::AnimationWriter;
use super::stage::Stage;
use crate::take::{MotionTrack, WeightCurve};
use crate::{Error, Result, Rig, Source, Take};

/// Finds the curve of a shape by the rig's name for it.
pub type CurveOf<'a> = Box<dyn Fn(&str) -> Option<&'a WeightCurve> + 'a>;

/// A take as an export needs it: a curve for each shape of the rig that is animated, and joint motion.
pub struct Performance<'a> {
    /// The animation's name.
    pub name: &'a str,
    /// The curve of each shape; this is where names of different spelling are matched.
    pub curve: CurveOf<'a>,
    /// Head, jaw and eye motion.
    pub motions: &'a [MotionTrack],
}

impl std::fmt::Debug for Performance<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Performance").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> Performance<'a> {
    /// A take whose tracks have exactly the names of the rig's shapes.
    pub fn of(take: &'a Take) -> Self {
        let curve =
            |name: &str| take.weights.iter().find(|track| track.shape == name).map(|track| &track.curve);
        Self { name: &take.name, curve: Box::new(curve), motions: &take.motions }
    }

    /// A performance in which nothing moves.
    pub fn still(name: &'a str) -> Self {
        Self { name, curve: Box::new(|_| None), motions: &[] }
    }
}

/// Writes a rig as one self-contained GLB.
///
/// A rig that came from a glTF file is that file again, whole: meshes, skins, materials, extras and unknown
/// extensions unchanged. A rig from elsewhere becomes a new file in metres, with its takes.
pub fn write_rig(rig: &Rig, path: &Path) -> Result<()> {
    check_ending(path)?;
    match &rig.source {
        Source::Gltf(document) => document.write_glb(path),
        _ => whole_fresh(rig, path).write_glb(path),
    }
}

fn whole_fresh(rig: &Rig, path: &Path) -> Document {
    let mut stage = Stage::fresh(rig, path, None);
    // The first of them comes first again.
    for take in rig.takes.iter().rev() {
        add_performance(&mut stage, rig, &Performance::of(take));
    }
    stage.document
}

/// Writes a rig with its own shapes, animated by a performance, which becomes its first animation.
pub fn write_with_take(rig: &Rig, performance: &Performance, path: &Path) -> Result<()> {
    check_ending(path)?;
    let mut stage = match &rig.source {
        Source::Gltf(document) => Stage::of_document(document, rig)?.0,
        _ => Stage::fresh(rig, path, None),
    };
    add_performance(&mut stage, rig, performance);
    stage.document.write_glb(path)
}

fn add_performance(stage: &mut Stage, rig: &Rig, performance: &Performance) {
    let mut writer = AnimationWriter::default();
    stage.animate_weights(rig, performance, None, &mut writer);
    stage.animate_joints(performance.motions, &mut writer);
    stage.add_animation(writer, performance.name);
}

/// What is written is a GLB, and a file should say so.
pub(super) fn check_ending(path: &Path) -> Result<()> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gltf")) {
        return Err(Error::Request(format!(
            "{}: glTF is written as one self-contained file; give it the ending .glb",
            path.display()
        )));
    }
    Ok(())
}
