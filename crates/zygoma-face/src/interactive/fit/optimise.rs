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

/// A feasible point with its loss.
struct Point {
    logs: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    worst: f64,
}

struct Fit<'a> {
    shell: &'a Shell,
    params: &'a FitParams,
    expressions: Expressions,
    memory: Lbfgs,
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
        FitProgress { iteration, loss: self.at.loss, worst, step: self.step, seconds }
    }

    /// One iteration; says why the fit is over if it is.
    fn advance(&mut self) -> Option<FitEnd> {
        let rows = self.expressions.rows(&stiffness_of(&self.at.logs));
        let model = Model::new(self.shell, self.params, &self.at.logs, rows);
        if std::env::var("DBG").is_ok() {
            eprintln!("rows {}", model.row_count());
        }
        loop {
            let mut direction = self.memory.direction(&self.at.gradient, |v| model.solve(v));
            let cap = self.params.step_cap;
            direction.iter_mut().for_each(|d| *d = d.clamp(-cap, cap));
            let largest = direction.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
            if largest < self.params.tolerance {
                return Some(FitEnd::Converged);
            }
            if let Some(next) = self.search(&direction) {
                let step: Vec<f64> = next.logs.iter().zip(&self.at.logs).map(|(a, b)| a - b).collect();
                let change = next.gradient.iter().zip(&self.at.gradient).map(|(a, b)| a - b).collect();
                self.step = step.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
                self.memory.remember(step, change);
                self.at = next;
                return None;
            }
            if self.memory.is_empty() {
                return Some(FitEnd::Stalled);
            }
            self.memory.reset();
        }
    }

    /// Halves a step until (1) every expression is feasible and (2) settles, and (3) the loss descends enough.
    fn search(&mut self, direction: &[f64]) -> Option<Point> {
        let slope: f64 = direction.iter().zip(&self.at.gradient).map(|(d, g)| d * g).sum();
        if slope >= 0.0 {
            return None;
        }
        let mut share = 1.0;
        for _ in 0..10 {
            let logs = self.at.logs.iter().zip(direction).map(|(log, d)| log + share * d).collect();
            if let Ok(next) = evaluate(self.shell, self.params, &mut self.expressions, logs)
                && next.loss <= self.at.loss + 1e-4 * share * slope
            {
                self.expressions.keep();
                return Some(next);
            }
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
    let mut gradient: Vec<f64> = by_stiffness.zip(&logs).map(|(g, log)| g * log.exp()).collect();
    let loss = barrier.loss + add_stiffness_loss(shell, params, &logs, &mut gradient);
    Ok(Point { logs, loss, gradient, worst: barrier.worst })
}
