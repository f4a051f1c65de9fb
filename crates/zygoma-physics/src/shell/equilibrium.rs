//! Finding the equilibrium of an [`EquilibriumProblem`], and its adjoint.

use glam::DVec3;
use zygoma_numerics::{Budget, Cholesky, SymmetricMatrix};

use super::{EquilibriumProblem, Weights};

/// When the search for an equilibrium ends.
#[derive(Clone, Debug, PartialEq)]
pub struct NewtonParams {
    /// The largest force that may remain at a vertex, as the distance over which actuation makes it up, m.
    pub tolerance: f64,
    /// The search fails after this many factorisations.
    pub max_factors: usize,
    /// The search fails when this is over.
    pub budget: Budget,
}

impl Default for NewtonParams {
    fn default() -> Self {
        Self { tolerance: 1e-6, max_factors: 30, budget: Budget::default() }
    }
}

/// The search for an equilibrium failed: the shell is too stiff or tangled for the number of steps allowed, or the time is
/// over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the shell found no equilibrium in the number of steps allowed")]
pub struct NotConverged;

/// An equilibrium, with what helps to find the next one nearby.
pub struct Equilibrium {
    /// Positions of the vertices of the [`EquilibriumProblem`], the free ones first.
    pub x: Vec<DVec3>,
    /// How many times the matrix was factored, in all searches so far.
    pub factors: usize,
    /// A factor of the second derivatives at or near `x`. It only leads the way, and what is reached is judged in `f64`: `f32`
    /// does that in half the time.
    factor: Cholesky<f32>,
    /// A right-hand side in its precision.
    column: Vec<f32>,
    matrix: SymmetricMatrix,
    /// Which of [`DAMPING`] the factor was made with.
    level: usize,
}

/// The shares of negative curvature that are left out of a factor, from none to all.
const DAMPING: [f64; 4] = [0.0, 0.3, 0.6, 1.0];

impl Equilibrium {
    /// The equilibrium that is found from the target.
    pub fn new(
        problem: &EquilibriumProblem,
        weights: &Weights,
        params: &NewtonParams,
    ) -> Result<Self, NotConverged> {
        Self::from(problem, weights, problem.target().to_vec(), params)
    }

    /// The equilibrium that is found from given positions of the vertices of the [`EquilibriumProblem`].
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

    /// Given positions, not searched from yet: memory to [`restart`](Self::restart) in.
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

    /// Starts anew from positions near an equilibrium, for the same vertices pulled to another target, in memory that is
    /// there already. Nothing of what was found before has a say.
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

    /// Moves on to the equilibrium under other weights. After an error `x` is not an equilibrium.
    pub fn update(
        &mut self,
        problem: &EquilibriumProblem,
        weights: &Weights,
        params: &NewtonParams,
    ) -> Result<(), NotConverged> {
        self.search(problem, weights, params, false)
    }

    /// Newton's method that keeps a factor as long as it makes good progress.
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
                // Near the end the change drowns in the last digits of the energy: there the forces decide.
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
            // A kept factor costs a tenth of a new one, so it must win less than a tenth of the digits.
            if left > params.tolerance && (left > 0.25 * miss || share < 1.0) {
                self.renew(problem, weights, limit)?;
                fresh = true;
            }
            miss = left;
        }
        Ok(())
    }

    /// Factors the second derivatives at `x`; where they are not positive definite, with less and less of
    /// what bends them down. Between two equilibria the unabridged ones are right again only at the end, so
    /// the next try starts one level below the last success.
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

    /// Solves ∂²Ψ/∂x² λ = `rhs` at the equilibrium (IFA eq. 20) by conjugate gradients on the exact second
    /// derivatives, preconditioned with the factor at hand. Fails where the equilibrium is not stable.
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

    /// Renews the factor at the equilibrium, so that [`sensitivity`](Self::sensitivity) is exact. Where the equilibrium is
    /// not stable the factor stays an approximate one.
    pub fn refresh(&mut self, problem: &EquilibriumProblem, weights: &Weights) {
        for damping in DAMPING {
            self.factors += 1;
            problem.hessian(weights, &self.x, damping, &mut self.matrix);
            if self.factor.refactor(&self.matrix).is_ok() {
                break;
            }
        }
    }

    /// The derivative of `direction` · x of one free vertex by the forces on all free vertices: what
    /// [`adjoint`](Self::adjoint) gives for that vertex alone, as exact as the factor at hand.
    pub fn sensitivity(&mut self, vertex: usize, direction: DVec3) -> Vec<DVec3> {
        let mut rhs = vec![0.0; self.matrix.size()];
        rhs[3 * vertex..3 * vertex + 3].copy_from_slice(&direction.to_array());
        self.solve_roughly(&mut rhs);
        rhs.as_chunks::<3>().0.iter().map(|v| DVec3::from_array(*v)).collect()
    }

    /// Solves with the factor at hand, in place.
    fn solve_roughly(&mut self, rhs: &mut [f64]) {
        self.column.clear();
        self.column.extend(rhs.iter().map(|value| *value as f32));
        self.factor.solve_in_place(&mut self.column);
        rhs.iter_mut().zip(&self.column).for_each(|(value, found)| *value = f64::from(*found));
    }

    fn conjugate_gradients(
        &mut self,
        rhs: &[DVec3],
        rounds: usize,
    ) -> Result<Option<Vec<DVec3>>, NotConverged> {
        let mut r: Vec<f64> = rhs.iter().flat_map(DVec3::to_array).collect();
        let goal = 1e-9 * dot(&r, &r).sqrt();
        let mut x = vec![0.0; r.len()];
        let mut z = r.clone();
        self.solve_roughly(&mut z);
        let mut direction = z.clone();
        let mut along = dot(&r, &z);
        let mut product = vec![[0.0]; r.len()];
        for _ in 0..rounds {
            if dot(&r, &r).sqrt() <= goal {
                break;
            }
            self.matrix.multiply(direction.as_chunks::<1>().0, &mut product);
            let product = product.as_flattened();
            let curvature = dot(&direction, product);
            if curvature <= 0.0 {
                return Err(NotConverged);
            }
            let share = along / curvature;
            for i in 0..x.len() {
                x[i] += share * direction[i];
                r[i] -= share * product[i];
            }
            z.copy_from_slice(&r);
            self.solve_roughly(&mut z);
            let next = dot(&r, &z);
            let keep = next / along;
            along = next;
            for i in 0..x.len() {
                direction[i] = z[i] + keep * direction[i];
            }
        }
        let done = dot(&r, &r).sqrt() <= goal;
        Ok(done.then(|| x.as_chunks::<3>().0.iter().map(|v| DVec3::from_array(*v)).collect()))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The largest force, as the distance over which the actuation makes it up.
fn remaining(gradient: &[DVec3], actuation: &[f64]) -> f64 {
    gradient.iter().zip(actuation).map(|(force, a)| force.length() / a).fold(0.0, f64::max)
}
