//! Animated faces on their way to a file.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use glam::Vec3;
use serde::Serialize;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::Pose;
use zygoma_rig::bake::{BakeOptions, Baked, bake};
use zygoma_rig::binding::Binding;
use zygoma_rig::formats::gltf::AnimatedProp;
use zygoma_rig::formats::{caches, gltf, obj, usda};
use zygoma_rig::frames::{Frames, HeadMoved};
use zygoma_rig::{JointRole, Rig, Take};

use crate::cli::AnimatedArgs;
use crate::progress::Progress;
use crate::props::{PROP, PropMesh};
use crate::touch_script::Prop;

/// What the extension of the output stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Glb,
    ObjFolder,
    Pc2,
    Mdd,
    Usda,
}

impl Format {
    pub(crate) fn of(out: &Path) -> anyhow::Result<Self> {
        let extension = out.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        Ok(match extension.as_deref() {
            Some("glb") => Format::Glb,
            Some("pc2") => Format::Pc2,
            Some("mdd") => Format::Mdd,
            Some("usda") => Format::Usda,
            None => Format::ObjFolder,
            Some(other) => bail!(
                "{}: zygoma does not write .{other}; name a .glb, .pc2, .mdd or .usda file, or a folder for OBJs",
                out.display()
            ),
        })
    }

    /// Whether it holds vertices alone, so that nothing but their order must be known of a rig.
    pub(crate) fn is_cache(self) -> bool {
        matches!(self, Format::Pc2 | Format::Mdd)
    }
}

/// How closely an animated GLB follows the true surfaces.
#[derive(Debug, Serialize)]
pub(crate) struct CompressionSummary {
    pub(crate) morph_targets: usize,
    pub(crate) stated_max_error_mm: f64,
    pub(crate) max_error_mm: f64,
    pub(crate) rms_error_mm: f64,
}

impl CompressionSummary {
    fn new(baked: &Baked, stated_mm: f64) -> Self {
        Self {
            morph_targets: baked.animation.targets.len(),
            stated_max_error_mm: stated_mm,
            max_error_mm: baked.max_error * 1e3,
            rms_error_mm: baked.rms_error * 1e3,
        }
    }
}

impl std::fmt::Display for CompressionSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} morph targets, at most {:.4} mm off (allowed {} mm), {:.4} mm on average",
            self.morph_targets, self.max_error_mm, self.stated_max_error_mm, self.rms_error_mm
        )
    }
}

/// Writes the surfaces of a rig's skin that performs a take; they are in the head's frame. A GLB shows what touches it, too.
pub(crate) fn write(
    rig: &Rig,
    take: &Take,
    frames: impl Frames,
    props: &[Prop],
    out: &Path,
    args: &AnimatedArgs,
) -> anyhow::Result<Option<CompressionSummary>> {
    let format = Format::of(out)?;
    let skin = rig.skin();
    let mut frames = Watched::new(frames);
    // Other formats are smaller or larger, nobody knows by how much.
    if format.is_cache() {
        let bytes = frames.count() as u64 * frames.vertex_count() as u64 * size_of::<Vec3>() as u64;
        zygoma_files::check_room(zygoma_files::folder_of(out), bytes)?;
    }
    if format == Format::Glb {
        // A GLB moves the head by its node, so that the surfaces stay small to store.
        let options = BakeOptions { max_error: args.max_error * 1e-3, max_targets: args.max_targets };
        let baked = bake(skin, &mut frames, take.start(), &options)?;
        let renamed = Binding::new(rig, take).renamed(rig, take);
        let props = animated_props(props, take, baked.animation.fps);
        let is_own = rig.takes.contains(take);
        gltf::write_animated_with(rig, &baked.animation, &renamed, is_own, &props, out)?;
        return Ok(Some(CompressionSummary::new(&baked, args.max_error)));
    }
    let mut moved: Box<dyn Frames> =
        if args.head_motion { Box::new(HeadMoved::new(frames, take)) } else { Box::new(frames) };
    match format {
        Format::Pc2 => caches::write_pc2(skin, &mut *moved, out)?,
        Format::Mdd => caches::write_mdd(skin, &mut *moved, out)?,
        Format::Usda => usda::write_usda(skin, &mut *moved, out)?,
        Format::ObjFolder | Format::Glb => obj::write_sequence(skin, &mut *moved, out)?,
    }
    Ok(None)
}

/// What touches a face, to be seen in other programs as well; it moves with the head.
fn animated_props(props: &[Prop], take: &Take, fps: f64) -> Vec<AnimatedProp> {
    let head = take.motion(JointRole::Head);
    let motion = |(frame, pose): (usize, &Option<Pose>)| {
        let pose = (*pose)?;
        let own =
            RigidMotion { rotation: pose.rotation.as_dquat(), translation: pose.translation.as_dvec3() };
        let head = head.and_then(|track| track.sample(take.start() + frame as f64 / fps));
        Some(head.map_or(own, |head| RigidMotion {
            rotation: head.rotation * own.rotation,
            translation: head.apply(own.translation),
        }))
    };
    let animated = |prop: &Prop| {
        let mesh = PropMesh::new(&prop.shape);
        AnimatedProp {
            name: prop.name.clone(),
            positions: mesh.positions,
            triangles: mesh.triangles,
            color: PROP.map(|channel| channel.powf(2.2)),
            motions: prop.poses.iter().enumerate().map(motion).collect(),
        }
    };
    props.iter().map(animated).collect()
}

/// Prints what a performance did: its own lines, the tracks that moved nothing, how it was compressed, how long it took.
pub(crate) fn tell(
    lines: &[String],
    unmatched: &[String],
    compression: Option<&CompressionSummary>,
    seconds: f64,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    if !unmatched.is_empty() {
        writeln!(out, "tracks without a shape: {}", unmatched.join(", "))?;
    }
    if let Some(compression) = compression {
        writeln!(out, "{compression}")?;
    }
    writeln!(out, "done in {seconds:.1} s")?;
    Ok(())
}

/// Frames whose reading shows as progress.
struct Watched<F> {
    frames: F,
    progress: Progress,
}

impl<F: Frames> Watched<F> {
    fn new(frames: F) -> Self {
        let progress = Progress::new("writing frames", frames.count());
        Self { frames, progress }
    }
}

impl<F: Frames> Frames for Watched<F> {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn fps(&self) -> f64 {
        self.frames.fps()
    }

    fn vertex_count(&self) -> usize {
        self.frames.vertex_count()
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> zygoma_rig::Result<()> {
        self.progress.set(frame + 1);
        self.frames.read(frame, positions)
    }
}
