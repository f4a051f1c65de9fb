//! Parameters and summaries that only tissue has.

use std::sync::Arc;

use serde::Serialize;
use zygoma_face::body::{Body, Touchable};
use zygoma_face::model::{BoneSource, Continue, FaceModel, Inside};
use zygoma_face::run::Performed;
use zygoma_face::tissue::{
    Actuation, STICKY, Tissue, TissueBody, TissueError, TissueInput, TissueParams, VolumeReport,
};
use zygoma_rig::{Rig, Shape, arkit};

use super::enriched::take_anatomy;
use crate::cli::{ActuationArg, AnatomyArg, SimulateArgs};
use crate::commands::input;
use crate::markers::FollowedMarkers;
use crate::progress::Progress;
use crate::reports::tissue::FrameLog;

/// Cheeks are puffed above this weight. Ours: recordings are never quite at 0.
const PUFFED: f32 = 0.1;

/// The summary of tissue, beside that of every body.
#[derive(Serialize)]
pub(super) struct TissueSummary {
    /// Where the bones come from.
    bones: BoneSource,
    free_parts: Vec<String>,
    tetrahedra: usize,
    /// Vertices of the whole mesh that were found to be upper and lower lip.
    lip_vertices: [usize; 2],
    /// Triangles of the coarse skin with no room for tissue beneath.
    bare_triangles: usize,
    volume: VolumeSummary,
    lips: LipSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    markers: Option<MarkerSummary>,
}

/// Parameters of the file and the flags.
pub(super) fn params(args: &SimulateArgs) -> anyhow::Result<TissueParams> {
    let mut params: TissueParams = input::read_params(args.params.as_deref())?;
    if args.sticky && params.stickiness == 0.0 {
        params.stickiness = STICKY;
    }
    if let Some(actuation) = args.actuation {
        params.actuation = match actuation {
            ActuationArg::Shapes => Actuation::Shapes,
            ActuationArg::Forces => Actuation::Forces,
        };
    }
    params.seed = args.seed.unwrap_or(params.seed);
    Ok(params)
}

/// Builds tissue and shows its progress.
pub(crate) fn build_with_progress(input: &TissueInput, params: &TissueParams) -> Result<Tissue, TissueError> {
    let mut bar = Progress::new("solving the tissue of every shape", 100);
    Tissue::build(input, params, &mut |now| {
        bar.set((100.0 * now.done()) as usize);
        Continue::Yes
    })
}

/// Makes a tissue body, which follows markers if there are any.
pub(super) fn body_of(tissue: &Arc<Tissue>, markers: Option<&FollowedMarkers>) -> anyhow::Result<TissueBody> {
    let mut body = TissueBody::new(tissue.clone())?;
    if let Some(markers) = markers {
        body.follow(markers.on(tissue)?);
    }
    Ok(body)
}

/// Records tissue, frame by frame.
pub(super) struct TissueObserver {
    /// The shape that puffs the cheeks.
    puff: Option<usize>,
    pub(super) log: FrameLog,
}

impl TissueObserver {
    pub(super) fn new(rig: &Rig) -> Self {
        let is_puff =
            |shape: &Shape| arkit::recognise(&shape.name).is_some_and(|found| found.shape == "cheekPuff");
        Self { puff: rig.skin().shapes.iter().position(is_puff), log: FrameLog::default() }
    }

    /// Records a frame of tissue; ignores other bodies.
    pub(super) fn note(&mut self, body: &dyn Body, frame: &Performed<'_>) {
        let Some(body) = body.downcast_ref::<TissueBody>() else { return };
        let (tissue, log) = (body.tissue(), &mut self.log);
        log.crossings.push([tissue.lip_crossings(frame.shown), tissue.lip_crossings(frame.plain)]);
        log.touches.push([body.penetration(), body.colliders().head_load().force.length()]);
        log.lips.push(body.lips());
        log.teeth.push(body.teeth());
        log.misses.push(body.marker_miss());
        log.volumes.push([body.volume(), tissue.plain_volume(frame.weights)]);
        log.puffed.push(self.puff.is_some_and(|shape| frame.weights[shape] > PUFFED));
    }
}

impl TissueSummary {
    pub(super) fn new(
        tissue: &Tissue,
        inside: &Inside,
        markers: Option<&FollowedMarkers>,
        log: &FrameLog,
    ) -> Self {
        Self {
            bones: inside.bone_source,
            free_parts: inside.free_parts.iter().map(|part| part.name.clone()).collect(),
            tetrahedra: tissue.tet_count(),
            lip_vertices: tissue.lip_counts(),
            bare_triangles: tissue.bare_count(),
            volume: VolumeSummary::of(log),
            lips: LipSummary::of(log),
            markers: markers.map(|markers| MarkerSummary::of(markers, log)),
        }
    }

    /// The summary, one sentence per line.
    pub(super) fn lines(&self) -> Vec<String> {
        let volume = &self.volume;
        let inverted = format!(
            "{} tetrahedra, at most {} of them inverted in a frame",
            self.tetrahedra, volume.inverted
        );
        let mut lines = vec![match &volume.frames {
            Some(frames) => format!("volume: {frames}; {inverted}"),
            None => inverted,
        }];
        if let Some(puff) = &volume.cheek_puff {
            lines.push(format!("volume with puffed cheeks: {puff}"));
        }
        let lips = &self.lips;
        lines.push(if self.lip_vertices.contains(&0) {
            "no lips were found, for which a shape that opens the jaw and a mouth nearly closed at rest are needed: nothing meets and nothing \
             sticks"
                .to_owned()
        } else {
            lips.to_string()
        });
        if lips.teeth_contacts > 0 {
            lines.push(format!(
                "up to {} contact points on teeth, at most {:.3} mm deep",
                lips.teeth_contacts, lips.teeth_penetration_mm
            ));
        }
        if let Some(markers) = &self.markers {
            lines.push(format!(
                "it misses the {} markers of {} by {:.3} mm on average and {:.2} mm at worst",
                markers.markers, markers.file, markers.mean_miss_mm, markers.worst_miss_mm
            ));
        }
        lines
    }
}

/// Volume preservation of tissue, and of the plain rig. Frames with puffed cheeks, which hold more air and not more tissue, are
/// counted separately.
#[derive(Serialize)]
struct VolumeSummary {
    /// Absent where the cheeks are puffed all the time.
    #[serde(flatten)]
    frames: Option<VolumeOver>,
    /// The same for frames with puffed cheeks, if there are any.
    cheek_puff: Option<VolumeOver>,
    /// The largest number of inverted elements in a frame.
    inverted: usize,
}

/// Volume over some of the frames.
#[derive(Serialize)]
struct VolumeOver {
    frames: usize,
    /// Volume over its volume at rest, smallest and largest.
    total: [f64; 2],
    plain_total: [f64; 2],
    /// |det F − 1| per element: mean over frames of its mean and of its 95th percentile.
    mean_change: f64,
    p95_change: f64,
    plain_mean_change: f64,
    plain_p95_change: f64,
}

/// Contact between the lips.
#[derive(Serialize)]
struct LipSummary {
    /// The largest number of crossing triangle pairs in a frame, and that of the plain rig.
    crossings: usize,
    plain_crossings: usize,
    /// Frames in which lips cross, and in which the plain rig's do.
    crossing_frames: usize,
    plain_crossing_frames: usize,
    /// The largest distance moved by the final projection.
    projected_mm: f64,
    /// The largest numbers of contacts and of sticky springs.
    contacts: usize,
    sticky: usize,
    /// The largest number of contacts with teeth, and the deepest penetration of tissue into them.
    teeth_contacts: usize,
    teeth_penetration_mm: f64,
}

/// How closely the skin followed its markers.
#[derive(Serialize)]
struct MarkerSummary {
    file: String,
    markers: usize,
    mean_miss_mm: f64,
    worst_miss_mm: f64,
}

impl MarkerSummary {
    fn of(markers: &FollowedMarkers, log: &FrameLog) -> Self {
        let misses = &log.misses;
        let sum: f64 = misses.iter().map(|miss| f64::from(miss.mean)).sum();
        Self {
            file: markers.path.display().to_string(),
            markers: markers.take.markers.len(),
            mean_miss_mm: 1e3 * sum / misses.len().max(1) as f64,
            worst_miss_mm: 1e3 * f64::from(misses.iter().map(|miss| miss.worst).fold(0.0, f32::max)),
        }
    }
}

impl VolumeSummary {
    fn of(log: &FrameLog) -> Self {
        let all = || log.volumes.iter().zip(&log.puffed);
        let over = |puffed: bool| {
            VolumeOver::of(&all().filter(|(_, p)| **p == puffed).map(|(v, _)| *v).collect::<Vec<_>>())
        };
        Self {
            frames: over(false),
            cheek_puff: over(true),
            inverted: log.volumes.iter().map(|[tissue, _]| tissue.inverted).max().unwrap_or(0),
        }
    }
}

impl VolumeOver {
    /// `None` without any frames.
    fn of(volumes: &[[VolumeReport; 2]]) -> Option<Self> {
        if volumes.is_empty() {
            return None;
        }
        let mean = |value: &dyn Fn(&[VolumeReport; 2]) -> f64| {
            volumes.iter().map(value).sum::<f64>() / volumes.len() as f64
        };
        let range = |k: usize| {
            let totals = || volumes.iter().map(|pair| pair[k].total);
            [totals().fold(f64::INFINITY, f64::min), totals().fold(f64::NEG_INFINITY, f64::max)]
        };
        Some(Self {
            frames: volumes.len(),
            total: range(0),
            plain_total: range(1),
            mean_change: mean(&|v| v[0].mean),
            p95_change: mean(&|v| v[0].p95),
            plain_mean_change: mean(&|v| v[1].mean),
            plain_p95_change: mean(&|v| v[1].p95),
        })
    }
}

impl std::fmt::Display for VolumeOver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:.3} to {:.3} of its volume (plain rig: {:.3} to {:.3}); an element's changes by {:.1} % on average and 95 % of them by less \
             than {:.1} % (plain rig: {:.1} % and {:.1} %)",
            self.total[0],
            self.total[1],
            self.plain_total[0],
            self.plain_total[1],
            100.0 * self.mean_change,
            100.0 * self.p95_change,
            100.0 * self.plain_mean_change,
            100.0 * self.plain_p95_change,
        )
    }
}

impl LipSummary {
    fn of(log: &FrameLog) -> Self {
        let most = |k: usize| log.crossings.iter().map(|pair| pair[k]).max().unwrap_or(0);
        let frames = |k: usize| log.crossings.iter().filter(|pair| pair[k] > 0).count();
        let (lips, teeth) = (&log.lips, &log.teeth);
        Self {
            crossings: most(0),
            plain_crossings: most(1),
            crossing_frames: frames(0),
            plain_crossing_frames: frames(1),
            projected_mm: 1e3 * f64::from(lips.iter().map(|lips| lips.projected).fold(0.0, f32::max)),
            contacts: lips.iter().map(|lips| lips.contacts).max().unwrap_or(0),
            sticky: lips.iter().map(|lips| lips.sticky).max().unwrap_or(0),
            teeth_contacts: teeth.iter().map(|teeth| teeth.contacts).max().unwrap_or(0),
            teeth_penetration_mm: 1e3
                * f64::from(teeth.iter().map(|teeth| teeth.penetration).fold(0.0, f32::max)),
        }
    }
}

impl std::fmt::Display for LipSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "lips cross in {} frames (plain rig: {}), in at most {} pairs of triangles (plain rig: {}); up to {} contacts, {} sticky \
             springs; the last projection moved them by at most {:.3} mm",
            self.crossing_frames,
            self.plain_crossing_frames,
            self.crossings,
            self.plain_crossings,
            self.contacts,
            self.sticky,
            self.projected_mm
        )
    }
}

/// Gives a face the bones that are wanted: its own, none, or those of a face file.
pub(super) fn set_bones(face: &mut FaceModel, wanted: &AnatomyArg) -> anyhow::Result<()> {
    match wanted {
        AnatomyArg::Auto => {}
        AnatomyArg::None => (face.inside.bones, face.inside.bone_source) = (None, BoneSource::None),
        AnatomyArg::Of(path) => take_anatomy(face, path)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_is_reported_for_the_frames_that_there_are() {
        let volume = |total: f64| [VolumeReport { total, ..VolumeReport::default() }; 2];
        let mut log = FrameLog {
            volumes: vec![volume(0.97), volume(1.02)],
            puffed: vec![true; 2],
            ..FrameLog::default()
        };
        let all_puffed = VolumeSummary::of(&log);
        assert!(all_puffed.frames.is_none());
        assert_eq!(all_puffed.cheek_puff.unwrap().total, [0.97, 1.02]);
        log.puffed = vec![false, true];
        let both = VolumeSummary::of(&log);
        assert_eq!(both.frames.unwrap().total, [0.97; 2]);
        assert_eq!(both.cheek_puff.unwrap().total, [1.02; 2]);
    }
}
