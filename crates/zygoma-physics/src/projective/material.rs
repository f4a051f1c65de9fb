//! Weights of energies from material constants.
//!
//! For a small strain ε, ‖F − R‖² = ε:ε and the distance to the closest gradient without change of volume is |tr ε| / √3. So
//! ½ w_s ‖F − R‖² + ½ w_v ‖F − U Σ* Vᵀ‖² is the energy μ ε:ε + ½ λ (tr ε)² of Hooke's law for w_s = 2 μ and w_v = 3 λ. The papers' weights
//! have no factor ½ and no rest volume; ours are per unit of rest volume (or area).

use super::{CorotatedVolume, VolumeTarget};

/// An elastic material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// E, Young's modulus, Pa.
    pub young: f64,
    /// ν, Poisson's ratio: from 0 (no lateral contraction) to below ½ (constant volume).
    pub poisson: f64,
}

impl Material {
    /// w_s, weight of the strain per unit of rest volume: 2 μ = E / (1 + ν).
    pub fn strain_weight(&self) -> f64 {
        self.young / (1.0 + self.poisson)
    }

    /// w_v, weight of the volume per unit of rest volume: 3 λ = 3 E ν / ((1 + ν) (1 − 2 ν)).
    pub fn volume_weight(&self) -> f64 {
        3.0 * self.young * self.poisson / ((1.0 + self.poisson) * (1.0 - 2.0 * self.poisson))
    }

    /// Weight of a thin sheet's strain in its plane per unit of rest area, for a thickness: 2 μ t.
    pub fn sheet_strain_weight(&self, thickness: f64) -> f64 {
        self.strain_weight() * thickness
    }

    /// Weight of a thin sheet's area per unit of rest area: 2 λ' t with the plane-stress λ' = E ν / (1 − ν²), since the distance
    /// to the closest gradient of unchanged area is |tr ε| / √2.
    pub fn sheet_area_weight(&self, thickness: f64) -> f64 {
        2.0 * thickness * self.young * self.poisson / (1.0 - self.poisson * self.poisson)
    }

    /// The parameters of an element of some rest volume that keeps its volume.
    pub fn corotated_volume(&self, rest_volume: f64) -> CorotatedVolume {
        CorotatedVolume {
            strain_weight: self.strain_weight() * rest_volume,
            volume_weight: self.volume_weight() * rest_volume,
            volume: VolumeTarget::REST,
        }
    }
}
