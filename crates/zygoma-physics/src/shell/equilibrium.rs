//! The equilibrium of an [`EquilibriumProblem`], and its adjoint.

use glam::DVec3;
use zygoma_numerics::{Newton, NewtonParams, NewtonProblem, NotConverged, SymmetricMatrix};

use super::{EquilibriumProblem, Weights};

/// An equilibrium, with a factor that helps to find the next one nearby.
pub struct Equilibrium {
    /// Positions of the vertices of the [`EquilibriumProblem`], the free ones first.
    pub x: Vec<DVec3>,
    newton: Newton,
}

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
        equilibrium.minimise(problem, weights, params, true)?;
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
        let weighted = Weighted { problem, weights };
        let newton =
            Newton::new(problem.analysis().clone(), problem.matrix(), &weighted, bytemuck::cast_slice(&x));
        Ok(Self { x, newton: newton.map_err(|_| NotConverged)? })
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
        let mut numbers = bytemuck::cast_slice(&x).to_vec();
        let result = self.newton.restart(&Weighted { problem, weights }, &mut numbers, params);
        self.x = x;
        bytemuck::cast_slice_mut(&mut self.x).copy_from_slice(&numbers);
        result
    }

    /// Solves for other weights, starting at the last equilibrium. After an error `x` is not an equilibrium.
    pub fn update(
        &mut self,
        problem: &EquilibriumProblem,
        weights: &Weights,
        params: &NewtonParams,
    ) -> Result<(), NotConverged> {
        self.minimise(problem, weights, params, false)
    }

    fn minimise(
        &mut self,
        problem: &EquilibriumProblem,
        weights: &Weights,
        params: &NewtonParams,
        is_fresh: bool,
    ) -> Result<(), NotConverged> {
        let mut numbers = bytemuck::cast_slice(&self.x).to_vec();
        let result = self.newton.minimise(&Weighted { problem, weights }, &mut numbers, params, is_fresh);
        bytemuck::cast_slice_mut(&mut self.x).copy_from_slice(&numbers);
        result
    }

    /// Solves ∂²Ψ/∂x² λ = `rhs` at the equilibrium (IFA eq. 20). Fails where the equilibrium is not stable.
    pub fn adjoint(
        &mut self,
        problem: &EquilibriumProblem,
        weights: &Weights,
        rhs: &[DVec3],
    ) -> Result<Vec<DVec3>, NotConverged> {
        let weighted = Weighted { problem, weights };
        let x = bytemuck::cast_slice(&self.x);
        let lambda = self.newton.adjoint(&weighted, x, bytemuck::cast_slice(rhs))?;
        Ok(bytemuck::cast_slice(&lambda).to_vec())
    }

    /// Refactors at the equilibrium, so that [`sensitivity`](Self::sensitivity) is exact. At an unstable equilibrium the factor stays
    /// approximate.
    pub fn refresh(&mut self, problem: &EquilibriumProblem, weights: &Weights) {
        self.newton.refresh(&Weighted { problem, weights }, bytemuck::cast_slice(&self.x));
    }

    /// The derivative of `direction` · x of one free vertex with respect to the forces on all free vertices: the
    /// [`adjoint`](Self::adjoint) of that vertex alone, as exact as the factor at hand.
    pub fn sensitivity(&mut self, vertex: usize, direction: DVec3) -> Vec<DVec3> {
        let mut rhs = vec![DVec3::ZERO; self.newton.size() / 3];
        rhs[vertex] = direction;
        self.newton.solve(bytemuck::cast_slice_mut(&mut rhs));
        rhs
    }
}

/// A problem with the weights of its elements, over flat numbers.
struct Weighted<'a> {
    problem: &'a EquilibriumProblem,
    weights: &'a Weights,
}

impl NewtonProblem for Weighted<'_> {
    fn energy(&self, x: &[f64]) -> f64 {
        self.problem.energy(self.weights, bytemuck::cast_slice(x))
    }

    fn gradient(&self, x: &[f64], out: &mut [f64]) {
        self.problem.gradient(self.weights, bytemuck::cast_slice(x), bytemuck::cast_slice_mut(out));
    }

    fn hessian(&self, x: &[f64], damping: f64, out: &mut SymmetricMatrix) {
        self.problem.hessian(self.weights, bytemuck::cast_slice(x), damping, out);
    }

    /// The largest residual force divided by the actuation stiffness, m.
    fn residual(&self, gradient: &[f64]) -> f64 {
        let forces: &[DVec3] = bytemuck::cast_slice(gradient);
        forces.iter().zip(self.problem.actuation()).map(|(f, a)| f.length() / a).fold(0.0, f64::max)
    }
}
