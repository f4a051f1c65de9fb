//! Samples frames of takes as weights of a rig's skin.

use zygoma_rig::binding::Binding;
use zygoma_rig::{Rig, Take};

/// Maximum number of poses taken from all takes together; a build certifies every one of them. Ours.
const MOST: usize = 250;

/// Weights of the skin's shapes at times spread evenly over the takes, except those without motion.
pub fn take_poses(rig: &Rig, takes: &[Take]) -> Vec<Vec<f32>> {
    let total: f64 = takes.iter().map(Take::duration).sum();
    let mut poses = Vec::new();
    for take in takes {
        let binding = Binding::new(rig, take);
        let count = (MOST as f64 * take.duration() / total.max(1e-9)).floor() as usize;
        for index in 0..count.min(take.frame_count(60.0)) {
            let time = take.start() + take.duration() * (index as f64 + 0.5) / count as f64;
            let mut weights = vec![0.0; rig.skin().shapes.len()];
            binding.weights_at(take, rig.skin, time, &mut weights);
            if weights.iter().any(|weight| weight.abs() > 1e-3) {
                poses.push(weights);
            }
        }
    }
    poses
}
