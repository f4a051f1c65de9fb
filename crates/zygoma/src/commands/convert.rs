//! `zygoma convert`

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use serde::Serialize;
use zygoma_rig::LargeWeight;
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Performance;
use zygoma_rig::follow::Followers;
use zygoma_rig::formats::{Limits, gltf, obj};
use zygoma_rig::{Rig, Source, Take};

use crate::cli::ConvertArgs;
use crate::commands::animated::{self, CacheFile, CompressionSummary, Format, Performed};
use crate::commands::input;

/// A summary of the files written.
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
    /// Tracks of the take that match no shape of the rig.
    unmatched: Vec<String>,
    /// Tracks whose weights leave the usual range.
    large_weights: Vec<LargeWeight>,
    #[serde(skip)]
    warning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compression: Option<CompressionSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caches: Vec<CacheFile>,
    /// The same summary for people, one sentence per line.
    #[serde(skip)]
    lines: Vec<String>,
}

pub(crate) fn run(args: &ConvertArgs, verbose: bool) -> anyhow::Result<()> {
    let format = Format::of(&args.out)?;
    if args.take.is_none() && !matches!(format, Format::Glb | Format::ObjFolder) {
        bail!(
            "{}: this format holds an animated surface; say which take to perform with --take",
            args.out.display()
        );
    }
    let mut rig = input::read_rig(&args.rig)?;
    if let (true, Source::Gltf(document)) = (args.plain, &mut rig.source) {
        **document = document.decompressed(&Limits::default())?;
    }
    let animation = match &args.take {
        Some(name) => {
            let take = input::read_take(name, &rig, args.map.as_deref())?;
            input::check_match(&rig, &args.rig.rig, &take, name)?;
            input::check_length(&take, args.fps)?;
            Some(write_performance(&rig, &take, args)?)
        }
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
    print(&summary, args.json, verbose)
}

fn write_rig(rig: &Rig, format: Format, out: &Path) -> anyhow::Result<()> {
    animated::make_folder_for(out)?;
    match format {
        Format::ObjFolder => obj::write_rig(rig, out)?,
        _ => gltf::write_rig(rig, out)?,
    }
    Ok(())
}

fn write_performance(rig: &Rig, take: &Take, args: &ConvertArgs) -> anyhow::Result<AnimationSummary> {
    let binding = Binding::new(rig, take);
    let performance = Performance::new(rig, rig.skin, take, args.fps);
    // The plain rig is written as it is.
    let performed = Performed { rig, take, followers: &Followers::default(), props: &[] };
    let written = animated::write(&performed, performance, &args.out, &args.animated)?;
    Ok(AnimationSummary {
        take: take.name.clone(),
        frames: take.frame_count(args.fps),
        fps: args.fps,
        unmatched: binding.unmatched,
        large_weights: take.large_weights(),
        warning: take.weight_warning(),
        lines: written.lines(),
        compression: written.compression,
        caches: written.caches,
    })
}

fn print(summary: &Summary, json: bool, verbose: bool) -> anyhow::Result<()> {
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
        if let Some(warning) = &animation.warning {
            writeln!(out, "problem: {warning}")?;
        }
        for line in &animation.lines {
            writeln!(out, "{line}")?;
        }
    }
    if verbose {
        for note in &summary.notes {
            writeln!(out, "note: {note}")?;
        }
    }
    Ok(())
}
