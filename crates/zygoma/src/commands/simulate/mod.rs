//! `zygoma simulate`

mod subject;
pub(crate) mod tissue;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use serde::Serialize;
use zygoma_face::body::{Body, RigBody};
use zygoma_face::model::Landmarks;
use zygoma_face::run::{DeviationSummary, Observer, Outcome, Performance, Performed, TouchScript};
use zygoma_face::shell::{RunParams, ShellBody};
use zygoma_face::tissue::Tissue;
use zygoma_rig::Take;
use zygoma_rig::binding::Binding;
use zygoma_rig::follow::Followers;
use zygoma_rig::jaw::jaw_driven_shapes;
use zygoma_rig::take::LargeWeight;

use crate::cli::{BodyArg, SimulateArgs};
use crate::commands::animated::{self, CacheFile, CompressionSummary, Format};
use crate::commands::input;
use crate::markers::FollowedMarkers;
use crate::progress::Progress;
use crate::reports::{self, simulation::Story};
use crate::tissue_input::RigInside;
use crate::watched::WatchedSummary;
use subject::Subject;
use tissue::{TissueObserver, TissueSummary};

/// The result of a simulation.
#[derive(Serialize)]
struct Summary {
    input: String,
    body: &'static str,
    out: String,
    take: String,
    frames: usize,
    fps: f64,
    /// Tracks of the take, and those of them that drive no shape of the rig.
    tracks: usize,
    unmatched: Vec<String>,
    /// Tracks whose weights leave the usual range.
    large_weights: Vec<LargeWeight>,
    #[serde(skip)]
    warning: Option<String>,
    triangles: usize,
    touches: usize,
    /// Distance of the surface from the plain rig.
    deviation: Option<DeviationSummary>,
    /// The same without the frames in which something touches the face.
    untouched_deviation: Option<DeviationSummary>,
    penetration_percent: f64,
    penetration_mm: f64,
    /// The largest force of all touches together on the head.
    #[serde(skip_serializing_if = "Option::is_none")]
    force_n: Option<f64>,
    #[serde(flatten)]
    tissue: Option<TissueSummary>,
    #[serde(flatten)]
    watched: WatchedSummary,
    /// A sentence for each collider that passed through the face instead of touching it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut_through: Vec<String>,
    milliseconds_per_frame: f64,
    stages_ms: BTreeMap<&'static str, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compression: Option<CompressionSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caches: Vec<CacheFile>,
    seconds: f64,
}

/// A body, and the data that only tissue has.
struct Made {
    body: Box<dyn Body>,
    tissue: Option<MadeTissue>,
}

struct MadeTissue {
    tissue: Arc<Tissue>,
    inside: RigInside,
    markers: Option<FollowedMarkers>,
}

/// Shows progress and records each frame.
struct Watcher {
    bar: Progress,
    tissue: TissueObserver,
}

impl Observer for Watcher {
    fn progress(&mut self, done: usize, _total: usize) {
        self.bar.set(done);
    }

    fn frame(&mut self, body: &dyn Body, frame: &Performed<'_>) {
        self.tissue.note(body, frame);
    }
}

pub(crate) fn run(args: &SimulateArgs, verbose: bool) -> anyhow::Result<()> {
    let began = Instant::now();
    let format = Format::of(&args.performance.out)?;
    let mut subject = Subject::open(args, format)?;
    check_flags(args, subject.body)?;
    let take_name = args.performance.take.as_deref();
    let mut take = match take_name {
        Some(name) => input::read_take(name, &subject.rig, args.performance.map.as_deref())?,
        None => Take::default(),
    };
    if let (Some(name), None) = (take_name, &args.markers) {
        input::check_match(&subject.rig, &subject.rig_path, &take, name)?;
    }
    // Report a mistake in the parameters before the slow work.
    let tissue_params = match subject.body {
        BodyArg::Tissue => Some(tissue::params(args)?),
        BodyArg::Shell | BodyArg::Rig => None,
    };
    let shell_params: Option<RunParams> = match subject.body {
        BodyArg::Shell => Some(input::read_params(args.params.as_deref())?),
        BodyArg::Tissue | BodyArg::Rig => None,
    };
    let face = &subject.face(args)?;
    let rig = &subject.rig;
    let places = Landmarks::new(face);
    let touches = match &args.touch {
        Some(path) => TouchScript::read(path, face, &places)?,
        None => TouchScript::default(),
    };
    let mut made = match (tissue_params, shell_params) {
        (Some(params), _) => {
            let jaw = jaw_driven_shapes(rig.skin());
            let inside = RigInside::new(rig, face, jaw, args.thickness.as_deref(), &args.free)?;
            let tissue = tissue::build_with_progress(&inside.tissue(face), &params);
            let tissue = Arc::new(tissue.with_context(|| args.input.display().to_string())?);
            subject.keep(face, &tissue);
            let read = |path: &std::path::PathBuf| FollowedMarkers::read(path, &tissue);
            let markers = args.markers.as_ref().map(read).transpose()?;
            let body = Box::new(tissue::body_of(rig, &tissue, markers.as_ref())?);
            Made { body, tissue: Some(MadeTissue { tissue, inside, markers }) }
        }
        (None, Some(params)) => {
            let params = RunParams { sleep_after: None, normals: false, ..params };
            let body = ShellBody::new(face, params).with_context(|| args.input.display().to_string())?;
            Made { body: Box::new(body), tissue: None }
        }
        (None, None) => Made { body: Box::new(RigBody::new(face)), tissue: None },
    };
    let markers = made.tissue.as_ref().and_then(|made| made.markers.as_ref());
    if let Some(markers) = markers {
        markers.replace_weights(rig, &mut take);
    }
    let fps = args.performance.fps;
    input::check_length(&take, fps)?;
    animated::make_folder_for(&args.performance.out)?;
    let performance = Performance {
        face,
        places: &places,
        rig,
        take: &take,
        markers: markers.map(|markers| &markers.take),
        touches: &touches,
        fps,
        folder: zygoma_files::folder_of(&args.performance.out),
    };
    let mut watcher = Watcher {
        bar: Progress::new("simulating frames", take.frame_count(fps)),
        tissue: TissueObserver::new(rig),
    };
    let outcome = performance.run(made.body.as_mut(), &mut watcher)?;
    let log = watcher.tissue.log;
    drop(watcher.bar);
    let deepest = f64::from(outcome.penetration.iter().copied().fold(0.0, f32::max));
    let mut summary = Summary {
        input: args.input.display().to_string(),
        body: made.body.name(),
        out: args.performance.out.display().to_string(),
        take: take.name.clone(),
        frames: outcome.deviations.len(),
        fps,
        tracks: take.weights.len(),
        unmatched: Binding::new(rig, &take).unmatched,
        large_weights: take.large_weights(),
        warning: take.weight_warning(),
        triangles: face.coarse.triangles.len(),
        touches: touches.touches.len(),
        deviation: outcome.deviation(face, &places, false),
        untouched_deviation: outcome.deviation(face, &places, true),
        penetration_percent: 100.0 * deepest / face.height,
        penetration_mm: 1e3 * deepest,
        force_n: (!log.touches.is_empty() && args.touch.is_some()).then(|| log.strongest()),
        tissue: made
            .tissue
            .as_ref()
            .map(|made| TissueSummary::new(&made.tissue, &made.inside, made.markers.as_ref(), &log)),
        watched: WatchedSummary::of(&outcome.gate),
        cut_through: outcome.cut_through(),
        milliseconds_per_frame: outcome.frame_ms,
        stages_ms: outcome.stages_ms.clone(),
        compression: None,
        caches: Vec::new(),
        seconds: 0.0,
    };
    let mut lines = summary.lines();
    lines.extend(made.tissue.iter().flat_map(|made| made.inside.lines()));
    if let Some(folder) = &args.performance.report {
        let story = Story { face, rig, take: &take, touches: &touches, outcome: &outcome };
        match &made.tissue {
            Some(made) => reports::tissue::write(folder, &story, &log, &made.tissue, &lines)?,
            None => reports::simulation::write(folder, &story, &lines)?,
        }
    }
    let Outcome { frames, props, .. } = outcome;
    let followers = Followers::new(rig);
    let performed = animated::Performed { rig, take: &take, followers: &followers, props: &props };
    let written = animated::write(&performed, frames, &args.performance.out, &args.performance.animated)?;
    summary.caches = written.caches.clone();
    summary.seconds = began.elapsed().as_secs_f64();
    if args.performance.json {
        summary.compression = written.compression;
        crate::json::print(&summary)?;
    } else {
        let unmatched: &[String] = if verbose { &summary.unmatched } else { &[] };
        animated::tell(&lines, unmatched, &written, summary.seconds)?;
    }
    summary.watched.check()
}

/// Refuses flags that do not apply to the body.
fn check_flags(args: &SimulateArgs, body: BodyArg) -> anyhow::Result<()> {
    let name = match body {
        BodyArg::Rig => "rig",
        BodyArg::Shell => "shell",
        BodyArg::Tissue => return Ok(()),
    };
    let only_tissue = [
        ("--markers", args.markers.is_some()),
        ("--sticky", args.sticky),
        ("--seed", args.seed.is_some()),
        ("--actuation", args.actuation.is_some()),
        ("--free", !args.free.is_empty()),
        ("--thickness", args.thickness.is_some()),
    ];
    if let Some((flag, _)) = only_tissue.iter().find(|(_, given)| *given) {
        bail!("{flag} needs soft tissue, and the body is '{name}'; add --body tissue");
    }
    if body == BodyArg::Rig && args.touch.is_some() {
        bail!("the plain rig cannot be touched; choose --body shell or --body tissue");
    }
    Ok(())
}

impl Summary {
    /// The summary, one sentence per line.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{} → {}: {}, take {}, {} frames at {} fps, {:.2} ms each",
            self.input, self.out, self.body, self.take, self.frames, self.fps, self.milliseconds_per_frame
        )];
        lines.extend(self.warning.iter().map(|warning| format!("problem: {warning}")));
        if self.tracks > 0 && self.unmatched.len() == self.tracks {
            lines.push(format!(
                "no shape of the rig has the name of one of the take's {} tracks: only the head moves; 'zygoma info' lists the shapes",
                self.tracks
            ));
        }
        if let Some(deviation) = &self.untouched_deviation {
            lines.push(format!("untouched, the {} leaves the rig by {deviation}", self.body));
        }
        if let (true, Some(deviation)) = (self.touches > 0, &self.deviation) {
            lines.push(format!("touched, it leaves the rig by {deviation}"));
            let force = self.force_n.map_or_else(String::new, |force| {
                format!("; touches press and pull at the head with up to {force:.2} N")
            });
            lines.push(format!(
                "nothing is deeper in the skin than {:.3} % of the height ({:.3} mm){force}",
                self.penetration_percent, self.penetration_mm
            ));
        }
        lines.extend(self.tissue.iter().flat_map(TissueSummary::lines));
        lines.extend(self.watched.line());
        lines.extend(self.cut_through.iter().cloned());
        lines
    }
}
