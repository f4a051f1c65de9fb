//! A quadratic model of the loss: the first estimate that the memory of steps improves on.
//!
//! Along the barrier the loss curves a thousand times more than along the stiffness terms, in as many
//! directions as there are vertices at the barrier; no short memory of steps can learn that. But each of these
//! directions is known: it is how that vertex moves with the stiffness, one solve with the factor at hand.

use zygoma_physics::shell::Shell;

use super::FitParams;

/// One vertex of one expression that is close to the barrier: how its distance from the target changes with the
/// logarithms of the stiffness, and how strongly the barrier curves there.
pub(super) struct Row {
    weight: f64,
    entries: Vec<(u32, f64)>,
}

impl Row {
    pub(super) fn new(weight: f64, derivatives: impl Iterator<Item = f64> + Clone) -> Self {
        let largest = derivatives.clone().fold(0.0, |most: f64, d| most.max(d.abs()));
        let entries = (0..).zip(derivatives).filter(|(_, d)| d.abs() > 1e-3 * largest).collect();
        Self { weight, entries }
    }
}

/// Diagonal, smoothness and barrier parts of the second derivatives by the logarithms.
pub(super) struct Model {
    diagonal: Vec<f64>,
    /// Ends and their factors: (a p_a − b p_b)².
    edges: Vec<([u32; 2], [f64; 2])>,
    rows: Vec<Row>,
}

impl Model {
    pub(super) fn new(shell: &Shell, params: &FitParams, logs: &[f64], rows: Vec<Row>) -> Self {
        let count = shell.vertex_count();
        let mut diagonal = Vec::with_capacity(logs.len());
        let mut edges = Vec::with_capacity(2 * shell.springs.len());
        for (half, wanted) in [params.target_strain, params.target_bending].into_iter().enumerate() {
            let logs = &logs[half * count..][..count];
            for (log, area) in logs.iter().zip(&shell.area) {
                let value = log.exp();
                // (κ − κ^t)² is not convex in ln κ; this makes a free vertex step by at most the cap.
                let target = params.target_weight * value * value.max(wanted) / params.step_cap;
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
            let along: f64 = row.entries.iter().map(|(k, d)| d * p[*k as usize]).sum();
            row.entries.iter().for_each(|(k, d)| out[*k as usize] += row.weight * along * d);
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
            row.entries.iter().for_each(|(k, d)| sums[*k as usize] += row.weight * d * d);
        }
        sums
    }

    /// Solves for the step that the model asks for, by conjugate gradients; a step that is roughly right will do.
    pub(super) fn solve(&self, rhs: &[f64]) -> Vec<f64> {
        let jacobi = self.jacobi();
        let precondition = |r: &[f64]| -> Vec<f64> { r.iter().zip(&jacobi).map(|(r, j)| r / j).collect() };
        let mut x = vec![0.0; rhs.len()];
        let mut r = rhs.to_vec();
        let mut z = precondition(&r);
        let mut direction = z.clone();
        let mut along = dot(&r, &z);
        let goal = 1e-6 * along;
        for _ in 0..300 {
            if along <= goal {
                break;
            }
            let product = self.multiply(&direction);
            let share = along / dot(&direction, &product);
            for i in 0..x.len() {
                x[i] += share * direction[i];
                r[i] -= share * product[i];
            }
            z = precondition(&r);
            let next = dot(&r, &z);
            let keep = next / along;
            along = next;
            direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + keep * *d);
        }
        x
    }

    /// How many vertices are close to the barrier.
    pub(super) fn row_count(&self) -> usize {
        self.rows.len()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
