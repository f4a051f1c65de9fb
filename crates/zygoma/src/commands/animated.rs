//! Writing animated faces to files.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use glam::Vec3;
use serde::Serialize;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::Pose;
use zygoma_rig::bake::{BakeOptions, Baked, bake, bake_correctives};
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::{ClampedPerformance, Performance};
use zygoma_rig::follow::{CorrectedRider, Followers, Riding, bake_riders};
use zygoma_rig::formats::gltf::{AnimatedProp, Beside, SkinMotion};
use zygoma_rig::formats::usda::{self, UsdMesh};
use zygoma_rig::formats::{Limits, caches, gltf, obj};
use zygoma_rig::frames::{Frames, HeadMoved, JointMoved, Reordered, SharedFrames};
use zygoma_rig::{JointRole, Rig, Source, Take};

use crate::cli::AnimatedArgs;
use crate::progress::Progress;
use crate::props::{PROP, prop_mesh};
use zygoma_face::run::Prop;

/// The output format, given by the file's extension.
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

    /// Whether it holds vertices alone, so that only their order in the rig needs to be known.
    pub(crate) fn is_cache(self) -> bool {
        matches!(self, Format::Pc2 | Format::Mdd)
    }
}

/// How closely an animated GLB follows the true surfaces.
#[derive(Debug, Serialize)]
pub(crate) struct CompressionSummary {
    pub(crate) morph_targets: usize,
    /// Shapes of the rig that are kept, beside the new targets.
    pub(crate) kept_shapes: usize,
    pub(crate) stated_max_error_mm: f64,
    pub(crate) max_error_mm: f64,
    pub(crate) rms_error_mm: f64,
}

impl CompressionSummary {
    fn new(baked: &Baked, riders: &[CorrectedRider], kept_shapes: usize, stated_mm: f64) -> Self {
        let worst = riders.iter().map(|rider| rider.baked.max_error).fold(baked.max_error, f64::max);
        Self {
            morph_targets: baked.animation.targets.len(),
            kept_shapes,
            stated_max_error_mm: stated_mm,
            max_error_mm: worst * 1e3,
            rms_error_mm: baked.rms_error * 1e3,
        }
    }
}

impl std::fmt::Display for CompressionSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kept_shapes {
            0 => write!(f, "{} morph targets", self.morph_targets)?,
            kept => write!(f, "{kept} shapes and {} corrective targets", self.morph_targets)?,
        }
        write!(
            f,
            ", at most {:.4} mm off (allowed {} mm), {:.4} mm on average",
            self.max_error_mm, self.stated_max_error_mm, self.rms_error_mm
        )
    }
}

/// A summary of the files written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// How a GLB was compressed.
    pub(crate) compression: Option<CompressionSummary>,
    /// The point cache of each mesh that moves.
    pub(crate) caches: Vec<CacheFile>,
}

/// A point cache and the mesh that it is for.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CacheFile {
    pub(crate) mesh: String,
    pub(crate) file: PathBuf,
    /// Vertices of every frame, as importers count them.
    pub(crate) vertices: usize,
}

impl Written {
    /// The summary, one sentence per line.
    pub(crate) fn lines(&self) -> Vec<String> {
        let cache = |cache: &CacheFile| {
            let CacheFile { mesh, file, vertices } = cache;
            format!("{}: the mesh '{mesh}', {vertices} vertices, in metres", file.display())
        };
        self.compression.iter().map(ToString::to_string).chain(self.caches.iter().map(cache)).collect()
    }
}

/// The rig and everything in the output besides the frames of its skin.
#[derive(Clone, Copy)]
pub(crate) struct Performed<'a> {
    pub(crate) rig: &'a Rig,
    /// The take; meshes that are not simulated perform it as the plain rig does.
    pub(crate) take: &'a Take,
    /// Meshes that follow the simulated skin.
    pub(crate) followers: &'a Followers,
    /// Colliders that touch the face, which a GLB shows.
    pub(crate) props: &'a [Prop],
}

/// Writes the frames of a rig's skin, which are in the head's frame, and the rig's other meshes.
pub(crate) fn write(
    performed: &Performed,
    frames: impl Frames,
    out: &Path,
    args: &AnimatedArgs,
) -> anyhow::Result<Written> {
    let Performed { rig, take, .. } = *performed;
    let format = Format::of(out)?;
    make_folder_for(out)?;
    let mut frames = SharedFrames::new(Watched::new(frames));
    // The sizes of other formats cannot be predicted.
    if format.is_cache() {
        let bytes = frames.count() as u64 * frames.vertex_count() as u64 * size_of::<Vec3>() as u64;
        zygoma_files::check_room(zygoma_files::folder_of(out), bytes)?;
    }
    match format {
        Format::Glb => {
            let compression = Some(write_glb(performed, &mut frames, out, args)?);
            Ok(Written { compression, ..Written::default() })
        }
        Format::Pc2 | Format::Mdd => {
            let write = if format == Format::Pc2 { caches::write_pc2 } else { caches::write_mdd };
            Ok(Written { caches: write_caches(performed, &frames, out, args, write)?, ..Written::default() })
        }
        Format::Usda => {
            let others = moving(performed, &frames, args)?;
            let skin = placed(rig, rig.skin, take, frames, args);
            let mut meshes = vec![UsdMesh { mesh: rig.skin(), frames: Some(skin) }];
            meshes
                .extend(others.into_iter().map(|(mesh, frames)| UsdMesh { mesh: &rig.meshes[mesh], frames }));
            usda::write_usda(&rig.name, &mut meshes, out)?;
            Ok(Written::default())
        }
        Format::ObjFolder => {
            obj::write_sequence(rig.skin(), &mut *placed(rig, rig.skin, take, frames, args), out)?;
            Ok(Written::default())
        }
    }
}

/// Creates the folder of an output file.
pub(crate) fn make_folder_for(out: &Path) -> anyhow::Result<()> {
    Ok(zygoma_files::create_folder(zygoma_files::folder_of(out))?)
}

fn write_glb(
    performed: &Performed,
    frames: &mut dyn Frames,
    out: &Path,
    args: &AnimatedArgs,
) -> anyhow::Result<CompressionSummary> {
    let Performed { rig, take, followers, props } = *performed;
    // A GLB moves the head by its node, so that the frames compress well.
    let options = BakeOptions { max_error: args.max_error * 1e-3, max_targets: args.max_targets };
    let renamed = Binding::new(rig, take).renamed(rig, take);
    let props = animated_props(props, take, frames.fps());
    let is_own = rig.takes.contains(take);
    let riders = bake_riders(rig, followers, take, frames, &options)?;
    let beside = Beside { riders: &riders, props: &props };
    let write = |motion| gltf::write_animated(rig, motion, &renamed, is_own, &beside, out);
    if !args.keep_shapes {
        let baked = bake(rig.skin(), frames, take.start(), &options)?;
        write(SkinMotion::Baked(&baked.animation))?;
        return Ok(CompressionSummary::new(&baked, &riders, 0, args.max_error));
    }
    let mut plain = ClampedPerformance::new(rig, rig.skin, take, frames.count(), frames.fps());
    let baked = bake_correctives(rig.skin(), frames, &mut plain, take.start(), &options)?;
    let correctives = &baked.animation;
    let exact = correctives.targets.is_empty() && plain.within_range && props.is_empty();
    write(if exact {
        SkinMotion::Shapes
    } else {
        SkinMotion::Corrected { weights: &plain.weights, correctives }
    })?;
    Ok(CompressionSummary::new(&baked, &riders, rig.skin().shapes.len(), args.max_error))
}

/// Frames of one of the rig's meshes, moved by jaw and eyes and, if asked, by the head.
fn placed<'a>(
    rig: &'a Rig,
    mesh: usize,
    take: &'a Take,
    frames: impl Frames + 'a,
    args: &AnimatedArgs,
) -> Box<dyn Frames + 'a> {
    let frames = JointMoved::new(frames, rig, mesh, take);
    if args.head_motion { Box::new(HeadMoved::new(frames, take)) } else { Box::new(frames) }
}

/// A mesh of the rig and its frames, if it moves.
type MaybeMoving<'a> = (usize, Option<Box<dyn Frames + 'a>>);

/// A mesh that stays within this distance of its neutral does not move, m: far below what is visible. Ours.
const STILL: f32 = 1e-6;

/// Every mesh but the skin, with its frames if it moves; `shown` are the frames of the skin.
fn moving<'a, F: Frames + 'a>(
    performed: &Performed<'a>,
    shown: &SharedFrames<F>,
    args: &AnimatedArgs,
) -> zygoma_rig::Result<Vec<MaybeMoving<'a>>> {
    let Performed { rig, take, followers, .. } = *performed;
    let head_moves = args.head_motion && take.motion(JointRole::Head).is_some();
    let others = (0..rig.meshes.len()).filter(|mesh| *mesh != rig.skin);
    let frames = |mesh: usize| {
        let carried = rig.joints.iter().any(|joint| {
            take.motion(joint.role).is_some() && joint.carries.iter().any(|carried| carried.mesh == mesh)
        });
        let is_moved = head_moves || carried;
        if let Some(rider) = followers.riders().iter().find(|rider| rider.mesh() == mesh) {
            let mut riding = Riding::new(rig, rider, take, shown.clone());
            let moves = is_moved || leaves(&mut riding, &rig.meshes[mesh].positions)?;
            return Ok((mesh, moves.then(|| placed(rig, mesh, take, riding, args))));
        }
        let performance = Performance::new(rig, mesh, take, shown.fps());
        let moves = is_moved || performance.moves();
        Ok((mesh, moves.then(|| placed(rig, mesh, take, performance, args))))
    };
    others.map(frames).collect()
}

/// Whether any frame differs from a neutral.
fn leaves(frames: &mut dyn Frames, neutral: &[Vec3]) -> zygoma_rig::Result<bool> {
    let mut positions = neutral.to_vec();
    for frame in 0..frames.count() {
        frames.read(frame, &mut positions)?;
        if positions.iter().zip(neutral).any(|(now, neutral)| now.distance(*neutral) > STILL) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes the skin's cache to `out`, and that of each other moving mesh to a file beside it, with the mesh's name in the file name.
fn write_caches<F: Frames>(
    performed: &Performed,
    frames: &SharedFrames<F>,
    out: &Path,
    args: &AnimatedArgs,
    write: fn(&mut dyn Frames, &Path) -> zygoma_rig::Result<()>,
) -> anyhow::Result<Vec<CacheFile>> {
    let Performed { rig, take, .. } = *performed;
    let skin = (rig.skin, Some(placed(rig, rig.skin, take, frames.clone(), args)));
    let mut written = Vec::new();
    for (mesh, frames) in std::iter::once(skin).chain(moving(performed, frames, args)?) {
        let Some(frames) = frames else { continue };
        let file = if mesh == rig.skin { out.to_owned() } else { beside(out, &rig.meshes[mesh].name) };
        let order = match &rig.source {
            Source::Gltf(document) => gltf::imported_order(document, mesh, &Limits::default())?,
            _ => None,
        };
        let mut frames: Box<dyn Frames> = match order {
            Some(order) => Box::new(Reordered::new(frames, order)),
            None => frames,
        };
        write(&mut *frames, &file)?;
        let vertices = frames.vertex_count();
        written.push(CacheFile { mesh: rig.meshes[mesh].name.clone(), file, vertices });
    }
    Ok(written)
}

/// The file name for another mesh's cache: `face.pc2` becomes `face.teeth.pc2`.
fn beside(out: &Path, mesh: &str) -> PathBuf {
    let allowed = |c: char| if c.is_alphanumeric() || "_- ".contains(c) { c } else { '_' };
    let mut name = out.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{}", mesh.chars().map(allowed).collect::<String>()));
    name.push(format!(".{}", out.extension().unwrap_or_default().to_string_lossy()));
    out.with_file_name(name)
}

/// The colliders that touch a face, as props to be shown in other programs as well; they move with the head.
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
        let mesh = prop_mesh(&prop.shape);
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

/// Prints the summary of a performance: its own lines, the tracks that moved nothing, the files written, the time taken.
pub(crate) fn print(
    lines: &[String],
    unmatched: &[String],
    written: &Written,
    seconds: f64,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    if !unmatched.is_empty() {
        writeln!(out, "tracks without a shape: {}", unmatched.join(", "))?;
    }
    for line in written.lines() {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "done in {seconds:.1} s")?;
    Ok(())
}

/// Frames that show progress while they are read.
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
