//! The summary of hands on a face.

use serde::Serialize;
use zygoma_face::run::{COLLISION, HandSummary, Outcome};

/// Hands on a face, as in NePHIM Table 3.
#[derive(Serialize)]
pub(super) struct HandsSummary {
    /// Number of hands and gestures.
    count: usize,
    /// Frames in which a hand holds skin.
    holding: usize,
    /// Depth from which on a vertex collides, mm.
    collision_mm: f64,
    #[serde(flatten)]
    measured: HandSummary,
}

impl HandsSummary {
    /// `None` if there is no hand.
    pub(super) fn new(outcome: &Outcome) -> Option<Self> {
        (!outcome.hands.is_empty()).then(|| Self {
            count: outcome.hands.len(),
            holding: outcome.hands.iter().map(|hand| hand.holding).sum(),
            collision_mm: 1e3 * f64::from(COLLISION),
            measured: HandSummary::new(outcome.hand_measures.iter()),
        })
    }

    pub(super) fn line(&self) -> String {
        let HandSummary { frames, touching, resolved_percent, tracked, simulated } = &self.measured;
        format!(
            "hands are there in {frames} frames and reach into the rig in {touching}, {:.1} mm deep on average; {resolved_percent:.0} % of these \
             are free of collisions, and in the others {:.2} mm are left ({:.2} mm at worst); skin is held in {} frames",
            tracked.depth_mm, simulated.depth_mm, simulated.deepest_mm, self.holding
        )
    }
}
