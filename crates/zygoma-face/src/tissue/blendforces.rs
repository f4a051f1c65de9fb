//! The forces of the shapes, summed in every step.

use glam::DVec3;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_numerics::vectors;
use zygoma_physics::projective::{Row, row};

/// The non-zero forces of each shape on the free rows, in two halves for two threads.
#[derive(Clone)]
pub(super) struct Blendforces {
    halves: [Vec<Runs>; 2],
    /// The first row of the second half.
    middle: usize,
}

impl Blendforces {
    /// Stores the force on every free row for each shape at weight 1.
    pub(super) fn new(forces: &[Vec<DVec3>]) -> Self {
        let free = forces.first().map_or(0, Vec::len);
        let middle = vectors::middle(4 * free).map_or(free, |middle| middle / 4);
        let half = |from: usize, to: usize| -> Vec<Runs> {
            let runs = |forces: &Vec<DVec3>| {
                let rows: Vec<Row<f32>> = forces[from..to].iter().map(|force| row(*force)).collect();
                Runs::from_dense(rows.as_flattened(), 8)
            };
            forces.iter().map(runs).collect()
        };
        Self { halves: [half(0, middle), half(middle, free)], middle }
    }

    /// Adds the forces of the given actuations.
    pub(super) fn add(&self, actuations: &[f32], forces: &mut [Row<f32>]) {
        let (first, second) = forces.split_at_mut(self.middle.min(forces.len()));
        let add = |half: usize, forces: &mut [Row<f32>]| {
            let fits = accumulate_runs(forces.as_flattened_mut(), actuations, &self.halves[half]);
            debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
        };
        if second.is_empty() {
            add(0, first);
        } else {
            rayon::join(|| add(0, first), || add(1, second));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_add_up_on_either_side_of_the_middle() {
        for free in [5, 20_000] {
            let shape = |shape: usize| -> Vec<DVec3> {
                let force = |v: usize| DVec3::new(shape as f64 + 1.0, (v % 7) as f64, 0.0);
                (0..free).map(|v| if v % (3 + shape) == 0 { force(v) } else { DVec3::ZERO }).collect()
            };
            let forces = [shape(0), shape(1)];
            let mut sum: Vec<Row<f32>> = vec![[1.0, 0.0, 0.0, 0.0]; free];
            Blendforces::new(&forces).add(&[0.5, -2.0], &mut sum);
            for (v, sum) in sum.iter().enumerate() {
                let wanted = DVec3::X + 0.5 * forces[0][v] - 2.0 * forces[1][v];
                assert_eq!(*sum, row::<f32>(wanted), "vertex {v}");
            }
        }
    }
}
