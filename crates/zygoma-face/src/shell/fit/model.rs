//! A quadratic model of the loss, which is solved for each step of the fit.
//!
//! Along the barrier the loss curves a thousand times more than along the stiffness terms, in as many directions as there are vertices at
//! the barrier; no limited-memory method can learn that. But each of these directions is known: it is the derivative of that vertex'
//! distance by the stiffness, one solve with the existing factor.

use zygoma_numerics::{Budget, CgStatus, conjugate_gradients};
use zygoma_physics::shell::Shell;

use super::FitParams;

/// One vertex of one expression that is close to the barrier.
pub(super) struct Row {
    /// The expression and its vertex.
    pub(super) part: usize,
    pub(super) vertex: usize,
    /// c = 1 − d²/ε², and −∂c/∂d.
    pub(super) room: f64,
    pub(super) slope: f64,
    /// Curvature of the barrier with the distance d.
    pub(super) weight: f64,
    /// Magnitude of the slope of the loss with d.
    pub(super) pull: f64,
    /// The second derivatives of d relative to the first ones, as estimated from failed steps.
    pub(super) bend: f64,
    /// ∂d by the logarithms of the stiffness, where it is not negligible.
    pub(super) entries: Vec<(u32, f64)>,
}

impl Row {
    /// Distance of d from the tolerance.
    fn left(&self, tolerance: f64) -> f64 {
        tolerance * (1.0 - (1.0 - self.room).sqrt())
    }

    /// The change of d along a step, to first order.
    pub(super) fn along(&self, step: &[f64]) -> f64 {
        self.entries.iter().map(|(k, d)| d * step[*k as usize]).sum()
    }

    /// Half the sum of squares of a step, each times the size of the derivative of d.
    fn spread(&self, step: &[f64]) -> f64 {
        0.5 * self.entries.iter().map(|(k, d)| d.abs() * step[*k as usize].powi(2)).sum::<f64>()
    }
}

/// The significant entries of a row.
pub(super) fn entries(derivatives: impl Iterator<Item = f64> + Clone) -> Vec<(u32, f64)> {
    let largest = derivatives.clone().fold(0.0, |most: f64, d| most.max(d.abs()));
    (0..).zip(derivatives).filter(|(_, d)| d.abs() > 1e-3 * largest).collect()
}

/// Diagonal, smoothness and barrier parts of the second derivatives by the logarithms.
pub(super) struct Model {
    diagonal: Vec<f64>,
    /// Smoothness, as two unknowns and their factors: (a p_a − b p_b)².
    edges: Vec<([u32; 2], [f64; 2])>,
    rows: Vec<Row>,
}

impl Model {
    pub(super) fn new(
        shell: &Shell,
        params: &FitParams,
        wanted: &[f64],
        logs: &[f64],
        rows: Vec<Row>,
    ) -> Self {
        let count = shell.vertex_count();
        let mut diagonal = Vec::with_capacity(logs.len());
        let mut edges = Vec::with_capacity(2 * shell.springs.len());
        for half in 0..2 {
            let wanted = &wanted[half * count..][..count];
            let logs = &logs[half * count..][..count];
            for ((log, area), wanted) in logs.iter().zip(&shell.area).zip(wanted) {
                let value = log.exp();
                // (κ − κ^t)² is not convex in ln κ; this limits the step of a free vertex to the cap.
                let target = params.target_weight * value * value.max(*wanted) / params.step_cap;
                diagonal.push(area * (target + params.extremes));
            }
            for spring in &shell.springs {
                let factor = params.smoothness.sqrt() / spring.rest_length;
                let factors = spring.ends.map(|end| factor * logs[end as usize].exp());
                edges.push((spring.ends.map(|end| end + (half * count) as u32), factors));
            }
        }
        Self { diagonal, edges, rows }
    }

    fn multiply(&self, p: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = p.iter().zip(&self.diagonal).map(|(p, d)| p * d).collect();
        for ([a, b], [fa, fb]) in &self.edges {
            let (a, b) = (*a as usize, *b as usize);
            let difference = fa * p[a] - fb * p[b];
            out[a] += fa * difference;
            out[b] -= fb * difference;
        }
        for row in &self.rows {
            let (along, bend) = (row.weight * row.along(p), row.pull * row.bend);
            for (k, d) in &row.entries {
                out[*k as usize] += along * d + bend * d.abs() * p[*k as usize];
            }
        }
        out
    }

    fn jacobi(&self) -> Vec<f64> {
        let mut sums = self.diagonal.clone();
        for ([a, b], [fa, fb]) in &self.edges {
            sums[*a as usize] += fa * fa;
            sums[*b as usize] += fb * fb;
        }
        for row in &self.rows {
            let bend = row.pull * row.bend;
            row.entries.iter().for_each(|(k, d)| sums[*k as usize] += row.weight * d * d + bend * d.abs());
        }
        sums
    }

    /// Solves for the model's step by conjugate gradients; an approximate step will do, including one cut short by the budget.
    pub(super) fn solve(&self, downhill: &[f64], budget: &Budget) -> Vec<f64> {
        let jacobi = self.jacobi();
        let precondition = |r: &[f64], out: &mut [f64]| {
            out.iter_mut().zip(r.iter().zip(&jacobi)).for_each(|(out, (r, j))| *out = r / j);
        };
        let multiply = |v: &[f64], out: &mut [f64]| out.copy_from_slice(&self.multiply(v));
        let mut goal = None;
        let is_done = |status: &CgStatus<'_>| {
            let goal = *goal.get_or_insert(1e-6 * status.preconditioned_square);
            status.preconditioned_square <= goal || budget.is_over()
        };
        conjugate_gradients(downhill, multiply, precondition, is_done, 300).x
    }

    /// Makes the barrier steeper for vertices that a step would take most of the way to it, or through it; returns whether there were
    /// any.
    pub(super) fn hold_back(&mut self, step: &[f64], tolerance: f64) -> bool {
        let mut any = false;
        for row in &mut self.rows {
            if row.along(step) + row.bend * row.spread(step) > 0.85 * row.left(tolerance) {
                row.weight *= 4.0;
                row.pull *= 4.0;
                any = true;
            }
        }
        any
    }

    /// Learns from a failed step how its vertices really move: the distance each reached, where that is known. Returns whether anything
    /// was learned about a vertex that crossed the tolerance.
    pub(super) fn learn(
        &mut self,
        step: &[f64],
        tolerance: f64,
        distance: impl Fn(&Row) -> Option<f64>,
    ) -> bool {
        let mut any = false;
        for row in &mut self.rows {
            let Some(distance) = distance(row) else { continue };
            let before = tolerance - row.left(tolerance);
            let (surprise, spread) = (distance - before - row.along(step), row.spread(step));
            if spread > 0.0 && surprise > row.bend * spread {
                row.bend = surprise / spread;
                any |= distance > tolerance;
            }
        }
        any
    }

    /// The vertices close to the barrier.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }
}
