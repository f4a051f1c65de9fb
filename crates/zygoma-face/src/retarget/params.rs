//! Parameters of a retargeting.

use serde::{Deserialize, Serialize};
use zygoma_numerics::{Checked, Ranged};

/// Parameters of a retargeting. Weights are those of AnaConDaR Table 3. They have no unit there; here tissue counts per mean element, and lengths in units
/// of a mean element's edge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetargetParams {
    /// w_S, weight of strain and volume of soft tissue in the inverse simulation (AnaConDaR eq. 14).
    pub tissue: f64,
    /// w_M, weight of the volume of muscles (AnaConDaR eq. 14).
    pub muscle: f64,
    /// w_∇, weight of the carried deformation gradients (AnaConDaR eq. 18), for soft tissue and muscles alike.
    pub gradient: f64,
    /// w_F, weight of facial characteristics (AnaConDaR eq. 18). 0 leaves them out.
    pub characteristics: f64,
    /// λ_reg, regularisation of the weights of examples (AnaConDaR eq. 2), relative to the mean square of the examples in a patch.
    pub regularisation: f64,
    /// How the part of an expression that examples do not explain is carried.
    pub missing: Missing,
    /// Most iterations of each simulation.
    pub iterations: usize,
    /// Fit the lips' shape as printed in AnaConDaR eq. 16, which changes the neutral, instead of the change of their shape.
    pub literal_lips: bool,
    /// Whether lips that cross are brought together.
    pub part_lips: bool,
}

/// How the part of an expression that examples do not explain is carried (AnaConDaR eq. 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// Through the anatomy, where there is one.
    #[default]
    Anatomical,
    /// By plain deformation transfer.
    Surface,
    /// Not at all.
    LeftOut,
}

impl Default for RetargetParams {
    fn default() -> Self {
        Self {
            tissue: 1.0,
            muscle: 1.0,
            gradient: 1.0,
            characteristics: 10.0,
            regularisation: 0.01,
            missing: Missing::Anatomical,
            iterations: 30,
            literal_lips: false,
            part_lips: true,
        }
    }
}

impl Checked for RetargetParams {
    fn ranges(&self) -> Vec<Ranged> {
        const WEIGHTS: std::ops::RangeInclusive<f64> = 0.0..=1e4;
        vec![
            Ranged::new("tissue", self.tissue, 1e-3..=1e4),
            Ranged::new("muscle", self.muscle, 1e-3..=1e4),
            Ranged::new("gradient", self.gradient, 1e-3..=1e4),
            Ranged::new("characteristics", self.characteristics, WEIGHTS),
            Ranged::new("regularisation", self.regularisation, 1e-8..=1e2),
            Ranged::count("iterations", self.iterations, 1..=1000),
        ]
    }
}
