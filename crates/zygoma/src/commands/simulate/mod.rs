//! `zygoma simulate`

pub(crate) mod anatomical;
mod dials;
pub(crate) mod enriched;
mod hands;
mod materials;
mod subject;
mod summary;
mod thickness;
pub(crate) mod tissue;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use zygoma_face::anatomical::{AnatomicalBody, AnatomicalParams};
use zygoma_face::body::{Body, RigBody};
use zygoma_face::enriched::{EnrichedBody, EnrichedParams, MaterialPaint};
use zygoma_face::model::{FaceCache, FaceModel, Landmarks};
use zygoma_face::retarget::PointSet;
use zygoma_face::run::{About, Hands, Observer, Outcome, Performance, Performed, Recording, TouchScript};
use zygoma_face::shell::{RunParams, ShellBody};
use zygoma_face::tissue::{PublishedBody, Tissue, TissueInput, TissueParams, TissueVolume};
use zygoma_rig::Take;
use zygoma_rig::follow::Followers;
use zygoma_rig::formats::plain_csv::write_take;

use crate::cli::{AnatomyArg, BodyArg, SimulateArgs};
use crate::commands::animated::{self, Format};
use crate::commands::input;
use crate::markers::{FollowedMarkers, TrackedMarkers};
use crate::progress::Progress;
use crate::props::hand_props;
use crate::reports::enriched::EnrichedLog;
use crate::reports::tissue::FrameLog;
use crate::reports::{self, simulation::ReportInput};
use anatomical::AnatomicalLog;
pub(crate) use dials::WantedDials;
use subject::Subject;
use summary::Summary;
use thickness::read_thickness;
use tissue::TissueObserver;

/// A body, and the data that only tissue has.
struct Made {
    body: Box<dyn Body>,
    tissue: Option<MadeTissue>,
    /// Markers that an anatomical face follows.
    landmarks: Option<FollowedMarkers>,
}

/// Records of all frames.
struct Logs {
    tissue: FrameLog,
    enriched: EnrichedLog,
    anatomical: AnatomicalLog,
}

impl Made {
    fn of(body: impl Body) -> Self {
        Self { body: Box::new(body), tissue: None, landmarks: None }
    }

    fn markers(&self) -> Option<&FollowedMarkers> {
        followed(self.tissue.as_ref(), self.landmarks.as_ref())
    }

    fn enriched(&self) -> Option<&EnrichedBody> {
        self.body.downcast_ref()
    }

    fn anatomical(&self) -> Option<&AnatomicalBody> {
        self.body.downcast_ref()
    }
}

/// The markers that tissue or an anatomical face follows.
fn followed<'a>(
    tissue: Option<&'a MadeTissue>,
    landmarks: Option<&'a FollowedMarkers>,
) -> Option<&'a FollowedMarkers> {
    tissue.and_then(|tissue| tissue.markers.as_ref()).or(landmarks)
}

struct MadeTissue {
    tissue: Arc<Tissue>,
    markers: Option<FollowedMarkers>,
}

/// Shows progress and records each frame.
struct Watcher<'a> {
    face: &'a FaceModel,
    bar: Progress,
    tissue: TissueObserver,
    enriched: EnrichedLog,
    anatomical: AnatomicalLog,
}

impl Observer for Watcher<'_> {
    fn progress(&mut self, done: usize, _total: usize) {
        self.bar.set(done);
    }

    fn frame(&mut self, body: &dyn Body, frame: &Performed<'_>) {
        self.tissue.note(body, frame);
        self.enriched.note(body, frame);
        self.anatomical.note(body, self.face, frame);
    }
}

pub(crate) fn run(args: &SimulateArgs, verbose: bool) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut scene = Scene::read(args)?;
    let mut made = scene.make_body(args)?;
    if let Some(markers) = made.markers() {
        markers.replace_weights(&scene.subject.rig, &mut scene.take);
        if let Some(path) = &args.take_out {
            animated::make_folder_for(path)?;
            write_take(&scene.take, path)?;
        }
    }
    input::check_length(&scene.take, args.performance.fps)?;
    animated::make_folder_for(&args.performance.out)?;
    let (outcome, logs) = scene.perform(&mut made, args)?;
    let mut summary = Summary::new(args, &scene, &made, &outcome, &logs);
    let mut lines = summary.lines();
    if made.tissue.is_some() || made.enriched().is_some() || made.anatomical().is_some() {
        lines.extend(scene.face.inside.lines());
    }
    if let Some(folder) = &args.performance.report {
        let Scene { subject: Subject { rig, .. }, face, take, touches, .. } = &scene;
        let input = ReportInput { face, rig, take, touches, outcome: &outcome };
        match &made.tissue {
            Some(made) => reports::tissue::write(folder, &input, &logs.tissue, &made.tissue, &lines)?,
            None if made.enriched().is_some() => {
                reports::enriched::write(folder, &input, &logs.enriched, &lines)?;
            }
            None => reports::simulation::write(folder, &input, &lines)?,
        }
    }
    let written = scene.write(outcome, args)?;
    summary.caches = written.caches.clone();
    summary.seconds = began.elapsed().as_secs_f64();
    if args.performance.json {
        summary.compression = written.compression;
        crate::json::print(&summary)?;
    } else {
        let unmatched: &[String] = if verbose { &summary.unmatched } else { &[] };
        animated::print(&lines, unmatched, &written, summary.seconds)?;
    }
    summary.watched.check()
}

/// All that is simulated: a face, its take and its touches.
struct Scene {
    subject: Subject,
    params: BodyParams,
    face: FaceModel,
    places: Landmarks,
    take: Take,
    markers: Option<TrackedMarkers>,
    /// Weights of the materials, where they are not those of the take.
    material_take: Option<Take>,
    /// Painted materials of an enriched face.
    paints: Vec<MaterialPaint>,
    touches: TouchScript,
    hands: Hands,
}

/// Parameters of a body.
enum BodyParams {
    Rig,
    Shell(RunParams),
    Tissue(TissueParams),
    Enriched(EnrichedParams),
    Anatomical(AnatomicalParams, Box<WantedDials>),
}

impl BodyParams {
    fn read(args: &SimulateArgs, body: BodyArg) -> anyhow::Result<Self> {
        Ok(match body {
            BodyArg::Rig => Self::Rig,
            BodyArg::Shell => {
                let params: RunParams = input::read_params(args.params.as_deref())?;
                Self::Shell(RunParams { sleep_after: None, normals: false, ..params })
            }
            BodyArg::Tissue => Self::Tissue(tissue::params(args)?),
            BodyArg::Enriched => Self::Enriched(enriched::params(args)?),
            BodyArg::Anatomical => {
                let dials = Box::new(WantedDials::read(&args.dials)?);
                Self::Anatomical(input::read_params(args.params.as_deref())?, dials)
            }
        })
    }
}

impl Scene {
    /// Reads all input, and builds the face where it was not built before.
    fn read(args: &SimulateArgs) -> anyhow::Result<Self> {
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
        let track = |path: &PathBuf| TrackedMarkers::read(path, args.set.map(PointSet::from), &subject.rig);
        let markers = args.markers.as_ref().map(track).transpose()?;
        if let (None, Some(head)) = (take_name, markers.as_ref().and_then(|markers| markers.head.clone())) {
            take.motions.push(head);
        }
        if args.still_head {
            take.motions.clear();
        }
        let read = |name: &String| {
            let take = input::read_take(name, &subject.rig, args.performance.map.as_deref())?;
            input::check_match(&subject.rig, &subject.rig_path, &take, name)?;
            anyhow::Ok(take)
        };
        let material_take = args.material_take.as_ref().map(read).transpose()?;
        let hands = hands::read(args)?;
        // Report a mistake in the parameters before the slow work.
        let params = BodyParams::read(args, subject.body)?;
        let face = subject.face(args)?;
        let places = Landmarks::new(&face);
        let touches = match &args.touch {
            Some(path) => TouchScript::read(path, &face, &places)?,
            None => TouchScript::default(),
        };
        let paints = match &args.materials {
            Some(folder) => materials::read(folder, &subject.rig, &face, &places)?,
            None => Vec::new(),
        };
        Ok(Self { subject, params, face, places, take, markers, material_take, paints, touches, hands })
    }

    fn make_body(&self, args: &SimulateArgs) -> anyhow::Result<Made> {
        let named = || args.input.display().to_string();
        match &self.params {
            BodyParams::Rig => Ok(Made::of(RigBody::new(&self.face))),
            BodyParams::Shell(params) => {
                let body = ShellBody::new(&self.face, params.clone()).with_context(named)?;
                Ok(Made::of(body))
            }
            BodyParams::Tissue(params) => self.make_tissue(args, params),
            BodyParams::Enriched(params) => {
                let enriched = enriched::build_with_progress(&self.face, params).with_context(named)?;
                self.subject.keep_volumes(&self.face, &enriched);
                let mut body = EnrichedBody::new(Arc::new(enriched)).with_context(named)?;
                if !self.paints.is_empty() {
                    body.paint(&self.paints);
                }
                Ok(Made::of(body))
            }
            BodyParams::Anatomical(params, dials) => {
                let dials = dials.on(&self.face, &self.subject.rig)?;
                let head = anatomical::build(&self.face, params, &dials).with_context(named)?;
                anatomical::body_of(head, self.markers.as_ref()).with_context(named)
            }
        }
    }

    fn make_tissue(&self, args: &SimulateArgs, params: &TissueParams) -> anyhow::Result<Made> {
        let read = |path: &PathBuf| read_thickness(path, self.face.vertex_count());
        let thickness = args.thickness.as_ref().map(read).transpose()?;
        let input = TissueInput { thickness: thickness.as_deref(), ..TissueInput::new(&self.face) };
        let tissue = tissue::build_with_progress(&input, params);
        let tissue = Arc::new(tissue.with_context(|| args.input.display().to_string())?);
        self.subject.keep(&self.face, &tissue);
        let attach = |tracked: &TrackedMarkers| FollowedMarkers::of_tissue(tracked, &tissue);
        let markers = self.markers.as_ref().map(attach).transpose()?;
        let body: Box<dyn Body> = match hands::published(args) {
            Some(options) => Box::new(PublishedBody::new(tissue.clone(), options)?),
            None => Box::new(tissue::body_of(&tissue, markers.as_ref())?),
        };
        Ok(Made { body, tissue: Some(MadeTissue { tissue, markers }), landmarks: None })
    }

    /// Everything that frames of an enriched face depend on besides the take.
    fn about(&self, args: &SimulateArgs) -> About {
        let params = match &self.params {
            BodyParams::Enriched(params) => Some(params),
            _ => None,
        };
        let paint = format!("{:?}", self.paints);
        let mut anatomy = DefaultHasher::new();
        for point in TissueVolume::of_face(&self.face).iter().flat_map(|volume| &volume.mesh.positions) {
            point.to_array().map(f64::to_bits).hash(&mut anatomy);
        }
        let skin = self.face.coarse.vertex_count();
        About {
            fps: args.performance.fps,
            body: "enriched".to_owned(),
            key: FaceCache::key(&self.subject.rig, &(params, paint, anatomy.finish(), skin)),
        }
    }

    /// Lets the body perform the take.
    fn perform(&self, made: &mut Made, args: &SimulateArgs) -> anyhow::Result<(Outcome, Logs)> {
        let fps = args.performance.fps;
        let read = |path: &PathBuf| enriched::read_recording(path, &self.about(args));
        let edit_of = args.edit_of.as_ref().map(read).transpose()?;
        let Made { body, tissue, landmarks } = made;
        let performance = Performance {
            face: &self.face,
            places: &self.places,
            rig: &self.subject.rig,
            take: &self.take,
            markers: followed(tissue.as_ref(), landmarks.as_ref()).map(|markers| &markers.take),
            materials: self.material_take.as_ref(),
            edit_of: edit_of.as_ref(),
            touches: &self.touches,
            hands: Some(&self.hands),
            fps,
            folder: zygoma_files::folder_of(&args.performance.out),
        };
        let mut watcher = Watcher {
            face: &self.face,
            bar: Progress::new("simulating frames", self.take.frame_count(fps)),
            tissue: TissueObserver::new(&self.subject.rig),
            enriched: EnrichedLog::new(&self.places),
            anatomical: AnatomicalLog::default(),
        };
        let mut record = args.record.as_ref().map(|_| Recording::new(self.about(args)));
        let outcome = performance.run_recorded(body.as_mut(), &mut watcher, record.as_mut())?;
        if let (Some(path), Some(record)) = (&args.record, &record) {
            record.write(path)?;
        }
        let Watcher { tissue, enriched, anatomical, .. } = watcher;
        Ok((outcome, Logs { tissue: tissue.log, enriched, anatomical }))
    }

    /// Writes the frames.
    fn write(&self, outcome: Outcome, args: &SimulateArgs) -> anyhow::Result<animated::Written> {
        let rig = &self.subject.rig;
        let Outcome { frames, mut props, hands, .. } = outcome;
        props.extend(hands.iter().flat_map(hand_props));
        let followers = Followers::new(rig);
        let performed = animated::Performed { rig, take: &self.take, followers: &followers, props: &props };
        animated::write(&performed, frames, &args.performance.out, &args.performance.animated)
    }
}

/// Refuses an anatomy that a body has no use for, and none for a body that is made of it.
fn check_anatomy(wanted: &AnatomyArg, body: BodyArg) -> anyhow::Result<()> {
    match (body, wanted) {
        (_, AnatomyArg::Auto) => Ok(()),
        (BodyArg::Anatomical, AnatomyArg::None) => {
            bail!(
                "an anatomical face is made of its anatomy; leave --anatomy none out, or choose another --body"
            )
        }
        (BodyArg::Rig | BodyArg::Shell, _) => {
            bail!("--anatomy needs tissue under the skin; add --body tissue, enriched or anatomical")
        }
        _ => Ok(()),
    }
}

/// Refuses flags that do not apply to the body.
fn check_flags(args: &SimulateArgs, body: BodyArg) -> anyhow::Result<()> {
    let name = match body {
        BodyArg::Rig => "rig",
        BodyArg::Shell => "shell",
        BodyArg::Tissue => "tissue",
        BodyArg::Enriched => "enriched",
        BodyArg::Anatomical => "anatomical",
    };
    if args.markers.is_some() && !matches!(body, BodyArg::Tissue | BodyArg::Anatomical) {
        bail!(
            "--markers needs soft tissue, and the body is '{name}'; add --body tissue or --body anatomical"
        );
    }
    let only_tissue = [
        ("--sticky", args.sticky),
        ("--seed", args.seed.is_some()),
        ("--actuation", args.actuation.is_some()),
        ("--free", !args.free.is_empty()),
        ("--thickness", args.thickness.is_some()),
        ("--hands-method", args.hands_method.is_some()),
    ];
    if let (true, Some((flag, _))) = (body != BodyArg::Tissue, only_tissue.iter().find(|(_, given)| *given)) {
        bail!("{flag} needs soft tissue, and the body is '{name}'; add --body tissue");
    }
    let only_enriched = [
        ("--rebalance", args.rebalance.is_some()),
        ("--contact", args.contact.is_some()),
        ("--materials", args.materials.is_some()),
        ("--material-take", args.material_take.is_some()),
        ("--record", args.record.is_some()),
        ("--edit-of", args.edit_of.is_some()),
    ];
    if let (true, Some((flag, _))) =
        (body != BodyArg::Enriched, only_enriched.iter().find(|(_, given)| *given))
    {
        bail!("{flag} needs an enriched face, and the body is '{name}'; add --body enriched");
    }
    check_anatomy(&args.anatomy, body)?;
    if body != BodyArg::Anatomical && !args.dials.is_empty() {
        bail!("--dial needs an anatomical face, and the body is '{name}'; add --body anatomical");
    }
    let is_touched = args.touch.is_some() || args.hands.is_some();
    if is_touched && body == BodyArg::Rig {
        bail!("the plain rig cannot be touched; choose --body shell, tissue, enriched or anatomical");
    }
    Ok(())
}
