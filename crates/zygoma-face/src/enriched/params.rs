//! Parameters of enriched faces.

use serde::{Deserialize, Serialize};
use zygoma_numerics::{Checked, Ranged};
use zygoma_physics::projective::Material;
use zygoma_physics::rebalanced::PUBLISHED_STEP;

use crate::body::GRAVITY;
use crate::volume::contact::ContactMode;
use crate::volume::{HypodermisParams, LayerParams};

/// Parameters of enriched faces. Values without a note are published in *Blendvolumes*, §7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnrichedParams {
    /// μ of the relaxed face, Pa.
    pub mu: f64,
    /// λ, Pa.
    pub lambda: f64,
    /// μ of tissue that a shape shortens by 30 % or more, Pa: muscles stiffen as they contract. Ours; the paper paints it. The value of `mu` for none.
    pub contracted_mu: f64,
    /// μ of tissue that no expression moves or deforms, Pa, such as ears, scalp and the bridge of the nose: cartilage, and skin that is bound to the
    /// bone. Ours.
    pub firm_mu: f64,
    /// Density, kg/m³.
    pub density: f64,
    /// h, time step of the physics, s. Motion is damped alike at any.
    pub step_time: f64,
    /// α, rebalancing of the forces that a change of shape causes: 1 for all of them, 0 for a simulation that knows nothing of it.
    pub rebalance: f64,
    /// Gravity in world space, m/s². An upright head is at rest in the artist's shape.
    pub gravity: [f64; 3],
    /// Largest number of iterations of a solve. Ours.
    pub iterations: usize,
    /// Penetrations of the rig's own lips: left as the artist made them, or resolved.
    pub contact_mode: ContactMode,
    /// k, stiffness of contact, N/m per m² of skin. Ours: that of tissue.
    pub contact: f64,
    /// Thickness of the layer of tissue where no anatomy is known, m. Ours.
    pub thickness: f64,
    /// Stiffness of that layer's attachment, N/m per m² of skin. Ours.
    pub attachment: f64,
}

impl Default for EnrichedParams {
    fn default() -> Self {
        Self {
            mu: 3e3,
            lambda: 2.5e3,
            contracted_mu: 2e4,
            firm_mu: 5e4,
            density: 1100.0,
            step_time: PUBLISHED_STEP,
            rebalance: 1.0,
            gravity: [0.0, -9.81, 0.0],
            iterations: 60,
            contact_mode: ContactMode::Relative,
            contact: 3e7,
            thickness: 0.006,
            attachment: 2e4,
        }
    }
}

/// The shortest step, s: the change over a shorter one is lost in single precision. Ours.
const SHORTEST_STEP: f64 = 1.0 / 1200.0;

impl Checked for EnrichedParams {
    fn ranges(&self) -> Vec<Ranged> {
        let mut ranges = vec![
            Ranged::new("mu", self.mu, 10.0..=1e9),
            Ranged::new("lambda", self.lambda, 0.0..=1e9),
            Ranged::new("contracted_mu", self.contracted_mu, 10.0..=1e9),
            Ranged::new("firm_mu", self.firm_mu, 10.0..=1e9),
            Ranged::new("density", self.density, 1.0..=1e5),
            Ranged::new("step_time", self.step_time, SHORTEST_STEP..=0.05),
            Ranged::new("rebalance", self.rebalance, 0.0..=1.0),
            Ranged::count("iterations", self.iterations, 1..=10_000),
            Ranged::new("contact", self.contact, 1.0..=1e12),
            Ranged::new("thickness", self.thickness, LayerParams::THICKNESS),
            Ranged::new("attachment", self.attachment, 1.0..=1e9),
        ];
        ranges.extend(Ranged::vector("gravity", self.gravity, &GRAVITY));
        ranges
    }
}

impl EnrichedParams {
    /// Parameters of a face that is simulated while it is watched: with longer steps than the published ones. Ours.
    pub fn live() -> Self {
        Self { step_time: 1.0 / 60.0, ..Self::default() }
    }

    /// The layer of tissue where no anatomy is known: that of the tissue body.
    pub(super) fn layer(&self) -> LayerParams {
        LayerParams {
            thickness: self.thickness,
            thickness_range: [0.003, 0.01],
            hypodermis: HypodermisParams { smooth: 0.3, keep_curvature: 1.0 },
            // Only projective tissue uses it.
            material: Material { young: self.mu, poisson: 0.4 },
        }
    }
}
