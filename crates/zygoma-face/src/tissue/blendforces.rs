//! The forces of the shapes, summed in every step.

use glam::DVec3;
use rayon::prelude::*;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_physics::projective::{Row, row};

/// Rows that one thread sums at a time. Ours.
const ROWS: usize = 4096;

/// The non-zero forces of each shape on the free rows.
#[derive(Clone)]
pub(super) struct Blendforces {
    /// Those on each [`ROWS`] rows, for each shape.
    parts: Vec<Vec<Runs>>,
}

impl Blendforces {
    /// Stores the force on every free row for each shape at weight 1.
    pub(super) fn new(forces: &[Vec<DVec3>]) -> Self {
        let free = forces.first().map_or(0, Vec::len);
        let part = |from: usize| -> Vec<Runs> {
            let runs = |forces: &Vec<DVec3>| {
                let part = &forces[from..(from + ROWS).min(free)];
                let rows: Vec<Row<f32>> = part.iter().map(|force| row(*force)).collect();
                Runs::from_dense(rows.as_flattened(), 8)
            };
            forces.iter().map(runs).collect()
        };
        Self { parts: (0..free).step_by(ROWS).map(part).collect() }
    }

    /// Adds the forces of the given actuations.
    pub(super) fn add(&self, actuations: &[f32], forces: &mut [Row<f32>]) {
        forces.par_chunks_mut(ROWS).zip(&self.parts).for_each(|(forces, part)| {
            let fits = accumulate_runs(forces.as_flattened_mut(), actuations, part);
            debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_add_up_in_every_part() {
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
