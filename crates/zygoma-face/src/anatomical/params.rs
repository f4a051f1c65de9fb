//! Parameters of anatomical faces.

use serde::{Deserialize, Serialize};
use zygoma_numerics::{Checked, Ranged};
use zygoma_physics::projective::Material;

use crate::volume::{HypodermisParams, LayerParams};

/// Pascals in a kilopascal.
const KILO: f64 = 1e3;
/// Pascals per metre in a kilopascal per millimetre.
const PER_MILLIMETRE: f64 = 1e6;

/// Weights of the energies of Thesis ch. 3 eq. 15, with units, so that forces are forces. The paper publishes only their ranges, 0.001 to 100; the values
/// are ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnatomicalParams {
    /// w_vol of soft tissue (Thesis ch. 3 eq. 10), kPa.
    pub tissue_volume: f64,
    /// w_str of soft tissue (Thesis ch. 3 eq. 10), kPa.
    pub tissue_strain: f64,
    /// ε, the stretch of soft tissue above which it resists strain (Thesis ch. 3 eq. 10). Up to 1 it always does.
    pub tissue_stretch: f64,
    /// w_vol of muscles (Thesis ch. 3 eq. 12), kPa.
    pub muscle_volume: f64,
    /// w_mstr, strain of muscles (Thesis ch. 3 eq. 15), kPa: volume alone would not resist shear.
    pub muscle_strain: f64,
    /// w_S, strain of the skin in its plane (Thesis ch. 3 eq. 11), kPa.
    pub skin_strain: f64,
    /// Thickness of the skin, mm.
    pub skin_thickness: f64,
    /// w_con along the normal of a bone, kPa/mm: tissue hardly leaves it.
    pub bone_normal: f64,
    /// w_con along a bone, kPa/mm: tissue slides, passive tissue less than active.
    pub bone_slide: f64,
    /// w_inv, pull of the skin to the expression (Thesis ch. 3 eq. 14), kPa/mm.
    pub target: f64,
    /// w_lmk, pull of landmarks (Thesis ch. 4 eq. 23), kPa/mm of the skin around them.
    pub landmark: f64,
    /// w_reg, factor of the pull to the expression where landmarks are given (Thesis ch. 4 eq. 23). Without it skin would bunch around them.
    pub regulariser: f64,
    /// Factor of all strain while nerves and muscles work: an expression does not have to overcome the passive stiffness of the tissue that makes it.
    pub active_strain: f64,
    /// Factor by which the cartilage of nose and ears is stiffer than passive soft tissue, for loads and growth.
    pub cartilage: f64,
    /// Anchor of tissue far below the skin, N/m per cm³: vertebrae and vessels, which nobody models.
    pub deep_anchor: f64,
    /// Density of all tissue, kg/m³.
    pub density: f64,
    /// Largest number of iterations of a frame.
    pub iterations: usize,
    /// A frame is solved when no vertex moves by more than this in an iteration, mm.
    pub least_motion: f64,
}

impl Default for AnatomicalParams {
    fn default() -> Self {
        Self {
            tissue_volume: 100.0,
            tissue_strain: 3.0,
            tissue_stretch: 1.0,
            muscle_volume: 100.0,
            muscle_strain: 1.0,
            skin_strain: 30.0,
            skin_thickness: 1.5,
            bone_normal: 10.0,
            bone_slide: 1.0,
            target: 0.3,
            landmark: 3.0,
            regulariser: 1.0,
            active_strain: 0.1,
            cartilage: 10.0,
            deep_anchor: 3.0,
            density: 1000.0,
            iterations: 60,
            least_motion: 0.01,
        }
    }
}

impl AnatomicalParams {
    /// For faces that are shown while they are simulated: a frame has few iterations, and the next one goes on from there.
    pub fn live() -> Self {
        Self { iterations: 8, least_motion: 0.02, ..Self::default() }
    }
}

/// The published range of weights (Thesis ch. 3, appendix A).
const WEIGHTS: std::ops::RangeInclusive<f64> = 0.001..=100.0;

impl Checked for AnatomicalParams {
    fn ranges(&self) -> Vec<Ranged> {
        vec![
            Ranged::new("tissue_volume", self.tissue_volume, WEIGHTS),
            Ranged::new("tissue_strain", self.tissue_strain, WEIGHTS),
            Ranged::new("tissue_stretch", self.tissue_stretch, 0.7..=1.3),
            Ranged::new("muscle_volume", self.muscle_volume, WEIGHTS),
            Ranged::new("muscle_strain", self.muscle_strain, WEIGHTS),
            Ranged::new("skin_strain", self.skin_strain, WEIGHTS),
            Ranged::new("skin_thickness", self.skin_thickness, 0.1..=10.0),
            Ranged::new("bone_normal", self.bone_normal, WEIGHTS),
            Ranged::new("bone_slide", self.bone_slide, WEIGHTS),
            Ranged::new("target", self.target, WEIGHTS),
            Ranged::new("landmark", self.landmark, WEIGHTS),
            Ranged::new("regulariser", self.regulariser, WEIGHTS),
            Ranged::new("active_strain", self.active_strain, 0.001..=1.0),
            Ranged::new("cartilage", self.cartilage, 1.0..=1e3),
            Ranged::new("deep_anchor", self.deep_anchor, WEIGHTS),
            Ranged::new("density", self.density, 1.0..=1e5),
            Ranged::count("iterations", self.iterations, 1..=10_000),
            Ranged::new("least_motion", self.least_motion, 0.0..=10.0),
        ]
    }
}

/// Strain and volume weights of a kind of tissue, Pa.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TissueWeights {
    pub(super) strain: f64,
    pub(super) volume: f64,
}

impl AnatomicalParams {
    pub(super) fn weights(&self, is_muscle: bool) -> TissueWeights {
        let (strain, volume) = match is_muscle {
            true => (self.muscle_strain, self.muscle_volume),
            false => (self.tissue_strain, self.tissue_volume),
        };
        TissueWeights { strain: KILO * strain, volume: KILO * volume }
    }

    /// Weight of the skin's strain, N/m.
    pub(super) fn skin_weight(&self) -> f64 {
        KILO * self.skin_strain * 1e-3 * self.skin_thickness
    }

    /// Weights of the contact with bone along its normal and along it, Pa/m.
    pub(super) fn bone_weights(&self) -> [f64; 2] {
        [self.bone_normal, self.bone_slide].map(|weight| PER_MILLIMETRE * weight)
    }

    /// Pull of the skin to its target, Pa/m.
    pub(super) fn target_weight(&self) -> f64 {
        PER_MILLIMETRE * self.target
    }

    /// Pull of landmarks, Pa/m.
    pub(super) fn landmark_weight(&self) -> f64 {
        PER_MILLIMETRE * self.landmark
    }

    /// Anchor of deep tissue, N/m per m³.
    pub(super) fn anchor(&self) -> f64 {
        1e6 * self.deep_anchor
    }

    /// A layer, which is only used where no anatomy is known: never here.
    pub(super) fn layer(&self) -> LayerParams {
        LayerParams {
            thickness: 0.006,
            thickness_range: [0.003, 0.01],
            hypodermis: HypodermisParams { smooth: 0.3, keep_curvature: 1.0 },
            material: Material { young: KILO * self.tissue_strain, poisson: 0.4 },
        }
    }
}
