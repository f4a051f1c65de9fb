//! Anatomical faces: laws, takes, corrected rigs, dials and tracked points, each as figures.

mod effects;
mod points;
mod takes;

use std::sync::Arc;

use anyhow::Context;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::anatomical::{Anatomical, AnatomicalBody, AnatomicalParams, Dials};
use zygoma_face::body::{Body, Drive};
use zygoma_face::model::FaceModel;
use zygoma_rig::Rig;
use zygoma_rig::binding::Binding;

use crate::cli::{AnatomicalPart, AnatomyArg, BenchAnatomicalArgs};
use crate::commands::input;
use crate::commands::simulate::anatomical;
use effects::Effects;
use points::PointFigures;
use takes::{CorrectedFigures, TakeFigures};

/// Triangles of the face's own coarse skin, as in `zygoma simulate`.
const TRIANGLES: usize = 4000;

/// The report.
#[derive(Serialize)]
pub(crate) struct AnatomicalReport {
    pub(crate) rig: String,
    pub(crate) nodes: usize,
    pub(crate) tetrahedra: usize,
    pub(crate) shapes: usize,
    /// The largest distance of the simulated neutral from the neutral.
    pub(crate) neutral_mm: f64,
    pub(crate) takes: Vec<TakeFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) corrected: Option<CorrectedFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effects: Option<Effects>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) points: Option<PointFigures>,
}

/// A face, its anatomy, and expressions to try.
struct Subject<'a> {
    rig: &'a Rig,
    face: FaceModel,
    head: Arc<Anatomical>,
    frames: usize,
}

impl Subject<'_> {
    /// Weights of frames spread over a take.
    fn weights(&self, name: &str) -> anyhow::Result<Vec<Vec<f32>>> {
        let take = input::read_take(name, self.rig, None)?;
        let binding = Binding::new(self.rig, &take);
        let at = |frame: usize| {
            let mut weights = vec![0.0; self.face.shapes.len()];
            let time = take.start() + take.duration() * (frame as f64 + 0.5) / self.frames as f64;
            binding.weights_at(&take, self.rig.skin, time, &mut weights);
            weights
        };
        Ok((0..self.frames).map(at).collect())
    }

    /// Weight 1 of some shapes.
    fn expression(&self, names: &[&str]) -> Vec<f32> {
        self.face
            .shapes
            .iter()
            .map(|shape| f32::from(u8::from(names.contains(&shape.name.as_str()))))
            .collect()
    }

    /// The plain rig's surface.
    fn plain(&self, weights: &[f32]) -> Vec<Vec3> {
        let mut surface = self.face.neutral.clone();
        for (shape, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            let moved = self.face.displacements(shape);
            surface.iter_mut().zip(moved).for_each(|(p, way)| *p += *weight * way);
        }
        surface
    }

    /// The surface of a head that has settled in an expression.
    fn settled(&self, head: &Arc<Anatomical>, weights: &[f32]) -> anyhow::Result<Vec<Vec3>> {
        let mut body = AnatomicalBody::new(head.clone())?;
        settle(&mut body, weights)
    }
}

/// Settles a body in an expression.
fn settle(body: &mut AnatomicalBody, weights: &[f32]) -> anyhow::Result<Vec<Vec3>> {
    body.drive(Drive::Weights(weights)).context("an anatomical face follows weights")?;
    Body::settle(body);
    Ok(body.frame_before(0.0).positions.to_vec())
}

/// Runs the wanted parts.
pub(crate) fn run(args: &BenchAnatomicalArgs, rig: &Rig) -> anyhow::Result<AnatomicalReport> {
    let face = anatomical::face_of(rig, TRIANGLES, false, &AnatomyArg::Auto)?;
    let head = anatomical::build(&face, &AnatomicalParams::default(), &Dials::default())?;
    let subject = Subject { rig, face, head, frames: args.frames };
    let wants = |part: AnatomicalPart| args.parts.is_empty() || args.parts.contains(&part);
    let neutral = subject.settled(&subject.head, &[])?;
    let mut takes = Vec::new();
    for take in &args.takes {
        if wants(AnatomicalPart::Takes) {
            takes.push(TakeFigures::of(&subject, take)?);
        }
    }
    let first = args.takes.first().map_or("tour", String::as_str);
    let corrected = wants(AnatomicalPart::Corrected).then(|| CorrectedFigures::of(&subject, first));
    let effects = wants(AnatomicalPart::Effects).then(|| Effects::of(&subject));
    let points = wants(AnatomicalPart::Points).then(|| PointFigures::of(&subject, first));
    Ok(AnatomicalReport {
        rig: rig.name.clone(),
        nodes: subject.head.node_count(),
        tetrahedra: subject.head.tet_count(),
        shapes: subject.face.shapes.len(),
        neutral_mm: Gap::between(&neutral, &subject.face.neutral, |_| true).worst_mm,
        takes,
        corrected: corrected.transpose()?,
        effects: effects.transpose()?,
        points: points.transpose()?,
    })
}

impl AnatomicalReport {
    /// The report, a sentence per line.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{}: {} nodes, {} tetrahedra; the neutral comes back within {:.6} mm",
            self.rig, self.nodes, self.tetrahedra, self.neutral_mm
        )];
        lines.extend(self.takes.iter().map(TakeFigures::line));
        lines.extend(self.corrected.iter().map(CorrectedFigures::line));
        lines.extend(self.effects.iter().map(Effects::line));
        lines.extend(self.points.iter().map(PointFigures::line));
        lines
    }
}

/// Distances between two surfaces.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Gap {
    pub(crate) mean_mm: f64,
    pub(crate) worst_mm: f64,
}

impl Gap {
    /// Over some of the vertices.
    fn between(a: &[Vec3], b: &[Vec3], counts: impl Fn(usize) -> bool) -> Self {
        let distances = a.iter().zip(b).enumerate().filter(|(v, _)| counts(*v));
        let (mut sum, mut worst, mut count) = (0.0, 0.0, 0_usize);
        for distance in distances.map(|(_, (a, b))| 1e3 * f64::from(a.distance(*b))) {
            sum += distance;
            worst = f64::max(worst, distance);
            count += 1;
        }
        Self { mean_mm: sum / count.max(1) as f64, worst_mm: worst }
    }

    /// The mean of some means, and the worst of all.
    fn of(gaps: &[Self]) -> Self {
        let mean = gaps.iter().map(|gap| gap.mean_mm).sum::<f64>() / gaps.len().max(1) as f64;
        Self { mean_mm: mean, worst_mm: gaps.iter().map(|gap| gap.worst_mm).fold(0.0, f64::max) }
    }
}
