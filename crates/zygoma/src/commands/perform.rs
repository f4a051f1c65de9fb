//! `zygoma perform`

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::contact::Touchable;
use zygoma_face::model::Continue;
use zygoma_face::model::Landmarks;
use zygoma_face::model::Teeth;
use zygoma_face::shell::{BuildParams, build};
use zygoma_face::tissue::{
    Actuation, STICKY, Tissue, TissueBody, TissueError, TissueInput, TissueParams, VolumeReport,
};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::binding::Binding;
use zygoma_rig::follow::Followers;
use zygoma_rig::jaw::jaw_driven_shapes;
use zygoma_rig::take::LargeWeight;
use zygoma_rig::{Rig, Shape, Take, arkit};

use crate::cli::{ActuationArg, PerformArgs};
use crate::commands::animated::{self, CacheFile, CompressionSummary, Format};
use crate::commands::input;
use crate::flesh_input::{BoneSource, FleshInput};
use crate::markers::FollowedMarkers;
use crate::progress::Progress;
use crate::reports::perform::Chronicle;
use crate::reports::{self, simulation::Story};
use crate::simulation::{Body, DeviationSummary, Outcome, Performance, Performed};
use crate::touch_script::TouchScript;
use crate::watched::WatchedSummary;

/// What a performance did.
#[derive(Serialize)]
struct Summary {
    rig: String,
    out: String,
    take: String,
    frames: usize,
    fps: f64,
    /// Tracks of the take, and those of them that no shape of the rig answers to.
    tracks: usize,
    unmatched: Vec<String>,
    /// Tracks whose weights leave the usual range.
    large_weights: Vec<LargeWeight>,
    #[serde(skip)]
    warning: Option<String>,
    /// Where the bones come from, and what hangs free.
    bones: BoneSource,
    free_parts: Vec<String>,
    tetrahedra: usize,
    /// Vertices of the whole mesh that were found to be upper and lower lip.
    lip_vertices: [usize; 2],
    /// Triangles of the coarse skin below which there is no room for flesh.
    bare_triangles: usize,
    /// How far the surface is from the plain rig.
    deviation: Option<DeviationSummary>,
    volume: VolumeSummary,
    lips: LipSummary,
    #[serde(flatten)]
    watched: WatchedSummary,
    /// What cut through the face instead of touching it, as sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut_through: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    touched: Option<TouchSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    markers: Option<MarkerSummary>,
    milliseconds_per_frame: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    compression: Option<CompressionSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caches: Vec<CacheFile>,
    seconds: f64,
}

/// How the flesh keeps its volume, and how the plain rig would. Frames with puffed cheeks, which hold more air and not more flesh, are
/// counted apart.
#[derive(Serialize)]
struct VolumeSummary {
    /// Absent where the cheeks are puffed all the time.
    #[serde(flatten)]
    frames: Option<VolumeOver>,
    /// The same where the cheeks are puffed, if they ever are.
    cheek_puff: Option<VolumeOver>,
    /// The most elements that were inside out in a frame.
    inverted: usize,
}

/// Volume over some frames.
#[derive(Serialize)]
struct VolumeOver {
    frames: usize,
    /// Volume over its volume at rest, smallest and largest.
    total: [f64; 2],
    plain_total: [f64; 2],
    /// |det F − 1| per element, mean over frames of its mean and of what 95 % stay below.
    mean_change: f64,
    p95_change: f64,
    plain_mean_change: f64,
    plain_p95_change: f64,
}

/// What happened between the lips.
#[derive(Serialize)]
struct LipSummary {
    /// The most pairs of crossing triangles in a frame, and of the plain rig.
    crossings: usize,
    plain_crossings: usize,
    /// Frames in which lips cross, and in which the plain rig's do.
    crossing_frames: usize,
    plain_crossing_frames: usize,
    /// The largest way of the last projection.
    projected_mm: f64,
    /// Most contacts and sticky springs.
    contacts: usize,
    sticky: usize,
    /// Most contacts with teeth, and the deepest that flesh was in them.
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
    fn of(markers: &FollowedMarkers, chronicle: &Chronicle) -> Self {
        let misses = &chronicle.misses;
        let sum: f64 = misses.iter().map(|miss| f64::from(miss.mean)).sum();
        Self {
            file: markers.path.display().to_string(),
            markers: markers.take.markers.len(),
            mean_miss_mm: 1e3 * sum / misses.len().max(1) as f64,
            worst_miss_mm: 1e3 * f64::from(misses.iter().map(|miss| miss.worst).fold(0.0, f32::max)),
        }
    }
}

/// What touched the face, and how that went.
#[derive(Serialize)]
struct TouchSummary {
    touches: usize,
    /// How far the surface is from the plain rig in the frames in which nothing touches it.
    untouched_deviation: Option<DeviationSummary>,
    /// The deepest that anything was in the skin.
    penetration_percent: f64,
    penetration_mm: f64,
    /// The strongest that all touches together pressed and pulled at the head.
    force_n: f64,
}

pub(crate) fn run(args: &PerformArgs, verbose: bool) -> anyhow::Result<()> {
    let began = Instant::now();
    Format::of(&args.performance.out)?;
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
    if let Some(seed) = args.seed {
        params.seed = seed;
    }
    let rig = input::read_rig(&args.rig)?;
    let mut take = match &args.performance.take {
        Some(name) => input::read_take(name, &rig, args.performance.map.as_deref())?,
        None => Take::default(),
    };
    if let (Some(name), None) = (&args.performance.take, &args.markers) {
        input::check_match(&rig, &args.rig.rig, &take, name)?;
    }
    // Flesh needs the shell's mesh and how the whole mesh follows it, not its stiffness.
    let build_params = BuildParams {
        triangles: args.triangles,
        uniform_stiffness: Some(1.0),
        corrected: false,
        ..BuildParams::default()
    };
    let named = || args.rig.rig.display().to_string();
    let face = build(&rig.name, rig.skin(), &build_params, &mut |_| Continue::Yes).with_context(named)?;
    let places = Landmarks::new(&face);
    let touches = match &args.touch {
        Some(path) => TouchScript::read(path, &face, &places)?,
        None => TouchScript::default(),
    };
    let jaw = jaw_driven_shapes(rig.skin());
    let flesh = FleshInput::new(&rig, &face, jaw, args.thickness.as_deref(), &args.free)?;
    let tissue = Arc::new(tissue_with_progress(&flesh.tissue(&face), &params).with_context(named)?);
    let markers = args.markers.as_deref().map(|path| FollowedMarkers::read(path, &tissue)).transpose()?;
    if let Some(markers) = &markers {
        markers.replace_weights(&rig, &mut take);
    }
    input::check_length(&take, args.performance.fps)?;
    animated::make_folder_for(&args.performance.out)?;
    let performance = Performance {
        face: &face,
        places: &places,
        rig: &rig,
        take: &take,
        touches: &touches,
        fps: args.performance.fps,
        folder: zygoma_files::folder_of(&args.performance.out),
    };
    let mut body = FleshBody::new(&rig, &tissue, markers.as_ref())?;
    let outcome = performance.run(&mut body)?;
    let chronicle = body.chronicle;
    let mut summary = Summary {
        rig: args.rig.rig.display().to_string(),
        out: args.performance.out.display().to_string(),
        take: take.name.clone(),
        frames: outcome.deviations.len(),
        fps: args.performance.fps,
        tracks: take.weights.len(),
        unmatched: Binding::new(&rig, &take).unmatched,
        large_weights: take.large_weights(),
        warning: take.weight_warning(),
        bones: flesh.bone_source,
        free_parts: flesh.free_parts.clone(),
        tetrahedra: tissue.tet_count(),
        lip_vertices: tissue.lip_counts(),
        bare_triangles: tissue.bare_count(),
        deviation: outcome.deviation(&face, &places, false),
        volume: VolumeSummary::of(&chronicle),
        lips: LipSummary::of(&chronicle),
        watched: WatchedSummary::of(&outcome.gate),
        cut_through: outcome.cut_through(),
        touched: args.touch.is_some().then(|| TouchSummary {
            touches: touches.touches.len(),
            untouched_deviation: outcome.deviation(&face, &places, true),
            penetration_percent: 100.0 * chronicle.deepest() / face.height,
            penetration_mm: 1e3 * chronicle.deepest(),
            force_n: chronicle.strongest(),
        }),
        markers: markers.as_ref().map(|markers| MarkerSummary::of(markers, &chronicle)),
        milliseconds_per_frame: outcome.frame_ms,
        compression: None,
        caches: Vec::new(),
        seconds: 0.0,
    };
    let lines: Vec<String> = summary.lines().into_iter().chain(flesh.lines()).collect();
    if let Some(folder) = &args.performance.report {
        let story = Story { face: &face, rig: &rig, take: &take, touches: &touches, outcome: &outcome };
        reports::perform::write(folder, &story, &chronicle, &tissue, &lines)?;
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
        animated::tell(&lines, unmatched, &written, summary.seconds)?;
    }
    summary.watched.check()
}

/// Makes flesh and shows how far it is.
fn tissue_with_progress(input: &TissueInput, params: &TissueParams) -> Result<Tissue, TissueError> {
    let mut bar = Progress::new("finding the flesh of every shape", 100);
    Tissue::build(input, params, &mut |now| {
        bar.set((100.0 * now.done()) as usize);
        Continue::Yes
    })
}

/// Cheeks are puffed above this weight. Ours: recordings are never quite at 0.
const PUFFED: f32 = 0.1;

/// Flesh that performs, and what is noted about it.
pub(crate) struct FleshBody<'a> {
    performing: TissueBody,
    /// The markers that it follows; the take's weights without.
    markers: Option<&'a FollowedMarkers>,
    /// The shape that puffs the cheeks.
    puff: Option<usize>,
    chronicle: Chronicle,
}

impl<'a> FleshBody<'a> {
    pub(crate) fn new(
        rig: &Rig,
        tissue: &Arc<Tissue>,
        markers: Option<&'a FollowedMarkers>,
    ) -> anyhow::Result<FleshBody<'a>> {
        let mut performing = TissueBody::new(tissue.clone())?;
        if let Some(teeth) = Teeth::of_rig(rig) {
            performing.set_teeth(teeth);
        }
        if let Some(markers) = markers {
            performing.follow(markers.on(tissue)?);
        }
        let is_puff =
            |shape: &Shape| arkit::recognise(&shape.name).is_some_and(|found| found.shape == "cheekPuff");
        let puff = rig.skin().shapes.iter().position(is_puff);
        Ok(Self { performing, markers, puff, chronicle: Chronicle::default() })
    }
}

impl Body for FleshBody<'_> {
    fn touchable(&mut self) -> &mut dyn Touchable {
        &mut self.performing
    }

    fn aim(&mut self, weights: &[f32], head: &RigidMotion, time: f64) {
        match self.markers {
            Some(markers) => self.performing.set_markers(&markers.take.sample(time)),
            None => self.performing.set_weights(weights),
        }
        self.performing.set_head_pose(head);
    }

    fn next_input(&self, known: f64, frame: f64) -> Option<f64> {
        let step = self.performing.latency();
        (known + 1e-6 * step < frame).then_some(known + step)
    }

    fn settle(&mut self) {
        self.performing.settle();
    }

    fn glide(&mut self, _: f64) {
        self.performing.glide();
    }

    fn run(&mut self, seconds: f64) {
        self.performing.run(seconds);
    }

    fn show(&mut self, seconds_ago: f64) -> &[Vec3] {
        self.performing.show(seconds_ago)
    }

    fn inverted(&self) -> Vec<u32> {
        self.performing.inverted()
    }

    fn rig_inverts(&self, weights: &[f32]) -> Vec<u32> {
        self.performing.tissue().plain_inverted(weights)
    }

    fn vertices_at(&self, elements: &[u32], weights: &[f32]) -> Vec<u32> {
        self.performing.tissue().broken_vertices(elements, weights)
    }

    fn free_vertices(&self) -> Vec<bool> {
        self.performing.tissue().free_vertices()
    }

    fn follows_rig(&self) -> bool {
        self.markers.is_none()
    }

    fn return_to_rig(&mut self, shares: &[f32]) {
        self.performing.return_to_rig(shares);
    }

    fn note(&mut self, frame: &Performed<'_>, outcome: &mut Outcome) {
        let Self { performing, chronicle, .. } = self;
        let (tissue, deepest) = (performing.tissue(), performing.penetration());
        outcome.penetration.push(performing.lips().penetration.max(deepest));
        chronicle.crossings.push([tissue.lip_crossings(frame.shown), tissue.lip_crossings(frame.plain)]);
        chronicle.touches.push([deepest, performing.colliders().head_load().force.length()]);
        chronicle.lips.push(performing.lips());
        chronicle.teeth.push(performing.teeth());
        chronicle.misses.push(performing.marker_miss());
        chronicle.volumes.push([performing.volume(), tissue.plain_volume(frame.weights)]);
        chronicle.puffed.push(self.puff.is_some_and(|shape| frame.weights[shape] > PUFFED));
    }
}

impl VolumeSummary {
    fn of(chronicle: &Chronicle) -> Self {
        let all = || chronicle.volumes.iter().zip(&chronicle.puffed);
        let over = |puffed: bool| {
            VolumeOver::of(&all().filter(|(_, p)| **p == puffed).map(|(v, _)| *v).collect::<Vec<_>>())
        };
        Self {
            frames: over(false),
            cheek_puff: over(true),
            inverted: chronicle.volumes.iter().map(|[flesh, _]| flesh.inverted).max().unwrap_or(0),
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
    fn of(chronicle: &Chronicle) -> Self {
        let most = |k: usize| chronicle.crossings.iter().map(|pair| pair[k]).max().unwrap_or(0);
        let frames = |k: usize| chronicle.crossings.iter().filter(|pair| pair[k] > 0).count();
        let (lips, teeth) = (&chronicle.lips, &chronicle.teeth);
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

impl Summary {
    /// What it says, a sentence a line.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{} → {}: take {}, {} frames at {} fps, {:.1} ms each; {} tetrahedra",
            self.rig,
            self.out,
            self.take,
            self.frames,
            self.fps,
            self.milliseconds_per_frame,
            self.tetrahedra
        )];
        lines.extend(self.warning.iter().map(|warning| format!("problem: {warning}")));
        if let Some(deviation) = &self.deviation {
            lines.push(format!("the flesh leaves the rig by {deviation}"));
        }
        let volume = &self.volume;
        let inverted = format!("at most {} elements are inside out", volume.inverted);
        lines.push(match &volume.frames {
            Some(frames) => format!("it keeps {frames}; {inverted}"),
            None => inverted,
        });
        if let Some(puff) = &volume.cheek_puff {
            lines.push(format!("with puffed cheeks it keeps {puff}"));
        }
        if self.tracks > 0 && self.unmatched.len() == self.tracks {
            lines.push(format!(
                "no shape of the rig has the name of one of the take's {} tracks: only the head moves; 'zygoma info' lists the shapes",
                self.tracks
            ));
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
                "up to {} places of the flesh press on teeth, at most {:.3} mm deep",
                lips.teeth_contacts, lips.teeth_penetration_mm
            ));
        }
        lines.extend(self.watched.line());
        lines.extend(self.cut_through.iter().cloned());
        if let Some(markers) = &self.markers {
            lines.push(format!(
                "it misses the {} markers of {} by {:.3} mm on average and {:.2} mm at worst",
                markers.markers, markers.file, markers.mean_miss_mm, markers.worst_miss_mm
            ));
        }
        if let Some(touched) = &self.touched {
            if let Some(deviation) = &touched.untouched_deviation {
                lines.push(format!("untouched, it leaves the rig by {deviation}"));
            }
            lines.push(format!(
                "{} touches press and pull at the head with up to {:.2} N; nothing is deeper in the skin than {:.3} % of the height \
                 ({:.3} mm)",
                touched.touches, touched.force_n, touched.penetration_percent, touched.penetration_mm
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_is_told_of_the_frames_that_there_are() {
        let volume = |total: f64| [VolumeReport { total, ..VolumeReport::default() }; 2];
        let mut chronicle = Chronicle {
            volumes: vec![volume(0.97), volume(1.02)],
            puffed: vec![true; 2],
            ..Chronicle::default()
        };
        let all_puffed = VolumeSummary::of(&chronicle);
        assert!(all_puffed.frames.is_none());
        assert_eq!(all_puffed.cheek_puff.unwrap().total, [0.97, 1.02]);
        chronicle.puffed = vec![false, true];
        let both = VolumeSummary::of(&chronicle);
        assert_eq!(both.frames.unwrap().total, [0.97; 2]);
        assert_eq!(both.cheek_puff.unwrap().total, [1.02; 2]);
    }
}
