//! What a user may tune about flesh that performs.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use zygoma_numerics::{Checked, Ranged};
use zygoma_physics::projective::Material;

use super::hypodermis::HypodermisParams;
use crate::body::GRAVITY;

/// Stiffness of sticky lips, N/m per m² of lip, where nothing else is asked for. Ours: lips stretch by some millimetres before they part.
pub const STICKY: f64 = 2e6;

/// Stiffness of sticky lips that can be simulated, N/m per m² of lip.
pub(super) const STICKINESS: RangeInclusive<f64> = 0.0..=1e12;

/// How expressions drive the flesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actuation {
    /// Every element is pulled to the shape that the expression gives it (GPFM eq. 2 and 10), so that the rig's own face is free of strain.
    #[default]
    Shapes,
    /// Forces that hold the artist's shapes (*Progressive PD*, §3.1), found anew in every step.
    Forces,
}

/// Parameters of a performing face. Of their values the paper publishes those of `iterations` and `control_iterations`; all others are
/// ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TissueParams {
    /// How expressions drive the flesh.
    pub actuation: Actuation,
    /// τ of *Progressive PD* eq. 12, thickness of the flesh, m. Where a fold leaves no room it becomes thinner by itself.
    pub thickness: f64,
    /// Over a skull flesh reaches down to the bone, but is no thinner and no thicker than these, m.
    pub thickness_range: [f64; 2],
    /// w_smooth of *Progressive PD* eq. 13.
    pub smooth: f64,
    /// w_lap of *Progressive PD* eq. 13.
    pub keep_curvature: f64,
    /// Young's modulus of the flesh, Pa: skin with the fat below it.
    pub young: f64,
    /// Poisson's ratio of the flesh; without a value 0.45, or 0.35 where forces drive it: artists' shapes change the volume of a thin layer
    /// freely, and above 0.4 the forces that hold them make the layer buckle.
    pub poisson: Option<f64>,
    /// Stiffness of the attachment to the bone, N/m per m² of skin: flesh slides on bone by some millimetres in a quick turn. Without a value
    /// 2e4, or 5e4 where forces drive it.
    pub attachment: Option<f64>,
    /// Stiffness with which active muscles hold the skin at the expression where forces drive it, N/m per m² of skin. Forces alone would let
    /// a strongly puckered mouth buckle.
    pub tone: f64,
    /// Whether stiffness is found from the shapes, from region to region (§4.2), or the same everywhere.
    pub fit_stiffness: bool,
    /// How many regions of the skin have a stiffness of their own.
    pub stiffness_regions: usize,
    /// The least and the largest factor by which it may differ from the values above.
    pub stiffness_bounds: [f64; 2],
    /// How little it may change from region to region.
    pub stiffness_smooth: f64,
    /// Density, kg/m³.
    pub density: f64,
    /// How little actuations may differ from the weights that drive them: the weight of that difference against a marker's miss.
    pub regularisation: f64,
    /// Stiffness of contact between the lips, N/m per m² of lip.
    pub contact: f64,
    /// Stiffness of what sticks the lips together, N/m per m² of lip; 0 for dry lips.
    pub stickiness: f64,
    /// Seed of the chance with which sticky lips part.
    pub seed: u64,
    /// h, time step of the physics, s; live surfaces are one step old.
    pub step_time: f64,
    /// Iterations of a step (§7.1).
    pub iterations: usize,
    /// Iterations of the control (§3.2), each a few steps towards the equilibrium that it looks at. With none the weights themselves are the
    /// actuations.
    pub control_iterations: usize,
    /// Steps of each of them; the equilibrium is followed from step to step.
    pub control_steps: usize,
    /// Gravity in the world, m/s². A head that stands upright is at rest as the artist made it.
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
    /// How thick flesh may be, m, asked for or painted.
    pub const THICKNESS: RangeInclusive<f64> = 1e-4..=0.1;

    /// Poisson's ratio in force.
    fn poisson(&self) -> f64 {
        self.poisson.unwrap_or(match self.actuation {
            Actuation::Shapes => 0.45,
            Actuation::Forces => 0.35,
        })
    }

    /// Stiffness of the attachment in force.
    pub(super) fn attachment(&self) -> f64 {
        self.attachment.unwrap_or(match self.actuation {
            Actuation::Shapes => 2e4,
            Actuation::Forces => 5e4,
        })
    }

    pub(super) fn material(&self) -> Material {
        Material { young: self.young, poisson: self.poisson() }
    }

    pub(super) fn hypodermis(&self) -> HypodermisParams {
        HypodermisParams { smooth: self.smooth, keep_curvature: self.keep_curvature }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_parameter_is_named() {
        let params = TissueParams::default();
        assert_eq!(params.check(), Ok(()));
        let told = |params: TissueParams| params.check().unwrap_err().to_string();
        let bulky = TissueParams { poisson: Some(0.5), ..params.clone() };
        assert_eq!(told(bulky), "poisson is 0.5; it must be from 0 to 0.499");
        assert!(told(TissueParams { young: f64::NAN, ..params.clone() }).starts_with("young is NaN"));
        let reversed = TissueParams { thickness_range: [0.01, 0.003], ..params.clone() };
        assert!(told(reversed).ends_with("it must be from 0.01 to 0.1"));
        assert!(told(TissueParams { step_time: 0.0, ..params }).contains("step_time"));
    }
}
