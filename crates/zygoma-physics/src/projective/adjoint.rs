//! The adjoint of a converged step.
//!
//! Where ∇E(x, θ) = 0, a loss L(x) changes with a parameter by dL/dθ = −λ · ∂(∇E)/∂θ with H λ = ∂L/∂x, H the exact Hessian. For
//! the forces of a system dL/df = λ itself. H is not factored: conjugate gradients with the global step as preconditioner.

use zygoma_numerics::{CgEnd, CgStatus, conjugate_gradients};

use super::elements::{Precision, Row};
use super::solve::GlobalStep;
use super::system::System;

/// The conjugate gradients did not reach their tolerance.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "the adjoint did not converge: its relative residual is {residual:.1e} after {iterations} iterations"
)]
pub struct NotConverged {
    /// Norm of the residual relative to that of the right-hand side.
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
    let rhs: Vec<f64> = loss.iter().take(free).flatten().copied().collect();
    let norm = |r: &[f64]| r.iter().map(|r| r * r).sum::<f64>().sqrt();
    let first = norm(&rhs);
    let mut direction = vec![[0.0; 3]; system.vertex_count()];
    let multiply = |v: &[f64], out: &mut [f64]| {
        direction[..free].copy_from_slice(v.as_chunks::<3>().0);
        let mut image = system.hessian_product(x, &direction);
        for ((image, along), weight) in image.iter_mut().zip(&direction).zip(diagonal) {
            (0..3).for_each(|k| image[k] += weight * along[k]);
        }
        out.copy_from_slice(image[..free].as_flattened());
    };
    let (mut q, mut s) = (vec![[0.0; 4]; free], vec![[0.0; 4]; free]);
    let precondition = |v: &[f64], out: &mut [f64]| {
        for (row, v) in q.iter_mut().zip(v.as_chunks::<3>().0) {
            *row = [v[0], v[1], v[2], 0.0];
        }
        preconditioner.solve(&q, &mut s);
        for (out, row) in out.as_chunks_mut::<3>().0.iter_mut().zip(&s) {
            *out = [row[0], row[1], row[2]];
        }
    };
    let is_done = |status: &CgStatus<'_>| norm(status.residual) <= tolerance * first;
    let found = conjugate_gradients(&rhs, multiply, precondition, is_done, most_iterations);
    match found.end {
        CgEnd::Converged => Ok(found.x.as_chunks::<3>().0.to_vec()),
        _ => Err(NotConverged { residual: norm(&found.residual) / first, iterations: found.iterations }),
    }
}
