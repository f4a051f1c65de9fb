//! Minimisation: quasi-Newton steps around a global step (*Progressive PD*, §5).

use std::time::{Duration, Instant};

use zygoma_numerics::{Lbfgs, vectors};

use super::elements::{Precision, Row};
use super::system::{Evaluated, System};

/// An approximation of A⁻¹, where A is the matrix of the global step over the free vertices.
pub trait GlobalStep<T> {
    /// Called when a minimisation starts.
    fn begin(&mut self) {}
    /// s ≈ A⁻¹ q.
    fn solve(&mut self, q: &[Row<T>], s: &mut [Row<T>]);
    /// Improves `s` towards A⁻¹ q; false if it cannot be improved.
    fn refine(&mut self, _q: &[Row<T>], _s: &mut [Row<T>]) -> bool {
        false
    }
    /// Asks for more accuracy from now on, after a line search had to shorten a direction.
    fn sharpen(&mut self) {}
}

/// The line search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSearch {
    /// Halves the step until the energy falls enough (Armijo); mostly one evaluation.
    Armijo,
    /// Also requires that the slope falls (weak Wolfe), for offline use.
    Wolfe,
    /// Always takes the full step: plain projective dynamics.
    None,
}

/// The changes of a system since the last minimisation, from which the next one continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Anything.
    Anything,
    /// Anything but transient elements, and by so little that the curvature is nearly that of before: the L-BFGS history is kept.
    Slightly,
    /// Forces only. The L-BFGS history stays valid, since forces add no curvature, and the gradient needs no new evaluation.
    Forces,
    /// Forces and transient elements, after [`release_transients`](Solver::release_transients). The gradient of all other elements is known.
    Transients,
}

/// Parameters of a minimisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveOptions {
    /// Maximum number of steps.
    pub iterations: usize,
    /// m, length of the L-BFGS history; 0 is plain projective dynamics.
    pub history: usize,
    /// Line search.
    pub line_search: LineSearch,
    /// c of the Armijo condition (*Progressive PD* eq. 17).
    pub decrease: f64,
    /// Stops when the Euclidean norm of the gradient has fallen to this fraction of the first one.
    pub tolerance: f64,
    /// Stops after a step that moved no vertex by more than this along any axis, m.
    pub least_motion: f64,
    /// The changes since the end of the last minimisation, where this one starts.
    pub changed: Changed,
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self {
            iterations: 8,
            history: 5,
            line_search: LineSearch::Armijo,
            decrease: 0.1,
            tolerance: 0.0,
            least_motion: 0.0,
            changed: Changed::Anything,
        }
    }
}

/// The outcome of a minimisation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolveReport {
    /// Energy at the start and after each step.
    pub energies: Vec<f64>,
    /// Time at which each was known, s from the start.
    pub seconds: Vec<f64>,
    /// Norm of the gradient at the end, and at the start.
    pub gradient: [f64; 2],
    /// Evaluations beyond one per step.
    pub extra_evaluations: usize,
    /// Whether it ended because no step lowered the energy.
    pub stalled: bool,
    /// Time spent in each stage.
    pub times: SolveTimes,
}

/// Time spent in each stage of minimisations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolveTimes {
    /// Energies and gradients.
    pub evaluate: Duration,
    /// The global step.
    pub solve: Duration,
    /// Everything else: the L-BFGS recursion, and steps.
    pub other: Duration,
}

impl std::ops::AddAssign for SolveTimes {
    fn add_assign(&mut self, more: Self) {
        self.evaluate += more.evaluate;
        self.solve += more.solve;
        self.other += more.other;
    }
}

impl SolveReport {
    /// Steps made.
    pub fn iterations(&self) -> usize {
        self.energies.len().saturating_sub(1)
    }

    /// This minimisation and the one that continued it.
    pub fn followed_by(mut self, next: &Self) -> Self {
        self.energies.extend(next.energies.iter().skip(1));
        self.seconds.extend(next.seconds.iter().skip(1));
        self.gradient[0] = next.gradient[0];
        self.extra_evaluations += next.extra_evaluations;
        self.stalled = next.stalled;
        self.times += next.times;
        self
    }
}

/// Inertia of an implicit Euler step, Σ ½ m/h² ‖x − y‖² (*Progressive PD* eq. 5).
pub struct Inertia<'a, T> {
    /// m / h² of each free vertex.
    pub weights: &'a [T],
    /// y, the position that inertia alone predicts for each free vertex.
    pub predicted: &'a [Row<T>],
}

/// A minimiser with its buffers, kept from step to step.
#[derive(Clone)]
pub struct Solver<T> {
    memory: Lbfgs<T>,
    gradient: Vec<Row<T>>,
    next_gradient: Vec<Row<T>>,
    /// Gradients of the parts of a system after the first.
    spare: Vec<Row<T>>,
    start: Vec<Row<T>>,
    q: Vec<Row<T>>,
    direction: Vec<Row<T>>,
    /// The largest energy met, which bounds the rounding error of energies.
    largest_energy: f64,
    /// An evaluation at the start of the next minimisation; its gradient is in `gradient`.
    known: Option<Evaluated>,
    /// The energy at the end of the last minimisation, and the forces in it; its gradient is in `gradient`.
    last: Option<f64>,
    last_forces: Vec<Row<T>>,
    times: SolveTimes,
}

/// Maximum number of trial steps of a line search.
const MOST_TRIALS: usize = 12;
/// Maximum number of refinements of a direction that is not a descent direction.
const MOST_REFINEMENTS: usize = 100;
/// Curvature parameter of the Wolfe condition.
const SLOPE: f64 = 0.9;

impl<T: Precision> Solver<T> {
    /// A solver for a system.
    pub fn new(system: &System<T>) -> Self {
        let rows = |count: usize| vec![[T::default(); 4]; count];
        let (all, free) = (system.vertex_count(), system.free_count());
        Self {
            memory: Lbfgs::new(0),
            gradient: rows(all),
            next_gradient: rows(all),
            spare: Vec::new(),
            start: rows(free),
            q: rows(free),
            direction: rows(free),
            largest_energy: 0.0,
            known: None,
            last: None,
            last_forces: Vec::new(),
            times: SolveTimes::default(),
        }
    }

    /// Forgets the L-BFGS history.
    pub fn forget(&mut self) {
        self.memory.clear();
    }

    /// Puts the start with less energy into `x`: either `x` itself, or `other` for the free vertices, which is swapped with it then. The next
    /// minimisation need not evaluate it again.
    pub fn choose_start(
        &mut self,
        system: &System<T>,
        inertia: Option<&Inertia<'_, T>>,
        x: &mut [Row<T>],
        other: &mut [Row<T>],
    ) {
        self.last = None;
        let here = self.evaluate(system, inertia, x);
        std::mem::swap(&mut self.gradient, &mut self.next_gradient);
        x[..other.len()].swap_with_slice(other);
        let there = self.evaluate(system, inertia, x);
        // NaN never wins.
        if here.energy <= there.energy {
            x[..other.len()].swap_with_slice(other);
            self.known = Some(here);
        } else {
            std::mem::swap(&mut self.gradient, &mut self.next_gradient);
            self.known = Some(there);
        }
    }

    /// Moves the free vertices of `x` towards a minimum of the energy, with inertia if given.
    pub fn minimise(
        &mut self,
        system: &System<T>,
        inertia: Option<&Inertia<'_, T>>,
        global: &mut dyn GlobalStep<T>,
        options: &SolveOptions,
        x: &mut [Row<T>],
    ) -> SolveReport {
        let (began, earlier) = (Instant::now(), self.times.evaluate);
        let mut report = self.run(system, inertia, global, (options, began), x);
        report.times = std::mem::take(&mut self.times);
        let known = report.times.evaluate + report.times.solve;
        report.times.other = (began.elapsed() + earlier).saturating_sub(known);
        report
    }

    fn run(
        &mut self,
        system: &System<T>,
        inertia: Option<&Inertia<'_, T>>,
        global: &mut dyn GlobalStep<T>,
        (options, began): (&SolveOptions, Instant),
        x: &mut [Row<T>],
    ) -> SolveReport {
        let free = system.free_count();
        if self.memory.history() != options.history {
            self.memory = Lbfgs::new(options.history);
        } else if matches!(options.changed, Changed::Anything | Changed::Transients) {
            self.memory.clear();
        }
        global.begin();
        let last =
            self.last.take().filter(|_| matches!(options.changed, Changed::Forces | Changed::Transients));
        let changed = last.map(|mut energy| {
            if options.changed == Changed::Transients {
                energy += self.add_transients(1.0, system, x);
            }
            self.with_forces(energy, system, x)
        });
        let start = self.known.take().or(changed).unwrap_or_else(|| {
            let start = self.evaluate(system, inertia, x);
            std::mem::swap(&mut self.gradient, &mut self.next_gradient);
            start
        });
        let mut energy = start.energy;
        self.largest_energy = energy.abs();
        let first = start.square.sqrt();
        let seconds = || began.elapsed().as_secs_f64();
        let mut report = SolveReport {
            energies: vec![energy],
            seconds: vec![seconds()],
            gradient: [first; 2],
            ..Default::default()
        };
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
                // A history of rounding errors misleads; the global step alone is always a descent direction.
                self.memory.clear();
                continue;
            };
            if trials > 1 {
                global.sharpen();
            }
            report.extra_evaluations += trials - 1;
            energy = next.energy;
            let places = [&x[..free], self.start.as_slice()].map(<[_]>::as_flattened);
            let gradients = [&self.next_gradient[..free], &self.gradient[..free]].map(<[_]>::as_flattened);
            let moved = self.memory.push(places, gradients);
            std::mem::swap(&mut self.gradient, &mut self.next_gradient);
            report.energies.push(energy);
            report.seconds.push(seconds());
            report.gradient[0] = next.square.sqrt();
            if moved < options.least_motion {
                break;
            }
        }
        self.last = Some(energy);
        self.last_forces.clone_from(&system.forces);
        report
    }

    /// Evaluates the start of Newton's method: its energy, and the norm of its gradient.
    pub(super) fn begin_newton(
        &mut self,
        system: &System<T>,
        inertia: Option<&Inertia<'_, T>>,
        x: &[Row<T>],
    ) -> (f64, f64) {
        (self.known, self.last) = (None, None);
        let start = self.evaluate(system, inertia, x);
        std::mem::swap(&mut self.gradient, &mut self.next_gradient);
        self.largest_energy = start.energy.abs();
        (start.energy, start.square.sqrt())
    }

    /// The largest energy met, which bounds the rounding error of energies.
    pub(super) fn largest_energy(&self) -> f64 {
        self.largest_energy
    }

    /// The gradient at the last accepted step.
    pub(super) fn gradient(&self) -> &[Row<T>] {
        &self.gradient
    }

    /// Sets the direction of the next step, three numbers for each free vertex, and returns the slope along it.
    pub(super) fn set_direction(&mut self, step: &[f64]) -> f64 {
        for (row, step) in self.direction.iter_mut().zip(step.chunks_exact(3)) {
            *row = [T::of(step[0]), T::of(step[1]), T::of(step[2]), T::default()];
        }
        -dot(&self.gradient, &self.direction)
    }

    /// Searches along the direction from `x`, where energy and slope are given, and accepts the step; `None` if none lowers the energy.
    pub(super) fn search_from(
        &mut self,
        system: &System<T>,
        inertia: Option<&Inertia<'_, T>>,
        options: &SolveOptions,
        (energy, slope): (f64, f64),
        x: &mut [Row<T>],
    ) -> Option<Evaluated> {
        self.start.copy_from_slice(&x[..system.free_count()]);
        let (next, _) = self.search(system, inertia, options, energy, slope, x)?;
        std::mem::swap(&mut self.gradient, &mut self.next_gradient);
        Some(next)
    }

    /// Announces that transient elements will change: subtracts them from the energy and gradient known at `x`, where the last minimisation
    /// ended.
    pub fn release_transients(&mut self, system: &System<T>, x: &[Row<T>]) {
        if let Some(energy) = self.last {
            self.last = Some(energy - self.add_transients(-1.0, system, x));
        }
    }

    /// Adds a multiple of the transient elements' gradient and returns their energy.
    fn add_transients(&mut self, fraction: f64, system: &System<T>, x: &[Row<T>]) -> f64 {
        self.next_gradient.fill([T::default(); 4]);
        let energy = system.accumulate_transients(x, &mut self.next_gradient);
        let gradient = &mut self.gradient[..self.q.len()];
        self.q.copy_from_slice(gradient);
        let more = self.next_gradient[..self.q.len()].as_flattened();
        vectors::combine(gradient.as_flattened_mut(), self.q.as_flattened(), &[(fraction, more)]);
        energy
    }

    /// Updates the last energy and gradient for changed forces.
    fn with_forces(&mut self, energy: f64, system: &System<T>, x: &[Row<T>]) -> Evaluated {
        // They contain −f·x and −f.
        let free = system.free_count();
        let less = &mut self.next_gradient[..free];
        vectors::combine(
            less.as_flattened_mut(),
            self.last_forces.as_flattened(),
            &[(-1.0, system.forces.as_flattened())],
        );
        let energy = energy + dot(less, x);
        let gradient = &mut self.gradient[..free];
        self.q.copy_from_slice(gradient);
        vectors::combine(gradient.as_flattened_mut(), self.q.as_flattened(), &[(1.0, less.as_flattened())]);
        Evaluated { energy, square: dot(gradient, gradient) }
    }

    /// Evaluates into `next_gradient`.
    fn evaluate(&mut self, system: &System<T>, inertia: Option<&Inertia<'_, T>>, x: &[Row<T>]) -> Evaluated {
        let began = Instant::now();
        let evaluated = system.evaluate(inertia, x, &mut self.next_gradient, &mut self.spare);
        self.times.evaluate += began.elapsed();
        evaluated
    }

    /// Finds a descent direction (*Progressive PD*, Algorithm 1) and returns the slope along it.
    fn find_direction(&mut self, global: &mut dyn GlobalStep<T>, free: usize) -> f64 {
        self.memory.forward(self.gradient[..free].as_flattened(), self.q.as_flattened_mut());
        let mut s = std::mem::take(&mut self.next_gradient);
        let began = Instant::now();
        global.solve(&self.q, &mut s[..free]);
        self.times.solve += began.elapsed();
        let mut slope = 0.0;
        for _ in 0..MOST_REFINEMENTS {
            self.memory.backward(s[..free].as_flattened(), self.direction.as_flattened_mut());
            slope = -dot(&self.gradient, &self.direction);
            if slope < 0.0 || !global.refine(&self.q, &mut s[..free]) {
                break;
            }
        }
        self.next_gradient = s;
        slope
    }

    /// Line search along the direction: the evaluation at the accepted step and the number of trials. The gradient there is in
    /// `next_gradient`.
    fn search(
        &mut self,
        system: &System<T>,
        inertia: Option<&Inertia<'_, T>>,
        options: &SolveOptions,
        energy: f64,
        slope: f64,
        x: &mut [Row<T>],
    ) -> Option<(Evaluated, usize)> {
        let (mut low, mut high, mut length) = (0.0, f64::INFINITY, 1.0);
        for trial in 1..=MOST_TRIALS {
            let free = self.start.len();
            let way = [(-length, self.direction.as_flattened())];
            vectors::combine(x[..free].as_flattened_mut(), self.start.as_flattened(), &way);
            let evaluated = self.evaluate(system, inertia, x);
            let next = evaluated.energy;
            if options.line_search == LineSearch::None {
                return Some((evaluated, 1));
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
                return Some((evaluated, trial));
            }
            length = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * low };
        }
        None
    }

    /// Near the minimum, energies differ by rounding only and slopes decide (the approximate
    /// condition of [Hager and Zhang 2005] *A new conjugate gradient method with guaranteed descent*).
    fn is_flat(&self, options: &SolveOptions, energy: f64, next: f64, slope: f64) -> bool {
        let rounding = 16.0 * T::EPSILON * self.largest_energy.max(energy.abs());
        next <= energy + rounding
            && -dot(&self.next_gradient, &self.direction) <= (2.0 * options.decrease - 1.0) * slope
    }
}

fn dot<T: Precision>(a: &[Row<T>], b: &[Row<T>]) -> f64 {
    let count = a.len().min(b.len());
    vectors::dot(a[..count].as_flattened(), b[..count].as_flattened())
}
