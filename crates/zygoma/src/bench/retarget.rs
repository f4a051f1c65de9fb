//! Retargeting against truth: built-in heads, whose own shapes go through warps that no transfer knows, and rigs that have the same shapes by name.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::retarget::{CarryReport, RetargetHead, RetargetParams, RigRetarget, SourceFace, Transfer};
use zygoma_head::anatomy::FillDetail;
use zygoma_head::fit::FittedHead;
use zygoma_head::{Head, HeadOptions, Level, built_in_takes};
use zygoma_rig::binding::Binding;
use zygoma_rig::formats::{Limits, read_rig};
use zygoma_rig::{Rig, arkit};

/// The first seed of the heads; no constant was chosen on them.
const FIRST_SEED: u64 = 700;
const MILLIMETRES: f64 = 1e3;
/// Vertices that move less than this in a shape say nothing about its direction, m.
const MOVED: f32 = 5e-4;

/// The extent of a benchmark.
pub(crate) struct RetargetBench {
    /// Built-in heads; the first is the source.
    pub(crate) heads: usize,
    /// Expressions of the take that are carried to each head.
    pub(crate) expressions: usize,
    /// Rigs that are carried to each other.
    pub(crate) rigs: Vec<PathBuf>,
}

#[derive(Debug, Serialize)]
pub(crate) struct RetargetReport {
    /// Pairs of built-in heads, with exact truth.
    pub(crate) built_in: Vec<MethodFigures>,
    /// Pairs of rigs.
    pub(crate) pairs: Vec<PairFigures>,
}

/// Means over all expressions of all pairs.
#[derive(Debug, Default, Serialize)]
pub(crate) struct MethodFigures {
    pub(crate) method: &'static str,
    pub(crate) expressions: usize,
    /// Distance of the skin's vertices from the target's own expression.
    pub(crate) mean_mm: f64,
    pub(crate) worst_mm: f64,
    /// The same for the neutral: what there was to carry.
    pub(crate) neutral_mm: f64,
    pub(crate) eye: f64,
    pub(crate) socket: f64,
    pub(crate) lips_mm: f64,
    pub(crate) lip_crossings: usize,
    pub(crate) inverted: usize,
    /// Mean of |det F − 1| of the tissue; for plain transfer with its skin held and the interior solved.
    pub(crate) volume_change: f64,
    pub(crate) init_seconds: f64,
    pub(crate) ms_per_expression: f64,
}

/// Shapes of one rig carried to another that has shapes of the same names.
#[derive(Debug, Serialize)]
pub(crate) struct PairFigures {
    pub(crate) source: String,
    pub(crate) target: String,
    pub(crate) shapes: usize,
    /// Median of the cosines between the displacements carried and the target's own.
    pub(crate) plain_cosine: f64,
    pub(crate) cosine: f64,
    pub(crate) lip_crossings: usize,
    pub(crate) inverted: usize,
    pub(crate) ms_per_expression: f64,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
}

pub(crate) fn run(bench: &RetargetBench) -> anyhow::Result<RetargetReport> {
    let built_in = if bench.heads < 2 { Vec::new() } else { built_in(bench)? };
    let mut pairs = Vec::new();
    for source in &bench.rigs {
        for target in bench.rigs.iter().filter(|target| *target != source) {
            pairs.push(pair(source, target)?);
        }
    }
    Ok(RetargetReport { built_in, pairs })
}

fn head(seed: u64) -> (Rig, HeadOptions) {
    let options = HeadOptions::sampled(seed, Level::High);
    (Head::new(&options).rig_with_texture(None), options)
}

fn registered(rig: &Rig, options: &HeadOptions) -> RetargetHead {
    RetargetHead::of_fitted(rig, FittedHead::built_in(options, FillDetail::Coarse))
}

/// Weights of frames spread over the built-in take that shows most.
fn weights(rig: &Rig, count: usize) -> Vec<Vec<f32>> {
    let takes = built_in_takes();
    let Some(take) = takes.iter().find(|take| take.name == "tour").or(takes.first()) else {
        return Vec::new();
    };
    let binding = Binding::new(rig, take);
    let at = |i: usize| {
        let mut weights = vec![0.0; rig.skin().shapes.len()];
        let time = take.start() + take.duration() * (i as f64 + 0.5) / count as f64;
        binding.weights_at(take, rig.skin, time, &mut weights);
        weights
    };
    (0..count).map(at).collect()
}

fn built_in(bench: &RetargetBench) -> anyhow::Result<Vec<MethodFigures>> {
    let (rig, options) = head(FIRST_SEED);
    let wanted = weights(&rig, bench.expressions);
    let mut figures = vec![
        MethodFigures { method: "dt", ..MethodFigures::default() },
        MethodFigures { method: "adt", ..MethodFigures::default() },
    ];
    for seed in 1..bench.heads as u64 {
        let (target, target_options) = head(FIRST_SEED + seed);
        for (figures, transfer) in figures.iter_mut().zip([Transfer::Surface, Transfer::Anatomical]) {
            let began = Instant::now();
            let mut face = SourceFace::new(&rig, registered(&rig, &options));
            let target_head = registered(&target, &target_options);
            let mut retarget =
                RigRetarget::new(&face, &target, target_head, transfer, &RetargetParams::default())?;
            figures.init_seconds += began.elapsed().as_secs_f64();
            for weights in &wanted {
                let expression = face.expression(weights);
                let (found, report) = retarget.frame(&expression);
                figures.add(&found, &truth(&target, weights), &report);
            }
        }
        plain_volumes(&rig, &options, &target, &target_options, &wanted, &mut figures[0])?;
    }
    figures.iter_mut().for_each(|figures| figures.finish(bench.heads - 1));
    Ok(figures)
}

/// Adds the change of volume under the skin that plain transfer gives.
fn plain_volumes(
    rig: &Rig,
    options: &HeadOptions,
    target: &Rig,
    target_options: &HeadOptions,
    wanted: &[Vec<f32>],
    figures: &mut MethodFigures,
) -> anyhow::Result<()> {
    let mut face = SourceFace::new(rig, registered(rig, options));
    let head = registered(target, target_options);
    let mut retarget =
        RigRetarget::new(&face, target, head, Transfer::Anatomical, &RetargetParams::default())?;
    for weights in wanted {
        let expression = face.expression(weights);
        figures.volume_change += retarget.carrier().plain_volume_change(&expression)?.unwrap_or(0.0);
    }
    Ok(())
}

/// Displacements of a rig's skin at weights.
fn truth(rig: &Rig, weights: &[f32]) -> Vec<Vec3> {
    let mut sum = vec![Vec3::ZERO; rig.skin().positions.len()];
    for (weight, shape) in weights.iter().zip(&rig.skin().shapes).filter(|(weight, _)| **weight != 0.0) {
        shape.deltas.iter().for_each(|(v, offset)| sum[v as usize] += *weight * offset);
    }
    sum
}

impl MethodFigures {
    fn add(&mut self, found: &[Vec3], truth: &[Vec3], report: &CarryReport) {
        let distances = found.iter().zip(truth).map(|(a, b)| f64::from(a.distance(*b)));
        let (sum, worst) = distances.fold((0.0, 0.0), |(sum, worst), d| (sum + d, f64::max(worst, d)));
        self.expressions += 1;
        self.mean_mm += MILLIMETRES * sum / found.len() as f64;
        self.worst_mm = self.worst_mm.max(MILLIMETRES * worst);
        self.neutral_mm +=
            MILLIMETRES * truth.iter().map(|t| f64::from(t.length())).sum::<f64>() / truth.len() as f64;
        let [eye, socket, lips] = report.characteristics;
        self.eye += eye;
        self.socket += socket;
        self.lips_mm += MILLIMETRES * lips;
        self.lip_crossings += report.lip_crossings[1];
        self.inverted += report.inverted;
        self.volume_change += report.volume_change;
        self.ms_per_expression += 1e3 * report.seconds;
    }

    /// Turns sums into means.
    fn finish(&mut self, pairs: usize) {
        let count = self.expressions.max(1) as f64;
        for sum in [
            &mut self.mean_mm,
            &mut self.neutral_mm,
            &mut self.eye,
            &mut self.socket,
            &mut self.lips_mm,
            &mut self.volume_change,
            &mut self.ms_per_expression,
        ] {
            *sum /= count;
        }
        self.init_seconds /= pairs.max(1) as f64;
    }
}

fn pair(source: &Path, target: &Path) -> anyhow::Result<PairFigures> {
    let read = |path: &Path| read_rig(path, &Limits::default()).with_context(|| path.display().to_string());
    let (rig, other) = (read(source)?, read(target)?);
    let mut figures = PairFigures {
        source: rig.name.clone(),
        target: other.name.clone(),
        shapes: 0,
        plain_cosine: 0.0,
        cosine: 0.0,
        lip_crossings: 0,
        inverted: 0,
        ms_per_expression: 0.0,
        refused: None,
    };
    for transfer in [Transfer::Surface, Transfer::Anatomical] {
        let heads = RetargetHead::of_rig(&rig).and_then(|head| Ok((head, RetargetHead::of_rig(&other)?)));
        let (head, other_head) = match heads {
            Ok(heads) => heads,
            Err(problem) => {
                figures.refused = Some(problem.to_string());
                return Ok(figures);
            }
        };
        let mut face = SourceFace::new(&rig, head);
        let mut retarget = RigRetarget::new(&face, &other, other_head, transfer, &RetargetParams::default())?;
        let mut cosines = Vec::new();
        for (shape, own) in common_shapes(&rig, &other) {
            let (carried, report) = retarget.shape(&mut face, shape);
            let truth = other.skin().shapes[own].deltas.to_dense(other.skin().positions.len());
            cosines.extend(cosine(&carried.meshes[0].offsets, &truth));
            if transfer == Transfer::Anatomical {
                figures.lip_crossings += report.lip_crossings[1];
                figures.inverted += report.inverted;
                figures.ms_per_expression += 1e3 * report.seconds;
            }
        }
        cosines.sort_by(f64::total_cmp);
        let median = cosines.get(cosines.len() / 2).copied().unwrap_or(0.0);
        figures.shapes = cosines.len();
        match transfer {
            Transfer::Surface => figures.plain_cosine = median,
            Transfer::Anatomical => figures.cosine = median,
        }
    }
    figures.ms_per_expression /= figures.shapes.max(1) as f64;
    Ok(figures)
}

/// ARKit shapes that both skins have, as indices.
fn common_shapes(rig: &Rig, other: &Rig) -> Vec<(usize, usize)> {
    let index = |rig: &Rig, wanted: &str| {
        let is = |name: &str| {
            arkit::recognise(name).is_some_and(|found| found.shape == wanted && found.half.is_none())
        };
        rig.skin().shapes.iter().position(|shape| is(&shape.name) && !shape.deltas.is_empty())
    };
    arkit::SHAPES.iter().filter_map(|name| index(rig, name).zip(index(other, name))).collect()
}

/// The cosine between two displacements, over the vertices that either of them moves; `None` where nothing does.
fn cosine(found: &[Vec3], truth: &[Vec3]) -> Option<f64> {
    let moved = || found.iter().zip(truth).filter(|(a, b)| a.length().max(b.length()) > MOVED);
    let sum = |term: fn(Vec3, Vec3) -> f32| moved().map(|(a, b)| f64::from(term(*a, *b))).sum::<f64>();
    let norms = sum(|a, _| a.length_squared()).sqrt() * sum(|_, b| b.length_squared()).sqrt();
    (norms > 0.0).then(|| sum(Vec3::dot) / norms)
}
