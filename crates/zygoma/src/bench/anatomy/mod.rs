//! Fitting anatomy: bones found under the skin of generated heads whose bones are known, and soundness, accuracy and time on meshes.

mod changes;
mod meshes;
mod withheld;

use anyhow::Context;
use rayon::prelude::*;
use serde::Serialize;
use zygoma_head::anatomy::depths::DEPTHS;
use zygoma_head::fit::{BoneError, BoneModel, TruthErrors, truth};

use crate::cli::BenchAnatomyArgs;
pub(crate) use meshes::MeshFit;

/// The first seed of held-out heads; what a fit expects is drawn from other streams.
const FIRST_SEED: u64 = 5000;
const MILLIMETRES: f64 = 1e3;

/// Errors of the bones, in millimetres.
#[derive(Debug, Serialize)]
pub(crate) struct AnatomyReport {
    /// Generated heads that were fitted.
    pub(crate) heads: usize,
    /// Mean errors by model; the last line is the floor.
    pub(crate) models: Vec<ModelError>,
    /// Mean error of the estimated fat, from -1 to 1.
    pub(crate) fat_error: f64,
    /// Spread of the depth of bone over the heads, at the published landmarks.
    pub(crate) depths: Vec<DepthSpread>,
    /// Fits of meshes.
    pub(crate) meshes: Vec<MeshFit>,
}

/// Mean error of a model over all heads.
#[derive(Debug, Serialize)]
pub(crate) struct ModelError {
    pub(crate) model: String,
    pub(crate) face_mm: f64,
    pub(crate) all_mm: f64,
    /// The worst head's mean over the face.
    pub(crate) worst_face_mm: f64,
}

/// Mean and standard deviation of the depth at one landmark.
#[derive(Debug, Serialize)]
pub(crate) struct DepthSpread {
    pub(crate) landmark: &'static str,
    pub(crate) mean_mm: f64,
    pub(crate) deviation_mm: f64,
}

/// Fits generated heads and meshes; `done` is called after each mesh.
pub(crate) fn run(args: &BenchAnatomyArgs, done: impl FnMut(&MeshFit)) -> anyhow::Result<AnatomyReport> {
    let heads = args.heads;
    let seeds = FIRST_SEED..FIRST_SEED + heads as u64;
    let found: Vec<TruthErrors> = seeds
        .into_par_iter()
        .map(|seed| truth(seed).with_context(|| format!("head {seed}")))
        .collect::<Result<_, _>>()?;
    let model = |name: String, pick: &dyn Fn(&TruthErrors) -> BoneError| ModelError {
        model: name,
        face_mm: mean(found.iter().map(|head| MILLIMETRES * pick(head).face)),
        all_mm: mean(found.iter().map(|head| MILLIMETRES * pick(head).all)),
        worst_face_mm: found.iter().map(|head| MILLIMETRES * pick(head).face).fold(0.0, f64::max),
    };
    let names: Vec<BoneModel> =
        found.first().map_or_else(Vec::new, |head| head.models.iter().map(|(m, _)| *m).collect());
    let mut models: Vec<ModelError> = names
        .iter()
        .enumerate()
        .map(|(i, name)| model(format!("{name:?}"), &|head| head.models[i].1))
        .collect();
    models.push(model("floor".to_owned(), &|head| head.floor));
    let marks = DEPTHS.iter().filter(|mark| mark.published).enumerate();
    let spread = |(i, mark): (usize, &zygoma_head::anatomy::depths::Depth)| {
        let middle = mean(found.iter().map(|head| MILLIMETRES * head.depths[i]));
        let square = mean(found.iter().map(|head| (MILLIMETRES * head.depths[i] - middle).powi(2)));
        DepthSpread { landmark: mark.name, mean_mm: middle, deviation_mm: square.sqrt() }
    };
    Ok(AnatomyReport {
        heads,
        fat_error: mean(found.iter().map(|head| (head.fat[0] - head.fat[1]).abs())),
        depths: marks.map(spread).collect(),
        models,
        meshes: meshes::run(args, done)?,
    })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / f64::max(count, 1.0)
}
