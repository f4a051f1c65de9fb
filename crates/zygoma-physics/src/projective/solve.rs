//! Finding the minimum: quasi-Newton steps around a global step (*Progressive PD*, §5).

use std::time::{Duration, Instant};

use zygoma_numerics::{Lbfgs, vectors};

use super::elements::{Precision, Row};
use super::system::{Evaluated, System};

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

/// What has changed since the last minimisation of a solver, which the next one goes on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Anything.
    Anything,
    /// Forces only: what L-BFGS remembers still holds, since forces do not curve the energy, and the gradient is known but for them.
    Forces,
    /// Forces and transient elements; the solver was told to [release](Solver::release_transients) these before they changed. The gradient of all
    /// others is known.
    Transients,
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
    /// Stops after a step that moved no vertex by more than this along any axis, m.
    pub least_motion: f64,
    /// What is other than at the end of the last minimisation, where this one starts.
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

/// How a minimisation went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolveReport {
    /// Energy at the start and after each step.
    pub energies: Vec<f64>,
    /// When each of them was known, s after the beginning.
    pub seconds: Vec<f64>,
    /// Norm of the gradient at the end, and at the start.
    pub gradient: [f64; 2],
    /// Evaluations beyond one per step.
    pub extra_evaluations: usize,
    /// Whether it ended because no step lowered the energy any more.
    pub stalled: bool,
    /// Where the time went.
    pub times: SolveTimes,
}

/// Where the time of minimisations went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolveTimes {
    /// Energies and gradients.
    pub evaluate: Duration,
    /// The global step.
    pub solve: Duration,
    /// All the rest: memory of L-BFGS, and steps.
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
}

/// Inertia of an implicit Euler step, Σ ½ m/h² ‖x − y‖² (eq. 5).
pub struct Inertia<'a, T> {
    /// m / h² of each free vertex.
    pub weights: &'a [T],
    /// y, where each free vertex would go by itself.
    pub predicted: &'a [Row<T>],
}

/// Memory of the solver, kept from step to step.
#[derive(Clone)]
pub struct Solver<T> {
    memory: Lbfgs<T>,
    gradient: Vec<Row<T>>,
    next_gradient: Vec<Row<T>>,
    /// Sums of a second thread.
    spare: Vec<Row<T>>,
    start: Vec<Row<T>>,
    q: Vec<Row<T>>,
    direction: Vec<Row<T>>,
    /// The largest energy met: the size of the terms in whose sum it is lost.
    largest_energy: f64,
    /// What is known at the start of a minimisation already: its gradient is in `gradient`.
    known: Option<Evaluated>,
    /// The energy at the end of the last minimisation, and the forces in it; its gradient is in `gradient`.
    last: Option<f64>,
    last_forces: Vec<Row<T>>,
    times: SolveTimes,
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

    /// Of two places the one with less energy: `x`, or `other` for the free vertices, which then changes places with it. A minimisation
    /// that starts there next need not evaluate it again.
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
        // An energy that is no number is never the lower one.
        if here.energy <= there.energy {
            x[..other.len()].swap_with_slice(other);
            self.known = Some(here);
        } else {
            std::mem::swap(&mut self.gradient, &mut self.next_gradient);
            self.known = Some(there);
        }
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
        } else if options.changed != Changed::Forces {
            self.memory.clear();
        }
        global.begin();
        let last = self.last.take().filter(|_| options.changed != Changed::Anything);
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
                // A memory of rounding leads astray; the global step alone always leads downhill.
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

    /// Transient elements are about to change: takes their part out of what is known about `x`, where the last minimisation ended.
    pub fn release_transients(&mut self, system: &System<T>, x: &[Row<T>]) {
        if let Some(energy) = self.last {
            self.last = Some(energy - self.add_transients(-1.0, system, x));
        }
    }

    /// Adds a multiple of the transient elements' gradient; their energy.
    fn add_transients(&mut self, share: f64, system: &System<T>, x: &[Row<T>]) -> f64 {
        self.next_gradient.fill([T::default(); 4]);
        let energy = system.accumulate_transients(x, &mut self.next_gradient);
        let gradient = &mut self.gradient[..self.q.len()];
        self.q.copy_from_slice(gradient);
        let more = self.next_gradient[..self.q.len()].as_flattened();
        vectors::combine(gradient.as_flattened_mut(), self.q.as_flattened(), &[(share, more)]);
        energy
    }

    /// What other forces make of the last energy and gradient.
    fn with_forces(&mut self, energy: f64, system: &System<T>, x: &[Row<T>]) -> Evaluated {
        // Energy and gradient have −f·x and −f in them.
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

    /// Algorithm 1: a direction that leads downhill, and the slope along it.
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

    /// Near the minimum energies differ by rounding only; their slopes then say what the energies cannot (the approximate
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
