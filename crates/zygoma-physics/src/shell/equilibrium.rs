//! The equilibrium of an [`EquilibriumProblem`], and its adjoint.

use glam::DVec3;
use zygoma_numerics::{Budget, CgEnd, CgStatus, Cholesky, SymmetricMatrix, conjugate_gradients};

use super::{EquilibriumProblem, Weights};

/// Stopping criteria of Newton's method.
#[derive(Clone, Debug, PartialEq)]
pub struct NewtonParams {
    /// Largest residual force at a vertex, divided by its actuation stiffness, m.
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

/// Newton's method did not converge: the shell is too stiff or tangled for the allowed number of steps, or time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no equilibrium of the shell was found in the number of steps allowed")]
pub struct NotConverged;

/// An equilibrium, with a factor that helps to find the next one nearby.
pub struct Equilibrium {
    /// Positions of the vertices of the [`EquilibriumProblem`], the free ones first.
    pub x: Vec<DVec3>,
    /// Number of factorisations so far.
    pub factors: usize,
    /// A factor of the Hessian at or near `x`, in `f32`, which takes half the time. It only proposes steps; convergence is decided in
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

impl Equilibrium {
    /// Finds the equilibrium, starting at the target.
    pub fn new(
        problem: &EquilibriumProblem,
        weights: &Weights,
        params: &NewtonParams,
    ) -> Result<Self, NotConverged> {
        Self::from(problem, weights, problem.target().to_vec(), params)
    }

    /// Finds the equilibrium, starting at given positions of the problem's vertices.
    ///
    /// # Panics
    /// If there are not as many as the [`EquilibriumProblem`] has vertices.
    pub fn from(
        problem: &EquilibriumProblem,
        weights: &Weights,
        x: Vec<DVec3>,
        params: &NewtonParams,
    ) -> Result<Self, NotConverged> {
        let mut equilibrium = Self::unsolved(problem, weights, x)?;
        equilibrium.search(problem, weights, params, true)?;
        Ok(equilibrium)
    }

    /// Allocates memory at given positions without solving; call [`restart`](Self::restart) to solve.
    ///
    /// # Panics
    /// If there are not as many as the [`EquilibriumProblem`] has vertices.
    pub fn unsolved(
        problem: &EquilibriumProblem,
        weights: &Weights,
        x: Vec<DVec3>,
    ) -> Result<Self, NotConverged> {
        assert_eq!(x.len(), problem.vertices().len(), "one position per vertex");
        let mut matrix = problem.matrix();
        problem.hessian(weights, &x, 1.0, &mut matrix);
        let factor = Cholesky::new(problem.analysis().clone(), &matrix).map_err(|_| NotConverged)?;
        Ok(Self { x, factors: 1, factor, column: Vec::new(), matrix, level: 0 })
    }

    /// Solves from new positions, for the same vertices and another target, in the memory at hand. The result does not depend on
    /// earlier solves.
    ///
    /// # Panics
    /// If there are not as many positions as the [`EquilibriumProblem`] has vertices, or it is one of other vertices.
    pub fn restart(
        &mut self,
        problem: &EquilibriumProblem,
        weights: &Weights,
        x: Vec<DVec3>,
        params: &NewtonParams,
    ) -> Result<(), NotConverged> {
        assert_eq!(x.len(), problem.vertices().len(), "one position per vertex");
        (self.x, self.level, self.factors) = (x, 0, 0);
        self.renew(problem, weights, params.max_factors)?;
        self.search(problem, weights, params, true)
    }

    /// Solves for other weights, starting at the last equilibrium. After an error `x` is not an equilibrium.
    pub fn update(
        &mut self,
        problem: &EquilibriumProblem,
        weights: &Weights,
        params: &NewtonParams,
    ) -> Result<(), NotConverged> {
        self.search(problem, weights, params, false)
    }

    /// Newton's method that keeps a factor while it converges well.
    fn search(
        &mut self,
        problem: &EquilibriumProblem,
        weights: &Weights,
        params: &NewtonParams,
        mut fresh: bool,
    ) -> Result<(), NotConverged> {
        let free = problem.free_count();
        let mut gradient = vec![DVec3::ZERO; free];
        let mut step = vec![0.0; 3 * free];
        let mut trial = self.x.clone();
        let mut at_trial = gradient.clone();
        let limit = self.factors + params.max_factors;
        problem.gradient(weights, &self.x, &mut gradient);
        let mut miss = remaining(&gradient, problem.actuation());
        let mut energy = None;
        while miss > params.tolerance {
            params.budget.check().map_err(|_| NotConverged)?;
            for (i, force) in gradient.iter().enumerate() {
                step[3 * i..3 * i + 3].copy_from_slice(&force.to_array());
            }
            self.solve_roughly(&mut step);
            let slope: f64 =
                gradient.iter().zip(step.as_chunks::<3>().0).map(|(g, s)| g.dot(DVec3::from_array(*s))).sum();
            let before = *energy.get_or_insert_with(|| problem.energy(weights, &self.x));
            let mut share = 1.0;
            let after = loop {
                for (i, s) in step.as_chunks::<3>().0.iter().enumerate() {
                    trial[i] = self.x[i] - share * DVec3::from_array(*s);
                }
                let after = problem.energy(weights, &trial);
                if after <= before - 1e-4 * share * slope {
                    break Some(after);
                }
                // Near the minimum the change of energy is lost to rounding: the forces decide.
                if (after - before).abs() <= 1e-9 * before.abs() {
                    problem.gradient(weights, &trial, &mut at_trial);
                    if remaining(&at_trial, problem.actuation()) < 0.9 * miss {
                        break Some(after);
                    }
                }
                share *= 0.5;
                if share < 1e-4 {
                    break None;
                }
            };
            let Some(after) = after else {
                if fresh {
                    return Err(NotConverged);
                }
                self.renew(problem, weights, limit)?;
                fresh = true;
                continue;
            };
            std::mem::swap(&mut self.x, &mut trial);
            energy = Some(after);
            problem.gradient(weights, &self.x, &mut gradient);
            let left = remaining(&gradient, problem.actuation());
            fresh = false;
            // A solve costs a tenth of a factorisation, so a kept factor may converge more slowly.
            if left > params.tolerance && (left > 0.25 * miss || share < 1.0) {
                self.renew(problem, weights, limit)?;
                fresh = true;
            }
            miss = left;
        }
        Ok(())
    }

    /// Factors the Hessian at `x`, removing more and more negative curvature until it is positive definite. The exact Hessian is mostly
    /// usable again only near an equilibrium, so each call starts one level below the last success.
    fn renew(
        &mut self,
        problem: &EquilibriumProblem,
        weights: &Weights,
        limit: usize,
    ) -> Result<(), NotConverged> {
        self.level = self.level.saturating_sub(1);
        while let Some(damping) = DAMPING.get(self.level) {
            if self.factors >= limit {
                return Err(NotConverged);
            }
            self.factors += 1;
            problem.hessian(weights, &self.x, *damping, &mut self.matrix);
            if self.factor.refactor(&self.matrix).is_ok() {
                return Ok(());
            }
            self.level += 1;
        }
        Err(NotConverged)
    }

    /// Solves ∂²Ψ/∂x² λ = `rhs` at the equilibrium (IFA eq. 20) by conjugate gradients on the exact
    /// Hessian, preconditioned with the factor at hand. Fails where the equilibrium is not stable.
    pub fn adjoint(
        &mut self,
        problem: &EquilibriumProblem,
        weights: &Weights,
        rhs: &[DVec3],
    ) -> Result<Vec<DVec3>, NotConverged> {
        problem.hessian(weights, &self.x, 0.0, &mut self.matrix);
        if let Some(solution) = self.conjugate_gradients(rhs, 12)? {
            return Ok(solution);
        }
        self.factors += 1;
        self.factor.refactor(&self.matrix).map_err(|_| NotConverged)?;
        self.conjugate_gradients(rhs, 12)?.ok_or(NotConverged)
    }

    /// Refactors at the equilibrium, so that [`sensitivity`](Self::sensitivity) is exact. At an unstable equilibrium the factor stays
    /// approximate.
    pub fn refresh(&mut self, problem: &EquilibriumProblem, weights: &Weights) {
        for damping in DAMPING {
            self.factors += 1;
            problem.hessian(weights, &self.x, damping, &mut self.matrix);
            if self.factor.refactor(&self.matrix).is_ok() {
                break;
            }
        }
    }

    /// The derivative of `direction` · x of one free vertex with respect to the forces on all free vertices: the
    /// [`adjoint`](Self::adjoint) of that vertex alone, as exact as the factor at hand.
    pub fn sensitivity(&mut self, vertex: usize, direction: DVec3) -> Vec<DVec3> {
        let mut rhs = vec![0.0; self.matrix.size()];
        rhs[3 * vertex..3 * vertex + 3].copy_from_slice(&direction.to_array());
        self.solve_roughly(&mut rhs);
        rhs.as_chunks::<3>().0.iter().map(|v| DVec3::from_array(*v)).collect()
    }

    /// Solves with the factor at hand, in place.
    fn solve_roughly(&mut self, rhs: &mut [f64]) {
        solve_in_f32(&mut self.factor, &mut self.column, rhs);
    }

    fn conjugate_gradients(
        &mut self,
        rhs: &[DVec3],
        iterations: usize,
    ) -> Result<Option<Vec<DVec3>>, NotConverged> {
        let rhs: Vec<f64> = rhs.iter().flat_map(DVec3::to_array).collect();
        let norm = |r: &[f64]| r.iter().map(|r| r * r).sum::<f64>().sqrt();
        let goal = 1e-9 * norm(&rhs);
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
        let found = conjugate_gradients(&rhs, multiply, precondition, is_done, iterations);
        match found.end {
            CgEnd::Converged => {
                Ok(Some(found.x.as_chunks::<3>().0.iter().map(|v| DVec3::from_array(*v)).collect()))
            }
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

/// The largest residual force divided by the actuation stiffness.
fn remaining(gradient: &[DVec3], actuation: &[f64]) -> f64 {
    gradient.iter().zip(actuation).map(|(force, a)| force.length() / a).fold(0.0, f64::max)
}
