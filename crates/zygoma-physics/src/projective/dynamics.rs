//! Motion: implicit Euler steps, each a minimisation (*Progressive PD* eq. 5).

use super::elements::{Precision, Row};
use super::solve::{GlobalStep, Inertia, SolveOptions, SolveReport, Solver};
use super::system::System;

/// Positions and velocities of a system in motion.
#[derive(Clone)]
pub struct Dynamics<T> {
    /// All vertices. Kinematic ones may be moved between steps.
    pub positions: Vec<Row<T>>,
    /// Velocities of the free vertices.
    pub velocities: Vec<Row<T>>,
    masses: Vec<f64>,
    step: f64,
    weights: Vec<T>,
    predicted: Vec<Row<T>>,
    /// Positions at the start of the step.
    before: Vec<Row<T>>,
    start: Vec<Row<T>>,
    solver: Solver<T>,
}

impl<T: Precision> Dynamics<T> {
    /// A system at rest at `positions`, with the masses of its free vertices (kg, above 0) and a time step (s).
    ///
    /// # Panics
    /// If there is not one position per vertex and one mass per free vertex.
    pub fn new(system: &System<T>, positions: Vec<Row<T>>, masses: Vec<f64>, step: f64) -> Self {
        assert_eq!(positions.len(), system.vertex_count(), "one position per vertex");
        assert_eq!(masses.len(), system.free_count(), "one mass per free vertex");
        Self {
            velocities: vec![[T::default(); 4]; masses.len()],
            weights: masses.iter().map(|mass| T::of(mass / (step * step))).collect(),
            predicted: positions[..masses.len()].to_vec(),
            before: positions[..masses.len()].to_vec(),
            start: positions[..masses.len()].to_vec(),
            solver: Solver::new(system),
            positions,
            masses,
            step,
        }
    }

    /// M / h², the diagonal of the global step's matrix.
    pub fn diagonal(&self) -> Vec<f64> {
        self.masses.iter().map(|mass| mass / (self.step * self.step)).collect()
    }

    /// The inertia of the last step.
    pub fn inertia(&self) -> Inertia<'_, T> {
        Inertia { weights: &self.weights, predicted: &self.predicted }
    }

    /// Positions of the free vertices at the start of the last step.
    pub fn before(&self) -> &[Row<T>] {
        &self.before
    }

    /// Makes one time step (*Progressive PD*, Algorithm 2) under the system's forces.
    pub fn step(
        &mut self,
        system: &System<T>,
        global: &mut dyn GlobalStep<T>,
        options: &SolveOptions,
    ) -> SolveReport {
        self.begin(system);
        let report = self.search(system, global, options);
        self.finish();
        report
    }

    /// Begins a step. The minimisation starts at the predicted positions, as in the paper, or at the last ones if their energy is lower. The
    /// system must not change between this and the first search.
    pub fn begin(&mut self, system: &System<T>) {
        self.predict();
        // Tissue attached to a moving bone starts better where it was.
        self.start.copy_from_slice(&self.before);
        for (i, predicted) in self.predicted.iter().enumerate() {
            let push = T::of(self.step * self.step / self.masses[i]);
            // The prediction holds inertia only, since forces are part of the energy; the start includes both.
            (0..3).for_each(|k| self.positions[i][k] = push.mul_add(system.forces[i][k], predicted[k]));
        }
        let inertia = Inertia { weights: &self.weights, predicted: &self.predicted };
        self.solver.choose_start(system, Some(&inertia), &mut self.positions, &mut self.start);
    }

    /// Begins a step of a body that is attached nearly everywhere. There the last positions have less energy than the predicted ones, so
    /// the minimisation starts at them without an evaluation to compare.
    pub fn begin_held(&mut self) {
        self.predict();
    }

    /// Predicts positions from inertia alone.
    fn predict(&mut self) {
        let h = T::of(self.step);
        self.before.copy_from_slice(&self.positions[..self.masses.len()]);
        for (i, predicted) in self.predicted.iter_mut().enumerate() {
            (0..3).for_each(|k| predicted[k] = h.mul_add(self.velocities[i][k], self.before[i][k]));
        }
    }

    /// Announces that transient elements will change between two searches of a step. The second search then need not re-evaluate the others; see
    /// [`Changed::Transients`](super::Changed).
    pub fn release_transients(&mut self, system: &System<T>) {
        self.solver.release_transients(system, &self.positions);
    }

    /// Minimises the energy of the step. May be called again after transient constraints have changed.
    pub fn search(
        &mut self,
        system: &System<T>,
        global: &mut dyn GlobalStep<T>,
        options: &SolveOptions,
    ) -> SolveReport {
        let inertia = Inertia { weights: &self.weights, predicted: &self.predicted };
        self.solver.minimise(system, Some(&inertia), global, options, &mut self.positions)
    }

    /// Ends a step and derives the velocities.
    pub fn finish(&mut self) {
        let h = T::of(self.step);
        for (i, before) in self.before.iter().enumerate() {
            for k in 0..3 {
                self.velocities[i][k] = (self.positions[i][k] - before[k]) / h;
            }
        }
    }
}
