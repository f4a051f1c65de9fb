//! Newton's method that keeps a factor while it converges well.

use std::sync::Arc;

use crate::{
    Analysis, Budget, CgEnd, CgStatus, Cholesky, NotPositiveDefinite, SymmetricMatrix, conjugate_gradients,
};

/// An energy to minimise over the first numbers of a vector; the others are fixed.
pub trait NewtonProblem {
    /// The energy at `x`.
    fn energy(&self, x: &[f64]) -> f64;

    /// Writes the gradient with respect to the unknowns.
    fn gradient(&self, x: &[f64], out: &mut [f64]);

    /// Writes the Hessian with respect to the unknowns, less the fraction `damping` of its negative curvature: 0 is exact, 1 is positive definite.
    fn hessian(&self, x: &[f64], damping: f64, out: &mut SymmetricMatrix);

    /// The size of a gradient, in the unit of the tolerance.
    fn residual(&self, gradient: &[f64]) -> f64;
}

/// Stopping criteria of Newton's method.
#[derive(Clone, Debug, PartialEq)]
pub struct NewtonParams {
    /// Largest [residual](NewtonProblem::residual).
    pub tolerance: f64,
    /// Fails after this many factorisations.
    pub max_factors: usize,
    /// Fails when this is used up.
    pub budget: Budget,
}

impl Default for NewtonParams {
    fn default() -> Self {
        Self { tolerance: 1e-6, max_factors: 30, budget: Budget::default() }
    }
}

/// Newton's method did not converge in the allowed number of factorisations, or time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Newton's method did not converge in the number of steps allowed")]
pub struct NotConverged;

/// Newton's method with its factor, which the next solve nearby starts with.
pub struct Newton {
    /// Factorisations so far.
    factors: usize,
    /// A factor of the Hessian at or near the last iterate, in `f32`, which takes half the time. It only proposes steps; convergence is decided in
    /// `f64`.
    factor: Cholesky<f32>,
    /// Buffer for a right-hand side in `f32`.
    column: Vec<f32>,
    matrix: SymmetricMatrix,
    /// Index into [`DAMPING`] of the factor.
    level: usize,
}

/// Fractions of negative curvature that are removed before factoring, tried in order.
const DAMPING: [f64; 4] = [0.0, 0.3, 0.6, 1.0];

/// Sufficient decrease of the energy (Armijo).
const DECREASE: f64 = 1e-4;

impl Newton {
    /// A factor at `x`; `matrix` has the pattern of the Hessian.
    pub fn new(
        analysis: Arc<Analysis>,
        mut matrix: SymmetricMatrix,
        problem: &impl NewtonProblem,
        x: &[f64],
    ) -> Result<Self, NotPositiveDefinite> {
        problem.hessian(x, 1.0, &mut matrix);
        let factor = Cholesky::new(analysis, &matrix)?;
        Ok(Self { factors: 1, factor, column: Vec::new(), matrix, level: 0 })
    }

    /// Minimises from `x` with a factor computed there, so that the result does not depend on earlier solves.
    pub fn restart(
        &mut self,
        problem: &impl NewtonProblem,
        x: &mut Vec<f64>,
        params: &NewtonParams,
    ) -> Result<(), NotConverged> {
        (self.level, self.factors) = (0, 0);
        self.refactor(problem, x, params.max_factors)?;
        self.minimise(problem, x, params, true)
    }

    /// Minimises from `x` with the factor at hand; `is_fresh` says whether it was computed there. After an error `x` is not a minimum.
    pub fn minimise(
        &mut self,
        problem: &impl NewtonProblem,
        x: &mut Vec<f64>,
        params: &NewtonParams,
        mut is_fresh: bool,
    ) -> Result<(), NotConverged> {
        let unknowns = self.matrix.size();
        let (mut gradient, mut step) = (vec![0.0; unknowns], vec![0.0; unknowns]);
        let (mut trial, mut at_trial) = (x.clone(), vec![0.0; unknowns]);
        let limit = self.factors + params.max_factors;
        problem.gradient(x, &mut gradient);
        let mut residual = problem.residual(&gradient);
        let mut energy = None;
        while residual > params.tolerance {
            params.budget.check().map_err(|_| NotConverged)?;
            step.copy_from_slice(&gradient);
            self.solve(&mut step);
            let slope: f64 = gradient.iter().zip(&step).map(|(g, s)| g * s).sum();
            let before = *energy.get_or_insert_with(|| problem.energy(x));
            let mut length = 1.0;
            let after = loop {
                for i in 0..unknowns {
                    trial[i] = x[i] - length * step[i];
                }
                let after = problem.energy(&trial);
                if after <= before - DECREASE * length * slope {
                    break Some(after);
                }
                // Near the minimum the change of energy is lost to rounding: the gradient decides.
                if (after - before).abs() <= 1e-9 * before.abs() {
                    problem.gradient(&trial, &mut at_trial);
                    if problem.residual(&at_trial) < 0.9 * residual {
                        break Some(after);
                    }
                }
                length *= 0.5;
                if length < 1e-4 {
                    break None;
                }
            };
            let Some(after) = after else {
                if is_fresh {
                    return Err(NotConverged);
                }
                self.refactor(problem, x, limit)?;
                is_fresh = true;
                continue;
            };
            std::mem::swap(x, &mut trial);
            energy = Some(after);
            problem.gradient(x, &mut gradient);
            let left = problem.residual(&gradient);
            is_fresh = false;
            // A solve costs a tenth of a factorisation, so a kept factor may converge more slowly.
            if left > params.tolerance && (left > 0.25 * residual || length < 1.0) {
                self.refactor(problem, x, limit)?;
                is_fresh = true;
            }
            residual = left;
        }
        Ok(())
    }

    /// Factors the Hessian at `x`, removing more and more negative curvature until it is positive definite. The exact Hessian is mostly
    /// usable again only near a minimum, so each call starts one level below the last success.
    fn refactor(
        &mut self,
        problem: &impl NewtonProblem,
        x: &[f64],
        limit: usize,
    ) -> Result<(), NotConverged> {
        self.level = self.level.saturating_sub(1);
        while let Some(damping) = DAMPING.get(self.level) {
            if self.factors >= limit {
                return Err(NotConverged);
            }
            self.factors += 1;
            problem.hessian(x, *damping, &mut self.matrix);
            if self.factor.refactor(&self.matrix).is_ok() {
                return Ok(());
            }
            self.level += 1;
        }
        Err(NotConverged)
    }

    /// Refactors at `x` with as little damping as possible, so that [`solve`](Self::solve) is exact at a stable minimum.
    pub fn refresh(&mut self, problem: &impl NewtonProblem, x: &[f64]) {
        for damping in DAMPING {
            self.factors += 1;
            problem.hessian(x, damping, &mut self.matrix);
            if self.factor.refactor(&self.matrix).is_ok() {
                break;
            }
        }
    }

    /// Solves H λ = `rhs` with the exact Hessian at a minimum `x`, by conjugate gradients preconditioned with the factor at hand. Fails where the minimum
    /// is not stable.
    pub fn adjoint(
        &mut self,
        problem: &impl NewtonProblem,
        x: &[f64],
        rhs: &[f64],
    ) -> Result<Vec<f64>, NotConverged> {
        problem.hessian(x, 0.0, &mut self.matrix);
        if let Some(solution) = self.solve_exactly(rhs)? {
            return Ok(solution);
        }
        self.factors += 1;
        self.factor.refactor(&self.matrix).map_err(|_| NotConverged)?;
        self.solve_exactly(rhs)?.ok_or(NotConverged)
    }

    /// Number of unknowns.
    pub fn size(&self) -> usize {
        self.matrix.size()
    }

    /// Solves with the factor at hand, in place.
    pub fn solve(&mut self, rhs: &mut [f64]) {
        solve_in_f32(&mut self.factor, &mut self.column, rhs);
    }

    fn solve_exactly(&mut self, rhs: &[f64]) -> Result<Option<Vec<f64>>, NotConverged> {
        const ITERATIONS: usize = 12;
        let norm = |r: &[f64]| r.iter().map(|r| r * r).sum::<f64>().sqrt();
        let goal = 1e-9 * norm(rhs);
        let mut product = vec![[0.0]; rhs.len()];
        let Self { factor, column, matrix, .. } = self;
        let multiply = |v: &[f64], out: &mut [f64]| {
            matrix.multiply(v.as_chunks::<1>().0, &mut product);
            out.copy_from_slice(product.as_flattened());
        };
        let precondition = |v: &[f64], out: &mut [f64]| {
            out.copy_from_slice(v);
            solve_in_f32(factor, column, out);
        };
        let is_done = |status: &CgStatus<'_>| norm(status.residual) <= goal;
        let found = conjugate_gradients(rhs, multiply, precondition, is_done, ITERATIONS);
        match found.end {
            CgEnd::Converged => Ok(Some(found.x)),
            CgEnd::OutOfIterations => Ok(None),
            CgEnd::NotPositiveDefinite => Err(NotConverged),
        }
    }
}

/// Solves with a factor in single precision, in place; `column` is its memory.
fn solve_in_f32(factor: &mut Cholesky<f32>, column: &mut Vec<f32>, rhs: &mut [f64]) {
    column.clear();
    column.extend(rhs.iter().map(|value| *value as f32));
    factor.solve_in_place(column);
    rhs.iter_mut().zip(column).for_each(|(value, found)| *value = f64::from(*found));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σ ¼ (xᵢ² − 1)² + ½ (xᵢ − xᵢ₊₁)² − ½ x₀: double wells in a row, with negative curvature between their minima.
    struct Wells(usize);

    impl NewtonProblem for Wells {
        fn energy(&self, x: &[f64]) -> f64 {
            let wells: f64 = x.iter().map(|x| 0.25 * (x * x - 1.0).powi(2)).sum();
            wells + x.windows(2).map(|w| 0.5 * (w[0] - w[1]).powi(2)).sum::<f64>() - 0.5 * x[0]
        }

        fn gradient(&self, x: &[f64], out: &mut [f64]) {
            for i in 0..self.0 {
                out[i] = x[i] * (x[i] * x[i] - 1.0) - if i == 0 { 0.5 } else { 0.0 };
                out[i] += if i > 0 { x[i] - x[i - 1] } else { 0.0 };
                out[i] += if i + 1 < x.len() { x[i] - x[i + 1] } else { 0.0 };
            }
        }

        fn hessian(&self, x: &[f64], damping: f64, out: &mut SymmetricMatrix) {
            out.values_mut().fill(0.0);
            for i in 0..self.0 {
                let curvature = 3.0 * x[i] * x[i] - 1.0;
                let curvature = if curvature < 0.0 { (1.0 - damping) * curvature } else { curvature };
                let springs = f64::from(u8::from(i > 0)) + f64::from(u8::from(i + 1 < x.len()));
                out.add(i, i, curvature + springs + if damping > 0.0 { 1e-3 } else { 0.0 });
                if i > 0 {
                    out.add(i, i - 1, -1.0);
                }
            }
        }

        fn residual(&self, gradient: &[f64]) -> f64 {
            gradient.iter().fold(0.0, |most, g| most.max(g.abs()))
        }
    }

    fn wells(count: usize) -> (Wells, Newton, Vec<f64>) {
        let matrix = SymmetricMatrix::with_pattern(count, (1..count).map(|i| (i, i - 1)));
        // The last number is fixed.
        let x = vec![0.1; count + 1];
        let newton = Newton::new(Analysis::new(&matrix), matrix, &Wells(count), &x).unwrap();
        (Wells(count), newton, x)
    }

    #[test]
    fn a_minimum_is_found_across_negative_curvature() {
        let (problem, mut newton, mut x) = wells(12);
        let params = NewtonParams { tolerance: 1e-10, ..Default::default() };
        newton.minimise(&problem, &mut x, &params, true).unwrap();
        let mut gradient = vec![0.0; 12];
        problem.gradient(&x, &mut gradient);
        assert!(problem.residual(&gradient) <= 1e-10 && x[12] == 0.1, "{x:?}");
        let factors = newton.factors;
        newton.minimise(&problem, &mut x, &params, false).unwrap();
        assert_eq!(newton.factors, factors, "nothing to do at the minimum");
    }

    #[test]
    fn the_adjoint_is_the_derivative_of_the_minimum() {
        let (problem, mut newton, mut x) = wells(5);
        let params = NewtonParams { tolerance: 1e-12, ..Default::default() };
        newton.restart(&problem, &mut x, &params).unwrap();
        let rhs = [0.0, 1.0, 0.0, -2.0, 0.5];
        let lambda = newton.adjoint(&problem, &x, &rhs).unwrap();
        // H λ by differences of the gradient.
        let gradient_at = |by: f64| {
            let mut out = vec![0.0; 5];
            let moved: Vec<f64> =
                x.iter().enumerate().map(|(i, x)| x + by * lambda.get(i).unwrap_or(&0.0)).collect();
            problem.gradient(&moved, &mut out);
            out
        };
        let (after, before) = (gradient_at(1e-6), gradient_at(-1e-6));
        for i in 0..5 {
            assert!(((after[i] - before[i]) / 2e-6 - rhs[i]).abs() < 1e-7);
        }
    }

    #[test]
    fn too_few_factorisations_are_an_error() {
        let (problem, mut newton, mut x) = wells(12);
        let params = NewtonParams { max_factors: 0, ..Default::default() };
        assert_eq!(newton.restart(&problem, &mut x, &params), Err(NotConverged));
    }
}
