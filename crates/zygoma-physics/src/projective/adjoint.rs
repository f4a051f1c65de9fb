//! The adjoint of a converged step.
//!
//! Where ∇E(x, θ) = 0, a loss L(x) changes with a parameter by dL/dθ = −λ · ∂(∇E)/∂θ with H λ = ∂L/∂x, H the exact Hessian. For
//! the forces of a system dL/df = λ itself. H is not factored: conjugate gradients with the global step as preconditioner.

use super::elements::{Precision, Row};
use super::solve::GlobalStep;
use super::system::System;

/// The conjugate gradients did not reach their tolerance.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "the adjoint did not converge: {residual:.1e} of its right-hand side is left after {iterations} iterations"
)]
pub struct NotConverged {
    /// What is left, relative to the right-hand side.
    pub residual: f64,
    /// Iterations made.
    pub iterations: usize,
}

/// Solves H λ = ∂L/∂x at a minimum `x`, over the free vertices. `diagonal` is M / h² of the step, or empty for an equilibrium.
pub fn adjoint<T: Precision>(
    system: &System<T>,
    x: &[Row<T>],
    diagonal: &[f64],
    preconditioner: &mut dyn GlobalStep<f64>,
    loss: &[[f64; 3]],
    tolerance: f64,
    most_iterations: usize,
) -> Result<Vec<[f64; 3]>, NotConverged> {
    let free = system.free_count();
    let mut residual: Vec<Row<f64>> = loss.iter().take(free).map(|v| [v[0], v[1], v[2], 0.0]).collect();
    let mut lambda = vec![[0.0; 3]; free];
    let mut along = vec![[0.0; 3]; system.vertex_count()];
    let mut z = vec![[0.0; 4]; free];
    let first = inner(&residual, &residual).sqrt();
    let mut old = 0.0;
    for iteration in 0..most_iterations {
        let left = inner(&residual, &residual).sqrt();
        if left <= tolerance * first {
            return Ok(lambda);
        }
        preconditioner.solve(&residual, &mut z);
        let new = inner(&residual, &z);
        let keep = if iteration == 0 { 0.0 } else { new / old };
        for (along, z) in along.iter_mut().zip(&z) {
            (0..3).for_each(|k| along[k] = keep * along[k] + z[k]);
        }
        let mut image = system.hessian_product(x, &along);
        for ((image, along), weight) in image.iter_mut().zip(&along).zip(diagonal) {
            (0..3).for_each(|k| image[k] += weight * along[k]);
        }
        let curvature: f64 =
            along.iter().zip(&image).map(|(a, b)| (0..3).map(|k| a[k] * b[k]).sum::<f64>()).sum();
        if curvature <= 0.0 {
            return Err(NotConverged { residual: left / first, iterations: iteration });
        }
        let step = new / curvature;
        for i in 0..free {
            for k in 0..3 {
                lambda[i][k] += step * along[i][k];
                residual[i][k] -= step * image[i][k];
            }
        }
        old = new;
    }
    let residual = inner(&residual, &residual).sqrt() / first;
    if residual <= tolerance {
        Ok(lambda)
    } else {
        Err(NotConverged { residual, iterations: most_iterations })
    }
}

fn inner(a: &[Row<f64>], b: &[Row<f64>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (0..3).map(|k| a[k] * b[k]).sum::<f64>()).sum()
}
