//! Solids whose rest shape and material change over time without forces of their own (*Blendvolumes*, Algorithm 1).
//!
//! A [`Solid`] is simulated by its displacement u from its present rest shape X, not by its positions. With u = 0 nothing pushes, in floating point, and
//! a change of the rest shape alone leaves u at 0: the solid then moves exactly as its rest shape does.
//!
//! Each [step](Solid::step) moves the solid with the rest shape and the material that it has. [`change_rest`](Solid::change_rest) then replaces both and
//! finds the displacement that exerts the same elastic forces in the new shape (*dynamic rebalancing*, *Blendvolumes* eq. 11).

mod rest;
#[cfg(test)]
mod tests;
mod transients;

use glam::DVec3;
use zygoma_numerics::NotPositiveDefinite;

use crate::projective::Handle;
use crate::projective::{
    Attachments, Changed, Inertia, Prefactored, Row, SolveOptions, SolveReport, Solver, StVkTets, Stencil,
    System, Target, row,
};

pub use rest::{Lame, RestShape};
pub use transients::{Constrained, Transients};

/// Time step of the paper, s. Its only damping is that of implicit Euler steps of this length; other steps are damped alike, see [`StepRule`].
pub const PUBLISHED_STEP: f64 = 1.0 / 300.0;

/// Mass of parts that nothing holds, relative to that of a step, where a static equilibrium is asked for: without any there would be none. Ours.
const FLOATING: f64 = 1e-4;

/// The time integration: x₁ = x₀ + h (θ v₁ + (1 − θ) v₀), and likewise for velocities and forces.
///
/// θ = 1 is implicit Euler. A slow oscillation of frequency ω decays at the rate (θ − ½) h ω², so (2 θ − 1) h is kept at the published step: motion then
/// is damped alike at any step: longer ones are nearer to the midpoint rule, shorter ones look further ahead than implicit Euler (θ > 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRule {
    /// h, s.
    pub seconds: f64,
    /// θ.
    pub theta: f64,
}

impl StepRule {
    /// The rule whose damping is that of the [published step](PUBLISHED_STEP).
    pub fn new(seconds: f64) -> Self {
        Self { seconds, theta: 0.5 + 0.5 * PUBLISHED_STEP / seconds }
    }

    /// 1 / (θ h)², by which masses are multiplied.
    fn stiffness(&self) -> f64 {
        (self.theta * self.seconds).powi(-2)
    }
}

/// The parts of a solid.
#[derive(Clone, Copy, Debug)]
pub struct SolidInput<'a> {
    /// The rest shape, m. The first vertices are free, the others are always at rest.
    pub rest: &'a [DVec3],
    /// Number of free vertices.
    pub free: usize,
    /// Tetrahedra, of positive volume at rest.
    pub tets: &'a [[u32; 4]],
    /// Lamé's constants of each tetrahedron.
    pub materials: &'a [Lame],
    /// Stiffness, N/m, of a spring from each free vertex to its place at rest; 0 for none.
    pub springs: &'a [f64],
    /// Density, kg/m³.
    pub density: f64,
}

/// Accuracy of the two solves of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Largest number of iterations of a solve.
    pub iterations: usize,
    /// Ends when an iteration moves no vertex by more than this, m.
    pub least_motion: f64,
    /// Ends when the residual has fallen to this fraction.
    pub tolerance: f64,
    /// The method.
    pub method: Method,
}

/// How a solve finds its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Quasi-Newton steps around a kept factor.
    #[default]
    QuasiNewton,
    /// Newton's method: a reference.
    Newton,
}

impl Default for Accuracy {
    fn default() -> Self {
        Self { iterations: 60, least_motion: 1e-7, tolerance: 1e-2, method: Method::default() }
    }
}

/// A solid in motion.
#[derive(Clone)]
pub struct Solid {
    /// Its energies, over displacements.
    pub system: System<f32>,
    /// u, displacement of each vertex from rest, m; 0 for those that are not free.
    pub displacements: Vec<Row<f32>>,
    /// Velocity of the displacement of each free vertex, m/s.
    pub velocities: Vec<Row<f32>>,
    /// Accuracy of its solves.
    pub accuracy: Accuracy,
    rest: RestShape,
    /// Whether the elements are still those of an earlier rest shape.
    is_stale: bool,
    elements: Handle<StVkTets<f32>>,
    rule: StepRule,
    masses: Vec<f64>,
    /// m / (θ h)², and the mass that keeps floating parts in place in static solves.
    step_weights: Vec<f32>,
    static_weights: Vec<f32>,
    /// Total force on each free vertex at the end of the last step and of the one before it, N.
    force: Vec<Row<f32>>,
    force_before: Vec<Row<f32>>,
    predicted: Vec<Row<f32>>,
    gradient: Vec<Row<f32>>,
    /// Displacements before the last step, which a naive step starts from again.
    before: Vec<Row<f32>>,
    /// The second start that a search may choose.
    other_start: Vec<Row<f32>>,
    /// Elastic forces that a new rest shape must exert, too.
    wanted: Vec<Row<f32>>,
    velocities_before: Vec<Row<f32>>,
    step_factor: Prefactored<f32>,
    static_factor: Prefactored<f32>,
    step_solver: Solver<f32>,
    static_solver: Solver<f32>,
    /// Whether the last search of a step had transient constraints, whose curvature the next one must not take over.
    was_constrained: bool,
}

impl Solid {
    /// A solid at rest.
    pub fn new(input: &SolidInput<'_>, rule: StepRule) -> Result<Self, NotPositiveDefinite> {
        let (vertices, free) = (input.rest.len(), input.free);
        let mut system = System::<f32>::new(vertices, free);
        let rest = RestShape::new(input.rest, input.tets, input.materials);
        let elements = system.add(rest.elements()).expect("tetrahedra name vertices that there are");
        let mut springs = Attachments::<f32>::new();
        for (vertex, stiffness) in (0..).zip(input.springs).filter(|(_, stiffness)| **stiffness > 0.0) {
            springs.push(&Stencil::vertex(vertex), Target { weight: *stiffness, target: [0.0; 3] });
        }
        system.add(springs).expect("springs hold vertices that there are");
        let masses = rest.masses(free, input.density);
        let floats = rest.floating(free, input.springs);
        let step_weights: Vec<f64> = masses.iter().map(|mass| mass * rule.stiffness()).collect();
        let held = |(weight, floats): (&f64, &bool)| if *floats { FLOATING * weight } else { 0.0 };
        let static_weights: Vec<f64> = step_weights.iter().zip(&floats).map(held).collect();
        let still = vec![[0.0; 4]; free];
        Ok(Self {
            step_factor: Prefactored::new(&system.matrix(&step_weights), &[])?,
            static_factor: Prefactored::new(&system.matrix(&static_weights), &[])?,
            step_solver: Solver::new(&system),
            static_solver: Solver::new(&system),
            step_weights: step_weights.iter().map(|weight| *weight as f32).collect(),
            static_weights: static_weights.iter().map(|weight| *weight as f32).collect(),
            displacements: vec![[0.0; 4]; vertices],
            gradient: vec![[0.0; 4]; vertices],
            velocities: still.clone(),
            force: still.clone(),
            force_before: still.clone(),
            before: still.clone(),
            other_start: still.clone(),
            wanted: still.clone(),
            velocities_before: still.clone(),
            predicted: still,
            accuracy: Accuracy::default(),
            masses,
            rest,
            is_stale: false,
            was_constrained: false,
            elements,
            rule,
            system,
        })
    }

    /// Mass of each free vertex, kg.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// The rest shape and material, as they are now.
    pub fn rest(&self) -> &RestShape {
        &self.rest
    }

    /// The time integration.
    pub fn rule(&self) -> StepRule {
        self.rule
    }

    /// Whether nothing moves and nothing is displaced.
    pub fn is_at_rest(&self) -> bool {
        let zero = |row: &Row<f32>| row[..3] == [0.0; 3];
        self.displacements.iter().all(zero) && self.velocities.iter().all(zero)
    }

    /// Total force on each free vertex at the end of the last step, N: with displacements and velocities all that the next step depends on, up to the
    /// accuracy of its solves.
    pub fn forces(&self) -> &[Row<f32>] {
        &self.force
    }

    /// Sets the forces at the end of the last step.
    ///
    /// # Panics
    /// If there is not one for each free vertex.
    pub fn set_forces_of_last_step(&mut self, forces: &[Row<f32>]) {
        self.force.copy_from_slice(forces);
    }

    /// Puts the solid at rest, in its rest shape.
    pub fn come_to_rest(&mut self) {
        self.displacements.fill([0.0; 4]);
        self.velocities.fill([0.0; 4]);
        self.force.fill([0.0; 4]);
        self.step_solver.forget();
        self.static_solver.forget();
    }

    /// Makes one step under external forces, N on each free vertex (*Blendvolumes* eq. 10), and under transient constraints: `&mut ()` for none.
    pub fn step(&mut self, external: &[Row<f32>], transients: &mut dyn Transients) -> SolveReport {
        self.before.copy_from_slice(&self.displacements[..self.masses.len()]);
        self.velocities_before.copy_from_slice(&self.velocities);
        self.force_before.copy_from_slice(&self.force);
        let is_pushed = external.iter().any(|force| force[..3] != [0.0; 3]) || transients.may_push();
        if self.is_at_rest() && !is_pushed {
            // The minimum, without a search.
            return SolveReport::default();
        }
        self.update_elements();
        self.predict(|_| DVec3::ZERO);
        self.set_forces(external);
        transients.begin(&mut self.constrained());
        self.choose_start();
        let is_constrained = !self.system.transient_rows().is_empty();
        // A step is so short that shape, material and curvature are nearly those of the last one.
        let changed = match is_constrained || self.was_constrained {
            true => Changed::Anything,
            false => Changed::Slightly,
        };
        self.was_constrained = is_constrained;
        let mut report = self.search(changed);
        self.step_solver.release_transients(&self.system, &self.displacements);
        if transients.renew(&mut self.constrained()) {
            self.was_constrained = true;
            report = report.followed_by(&self.search(Changed::Transients));
        }
        transients.end(&mut self.constrained());
        self.end_step();
        report
    }

    /// Prepares free vertices for transient constraints, which then converge faster from the first step on.
    pub fn expect_constraints(&mut self, vertices: &[u32]) {
        self.step_factor.add_candidates(vertices, vertices.len());
    }

    fn constrained(&mut self) -> Constrained<'_> {
        Constrained {
            system: &mut self.system,
            factor: &mut self.step_factor,
            displacements: &mut self.displacements,
            velocities: &self.velocities,
        }
    }

    fn set_rest(&mut self, positions: &[DVec3], materials: &[Lame]) {
        self.rest.positions.copy_from_slice(positions);
        self.rest.materials.copy_from_slice(materials);
        self.is_stale = true;
    }

    /// Changes the elements to the present rest shape.
    fn update_elements(&mut self) {
        if std::mem::take(&mut self.is_stale) {
            self.rest.write(self.system.group_mut(self.elements));
        }
    }

    /// Predicts where inertia alone leads, for a rest shape that is `moved` since.
    fn predict(&mut self, moved: impl Fn(usize) -> DVec3) {
        let h = self.rule.seconds as f32;
        for (v, predicted) in self.predicted.iter_mut().enumerate() {
            let moved = row::<f32>(moved(v));
            (0..3).for_each(|k| {
                predicted[k] = self.before[v][k] + h * self.velocities_before[v][k] - moved[k];
            });
        }
    }

    /// Starts the search of a step where the acceleration of the last one leads, or where the solid is, if there is less energy there.
    fn choose_start(&mut self) {
        for (v, (place, predicted)) in self.displacements.iter_mut().zip(&self.predicted).enumerate() {
            let push = 1.0 / (self.step_weights[v] * (self.rule.theta as f32));
            (0..3).for_each(|k| place[k] = predicted[k] + push * self.force[v][k]);
        }
        let inertia = Inertia { weights: &self.step_weights, predicted: &self.predicted };
        self.other_start.copy_from_slice(&self.before);
        let starts = (&mut self.displacements, &mut self.other_start);
        self.step_solver.choose_start(&self.system, Some(&inertia), starts.0, starts.1);
    }

    /// Sets the forces of a step: with F the total force, M (x₁ − x₀ − h v₀) / (θh)² = F₁ + (1 − θ)/θ F₀.
    fn set_forces(&mut self, external: &[Row<f32>]) {
        let kept = self.kept();
        for ((force, external), last) in self.system.forces.iter_mut().zip(external).zip(&self.force_before) {
            (0..3).for_each(|k| force[k] = external[k] + kept * last[k]);
        }
    }

    /// (1 − θ)/θ.
    fn kept(&self) -> f32 {
        ((1.0 - self.rule.theta) / self.rule.theta) as f32
    }

    /// Finds the displacements at the end of a step.
    fn search(&mut self, changed: Changed) -> SolveReport {
        let inertia = Inertia { weights: &self.step_weights, predicted: &self.predicted };
        let options = SolveOptions { changed, ..self.options() };
        let (solver, factor) = (&mut self.step_solver, &mut self.step_factor);
        let (system, x) = (&self.system, &mut self.displacements);
        minimise(self.accuracy.method, solver, system, &inertia, factor, &options, x)
    }

    /// Finds the velocities and forces at the end of a step.
    fn end_step(&mut self) {
        let StepRule { seconds, theta } = self.rule;
        let kept = self.kept();
        let (now, scale) = (&self.displacements, (1.0 / (theta * seconds)) as f32);
        for (v, velocity) in self.velocities.iter_mut().enumerate() {
            for k in 0..3 {
                // x₁ − x₀ − h (1 − θ) v₀, by way of the prediction x₀ + h v₀.
                let way = now[v][k] - self.predicted[v][k];
                velocity[k] = self.velocities_before[v][k] + scale * way;
                self.force[v][k] = self.step_weights[v] * way - kept * self.force_before[v][k];
            }
        }
    }

    /// Replaces the rest shape and the material after a step, without a change of the elastic forces: with `alpha` = 1 entirely (*Blendvolumes* eq. 11
    /// and 12), with 0 not at all, as in a simulation that does not know of rebalancing (§7). The vertices keep their order. `external` are the
    /// forces of the step. Transient constraints are not elastic: they only act on the part that is not rebalanced.
    ///
    /// # Panics
    /// If there is not one position per vertex and one material per tetrahedron.
    pub fn change_rest(
        &mut self,
        (positions, materials): (&[DVec3], &[Lame]),
        alpha: f64,
        external: &[Row<f32>],
        transients: &mut dyn Transients,
    ) -> SolveReport {
        if alpha == 1.0 && self.is_at_rest() {
            // Nothing to rebalance; the elements are needed when something pushes.
            self.set_rest(positions, materials);
            return SolveReport::default();
        }
        transients.clear(&mut self.constrained());
        self.update_elements();
        let mut wanted = std::mem::take(&mut self.wanted);
        self.find_elastic_forces(&mut wanted);
        let moved: Vec<DVec3> = match alpha < 1.0 {
            true => wanted.iter().enumerate().map(|(v, _)| positions[v] - self.rest.positions[v]).collect(),
            false => Vec::new(),
        };
        self.set_rest(positions, materials);
        self.update_elements();
        let mut report = SolveReport::default();
        if alpha < 1.0 {
            let (smooth, mut velocities) = (self.displacements.clone(), self.velocities.clone());
            let mut total = self.force.clone();
            self.predict(|v| moved[v]);
            self.set_forces(external);
            self.was_constrained |= transients.renew(&mut self.constrained());
            report = self.search(Changed::Anything);
            self.end_step();
            transients.clear(&mut self.constrained());
            let mut naive = wanted.clone();
            self.find_elastic_forces(&mut naive);
            let mix = |a: &mut Row<f32>, b: &Row<f32>| {
                (0..3).for_each(|k| a[k] = b[k] + alpha as f32 * (a[k] - b[k]));
            };
            wanted.iter_mut().zip(&naive).for_each(|(a, b)| mix(a, b));
            velocities.iter_mut().zip(&self.velocities).for_each(|(a, b)| mix(a, b));
            self.velocities = velocities;
            // Steps longer than the published one begin with the total force of the last.
            total.iter_mut().zip(&self.force).for_each(|(a, b)| mix(a, b));
            self.force = total;
            if alpha > 0.0 {
                self.displacements = smooth;
            }
        }
        if alpha > 0.0 {
            report = self.settle(&wanted);
        }
        self.wanted = wanted;
        report
    }

    /// Finds the displacements at which elastic forces hold the given forces, N on each free vertex.
    pub fn settle(&mut self, forces: &[Row<f32>]) -> SolveReport {
        self.update_elements();
        self.system.forces.copy_from_slice(forces);
        self.predicted.copy_from_slice(&self.displacements[..self.masses.len()]);
        let inertia = Inertia { weights: &self.static_weights, predicted: &self.predicted };
        let options = SolveOptions { changed: Changed::Slightly, ..self.options() };
        let (solver, factor) = (&mut self.static_solver, &mut self.static_factor);
        let (system, x) = (&self.system, &mut self.displacements);
        minimise(self.accuracy.method, solver, system, &inertia, factor, &options, x)
    }

    /// The forces that hold the present displacements: the gradient of all energies.
    fn find_elastic_forces(&mut self, out: &mut [Row<f32>]) {
        self.system.forces.fill([0.0; 4]);
        self.system.energy_and_gradient(&self.displacements, &mut self.gradient);
        out.copy_from_slice(&self.gradient[..self.masses.len()]);
    }

    fn options(&self) -> SolveOptions {
        let Accuracy { iterations, least_motion, tolerance, .. } = self.accuracy;
        SolveOptions { iterations, least_motion, tolerance, history: 10, ..SolveOptions::default() }
    }
}

/// Minimises by a method.
fn minimise(
    method: Method,
    solver: &mut Solver<f32>,
    system: &System<f32>,
    inertia: &Inertia<'_, f32>,
    factor: &mut Prefactored<f32>,
    options: &SolveOptions,
    x: &mut [Row<f32>],
) -> SolveReport {
    match method {
        Method::QuasiNewton => solver.minimise(system, Some(inertia), factor, options, x),
        Method::Newton => solver.minimise_by_newton(system, Some(inertia), factor, options, x),
    }
}
