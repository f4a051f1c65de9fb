//! An initial stiffness that is feasible and not far from the optimum.

use glam::DVec3;
use zygoma_physics::shell::{Shell, Stiffness};

use super::expressions::neighbours;
use super::{Expression, FitParams};

/// The softest initial value of a vertex, N/m.
const SOFTEST: f64 = 1e-4;

/// The fraction of the largest actuation that stretching and bending may each use where they are strongest.
const SHARE: f64 = 0.3;

/// A stiffness under which the elastic forces *at the targets* stay below the largest actuation. At equilibrium they are weaker, so this
/// is nearly always feasible, and within an order of magnitude of the optimum.
pub(super) fn start(shell: &Shell, targets: &[Expression], params: &FitParams) -> Stiffness {
    let count = shell.vertex_count();
    let (mut strain, mut bending) = (vec![0.0f64; count], vec![0.0f64; count]);
    for target in targets {
        let x = &target.positions;
        let mut forces = vec![DVec3::ZERO; count];
        for spring in &shell.springs {
            let [a, b] = spring.ends.map(|v| v as usize);
            let q = x[a] - x[b];
            let force = spring.rest_length * (q - spring.rest_length * q.normalize_or_zero());
            forces[a] += force;
            forces[b] -= force;
        }
        raise(&mut strain, &forces, shell);
        forces.fill(DVec3::ZERO);
        for bend in &shell.bends {
            let force = bend.scale * bend.pull(x);
            for (vertex, weight) in bend.vertices.iter().zip(bend.weights) {
                forces[*vertex as usize] += weight * force;
            }
        }
        raise(&mut bending, &forces, shell);
    }
    let allowed = SHARE * params.margin * params.shell.max_pressure;
    let around = neighbours(shell);
    let invert = |pressures: &[f64], wanted: f64| -> Vec<f64> {
        // A stiff neighbour pulls as hard as a stiff vertex does.
        let nearby = |v: usize| around[v].iter().map(|n| pressures[*n as usize]).fold(pressures[v], f64::max);
        (0..count).map(|v| (allowed / nearby(v).max(1e-12)).clamp(SOFTEST, wanted)).collect()
    };
    Stiffness {
        strain: invert(&strain, params.target_strain),
        bending: invert(&bending, params.target_bending),
    }
}

/// Keeps the largest force per area of every vertex.
fn raise(pressures: &mut [f64], forces: &[DVec3], shell: &Shell) {
    for ((pressure, force), area) in pressures.iter_mut().zip(forces).zip(&shell.area) {
        *pressure = pressure.max(force.length() / area);
    }
}

/// Springs shorter than this fraction of the wanted length count as that short: closer to zero they snap through over a negligible
/// distance.
const SHORTEST: f64 = 0.2;

/// The target stiffness of every vertex, strain first: κ^t, but less strain stiffness where the expressions stretch the skin, so that it
/// never stores more energy than skin of stiffness κ^ts stores at [`FitParams::stretch`].
///
/// Strain stiffness is also reduced where an expression compresses the skin so much that it would buckle. A compressed spring pushes its
/// ends aside with k (r/l − 1); where that exceeds the actuation there is no stable equilibrium near the target, whatever the barrier
/// says. Bending elements never push.
pub(super) fn wanted(shell: &Shell, targets: &[Expression], params: &FitParams) -> Vec<f64> {
    let count = shell.vertex_count();
    let (mut most_push, mut most_strain) = (vec![0.0f64; count], vec![0.0f64; count]);
    let (mut pushes, mut strains, mut springs) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
    for v in shell.springs.iter().flat_map(|spring| spring.ends) {
        springs[v as usize] += 1.0;
    }
    for target in targets {
        let x = &target.positions;
        pushes.fill(0.0);
        strains.fill(0.0);
        for spring in &shell.springs {
            let [a, b] = spring.ends.map(|v| v as usize);
            let (wanted, found) = (spring.rest_length, x[a].distance(x[b]));
            let push = wanted * (wanted / found.max(SHORTEST * wanted) - 1.0).max(0.0);
            let strain = (found / wanted - 1.0).abs();
            for v in [a, b] {
                pushes[v] += 2.0 * push;
                strains[v] += strain / springs[v];
            }
        }
        for v in 0..count {
            most_push[v] = most_push[v].max(pushes[v]);
            most_strain[v] = most_strain[v].max(strains[v]);
        }
    }
    let soft = |v: usize| (params.stretch / most_strain[v].max(1e-12)).powi(2).min(1.0);
    let strain = |v: usize| {
        let hold = SHARE * params.shell.actuation(shell.area[v]);
        (soft(v) * params.target_strain).min(hold / most_push[v].max(1e-12))
    };
    (0..count).map(strain).chain((0..count).map(|_| params.target_bending)).collect()
}
