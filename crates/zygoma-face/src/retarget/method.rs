//! Ways to carry expressions: from the source alone, or with examples of the target.

use std::time::Instant;

use glam::DVec3;
use zygoma_geometry::topology::half_edges;
use zygoma_head::fit::SharedSkin;

use super::blend::{Blend, Delta, shared_patches};
use super::carry::{Carrier, CarryReport, RetargetError, Transfer};
use super::example_rig::ExampleRig;
use super::head::{Expression, RetargetHead};
use super::params::{Missing, RetargetParams};

/// How expressions are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Mixtures of examples, patch by patch, the rest by A-DT, and both made plausible by a simulation (AnaConDaR eq. 6).
    Anacondar,
    /// Through the anatomy alone (AnaConDaR Alg. 1).
    Adt,
    /// By the deformation of the skin alone \[Sumner and Popović 2004\].
    Dt,
    /// Example-based facial rigging \[Li et al. 2010\].
    Ebfr,
    /// Mixtures of examples, patch by patch.
    Patches,
    /// Mixtures of examples over the whole face.
    Linear,
}

impl Method {
    /// Whether it is made of examples.
    pub fn needs_examples(self) -> bool {
        matches!(self, Self::Ebfr | Self::Patches | Self::Linear)
    }

    /// Its name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anacondar => "anacondar",
            Self::Adt => "adt",
            Self::Dt => "dt",
            Self::Ebfr => "ebfr",
            Self::Patches => "patches",
            Self::Linear => "linear",
        }
    }

    fn transfer(self) -> Transfer {
        match self {
            Self::Anacondar | Self::Adt => Transfer::Anatomical,
            Self::Dt | Self::Ebfr | Self::Patches | Self::Linear => Transfer::Surface,
        }
    }
}

/// Expressions that a method may learn from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Expressions of the target. They need no counterparts in the source.
    pub examples: &'a [Expression],
    /// Expressions of the source whose mixtures show what belongs to it: its shapes, or frames of a performance.
    pub source: &'a [Expression],
}

/// The result of learning from examples.
enum Learned {
    Nothing,
    Mixtures { blend: Blend, target: Vec<Delta>, is_completed: bool },
    Rig(Box<ExampleRig>),
}

/// Carries expressions from a source to a target by one of the methods.
pub struct Retargeting {
    carrier: Carrier,
    learned: Learned,
    method: Method,
    params: RetargetParams,
    source: Vec<DVec3>,
    target: Vec<DVec3>,
}

impl Retargeting {
    /// Prepares two heads. Without examples `anacondar` is `adt`; without anatomy in both heads, `adt` is `dt`.
    pub fn new(
        source: &RetargetHead,
        target: &RetargetHead,
        method: Method,
        known: Known<'_>,
        params: &RetargetParams,
    ) -> Result<Self, RetargetError> {
        let method = match (method, known.examples.is_empty()) {
            (Method::Anacondar, true) => Method::Adt,
            (method, true) if method.needs_examples() => {
                return Err(RetargetError::NoExamples(method.name()));
            }
            (method, _) => method,
        };
        let mut carrier = Carrier::new(source, target, method.transfer(), params)?;
        let deltas = |expressions: &[Expression], rest: &[DVec3]| -> Vec<Delta> {
            expressions.iter().map(|expression| expression.delta(rest)).collect()
        };
        let examples = deltas(known.examples, &target.rest);
        let learned = match method {
            Method::Adt | Method::Dt => Learned::Nothing,
            Method::Anacondar => {
                let counterparts = embed(source, target, known, params)?;
                let blend = Blend::patchwise(counterparts, params.regularisation);
                Learned::Mixtures { blend, target: examples, is_completed: true }
            }
            Method::Ebfr | Method::Patches | Method::Linear => {
                let set = deltas(known.source, &source.rest);
                let rig = ExampleRig::new(carrier.surface(), set, &examples);
                // AnaConDaR §4.2.1: where examples have no counterparts, those of example-based facial rigging take their place.
                let blend = match method {
                    Method::Patches => Some(Blend::patchwise(rig.counterparts(), params.regularisation)),
                    Method::Linear => Some(Blend::linear(rig.counterparts(), params.regularisation)),
                    _ => None,
                };
                match blend {
                    Some(blend) => Learned::Mixtures { blend, target: examples, is_completed: false },
                    None => Learned::Rig(Box::new(rig)),
                }
            }
        };
        let (source, target) = (source.rest.clone(), target.rest.clone());
        Ok(Self { carrier, learned, method, params: params.clone(), source, target })
    }

    /// The method in use: the one that was asked for, as far as heads and examples allow.
    pub fn method(&self) -> Method {
        match (self.method, self.carrier.transfer()) {
            (Method::Adt, Transfer::Surface) => Method::Dt,
            (method, _) => method,
        }
    }

    /// Number of patches in use; 0 without any.
    pub fn patches(&self) -> usize {
        match &self.learned {
            Learned::Mixtures { blend, .. } if blend.regions() > 1 => blend.regions(),
            _ => 0,
        }
    }

    /// Carries expressions from the source alone.
    pub fn carrier(&mut self) -> &mut Carrier {
        &mut self.carrier
    }

    /// Carries one expression. The result does not depend on those carried before.
    pub fn carry(&mut self, expression: &Expression) -> Result<(Expression, CarryReport), RetargetError> {
        let began = Instant::now();
        let whole = expression.delta(&self.source);
        let (carried, report) = match &self.learned {
            Learned::Nothing => self.carrier.carry(expression),
            Learned::Rig(rig) => {
                let moved = rig.carry(self.carrier.surface(), &whole.skin);
                self.carrier.as_it_is(added(&self.target, &[&moved]), expression)
            }
            Learned::Mixtures { blend, target, is_completed } => {
                let weights = blend.fit(&whole.skin);
                let explained = blend.mix(&weights);
                let by_examples = blend.mix_of(&weights, target).skin;
                let missing = explained.missing_from(&whole);
                let lengths = missing.lengths();
                let (carried, report) = if *is_completed {
                    let how = self.params.missing;
                    let by_transfer =
                        carried_missing(&mut self.carrier, &self.source, &self.target, &missing, how);
                    let parts: Vec<&[DVec3]> =
                        [Some(&by_examples[..]), by_transfer.as_deref()].into_iter().flatten().collect();
                    self.carrier.assemble(added(&self.target, &parts), expression)?
                } else {
                    self.carrier.as_it_is(added(&self.target, &[&by_examples]), expression)
                };
                (carried, CarryReport { missing: lengths, ..report })
            }
        };
        Ok((carried, CarryReport { seconds: began.elapsed().as_secs_f64(), ..report }))
    }
}

/// Displacements of the target for the part that examples do not explain, T̂^M of AnaConDaR eq. 5; `None` if it is left out.
fn carried_missing(
    carrier: &mut Carrier,
    source: &[DVec3],
    target: &[DVec3],
    missing: &Delta,
    how: Missing,
) -> Option<Vec<DVec3>> {
    let transfer = match how {
        Missing::Anatomical => Transfer::Anatomical,
        Missing::Surface => Transfer::Surface,
        Missing::LeftOut => return None,
    };
    let part = Expression { skin: added(source, &[&missing.skin]), jaw: missing.jaw };
    let carried = carrier.carry_part(&part, transfer);
    Some(carried.iter().zip(target).map(|(p, rest)| *p - *rest).collect())
}

/// Counterparts of the target's examples in the source: carried by A-DT, then replaced by mixtures of the source's own expressions, so that nothing
/// of the target's character is left in them (AnaConDaR eq. 20 and 21).
fn embed(
    source: &RetargetHead,
    target: &RetargetHead,
    known: Known<'_>,
    params: &RetargetParams,
) -> Result<Vec<Delta>, RetargetError> {
    let mut back = Carrier::new(target, source, Transfer::Anatomical, params)?;
    let set = known.source.iter().map(|expression| expression.delta(&source.rest)).collect();
    let set = Blend::of_shapes(set);
    let embedded = |example: &Expression| {
        let (carried, _) = back.carry(example);
        set.mix(&set.fit(&carried.delta(&source.rest).skin))
    };
    Ok(known.examples.iter().map(embedded).collect())
}

/// A skin with displacements.
fn added(rest: &[DVec3], parts: &[&[DVec3]]) -> Vec<DVec3> {
    let place = |(v, p): (usize, &DVec3)| parts.iter().fold(*p, |p, part| p + part[v]);
    rest.iter().enumerate().map(place).collect()
}

impl Expression {
    /// Mean change of the difference from another expression of the same head along edges that cross borders of patches, m: what is
    /// visible of the borders.
    pub fn jumps(&self, truth: &Self) -> f64 {
        let off = |v: u32| self.skin[v as usize] - truth.skin[v as usize];
        let patch = &shared_patches().of_vertex;
        let edges = SharedSkin::get().triangles.iter().flat_map(|t| half_edges(*t));
        let across = edges.filter(|(a, b)| patch[*a as usize] != patch[*b as usize]);
        let (sum, count) =
            across.fold((0.0, 0.0), |(sum, count), (a, b)| (sum + off(a).distance(off(b)), count + 1.0));
        sum / f64::max(count, 1.0)
    }

    /// How it differs from the neutral.
    fn delta(&self, rest: &[DVec3]) -> Delta {
        Delta { skin: self.skin.iter().zip(rest).map(|(p, rest)| *p - *rest).collect(), jaw: self.jaw }
    }
}

impl Delta {
    /// The part of a whole that this one does not explain (AnaConDaR eq. 4).
    fn missing_from(&self, whole: &Self) -> Self {
        let skin = whole.skin.iter().zip(&self.skin).map(|(whole, own)| *whole - *own).collect();
        Self { skin, jaw: whole.jaw.plus(-1.0, &self.jaw) }
    }

    /// Mean and largest length of the displacements.
    fn lengths(&self) -> [f64; 2] {
        let lengths = || self.skin.iter().map(|by| by.length());
        [lengths().sum::<f64>() / self.skin.len().max(1) as f64, lengths().fold(0.0, f64::max)]
    }
}
