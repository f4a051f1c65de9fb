//! Bones by wraps: the skin wrap follows the skin, the skull wrap lies under it at regressed distances, and the skull follows the
//! skull wrap (Thesis eq. 2–5).

use std::sync::OnceLock;

use glam::{DMat3, DVec3};
use zygoma_geometry::deformation::deformation_gradients;
use zygoma_geometry::rbf::RbfWarp;
use zygoma_geometry::similarity::fit_similarity;
use zygoma_numerics::DenseFactor;
use zygoma_numerics::random::Keyed;

use super::bones::{Bones, Fat, Skin};
use super::elastic::{ElasticSurface, Pull, Stiffness, rotation};
use super::population::{COEFFICIENTS, DIAL_STEP, Moves, of_dial};
use super::register::vertex_normals;
use super::{FitError, METRE};
use crate::anatomy::{TemplateWraps, template_bones, template_wraps};

/// Centres of the space warp from skull wrap to skull (the number is ours).
const CENTRES: usize = 800;
/// Smallest distance from skin wrap to skull wrap, in metres.
const LEAST: f64 = 2.5e-3;

/// The bones under a skin, and the fat that the regression finds.
pub(super) fn bones(skin: &Skin<'_>, fat: Fat) -> Result<(Bones, f64), FitError> {
    let wraps = template_wraps();
    let metres = |points: &[DVec3]| points.iter().map(|p| *p / METRE).collect::<Vec<DVec3>>();
    let [skin_wrap, _, skull_wrap] = wraps.layers.each_ref().map(|layer| metres(layer));
    // Thesis eq. 3
    let space = skin.space_warp(&metres(&skin.template.base.rest))?;
    let fitted: Vec<DVec3> = skin_wrap.iter().map(|p| space.apply(*p)).collect();
    let (distances, fat) = distances(skin, fat)?;
    let fitted_skull = skull_under(&fitted, &distances, &skin_wrap, &skull_wrap, &wraps.triangles)?;
    // Thesis eq. 5
    let space = RbfWarp::sampled(&skull_wrap, &fitted_skull, CENTRES).map_err(|_| FitError::Unsolvable)?;
    Ok((template_bones().map(|bone| bone.iter().map(|p| space.apply(*p / METRE)).collect()), fat))
}

/// The skull wrap X under a fitted skin wrap (Thesis eq. 4, by projective dynamics).
///
/// E_rect is not defined there. Ours keeps the offset from the skin wrap near the template's, turned by the skin wrap's local
/// rotation; E_dist2 alone (Thesis eq. B.5) would let a vertex slide on a sphere.
fn skull_under(
    fitted: &[DVec3],
    distances: &[f64],
    skin_wrap: &[DVec3],
    skull_wrap: &[DVec3],
    triangles: &[[u32; 3]],
) -> Result<Vec<DVec3>, FitError> {
    const ROUNDS: usize = 6;
    const STEPS: usize = 1;
    const STIFFNESS: Stiffness = Stiffness { strain: 1e-4, bend: 0.006 };
    let turns = vertex_turns(skin_wrap, fitted, triangles);
    let upright: Vec<DVec3> =
        (0..fitted.len()).map(|v| turns[v] * (skull_wrap[v] - skin_wrap[v]).normalize_or_zero()).collect();
    let normals = vertex_normals(fitted, triangles);
    let mut x: Vec<DVec3> = (0..fitted.len()).map(|v| fitted[v] - distances[v] * normals[v]).collect();
    let mut surface = ElasticSurface::new(skull_wrap, triangles);
    let areas = super::register::vertex_areas(skull_wrap, triangles);
    for _ in 0..ROUNDS {
        let pull = |v: usize| {
            let direction = ((x[v] - fitted[v]).normalize_or_zero() + upright[v]).normalize_or_zero();
            let to = fitted[v] + distances[v] * direction;
            Pull { vertices: [v as u32; 3], barycentric: [1.0, 0.0, 0.0], to, weight: areas[v].max(1e-9) }
        };
        let pulls: Vec<Pull> = (0..x.len()).map(pull).collect();
        surface.relax(&mut x, &pulls, STIFFNESS, STEPS).map_err(|_| FitError::Unsolvable)?;
    }
    Ok(x)
}

/// The rotation of the surface around every vertex.
fn vertex_turns(rest: &[DVec3], deformed: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DMat3> {
    let mut sums = vec![DMat3::ZERO; rest.len()];
    for (t, gradient) in triangles.iter().zip(deformation_gradients(rest, deformed, triangles)) {
        t.iter().for_each(|v| sums[*v as usize] += gradient);
    }
    sums.into_iter().map(rotation).collect()
}

/// Distances from skin wrap to skull wrap in metres, and the fat: D of Thesis eq. 4, ridge regression on generated heads.
fn distances(skin: &Skin<'_>, fat: Fat) -> Result<(Vec<f64>, f64), FitError> {
    let regression = Regression::shared(skin).ok_or(FitError::Unsolvable)?;
    let points: Vec<DVec3> = regression.samples.iter().map(|v| METRE * skin.skin[*v]).collect();
    let (feature, scale) = feature(&regression.points, &points);
    let mut found = regression.latent(&feature);
    let number = of_dial("weight").ok_or(FitError::Unsolvable)?;
    let mut estimate = (DIAL_STEP * found[number]).clamp(-1.0, 1.0);
    if let Fat::Given(value) = fat {
        (found[number], estimate) = (value / DIAL_STEP, value);
    }
    let moved = |moves: &Moves| moves.offsets(&found);
    let (outer, inner) = (moved(&regression.outer), moved(&regression.inner));
    let TemplateWraps { layers, .. } = template_wraps();
    let distance = |v: usize| {
        let offset = layers[0][v] - layers[2][v];
        let change = offset.normalize_or_zero().dot(outer[v] - inner[v]);
        (scale * (offset.length() + change) / METRE).max(LEAST)
    };
    Ok(((0..outer.len()).map(distance).collect(), estimate))
}

/// Ridge regression from skin points to the coefficients of generated heads, in its dual form: a prediction is a mix of the generated heads.
/// Distances between wraps are linear in the coefficients, to first order.
struct Regression {
    /// Template vertices of the skin points, and their places in millimetres.
    samples: Vec<usize>,
    points: Vec<DVec3>,
    features: Vec<Vec<f64>>,
    coefficients: Vec<Vec<f64>>,
    factor: DenseFactor,
    /// Skin wrap and skull wrap.
    outer: Moves,
    inner: Moves,
}

impl Regression {
    fn shared(skin: &Skin<'_>) -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Regression>> = OnceLock::new();
        SHARED.get_or_init(|| Self::train(skin)).as_ref()
    }

    fn train(skin: &Skin<'_>) -> Option<Self> {
        /// Generated heads, and points of their skins.
        const HEADS: u64 = 400;
        const POINTS: usize = 250;
        /// The ridge: the squared error of a feature, in millimetres.
        const RIDGE: f64 = 1.0;
        let samples = skin.samples(POINTS);
        let points: Vec<DVec3> = samples.iter().map(|v| skin.template.base.rest[*v]).collect();
        let softness: Vec<f64> = samples.iter().map(|v| skin.template.softness[*v]).collect();
        let moves = Moves::new(&points, &softness);
        let (mut features, mut coefficients) = (Vec::new(), Vec::new());
        for head in 0..HEADS {
            let random = Keyed::new(17, head);
            let drawn: Vec<f64> = (0..COEFFICIENTS as u64).map(|k| random.normal(k)).collect();
            let head: Vec<DVec3> =
                moves.offsets(&drawn).iter().zip(&points).map(|(by, p)| *p + *by).collect();
            features.push(feature(&points, &head).0);
            coefficients.push(drawn);
        }
        let product =
            |i: usize, j: usize| features[i].iter().zip(&features[j]).map(|(a, b)| a * b).sum::<f64>();
        let factor =
            DenseFactor::new(features.len(), |i, j| product(i, j) + if i == j { RIDGE } else { 0.0 })?;
        let TemplateWraps { layers, .. } = template_wraps();
        let count = layers[0].len();
        let outer = Moves::new(&layers[0], &vec![1.0; count]);
        let inner = Moves::new(&layers[2], &vec![0.0; count]);
        Some(Self { samples, points, features, coefficients, factor, outer, inner })
    }

    /// The predicted coefficients.
    fn latent(&self, feature: &[f64]) -> Vec<f64> {
        let product = |own: &Vec<f64>| own.iter().zip(feature).map(|(a, b)| a * b).sum::<f64>();
        let mut weights: Vec<[f64; 4]> =
            self.features.iter().map(|own| [product(own), 0.0, 0.0, 0.0]).collect();
        self.factor.solve(&mut weights);
        let mut found = vec![0.0; COEFFICIENTS];
        for (weight, coefficients) in weights.iter().zip(&self.coefficients) {
            found.iter_mut().zip(coefficients).for_each(|(sum, value)| *sum += weight[0] * value);
        }
        found
    }
}

/// Offsets of a skin from the template's after the best similarity, in millimetres, and the skin's scale.
fn feature(template: &[DVec3], skin: &[DVec3]) -> (Vec<f64>, f64) {
    let pose = fit_similarity(template, skin);
    let back = pose.inverse();
    let offsets = skin.iter().zip(template).flat_map(|(p, q)| (back.apply(*p) - *q).to_array());
    (offsets.collect(), pose.scale)
}
