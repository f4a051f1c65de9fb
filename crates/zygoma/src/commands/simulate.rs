//! `zygoma simulate`

use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::shell::RunParams;
use zygoma_rig::Rig;
use zygoma_rig::binding::Binding;
use zygoma_rig::follow::Followers;
use zygoma_rig::formats::Limits;
use zygoma_rig::take::LargeWeight;

use crate::cli::SimulateArgs;
use crate::commands::animated::{self, CacheFile, CompressionSummary, Format};
use crate::commands::input;
use crate::reports::{self, simulation::Story};
use crate::simulation::{DeviationSummary, OfflineShell, Outcome, Performance, StagesMs};
use crate::touch_script::TouchScript;
use crate::watched::WatchedSummary;

/// What a simulation did.
#[derive(Serialize)]
struct Summary {
    face: String,
    out: String,
    take: String,
    frames: usize,
    fps: f64,
    /// Tracks of the take that no shape of the rig answers to.
    unmatched: Vec<String>,
    /// Tracks whose weights leave the usual range.
    large_weights: Vec<LargeWeight>,
    #[serde(skip)]
    warning: Option<String>,
    touches: usize,
    /// How far the surface is from the plain rig.
    deviation: Option<DeviationSummary>,
    /// The same without the frames in which something touches the face.
    untouched_deviation: Option<DeviationSummary>,
    penetration_percent: f64,
    penetration_mm: f64,
    #[serde(flatten)]
    watched: WatchedSummary,
    /// What cut through the face instead of touching it, as sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut_through: Vec<String>,
    milliseconds_per_frame: f64,
    stages_ms: StagesMs,
    #[serde(skip_serializing_if = "Option::is_none")]
    compression: Option<CompressionSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caches: Vec<CacheFile>,
    seconds: f64,
}

pub(crate) fn run(args: &SimulateArgs, verbose: bool) -> anyhow::Result<()> {
    let began = Instant::now();
    let format = Format::of(&args.performance.out)?;
    let params: RunParams = input::read_params(args.params.as_deref())?;
    let face = FaceModel::read(&args.face, &Limits::default())?;
    let places = Landmarks::new(&face);
    let touches = match &args.touch {
        Some(path) => TouchScript::read(path, &face, &places)?,
        None => TouchScript::default(),
    };
    let rig = rig_of(&face, args, format)?;
    let name = args.performance.take.as_deref().unwrap_or_default();
    let take = input::read_take(name, &rig, args.performance.map.as_deref())?;
    let origin = args.rig.as_deref().or(face.origin.path.as_deref().map(Path::new));
    input::check_match(&rig, origin.unwrap_or(&args.face), &take, name)?;
    let fps = args.performance.fps;
    input::check_length(&take, fps)?;
    animated::make_folder_for(&args.performance.out)?;
    let folder = zygoma_files::folder_of(&args.performance.out);
    let performance =
        Performance { face: &face, places: &places, rig: &rig, take: &take, touches: &touches, fps, folder };
    let outcome = performance.run(&mut OfflineShell::new(&face, params)?)?;
    let deepest = f64::from(outcome.penetration.iter().copied().fold(0.0, f32::max));
    let mut summary = Summary {
        face: args.face.display().to_string(),
        out: args.performance.out.display().to_string(),
        take: take.name.clone(),
        frames: outcome.deviations.len(),
        fps: args.performance.fps,
        unmatched: Binding::new(&rig, &take).unmatched,
        large_weights: take.large_weights(),
        warning: take.weight_warning(),
        touches: touches.touches.len(),
        deviation: outcome.deviation(&face, &places, false),
        untouched_deviation: outcome.deviation(&face, &places, true),
        penetration_percent: 100.0 * deepest / face.height,
        penetration_mm: 1e3 * deepest,
        watched: WatchedSummary::of(&outcome.gate),
        cut_through: outcome.cut_through(),
        milliseconds_per_frame: outcome.frame_ms,
        stages_ms: outcome.stages.clone(),
        compression: None,
        caches: Vec::new(),
        seconds: 0.0,
    };
    if let Some(folder) = &args.performance.report {
        let story = Story { face: &face, rig: &rig, take: &take, touches: &touches, outcome: &outcome };
        reports::simulation::write(folder, &story, &summary.lines())?;
    }
    let Outcome { frames, props, .. } = outcome;
    let followers = Followers::new(&rig);
    let performed = animated::Performed { rig: &rig, take: &take, followers: &followers, props: &props };
    let written = animated::write(&performed, frames, &args.performance.out, &args.performance.animated)?;
    summary.caches = written.caches.clone();
    summary.seconds = began.elapsed().as_secs_f64();
    if args.performance.json {
        summary.compression = written.compression;
        crate::json::print(&summary)?;
    } else {
        let unmatched: &[String] = if verbose { &summary.unmatched } else { &[] };
        animated::tell(&summary.lines(), unmatched, &written, summary.seconds)?;
    }
    summary.watched.check()
}

/// The rig that results go back to. A point cache can do without it: the face knows its vertices.
fn rig_of(face: &FaceModel, args: &SimulateArgs, format: Format) -> anyhow::Result<Rig> {
    match input::read_origin(face, &args.face, args.rig.as_deref()) {
        Err(_) if format.is_cache() && args.rig.is_none() => Ok(face.stand_in()),
        found => found,
    }
}

impl Summary {
    /// What it says, a sentence a line.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{} → {}: take {}, {} frames at {} fps, {:.2} ms each",
            self.face, self.out, self.take, self.frames, self.fps, self.milliseconds_per_frame
        )];
        lines.extend(self.warning.iter().map(|warning| format!("problem: {warning}")));
        if let Some(deviation) = &self.untouched_deviation {
            lines.push(format!("untouched, the face follows the rig: {deviation}"));
        }
        if let (true, Some(deviation)) = (self.touches > 0, &self.deviation) {
            lines.push(format!("touched, it leaves the rig by {deviation}"));
            lines.push(format!(
                "nothing is deeper in the skin than {:.3} % of the height ({:.3} mm)",
                self.penetration_percent, self.penetration_mm
            ));
        }
        lines.extend(self.watched.line());
        lines.extend(self.cut_through.iter().cloned());
        lines
    }
}
