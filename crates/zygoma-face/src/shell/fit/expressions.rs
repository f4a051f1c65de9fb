//! All expressions at equilibrium, and their barrier terms.

use glam::DVec3;
use rayon::prelude::*;
use zygoma_numerics::{Budget, NewtonParams, NotConverged};
use zygoma_physics::shell::{Equilibrium, EquilibriumProblem, Shell, Stiffness};

use super::loss::stiffness_of;
use super::model::{Row, entries};
use super::{Expression, FitParams};

/// The barrier with λ^r = 1, and its derivatives by the stiffness of every vertex.
pub(super) struct Barrier {
    pub(super) loss: f64,
    pub(super) gradient: Stiffness,
    pub(super) worst: f64,
}

/// Why a stiffness could not be evaluated.
pub(super) enum Failure {
    /// The time is over.
    Time,
    /// An expression left the feasible region or found no equilibrium.
    Infeasible {
        /// The failing expressions, at least one.
        parts: Vec<usize>,
    },
}

/// The state of all expressions.
#[derive(Clone)]
pub(super) struct Kept {
    /// The equilibrium of every expression's own vertices.
    positions: Vec<Vec<DVec3>>,
    /// The largest distance over the tolerance of the fit, per expression.
    pub(super) worst: Vec<f64>,
}

/// Every expression with its region of the shell and its equilibrium.
pub(super) struct Expressions {
    parts: Vec<Part>,
    tolerance: f64,
    /// Two rings of triangles: the range over which a vertex' elements depend on the stiffness of others.
    reach: f64,
    newton: NewtonParams,
    vertex_count: usize,
}

struct Part {
    statics: EquilibriumProblem,
    settled: Option<Equilibrium>,
    /// The last equilibrium that was accepted.
    kept: Vec<DVec3>,
    worst: f64,
    kept_worst: f64,
    /// Multiplier estimates of every vertex' constraint.
    multipliers: Vec<f64>,
    /// Curvature of every vertex as learned from failed steps; see [`Row::bend`].
    bends: Vec<f64>,
}

/// Number of expressions evaluated before checking whether one of them has left the feasible region. Fixed, so that the set of evaluated
/// expressions does not depend on the number of threads.
const WAVE: usize = 12;

/// Vertices farther from their target than this fraction of the tolerance count as close to the barrier.
const CLOSE: f64 = 0.4;

impl Expressions {
    pub(super) fn new(shell: &Shell, targets: &[Expression], params: &FitParams) -> Self {
        let neighbours = neighbours(shell);
        let parts = targets
            .par_iter()
            .map(|target| {
                let free = region(shell, &neighbours, &target.positions, params);
                let statics = EquilibriumProblem::new(shell, &params.shell, &target.positions, &free);
                let kept = statics.target().to_vec();
                Part {
                    statics,
                    settled: None,
                    kept,
                    worst: 0.0,
                    kept_worst: 0.0,
                    multipliers: Vec::new(),
                    bends: Vec::new(),
                }
            })
            .collect();
        Self {
            parts,
            tolerance: params.margin * params.shell.tolerance,
            reach: 2.0 * shell.springs.iter().map(|spring| spring.rest_length).fold(0.0, f64::max),
            newton: NewtonParams {
                tolerance: params.settle_tolerance,
                budget: params.budget.clone(),
                ..NewtonParams::default()
            },
            vertex_count: shell.vertex_count(),
        }
    }

    /// Sets the initial guesses for the equilibria of the first expressions, on the whole shell.
    pub(super) fn start_from(&mut self, solutions: &[Vec<DVec3>]) {
        for (part, solution) in self.parts.iter_mut().zip(solutions) {
            let free = part.statics.free_count();
            for (kept, vertex) in part.kept[..free].iter_mut().zip(part.statics.vertices()) {
                *kept = solution[*vertex as usize];
            }
        }
    }

    /// Total number of springs and bending elements of all expressions.
    pub(super) fn element_count(&self) -> usize {
        self.parts.iter().map(|part| part.statics.element_count()).sum()
    }

    /// Settles every expression and evaluates the barrier, unless one of them leaves the feasible region or does not settle. Call
    /// [`keep`](Self::keep) or [`restore`](Self::restore) afterwards.
    pub(super) fn evaluate(&mut self, stiffness: &Stiffness, budget: &Budget) -> Result<Barrier, Failure> {
        // The expressions closest to the barrier are the likeliest to cross it.
        let mut order: Vec<usize> = (0..self.parts.len()).collect();
        order.sort_by(|a, b| self.parts[*b].kept_worst.total_cmp(&self.parts[*a].kept_worst).then(a.cmp(b)));
        let mut rank = vec![0; order.len()];
        for (place, part) in order.iter().enumerate() {
            rank[*part] = place;
        }
        let tolerance = self.tolerance;
        let newton = NewtonParams { budget: budget.clone(), ..self.newton };
        let mut found: Vec<Option<Barrier>> = (0..self.parts.len()).map(|_| None).collect();
        for wave in 0..order.len().div_ceil(WAVE) {
            let results: Vec<(usize, Result<Barrier, NotConverged>)> = self
                .parts
                .par_iter_mut()
                .enumerate()
                .filter(|(index, _)| rank[*index] / WAVE == wave)
                .map(|(index, part)| (index, part.evaluate(stiffness, tolerance, &newton)))
                .collect();
            let mut parts = Vec::new();
            for (index, result) in results {
                match result {
                    Ok(barrier) => found[index] = Some(barrier),
                    Err(NotConverged) => parts.push(index),
                }
            }
            if budget.is_over() {
                return Err(Failure::Time);
            }
            if !parts.is_empty() {
                return Err(Failure::Infeasible { parts });
            }
        }
        let mut total =
            Barrier { loss: 0.0, gradient: Stiffness::uniform(self.vertex_count, 0.0, 0.0), worst: 0.0 };
        for part in found.into_iter().flatten() {
            total.loss += part.loss;
            total.worst = total.worst.max(part.worst);
            add(&mut total.gradient.strain, &part.gradient.strain);
            add(&mut total.gradient.bending, &part.gradient.bending);
        }
        Ok(total)
    }

    /// Derivatives of the distances of vertices close to the barrier by the stiffness, at the kept equilibria; incomplete once the budget
    /// is over.
    pub(super) fn rows(&mut self, stiffness: &Stiffness, barrier: f64, budget: &Budget) -> Vec<Row> {
        let tolerance = self.tolerance;
        let rows: Vec<Vec<Row>> = self
            .parts
            .par_iter_mut()
            .enumerate()
            .map(|(index, part)| part.rows(index, stiffness, tolerance, barrier, budget))
            .collect();
        rows.into_iter().flatten().collect()
    }

    /// Remembers half of what the rows have learned, since the next rows are at another point.
    pub(super) fn remember(&mut self, rows: &[Row]) {
        for row in rows {
            self.parts[row.part].bends[row.vertex] = 0.5 * row.bend;
        }
    }

    /// Updates the multipliers of the given rows for an accepted step.
    pub(super) fn update_multipliers(&mut self, rows: &[Row], barrier: f64, step: &[f64]) {
        for row in rows {
            let multiplier = &mut self.parts[row.part].multipliers[row.vertex];
            let next = barrier / row.room + *multiplier / row.room * row.slope * row.along(step);
            *multiplier = next.max(0.1 * *multiplier);
        }
    }

    /// Lowers logarithms of an infeasible stiffness by `by`, within some `reaches` of the vertices that leave the feasible region, and
    /// everywhere in expressions that do not settle. Evaluates every expression; returns how many failed.
    pub(super) fn soften(&mut self, logs: &mut [f64], by: f64, reaches: f64) -> usize {
        let stiffness = stiffness_of(logs);
        let (tolerance, reach, newton) = (self.tolerance, reaches * self.reach, &self.newton);
        let failed: Vec<Vec<u32>> = self
            .parts
            .par_iter_mut()
            .map(|part| {
                let evaluated = part.evaluate(&stiffness, tolerance, newton);
                // Feasible or not, this is a good initial guess.
                if let Some(settled) = part.settled.as_ref().filter(|_| part.worst > 0.0) {
                    part.kept.clone_from(&settled.x);
                }
                if evaluated.is_ok() { Vec::new() } else { part.failing(tolerance, reach) }
            })
            .collect();
        let mut lower = vec![false; self.vertex_count];
        failed.iter().flatten().for_each(|vertex| lower[*vertex as usize] = true);
        for half in logs.chunks_exact_mut(self.vertex_count) {
            half.iter_mut().zip(&lower).filter(|(_, lower)| **lower).for_each(|(log, _)| *log -= by);
        }
        failed.iter().filter(|vertices| !vertices.is_empty()).count()
    }

    /// The distance of an expression's vertex from its target in the last evaluation, if the expression settled.
    pub(super) fn distance(&self, part: usize, vertex: usize) -> Option<f64> {
        let part = &self.parts[part];
        // An expression that did not settle has no distances.
        let settled = part.settled.as_ref().filter(|_| part.worst > 0.0)?;
        Some(settled.x[vertex].distance(part.statics.target()[vertex]))
    }

    /// Accepts the last evaluation as the new state.
    pub(super) fn keep(&mut self) {
        for part in &mut self.parts {
            if let Some(settled) = &part.settled {
                part.kept.clone_from(&settled.x);
            }
            part.kept_worst = part.worst;
        }
    }

    /// Restores the state of the last [`keep`](Self::keep).
    pub(super) fn restore(&mut self) {
        for part in &mut self.parts {
            if let Some(settled) = &mut part.settled {
                settled.x.clone_from(&part.kept);
            }
            part.worst = part.kept_worst;
        }
    }

    /// The state of the last [`keep`](Self::keep).
    pub(super) fn kept(&self) -> Kept {
        Kept {
            positions: self.parts.iter().map(|part| part.kept.clone()).collect(),
            worst: self.parts.iter().map(|part| part.kept_worst).collect(),
        }
    }

    /// The equilibrium of every expression on the whole shell.
    pub(super) fn solutions(&self, kept: &Kept, targets: &[Expression]) -> Vec<Vec<DVec3>> {
        let whole = |((part, kept), target): ((&Part, &Vec<DVec3>), &Expression)| {
            let mut positions = target.positions.clone();
            for (vertex, x) in part.statics.vertices().iter().zip(kept) {
                positions[*vertex as usize] = *x;
            }
            positions
        };
        self.parts.iter().zip(&kept.positions).zip(targets).map(whole).collect()
    }
}

impl Part {
    fn evaluate(
        &mut self,
        stiffness: &Stiffness,
        tolerance: f64,
        newton: &NewtonParams,
    ) -> Result<Barrier, NotConverged> {
        let statics = &self.statics;
        let mut gradient = Stiffness::uniform(stiffness.strain.len(), 0.0, 0.0);
        if statics.free_count() == 0 {
            return Ok(Barrier { loss: 0.0, gradient, worst: 0.0 });
        }
        self.worst = 0.0;
        let weights = statics.weights(stiffness);
        let settled = match &mut self.settled {
            Some(settled) => {
                settled.update(statics, &weights, newton)?;
                settled
            }
            none => none.insert(Equilibrium::from(statics, &weights, self.kept.clone(), newton)?),
        };
        let (mut loss, mut worst) = (0.0, 0.0f64);
        let mut rhs = Vec::with_capacity(statics.free_count());
        for (x, target) in settled.x.iter().zip(statics.target()).take(statics.free_count()) {
            let off = *x - *target;
            let room = 1.0 - off.length_squared() / (tolerance * tolerance);
            worst = worst.max(off.length() / tolerance);
            loss -= room.ln();
            rhs.push(-2.0 / (tolerance * tolerance * room) * off);
        }
        self.worst = worst;
        if worst >= 1.0 {
            return Err(NotConverged);
        }
        let adjoint = settled.adjoint(statics, &weights, &rhs)?;
        statics.add_stiffness_gradient(&settled.x, &adjoint, &mut gradient);
        Ok(Barrier { loss, gradient, worst })
    }
}

impl Part {
    /// The vertices around those that have left the feasible region, or all of the region if none has. Held vertices are included: an
    /// element between a free and a held vertex has the stiffness of both, and while it stays stiff, softer skin next to it is only
    /// pulled farther.
    fn failing(&self, tolerance: f64, reach: f64) -> Vec<u32> {
        let (all, target) = (self.statics.vertices(), self.statics.target());
        let Some(settled) = self.settled.as_ref().filter(|_| self.worst >= 1.0) else { return all.to_vec() };
        let off: Vec<DVec3> = (0..self.statics.free_count())
            .filter(|v| settled.x[*v].distance(target[*v]) >= 0.9 * tolerance)
            .map(|v| target[v])
            .collect();
        let near = |v: &usize| off.iter().any(|p| p.distance(target[*v]) < reach);
        (0..all.len()).filter(near).map(|v| all[v]).collect()
    }

    fn rows(
        &mut self,
        index: usize,
        stiffness: &Stiffness,
        tolerance: f64,
        barrier: f64,
        budget: &Budget,
    ) -> Vec<Row> {
        let Some(settled) = &mut self.settled else { return Vec::new() };
        let count = stiffness.strain.len();
        self.multipliers.resize(self.statics.free_count(), 0.0);
        self.bends.resize(self.statics.free_count(), 0.0);
        if self.kept_worst >= CLOSE {
            settled.refresh(&self.statics, &self.statics.weights(stiffness));
        }
        let mut rows = Vec::new();
        for vertex in 0..self.statics.free_count() {
            if budget.is_over() {
                break;
            }
            let off = settled.x[vertex] - self.statics.target()[vertex];
            let distance = off.length();
            let room = 1.0 - (distance / tolerance).powi(2);
            let multiplier = &mut self.multipliers[vertex];
            if distance < CLOSE * tolerance {
                *multiplier = barrier / room;
                continue;
            }
            // An estimate far below the barrier's own slope is out of date.
            *multiplier = multiplier.max(0.1 * barrier / room);
            let adjoint = settled.sensitivity(vertex, off / distance);
            let mut change = Stiffness::uniform(count, 0.0, 0.0);
            self.statics.add_stiffness_gradient(&settled.x, &adjoint, &mut change);
            let by_log = (0..2 * count).map(|k| match k.checked_sub(count) {
                None => -change.strain[k] * stiffness.strain[k],
                Some(k) => -change.bending[k] * stiffness.bending[k],
            });
            let slope = 2.0 * distance / (tolerance * tolerance);
            let weight = *multiplier * (slope * slope / room + 2.0 / (tolerance * tolerance));
            let entries = entries(by_log);
            let (pull, bend) = (*multiplier * slope, self.bends[vertex]);
            rows.push(Row { part: index, vertex, room, slope, weight, pull, bend, entries });
        }
        rows
    }
}

fn add(to: &mut [f64], from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

/// The neighbours of each vertex.
pub(super) fn neighbours(shell: &Shell) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); shell.vertex_count()];
    for spring in &shell.springs {
        let [a, b] = spring.ends;
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    }
    neighbours
}

/// The vertices that an expression moves, and some rings around them.
pub(super) fn region(
    shell: &Shell,
    neighbours: &[Vec<u32>],
    target: &[DVec3],
    params: &FitParams,
) -> Vec<bool> {
    let mut free: Vec<bool> =
        shell.rest.iter().zip(target).map(|(rest, target)| rest.distance(*target) > params.still).collect();
    for _ in 0..params.rings {
        let inner = free.clone();
        for vertex in (0..free.len()).filter(|v| inner[*v]) {
            neighbours[vertex].iter().for_each(|next| free[*next as usize] = true);
        }
    }
    for vertex in &params.held {
        if let Some(free) = free.get_mut(*vertex as usize) {
            *free = false;
        }
    }
    free
}
