//! The optimisation itself (IFA §4.3 and §5.1): an interior-point method.
//!
//! The paper uses L-BFGS. At the solution hundreds of vertices stand at the barrier, where the loss curves a
//! thousand times more than elsewhere, and a short memory of steps cannot learn that many directions: on a rig
//! of 57 expressions and 2,000 triangles it crawled at three times the loss that is reached here in twenty
//! iterations. So each step solves a quadratic [`Model`] that knows these directions, with multipliers as in
//! primal-dual methods, while the barrier comes down to λ^r from far above. The paper's line search stays.

use std::time::Instant;

use zygoma_physics::shell::{Shell, Stiffness};

use super::expressions::Expressions;
use super::loss::{add_stiffness_loss, logs_of, stiffness_of};
use super::model::Model;
use super::start::{start, wanted};
use super::{Continue, Expression, FitEnd, FitError, FitParams, FitProgress, FitResult, check};

/// Makes the skin as stiff as its expressions allow.
///
/// Ends with a feasible stiffness whenever it ends; the same for any number of threads, unless time runs out.
pub fn reconstruct(
    shell: &Shell,
    targets: &[Expression],
    params: &FitParams,
    progress: &mut dyn FnMut(FitProgress) -> Continue,
) -> Result<FitResult, FitError> {
    check(shell, targets)?;
    run(shell, targets, params, &start(shell, targets, params), progress)
}

/// The same from a stiffness that is nearly right: one fitted to a coarser mesh, or to fewer expressions.
///
/// # Panics
/// If the stiffness is not of as many vertices as the shell has.
pub fn refine(
    shell: &Shell,
    targets: &[Expression],
    params: &FitParams,
    from: &Stiffness,
    progress: &mut dyn FnMut(FitProgress) -> Continue,
) -> Result<FitResult, FitError> {
    check(shell, targets)?;
    let count = shell.vertex_count();
    assert!(from.strain.len() == count && from.bending.len() == count, "one stiffness per vertex");
    run(shell, targets, params, from, progress)
}

fn run(
    shell: &Shell,
    targets: &[Expression],
    params: &FitParams,
    from: &Stiffness,
    progress: &mut dyn FnMut(FitProgress) -> Continue,
) -> Result<FitResult, FitError> {
    let began = Instant::now();
    let mut fit = Fit::new(shell, targets, params, from)?;
    let mut history = Vec::new();
    let end = loop {
        let seconds = began.elapsed().as_secs_f64();
        let now = fit.progress(history.len(), seconds);
        history.push(now);
        if progress(now) == Continue::No {
            break FitEnd::Caller;
        }
        if history.len() > params.max_iterations {
            break FitEnd::Iterations;
        }
        if params.seconds.is_some_and(|limit| seconds >= limit) {
            break FitEnd::Time;
        }
        if let Some(end) = fit.advance() {
            break end;
        }
    };
    Ok(FitResult {
        stiffness: stiffness_of(&fit.at.logs),
        history,
        worst: fit.expressions.worst().iter().map(|worst| worst * params.margin).collect(),
        solutions: fit.expressions.solutions(targets),
        elements: fit.expressions.element_count(),
        end,
    })
}

/// The barrier that a fit starts with, over what the mean vertex has to gain. Behind low walls the first steps run
/// into them.
const FIRST_BARRIER: f64 = 0.2;

/// The share of a step below which it ran into the barrier, which is then raised, and by how much and how often.
const SHORT: f64 = 0.3;
const RAISE: f64 = 8.0;
const RAISES: usize = 3;

/// By how much the barrier is lowered when it is time.
const LOWER: f64 = 0.25;

/// The relative gain of an iteration below which the barrier is lowered.
const LITTLE: f64 = 0.02;

/// How many times a start that is not feasible is made softer.
const SOFTENINGS: u32 = 20;

/// How many times a step is halved before it is given up.
const HALVINGS: i32 = 6;

/// How many times a step is planned anew because it would run into the barrier.
const PLANS: usize = 8;

/// A feasible point with its loss.
struct Point {
    logs: Vec<f64>,
    /// Eq. 18 and 19, and eq. 17 with λ^r = 1.
    parts: [Part; 2],
    worst: f64,
}

/// A term of the loss and its derivatives by the logarithms.
struct Part {
    loss: f64,
    gradient: Vec<f64>,
}

impl Point {
    fn loss(&self, barrier: f64) -> f64 {
        self.parts[0].loss + barrier * self.parts[1].loss
    }

    fn gradient(&self, barrier: f64) -> Vec<f64> {
        let pairs = self.parts[0].gradient.iter().zip(&self.parts[1].gradient);
        pairs.map(|(a, b)| a + barrier * b).collect()
    }
}

struct Fit<'a> {
    shell: &'a Shell,
    params: &'a FitParams,
    wanted: Vec<f64>,
    expressions: Expressions,
    /// The barrier at present; λ^r in the end.
    barrier: f64,
    highest_barrier: f64,
    raises: usize,
    at: Point,
    step: f64,
}

impl<'a> Fit<'a> {
    /// Starts from the given stiffness, made softer until it is feasible.
    fn new(
        shell: &'a Shell,
        targets: &[Expression],
        params: &'a FitParams,
        stiffness: &Stiffness,
    ) -> Result<Self, FitError> {
        let mut expressions = Expressions::new(shell, targets, params);
        let wanted = wanted(shell, targets, params);
        let mut logs: Vec<f64> =
            logs_of(stiffness).iter().zip(&wanted).map(|(log, wanted)| log.min(wanted.ln())).collect();
        for round in 0..SOFTENINGS {
            // Ever bolder, down to e⁻³⁰ of what it was.
            if expressions.soften(&mut logs, 0.2 + 0.15 * f64::from(round)) == 0 {
                break;
            }
            expressions.restore();
        }
        match evaluate(shell, params, &wanted, &mut expressions, logs) {
            Ok(at) => {
                expressions.keep();
                let gain = params.target_weight
                    * params.target_strain.max(params.target_bending).powi(2)
                    * shell.area.iter().sum::<f64>()
                    / shell.vertex_count() as f64;
                let barrier = (FIRST_BARRIER * gain).max(params.barrier);
                Ok(Self {
                    shell,
                    params,
                    wanted,
                    expressions,
                    barrier,
                    highest_barrier: barrier,
                    raises: 0,
                    at,
                    step: 0.0,
                })
            }
            Err(failed) => Err(FitError::Infeasible(targets[failed].name.clone())),
        }
    }

    fn progress(&self, iteration: usize, seconds: f64) -> FitProgress {
        let worst = self.at.worst * self.params.margin;
        FitProgress { iteration, loss: self.at.loss(self.params.barrier), worst, step: self.step, seconds }
    }

    /// One iteration; says why the fit is over if it is.
    fn advance(&mut self) -> Option<FitEnd> {
        let rows = self.expressions.rows(&stiffness_of(&self.at.logs), self.barrier);
        let mut model = Model::new(self.shell, self.params, &self.wanted, &self.at.logs, rows);
        let gradient = self.at.gradient(self.barrier);
        let direction = self.plan(&mut model, &gradient);
        let found = self.search(&direction, &gradient);
        let share = found.as_ref().map_or(0.0, |(_, share)| *share);
        let mut gain = 0.0;
        if let Some((next, share)) = found {
            self.expressions.update_multipliers(model.rows(), self.barrier, &direction, share);
            let (before, after) = (self.at.loss(self.barrier), next.loss(self.barrier));
            gain = (before - after) / before.abs();
            self.step = share * largest(&direction);
            self.at = next;
        }
        if share < SHORT && self.raises < RAISES && RAISE * self.barrier <= self.highest_barrier {
            self.raises += 1;
            self.barrier *= RAISE;
        } else if share == 0.0 {
            return Some(FitEnd::Stalled);
        } else if gain < LITTLE && self.barrier > self.params.barrier {
            self.barrier = (LOWER * self.barrier).max(self.params.barrier);
        } else if gain < self.params.tolerance {
            return Some(FitEnd::Converged);
        }
        None
    }

    /// The step of the model, held back where it would run into the barrier.
    fn plan(&self, model: &mut Model, gradient: &[f64]) -> Vec<f64> {
        let downhill: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let (cap, tolerance) = (self.params.step_cap, self.params.margin * self.params.shell.tolerance);
        let mut direction = Vec::new();
        for _ in 0..PLANS {
            direction = model.solve(&downhill);
            direction.iter_mut().for_each(|d| *d = d.clamp(-cap, cap));
            if !model.hold_back(&direction, tolerance) {
                break;
            }
        }
        direction
    }

    /// Halves a step until (1) every expression is feasible and (2) settles, and (3) the loss descends enough.
    /// Also says which share of the step was made.
    fn search(&mut self, direction: &[f64], gradient: &[f64]) -> Option<(Point, f64)> {
        let slope: f64 = direction.iter().zip(gradient).map(|(d, g)| d * g).sum();
        let loss = self.at.loss(self.barrier);
        for halving in 0..HALVINGS {
            let share = 0.5f64.powi(halving);
            let logs = self.at.logs.iter().zip(direction).map(|(log, d)| log + share * d).collect();
            if let Ok(next) = evaluate(self.shell, self.params, &self.wanted, &mut self.expressions, logs)
                && next.loss(self.barrier) <= loss + 1e-4 * share * slope.min(0.0)
            {
                self.expressions.keep();
                return Some((next, share));
            }
            self.expressions.restore();
        }
        None
    }
}

fn evaluate(
    shell: &Shell,
    params: &FitParams,
    wanted: &[f64],
    expressions: &mut Expressions,
    logs: Vec<f64>,
) -> Result<Point, usize> {
    let barrier = expressions.evaluate(&stiffness_of(&logs))?;
    let by_stiffness = barrier.gradient.strain.iter().chain(&barrier.gradient.bending);
    let by_log = by_stiffness.zip(&logs).map(|(g, log)| g * log.exp()).collect();
    let mut gradient = vec![0.0; logs.len()];
    let loss = add_stiffness_loss(shell, params, wanted, &logs, &mut gradient);
    let parts = [Part { loss, gradient }, Part { loss: barrier.loss, gradient: by_log }];
    Ok(Point { logs, parts, worst: barrier.worst })
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interactive::fit::tests::sheet_with_bumps;

    #[test]
    fn gradient_of_the_loss_agrees_with_differences() {
        let (shell, targets) = sheet_with_bumps();
        let params = FitParams { settle_tolerance: 1e-11, ..FitParams::default() };
        let mut expressions = Expressions::new(&shell, &targets, &params);
        let wanted = wanted(&shell, &targets, &params);
        let mut logs = logs_of(&start(&shell, &targets, &params));
        logs.iter_mut().for_each(|log| *log -= 0.3);
        let mut at = |k: usize, h: f64| {
            let mut logs = logs.clone();
            logs[k] += h;
            evaluate(&shell, &params, &wanted, &mut expressions, logs).unwrap()
        };
        let point = at(0, 0.0);
        // With a barrier of this height both terms matter.
        let gradient = point.gradient(50.0);
        let barrier_part = &point.parts[1].gradient;
        let scale = largest(barrier_part);
        let mut checked = 0;
        for k in (0..gradient.len()).filter(|k| barrier_part[*k].abs() > 0.1 * scale).step_by(5) {
            let slope = (at(k, 1e-4).loss(50.0) - at(k, -1e-4).loss(50.0)) / 2e-4;
            assert!((slope - gradient[k]).abs() < 1e-4 * gradient[k].abs(), "{k}: {slope} {}", gradient[k]);
            checked += 1;
        }
        assert!(checked > 3);
    }
}
