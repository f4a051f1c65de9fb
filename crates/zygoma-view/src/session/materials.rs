//! What the skin is made of, as the page sets it.

use glam::DVec3;
use zygoma_face::shell::{RunParams, ShellBody};

/// Factors on what the face was built with, and gravity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Materials {
    stiffness: f64,
    density: f64,
    damping: f64,
    gravity: DVec3,
}

impl Default for Materials {
    fn default() -> Self {
        Self { stiffness: 1.0, density: 1.0, damping: 1.0, gravity: DVec3::new(0.0, -9.81, 0.0) }
    }
}

/// Factors within which a step stays solvable and the motion bounded. Ours.
const FACTORS: std::ops::RangeInclusive<f64> = 0.01..=100.0;

/// Nothing on earth falls faster than this times gravity, m/s².
const LARGEST_GRAVITY: f64 = 100.0;

impl Materials {
    /// Takes over what the page asks for, within reason.
    pub(crate) fn set(&mut self, stiffness: f64, density: f64, damping: f64, gravity: [f64; 3]) {
        let factor = |value: f64| {
            if value.is_finite() { value.clamp(*FACTORS.start(), *FACTORS.end()) } else { 1.0 }
        };
        let gravity = DVec3::from(gravity);
        let gravity =
            if gravity.is_finite() { gravity.clamp_length_max(LARGEST_GRAVITY) } else { DVec3::ZERO };
        *self = Self {
            stiffness: factor(stiffness),
            density: factor(density),
            damping: factor(damping),
            gravity,
        };
    }

    /// Gravity in the world, m/s².
    pub(crate) fn gravity(&self) -> DVec3 {
        self.gravity
    }

    /// Gives them to a face; tells whether its certificate still holds, and why.
    pub(crate) fn apply(&self, face: &mut ShellBody) -> (bool, String) {
        let built = face.face().fitted.params.clone();
        let mut shell = built.clone();
        shell.density *= self.density;
        shell.damping *= self.damping;
        let params = RunParams {
            shell: (shell != built).then_some(shell),
            stiffness_scale: self.stiffness,
            gravity: self.gravity.to_array(),
            // The page computes its own.
            normals: false,
            ..RunParams::default()
        };
        let change = face.set_params(params);
        let reason = match &face.face().fitted.certified {
            None => "the stiffness is the same everywhere so far; nothing is certified".to_owned(),
            Some(_) if change.within_certificate => {
                "every expression of the rig is met within the tolerance".to_owned()
            }
            Some(certified) if !certified.holds() => certified.gap().unwrap_or_default(),
            Some(_) if self.stiffness > 1.0 => {
                "stiffer than it was certified: expressions may fall short of the rig's".to_owned()
            }
            Some(_) => "outside of what was certified: expressions may fall short of the rig's".to_owned(),
        };
        (change.within_certificate, reason)
    }
}
