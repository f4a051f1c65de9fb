//! Parameters that may change during simulation at no cost.

use serde::{Deserialize, Serialize};
use zygoma_numerics::{Checked, Ranged};

use super::params::{STICKINESS, TissueParams};
use super::run::TissueBody;
use crate::body::GRAVITY;

/// The largest stiffness of sticky lips, N/m per m² of lip: as stiff as contact.
const STICKIEST: f64 = 3e7;

/// Parameters that no matrix factor depends on. They start as the tissue's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveParams {
    /// Stiffness of sticky springs between the lips, N/m per m² of lip; 0 for dry lips.
    pub stickiness: f64,
    /// Gravity in the world, m/s². Under the gravity that its tissue was built with, the face rests as the artist made it.
    pub gravity: [f64; 3],
}

impl Checked for LiveParams {
    fn ranges(&self) -> Vec<Ranged> {
        let mut ranges = vec![Ranged::new("stickiness", self.stickiness, STICKINESS)];
        ranges.extend(Ranged::vector("gravity", self.gravity, &GRAVITY));
        ranges
    }
}

impl LiveParams {
    pub(super) fn of(params: &TissueParams) -> Self {
        Self { stickiness: params.stickiness, gravity: params.gravity }
    }
}

impl TissueBody {
    /// The parameters in use.
    pub fn live(&self) -> LiveParams {
        self.live
    }

    /// Changes them from the next step on. Lips that become dry part at once; parameters out of range change nothing.
    pub fn set_live(&mut self, live: LiveParams) {
        if live.check().is_err() {
            return;
        }
        self.live = LiveParams { stickiness: live.stickiness.min(STICKIEST), ..live };
        if self.live.stickiness == 0.0
            && let Some(lips) = &mut self.contact.lips
        {
            lips.unstick();
            self.report.sticky = 0;
        }
    }
}
