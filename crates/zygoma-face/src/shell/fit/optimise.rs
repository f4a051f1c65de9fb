//! The optimisation itself (IFA §4.3 and §5.1): an interior-point method.
//!
//! The paper uses L-BFGS. At the solution hundreds of vertices are at the barrier, where the loss curves a thousand times more than
//! elsewhere, and a limited memory of steps cannot learn that many directions: on a rig of 57 expressions and 2,000 triangles it
//! stagnated at three times the loss that is reached here in twenty iterations. So each step solves a quadratic [`Model`] that contains
//! these directions, with multipliers as in primal-dual methods, while the barrier is lowered to λ^r from far above. The paper's line
//! search is kept.

use std::time::Instant;

use glam::DVec3;
use zygoma_numerics::Budget;
use zygoma_physics::shell::{Shell, Stiffness};

use super::expressions::{Expressions, Failure, Kept};
use super::loss::{add_stiffness_loss, logs_of, stiffness_of};
use super::model::{Model, Row};
use super::start::{start, wanted};
use super::{Continue, Expression, FitEnd, FitError, FitParams, FitProgress, FitResult, check};

/// Makes the skin as stiff as its expressions allow.
///
/// Always ends with a feasible stiffness; the same for any number of threads, unless time runs out.
pub fn reconstruct(
    shell: &Shell,
    targets: &[Expression],
    params: &FitParams,
    progress: &mut dyn FnMut(FitProgress) -> Continue,
) -> Result<FitResult, FitError> {
    check(shell, targets)?;
    run(shell, targets, params, Start::Afresh, progress)
}

/// A warm start: the fit of a coarser mesh, or of fewer expressions.
#[derive(Clone, Copy, Debug)]
pub struct Nearby<'a> {
    /// Its stiffness, transferred to the shell.
    pub stiffness: &'a Stiffness,
    /// Equilibria of its expressions, in order; expressions without one start from their targets.
    pub solutions: &'a [Vec<DVec3>],
}

/// [`reconstruct`] from a warm start.
///
/// # Panics
/// If the stiffness has another number of vertices than the shell.
pub fn refine(
    shell: &Shell,
    targets: &[Expression],
    params: &FitParams,
    from: Nearby,
    progress: &mut dyn FnMut(FitProgress) -> Continue,
) -> Result<FitResult, FitError> {
    check(shell, targets)?;
    let count = shell.vertex_count();
    let Stiffness { strain, bending } = from.stiffness;
    assert!(strain.len() == count && bending.len() == count, "one stiffness per vertex");
    run(shell, targets, params, Start::Near(from), progress)
}

fn run(
    shell: &Shell,
    targets: &[Expression],
    params: &FitParams,
    from: Start,
    progress: &mut dyn FnMut(FitProgress) -> Continue,
) -> Result<FitResult, FitError> {
    let began = Instant::now();
    let mut fit = Fit::new(shell, targets, params, from)?;
    let mut history = Vec::new();
    let end = loop {
        let now = fit.progress(history.len(), began.elapsed().as_secs_f64());
        history.push(now);
        match progress(now) {
            Continue::Yes => {}
            Continue::No => break FitEnd::Caller,
            Continue::Abandon => return Err(FitError::Abandoned),
        }
        if params.budget.is_cancelled() {
            return Err(FitError::Abandoned);
        }
        if history.len() > params.max_iterations {
            break FitEnd::Iterations;
        }
        if fit.budget.is_over() {
            break FitEnd::Time;
        }
        if let Some(end) = fit.advance() {
            break end;
        }
    };
    let best = fit.best;
    Ok(FitResult {
        stiffness: stiffness_of(&best.logs),
        history,
        worst: best.kept.worst.iter().map(|worst| worst * params.margin).collect(),
        solutions: fit.expressions.solutions(&best.kept, targets),
        elements: fit.expressions.element_count(),
        end,
    })
}

/// The start of a fit.
#[derive(Clone, Copy)]
enum Start<'a> {
    /// A cold start.
    Afresh,
    /// A warm start.
    Near(Nearby<'a>),
}

/// The initial barrier, relative to the possible gain of the mean vertex. With a low barrier the first steps run into it; a warm start is
/// past that.
const FIRST_BARRIER: f64 = 0.2;
const FIRST_BARRIER_NEARBY: f64 = 0.02;

/// The fraction of a full step below which a step counts as blocked by the barrier, which is then raised, and by how much and how often.
const SHORT: f64 = 0.3;
const RAISE: f64 = 8.0;
const RAISES: usize = 3;

/// The factor by which the barrier is lowered.
const LOWER: f64 = 0.25;

/// The relative gain of an iteration below which the barrier is lowered.
const LITTLE: f64 = 0.02;

/// Number of times that an infeasible start is softened.
const SOFTENINGS: u32 = 20;

/// Number of times that a step is changed before it is abandoned: replanned with the knowledge from its failure, and then shortened.
const TRIALS: usize = 10;
const REPLANS: usize = 4;

/// Number of times that a step is replanned because it would run into the barrier.
const PLANS: usize = 8;

/// A feasible point with its loss.
struct Point {
    logs: Vec<f64>,
    /// IFA eq. 18 and 19, and eq. 17 with λ^r = 1.
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

/// The best point so far, by the loss with λ^r.
struct Best {
    loss: f64,
    logs: Vec<f64>,
    kept: Kept,
}

struct Fit<'a> {
    shell: &'a Shell,
    params: &'a FitParams,
    wanted: Vec<f64>,
    expressions: Expressions,
    /// The deadline after which the best point so far is taken.
    budget: Budget,
    /// The current barrier; λ^r in the end.
    barrier: f64,
    first_barrier: f64,
    raises: usize,
    at: Point,
    best: Best,
    step: f64,
}

impl<'a> Fit<'a> {
    /// Starts from the given stiffness, softened until it is feasible.
    fn new(
        shell: &'a Shell,
        targets: &[Expression],
        params: &'a FitParams,
        from: Start,
    ) -> Result<Self, FitError> {
        let budget = params.budget.within(params.seconds);
        let mut expressions = Expressions::new(shell, targets, params);
        let wanted = wanted(shell, targets, params);
        let stiffness = match from {
            Start::Afresh => &start(shell, targets, params),
            Start::Near(nearby) => {
                expressions.start_from(nearby.solutions);
                nearby.stiffness
            }
        };
        let mut logs: Vec<f64> =
            logs_of(stiffness).iter().zip(&wanted).map(|(log, wanted)| log.min(wanted.ln())).collect();
        for round in 0..SOFTENINGS {
            // Softens more strongly each time, down to e⁻³⁰ of the initial value, in larger steps when there is no time. And over a wider
            // region: softened skin passes its load on to the skin around it, which may be at its limit in another expression.
            params.budget.check()?;
            let by = if budget.is_over() { 3.0 } else { 0.2 + 0.15 * f64::from(round) };
            if expressions.soften(&mut logs, by, 1.3f64.powf(f64::from(round))) == 0 {
                break;
            }
            expressions.restore();
        }
        let at = match evaluate(shell, params, &wanted, &mut expressions, logs, &params.budget) {
            Ok(at) => at,
            Err(failure) => {
                params.budget.check()?;
                let Failure::Infeasible { parts } = failure else { return Err(FitError::NoTime) };
                return Err(FitError::Infeasible(targets[parts[0]].name.clone()));
            }
        };
        expressions.keep();
        let gain = params.target_weight
            * params.target_strain.max(params.target_bending).powi(2)
            * shell.area.iter().sum::<f64>()
            / shell.vertex_count() as f64;
        let fraction = match from {
            Start::Afresh => FIRST_BARRIER,
            Start::Near(_) => FIRST_BARRIER_NEARBY,
        };
        let barrier = (fraction * gain).max(params.barrier);
        let best = Best { loss: at.loss(params.barrier), logs: at.logs.clone(), kept: expressions.kept() };
        Ok(Self {
            shell,
            params,
            wanted,
            expressions,
            budget,
            barrier,
            first_barrier: barrier,
            raises: 0,
            at,
            best,
            step: 0.0,
        })
    }

    fn progress(&self, iteration: usize, seconds: f64) -> FitProgress {
        let lowered = (self.first_barrier / self.barrier).ln();
        let whole = (self.first_barrier / self.params.barrier).ln() - LOWER.ln();
        FitProgress {
            iteration,
            loss: self.at.loss(self.params.barrier),
            worst: self.at.worst * self.params.margin,
            step: self.step,
            seconds,
            done: (lowered / whole).clamp(0.0, 1.0),
        }
    }

    /// Performs one iteration; returns why the fit has ended, if it has.
    fn advance(&mut self) -> Option<FitEnd> {
        let rows = self.expressions.rows(&stiffness_of(&self.at.logs), self.barrier, &self.budget);
        if self.budget.is_over() {
            return Some(FitEnd::Time);
        }
        let mut model = Model::new(self.shell, self.params, &self.wanted, &self.at.logs, rows);
        let gradient = self.at.gradient(self.barrier);
        let direction = self.plan(&mut model, &gradient);
        let found = match self.search(&mut model, &direction, &gradient) {
            Ok(found) => found,
            Err(end) => return Some(end),
        };
        self.expressions.remember(model.rows());
        let mut gain = 0.0;
        let mut fraction = 0.0;
        if let Some(next) = found {
            let step: Vec<f64> = next.logs.iter().zip(&self.at.logs).map(|(next, now)| next - now).collect();
            fraction = (dot(&step, &step) / dot(&direction, &direction)).sqrt();
            self.expressions.update_multipliers(model.rows(), self.barrier, &step);
            let (before, after) = (self.at.loss(self.barrier), next.loss(self.barrier));
            gain = (before - after) / before.abs();
            self.step = largest(&step);
            self.at = next;
            let loss = self.at.loss(self.params.barrier);
            if loss < self.best.loss {
                self.best = Best { loss, logs: self.at.logs.clone(), kept: self.expressions.kept() };
            }
        }
        if fraction < SHORT && self.raises < RAISES && RAISE * self.barrier <= self.first_barrier {
            self.raises += 1;
            self.barrier *= RAISE;
        } else if gain < LITTLE && self.barrier > self.params.barrier {
            self.barrier = (LOWER * self.barrier).max(self.params.barrier);
        } else if fraction == 0.0 {
            return Some(FitEnd::Stalled);
        } else if gain < self.params.tolerance {
            return Some(FitEnd::Converged);
        }
        None
    }

    /// The model's step, limited where it would run into the barrier.
    fn plan(&self, model: &mut Model, gradient: &[f64]) -> Vec<f64> {
        let downhill: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let (cap, tolerance) = (self.params.step_cap, self.params.margin * self.params.shell.tolerance);
        let mut direction = Vec::new();
        for _ in 0..PLANS {
            direction = model.solve(&downhill, &self.budget);
            direction.iter_mut().for_each(|d| *d = d.clamp(-cap, cap));
            if !model.hold_back(&direction, tolerance) {
                break;
            }
        }
        direction
    }

    /// Changes a step until (1) every expression is feasible and (2) settles, and (3) the loss decreases enough.
    fn search(
        &mut self,
        model: &mut Model,
        direction: &[f64],
        gradient: &[f64],
    ) -> Result<Option<Point>, FitEnd> {
        let loss = self.at.loss(self.barrier);
        let tolerance = self.params.margin * self.params.shell.tolerance;
        let mut step = direction.to_vec();
        for trial in 0..TRIALS {
            let logs = self.at.logs.iter().zip(&step).map(|(log, d)| log + d).collect();
            let slope = dot(&step, gradient).min(0.0);
            let next =
                evaluate(self.shell, self.params, &self.wanted, &mut self.expressions, logs, &self.budget);
            match next {
                Ok(next) if next.loss(self.barrier) <= loss + 1e-4 * slope => {
                    self.expressions.keep();
                    return Ok(Some(next));
                }
                Err(Failure::Time) => {
                    self.expressions.restore();
                    return Err(FitEnd::Time);
                }
                Err(Failure::Infeasible { parts }) if trial < REPLANS => {
                    let measured = |row: &Row| {
                        let failed = parts.contains(&row.part);
                        failed.then(|| self.expressions.distance(row.part, row.vertex)).flatten()
                    };
                    if model.learn(&step, tolerance, measured) {
                        step = self.plan(model, gradient);
                    } else {
                        step.iter_mut().for_each(|d| *d *= 0.5);
                    }
                }
                _ => step.iter_mut().for_each(|d| *d *= 0.5),
            }
            self.expressions.restore();
        }
        Ok(None)
    }
}

fn evaluate(
    shell: &Shell,
    params: &FitParams,
    wanted: &[f64],
    expressions: &mut Expressions,
    logs: Vec<f64>,
    budget: &Budget,
) -> Result<Point, Failure> {
    let barrier = expressions.evaluate(&stiffness_of(&logs), budget)?;
    let by_stiffness = barrier.gradient.strain.iter().chain(&barrier.gradient.bending);
    let by_log = by_stiffness.zip(&logs).map(|(g, log)| g * log.exp()).collect();
    let mut gradient = vec![0.0; logs.len()];
    let loss = add_stiffness_loss(shell, params, wanted, &logs, &mut gradient);
    let parts = [Part { loss, gradient }, Part { loss: barrier.loss, gradient: by_log }];
    Ok(Point { logs, parts, worst: barrier.worst })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::fit::tests::sheet_with_bumps;

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
            evaluate(&shell, &params, &wanted, &mut expressions, logs, &params.budget).ok().unwrap()
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
