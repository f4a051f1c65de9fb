//! Parameters, build and summary of enriched faces.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;
use serde::Serialize;
use zygoma_face::enriched::{
    ContactMode, Enriched, EnrichedBody, EnrichedError, EnrichedParams, InputChanges, RestReport,
};
use zygoma_face::model::{BoneSource, Continue, FaceModel, Landmarks};
use zygoma_face::run::{About, Outcome, Recording};
use zygoma_face::tissue::{TissueInput, TissueVolume};
use zygoma_rig::formats::Limits;
use zygoma_rig::{Rig, Take};

use crate::cli::{AnatomyArg, ContactArg, SimulateArgs};
use crate::commands::input;
use crate::progress::Progress;
use crate::reports::enriched::EnrichedLog;

/// Parameters of the file and the flags.
pub(super) fn params(args: &SimulateArgs) -> anyhow::Result<EnrichedParams> {
    let mut params: EnrichedParams = input::read_params(args.params.as_deref())?;
    params.rebalance = args.rebalance.unwrap_or(params.rebalance);
    params.contact_mode = match args.contact {
        Some(ContactArg::Relative) => ContactMode::Relative,
        Some(ContactArg::Absolute) => ContactMode::Absolute,
        None => params.contact_mode,
    };
    zygoma_numerics::Checked::check(&params)?;
    Ok(params)
}

/// Reads the recording of an earlier version of a take.
pub(super) fn read_recording(path: &Path, about: &About) -> anyhow::Result<Recording> {
    let recording = Recording::read(path, &Limits::default())?;
    let old = recording.about();
    if old.fps != about.fps {
        bail!("{}: it has {} frames per second; add --fps {}", path.display(), old.fps, old.fps);
    }
    if old != about {
        bail!(
            "{}: it was recorded of another face, with other parameters or materials, or by another version of zygoma; record it again with --record",
            path.display()
        );
    }
    Ok(recording)
}

/// Adds anatomy to a face where it is wanted and can be fitted, and says so.
pub(crate) fn add_anatomy(face: &mut FaceModel, rig: &Rig, wanted: &AnatomyArg) -> anyhow::Result<()> {
    match wanted {
        AnatomyArg::None => return Ok(()),
        AnatomyArg::Of(path) => return take_anatomy(face, path),
        AnatomyArg::Auto if TissueVolume::of_face(face).is_some() => return Ok(()),
        AnatomyArg::Auto => {}
    }
    let bar = Progress::new("fitting bones and tissue", 1);
    let fitted = face.add_anatomy(rig);
    drop(bar);
    if let Err(problem) = fitted {
        eprintln!("note: {problem}; the tissue is one layer under the skin instead");
    }
    Ok(())
}

/// Takes the anatomy of a face file of the same mesh.
pub(super) fn take_anatomy(face: &mut FaceModel, path: &Path) -> anyhow::Result<()> {
    let other = FaceModel::read(path, &Limits::default())?;
    if other.neutral != face.neutral {
        bail!("{}: it is the anatomy of another mesh", path.display());
    }
    if !face.take_anatomy(&other) {
        bail!("{}: it has no anatomy; make it with `zygoma anatomy RIG -o FACE`", path.display());
    }
    Ok(())
}

/// Builds an enriched face and shows its progress.
pub(crate) fn build_with_progress(
    face: &FaceModel,
    params: &EnrichedParams,
) -> Result<Enriched, EnrichedError> {
    let mut bar = Progress::new("solving the volume of every shape", face.shapes.len());
    let fill = TissueVolume::of_face(face);
    let input = TissueInput { volume: fill.as_ref(), ..TissueInput::new(face) };
    Enriched::build(&input, params, &mut |now| {
        bar.set(now.shape);
        Continue::Yes
    })
}

/// The summary of an enriched face, beside that of every body.
#[derive(Serialize)]
pub(super) struct EnrichedSummary {
    /// Where the bones come from; without them the tissue is one layer.
    bones: BoneSource,
    nodes: usize,
    tetrahedra: usize,
    /// The largest distance from the rig, if the head never moves: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    still_deviation_mm: Option<f64>,
    displacement_mm: Displacement,
    /// Where absolute contact has changed the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_changed: Option<InputChanged>,
    rest: Rest,
    step_ms: StepTimes,
    iterations: Iterations,
    /// Number of frames that were copied from the recording of an earlier take.
    copied_frames: usize,
}

#[derive(Serialize)]
struct Displacement {
    /// Of the largest displacements of all frames.
    p95: f64,
    max: f64,
    /// Where that is.
    near: String,
    /// The largest one at each landmark.
    by_place: BTreeMap<String, f64>,
}

/// Lips of the rig that pass through each other, and were parted.
#[derive(Serialize)]
struct InputChanged {
    frames: usize,
    /// The largest correction of two lips together.
    largest_mm: f64,
    /// Where that is.
    near: String,
}

impl InputChanged {
    fn new(body: &EnrichedBody, face: &FaceModel, places: &Landmarks) -> Option<Self> {
        let InputChanges { frames, largest, vertex } = body.input_changes();
        let place = places.nearest(face.neutral[vertex as usize]);
        (frames > 0).then(|| Self {
            frames,
            largest_mm: 1e3 * f64::from(largest),
            near: place.map_or_else(String::new, |place| place.name.clone()),
        })
    }
}

#[derive(Serialize)]
struct Rest {
    inverted_frames: usize,
    repaired: usize,
    inverted_left: usize,
}

#[derive(Serialize)]
struct StepTimes {
    dynamic: f64,
    #[serde(rename = "static")]
    statics: f64,
    rest: f64,
    contact: f64,
}

/// Means over the last steps of all frames.
#[derive(Serialize)]
struct Iterations {
    dynamic: f64,
    #[serde(rename = "static")]
    statics: f64,
}

impl EnrichedSummary {
    pub(super) fn new(
        body: &EnrichedBody,
        face: &FaceModel,
        take: &Take,
        fps: f64,
        outcome: &Outcome,
        log: &EnrichedLog,
    ) -> Self {
        let places = Landmarks::new(face);
        let deviation = outcome.deviation(face, &places, false);
        let worst = deviation.as_ref().map_or(0.0, |deviation| deviation.worst_mm);
        let mut worst_of_frames: Vec<f64> =
            outcome.deviations.iter().map(|deviation| 1e3 * f64::from(deviation.worst)).collect();
        worst_of_frames.sort_by(f64::total_cmp);
        let p95 = worst_of_frames.get(worst_of_frames.len() * 95 / 100).copied().unwrap_or(0.0);
        let steps = 1.0 / (fps * body.step_time());
        let stage = |name: &str| outcome.stages_ms.get(name).copied().unwrap_or(0.0) / steps;
        let mean = |k: usize| {
            let sum: usize = log.iterations.iter().map(|iterations| iterations[k]).sum();
            sum as f64 / log.iterations.len().max(1) as f64
        };
        let RestReport { inverted_frames, repaired, inverted_left } = body.rest_report();
        Self {
            bones: face.inside.bone_source,
            nodes: body.enriched().node_count(),
            tetrahedra: body.enriched().tet_count(),
            still_deviation_mm: take.motions.is_empty().then_some(worst),
            displacement_mm: Displacement {
                p95,
                max: worst,
                near: deviation.map_or_else(String::new, |deviation| deviation.near),
                by_place: log
                    .places
                    .iter()
                    .map(|place| (place.name.clone(), 1e3 * f64::from(place.most())))
                    .collect(),
            },
            input_changed: InputChanged::new(body, face, &places),
            rest: Rest { inverted_frames, repaired, inverted_left },
            step_ms: StepTimes {
                dynamic: stage("dynamic"),
                statics: stage("static"),
                rest: stage("rest"),
                contact: stage("contact"),
            },
            iterations: Iterations { dynamic: mean(0), statics: mean(1) },
            copied_frames: outcome.copied,
        }
    }

    /// The summary, one sentence per line.
    pub(super) fn lines(&self) -> Vec<String> {
        let Rest { inverted_frames, repaired, inverted_left } = self.rest;
        let mut lines = vec![format!(
            "{} nodes, {} tetrahedra; a step takes {:.1} ms: {:.1} for motion, {:.1} for rebalancing, {:.1} for the rest shape, {:.1} for contact",
            self.nodes,
            self.tetrahedra,
            self.step_ms.dynamic + self.step_ms.statics + self.step_ms.rest + self.step_ms.contact,
            self.step_ms.dynamic,
            self.step_ms.statics,
            self.step_ms.rest,
            self.step_ms.contact
        )];
        if self.copied_frames > 0 {
            lines.push(format!("{} frames were copied from the recording", self.copied_frames));
        }
        if let Some(InputChanged { frames, largest_mm, near }) = &self.input_changed {
            lines.push(format!(
                "lips that pass through each other in the rig were parted in {frames} frames, by up to {largest_mm:.2} mm (near {near})"
            ));
        }
        if repaired > 0 {
            lines.push(format!(
                "blended shapes inverted elements in {inverted_frames} frames; up to {repaired} at once were unfolded, {inverted_left} stayed inverted"
            ));
        }
        lines
    }
}
