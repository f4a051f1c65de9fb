use glam::{DQuat, DVec3};
use zygoma_numerics::{NewtonParams, SymmetricMatrix};

use super::*;
use crate::shell::Equilibrium;
use crate::shell::test_shells::bumpy_sheet;

fn uneven(count: usize) -> Stiffness {
    let value = |i: usize| 2.0 + (i as f64).sin();
    Stiffness {
        strain: (0..count).map(value).collect(),
        bending: (0..count).map(|i| 0.3 * value(3 * i + 1)).collect(),
    }
}

/// The sheet, a target that bends and stretches it, and positions some way off both.
fn scene() -> (Shell, Vec<DVec3>, Vec<DVec3>) {
    let shell = bumpy_sheet(6, 5);
    let target: Vec<DVec3> =
        shell.rest.iter().map(|p| *p + 0.04 * DVec3::new(p.y, (3.0 * p.x).sin(), p.x * p.y)).collect();
    let noise =
        |i: usize| DVec3::new((7.0 * i as f64).sin(), (5.0 * i as f64).cos(), (11.0 * i as f64).sin());
    let x = target.iter().enumerate().map(|(i, p)| *p + 0.01 * noise(i)).collect();
    (shell, target, x)
}

fn whole(shell: &Shell, target: &[DVec3]) -> EquilibriumProblem {
    EquilibriumProblem::new(shell, &ShellParams::default(), target, &vec![true; shell.vertex_count()])
}

fn dense(matrix: &SymmetricMatrix, direction: &[DVec3]) -> Vec<DVec3> {
    let x: Vec<[f64; 1]> = direction.iter().flat_map(DVec3::to_array).map(|v| [v]).collect();
    let mut out = vec![[0.0]; x.len()];
    matrix.multiply(&x, &mut out);
    out.as_flattened().as_chunks::<3>().0.iter().map(|v| DVec3::from_array(*v)).collect()
}

#[test]
fn gradient_is_the_slope_of_the_energy() {
    let (shell, target, x) = scene();
    let problem = whole(&shell, &target);
    let weights = problem.weights(&uneven(shell.vertex_count()));
    let mut gradient = vec![DVec3::ZERO; x.len()];
    problem.gradient(&weights, &x, &mut gradient);
    let scale = gradient.iter().map(|g: &DVec3| g.length()).fold(0.0, f64::max);
    for vertex in [0, 7, 13, 29] {
        for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
            let moved = |h: f64| {
                let mut x = x.clone();
                x[vertex] += h * axis;
                problem.energy(&weights, &x)
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((slope - gradient[vertex].dot(axis)).abs() < 1e-6 * scale);
        }
    }
}

#[test]
fn hessian_is_the_change_of_the_gradient() {
    let (shell, target, x) = scene();
    let problem = whole(&shell, &target);
    let weights = problem.weights(&uneven(shell.vertex_count()));
    let mut matrix = problem.matrix();
    problem.hessian(&weights, &x, 0.0, &mut matrix);
    let direction: Vec<DVec3> =
        (0..x.len()).map(|i| DVec3::new((i as f64).cos(), 0.3, (2.0 * i as f64).sin())).collect();
    let expected = dense(&matrix, &direction);
    let gradient_at = |h: f64| {
        let moved: Vec<DVec3> = x.iter().zip(&direction).map(|(p, d)| *p + h * *d).collect();
        let mut gradient = vec![DVec3::ZERO; x.len()];
        problem.gradient(&weights, &moved, &mut gradient);
        gradient
    };
    let (ahead, behind) = (gradient_at(1e-6), gradient_at(-1e-6));
    let scale = expected.iter().map(|g: &DVec3| g.length()).fold(0.0, f64::max);
    for i in 0..x.len() {
        assert!(((ahead[i] - behind[i]) / 2e-6 - expected[i]).length() < 1e-6 * scale);
    }
}

#[test]
fn turning_shell_and_target_turns_the_forces() {
    let (shell, target, x) = scene();
    let turn = |p: &DVec3| {
        DQuat::from_rotation_y(0.7) * (DQuat::from_rotation_x(-0.4) * *p) + DVec3::new(0.3, 1.0, -2.0)
    };
    let turned = |points: &[DVec3]| -> Vec<DVec3> { points.iter().map(turn).collect() };
    let stiffness = uneven(shell.vertex_count());
    let forces = |target: &[DVec3], x: &[DVec3]| {
        let problem = whole(&shell, target);
        let weights = problem.weights(&stiffness);
        let mut gradient = vec![DVec3::ZERO; x.len()];
        problem.gradient(&weights, x, &mut gradient);
        (problem.energy(&weights, x), gradient)
    };
    let (energy, plain) = forces(&target, &x);
    let (turned_energy, other) = forces(&turned(&target), &turned(&x));
    assert!((energy - turned_energy).abs() < 1e-10 * energy);
    for (a, b) in plain.iter().zip(&other) {
        assert!((turn(a) - turn(&DVec3::ZERO) - *b).length() < 1e-9);
    }
}

#[test]
fn elastic_forces_add_up_to_nothing() {
    let (shell, _, x) = scene();
    // With the target at x itself there is no actuation.
    let problem = whole(&shell, &x);
    let weights = problem.weights(&uneven(shell.vertex_count()));
    let mut gradient = vec![DVec3::ZERO; x.len()];
    problem.gradient(&weights, &x, &mut gradient);
    let torque: DVec3 = gradient.iter().zip(&x).map(|(g, p)| p.cross(*g)).sum();
    assert!(gradient.iter().sum::<DVec3>().length() < 1e-12);
    assert!(torque.length() < 1e-12, "{torque}");
    assert!(gradient[8].length() > 1e-3);
}

#[test]
fn the_rest_shape_has_no_forces() {
    let shell = bumpy_sheet(6, 5);
    let problem = whole(&shell, &shell.rest);
    let weights = problem.weights(&uneven(shell.vertex_count()));
    let mut gradient = vec![DVec3::ZERO; shell.vertex_count()];
    problem.gradient(&weights, &shell.rest, &mut gradient);
    for (i, force) in gradient.iter().enumerate() {
        assert!(force.length() < 1e-14, "vertex {i}: {force}");
    }
}

#[test]
fn a_single_spring_settles_where_its_equation_says() {
    // One triangle without bending, pulled apart uniformly: every edge and actuation balance alike.
    let rest: Vec<DVec3> =
        (0..3).map(|k| DQuat::from_rotation_z(k as f64 * std::f64::consts::TAU / 3.0) * DVec3::X).collect();
    let shell = Shell::new(rest.clone(), vec![[0, 1, 2]]).unwrap();
    let target: Vec<DVec3> = rest.iter().map(|p| 1.2 * *p).collect();
    let problem = whole(&shell, &target);
    let weights = problem.weights(&Stiffness::uniform(3, 500.0, 0.0));
    let equilibrium = Equilibrium::new(&problem, &weights, &NewtonParams::default()).unwrap();
    // Radially: a (r − 1.2) + 2 cos(30°) k (√3 r − √3) = 0, with k = √3 κ.
    let (a, k) = (problem.actuation()[0], 3f64.sqrt() * 500.0);
    let radius = (1.2 * a + 3.0 * k) / (a + 3.0 * k);
    for p in &equilibrium.x {
        assert!((p.length() - radius).abs() < 1e-6, "{} {radius}", p.length());
    }
}

#[test]
fn equilibrium_and_adjoint_of_a_part_agree_with_differences() {
    let (shell, target, _) = scene();
    let free: Vec<bool> = (0..shell.vertex_count()).map(|i| i % 6 != 0).collect();
    let problem = EquilibriumProblem::new(&shell, &ShellParams::default(), &target, &free);
    let params = NewtonParams { tolerance: 1e-12, max_factors: 50, ..NewtonParams::default() };
    let stiffness = uneven(shell.vertex_count());
    let loss = |stiffness: &Stiffness| {
        let equilibrium = Equilibrium::new(&problem, &problem.weights(stiffness), &params).unwrap();
        let miss = |i: usize| equilibrium.x[i].distance_squared(problem.target()[i]);
        (0..problem.free_count()).map(miss).sum::<f64>()
    };
    let weights = problem.weights(&stiffness);
    let mut equilibrium = Equilibrium::new(&problem, &weights, &params).unwrap();
    let rhs: Vec<DVec3> =
        (0..problem.free_count()).map(|i| -2.0 * (equilibrium.x[i] - problem.target()[i])).collect();
    let adjoint = equilibrium.adjoint(&problem, &weights, &rhs).unwrap();
    let mut gradient = Stiffness::uniform(shell.vertex_count(), 0.0, 0.0);
    problem.add_stiffness_gradient(&equilibrium.x, &adjoint, &mut gradient);
    for vertex in [0, 4, 14, 27] {
        let change = |h: f64, bending: bool| {
            let mut other = stiffness.clone();
            let values = if bending { &mut other.bending } else { &mut other.strain };
            values[vertex] += h;
            loss(&other)
        };
        for (bending, expected) in [(false, gradient.strain[vertex]), (true, gradient.bending[vertex])] {
            let slope = (change(1e-4, bending) - change(-1e-4, bending)) / 2e-4;
            assert!(
                (slope - expected).abs() < 1e-4 * expected.abs(),
                "{vertex} {bending}: {slope} {expected}"
            );
        }
    }
}

#[test]
fn an_equilibrium_is_in_balance_by_the_other_count_too() {
    let (shell, target, x) = scene();
    let stiffness = uneven(shell.vertex_count());
    let problem = whole(&shell, &target);
    let params = NewtonParams { tolerance: 1e-10, max_factors: 50, ..NewtonParams::default() };
    let equilibrium = Equilibrium::new(&problem, &problem.weights(&stiffness), &params).unwrap();
    let worst = |x: &[DVec3]| {
        imbalance(&shell, &ShellParams::default(), &stiffness, &target, x).into_iter().fold(0.0, f64::max)
    };
    assert!(worst(&equilibrium.x) < 2e-10, "{}", worst(&equilibrium.x));
    assert!(worst(&x) > 1e-3);
}

#[test]
fn another_target_is_settled_as_if_made_for_it() {
    let (shell, target, x) = scene();
    let count = shell.vertex_count();
    let free: Vec<bool> = (0..count).map(|v| v % 7 != 3).collect();
    let of = |target: &[DVec3]| EquilibriumProblem::new(&shell, &ShellParams::default(), target, &free);
    let (made, moved) = (of(&target), of(&shell.rest).retargeted(&shell, &target));
    let weights = made.weights(&uneven(count));
    let params = NewtonParams { tolerance: 1e-10, ..NewtonParams::default() };
    let equilibrium = Equilibrium::new(&made, &weights, &params).unwrap();
    let start: Vec<DVec3> = moved.vertices().iter().map(|v| x[*v as usize]).collect();
    let held = |v: usize| v >= moved.free_count();
    let start: Vec<DVec3> =
        start.iter().enumerate().map(|(v, x)| if held(v) { moved.target()[v] } else { *x }).collect();
    let mut again = Equilibrium::unsolved(&moved, &weights, start.clone()).unwrap();
    for _ in 0..2 {
        again.restart(&moved, &weights, start.clone(), &params).unwrap();
        let worst = again.x.iter().zip(&equilibrium.x).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(worst < 1e-8, "{worst}");
    }
}
