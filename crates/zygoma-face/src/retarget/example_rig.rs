//! Example-based facial rigging: shapes of a source carried to a target by plain transfer, and changed so that mixtures of them give the
//! target's examples \[Li et al. 2010\].

use glam::{DMat3, DVec3};
use rayon::prelude::*;
use zygoma_geometry::deformation::deformation_gradients;
use zygoma_head::fit::{JawPose, SharedSkin};
use zygoma_numerics::DenseFactor;

use super::blend::{Blend, BlendWeights, Delta};
use super::surface::SurfaceTransfer;

/// β, how much the carried shapes count against the examples, in each round (Li et al. 2010 §4).
const ROUNDS: [f64; 3] = [0.5, 0.3, 0.1];
/// κ and θ of the weights that keep triangles still which a shape of the source does not move (Li et al. 2010 §4).
const KAPPA: f64 = 0.1;
const THETA: i32 = 2;

/// Shapes of a target made from those of a source and from examples.
pub(super) struct ExampleRig {
    /// The source's shapes.
    set: Blend,
    /// The target's.
    shapes: Vec<Delta>,
    /// For each example the weights of the shapes.
    weights: Vec<BlendWeights>,
}

impl ExampleRig {
    /// Makes the target's shapes. `set` are the source's, `examples` the target's displacements.
    pub(super) fn new(surface: &mut SurfaceTransfer, set: Vec<Delta>, examples: &[Delta]) -> Self {
        let triangles = SharedSkin::get().triangles;
        let posed: Vec<Vec<DVec3>> = set.iter().map(|shape| surface.posed_source(&shape.skin)).collect();
        let carried: Vec<Vec<DMat3>> =
            posed.iter().map(|skin| off_identity(surface.gradients(skin))).collect();
        let neutral = surface.target().to_vec();
        let wanted: Vec<Vec<DMat3>> = examples
            .iter()
            .map(|example| {
                let skin: Vec<DVec3> = neutral.iter().zip(&example.skin).map(|(p, by)| *p + *by).collect();
                off_identity(deformation_gradients(&neutral, &skin, triangles))
            })
            .collect();
        let mut solve = |gradients: &[Vec<DMat3>]| -> Vec<Delta> {
            let shape = |(own, posed): (&Vec<DMat3>, &Vec<DVec3>)| {
                let own: Vec<DMat3> = own.iter().map(|gradient| DMat3::IDENTITY + *gradient).collect();
                let skin = surface.carry_changed(posed, &own);
                let skin = skin.iter().zip(&neutral).map(|(p, rest)| *p - *rest).collect();
                Delta { skin, jaw: JawPose::default() }
            };
            gradients.iter().zip(&posed).map(shape).collect()
        };
        let mut shapes = Blend::of_shapes(solve(&carried));
        let mut weights: Vec<BlendWeights> =
            examples.iter().map(|example| shapes.fit(&example.skin)).collect();
        for beta in ROUNDS {
            let changed = changed_gradients(&carried, &wanted, &weights, beta);
            shapes = Blend::of_shapes(solve(&changed));
            weights = examples.iter().map(|example| shapes.fit(&example.skin)).collect();
        }
        Self { set: Blend::of_shapes(set), shapes: shapes.into_examples(), weights }
    }

    /// For each example its counterpart in the source.
    pub(super) fn counterparts(&self) -> Vec<Delta> {
        self.weights.iter().map(|weights| self.set.mix(weights)).collect()
    }

    /// Displacements of the target in an expression of the source. The part that is no mixture of the source's shapes goes by plain transfer.
    pub(super) fn carry(&self, surface: &mut SurfaceTransfer, skin: &[DVec3]) -> Vec<DVec3> {
        let weights = self.set.fit(skin);
        let mixed = self.set.mix(&weights);
        let rest: Vec<DVec3> = skin.iter().zip(&mixed.skin).map(|(whole, mixed)| *whole - *mixed).collect();
        let posed = surface.posed_source(&rest);
        let by_transfer = surface.carry(&posed);
        let own = self.set.mix_of(&weights, &self.shapes);
        let parts = own.skin.iter().zip(&by_transfer).zip(surface.target());
        parts.map(|((own, p), neutral)| *own + (*p - *neutral)).collect()
    }
}

/// Gradients less the identity, so that they add up.
fn off_identity(mut gradients: Vec<DMat3>) -> Vec<DMat3> {
    gradients.iter_mut().for_each(|gradient| *gradient -= DMat3::IDENTITY);
    gradients
}

/// For each shape the gradients M_k that minimise Σ_j ‖E_j − Σ_k α_jk M_k‖² + β Σ_k ω_k ‖M_k − M*_k‖² in each triangle (Li et al. 2010 §4): M* are the
/// carried ones, E those of the examples.
fn changed_gradients(
    carried: &[Vec<DMat3>],
    wanted: &[Vec<DMat3>],
    weights: &[BlendWeights],
    beta: f64,
) -> Vec<Vec<DMat3>> {
    let alpha: Vec<&[f64]> = weights.iter().map(|BlendWeights(regions)| &regions[0][..]).collect();
    let of_triangle = |triangle: usize| -> Vec<DMat3> {
        let own: Vec<DMat3> = carried.iter().map(|shape| shape[triangle]).collect();
        // 1/ω_k.
        let loose: Vec<f64> = own
            .iter()
            .map(|gradient| {
                let size = gradient.to_cols_array().iter().map(|entry| entry * entry).sum::<f64>().sqrt();
                ((KAPPA + size) / (1.0 + size)).powi(THETA)
            })
            .collect();
        let entry = |i: usize, j: usize| {
            let products = alpha[i].iter().zip(alpha[j]).zip(&loose);
            let sum: f64 = products.map(|((a, b), loose)| a * b * loose).sum();
            sum + if i == j { beta } else { 0.0 }
        };
        let Some(factor) = DenseFactor::new(alpha.len(), entry) else { return own };
        let missing = |(j, alpha): (usize, &&[f64])| {
            alpha.iter().zip(&own).fold(wanted[j][triangle], |left, (weight, own)| left - *weight * *own)
        };
        let missing: Vec<DMat3> = alpha.iter().enumerate().map(missing).collect();
        let columns: [Vec<[f64; 4]>; 3] = std::array::from_fn(|axis| {
            let column = |gradient: &DMat3| {
                let [x, y, z] = gradient.col(axis).to_array();
                [x, y, z, 0.0]
            };
            let mut rows: Vec<[f64; 4]> = missing.iter().map(column).collect();
            factor.solve(&mut rows);
            rows
        });
        let changed = |(k, own): (usize, &DMat3)| {
            let column = |rows: &Vec<[f64; 4]>| -> DVec3 {
                let parts = rows.iter().zip(&alpha);
                parts.map(|([x, y, z, _], alpha)| alpha[k] * DVec3::new(*x, *y, *z)).sum::<DVec3>() * loose[k]
            };
            let [a, b, c] = &columns;
            *own + DMat3::from_cols(column(a), column(b), column(c))
        };
        own.iter().enumerate().map(changed).collect()
    };
    let count = carried.first().map_or(0, Vec::len);
    let by_triangle: Vec<Vec<DMat3>> = (0..count).into_par_iter().map(of_triangle).collect();
    (0..carried.len()).map(|k| by_triangle.iter().map(|triangle| triangle[k]).collect()).collect()
}
