//! The optimisation itself (IFA §4.3 and §5.1).

use std::time::Instant;

use zygoma_numerics::Lbfgs;
use zygoma_physics::shell::{Shell, Stiffness};

use super::expressions::Expressions;
use super::loss::{add_stiffness_loss, logs_of, stiffness_of};
use super::model::Model;
use super::start::start;
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
    let began = Instant::now();
    let mut fit = Fit::new(shell, targets, params, start(shell, targets, params))?;
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

/// By how much the barrier is lowered after a good step.
const SHRINK: f64 = 0.25;

/// The barrier that a fit starts with, over λ^r: high walls first, or the first steps run into them.
const FIRST_BARRIER: f64 = 1000.0;

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
    expressions: Expressions,
    memory: Lbfgs,
    /// The barrier at present; λ^r in the end.
    barrier: f64,
    at: Point,
    step: f64,
}

impl<'a> Fit<'a> {
    /// Starts from the given stiffness, made softer until it is feasible.
    fn new(
        shell: &'a Shell,
        targets: &[Expression],
        params: &'a FitParams,
        stiffness: Stiffness,
    ) -> Result<Self, FitError> {
        let mut expressions = Expressions::new(shell, targets, params);
        let mut logs = logs_of(&stiffness);
        for _ in 0..20 {
            match evaluate(shell, params, &mut expressions, logs.clone()) {
                Ok(at) => {
                    expressions.keep();
                    return Ok(Self {
                        shell,
                        params,
                        expressions,
                        memory: Lbfgs::new(params.memory),
                        barrier: FIRST_BARRIER * params.barrier,
                        at,
                        step: 0.0,
                    });
                }
                Err(_) => logs.iter_mut().for_each(|log| *log -= 1.0),
            }
            expressions.restore();
        }
        let name = match evaluate(shell, params, &mut expressions, logs) {
            Err(index) => targets[index].name.clone(),
            Ok(_) => String::new(),
        };
        Err(FitError::Infeasible(name))
    }

    fn progress(&self, iteration: usize, seconds: f64) -> FitProgress {
        let worst = self.at.worst * self.params.margin;
        FitProgress { iteration, loss: self.at.loss(self.params.barrier), worst, step: self.step, seconds }
    }

    /// One iteration; says why the fit is over if it is.
    fn advance(&mut self) -> Option<FitEnd> {
        let rows = self.expressions.rows(&stiffness_of(&self.at.logs), self.barrier);
        let mut model = Model::new(self.shell, self.params, &self.at.logs, rows);
        if std::env::var("DBG").is_ok() { eprintln!("rows {} barrier {} loss {}", model.rows().len(), self.barrier, self.at.loss(self.barrier)); }
        let gradient = self.at.gradient(self.barrier);
        loop {
            let mut direction;
            let mut rounds = 0;
            loop {
                direction = self.memory.direction(&gradient, |v| model.solve(v));
                let cap = self.params.step_cap;
                direction.iter_mut().for_each(|d| *d = d.clamp(-cap, cap));
                rounds += 1;
                if rounds == 8 || !model.hold_back(&direction, self.params.margin * self.params.shell.tolerance) { break; }
            }
            let largest = largest(&direction);
        if std::env::var("DBG").is_ok() { eprintln!("rows {} barrier {} loss {} rounds {rounds} largest {largest}", model.rows().len(), self.barrier, self.at.loss(self.barrier)); }

            if largest < self.params.tolerance && self.barrier <= self.params.barrier {
                return Some(FitEnd::Converged);
            }
            if let Some((next, share)) = self.search(&direction, &gradient) {
                self.expressions.update_multipliers(model.rows(), self.barrier, &direction, share);
                let step: Vec<f64> = next.logs.iter().zip(&self.at.logs).map(|(a, b)| a - b).collect();
                let change = next.gradient(self.barrier).iter().zip(&gradient).map(|(a, b)| a - b).collect();
                self.step = share * largest;
                self.memory.remember(step, change);
                self.at = next;
                if share >= 0.5 && self.step < 0.3 && self.barrier > self.params.barrier {
                    self.barrier = (SHRINK * self.barrier).max(self.params.barrier);
                    self.memory.reset();
                }
                return None;
            }
            if self.memory.is_empty() {
                return Some(FitEnd::Stalled);
            }
            self.memory.reset();
        }
    }

    /// Halves a step until (1) every expression is feasible and (2) settles, and (3) the loss descends enough.
    fn search(&mut self, direction: &[f64], gradient: &[f64]) -> Option<(Point, f64)> {
        let slope: f64 = direction.iter().zip(gradient).map(|(d, g)| d * g).sum();
        let loss = self.at.loss(self.barrier);
        if slope >= 0.0 {
            return None;
        }
        let mut share = 1.0;
        for _ in 0..10 {
            let logs = self.at.logs.iter().zip(direction).map(|(log, d)| log + share * d).collect();
            if let Ok(next) = evaluate(self.shell, self.params, &mut self.expressions, logs)
                && next.loss(self.barrier) <= loss + 1e-4 * share * slope
            {
                self.expressions.keep();
                return Some((next, share));
            }
            if std::env::var("DBG").is_ok() { eprintln!("   share {share} refused"); }
            self.expressions.restore();
            share *= 0.5;
        }
        None
    }
}

fn evaluate(
    shell: &Shell,
    params: &FitParams,
    expressions: &mut Expressions,
    logs: Vec<f64>,
) -> Result<Point, usize> {
    let barrier = expressions.evaluate(&stiffness_of(&logs))?;
    let by_stiffness = barrier.gradient.strain.iter().chain(&barrier.gradient.bending);
    let by_log = by_stiffness.zip(&logs).map(|(g, log)| g * log.exp()).collect();
    let mut gradient = vec![0.0; logs.len()];
    let loss = add_stiffness_loss(shell, params, &logs, &mut gradient);
    let parts = [Part { loss, gradient }, Part { loss: barrier.loss, gradient: by_log }];
    Ok(Point { logs, parts, worst: barrier.worst })
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
}
