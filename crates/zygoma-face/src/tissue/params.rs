//! Parameters of simulated tissue.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use zygoma_numerics::{Checked, Ranged};
use zygoma_physics::projective::Material;

use crate::body::GRAVITY;
use crate::volume::{HypodermisParams, LayerParams};

/// Default stiffness of sticky lips, N/m per m² of lip. Ours: lips stretch by some millimetres before they part.
pub const STICKY: f64 = 2e6;

/// Range of stiffnesses of sticky lips that can be simulated, N/m per m² of lip.
pub(super) const STICKINESS: RangeInclusive<f64> = 0.0..=1e12;

/// How expressions drive the tissue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actuation {
    /// Every element is pulled to its shape in the expression (GPFM eq. 2 and 10), so that the rig's own face is free of strain.
    #[default]
    Shapes,
    /// Forces that hold the artist's shapes (*Progressive PD*, §3.1), found anew in every step.
    Forces,
}

/// Parameters of simulated tissue. The paper publishes only the values of `iterations` and `control_iterations`; all others are ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TissueParams {
    /// How expressions drive the tissue.
    pub actuation: Actuation,
    /// τ of *Progressive PD* eq. 12, thickness of the tissue, m. It becomes thinner by itself where a fold leaves no room.
    pub thickness: f64,
    /// Minimum and maximum thickness where a skull is known and tissue reaches down to the bone, m.
    pub thickness_range: [f64; 2],
    /// w_smooth of *Progressive PD* eq. 13.
    pub smooth: f64,
    /// w_lap of *Progressive PD* eq. 13.
    pub keep_curvature: f64,
    /// Young's modulus of the tissue, Pa: skin with the fat below it.
    pub young: f64,
    /// Poisson's ratio of the tissue. Defaults to 0.45, or to 0.35 where forces drive it: artists' shapes change the volume of a thin
    /// layer freely, and above 0.4 the forces that hold them make the layer buckle.
    pub poisson: Option<f64>,
    /// Stiffness of the attachment to the bone, N/m per m² of skin: tissue slides on bone by some millimetres in a quick turn. Defaults
    /// to 2e4, or to 5e4 where forces drive the tissue.
    pub attachment: Option<f64>,
    /// Factor by which the cartilage of nose and ears is stiffer than soft tissue, where shapes drive it; 1 for none. Real cartilage is
    /// stiffer by far, but it is thin.
    pub cartilage: f64,
    /// Stiffness with which active muscles hold the skin at the expression where forces drive it, N/m per m² of skin. Forces alone would
    /// let a strongly puckered mouth buckle.
    pub tone: f64,
    /// Whether to fit stiffness to the shapes, region by region (§4.2), or to use the same stiffness everywhere.
    pub fit_stiffness: bool,
    /// Number of skin regions with a stiffness of their own.
    pub stiffness_regions: usize,
    /// Smallest and largest factor by which a fitted stiffness may differ from the values above.
    pub stiffness_bounds: [f64; 2],
    /// Weight of the smoothness of fitted stiffness from region to region.
    pub stiffness_smooth: f64,
    /// Density, kg/m³.
    pub density: f64,
    /// Weight of the difference between actuations and the weights that drive them, against the error of a marker.
    pub regularisation: f64,
    /// Stiffness of contact between the lips, N/m per m² of lip.
    pub contact: f64,
    /// Stiffness of sticky springs between the lips, N/m per m² of lip; 0 for dry lips.
    pub stickiness: f64,
    /// Seed of the random breaking of sticky springs.
    pub seed: u64,
    /// h, time step of the physics, s; live surfaces lag by one step.
    pub step_time: f64,
    /// Iterations of a step (§7.1).
    pub iterations: usize,
    /// Iterations of the control (§3.2), each of a few solver steps towards its equilibrium. With 0 the weights themselves are the
    /// actuations.
    pub control_iterations: usize,
    /// Solver steps in each control iteration; the equilibrium is tracked from step to step.
    pub control_steps: usize,
    /// Gravity in world space, m/s². An upright head is at rest in the artist's shape.
    pub gravity: [f64; 3],
}

impl Default for TissueParams {
    fn default() -> Self {
        Self {
            actuation: Actuation::default(),
            thickness: 0.006,
            thickness_range: [0.003, 0.01],
            smooth: 0.3,
            keep_curvature: 1.0,
            young: 3e4,
            poisson: None,
            attachment: None,
            cartilage: 10.0,
            tone: 6e4,
            fit_stiffness: false,
            stiffness_regions: 32,
            stiffness_bounds: [0.3, 3.0],
            stiffness_smooth: 0.1,
            density: 1000.0,
            regularisation: 0.1,
            contact: 3e7,
            stickiness: 0.0,
            seed: 1,
            step_time: 1.0 / 60.0,
            iterations: 8,
            control_iterations: 2,
            control_steps: 2,
            gravity: [0.0, -9.81, 0.0],
        }
    }
}

impl Checked for TissueParams {
    fn ranges(&self) -> Vec<Ranged> {
        let [thin, thick] = self.thickness_range;
        let [soft, stiff] = self.stiffness_bounds;
        let mut ranges = vec![
            Ranged::new("thickness", self.thickness, Self::THICKNESS),
            Ranged::new("thickness_range[0]", thin, Self::THICKNESS),
            Ranged::new("thickness_range[1]", thick, thin..=*Self::THICKNESS.end()),
            Ranged::new("smooth", self.smooth, 0.0..=1e6),
            Ranged::new("keep_curvature", self.keep_curvature, 0.0..=1e6),
            Ranged::new("young", self.young, 1.0..=1e9),
            Ranged::new("poisson", self.poisson(), 0.0..=0.499),
            Ranged::new("attachment", self.attachment(), 1.0..=1e9),
            Ranged::new("cartilage", self.cartilage, 1.0..=1e3),
            Ranged::new("tone", self.tone, 0.0..=1e9),
            Ranged::count("stiffness_regions", self.stiffness_regions, 1..=10_000),
            Ranged::new("stiffness_bounds[0]", soft, 1e-3..=1e3),
            Ranged::new("stiffness_bounds[1]", stiff, soft..=1e3),
            Ranged::new("stiffness_smooth", self.stiffness_smooth, 0.0..=1e6),
            Ranged::new("density", self.density, 1.0..=1e5),
            Ranged::new("regularisation", self.regularisation, 1e-9..=1e6),
            Ranged::new("contact", self.contact, 0.0..=1e12),
            Ranged::new("stickiness", self.stickiness, STICKINESS),
            Ranged::new("step_time", self.step_time, 1e-4..=0.1),
            Ranged::count("iterations", self.iterations, 1..=10_000),
            Ranged::count("control_iterations", self.control_iterations, 0..=10_000),
            Ranged::count("control_steps", self.control_steps, 1..=10_000),
        ];
        ranges.extend(Ranged::vector("gravity", self.gravity, &GRAVITY));
        ranges
    }
}

impl TissueParams {
    /// Range of tissue thicknesses, given or painted, m.
    pub const THICKNESS: RangeInclusive<f64> = LayerParams::THICKNESS;

    /// The Poisson's ratio in use.
    fn poisson(&self) -> f64 {
        self.poisson.unwrap_or(match self.actuation {
            Actuation::Shapes => 0.45,
            Actuation::Forces => 0.35,
        })
    }

    /// The stiffness of the attachment in use.
    pub(super) fn attachment(&self) -> f64 {
        self.attachment.unwrap_or(match self.actuation {
            Actuation::Shapes => 2e4,
            Actuation::Forces => 5e4,
        })
    }

    pub(super) fn material(&self) -> Material {
        Material { young: self.young, poisson: self.poisson() }
    }

    pub(super) fn layer(&self) -> LayerParams {
        LayerParams {
            thickness: self.thickness,
            thickness_range: self.thickness_range,
            hypodermis: HypodermisParams { smooth: self.smooth, keep_curvature: self.keep_curvature },
            material: self.material(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_parameter_is_named() {
        let params = TissueParams::default();
        assert_eq!(params.check(), Ok(()));
        let message = |params: TissueParams| params.check().unwrap_err().to_string();
        let bulky = TissueParams { poisson: Some(0.5), ..params.clone() };
        assert_eq!(message(bulky), "poisson is 0.5; it must be from 0 to 0.499");
        assert!(message(TissueParams { young: f64::NAN, ..params.clone() }).starts_with("young is NaN"));
        let reversed = TissueParams { thickness_range: [0.01, 0.003], ..params.clone() };
        assert!(message(reversed).ends_with("it must be from 0.01 to 0.1"));
        assert!(message(TissueParams { step_time: 0.0, ..params }).contains("step_time"));
    }
}
