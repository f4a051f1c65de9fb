//! `zygoma retarget`

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use glam::Vec3;
use serde::Serialize;
use zygoma_face::retarget::{
    CarriedShape, CarryReport, Expression, Known, Method, RetargetHead, RetargetParams, RigRetarget,
    SourceFace,
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
    /// How expressions were carried.
    method: &'static str,
    /// Expressions of the target that were learnt from.
    examples: usize,
    /// Patches of the skin that mix examples by themselves; 0 without any.
    patches: usize,
    /// The part of the source's expressions that examples do not explain.
    missing_mm: Missed,
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
struct Missed {
    mean: f64,
    worst: f64,
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
    missing: [f64; 2],
    seconds: f64,
}

impl Sums {
    fn add(&mut self, report: &CarryReport) {
        self.count += 1;
        (0..3).for_each(|k| self.misses[k] += report.characteristics[k]);
        (0..2).for_each(|k| self.crossings[k] += report.lip_crossings[k]);
        self.inverted += report.inverted;
        self.volume += report.volume_change;
        self.missing[0] += report.missing[0];
        self.missing[1] = self.missing[1].max(report.missing[1]);
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
        bail!(
            "{}: it has no shapes to transfer; give a rig with blendshapes, or meshes as --frames",
            args.source.display()
        );
    }
    let (source_head, mut target_head) = (register(&source, &args.source)?, register(&target, &args.target)?);
    let wanted = method(args.method);
    let registration_mm =
        Registrations { source: Distances::of(&source_head), target: Distances::of(&target_head) };
    let notes = notes(&[(&source, &source_head), (&target, &target_head)], wanted);
    let mut face = SourceFace::new(&source, source_head);
    let examples = match &args.examples {
        Some(path) => read_examples(path, &target, &mut target_head)?,
        None => Vec::new(),
    };
    let row = args.frames.as_deref().map(|folder| read_row(folder, &source)).transpose()?;
    let own = if examples.is_empty() { Vec::new() } else { source_expressions(&mut face, row.as_ref()) };
    let known = Known { examples: &examples, source: &own };
    let mut retarget = RigRetarget::new(&face, &target, target_head, wanted, known, &params)
        .with_context(|| format!("{} to {}", args.source.display(), args.target.display()))?;
    let method = retarget.retargeting().method().name();
    let patches = retarget.retargeting().patches();
    let init_seconds = began.elapsed().as_secs_f64();
    let mut sums = Sums::default();
    animated::make_folder_for(&args.out)?;
    let written = match (&args.take, &args.frames) {
        (Some(name), _) => perform(name, &source, &target, &mut face, &mut retarget, args, &mut sums)?,
        (None, Some(_)) => follow(row.as_ref(), &target, &mut face, &mut retarget, args, &mut sums)?,
        (None, None) => {
            let shapes = carry_shapes(&mut face, &mut retarget, &mut sums)?;
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
        examples: examples.len(),
        patches,
        missing_mm: Missed {
            mean: MILLIMETRES * sums.mean(sums.missing[0]),
            worst: MILLIMETRES * sums.missing[1],
        },
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

fn method(asked: RetargetMethod) -> Method {
    match asked {
        RetargetMethod::Anacondar => Method::Anacondar,
        RetargetMethod::Adt => Method::Adt,
        RetargetMethod::Dt => Method::Dt,
        RetargetMethod::Ebfr => Method::Ebfr,
        RetargetMethod::Patches => Method::Patches,
        RetargetMethod::Linear => Method::Linear,
    }
}

/// Says where anatomy was refused.
fn notes(heads: &[(&Rig, &RetargetHead)], wanted: Method) -> Vec<String> {
    let refused = heads.iter().filter_map(|(rig, head)| Some((rig, head.refused()?)));
    let note = |(rig, problem): (&&Rig, &zygoma_head::fit::FitError)| {
        format!("{}: {problem}. Expressions are carried by the surface alone", rig.name)
    };
    let needs_anatomy = matches!(wanted, Method::Anacondar | Method::Adt);
    if needs_anatomy { refused.map(note).collect() } else { Vec::new() }
}

/// Expressions of the target that are learnt from.
fn read_examples(path: &Path, target: &Rig, head: &mut RetargetHead) -> anyhow::Result<Vec<Expression>> {
    let rig = read(path)?;
    let (own, wanted) = (rig.skin().positions.len(), target.skin().positions.len());
    if own != wanted {
        bail!(
            "{}: its skin has {own} vertices, but the target's has {wanted}; examples need the target's own vertices",
            path.display()
        );
    }
    if rig.skin().shapes.is_empty() {
        bail!("{}: it has no expressions to learn from", path.display());
    }
    Ok(head.examples(&rig))
}

/// A row of meshes with the source's vertices, as shapes of a rig.
fn read_row(folder: &Path, source: &Rig) -> anyhow::Result<Rig> {
    let row = read(folder)?;
    let (own, wanted) = (row.skin().positions.len(), source.skin().positions.len());
    if own != wanted {
        bail!("{}: its meshes have {own} vertices, but the source's has {wanted}", folder.display());
    }
    Ok(row)
}

/// The expressions whose mixtures show what belongs to the source: its shapes, or else meshes spread over its row.
fn source_expressions(face: &mut SourceFace, row: Option<&Rig>) -> Vec<Expression> {
    /// More meshes add little to their mixtures. Ours: as many as ARKit has shapes, and some.
    const MOST: usize = 60;
    let Some(row) = row.filter(|_| face.shape_count() == 0) else { return face.shapes() };
    let count = row.skin().shapes.len();
    let spread = (0..count.min(MOST)).map(|k| k * count / count.min(MOST));
    spread.map(|frame| face.expression_of_surface(&row_surface(row, frame))).collect()
}

/// One mesh of a row.
fn row_surface(row: &Rig, frame: usize) -> Vec<Vec3> {
    let skin = row.skin();
    let moved = skin.shapes[frame].deltas.to_dense(skin.positions.len());
    skin.positions.iter().zip(&moved).map(|(p, by)| *p + *by).collect()
}

fn carry_shapes(
    face: &mut SourceFace,
    retarget: &mut RigRetarget,
    sums: &mut Sums,
) -> anyhow::Result<Vec<CarriedShape>> {
    let count = face.shape_count();
    let mut bar = Progress::new("carrying shapes", count);
    let mut carry = |shape: usize| {
        bar.set(shape);
        let (carried, report) = retarget.shape(face, shape)?;
        sums.add(&report);
        Ok(carried)
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
        let (offsets, report) = retarget.frame(&face.expression(&weights))?;
        sums.add(&report);
        surfaces.push(&posed(target, &offsets));
    }
    drop(bar);
    write_frames(target, &take, surfaces, args)
}

/// The target follows surfaces of the source, one after the other, such as tracked meshes.
fn follow(
    row: Option<&Rig>,
    target: &Rig,
    face: &mut SourceFace,
    retarget: &mut RigRetarget,
    args: &RetargetArgs,
    sums: &mut Sums,
) -> anyhow::Result<Written> {
    let Some(row) = row else { return Ok(Written::default()) };
    let count = row.skin().shapes.len();
    let mut bar = Progress::new("carrying frames", count);
    let mut surfaces = StoredFrames::new(args.fps, target.skin().positions.len());
    for frame in 0..count {
        bar.set(frame);
        let (offsets, report) = retarget.frame(&face.expression_of_surface(&row_surface(row, frame)))?;
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
    if summary.examples > 0 {
        writeln!(
            out,
            "examples       {} on {} patches; {:.2} mm of an expression missing in them, {:.2} at most",
            summary.examples, summary.patches, summary.missing_mm.mean, summary.missing_mm.worst
        )?;
    }
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
