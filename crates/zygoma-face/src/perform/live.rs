//! What may change while flesh performs, at no cost.

use serde::{Deserialize, Serialize};

use super::params::PerformParams;
use super::run::PerformingFace;

/// The largest stiffness of sticky lips, N/m per m² of lip: as hard as contact.
const STICKIEST: f64 = 3e7;

/// Parameters that no factor depends on. They start as the tissue's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveParams {
    /// Stiffness of what sticks the lips together, N/m per m² of lip; 0 for dry lips.
    pub stickiness: f64,
    /// Gravity in the world, m/s². The face is as the artist made it under the gravity that its tissue was made with.
    pub gravity: [f64; 3],
}

impl LiveParams {
    pub(super) fn of(params: &PerformParams) -> Self {
        Self { stickiness: params.stickiness, gravity: params.gravity }
    }
}

impl PerformingFace {
    /// What is in force now.
    pub fn live(&self) -> LiveParams {
        self.live
    }

    /// Changes it from the next step on. Lips that become dry part at once; what is not a number changes nothing.
    pub fn set_live(&mut self, live: LiveParams) {
        if live.stickiness.is_finite() {
            self.live.stickiness = live.stickiness.clamp(0.0, STICKIEST);
        }
        if live.gravity.iter().all(|g| g.is_finite()) {
            self.live.gravity = live.gravity;
        }
        if self.live.stickiness == 0.0
            && let Some(lips) = &mut self.lips
        {
            lips.forget();
            self.report.sticky = 0;
        }
    }
}
