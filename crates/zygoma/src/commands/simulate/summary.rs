//! The summary of a simulation, for people and programs.

use std::collections::BTreeMap;

use serde::Serialize;
use zygoma_face::run::{DeviationSummary, Outcome};
use zygoma_rig::LargeWeight;
use zygoma_rig::binding::Binding;

use super::anatomical::AnatomicalSummary;
use super::enriched::EnrichedSummary;
use super::hands::HandsSummary;
use super::tissue::TissueSummary;
use super::{Logs, Made, Scene};
use crate::cli::SimulateArgs;
use crate::commands::animated::{CacheFile, CompressionSummary};
use crate::watched::WatchedSummary;

/// The result of a simulation.
#[derive(Serialize)]
pub(super) struct Summary {
    input: String,
    body: &'static str,
    out: String,
    take: String,
    frames: usize,
    fps: f64,
    /// Tracks of the take, and those of them that drive no shape of the rig.
    tracks: usize,
    pub(super) unmatched: Vec<String>,
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
    /// Hands on the face.
    #[serde(skip_serializing_if = "Option::is_none")]
    hands: Option<HandsSummary>,
    /// The largest force of all touches together on the head.
    #[serde(skip_serializing_if = "Option::is_none")]
    force_n: Option<f64>,
    #[serde(flatten)]
    tissue: Option<TissueSummary>,
    #[serde(flatten)]
    enriched: Option<EnrichedSummary>,
    #[serde(flatten)]
    anatomical: Option<AnatomicalSummary>,
    #[serde(flatten)]
    pub(super) watched: WatchedSummary,
    /// A sentence for each collider that passed through the face instead of touching it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut_through: Vec<String>,
    milliseconds_per_frame: f64,
    stages_ms: BTreeMap<&'static str, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compression: Option<CompressionSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) caches: Vec<CacheFile>,
    pub(super) seconds: f64,
}

impl Summary {
    pub(super) fn new(
        args: &SimulateArgs,
        scene: &Scene,
        made: &Made,
        outcome: &Outcome,
        logs: &Logs,
    ) -> Self {
        let log = &logs.tissue;
        let Scene { subject, face, places, take, touches, .. } = scene;
        let deepest = f64::from(outcome.penetration.iter().copied().fold(0.0, f32::max));
        let tissue = made.tissue.as_ref();
        Self {
            input: args.input.display().to_string(),
            body: made.body.name(),
            out: args.performance.out.display().to_string(),
            take: take.name.clone(),
            frames: outcome.deviations.len(),
            fps: args.performance.fps,
            tracks: take.weights.len(),
            unmatched: Binding::new(&subject.rig, take).unmatched,
            large_weights: take.large_weights(),
            warning: take.weight_warning(),
            triangles: face.coarse.triangles.len(),
            touches: touches.touches.len() + outcome.hands.len(),
            deviation: outcome.deviation(face, places, false),
            untouched_deviation: outcome.deviation(face, places, true),
            penetration_percent: 100.0 * deepest / face.height,
            penetration_mm: 1e3 * deepest,
            hands: HandsSummary::new(outcome),
            force_n: (!log.touches.is_empty() && (args.touch.is_some() || args.hands.is_some()))
                .then(|| log.strongest()),
            tissue: tissue
                .map(|made| TissueSummary::new(&made.tissue, &face.inside, made.markers.as_ref(), log)),
            enriched: made.enriched().map(|body| {
                EnrichedSummary::new(body, face, take, args.performance.fps, outcome, &logs.enriched)
            }),
            anatomical: made.anatomical().map(|body| {
                AnatomicalSummary::new(body, &logs.anatomical, scene.markers.as_ref(), outcome.frame_ms)
            }),
            watched: WatchedSummary::of(&outcome.gate),
            cut_through: outcome.cut_through(),
            milliseconds_per_frame: outcome.frame_ms,
            stages_ms: outcome.stages_ms.clone(),
            compression: None,
            caches: Vec::new(),
            seconds: 0.0,
        }
    }

    /// The summary, one sentence per line.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{} → {}: {}, take {}, {} frames at {} fps, {:.2} ms each",
            self.input, self.out, self.body, self.take, self.frames, self.fps, self.milliseconds_per_frame
        )];
        lines.extend(self.warning.iter().map(|warning| format!("problem: {warning}")));
        if self.tracks > 0 && self.unmatched.len() == self.tracks {
            lines.push(format!(
                "none of the take's {} tracks matches a shape of the rig, so only the head moves; 'zygoma info' lists the shapes",
                self.tracks
            ));
        }
        if let Some(deviation) = &self.untouched_deviation {
            lines.push(format!("untouched, the {} deviates from the rig by {deviation}", self.body));
        }
        if let (true, Some(deviation)) = (self.touches > 0, &self.deviation) {
            lines.push(format!("touched, it deviates from the rig by {deviation}"));
            let force = self.force_n.map_or_else(String::new, |force| {
                format!("; largest contact force on the head {force:.2} N")
            });
            lines.push(format!(
                "largest penetration {:.3} % of the height ({:.3} mm){force}",
                self.penetration_percent, self.penetration_mm
            ));
        }
        lines.extend(self.hands.iter().map(HandsSummary::line));
        lines.extend(self.tissue.iter().flat_map(TissueSummary::lines));
        lines.extend(self.enriched.iter().flat_map(EnrichedSummary::lines));
        lines.extend(self.anatomical.iter().flat_map(AnatomicalSummary::lines));
        lines.extend(self.watched.line());
        lines.extend(self.cut_through.iter().cloned());
        lines
    }
}
