//! Samples for a network that learns what the simulation does (Thesis ch. 3, §3.4, and ch. 4).
//!
//! A sample is a person, parameters, an expression S of the rig with its weights and landmarks, and the corrected expression T. Three in four frames are
//! static; the others are sequences of a face that swings, and that is already swinging when they begin.

use std::sync::Arc;

use glam::Vec3;
use serde::{Deserialize, Serialize};
use zygoma_numerics::random::Keyed;
use zygoma_numerics::{Checked, Ranged};

use super::aim::Aim;
use super::build::{Anatomical, AnatomicalError};
use super::correct::in_batches;
use super::dials::Dials;
use super::dynamics::swinging_velocities;
use super::params::AnatomicalParams;
use super::run::AnatomicalBody;
use crate::body::{Body, Drive};
use crate::model::container::pack;
use crate::model::{Continue, Section};

/// Version of the files.
const SAMPLE_VERSION: u32 = 1;
/// Frames of a sequence.
pub const SEQUENCE: usize = 16;
/// Frames a second of sequences. Ours.
pub const SAMPLE_FPS: f64 = 25.0;
/// Frames of the run with fixed dynamics whose velocities sequences begin with.
const LONG_RUN: usize = 2048;
/// Frequency, Hz, and half-life, s, of that run. Ours, as those below.
const LONG_RUN_PACE: [f64; 2] = [3.0, 0.15];
/// A solve has failed if skin is farther than this from the expression that it aims at, m: twice as far as the gate of simulations allows, since palsied
/// skin stays behind.
const LOST: f32 = 0.03;
/// A solve has failed if more than this fraction of its tetrahedra is inverted.
const INVERTED: f64 = 0.05;

/// The use of a sample. No person, parameters or expression occur in two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// To learn from.
    Train,
    /// To decide when to stop.
    Validation,
    /// To measure what was learnt.
    Test,
}

impl Split {
    /// The split of the person or the piece of a take of some number: eight in ten are for training.
    pub fn of(number: usize) -> Self {
        match number % 10 {
            1 => Self::Validation,
            2 => Self::Test,
            _ => Self::Train,
        }
    }
}

/// How samples are drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleSettings {
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Static frames for each person.
    pub statics: usize,
    /// Sequences for each person.
    pub sequences: usize,
    /// Weights of the simulation are from their default over this factor to their default times it, log-uniform, within the published range.
    pub spread: f64,
    /// Dials are up to this fraction of their published range from their usual values.
    pub dials: f64,
}

impl Checked for SampleSettings {
    fn ranges(&self) -> Vec<Ranged> {
        vec![
            Ranged::count("statics", self.statics, 0..=1_000_000),
            Ranged::count("sequences", self.sequences, 0..=100_000),
            Ranged::new("spread", self.spread, 1.0..=1e5),
            Ranged::new("dials", self.dials, 0.0..=1.0),
        ]
    }
}

/// Drawn parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleParams {
    params: AnatomicalParams,
    dials: Dials,
}

/// Weights that are drawn log-uniformly.
const WEIGHTS: [&str; 8] = [
    "tissue_volume",
    "tissue_strain",
    "muscle_volume",
    "muscle_strain",
    "skin_strain",
    "bone_normal",
    "bone_slide",
    "target",
];
/// Dials that are drawn uniformly, up to a half more or less.
const CHANGES: [&str; 9] =
    ["fat", "muscle", "skin_area", "jaw.x", "jaw.y", "jaw.z", "cranium.x", "cranium.y", "cranium.z"];
/// The other parameters.
const OTHERS: [&str; 9] = [
    "tissue_stretch",
    "skin_stiffness",
    "palsy.left",
    "palsy.right",
    "gravity.x",
    "gravity.y",
    "gravity.z",
    "frequency",
    "half_life",
];

impl SampleParams {
    /// The names of the parameters.
    pub fn names() -> impl Iterator<Item = &'static str> {
        WEIGHTS.into_iter().chain(CHANGES).chain(OTHERS)
    }

    /// Draws parameters. Only faces of sequences swing.
    fn draw(settings: &SampleSettings, random: Keyed, swings: bool) -> Self {
        let uniform = |tick: u64, low: f64, high: f64| low + (high - low) * random.uniform(tick);
        let logarithmic = |tick: u64, low: f64, high: f64| uniform(tick, low.ln(), high.ln()).exp();
        let mut drawn = Self { params: AnatomicalParams::default(), dials: Dials::default() };
        for (tick, name) in (0u64..).zip(WEIGHTS) {
            let usual = drawn.number(name);
            let weight = logarithmic(tick, usual / settings.spread, usual * settings.spread);
            drawn.set(name, weight.clamp(0.001, 100.0));
        }
        let part = settings.dials;
        for (tick, name) in (20u64..).zip(CHANGES) {
            let usual = drawn.number(name);
            drawn.set(name, uniform(tick, usual - 0.5 * part, usual + 0.5 * part));
        }
        drawn.set("tissue_stretch", uniform(40, 1.0 - 0.3 * part, 1.0 + 0.3 * part));
        drawn.set("skin_stiffness", logarithmic(41, 10_f64.powf(-part), 10_f64.powf(part)));
        // One face in four has a palsy, on one side.
        let side = ["palsy.left", "palsy.right"][usize::from(random.uniform(42) < 0.5)];
        if random.uniform(43) < 0.25 {
            drawn.set(side, uniform(44, 0.0, 1.0));
        }
        // A direction that is uniform on the sphere.
        let (up, around) = (uniform(45, -1.0, 1.0), uniform(46, 0.0, std::f64::consts::TAU));
        let (across, strength) = ((1.0 - up * up).sqrt(), uniform(47, 0.0, 2.0 * part));
        drawn.dials.gravity = [across * around.cos(), up, across * around.sin()].map(|axis| strength * axis);
        if swings {
            drawn.set("frequency", logarithmic(48, 1.0, 8.0));
            drawn.set("half_life", logarithmic(49, 0.03, 0.5));
        }
        drawn
    }

    fn number_mut(&mut self, name: &str) -> Option<&mut f64> {
        let (params, dials) = (&mut self.params, &mut self.dials);
        match name {
            "tissue_volume" => Some(&mut params.tissue_volume),
            "tissue_strain" => Some(&mut params.tissue_strain),
            "muscle_volume" => Some(&mut params.muscle_volume),
            "muscle_strain" => Some(&mut params.muscle_strain),
            "skin_strain" => Some(&mut params.skin_strain),
            "bone_normal" => Some(&mut params.bone_normal),
            "bone_slide" => Some(&mut params.bone_slide),
            "target" => Some(&mut params.target),
            "tissue_stretch" => Some(&mut params.tissue_stretch),
            "gravity.x" => Some(&mut dials.gravity[0]),
            "gravity.y" => Some(&mut dials.gravity[1]),
            "gravity.z" => Some(&mut dials.gravity[2]),
            _ => dials.number_mut(name),
        }
    }

    fn number(&mut self, name: &str) -> f64 {
        self.number_mut(name).map_or(f64::NAN, |own| *own)
    }

    fn set(&mut self, name: &str, value: f64) {
        if let Some(own) = self.number_mut(name) {
            *own = value;
        }
    }

    fn numbers(&self) -> Vec<f32> {
        let mut own = self.clone();
        Self::names().map(|name| own.number(name) as f32).collect()
    }

    /// A head with these parameters.
    fn head(&self, usual: &Anatomical) -> Result<Anatomical, AnatomicalError> {
        Anatomical { params: self.params.clone(), ..usual.clone() }.with_dials(&self.dials)
    }
}

/// A frame of a sample.
struct SampleFrame {
    weights: Vec<f32>,
    plain: Vec<Vec3>,
    corrected: Vec<Vec3>,
}

/// A sample.
struct Sample {
    params: SampleParams,
    /// Velocities of the weights at its start, 1/s.
    velocities: Vec<f32>,
    /// One frame, or a sequence; none if the solve failed.
    frames: Vec<SampleFrame>,
}

/// Samples of one person.
pub struct Samples {
    neutral: Vec<Vec3>,
    /// Vertices of the landmarks.
    landmarks: Vec<u32>,
    found: Vec<Sample>,
    /// Samples whose solve failed.
    failed: Vec<Sample>,
}

/// The number of solves, and of those that failed, where a parameter was in the lowest, middle and highest third of those drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thirds {
    /// All solves.
    pub all: [usize; 3],
    /// Failed ones.
    pub failed: [usize; 3],
}

impl Thirds {
    /// Adds those of other samples.
    pub fn add(&mut self, other: &Self) {
        for k in 0..3 {
            self.all[k] += other.all[k];
            self.failed[k] += other.failed[k];
        }
    }
}

impl Samples {
    /// Solves for samples of the person of some number, in the expressions of pieces of a take: consecutive frames, [`SAMPLE_FPS`] a second. `progress`
    /// gets the number of samples done, and may cancel: then there is no result.
    pub fn of(
        head: &Anatomical,
        (number, landmarks): (usize, &[u32]),
        pieces: &[Vec<Vec<f32>>],
        settings: &SampleSettings,
        progress: &mut dyn FnMut(usize) -> Continue,
    ) -> Result<Option<Self>, AnatomicalError> {
        settings.check()?;
        let pieces: Vec<&[Vec<f32>]> =
            pieces.iter().map(Vec::as_slice).filter(|p| p.len() >= SEQUENCE).collect();
        let task = Task { head, number, pieces: &pieces, settings, run: long_run(&pieces) };
        let wanted = if pieces.is_empty() { 0 } else { settings.statics + settings.sequences };
        let all: Vec<usize> = (0..wanted).collect();
        let Some(results) = in_batches(&all, |index| task.sample(*index), progress) else { return Ok(None) };
        let (found, failed) = results.into_iter().partition(|sample| !sample.frames.is_empty());
        let neutral = head.output.neutral.clone();
        Ok(Some(Self { neutral, landmarks: landmarks.to_vec(), found, failed }))
    }

    /// Number of static frames, of frames in sequences, and of failed solves.
    pub fn counts(&self) -> [usize; 3] {
        let (single, sequences): (Vec<_>, Vec<_>) =
            self.found.iter().partition(|sample| sample.frames.len() == 1);
        [single.len(), SEQUENCE * sequences.len(), self.failed.len()]
    }

    /// Solves by thirds of each parameter, in the order of [`SampleParams::names`].
    pub fn thirds(&self) -> Vec<Thirds> {
        let samples = self.found.iter().chain(&self.failed);
        let solves: Vec<(Vec<f32>, bool)> =
            samples.map(|sample| (sample.params.numbers(), sample.frames.is_empty())).collect();
        let of = |index: usize| {
            let mut drawn: Vec<f32> = solves.iter().map(|(numbers, _)| numbers[index]).collect();
            drawn.sort_by(f32::total_cmp);
            let mut thirds = Thirds::default();
            for (numbers, has_failed) in &solves {
                let below = drawn.partition_point(|other| *other < numbers[index]);
                let third = 3 * below / drawn.len().max(1);
                thirds.all[third] += 1;
                thirds.failed[third] += usize::from(*has_failed);
            }
            thirds
        };
        (0..Self::parameter_count()).map(of).collect()
    }

    fn parameter_count() -> usize {
        SampleParams::names().count()
    }

    /// A safetensors file: `neutral`, and for each frame its `plain` and `corrected` surface (S and T), `weights` (w), `parameters` (p), `landmarks`, its
    /// `sample` and the `velocities` of the weights at the start of that.
    pub fn bytes(&self) -> Vec<u8> {
        let flat = |points: &[Vec3]| points.iter().flat_map(Vec3::to_array).collect::<Vec<f32>>();
        let frames =
            || (0u32..).zip(&self.found).flat_map(|(k, s)| s.frames.iter().map(move |frame| (k, s, frame)));
        let rows = |of: &dyn Fn(&SampleFrame) -> Vec<f32>| {
            frames().flat_map(|(.., frame)| of(frame)).collect::<Vec<f32>>()
        };
        let count = frames().count().max(1);
        let mut section = Section::new(&());
        let mut add = |name: &str, width: usize, values: &[f32]| section.add(name, width.max(1), values);
        add("neutral", 3, &flat(&self.neutral));
        for (name, values) in [
            ("plain", rows(&|frame| flat(&frame.plain))),
            ("corrected", rows(&|frame| flat(&frame.corrected))),
            ("weights", rows(&|frame| frame.weights.clone())),
            (
                "landmarks",
                rows(&|frame| {
                    flat(&self.landmarks.iter().map(|v| frame.plain[*v as usize]).collect::<Vec<_>>())
                }),
            ),
            ("parameters", frames().flat_map(|(_, sample, _)| sample.params.numbers()).collect()),
            ("velocities", frames().flat_map(|(_, sample, _)| sample.velocities.clone()).collect()),
        ] {
            add(name, values.len() / count, &values);
        }
        section.add("sample", 1, &frames().map(|(sample, ..)| sample).collect::<Vec<u32>>());
        pack("zygoma samples", &SAMPLE_VERSION, [("samples", &section)].into_iter())
    }
}

/// All that the samples of a person share.
struct Task<'a> {
    head: &'a Anatomical,
    number: usize,
    pieces: &'a [&'a [Vec<f32>]],
    settings: &'a SampleSettings,
    /// Velocities of the weights in the frames of a long run.
    run: Vec<Vec<f32>>,
}

impl Task<'_> {
    /// Draws and solves for a sample.
    fn sample(&self, index: usize) -> Sample {
        let swings = index >= self.settings.statics;
        let random = Keyed::new(self.settings.seed, ((self.number as u64) << 32) | index as u64);
        let params = SampleParams::draw(self.settings, random, swings);
        let pick = |tick: u64, count: usize| (random.bits(tick) % count.max(1) as u64) as usize;
        let piece = self.pieces[pick(60, self.pieces.len())];
        let length = if swings { SEQUENCE } else { 1 };
        let first = pick(61, piece.len() - length + 1);
        let velocities = if swings {
            self.run[pick(62, self.run.len())].clone()
        } else {
            vec![0.0; self.head.output.shapes.len()]
        };
        let frames = self.frames(&params, &piece[first..first + length], &velocities).unwrap_or_default();
        Sample { params, velocities, frames }
    }

    /// The frames of a sample; `None` if a solve fails.
    fn frames(
        &self,
        params: &SampleParams,
        expressions: &[Vec<f32>],
        velocities: &[f32],
    ) -> Option<Vec<SampleFrame>> {
        let mut body = AnatomicalBody::new(Arc::new(params.head(self.head).ok()?)).ok()?;
        let mut frames = Vec::with_capacity(expressions.len());
        for (index, weights) in expressions.iter().enumerate() {
            body.drive(Drive::Weights(weights)).ok()?;
            if index == 0 {
                body.settle();
                body.set_swing(velocities);
            } else {
                body.advance(1.0 / SAMPLE_FPS);
            }
            if has_failed(&body) {
                return None;
            }
            frames.push(SampleFrame {
                plain: self.head.plain(weights),
                corrected: body.frame_before(0.0).positions.to_vec(),
                weights: weights.clone(),
            });
        }
        Some(frames)
    }
}

/// Velocities of the weights in each frame of a run with fixed dynamics through pieces of a take, again and again.
fn long_run(pieces: &[&[Vec<f32>]]) -> Vec<Vec<f32>> {
    let frames = pieces.iter().flat_map(|piece| piece.iter()).cycle().take(LONG_RUN);
    swinging_velocities(LONG_RUN_PACE, frames, 1.0 / SAMPLE_FPS)
}

/// Whether a solve ended in no plausible face.
fn has_failed(body: &AnatomicalBody) -> bool {
    let shown = body.positions.iter().zip(&body.reached.plain);
    let is_lost =
        shown.map(|(shown, plain)| shown.distance(*plain)).any(|off| !off.is_finite() || off > LOST);
    is_lost || body.inverted_tets().len() as f64 > INVERTED * body.model.tet_count() as f64
}

impl Anatomical {
    /// The rig's own surface at some weights.
    fn plain(&self, weights: &[f32]) -> Vec<Vec3> {
        Aim::new(self, weights).plain
    }
}
