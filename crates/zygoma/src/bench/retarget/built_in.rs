//! The protocol of AnaConDaR §4.4 on built-in heads: the same expressions of all of them, some of which are examples of a target.

use anyhow::bail;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::retarget::{
    CarryReport, Expression, Known, Method, Missing, RetargetHead, RetargetParams, Retargeting, SourceFace,
};
use zygoma_head::anatomy::FillDetail;
use zygoma_head::fit::FittedHead;
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_numerics::random::Keyed;
use zygoma_rig::Rig;
use zygoma_rig::binding::Binding;

use super::RetargetBench;
use crate::commands::input;

/// The first seed of the heads; no constant was chosen on them.
const FIRST_SEED: u64 = 700;
const MILLIMETRES: f64 = 1e3;
/// Frames of the take that expressions and examples are drawn from (AnaConDaR §4.4).
const DRAWN_FROM: usize = 250;

/// Means over all expressions of all pairs.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct MethodFigures {
    pub(crate) method: &'static str,
    /// The part that was left out or replaced.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) without: &'static str,
    /// Examples of each target.
    pub(crate) examples: usize,
    pub(crate) expressions: usize,
    /// Distance of the skin's vertices from the target's own expression.
    pub(crate) mean_mm: f64,
    pub(crate) worst_mm: f64,
    /// The same for the neutral: what there was to carry.
    pub(crate) neutral_mm: f64,
    pub(crate) eye: f64,
    pub(crate) socket: f64,
    pub(crate) lips_mm: f64,
    /// Mean change of the distance from truth along edges across borders of patches.
    pub(crate) jumps_mm: f64,
    /// Mean part of the source's expressions that examples do not explain.
    pub(crate) missing_mm: f64,
    pub(crate) lip_crossings: usize,
    pub(crate) inverted: usize,
    /// Mean of |det F − 1| of the tissue; for plain transfer with its skin held and the interior solved, for others without simulation 0.
    pub(crate) volume_change: f64,
    pub(crate) ms_per_expression: f64,
}

/// A method of the protocol with its parameters.
struct Contestant {
    figures: MethodFigures,
    method: Method,
    params: RetargetParams,
}

impl Contestant {
    fn new(method: Method, examples: usize) -> Self {
        let figures = MethodFigures { method: method.name(), examples, ..MethodFigures::default() };
        Self { figures, method, params: RetargetParams::default() }
    }

    fn without(what: &'static str, examples: usize, change: impl Fn(&mut RetargetParams)) -> Self {
        let mut own = Self::new(Method::Anacondar, examples);
        own.figures.without = what;
        change(&mut own.params);
        own
    }

    /// All methods with all numbers of examples.
    fn all(bench: &RetargetBench) -> Vec<Self> {
        let mut all = vec![Self::new(Method::Dt, 0), Self::new(Method::Adt, 0)];
        for count in &bench.examples {
            let peers = [Method::Linear, Method::Patches, Method::Ebfr, Method::Anacondar];
            all.extend(peers.map(|method| Self::new(method, *count)));
        }
        if let Some(fewest) = bench.examples.iter().min().filter(|_| bench.ablations) {
            all.push(Self::without("characteristics", *fewest, |params| params.characteristics = 0.0));
            all.push(Self::without("missing shape", *fewest, |params| params.missing = Missing::LeftOut));
            all.push(Self::without("A-DT (DT in its place)", *fewest, |params| {
                params.missing = Missing::Surface;
            }));
        }
        all
    }
}

/// A built-in head with its rig.
struct Person {
    rig: Rig,
    options: HeadOptions,
}

impl Person {
    fn new(seed: u64) -> Self {
        let options = HeadOptions::sampled(seed, Level::High);
        Self { rig: Head::new(&options).rig_with_texture(None), options }
    }

    fn registered(&self) -> RetargetHead {
        RetargetHead::of_fitted(&self.rig, FittedHead::built_in(&self.options, FillDetail::Coarse))
    }
}

pub(super) fn run(bench: &RetargetBench) -> anyhow::Result<Vec<MethodFigures>> {
    let person = Person::new(FIRST_SEED);
    let pool = weights(&person.rig, &bench.take)?;
    let most = bench.examples.iter().max().copied().unwrap_or(0);
    if most + bench.expressions > pool.len() {
        bail!(
            "{} expressions and {most} examples cannot be drawn from {} frames: ask for fewer",
            bench.expressions,
            pool.len()
        );
    }
    let mut source = SourceFace::new(&person.rig, person.registered());
    let own = source.shapes();
    let mut contestants = Contestant::all(bench);
    for seed in 1..bench.heads as u64 {
        let target = Person::new(FIRST_SEED + seed);
        let mut head = target.registered();
        let order = shuffled(pool.len(), seed);
        let (examples, others) = order.split_at(most);
        let truth: Vec<Truth> = others[..bench.expressions]
            .iter()
            .map(|k| Truth::new(&target.rig, &mut head, &pool[*k]))
            .collect();
        let examples: Vec<Expression> =
            examples.iter().map(|k| Truth::new(&target.rig, &mut head, &pool[*k]).expression).collect();
        for Contestant { figures, method, params } in &mut contestants {
            let known = Known { examples: &examples[..figures.examples], source: &own };
            let mut retargeting = Retargeting::new(source.head(), &head, *method, known, params)?;
            for truth in &truth {
                let expression = source.expression(truth.weights);
                let (carried, report) = retargeting.carry(&expression)?;
                figures.add(&head.displacements(&carried), truth, &report);
                figures.jumps_mm += MILLIMETRES * carried.jumps(&truth.expression);
            }
        }
        // Plain transfer has no tissue: its skin is held, and the interior solved.
        let params = RetargetParams::default();
        let mut simulated = Retargeting::new(source.head(), &head, Method::Adt, Known::default(), &params)?;
        for truth in &truth {
            let expression = source.expression(truth.weights);
            let change = simulated.carrier().plain_volume_change(&expression)?;
            contestants[0].figures.volume_change += change.unwrap_or(0.0);
        }
    }
    let finished = contestants.into_iter().map(|contestant| contestant.figures.finished());
    Ok(finished.collect())
}

/// A target's own expression.
struct Truth<'a> {
    weights: &'a [f32],
    offsets: Vec<Vec3>,
    expression: Expression,
}

impl<'a> Truth<'a> {
    fn new(rig: &Rig, head: &mut RetargetHead, weights: &'a [f32]) -> Self {
        let mut offsets = vec![Vec3::ZERO; rig.skin().positions.len()];
        for (weight, shape) in weights.iter().zip(&rig.skin().shapes).filter(|(weight, _)| **weight != 0.0) {
            shape.deltas.iter().for_each(|(v, offset)| offsets[v as usize] += *weight * offset);
        }
        Self { expression: head.expression(&offsets, weights), weights, offsets }
    }
}

/// Weights of frames spread over a take.
fn weights(rig: &Rig, name: &str) -> anyhow::Result<Vec<Vec<f32>>> {
    let take = input::read_take(name, rig, None)?;
    let binding = Binding::new(rig, &take);
    let at = |i: usize| {
        let mut weights = vec![0.0; rig.skin().shapes.len()];
        let time = take.start() + take.duration() * (i as f64 + 0.5) / DRAWN_FROM as f64;
        binding.weights_at(&take, rig.skin, time, &mut weights);
        weights
    };
    Ok((0..DRAWN_FROM).map(at).collect())
}

/// The numbers below a count in an order that depends on the seed.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    const DRAWS: u64 = 0x7265_7461_7267_6574;
    let random = Keyed::new(seed, DRAWS);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|k| (random.bits(*k as u64), *k));
    order
}

impl MethodFigures {
    fn add(&mut self, found: &[Vec3], truth: &Truth<'_>, report: &CarryReport) {
        let distances = found.iter().zip(&truth.offsets).map(|(a, b)| f64::from(a.distance(*b)));
        let (sum, worst) = distances.fold((0.0, 0.0), |(sum, worst), d| (sum + d, f64::max(worst, d)));
        let count = found.len() as f64;
        self.expressions += 1;
        self.mean_mm += MILLIMETRES * sum / count;
        self.worst_mm = self.worst_mm.max(MILLIMETRES * worst);
        self.neutral_mm +=
            MILLIMETRES * truth.offsets.iter().map(|t| f64::from(t.length())).sum::<f64>() / count;
        let [eye, socket, lips] = report.characteristics;
        self.eye += eye;
        self.socket += socket;
        self.lips_mm += MILLIMETRES * lips;
        self.missing_mm += MILLIMETRES * report.missing[0];
        self.lip_crossings += report.lip_crossings[1];
        self.inverted += report.inverted;
        self.volume_change += report.volume_change;
        self.ms_per_expression += 1e3 * report.seconds;
    }

    /// Turns sums into means.
    fn finished(mut self) -> Self {
        let count = self.expressions.max(1) as f64;
        for sum in [
            &mut self.mean_mm,
            &mut self.neutral_mm,
            &mut self.eye,
            &mut self.socket,
            &mut self.lips_mm,
            &mut self.jumps_mm,
            &mut self.missing_mm,
            &mut self.volume_change,
            &mut self.ms_per_expression,
        ] {
            *sum /= count;
        }
        self
    }
}
