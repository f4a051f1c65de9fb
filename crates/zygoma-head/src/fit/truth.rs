//! The test of a fit against truth: generated heads whose bones are known, given as noisy skin of another triangulation.
//!
//! Their fat is independent of their bones: soft dials, and a random change of the tissue's depth by a quarter, which is
//! an assumption. These heads come from the same dials that the fit knows, so their figures say how well bones can be found at best; they
//! say nothing about people.

use glam::DVec3;
use zygoma_numerics::random::Keyed;

use super::bones::Skin;
use super::population::{random_waves, tissue_depth};
use super::{BoneModel, Fat, FitError, FitInput, METRE, Registration};
use crate::anatomy::Anatomy;
use crate::dials::{DIALS, Warp};
use crate::template::Template;
use crate::{Head, HeadOptions, Level};

/// Noise of the skin's vertices, in metres.
const NOISE: f64 = 2e-4;
/// Bone in front of this belongs to the face, in metres of the head's frame.
const FACE: f64 = 0.02;

/// Mean distances between corresponding bone vertices, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoneError {
    /// Over the face.
    pub face: f64,
    /// Over all bone.
    pub all: f64,
}

/// Errors on one generated head.
#[derive(Clone, Debug, PartialEq)]
pub struct TruthErrors {
    /// The dial `weight` of the head, and its estimate.
    pub fat: [f64; 2],
    /// By model.
    pub models: Vec<(BoneModel, BoneError)>,
    /// Of the best linear prediction from perfectly registered skin.
    pub floor: BoneError,
    /// Distances from the skin to the nearest bone at the published landmarks, in metres.
    pub depths: Vec<f64>,
}

/// Generates a head and finds its bones from its skin by every model.
pub fn truth(seed: u64) -> Result<TruthErrors, FitError> {
    let given = Head::new(&options(seed)?);
    let random = Keyed::new(seed, 16);
    let fat = RandomFat::new(seed);
    let coarse = Template::of(Level::Middle);
    let noisy = |(v, p): (usize, &DVec3)| {
        let noise = DVec3::from_array([0, 1, 2].map(|k| random.normal((3 * v + k) as u64)));
        *p + fat.offset(coarse.base.rest[v], coarse.softness[v]) / METRE + NOISE / 3f64.sqrt() * noise
    };
    let positions: Vec<DVec3> = given.skin.positions.iter().enumerate().map(noisy).collect();
    let registration = Registration::new(&FitInput::new(&positions, &given.skin.triangles))?;
    let anatomy = Anatomy::new(&given);
    let bones = [&anatomy.cranium, &anatomy.mandible].map(|bone| bone.surface.positions.clone());

    let mut models = Vec::new();
    let mut estimate = 0.0;
    for model in [BoneModel::SpaceWarp, BoneModel::Dials, BoneModel::Wraps, BoneModel::Linear] {
        let (found, fat) = registration.bones(model, Fat::Auto)?;
        models.push((model, error(&bones, &found)));
        estimate = fat;
    }
    let template = Template::of(Level::High);
    let dials = given.options.dials.resolved(seed);
    let warp = Warp::new(&dials);
    let perfect: Vec<DVec3> = template
        .base
        .rest
        .iter()
        .zip(&template.softness)
        .map(|(p, softness)| (warp.apply(*p, *softness) + fat.offset(*p, *softness)) / METRE)
        .collect();
    let skin = Skin { template, warp: &warp, by_dials: &perfect, skin: &perfect };
    let (found, _) = skin.bones(BoneModel::Linear, Fat::Auto)?;
    Ok(TruthErrors {
        fat: [dials.get("weight"), estimate],
        models,
        floor: error(&bones, &found),
        depths: crate::anatomy::checks::landmark_depths(&warp, |p| warp.apply(p, 1.0) + fat.offset(p, 1.0)),
    })
}

/// A random change of the tissue's depth.
struct RandomFat {
    waves: Vec<(DVec3, f64, f64)>,
}

impl RandomFat {
    fn new(seed: u64) -> Self {
        /// Length over which it changes, in millimetres, and its standard deviation as a fraction of the depth.
        const LENGTH: f64 = 55.0;
        const SHARE: f64 = 0.25;
        Self { waves: random_waves(Keyed::new(seed, 18), LENGTH, SHARE).to_vec() }
    }

    /// The offset of a point of the template's skin, away from the middle of the head, in millimetres.
    fn offset(&self, p: DVec3, softness: f64) -> DVec3 {
        const MIDDLE: DVec3 = DVec3::new(0.0, -10.0, 10.0);
        let change: f64 = self.waves.iter().map(|(k, phase, size)| size * (k.dot(p) + phase).cos()).sum();
        softness * change * tissue_depth(p) * (p - MIDDLE).normalize_or_zero()
    }
}

/// A sampled head whose soft dials are spread evenly from −1 to 1, independently of its bones.
fn options(seed: u64) -> Result<HeadOptions, FitError> {
    let mut options = HeadOptions::sampled(seed, Level::Middle);
    let random = Keyed::new(seed, 17);
    for (k, dial) in (0..).zip(DIALS).filter(|(_, dial)| dial.soft) {
        options.dials.set(dial.name, 2.0 * random.uniform(k) - 1.0).map_err(|_| FitError::Unsolvable)?;
    }
    Ok(options)
}

fn error(truth: &[Vec<DVec3>; 2], found: &[Vec<DVec3>; 2]) -> BoneError {
    let pairs = || truth.iter().zip(found).flat_map(|(a, b)| a.iter().zip(b));
    let mean = |keep: fn(&DVec3) -> bool| {
        let all: Vec<f64> = pairs().filter(|(p, _)| keep(p)).map(|(p, q)| p.distance(*q)).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    };
    BoneError { face: mean(|p| p.z > FACE), all: mean(|_| true) }
}
