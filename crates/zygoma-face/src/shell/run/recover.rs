//! Returns a broken shell to the rig.

use glam::Vec4;

use super::ShellBody;

impl ShellBody {
    /// Blends the shell back to its rest position, by a weight for each vertex of the whole mesh, and stops it there. Non-finite vertices
    /// go back completely.
    pub fn return_to_rig(&mut self, shares: &[f32]) {
        let mut share_of = vec![0.0_f32; self.stepper.positions().len()];
        for ((corners, weights), share) in self.embedding.iter().zip(shares) {
            for (corner, weight) in corners.iter().zip(weights) {
                let reach = &mut share_of[*corner as usize];
                *reach = reach.max(weight * share);
            }
        }
        // Between frames `before` is the last frame's.
        let mut positions = self.stepper.positions().to_vec();
        let mut velocities = self.stepper.velocities().to_vec();
        for (i, share) in share_of.into_iter().enumerate() {
            let rested = self.before.rested[i];
            let is_whole = positions[i].is_finite() && velocities[i].is_finite();
            positions[i] = if is_whole { positions[i].lerp(rested, share) } else { rested };
            velocities[i] = if is_whole { (1.0 - share) * velocities[i] } else { Vec4::ZERO };
        }
        self.stepper.place(&positions, &velocities);
    }
}
