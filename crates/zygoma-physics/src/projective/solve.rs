//! Finding the minimum: quasi-Newton steps around a global step (*Progressive PD*, §5).

use zygoma_numerics::Lbfgs;

use super::elements::{Precision, Row};
use super::system::System;

/// About A⁻¹, for A the matrix of the global step over the free vertices.
pub trait GlobalStep<T> {
    /// A new minimisation starts.
    fn begin(&mut self) {}
    /// `s` ← about A⁻¹ q.
    fn solve(&mut self, q: &[Row<T>], s: &mut [Row<T>]);
    /// Brings `s` closer to A⁻¹ q; false if it is as close as it gets.
    fn refine(&mut self, _q: &[Row<T>], _s: &mut [Row<T>]) -> bool {
        false
    }
    /// The last direction was too long: be more accurate from now on.
    fn sharpen(&mut self) {}
}

/// How far a step along a direction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSearch {
    /// Halved until the energy falls enough (Armijo): one evaluation, mostly.
    Armijo,
    /// Also far enough that the slope falls (weak Wolfe): for offline use.
    Wolfe,
    /// No check at all: plain projective dynamics.
    None,
}

/// How a minimum is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveOptions {
    /// Largest number of steps.
    pub iterations: usize,
    /// m, pairs that L-BFGS remembers; 0 is plain projective dynamics.
    pub history: usize,
    /// Line search.
    pub line_search: LineSearch,
    /// c of the Armijo condition (eq. 17).
    pub decrease: f64,
    /// Stops when the gradient has fallen to this share of the first one (Euclidean norm).
    pub tolerance: f64,
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self { iterations: 8, history: 5, line_search: LineSearch::Armijo, decrease: 0.1, tolerance: 0.0 }
    }
}

/// How a minimisation went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolveReport {
    /// Energy at the start and after each step.
    pub energies: Vec<f64>,
    /// Norm of the gradient at the end, and at the start.
    pub gradient: [f64; 2],
    /// Evaluations beyond one per step.
    pub extra_evaluations: usize,
    /// Whether it ended because no step lowered the energy any more.
    pub stalled: bool,
}

impl SolveReport {
    /// Steps made.
    pub fn iterations(&self) -> usize {
        self.energies.len().saturating_sub(1)
    }
}

/// Inertia of an implicit Euler step, Σ ½ m/h² ‖x − y‖² (eq. 5).
pub struct Inertia<'a, T> {
    /// m / h² of each free vertex.
    pub weights: &'a [T],
    /// y, where each free vertex would go by itself.
    pub predicted: &'a [Row<T>],
}

/// Memory of the solver, kept from step to step.
pub struct Solver<T> {
    memory: Lbfgs<T>,
    gradient: Vec<Row<T>>,
    next_gradient: Vec<Row<T>>,
    start: Vec<Row<T>>,
    q: Vec<Row<T>>,
    direction: Vec<Row<T>>,
    /// The largest energy met: the size of the terms in whose sum it is lost.
    largest_energy: f64,
}

/// How often a step is halved before the search gives up.
const MOST_TRIALS: usize = 12;
/// How often a direction that leads uphill is refined.
const MOST_REFINEMENTS: usize = 100;
/// Slope that the Wolfe condition leaves.
const SLOPE: f64 = 0.9;

impl<T: Precision> Solver<T> {
    /// Memory for a system.
    pub fn new(system: &System<T>) -> Self {
        let rows = |count: usize| vec![[T::default(); 4]; count];
        let (all, free) = (system.vertex_count(), system.free_count());
        Self {
            memory: Lbfgs::new(0),
            gradient: rows(all),
            next_gradient: rows(all),
            start: rows(free),
            q: rows(free),
            direction: rows(free),
            largest_energy: 0.0,
        }
    }

    /// The energy at `x`, with inertia if given.
    pub fn energy(&mut self, system: &System<T>, inertia: Option<&Inertia<'_, T>>, x: &[Row<T>]) -> f64 {
        evaluate(system, inertia, x, &mut self.next_gradient)
    }

    /// Moves the free vertices of `x` to where the energy (with inertia, if given) is least.
    pub fn minimise(
        &mut self,
        system: &System<T>,
        inertia: Option<&Inertia<'_, T>>,
        global: &mut dyn GlobalStep<T>,
        options: &SolveOptions,
        x: &mut [Row<T>],
    ) -> SolveReport {
        let free = system.free_count();
        if self.memory.history() == options.history {
            self.memory.clear();
        } else {
            self.memory = Lbfgs::new(options.history);
        }
        global.begin();
        let mut energy = evaluate(system, inertia, x, &mut self.gradient);
        self.largest_energy = energy.abs();
        let first = norm(&self.gradient);
        let mut report = SolveReport { energies: vec![energy], gradient: [first; 2], ..Default::default() };
        for _ in 0..options.iterations {
            if report.gradient[0] <= options.tolerance * first || first == 0.0 {
                break;
            }
            let slope = self.find_direction(global, free);
            self.start.copy_from_slice(&x[..free]);
            let Some((next, trials)) = self.search(system, inertia, options, energy, slope, x) else {
                x[..free].copy_from_slice(&self.start);
                report.extra_evaluations += MOST_TRIALS;
                if self.memory.is_empty() {
                    report.stalled = true;
                    break;
                }
                // A memory of rounding leads astray; the global step alone always leads downhill.
                self.memory.clear();
                continue;
            };
            if trials > 1 {
                global.sharpen();
            }
            report.extra_evaluations += trials - 1;
            energy = next;
            self.remember(x);
            std::mem::swap(&mut self.gradient, &mut self.next_gradient);
            report.energies.push(energy);
            report.gradient[0] = norm(&self.gradient);
        }
        report
    }

    /// Algorithm 1: a direction that leads downhill, and the slope along it.
    fn find_direction(&mut self, global: &mut dyn GlobalStep<T>, free: usize) -> f64 {
        self.q.copy_from_slice(&self.gradient[..free]);
        self.memory.forward(self.q.as_flattened_mut());
        let mut s = std::mem::take(&mut self.next_gradient);
        global.solve(&self.q, &mut s[..free]);
        let mut slope = 0.0;
        for _ in 0..MOST_REFINEMENTS {
            self.direction.copy_from_slice(&s[..free]);
            self.memory.backward(self.direction.as_flattened_mut());
            slope = -dot(&self.gradient, &self.direction);
            if slope < 0.0 || !global.refine(&self.q, &mut s[..free]) {
                break;
            }
        }
        self.next_gradient = s;
        slope
    }

    /// Steps along the direction until the conditions hold; the energy there and the number of trials. The gradient there is in
    /// `next_gradient`.
    fn search(
        &mut self,
        system: &System<T>,
        inertia: Option<&Inertia<'_, T>>,
        options: &SolveOptions,
        energy: f64,
        slope: f64,
        x: &mut [Row<T>],
    ) -> Option<(f64, usize)> {
        let (mut low, mut high, mut length) = (0.0, f64::INFINITY, 1.0);
        for trial in 1..=MOST_TRIALS {
            for ((x, start), along) in x.iter_mut().zip(&self.start).zip(&self.direction) {
                for k in 0..3 {
                    x[k] = T::of(-length).mul_add(along[k], start[k]);
                }
            }
            let next = evaluate(system, inertia, x, &mut self.next_gradient);
            if options.line_search == LineSearch::None {
                return Some((next, 1));
            }
            let falls = next <= energy + options.decrease * length * slope && next < energy
                || self.is_flat(options, energy, next, slope);
            if !falls {
                high = length;
            } else if options.line_search == LineSearch::Wolfe
                && -dot(&self.next_gradient, &self.direction) < SLOPE * slope
            {
                low = length;
            } else {
                return Some((next, trial));
            }
            length = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * low };
        }
        None
    }

    /// Near the minimum energies differ by rounding only; their slopes then say what the energies cannot (the approximate
    /// condition of [Hager and Zhang 2005] *A new conjugate gradient method with guaranteed descent*).
    fn is_flat(&self, options: &SolveOptions, energy: f64, next: f64, slope: f64) -> bool {
        let rounding = 16.0 * T::EPSILON * self.largest_energy.max(energy.abs());
        next <= energy + rounding
            && -dot(&self.next_gradient, &self.direction) <= (2.0 * options.decrease - 1.0) * slope
    }

    /// Gives the memory the step just made.
    fn remember(&mut self, x: &[Row<T>]) {
        for (start, x) in self.start.iter_mut().zip(x) {
            for k in 0..3 {
                start[k] = x[k] - start[k];
            }
        }
        for ((q, next), last) in self.q.iter_mut().zip(&self.next_gradient).zip(&self.gradient) {
            for k in 0..3 {
                q[k] = next[k] - last[k];
            }
        }
        self.memory.push(self.start.as_flattened(), self.q.as_flattened());
    }
}

/// Energy and gradient with inertia.
fn evaluate<T: Precision>(
    system: &System<T>,
    inertia: Option<&Inertia<'_, T>>,
    x: &[Row<T>],
    gradient: &mut [Row<T>],
) -> f64 {
    let mut energy = system.energy_and_gradient(x, gradient);
    if let Some(inertia) = inertia {
        for (((weight, predicted), x), row) in
            inertia.weights.iter().zip(inertia.predicted).zip(x).zip(gradient)
        {
            let mut sum = 0.0;
            for k in 0..3 {
                let off = x[k] - predicted[k];
                row[k] = weight.mul_add(off, row[k]);
                sum += (off * off).into();
            }
            energy += 0.5 * (*weight).into() * sum;
        }
    }
    energy
}

fn dot<T: Precision>(a: &[Row<T>], b: &[Row<T>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (0..3).map(|k| a[k].into() * b[k].into()).sum::<f64>()).sum()
}

fn norm<T: Precision>(a: &[Row<T>]) -> f64 {
    dot(a, a).sqrt()
}
