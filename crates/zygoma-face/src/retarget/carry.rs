//! Carries expressions from one head to another.

use std::time::Instant;

use glam::{DAffine3, DVec3};
use zygoma_geometry::deformation::TransferError;
use zygoma_head::fit::{FitError, JawPose};
use zygoma_numerics::{BadParam, Checked, NotPositiveDefinite};

use super::characteristics::Characteristics;
use super::forward::{Forward, ForwardInput, Solved};
use super::head::{Expression, RetargetHead};
use super::inverse::Inverse;
use super::lips::LipCrossings;
use super::params::RetargetParams;
use super::surface::SurfaceTransfer;
use super::volume::HeadVolume;

/// Rounds of bringing lips together. Ours: each solves again with what still crosses.
const LIP_ROUNDS: usize = 3;

/// Why nothing can be carried between two heads.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RetargetError {
    /// A head could not be registered.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A parameter is out of its range.
    #[error(transparent)]
    Param(#[from] BadParam),
    /// A skin cannot be deformed.
    #[error("the skin cannot be deformed: {0}")]
    Surface(#[from] TransferError),
    /// A method that learns from examples got none.
    #[error(
        "{0} needs examples of the target: name a rig or a folder of meshes with them, or choose adt or dt"
    )]
    NoExamples(&'static str),
    /// A matrix is not positive definite.
    #[error("the tissue cannot be simulated with these parameters: {0}")]
    Matrix(#[from] NotPositiveDefinite),
}

/// How an expression is carried from the source alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// By the deformation of the skin \[Sumner and Popović 2004\].
    Surface,
    /// By the deformation of all tissue, rigid bones and facial characteristics: A-DT (AnaConDaR Alg. 1).
    Anatomical,
}

/// Figures of one carried expression.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CarryReport {
    /// By how much the target misses the source's facial characteristics: ratios of the areas of eyes and of sockets, and the lips' contour in
    /// metres.
    pub characteristics: [f64; 3],
    /// Points of the lower lip inside the upper one, before and after they were brought apart.
    pub lip_crossings: [usize; 2],
    /// Inverted tetrahedra; none without anatomy.
    pub inverted: usize,
    /// Mean of |det F − 1|; 0 without anatomy.
    pub volume_change: f64,
    /// Mean and largest length of the part of the source's expression that examples do not explain (AnaConDaR eq. 4), m; 0 without examples.
    pub missing: [f64; 2],
    /// Time taken, s.
    pub seconds: f64,
}

/// The simulations between two heads with anatomy.
struct Simulations {
    source: HeadVolume,
    target: HeadVolume,
    /// Of the source, under a held skin.
    inverse: Inverse,
    /// Of the target, once something asked for it.
    target_inverse: Option<Inverse>,
    forward: Forward,
    joint: DVec3,
    source_joint: DVec3,
}

/// Carries expressions from a source to a target.
pub struct Carrier {
    params: RetargetParams,
    source: Vec<DVec3>,
    target: Vec<DVec3>,
    /// Size of the target relative to the source, by the heights of their faces.
    ratio: f64,
    surface: SurfaceTransfer,
    lips: LipCrossings,
    simulations: Option<Simulations>,
}

impl Carrier {
    /// Prepares two heads. An anatomical transfer needs anatomy in both; [`transfer`](Self::transfer) returns the one that is possible.
    pub fn new(
        source: &RetargetHead,
        target: &RetargetHead,
        transfer: Transfer,
        params: &RetargetParams,
    ) -> Result<Self, RetargetError> {
        params.check()?;
        let ratio = target.height / source.height;
        let lips = LipCrossings::new(&target.rest);
        let heads =
            source.anatomy.as_ref().zip(target.anatomy.as_ref()).filter(|_| transfer == Transfer::Anatomical);
        let volumes = heads.and_then(|(a, b)| {
            HeadVolume::of(a, &source.map.is_seen()).zip(HeadVolume::of(b, &target.map.is_seen()))
        });
        let simulations = match (volumes, heads) {
            (Some((from, to)), Some((a, b))) => Some(Simulations {
                inverse: Inverse::new(&from, params)?,
                target_inverse: None,
                forward: Forward::new(&to, &target.rest, &lips.vertices(), params)?,
                source: from,
                target: to,
                source_joint: a.joint(),
                joint: b.joint(),
            }),
            _ => None,
        };
        Ok(Self {
            params: params.clone(),
            surface: SurfaceTransfer::new(&source.rest, &target.rest, ratio)?,
            source: source.rest.clone(),
            target: target.rest.clone(),
            ratio,
            lips,
            simulations,
        })
    }

    /// How expressions are carried: by the surface alone where one of the heads has no anatomy.
    pub fn transfer(&self) -> Transfer {
        if self.simulations.is_some() { Transfer::Anatomical } else { Transfer::Surface }
    }

    /// Plain transfer between the skins.
    pub(super) fn surface(&mut self) -> &mut SurfaceTransfer {
        &mut self.surface
    }

    /// Carries one expression. The result does not depend on those carried before.
    pub fn carry(&mut self, expression: &Expression) -> (Expression, CarryReport) {
        let began = Instant::now();
        let detail = self.surface.carry(&expression.skin);
        let wanted = self.characteristics(&expression.skin, &detail);
        let jaw = expression.jaw.scaled(self.ratio);
        let Some(solved) = self.transferred(expression, &detail, &wanted) else {
            let report =
                CarryReport { seconds: began.elapsed().as_secs_f64(), ..self.seen(&wanted, &detail) };
            return (Expression { skin: detail, jaw }, report);
        };
        let (skin, report) = self.finished(solved, &wanted);
        (Expression { skin, jaw }, CarryReport { seconds: began.elapsed().as_secs_f64(), ..report })
    }

    /// Carries the shape of a source that is part of an expression only, such as the missing one of AnaConDaR eq. 5. Its lips may cross.
    pub(super) fn carry_part(&mut self, part: &Expression, transfer: Transfer) -> Vec<DVec3> {
        let detail = self.surface.carry(&part.skin);
        let wanted = self.characteristics(&part.skin, &detail);
        let solved = match transfer {
            Transfer::Anatomical => self.transferred(part, &detail, &wanted),
            Transfer::Surface => None,
        };
        solved.map_or(detail, |solved| solved.skin)
    }

    /// Makes a skin of the target plausible: its tissue is found by the inverse simulation, and solved again with the characteristics of the
    /// source's expression (AnaConDaR eq. 19). Without anatomy the skin stays as it is.
    pub(super) fn assemble(
        &mut self,
        skin: Vec<DVec3>,
        source: &Expression,
    ) -> Result<(Expression, CarryReport), RetargetError> {
        let jaw = source.jaw.scaled(self.ratio);
        let wanted = self.wanted(source);
        let Some(simulations) = &mut self.simulations else {
            let report = self.seen(&wanted, &skin);
            return Ok((Expression { skin, jaw }, report));
        };
        let motion = jaw.motion(simulations.joint);
        let nodes = simulations.target_nodes(&self.target, &skin, &motion, &self.params)?;
        let gradients = simulations.target.gradients(&nodes);
        let input = ForwardInput { gradients: &gradients, jaw: &motion, detail: &skin, wanted: &wanted };
        let solved = simulations.forward.solve(&simulations.target, &self.target, &input);
        let (skin, report) = self.finished(solved, &wanted);
        Ok((Expression { skin, jaw }, report))
    }

    /// A skin of the target as an expression, with figures of how it shows the source's.
    pub(super) fn as_it_is(&mut self, skin: Vec<DVec3>, source: &Expression) -> (Expression, CarryReport) {
        let wanted = self.wanted(source);
        let report = self.seen(&wanted, &skin);
        (Expression { skin, jaw: source.jaw.scaled(self.ratio) }, report)
    }

    /// A-DT before lips are looked at (AnaConDaR Alg. 1); `None` without anatomy.
    fn transferred(
        &mut self,
        expression: &Expression,
        detail: &[DVec3],
        wanted: &Characteristics,
    ) -> Option<Solved> {
        let simulations = self.simulations.as_mut()?;
        let gradients = simulations.gradients(&self.source, expression);
        let jaw = expression.jaw.scaled(self.ratio).motion(simulations.joint);
        let input = ForwardInput { gradients: &gradients, jaw: &jaw, detail, wanted };
        Some(simulations.forward.solve(&simulations.target, &self.target, &input))
    }

    /// Brings lips apart, and measures.
    fn finished(&mut self, solved: Solved, wanted: &Characteristics) -> (Vec<DVec3>, CarryReport) {
        let (solved, lip_crossings) = self.part_lips(solved);
        let tissue = self.simulations.as_ref().map(|simulations| &simulations.target);
        let (inverted, volume_change) = tissue.map_or((0, 0.0), |tissue| tissue.volume_change(&solved.nodes));
        let characteristics = wanted.error(&self.target, &solved.skin);
        let report =
            CarryReport { characteristics, lip_crossings, inverted, volume_change, ..CarryReport::default() };
        (solved.skin, report)
    }

    /// Figures of a skin that was not simulated.
    fn seen(&self, wanted: &Characteristics, skin: &[DVec3]) -> CarryReport {
        CarryReport {
            characteristics: wanted.error(&self.target, skin),
            lip_crossings: [self.lips.count(skin); 2],
            ..CarryReport::default()
        }
    }

    /// The characteristics of an expression of the source, in the target.
    fn wanted(&mut self, source: &Expression) -> Characteristics {
        let by_transfer = self.surface.carry(&source.skin);
        self.characteristics(&source.skin, &by_transfer)
    }

    fn characteristics(&self, posed: &[DVec3], by_transfer: &[DVec3]) -> Characteristics {
        Characteristics::new(&self.source, posed, &self.target, by_transfer, self.params.literal_lips)
    }

    /// Solves again until lips no longer cross; the numbers of crossings before and after.
    fn part_lips(&mut self, mut solved: Solved) -> (Solved, [usize; 2]) {
        let before = self.lips.count(&solved.skin);
        let mut left = before;
        let Some(simulations) = self.simulations.as_mut().filter(|_| self.params.part_lips) else {
            return (solved, [before; 2]);
        };
        let mut placed = Vec::new();
        for _ in 0..LIP_ROUNDS {
            if left == 0 {
                break;
            }
            let more = self.lips.parted(&solved.skin);
            placed.retain(|old: &super::forward::Placed| more.iter().all(|new| new.vertex != old.vertex));
            placed.extend(more);
            solved = simulations.forward.solve_parted(&simulations.target, &solved, &placed);
            left = self.lips.count(&solved.skin);
        }
        (solved, [before, left])
    }

    /// Mean |det F − 1| of the target's tissue under the skin that plain transfer gives, with the interior solved: what an anatomical transfer is
    /// compared with. `None` without anatomy.
    pub fn plain_volume_change(&mut self, expression: &Expression) -> Result<Option<f64>, RetargetError> {
        let detail = self.surface.carry(&expression.skin);
        let Some(simulations) = &mut self.simulations else { return Ok(None) };
        let motion = expression.jaw.scaled(self.ratio).motion(simulations.joint);
        let nodes = simulations.target_nodes(&self.target, &detail, &motion, &self.params)?;
        Ok(Some(simulations.target.volume_change(&nodes).1))
    }
}

impl Simulations {
    /// The target's tissue under a posed skin.
    fn target_nodes(
        &mut self,
        rest: &[DVec3],
        posed: &[DVec3],
        jaw: &DAffine3,
        params: &RetargetParams,
    ) -> Result<Vec<DVec3>, RetargetError> {
        let displacements: Vec<DVec3> = posed.iter().zip(rest).map(|(p, rest)| *p - *rest).collect();
        let inverse = match &mut self.target_inverse {
            Some(inverse) => inverse,
            none => none.insert(Inverse::new(&self.target, params)?),
        };
        Ok(inverse.solve(&self.target, &displacements, jaw))
    }

    /// Deformation gradients of the source's tissue in an expression (AnaConDaR eq. 8).
    fn gradients(&mut self, rest: &[DVec3], expression: &Expression) -> Vec<glam::DMat3> {
        let displacements: Vec<DVec3> =
            expression.skin.iter().zip(rest).map(|(p, rest)| *p - *rest).collect();
        let motion = expression.jaw.motion(self.source_joint);
        let nodes = self.inverse.solve(&self.source, &displacements, &motion);
        self.source.gradients(&nodes)
    }
}

impl Expression {
    /// A head's neutral.
    pub fn neutral(head: &RetargetHead) -> Self {
        Self { skin: head.rest.clone(), jaw: JawPose::default() }
    }
}
