//! Parameters, build and summary of anatomical faces.

use std::sync::Arc;

use anyhow::anyhow;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::anatomical::{
    Anatomical, AnatomicalBody, AnatomicalError, AnatomicalParams, Dials, PlainVolume,
};
use zygoma_face::body::Body;
use zygoma_face::model::{FaceCache, FaceModel};
use zygoma_face::run::{Performed, watch::Crossings};
use zygoma_numerics::Budget;
use zygoma_rig::Rig;
use zygoma_rig::formats::markers::MarkerPlace;

use super::Made;
use super::enriched::take_anatomy;
use crate::cli::AnatomyArg;
use crate::markers::{FollowedMarkers, TrackedMarkers};
use crate::progress::Progress;

/// Volumes are measured in one frame out of this many: the plain rig takes as long as the simulation.
const MEASURED: usize = 5;

/// A face with its anatomy, which may be in the cache.
pub(crate) fn face_of(
    rig: &Rig,
    triangles: usize,
    no_cache: bool,
    wanted: &AnatomyArg,
) -> anyhow::Result<FaceModel> {
    // A file may change without its name.
    let is_told = matches!(wanted, AnatomyArg::Of(_));
    let cache = if no_cache || is_told { None } else { FaceCache::of_user() };
    let key = FaceCache::key(rig, &("anatomical", triangles));
    if let Some(face) = cache.as_ref().and_then(|cache| cache.find(key, rig.skin())) {
        return Ok(face);
    }
    let mut face = FaceModel::of_rig(rig, triangles, &Budget::default())?;
    add_anatomy(&mut face, rig, wanted)?;
    if let Some(cache) = cache {
        cache.keep(key, &face);
    }
    Ok(face)
}

/// Fits bones and tissue into a face that has none, or takes those of a file.
pub(super) fn add_anatomy(face: &mut FaceModel, rig: &Rig, wanted: &AnatomyArg) -> anyhow::Result<()> {
    if let AnatomyArg::Of(path) = wanted {
        return take_anatomy(face, path);
    }
    let bar = Progress::new("fitting bones and tissue", 1);
    let fitted = face.add_anatomy(rig);
    drop(bar);
    Ok(fitted?)
}

/// Builds a head and sets its dials.
pub(crate) fn build(
    face: &FaceModel,
    params: &AnatomicalParams,
    dials: &Dials,
) -> anyhow::Result<Arc<Anatomical>> {
    let bar = Progress::new("setting up tissue and bones", 1);
    let head = Anatomical::build(face, params)?;
    let head = if *dials == Dials::default() { head } else { head.with_dials(dials)? };
    drop(bar);
    Ok(Arc::new(head))
}

/// The body of a head, which may follow markers.
pub(super) fn body_of(head: Arc<Anatomical>, markers: Option<&TrackedMarkers>) -> anyhow::Result<Made> {
    let Some(tracked) = markers else { return Ok(Made::of(AnatomicalBody::new(head)?)) };
    let TrackedMarkers { path, take, .. } = tracked;
    let places: Vec<MarkerPlace> = take.markers.iter().map(|(_, place)| *place).collect();
    let body = AnatomicalBody::following(head, &places).map_err(|problem| match &problem {
        AnatomicalError::Landmark(landmark) => {
            let (name, _) = &take.markers[landmark.point];
            anyhow!("{}: the marker '{name}' is not on the simulated skin", path.display())
        }
        _ => problem.into(),
    })?;
    let landmarks = FollowedMarkers::of_anatomical(tracked, &body);
    Ok(Made { landmarks: Some(landmarks), ..Made::of(body) })
}

/// Measures of an anatomical face, frame by frame.
#[derive(Default)]
pub(super) struct AnatomicalLog {
    tools: Option<Tools>,
    frame: usize,
    volumes: Vec<[f64; 3]>,
    inverted: usize,
    iterations: Vec<usize>,
    crossings: [usize; 2],
    jaw: f64,
    /// Mean and worst distance from tracked points, m, and the number of outliers.
    misses: Vec<([f64; 2], usize)>,
}

/// Measures of an anatomical face beside its plain rig.
pub(crate) struct Tools {
    pub(crate) plain: PlainVolume,
    lips: Crossings,
    upper: usize,
}

impl Tools {
    pub(crate) fn new(body: &AnatomicalBody, face: &FaceModel) -> Option<Self> {
        let [upper, lower] = face.lip_triangles();
        let count = upper.len();
        let lips = Crossings::new(&face.neutral, upper.into_iter().chain(lower).collect());
        Some(Self { plain: PlainVolume::new(body.anatomical()).ok()?, lips, upper: count })
    }

    /// Pairs of triangles, one of each lip, that cross.
    pub(crate) fn crossings(&mut self, surface: &[Vec3]) -> usize {
        let upper = self.upper;
        let is_between = |pair: &&(u32, u32)| ((pair.0 as usize) < upper) != ((pair.1 as usize) < upper);
        self.lips.find(surface).iter().filter(is_between).count()
    }
}

impl AnatomicalLog {
    /// Records a frame of an anatomical face; ignores other bodies.
    pub(super) fn note(&mut self, body: &dyn Body, face: &FaceModel, frame: &Performed<'_>) {
        let Some(body) = body.downcast_ref::<AnatomicalBody>() else { return };
        if self.tools.is_none() {
            self.tools = Tools::new(body, face);
        }
        let Some(tools) = &mut self.tools else { return };
        self.iterations.push(body.iterations());
        self.misses.extend(body.landmark_miss());
        self.crossings[0] += usize::from(tools.crossings(frame.shown) > 0);
        self.crossings[1] += usize::from(tools.crossings(frame.plain) > 0);
        let angle = body.jaw().rotation.to_axis_angle().1.to_degrees();
        self.jaw = self.jaw.max(angle.min(360.0 - angle));
        if self.frame.is_multiple_of(MEASURED) {
            let change = body.volume_change();
            let plain = tools.plain.change(body.anatomical(), frame.weights);
            self.volumes.push([change.mean, change.p95, plain.mean]);
            self.inverted = self.inverted.max(change.inverted);
        }
        self.frame += 1;
    }
}

/// The summary of an anatomical face, beside that of every body.
#[derive(Serialize)]
pub(super) struct AnatomicalSummary {
    nodes: usize,
    tetrahedra: usize,
    volume: Volume,
    /// Frames in which the lips cross, and those in which the plain rig's do.
    lip_crossings: usize,
    plain_crossings: usize,
    jaw: Jaw,
    dials: Dials,
    tissue_ml: TissueVolumes,
    /// Tracked points, if there are any, and the distance from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    landmarks: Option<LandmarkCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    miss_mm: Option<Miss>,
    /// The expression between tracked points.
    #[serde(skip_serializing_if = "Option::is_none")]
    regulariser: Option<&'static str>,
    /// Mean over all frames.
    iterations: f64,
    ms: f64,
}

#[derive(Serialize)]
struct LandmarkCounts {
    used: usize,
    /// Points of the set that this head does not have.
    missing: usize,
    /// The largest number of outliers in a frame.
    outliers: usize,
}

#[derive(Serialize)]
struct Miss {
    mean: f64,
    worst: f64,
}

impl Miss {
    fn of(misses: &[([f64; 2], usize)]) -> Option<Self> {
        let mean = misses.iter().map(|(miss, _)| miss[0]).sum::<f64>() / misses.len().max(1) as f64;
        let worst = misses.iter().map(|(miss, _)| miss[1]).fold(0.0, f64::max);
        (!misses.is_empty()).then_some(Self { mean: 1e3 * mean, worst: 1e3 * worst })
    }
}

/// Means over the measured frames of |det F − 1|.
#[derive(Serialize)]
struct Volume {
    mean_change: f64,
    p95: f64,
    plain: f64,
    inverted: usize,
}

#[derive(Serialize)]
struct Jaw {
    /// The widest angle.
    degrees: f64,
}

/// Volumes at rest.
#[derive(Serialize)]
pub(crate) struct TissueVolumes {
    soft: f64,
    muscle: f64,
}

impl TissueVolumes {
    pub(crate) fn of(head: &Anatomical) -> Self {
        let [soft, muscle] = head.tissue_volumes().map(|volume| 1e6 * volume);
        Self { soft, muscle }
    }
}

impl AnatomicalSummary {
    pub(super) fn new(
        body: &AnatomicalBody,
        log: &AnatomicalLog,
        markers: Option<&TrackedMarkers>,
        frame_ms: f64,
    ) -> Self {
        let head = body.anatomical();
        let mean = |k: usize| {
            log.volumes.iter().map(|volume| volume[k]).sum::<f64>() / log.volumes.len().max(1) as f64
        };
        let iterations: usize = log.iterations.iter().sum();
        Self {
            nodes: head.node_count(),
            tetrahedra: head.tet_count(),
            volume: Volume { mean_change: mean(0), p95: mean(1), plain: mean(2), inverted: log.inverted },
            lip_crossings: log.crossings[0],
            plain_crossings: log.crossings[1],
            jaw: Jaw { degrees: log.jaw },
            dials: head.dials().clone(),
            tissue_ml: TissueVolumes::of(head),
            regulariser: (!log.misses.is_empty()).then_some("the rig's own shapes"),
            landmarks: markers.map(|markers| LandmarkCounts {
                used: markers.take.markers.len(),
                missing: markers.left_out,
                outliers: log.misses.iter().map(|(_, outliers)| *outliers).max().unwrap_or(0),
            }),
            miss_mm: Miss::of(&log.misses),
            iterations: iterations as f64 / log.iterations.len().max(1) as f64,
            ms: frame_ms,
        }
    }

    /// The summary, one sentence per line.
    pub(super) fn lines(&self) -> Vec<String> {
        let Volume { mean_change, plain, .. } = self.volume;
        vec![
            format!(
                "tissue changes its volume by {:.2} % on average, under the plain rig by {:.2} %",
                100.0 * mean_change,
                100.0 * plain
            ),
            format!(
                "lips cross in {} frames, those of the plain rig in {}; {:.0} iterations a frame",
                self.lip_crossings, self.plain_crossings, self.iterations
            ),
        ]
    }
}
