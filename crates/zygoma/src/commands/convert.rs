//! `zygoma convert`

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use glam::Vec3;
use serde::Serialize;
use zygoma_rig::bake::{BakeOptions, Baked, bake};
use zygoma_rig::evaluate::Performance;
use zygoma_rig::formats::{Limits, caches, gltf, obj, usda};
use zygoma_rig::frames::Frames;
use zygoma_rig::{Rig, RigMesh, Source, Take};

use crate::cli::ConvertArgs;
use crate::commands::input;
use crate::progress::Progress;

/// What the extension of the output stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Glb,
    ObjFolder,
    Pc2,
    Mdd,
    Usda,
}

/// What was written.
#[derive(Debug, Serialize)]
struct Summary {
    rig: String,
    out: String,
    vertices: usize,
    shapes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    animation: Option<AnimationSummary>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct AnimationSummary {
    take: String,
    frames: usize,
    fps: f64,
    /// Tracks of the take that no shape of the rig answers to.
    unmatched: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compression: Option<CompressionSummary>,
}

#[derive(Debug, Serialize)]
struct CompressionSummary {
    morph_targets: usize,
    stated_max_error_mm: f64,
    max_error_mm: f64,
    rms_error_mm: f64,
}

pub(crate) fn run(args: &ConvertArgs, verbose: bool) -> anyhow::Result<()> {
    let format = Format::of(&args.out, args.take.is_some())?;
    let mut rig = input::read_rig(&args.rig)?;
    if let (true, Source::Gltf(document)) = (args.plain, &mut rig.source) {
        **document = document.decompressed(&Limits::default())?;
    }
    let animation = match &args.take {
        Some(name) => Some(write_performance(&rig, &input::read_take(name, &rig)?, format, args)?),
        None => {
            write_rig(&rig, format, &args.out)?;
            None
        }
    };
    let skin = rig.skin();
    let summary = Summary {
        rig: rig.name.clone(),
        out: args.out.display().to_string(),
        vertices: skin.positions.len(),
        shapes: skin.shapes.len(),
        animation,
        notes: rig.notes.clone(),
    };
    tell(&summary, args.json, verbose)
}

impl Format {
    fn of(out: &Path, animated: bool) -> anyhow::Result<Self> {
        let extension = out.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let format = match extension.as_deref() {
            Some("glb") => Format::Glb,
            Some("pc2") => Format::Pc2,
            Some("mdd") => Format::Mdd,
            Some("usda") => Format::Usda,
            None => Format::ObjFolder,
            Some(other) => bail!(
                "{}: zygoma does not write .{other}; name a .glb, .pc2, .mdd or .usda file, or a folder for OBJs",
                out.display()
            ),
        };
        if !animated && matches!(format, Format::Pc2 | Format::Mdd | Format::Usda) {
            bail!(
                "{}: this format holds an animated surface; say which take to perform with --take",
                out.display()
            );
        }
        Ok(format)
    }
}

fn write_rig(rig: &Rig, format: Format, out: &Path) -> anyhow::Result<()> {
    match format {
        Format::ObjFolder => obj::write_rig(rig, out)?,
        _ => gltf::write_rig(rig, out)?,
    }
    Ok(())
}

fn write_performance(
    rig: &Rig,
    take: &Take,
    format: Format,
    args: &ConvertArgs,
) -> anyhow::Result<AnimationSummary> {
    let mut performance = Performance::new(rig, rig.skin, take, args.fps);
    // A GLB moves the head by its node, so that the surfaces stay small to store.
    if args.head_motion && format != Format::Glb {
        performance = performance.with_head_motion();
    }
    let renamed = performance.binding().renamed(rig, take);
    let unmatched = performance.binding().unmatched.clone();
    let mut frames = Watched::new(performance);
    let count = frames.count();
    let skin: &RigMesh = rig.skin();
    let mut compression = None;
    match format {
        Format::Glb if args.keep_shapes => gltf::write_with_take(rig, &renamed, &args.out)?,
        Format::Glb => {
            let options = BakeOptions { max_error: args.max_error * 1e-3, max_targets: args.max_targets };
            let baked = bake(skin, &mut frames, take.start(), &options)?;
            let is_own = rig.takes.contains(take);
            gltf::write_animated(rig, &baked.animation, &renamed, is_own, &args.out)?;
            compression = Some(CompressionSummary::new(&baked, args.max_error));
        }
        Format::ObjFolder => obj::write_sequence(skin, &mut frames, &args.out)?,
        Format::Pc2 => caches::write_pc2(skin, &mut frames, &args.out)?,
        Format::Mdd => caches::write_mdd(skin, &mut frames, &args.out)?,
        Format::Usda => usda::write_usda(skin, &mut frames, &args.out)?,
    }
    Ok(AnimationSummary { take: take.name.clone(), frames: count, fps: args.fps, unmatched, compression })
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

/// Frames whose reading shows as progress.
struct Watched<F> {
    frames: F,
    progress: Progress,
}

impl<F: Frames> Watched<F> {
    fn new(frames: F) -> Self {
        let progress = Progress::new("frames", frames.count());
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

fn tell(summary: &Summary, json: bool, verbose: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(summary);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} → {}: {} vertices, {} shapes",
        summary.rig, summary.out, summary.vertices, summary.shapes
    )?;
    if let Some(animation) = &summary.animation {
        writeln!(out, "take {}: {} frames at {} fps", animation.take, animation.frames, animation.fps)?;
        if !animation.unmatched.is_empty() {
            writeln!(out, "tracks without a shape: {}", animation.unmatched.join(", "))?;
        }
        if let Some(compression) = &animation.compression {
            writeln!(
                out,
                "{} morph targets, at most {:.4} mm off (allowed {} mm), {:.4} mm on average",
                compression.morph_targets,
                compression.max_error_mm,
                compression.stated_max_error_mm,
                compression.rms_error_mm
            )?;
        }
    }
    if verbose {
        for note in &summary.notes {
            writeln!(out, "note: {note}")?;
        }
    }
    Ok(())
}
