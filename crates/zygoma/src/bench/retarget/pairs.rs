//! Rigs that have the same shapes by name, carried to each other.

use std::path::Path;

use anyhow::Context;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::retarget::{Known, Method, RetargetHead, RetargetParams, RigRetarget, SourceFace};
use zygoma_rig::formats::{Limits, read_rig};
use zygoma_rig::{Rig, arkit};

/// Vertices that move less than this in a shape say nothing about its direction, m.
const MOVED: f32 = 5e-4;

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

pub(super) fn pair(source: &Path, target: &Path) -> anyhow::Result<PairFigures> {
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
    for method in [Method::Dt, Method::Adt] {
        let heads = RetargetHead::of_rig(&rig).and_then(|head| Ok((head, RetargetHead::of_rig(&other)?)));
        let (head, other_head) = match heads {
            Ok(heads) => heads,
            Err(problem) => {
                figures.refused = Some(problem.to_string());
                return Ok(figures);
            }
        };
        let mut face = SourceFace::new(&rig, head);
        let mut retarget = RigRetarget::new(
            &face,
            &other,
            other_head,
            method,
            Known::default(),
            &RetargetParams::default(),
        )?;
        let mut cosines = Vec::new();
        for (shape, own) in common_shapes(&rig, &other) {
            let (carried, report) = retarget.shape(&mut face, shape)?;
            let truth = other.skin().shapes[own].deltas.to_dense(other.skin().positions.len());
            cosines.extend(cosine(&carried.meshes[0].offsets, &truth));
            if method == Method::Adt {
                figures.lip_crossings += report.lip_crossings[1];
                figures.inverted += report.inverted;
                figures.ms_per_expression += 1e3 * report.seconds;
            }
        }
        cosines.sort_by(f64::total_cmp);
        let median = cosines.get(cosines.len() / 2).copied().unwrap_or(0.0);
        figures.shapes = cosines.len();
        match method {
            Method::Dt => figures.plain_cosine = median,
            _ => figures.cosine = median,
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
