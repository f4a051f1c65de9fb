use glam::DVec3;
use zygoma_physics::shell::{Shell, Stiffness};

use super::*;

/// A flat sheet of height 1 with two local bumps and a wide stretch as its expressions. The last columns of the sheet never move.
pub(super) fn sheet_with_bumps() -> (Shell, Vec<Expression>) {
    let (columns, rows) = (21, 15);
    let mut rest = Vec::new();
    for j in 0..rows {
        for i in 0..columns {
            let (x, y) = (i as f64 / (rows - 1) as f64, j as f64 / (rows - 1) as f64);
            rest.push(DVec3::new(x, y, 0.05 * (2.0 * x).sin() + 0.03 * (4.0 * y).cos()));
        }
    }
    let at = |i: usize, j: usize| (j * columns + i) as u32;
    let mut triangles = Vec::new();
    for j in 0..rows - 1 {
        for i in 0..columns - 1 {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            triangles.extend(if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
        }
    }
    let shape = |name: &str, at: DVec3, radius: f64, way: DVec3| {
        let moved =
            |p: &DVec3| *p + way * (1.0 - (p.truncate() - at.truncate()).length() / radius).max(0.0).powi(2);
        Expression { name: name.into(), positions: rest.iter().map(moved).collect(), weights: Vec::new() }
    };
    let targets = vec![
        shape("out", DVec3::new(0.3, 0.3, 0.0), 0.3, DVec3::new(0.0, 0.0, 0.08)),
        shape("up", DVec3::new(0.5, 0.6, 0.0), 0.35, DVec3::new(0.0, 0.07, 0.02)),
        shape("wide", DVec3::new(0.3, 0.7, 0.0), 0.4, DVec3::new(-0.1, 0.0, 0.0)),
    ];
    (Shell::new(rest, triangles).unwrap(), targets)
}

fn silent(_: FitProgress) -> Continue {
    Continue::Yes
}

#[test]
fn a_fit_is_certified_and_softest_where_the_skin_moves() {
    let (shell, targets) = sheet_with_bumps();
    let params = FitParams::default();
    let fit = reconstruct(&shell, &targets, &params, &mut silent).unwrap();
    let certificate = certify(&shell, &fit.stiffness, &targets, &params);
    assert!(certificate.holds(), "{:?}", certificate.failures());
    // As stiff as possible: at least one expression is at its limit.
    assert!(certificate.worst() > 0.9, "{}", certificate.worst());
    let losses: Vec<f64> = fit.history.iter().map(|p| p.loss).collect();
    assert!(losses[losses.len() - 1] < 0.5 * losses[0], "{losses:?}");
    let moved = |v: &usize| targets.iter().any(|t| t.positions[*v].distance(shell.rest[*v]) > 0.03);
    let still = |v: &usize| shell.rest[*v].x > 1.2;
    let median = |values: &[f64], wanted: &dyn Fn(&usize) -> bool| {
        let mut values: Vec<f64> = (0..shell.vertex_count()).filter(wanted).map(|v| values[v]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    for values in [&fit.stiffness.strain, &fit.stiffness.bending] {
        assert!(median(values, &still) > 95.0, "{}", median(values, &still));
    }
    let (strain, bending) = (median(&fit.stiffness.strain, &moved), median(&fit.stiffness.bending, &moved));
    assert!(bending < 30.0 && strain < 60.0, "{strain} {bending}");
}

#[test]
fn refining_takes_up_what_a_fit_did_not_know() {
    let (shell, targets) = sheet_with_bumps();
    let params = FitParams::default();
    let fit = reconstruct(&shell, &targets[..2], &params, &mut silent).unwrap();
    assert!(!certify(&shell, &fit.stiffness, &targets, &params).holds());
    let from = Nearby { stiffness: &fit.stiffness, solutions: &fit.solutions };
    let refined = refine(&shell, &targets, &params, from, &mut silent).unwrap();
    assert!(certify(&shell, &refined.stiffness, &targets, &params).holds());
    let whole = reconstruct(&shell, &targets, &params, &mut silent).unwrap();
    let loss = |fit: &FitResult| fit.history[fit.history.len() - 1].loss;
    assert!((loss(&refined) / loss(&whole) - 1.0).abs() < 0.1, "{} {}", loss(&refined), loss(&whole));
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    let (shell, targets) = sheet_with_bumps();
    let params = FitParams { max_iterations: 6, ..FitParams::default() };
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| reconstruct(&shell, &targets, &params, &mut silent).unwrap())
    };
    let (one, two) = (fit(1), fit(2));
    assert_eq!(one.stiffness, two.stiffness);
    assert_eq!(one.solutions, two.solutions);
}

#[test]
fn a_fit_that_is_stopped_is_feasible() {
    let (shell, targets) = sheet_with_bumps();
    for (params, wanted) in [
        (FitParams { seconds: Some(0.0), ..FitParams::default() }, FitEnd::Time),
        (FitParams { max_iterations: 2, ..FitParams::default() }, FitEnd::Iterations),
    ] {
        let fit = reconstruct(&shell, &targets, &params, &mut silent).unwrap();
        assert_eq!(fit.end, wanted);
        assert!(certify(&shell, &fit.stiffness, &targets, &params).holds());
    }
    let fit = reconstruct(&shell, &targets, &FitParams::default(), &mut |_| Continue::No).unwrap();
    assert_eq!((fit.end, fit.history.len()), (FitEnd::Caller, 1));
}

#[test]
fn an_abandoned_fit_gives_nothing() {
    let (shell, targets) = sheet_with_bumps();
    let params = FitParams::default();
    let certifying = |stage| matches!(stage, Stage::Certifying);
    for at_certifying in [false, true] {
        let mut give_up =
            |stage| if certifying(stage) == at_certifying { Continue::Abandon } else { Continue::No };
        let found = reconstruct_certified(&shell, &targets, Combinations::default(), &params, &mut give_up);
        assert!(matches!(found, Err(FitError::Abandoned)), "at certifying: {at_certifying}");
    }
}

#[test]
fn a_skin_that_is_too_stiff_is_not_certified() {
    let (shell, targets) = sheet_with_bumps();
    let stiffness = Stiffness::uniform(shell.vertex_count(), 100.0, 100.0);
    let certificate = certify(&shell, &stiffness, &targets, &FitParams::default());
    assert!(!certificate.holds());
    assert!(certificate.worst() > 1.5);
    assert_eq!(certificate.failures()[0].worst, Some(certificate.worst()));
}

#[test]
fn held_vertices_stay_at_their_targets() {
    let (shell, targets) = sheet_with_bumps();
    let held = vec![95, 96, 97];
    let params = FitParams { held: held.clone(), max_iterations: 3, ..FitParams::default() };
    let fit = reconstruct(&shell, &targets, &params, &mut silent).unwrap();
    for (solution, target) in fit.solutions.iter().zip(&targets) {
        assert!(held.iter().all(|v| solution[*v as usize] == target.positions[*v as usize]));
    }
}

#[test]
fn expressions_of_another_mesh_are_refused() {
    let (shell, mut targets) = sheet_with_bumps();
    targets[1].positions.pop();
    let error = reconstruct(&shell, &targets, &FitParams::default(), &mut silent).unwrap_err();
    assert_eq!(error.to_string(), "expression up has 314 vertices, but the shell has 315");
    targets[1].positions.push(DVec3::NAN);
    let error = reconstruct(&shell, &targets, &FitParams::default(), &mut silent).unwrap_err();
    assert_eq!(error, FitError::NotFinite("up".into()));
}

/// A combination of the sheet's expressions.
fn together(shell: &Shell, targets: &[Expression], name: &str, weights: [f64; 3]) -> Combination {
    let moved = |v: usize| -> DVec3 {
        let rest = shell.rest[v];
        rest + (0..3).map(|k| weights[k] * (targets[k].positions[v] - rest)).sum::<DVec3>()
    };
    let positions = (0..shell.vertex_count()).map(moved).collect();
    Combination {
        expression: Expression { name: name.into(), positions, weights: weights.map(|w| w as f32).to_vec() },
        parts: (0..3).zip(weights).collect(),
    }
}

fn given(checks: &[Combination]) -> Combinations<'_> {
    Combinations { given: checks, together: None }
}

#[test]
fn worse_combinations_than_those_given_are_searched_for() {
    let (shell, targets) = sheet_with_bumps();
    let params = FitParams::default();
    let mild = [together(&shell, &targets, "mild", [0.3, 0.2, 0.0])];
    let full = |parts: &[usize]| {
        let weights = [0, 1, 2].map(|part| f64::from(u8::from(parts.contains(&part))));
        together(&shell, &targets, &format!("{parts:?}"), weights)
    };
    let combinations = Combinations { given: &mild, together: Some(&full) };
    let found =
        reconstruct_certified(&shell, &targets, combinations, &params, &mut |_| Continue::Yes).unwrap();
    assert!(found.shapes.holds() && found.combinations.holds());
    let worst = found.searched.failures()[0];
    assert!(worst.worst > found.combinations.expressions[0].worst, "{worst:?}");
    let [_, _, rested] = &found.rested;
    assert_eq!(rested.len(), found.searched.expressions.len());
    // No pair or triple of full shapes is worse than the combinations found.
    let all: Vec<Expression> =
        [&[0, 1][..], &[0, 2], &[1, 2], &[0, 1, 2]].map(|parts| full(parts).expression).to_vec();
    let certificate = certify(&shell, &found.fit.stiffness, &all, &params);
    assert!((certificate.worst() - found.searched.worst()).abs() < 1e-2);
}

#[test]
fn combinations_that_fail_are_added_until_they_hold() {
    let (shell, targets) = sheet_with_bumps();
    let params = FitParams::default();
    let checks = [
        together(&shell, &targets, "pair", [0.9, 0.8, 0.0]),
        together(&shell, &targets, "more", [1.3, 0.0, 0.0]),
    ];
    let expressions: Vec<Expression> = checks.iter().map(|check| check.expression.clone()).collect();
    let alone = reconstruct(&shell, &targets, &params, &mut silent).unwrap();
    assert!(!certify(&shell, &alone.stiffness, &expressions, &params).holds());
    let found =
        reconstruct_certified(&shell, &targets, given(&checks), &params, &mut |_| Continue::Yes).unwrap();
    assert!(found.shapes.holds(), "{:?}", found.shapes.failures());
    assert!(found.combinations.holds(), "{:?}", found.combinations.failures());
    assert!(found.rounds.len() > 1 && found.rounds[1].0 > targets.len());
    assert_eq!(found.fit.solutions.len(), targets.len());
    // The verdict of a check that is independent of the fit.
    let again = certify(&shell, &found.fit.stiffness, &expressions, &params);
    assert!(again.holds() && (again.worst() - found.combinations.worst()).abs() < 2e-3);
}

#[test]
fn a_combination_that_cannot_be_fitted_costs_nothing_else() {
    let (shell, targets) = sheet_with_bumps();
    let params = FitParams::default();
    let mut broken = together(&shell, &targets, "broken", [0.5, 0.5, 0.5]);
    broken.expression.positions[7] = DVec3::NAN;
    let checks = [broken, together(&shell, &targets, "more", [1.3, 0.0, 0.0])];
    let found =
        reconstruct_certified(&shell, &targets, given(&checks), &params, &mut |_| Continue::Yes).unwrap();
    assert!(found.shapes.holds(), "{:?}", found.shapes.failures());
    let tally = found.combinations.tally();
    assert_eq!((tally.count, tally.holding, tally.worst), (2, 1, None));
    assert_eq!(found.combinations.failures()[0].name, "broken");
}

#[test]
fn a_start_that_is_too_stiff_is_softened_up_to_the_held_vertices() {
    // A lid: in the middle of a bump some vertices are held, at targets that the skin around them does not follow.
    let (shell, mut targets) = sheet_with_bumps();
    targets.truncate(1);
    let middle = DVec3::new(0.3, 0.3, 0.0);
    let near = |v: &usize| (shell.rest[*v] - middle).truncate().length() < 0.12;
    let held: Vec<u32> = (0..shell.vertex_count()).filter(near).map(|v| v as u32).collect();
    for v in &held {
        targets[0].positions[*v as usize].z += 0.05;
    }
    let params = FitParams { held, ..FitParams::default() };
    let stiff = Stiffness::uniform(shell.vertex_count(), 100.0, 100.0);
    let from = Nearby { stiffness: &stiff, solutions: &[] };
    let fit = refine(&shell, &targets, &params, from, &mut silent).unwrap();
    let certificate = certify(&shell, &fit.stiffness, &targets, &params);
    assert!(certificate.holds(), "{:?}", certificate.failures());
}

#[test]
fn certificates_do_not_depend_on_the_number_of_threads() {
    let (shell, targets) = sheet_with_bumps();
    let params = FitParams { max_iterations: 6, ..FitParams::default() };
    let checks = [
        together(&shell, &targets, "pair", [0.9, 0.8, 0.0]),
        together(&shell, &targets, "more", [1.3, 0.0, 0.0]),
        together(&shell, &targets, "all", [0.4, 0.6, 0.5]),
    ];
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut go_on = |_| Continue::Yes;
        pool.install(|| reconstruct_certified(&shell, &targets, given(&checks), &params, &mut go_on).unwrap())
    };
    let (one, two) = (fit(1), fit(2));
    assert_eq!(one.fit.stiffness, two.fit.stiffness);
    assert_eq!((one.shapes, one.combinations), (two.shapes, two.combinations));
}
