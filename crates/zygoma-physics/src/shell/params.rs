//! Parameters of a shell.

use serde::{Deserialize, Serialize};
use zygoma_numerics::{Checked, Ranged};

/// Parameters of the shell, in units where the face is 1 m high (IFA, Tables 3 and 4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShellParams {
    /// ε^r, reproducibility tolerance: largest distance of a vertex at rest from its target, m.
    pub tolerance: f64,
    /// p^max, the largest actuation pressure, N/m² (IFA eq. 5).
    pub max_pressure: f64,
    /// Δt, time from frame to frame of the built-in clock, s.
    pub frame_time: f64,
    /// Δt^s, time step of the physics, s. It is part of the factored matrix.
    pub step_time: f64,
    /// ρ, surface density, kg/m² (IFA eq. 2).
    pub density: f64,
    /// ν, damping of velocities (IFA eq. 10).
    pub damping: f64,
    /// α^e, weight of the inertial prediction in the lagged positions (IFA eq. 12).
    pub lag_blend: f64,
    /// δ^thin, how deep thin parts such as ears and nose may be pushed, m (IFA §4.4).
    pub thin_depth: f64,
    /// ε^max, largest edge strain after the constraints. The paper names it without a use; limiting the
    /// strain of every edge is our reading.
    pub max_strain: f64,
}

impl Default for ShellParams {
    fn default() -> Self {
        Self {
            tolerance: 1e-2,
            max_pressure: 1e2,
            frame_time: 0.01,
            step_time: 0.002,
            density: 0.1,
            damping: 0.01,
            lag_blend: 0.5,
            thin_depth: 0.05,
            max_strain: 1.0,
        }
    }
}

impl Checked for ShellParams {
    fn ranges(&self) -> Vec<Ranged> {
        vec![
            Ranged::new("tolerance", self.tolerance, 1e-6..=1.0),
            Ranged::new("max_pressure", self.max_pressure, 1e-3..=1e9),
            Ranged::new("frame_time", self.frame_time, 1e-4..=1.0),
            Ranged::new("step_time", self.step_time, 1e-5..=0.1),
            Ranged::new("density", self.density, 1e-6..=1e4),
            Ranged::new("damping", self.damping, 0.0..=1e3),
            Ranged::new("lag_blend", self.lag_blend, 0.0..=1.0),
            Ranged::new("thin_depth", self.thin_depth, 0.0..=10.0),
            Ranged::new("max_strain", self.max_strain, 1e-3..=1e3),
        ]
    }
}

impl ShellParams {
    /// Stiffness of the actuation of a vertex with this area: p^max A / ε^r, N/m (IFA eq. 5).
    pub fn actuation(&self, area: f64) -> f64 {
        self.max_pressure * area / self.tolerance
    }
}
