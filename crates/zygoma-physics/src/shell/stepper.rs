//! A shell in motion: one prefactored solve per time step (IFA §3.1, Algorithm 1 lines 7–11).
//!
//! The incremental potential is quadratic once the directions of springs and bending elements are lagged, so its
//! minimum is one Newton step away from any point. We start it at x̂ (IFA eq. 12), where a spring's force needs no
//! other positions than the lagged direction itself.

use std::sync::Arc;

use glam::{Vec3, Vec4, Vec4Swizzles};
use zygoma_numerics::{
    NotPositiveDefinite, PackedAnalysis, PackedFactor, SymmetricMatrix, inverse, nested_dissection,
};

use super::elastic::Elastic;
use super::matrix::rigid_resistance;
use super::{Shell, ShellParams, Stiffness, step_matrix};

/// Motion of the frame in which the shell is simulated, for inertial forces. In shell units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameMotion {
    /// Uniform acceleration: gravity minus the acceleration of the frame's origin.
    pub acceleration: Vec3,
    /// Angular velocity of the frame, rad/s, in the frame.
    pub angular_velocity: Vec3,
    /// Its rate of change.
    pub angular_acceleration: Vec3,
}

/// The order of vertices in a [`Stepper`]: first the free ones as they are eliminated, then the prescribed ones.
#[derive(Debug)]
pub struct StepOrder {
    /// Shell vertex at each place.
    pub vertices: Vec<u32>,
    /// Place of each shell vertex.
    pub places: Vec<u32>,
    /// Number of free vertices.
    pub free: usize,
    analysis: PackedAnalysis,
}

/// The factored matrix and all else that depends on stiffness and parameters; replaced as a whole when these change.
#[derive(Debug)]
pub struct StepMatrices {
    pub(super) elastic: Elastic,
    factor: PackedFactor,
    mass: Vec<f32>,
    actuation: Vec<f32>,
    resistance: Vec<f32>,
    compliance: Vec<f32>,
    step: f32,
    tolerance: f32,
    damping: f32,
    lag: f32,
}

/// Positions and velocities of a shell, and the memory to advance them. All in the order of [`StepOrder`].
#[derive(Clone, Debug)]
pub struct Stepper {
    order: Arc<StepOrder>,
    matrices: Arc<StepMatrices>,
    positions: Vec<Vec4>,
    /// Positions one step ago.
    earlier: Vec<Vec4>,
    velocities: Vec<Vec4>,
    next: Vec<Vec4>,
    lagged: Vec<Vec4>,
    residual: Vec<Vec4>,
    overstretched: Vec<u32>,
}

impl FrameMotion {
    fn is_still(&self) -> bool {
        *self == Self::default()
    }

    /// Acceleration that a point at rest or in motion in the frame feels: Euler, centrifugal and Coriolis.
    fn at(&self, position: Vec3, velocity: Vec3) -> Vec3 {
        let spin = self.angular_velocity;
        self.acceleration
            - self.angular_acceleration.cross(position)
            - spin.cross(spin.cross(position))
            - 2.0 * spin.cross(velocity)
    }
}

impl StepOrder {
    /// Chooses the order; vertices that are not `free` follow their targets exactly.
    ///
    /// # Panics
    /// If `free` is not as long as the shell has vertices.
    pub fn new(shell: &Shell, free: &[bool]) -> Self {
        assert_eq!(free.len(), shell.vertex_count(), "one flag per vertex");
        let pattern =
            step_matrix(shell, &Stiffness::uniform(shell.vertex_count(), 1.0, 1.0), &ShellParams::default());
        let chosen: Vec<u32> = (0..free.len() as u32).filter(|v| free[*v as usize]).collect();
        let part = restricted(&pattern, &chosen);
        let elimination = nested_dissection(&part.neighbours());
        let analysis = PackedAnalysis::new(&part.permuted(&elimination));
        let mut vertices: Vec<u32> = elimination.iter().map(|k| chosen[*k as usize]).collect();
        vertices.extend((0..free.len() as u32).filter(|v| !free[*v as usize]));
        Self { places: inverse(&vertices), vertices, free: chosen.len(), analysis }
    }
}

impl StepMatrices {
    /// Factors the constant matrix of a time step.
    pub fn new(
        shell: &Shell,
        stiffness: &Stiffness,
        params: &ShellParams,
        order: &StepOrder,
    ) -> Result<Self, NotPositiveDefinite> {
        let whole = step_matrix(shell, stiffness, params);
        let factor = order.analysis.factor(&restricted(&whole, &order.vertices[..order.free]))?;
        let per_vertex = |value: &dyn Fn(f64) -> f64| -> Vec<f32> {
            order.vertices.iter().map(|v| value(shell.area[*v as usize]) as f32).collect()
        };
        Ok(Self {
            elastic: Elastic::new(shell, stiffness, params, &order.places),
            factor,
            mass: per_vertex(&|area| params.density * area),
            actuation: per_vertex(&|area| params.actuation(area)),
            resistance: per_vertex(&|area| rigid_resistance(params, area)),
            compliance: per_vertex(&|area| 1.0 / rigid_resistance(params, area)),
            step: params.step_time as f32,
            tolerance: params.tolerance as f32,
            damping: params.damping as f32,
            lag: params.lag_blend as f32,
        })
    }

    /// Bytes that one solve reads twice.
    pub fn factor_bytes(&self) -> usize {
        self.factor.bytes()
    }

    /// Mass per vertex, in the order of the steps.
    pub fn mass(&self) -> &[f32] {
        &self.mass
    }

    /// Force per uniform displacement of each vertex at the end of a step: inertia, damping and actuation. Springs and bending elements only
    /// transmit force between vertices, so the sum of these times the corrections of a constraint is the force of that constraint.
    pub fn resistance(&self) -> &[f32] {
        &self.resistance
    }

    /// The inverse of the [resistance](Self::resistance): displacement of a vertex per force.
    pub fn compliance(&self) -> &[f32] {
        &self.compliance
    }

    /// Time step, s.
    pub fn step_time(&self) -> f32 {
        self.step
    }

    /// The factored matrix.
    pub fn factor(&self) -> &PackedFactor {
        &self.factor
    }
}

/// The rows and columns of some vertices, in their order.
fn restricted(matrix: &SymmetricMatrix, vertices: &[u32]) -> SymmetricMatrix {
    let mut places = vec![usize::MAX; matrix.size()];
    for (place, vertex) in vertices.iter().enumerate() {
        places[*vertex as usize] = place;
    }
    let mut entries = Vec::with_capacity(matrix.values().len());
    for column in 0..matrix.size() {
        for at in matrix.starts()[column]..matrix.starts()[column + 1] {
            let (i, j) = (places[matrix.rows()[at]], places[column]);
            if i != usize::MAX && j != usize::MAX {
                entries.push((i, j, matrix.values()[at]));
            }
        }
    }
    SymmetricMatrix::from_entries(vertices.len(), &entries)
}

impl Stepper {
    /// A shell at rest.
    pub fn new(shell: &Shell, order: Arc<StepOrder>, matrices: Arc<StepMatrices>) -> Self {
        let positions: Vec<Vec4> =
            order.vertices.iter().map(|v| shell.rest[*v as usize].as_vec3().extend(0.0)).collect();
        Self {
            velocities: vec![Vec4::ZERO; positions.len()],
            earlier: positions.clone(),
            next: positions.clone(),
            lagged: positions.clone(),
            residual: vec![Vec4::ZERO; positions.len()],
            overstretched: Vec::with_capacity(shell.springs.len()),
            positions,
            order,
            matrices,
        }
    }

    /// The order of the vertices.
    pub fn order(&self) -> &Arc<StepOrder> {
        &self.order
    }

    /// Current positions.
    pub fn positions(&self) -> &[Vec4] {
        &self.positions
    }

    /// Positions one step ago, for interpolation between steps.
    pub fn earlier(&self) -> &[Vec4] {
        &self.earlier
    }

    /// Current velocities.
    pub fn velocities(&self) -> &[Vec4] {
        &self.velocities
    }

    /// Mass per vertex.
    pub fn mass(&self) -> &[f32] {
        &self.matrices.mass
    }

    /// Time step, s.
    pub fn step_time(&self) -> f32 {
        self.matrices.step
    }

    /// The matrices in use.
    pub fn matrices(&self) -> &Arc<StepMatrices> {
        &self.matrices
    }

    /// Uses other matrices from the next step on, and returns those used so far.
    pub fn replace_matrices(&mut self, matrices: Arc<StepMatrices>) -> Arc<StepMatrices> {
        std::mem::replace(&mut self.matrices, matrices)
    }

    /// Sets positions and velocities.
    pub fn place(&mut self, positions: &[Vec4], velocities: &[Vec4]) {
        self.positions.copy_from_slice(positions);
        self.earlier.copy_from_slice(positions);
        self.velocities.copy_from_slice(velocities);
    }

    /// Assembles the gradient of the step's potential at x̂: the first half of a step.
    pub fn assemble(&mut self, target: &[Vec4], motion: &FrameMotion) {
        let matrices = &*self.matrices;
        let (step, lag) = (matrices.step, matrices.lag);
        // With x̂ − x̃ = (α − 1) h v and x̂ − xⁿ = α h v, IFA eq. 3 and 10 leave these multiples of m v.
        let momentum = (1.0 - lag) / step - matrices.damping * lag;
        let free = self.order.free;
        let bound = Vec4::splat(matrices.tolerance);
        for i in 0..free {
            let (x, v) = (self.positions[i], self.velocities[i]);
            let ahead = lag * step * v;
            self.lagged[i] = x + ahead;
            // IFA eq. 6: the target is never farther away than ε^r.
            let pull = (target[i] - x).clamp(-bound, bound) - ahead;
            self.residual[i] = matrices.mass[i] * momentum * v + matrices.actuation[i] * pull;
        }
        if !motion.is_still() {
            for i in 0..free {
                let inertial = motion.at(self.positions[i].xyz(), self.velocities[i].xyz());
                self.residual[i] += matrices.mass[i] * inertial.extend(0.0);
            }
        }
        self.lagged[free..].copy_from_slice(&target[free..]);
        self.overstretched.clear();
        matrices.elastic.add_forces(&self.lagged, &mut self.residual, &mut self.overstretched);
    }

    /// Solves for the next positions, before constraints.
    pub fn solve(&mut self, target: &[Vec4]) {
        let free = self.order.free;
        self.matrices.factor.solve_in_place(bytemuck::cast_slice_mut(&mut self.residual[..free]));
        for i in 0..free {
            self.next[i] = self.lagged[i] + self.residual[i];
        }
        self.next[free..].copy_from_slice(&target[free..]);
    }

    /// The next positions, for constraints to correct, beside the current ones. Only the free ones may be changed.
    pub fn next_mut(&mut self) -> (&mut [Vec4], &[Vec4]) {
        (&mut self.next, &self.positions)
    }

    /// Whether any edge was strained beyond ε^max when forces were assembled.
    pub fn is_overstretched(&self) -> bool {
        !self.overstretched.is_empty()
    }

    /// Limits the strain of edges that were overstretched (ε^max), pulling both ends together, unless the `wanted` positions
    /// are that far apart.
    pub fn limit_strain(&mut self, wanted: &[Vec4]) {
        let free = self.order.free;
        self.matrices.elastic.limit_strain(&self.overstretched, &mut self.next, wanted, free);
    }

    /// Takes the next positions and derives the velocities.
    pub fn finish(&mut self) {
        let rate = 1.0 / self.matrices.step;
        let free = self.order.free;
        for i in 0..free {
            // The difference of positions alone would round each velocity to steps of 1e-5 per second.
            let corrected = self.next[i] - (self.lagged[i] + self.residual[i]);
            self.velocities[i] =
                self.matrices.lag * self.velocities[i] + rate * (self.residual[i] + corrected);
        }
        for i in free..self.next.len() {
            self.velocities[i] = rate * (self.next[i] - self.positions[i]);
        }
        std::mem::swap(&mut self.earlier, &mut self.positions);
        std::mem::swap(&mut self.positions, &mut self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::test_shells::bumpy_sheet;
    use crate::shell::{Equilibrium, EquilibriumProblem};
    use glam::DVec3;
    use zygoma_numerics::NewtonParams;

    fn stepper(shell: &Shell, params: &ShellParams, free: &[bool], strain: f64, bending: f64) -> Stepper {
        let order = Arc::new(StepOrder::new(shell, free));
        let stiffness = Stiffness::uniform(shell.vertex_count(), strain, bending);
        let matrices = Arc::new(StepMatrices::new(shell, &stiffness, params, &order).unwrap());
        Stepper::new(shell, order, matrices)
    }

    fn advance(stepper: &mut Stepper, target: &[Vec4], motion: &FrameMotion, steps: usize) {
        for _ in 0..steps {
            stepper.assemble(target, motion);
            stepper.solve(target);
            stepper.finish();
        }
    }

    fn in_order(order: &StepOrder, positions: &[DVec3]) -> Vec<Vec4> {
        order.vertices.iter().map(|v| positions[*v as usize].as_vec3().extend(0.0)).collect()
    }

    #[test]
    fn a_shell_at_rest_stays_at_rest() {
        let shell = bumpy_sheet(9, 7);
        let mut stepper =
            stepper(&shell, &ShellParams::default(), &vec![true; shell.vertex_count()], 30.0, 0.0);
        let rest = stepper.positions().to_vec();
        advance(&mut stepper, &rest, &FrameMotion::default(), 100);
        let moved = stepper.positions().iter().zip(&rest).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        assert!(moved < 1e-6, "{moved}");
    }

    #[test]
    fn momentum_is_kept_without_damping_and_constraints() {
        let shell = bumpy_sheet(9, 7);
        let params = ShellParams { damping: 0.0, max_pressure: 0.0, ..ShellParams::default() };
        let mut stepper = stepper(&shell, &params, &vec![true; shell.vertex_count()], 20.0, 10.0);
        let rest = stepper.positions().to_vec();
        let velocities: Vec<Vec4> =
            (0..rest.len()).map(|i| Vec4::new((i as f32).sin(), 0.3, (0.7 * i as f32).cos(), 0.0)).collect();
        stepper.place(&rest, &velocities);
        let momentum = |stepper: &Stepper| -> Vec4 {
            stepper.mass().iter().zip(stepper.velocities()).map(|(m, v)| *m * *v).sum()
        };
        let speed: f32 = stepper.mass().iter().zip(&velocities).map(|(m, v)| m * v.length()).sum();
        let before = momentum(&stepper);
        advance(&mut stepper, &rest, &FrameMotion::default(), 50);
        let change = momentum(&stepper).distance(before);
        assert!(change < 1e-4 * speed, "momentum changed by {change} of {speed}");
    }

    #[test]
    fn it_settles_where_the_quasistatic_solution_is() {
        let shell = bumpy_sheet(9, 7);
        let params = ShellParams { damping: 20.0, ..ShellParams::default() };
        let mut free = vec![true; shell.vertex_count()];
        free[..9].fill(false);
        let target: Vec<DVec3> = shell
            .rest
            .iter()
            .map(|p| *p + DVec3::new(0.01 * (9.0 * p.y).sin(), 0.02 * p.x, 0.015 * (7.0 * p.x).cos()))
            .collect();
        let stiffness = Stiffness::uniform(shell.vertex_count(), 5.0, 5.0);
        let problem = EquilibriumProblem::new(&shell, &params, &target, &free);
        let equilibrium =
            Equilibrium::new(&problem, &problem.weights(&stiffness), &NewtonParams::default()).unwrap();
        let mut wanted = target.clone();
        for (vertex, x) in problem.vertices().iter().zip(&equilibrium.x) {
            wanted[*vertex as usize] = *x;
        }
        let mut stepper = stepper(&shell, &params, &free, 5.0, 5.0);
        let (target, wanted) = (in_order(stepper.order(), &target), in_order(stepper.order(), &wanted));
        advance(&mut stepper, &target, &FrameMotion::default(), 3000);
        let worst = stepper.positions().iter().zip(&wanted).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        let from_target = target.iter().zip(&wanted).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        assert!(worst < 2e-5 && from_target > 5e-4, "{worst} of {from_target}");
    }

    #[test]
    fn a_crumpled_shell_does_not_tremble() {
        let shell = bumpy_sheet(12, 12);
        let random = zygoma_numerics::random::Keyed::new(3, 1);
        for trial in 0..12u64 {
            // Targets that crumple the sheet: many elements are bent through or lie edge-on.
            let number = |v: usize, axis: u64| random.uniform(1000 * trial + 3 * v as u64 + axis) - 0.5;
            let jolt = |v: usize| DVec3::new(number(v, 0), number(v, 1), number(v, 2));
            let size = 0.02 * (1 + trial) as f64;
            let target: Vec<DVec3> =
                shell.rest.iter().enumerate().map(|(v, p)| *p + size * jolt(v)).collect();
            let free = vec![true; shell.vertex_count()];
            let mut stepper = stepper(&shell, &ShellParams::default(), &free, 2.0, 20.0);
            let target = in_order(stepper.order(), &target);
            advance(&mut stepper, &target, &FrameMotion::default(), 2000);
            let before = stepper.positions().to_vec();
            advance(&mut stepper, &target, &FrameMotion::default(), 1);
            let pairs = stepper.positions().iter().zip(&before);
            let moved = pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
            assert!(moved < 1e-6, "trial {trial}: {moved}");
        }
    }

    #[test]
    fn inertial_forces_are_those_of_the_moving_frame() {
        // A free particle stands still in the world; in a spinning, accelerating frame its path is known.
        let shell = bumpy_sheet(4, 4);
        let params =
            ShellParams { damping: 0.0, max_pressure: 0.0, step_time: 2e-4, ..ShellParams::default() };
        let mut stepper = stepper(&shell, &params, &vec![true; shell.vertex_count()], 0.0, 0.0);
        let start = stepper.positions().to_vec();
        let spin = Vec3::new(0.2, 1.0, -0.4);
        let push = Vec3::new(0.5, -0.2, 0.3);
        let velocities: Vec<Vec4> = start.iter().map(|p| (-spin.cross(p.xyz())).extend(0.0)).collect();
        stepper.place(&start, &velocities);
        let (steps, time) = (1000, 0.2f32);
        for step in 0..steps {
            // The origin accelerates by `push` in the world, seen from the frame that has turned meanwhile.
            let turned = glam::Quat::from_scaled_axis(-spin * (step as f32 + 0.5) * 2e-4);
            let motion = FrameMotion {
                acceleration: turned * -push,
                angular_velocity: spin,
                ..FrameMotion::default()
            };
            advance(&mut stepper, &start, &motion, 1);
        }
        let turned = glam::Quat::from_scaled_axis(-spin * time);
        for (found, start) in stepper.positions().iter().zip(&start) {
            let wanted = turned * (start.xyz() - 0.5 * push * time * time);
            assert!(found.xyz().distance(wanted) < 1e-3, "{} {}", found.xyz(), wanted);
        }
    }
}
