//! Returns a broken shell to the rig.

use glam::Vec4;

use super::ShellBody;
use crate::body::weights_of_carriers;

impl ShellBody {
    /// Blends the shell back to its rest position, by a weight for each vertex of the whole mesh, and stops it there. Non-finite vertices
    /// go back completely.
    pub(super) fn blend_to_rig(&mut self, weights: &[f32]) {
        let count = self.stepper.positions().len();
        let weights = weights_of_carriers(self.embedding.iter().copied(), weights, count);
        // Between frames `before` is the last frame's.
        let mut positions = self.stepper.positions().to_vec();
        let mut velocities = self.stepper.velocities().to_vec();
        for (i, weight) in weights.into_iter().enumerate() {
            let rested = self.before.rested[i];
            let is_whole = positions[i].is_finite() && velocities[i].is_finite();
            positions[i] = if is_whole { positions[i].lerp(rested, weight) } else { rested };
            velocities[i] = if is_whole { (1.0 - weight) * velocities[i] } else { Vec4::ZERO };
        }
        self.stepper.place(&positions, &velocities);
    }
}
