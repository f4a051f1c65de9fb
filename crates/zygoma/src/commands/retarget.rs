//! `zygoma retarget`

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use glam::Vec3;
use serde::Serialize;
use zygoma_face::retarget::{
    CarriedShape, CarryReport, RetargetHead, RetargetParams, RigRetarget, SourceFace, Transfer,
};
use zygoma_picture::{Image, View, grid};
use zygoma_rig::binding::Binding;
use zygoma_rig::follow::Followers;
use zygoma_rig::formats::{gltf, obj};
use zygoma_rig::frames::StoredFrames;
use zygoma_rig::{Rig, Take};

use crate::cli::{ReadingArgs, RetargetArgs, RetargetMethod, RigArgs};
use crate::commands::animated::{self, Format, Performed, Written};
use crate::commands::input;
use crate::pictures::Portrait;
use crate::progress::Progress;

const MILLIMETRES: f64 = 1e3;

/// Figures of a retargeting. Lengths are in millimetres of a life-size head.
#[derive(Debug, Serialize)]
struct Summary {
    source: String,
    target: String,
    out: String,
    /// How expressions were carried: `adt` or `dt`.
    method: &'static str,
    /// Why there is no anatomy, where it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Distances from each mesh's skin to the registered skin.
    registration_mm: Registrations,
    /// Shapes that were carried, or frames of a take.
    expressions: usize,
    /// Mean misses of the source's facial characteristics.
    characteristics: Misses,
    /// Points of the lower lip inside the upper one, over all expressions.
    lip_crossings: Crossings,
    /// Inverted tetrahedra, over all expressions.
    inverted: usize,
    /// Mean of |det F − 1| of the target's tissue.
    volume_change: f64,
    init_seconds: f64,
    ms_per_expression: f64,
    #[serde(skip)]
    written: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Registrations {
    source: Distances,
    target: Distances,
}

#[derive(Debug, Serialize)]
struct Distances {
    mean: f64,
    p95: f64,
}

impl Distances {
    fn of(head: &RetargetHead) -> Self {
        let [mean, p95] = head.registration().map(|length| MILLIMETRES * length);
        Self { mean, p95 }
    }
}

#[derive(Debug, Default, Serialize)]
struct Misses {
    /// Of the ratios of areas between the lids.
    eye: f64,
    /// Of the ratios of areas across the sockets.
    socket: f64,
    /// Of the lips' contour, in millimetres.
    lips: f64,
}

#[derive(Debug, Default, Serialize)]
struct Crossings {
    before: usize,
    after: usize,
}

/// Sums over carried expressions.
#[derive(Default)]
struct Sums {
    count: usize,
    misses: [f64; 3],
    crossings: [usize; 2],
    inverted: usize,
    volume: f64,
    seconds: f64,
}

impl Sums {
    fn add(&mut self, report: &CarryReport) {
        self.count += 1;
        (0..3).for_each(|k| self.misses[k] += report.characteristics[k]);
        (0..2).for_each(|k| self.crossings[k] += report.lip_crossings[k]);
        self.inverted += report.inverted;
        self.volume += report.volume_change;
        self.seconds += report.seconds;
    }

    fn mean(&self, sum: f64) -> f64 {
        sum / self.count.max(1) as f64
    }
}

pub(crate) fn run(args: &RetargetArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    let format = Format::of(&args.out)?;
    let plays = args.take.is_some() || args.frames.is_some();
    if !plays && !matches!(format, Format::Glb | Format::ObjFolder) {
        bail!(
            "{}: a rig is written as a .glb file or a folder of OBJs; to write an animated surface, say which take to perform with --take",
            args.out.display()
        );
    }
    let params = params(args)?;
    let (source, target) = (read(&args.source)?, read(&args.target)?);
    if source.skin().shapes.is_empty() && args.frames.is_none() {
        bail!("{}: it has no shapes that could be carried", args.source.display());
    }
    let (source_head, target_head) = (register(&source, &args.source)?, register(&target, &args.target)?);
    let transfer = match args.method {
        RetargetMethod::Dt => Transfer::Surface,
        RetargetMethod::Adt => Transfer::Anatomical,
    };
    let registration_mm =
        Registrations { source: Distances::of(&source_head), target: Distances::of(&target_head) };
    let notes = notes(&[(&source, &source_head), (&target, &target_head)], transfer);
    let mut face = SourceFace::new(&source, source_head);
    let mut retarget = RigRetarget::new(&face, &target, target_head, transfer, &params)
        .with_context(|| format!("{} to {}", args.source.display(), args.target.display()))?;
    let method = match retarget.carrier().transfer() {
        Transfer::Anatomical => "adt",
        Transfer::Surface => "dt",
    };
    let init_seconds = began.elapsed().as_secs_f64();
    let mut sums = Sums::default();
    animated::make_folder_for(&args.out)?;
    let written = match (&args.take, &args.frames) {
        (Some(name), _) => perform(name, &source, &target, &mut face, &mut retarget, args, &mut sums)?,
        (None, Some(folder)) => follow(folder, &source, &target, &mut face, &mut retarget, args, &mut sums)?,
        (None, None) => {
            let shapes = carry_shapes(&mut face, &mut retarget, &mut sums);
            let rig = retarget.rig_with(&shapes);
            match format {
                Format::ObjFolder => obj::write_rig(&rig, &args.out)?,
                _ => gltf::write_reshaped(&target, &rig, &args.out)?,
            }
            if let Some(path) = &args.sheet {
                sheet(&source, &rig)?.save(path)?;
            }
            Written::default()
        }
    };
    let [eye, socket, lips] = sums.misses.map(|sum| sums.mean(sum));
    let summary = Summary {
        source: source.name.clone(),
        target: target.name.clone(),
        out: args.out.display().to_string(),
        method,
        notes,
        registration_mm,
        expressions: sums.count,
        characteristics: Misses { eye, socket, lips: MILLIMETRES * lips },
        lip_crossings: Crossings { before: sums.crossings[0], after: sums.crossings[1] },
        inverted: sums.inverted,
        volume_change: sums.mean(sums.volume),
        init_seconds,
        ms_per_expression: 1e3 * sums.mean(sums.seconds),
        written: written.lines(),
    };
    print(&summary, args.json)
}

fn params(args: &RetargetArgs) -> anyhow::Result<RetargetParams> {
    let mut params: RetargetParams = input::read_params(args.params.as_deref())?;
    params.literal_lips |= args.literal_lips;
    Ok(params)
}

fn read(path: &Path) -> anyhow::Result<Rig> {
    input::read_rig(&RigArgs { rig: path.to_owned(), reading: ReadingArgs::default() })
}

fn register(rig: &Rig, path: &Path) -> anyhow::Result<RetargetHead> {
    RetargetHead::of_rig(rig).with_context(|| path.display().to_string())
}

/// Says where anatomy was refused.
fn notes(heads: &[(&Rig, &RetargetHead)], transfer: Transfer) -> Vec<String> {
    let refused = heads.iter().filter_map(|(rig, head)| Some((rig, head.refused()?)));
    let note = |(rig, problem): (&&Rig, &zygoma_head::fit::FitError)| {
        format!("{}: {problem}. Expressions are carried by the surface alone", rig.name)
    };
    if transfer == Transfer::Surface { Vec::new() } else { refused.map(note).collect() }
}

fn carry_shapes(face: &mut SourceFace, retarget: &mut RigRetarget, sums: &mut Sums) -> Vec<CarriedShape> {
    let count = face.shape_count();
    let mut bar = Progress::new("carrying shapes", count);
    let mut carry = |shape: usize| {
        bar.set(shape);
        let (carried, report) = retarget.shape(face, shape);
        sums.add(&report);
        carried
    };
    (0..count).map(&mut carry).collect()
}

/// The target's skin in an expression.
fn posed(target: &Rig, offsets: &[Vec3]) -> Vec<Vec3> {
    target.skin().positions.iter().zip(offsets).map(|(p, by)| *p + *by).collect()
}

/// The target performs a take of the source, each frame carried by itself.
fn perform(
    name: &str,
    source: &Rig,
    target: &Rig,
    face: &mut SourceFace,
    retarget: &mut RigRetarget,
    args: &RetargetArgs,
    sums: &mut Sums,
) -> anyhow::Result<Written> {
    let take = input::read_take(name, source, None)?;
    input::check_match(source, &args.source, &take, name)?;
    input::check_length(&take, args.fps)?;
    let binding = Binding::new(source, &take);
    let count = take.frame_count(args.fps);
    let mut bar = Progress::new("carrying frames", count);
    let mut weights = vec![0.0; face.shape_count()];
    let mut surfaces = StoredFrames::new(args.fps, target.skin().positions.len());
    for frame in 0..count {
        bar.set(frame);
        binding.weights_at(&take, source.skin, take.start() + frame as f64 / args.fps, &mut weights);
        let (offsets, report) = retarget.frame(&face.expression(&weights));
        sums.add(&report);
        surfaces.push(&posed(target, &offsets));
    }
    drop(bar);
    write_frames(target, &take, surfaces, args)
}

/// The target follows surfaces of the source, one after the other, such as tracked meshes.
fn follow(
    folder: &Path,
    source: &Rig,
    target: &Rig,
    face: &mut SourceFace,
    retarget: &mut RigRetarget,
    args: &RetargetArgs,
    sums: &mut Sums,
) -> anyhow::Result<Written> {
    let row = read(folder)?;
    let skin = row.skin();
    if skin.positions.len() != source.skin().positions.len() {
        bail!(
            "{}: its meshes have {} vertices, but the source's has {}",
            folder.display(),
            skin.positions.len(),
            source.skin().positions.len()
        );
    }
    let mut bar = Progress::new("carrying frames", skin.shapes.len());
    let mut surfaces = StoredFrames::new(args.fps, target.skin().positions.len());
    for (frame, shape) in skin.shapes.iter().enumerate() {
        bar.set(frame);
        let moved = shape.deltas.to_dense(skin.positions.len());
        let surface: Vec<Vec3> = skin.positions.iter().zip(&moved).map(|(p, by)| *p + *by).collect();
        let (offsets, report) = retarget.frame(&face.expression_of_surface(&surface));
        sums.add(&report);
        surfaces.push(&posed(target, &offsets));
    }
    drop(bar);
    // The surfaces are all there is: no shape and no joint moves by itself.
    let take = Take { name: row.name.clone(), weights: Vec::new(), motions: Vec::new() };
    write_frames(target, &take, surfaces, args)
}

fn write_frames(
    target: &Rig,
    take: &Take,
    frames: StoredFrames,
    args: &RetargetArgs,
) -> anyhow::Result<Written> {
    let followers = Followers::new(target);
    let performed = Performed { rig: target, take, followers: &followers, props: &[] };
    animated::write(&performed, frames, &args.out, &args.animated)
}

/// Expressions that show most of what a retargeting does.
const SHOWN: [&[(&str, f32)]; 5] = [
    &[("jawOpen", 1.0)],
    &[("eyeBlinkLeft", 1.0), ("eyeBlinkRight", 1.0)],
    &[("mouthSmileLeft", 1.0), ("mouthSmileRight", 1.0)],
    &[("mouthPucker", 1.0)],
    &[("browInnerUp", 1.0), ("noseSneerLeft", 1.0), ("noseSneerRight", 1.0)],
];

/// The source above and the target below it, from the front and then from the side.
fn sheet(source: &Rig, target: &Rig) -> anyhow::Result<Image> {
    const SIZE: usize = 380;
    let mut pictures = Vec::new();
    for view in [View::FRONT, View::THREE_QUARTER] {
        for rig in [source, target] {
            let portrait = Portrait::new(rig)?;
            for weights in SHOWN {
                let own: Vec<(String, f32)> =
                    weights.iter().map(|(name, weight)| (own_name(rig, name), *weight)).collect();
                let own: Vec<(&str, f32)> = own.iter().map(|(name, weight)| (&name[..], *weight)).collect();
                pictures.push((portrait.draw(&own, view, SIZE)?, ""));
            }
        }
    }
    Ok(grid(&pictures, SHOWN.len()))
}

/// The rig's own name for an ARKit shape.
fn own_name(rig: &Rig, name: &str) -> String {
    let is = |own: &str| zygoma_rig::arkit::recognise(own).is_some_and(|found| found.shape == name);
    let found = rig.skin().shapes.iter().find(|shape| is(&shape.name));
    found.map_or_else(|| name.to_owned(), |shape| shape.name.clone())
}

fn print(summary: &Summary, json: bool) -> anyhow::Result<()> {
    summary.notes.iter().filter(|_| !json).for_each(|note| eprintln!("note: {note}"));
    if json {
        return crate::json::print(summary);
    }
    let mut out = std::io::stdout().lock();
    let Registrations { source, target } = &summary.registration_mm;
    writeln!(
        out,
        "{} → {} in {}: {} expressions by {}, {:.0} ms each after {:.1} s",
        summary.source,
        summary.target,
        summary.out,
        summary.expressions,
        summary.method,
        summary.ms_per_expression,
        summary.init_seconds
    )?;
    writeln!(
        out,
        "registration   {:.2} mm for the source, {:.2} mm for the target",
        source.mean, target.mean
    )?;
    let Misses { eye, socket, lips } = summary.characteristics;
    writeln!(
        out,
        "eyes open      {:.1} % off, sockets {:.1} %, lips {lips:.2} mm",
        100.0 * eye,
        100.0 * socket
    )?;
    let Crossings { before, after } = summary.lip_crossings;
    writeln!(out, "lips           {before} points crossed, {after} still do")?;
    writeln!(
        out,
        "tissue         {} inverted tetrahedra, volumes {:.1} % off",
        summary.inverted,
        100.0 * summary.volume_change
    )?;
    for line in &summary.written {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
