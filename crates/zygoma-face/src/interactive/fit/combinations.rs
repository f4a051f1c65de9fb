//! Expressions are used together: combinations that must hold as well as single ones.

use std::time::Instant;

use zygoma_numerics::random::Keyed;
use zygoma_physics::shell::Shell;

use super::certify::{Certificate, Certified, certify};
use super::{Continue, Expression, FitEnd, FitError, FitParams, FitProgress, FitResult, reconstruct, refine};

/// A fit with what was certified about it.
#[derive(Clone, Debug)]
pub struct CertifiedFit {
    /// The last fit.
    pub fit: FitResult,
    /// The single expressions.
    pub shapes: Certificate,
    /// The combinations.
    pub combinations: Certificate,
    /// Every fit: how many expressions it had, its iterations and why it ended.
    pub rounds: Vec<(usize, Vec<FitProgress>, FitEnd)>,
    /// Seconds of fitting.
    pub fit_seconds: f64,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// The stiffness is being fitted.
    Fitting(FitProgress),
    /// The result is being certified.
    Certifying,
}

/// How many times failing combinations are added to a fit, and how many each time.
const ROUNDS: usize = 4;
const ADDED: usize = 16;

/// Combinations this close to failing are checked again after every fit; the others in the end. Ours.
const WATCHED: f64 = 0.8;

/// A fit of single expressions to which the combinations that fail under it are added, the worst first, until all hold, or
/// it has been tried a few times, or the time is over. The certificates say what could not be had.
pub fn reconstruct_certified(
    shell: &Shell,
    targets: &[Expression],
    checks: &[Expression],
    params: &FitParams,
    progress: &mut dyn FnMut(Stage) -> Continue,
) -> Result<CertifiedFit, FitError> {
    let began = Instant::now();
    let mut params = params.clone();
    let limit = params.seconds;
    let mut fit = reconstruct(shell, targets, &params, &mut |now| progress(Stage::Fitting(now)))?;
    let mut fit_seconds = began.elapsed().as_secs_f64();
    let mut rounds = vec![(targets.len(), fit.history.clone(), fit.end)];
    let mut fitted = targets.to_vec();
    progress(Stage::Certifying);
    let mut shapes = certify(shell, &fit.stiffness, targets, &params);
    let mut combinations = certify(shell, &fit.stiffness, checks, &params);
    for _ in 0..ROUNDS {
        let left = limit.map(|limit| limit - began.elapsed().as_secs_f64());
        let added = worst_of(checks, &combinations, &fitted);
        if fit.end == FitEnd::Caller
            || left.is_some_and(|left| left <= 0.0)
            || (added.is_empty() && shapes.holds())
        {
            break;
        }
        if !shapes.holds() {
            // The fit leaves a margin for what it does not see; here it was too little.
            params.margin *= 0.97;
        }
        params.seconds = left;
        fitted.extend(added);
        let start = Instant::now();
        let mut tell = |now| progress(Stage::Fitting(now));
        let refined = refine(shell, &fitted, &params, &fit.stiffness, &mut tell);
        // A combination that no stiffness lets the skin follow must not cost the fit that there is.
        let Ok(refined) = refined else { break };
        fit = refined;
        fit_seconds += start.elapsed().as_secs_f64();
        rounds.push((fitted.len(), fit.history.clone(), fit.end));
        progress(Stage::Certifying);
        shapes = certify(shell, &fit.stiffness, targets, &params);
        recheck(shell, checks, &params, &fit, &mut combinations);
    }
    if rounds.len() > 1 {
        combinations = certify(shell, &fit.stiffness, checks, &params);
    }
    fit.worst.truncate(targets.len());
    fit.solutions.truncate(targets.len());
    Ok(CertifiedFit { fit, shapes, combinations, rounds, fit_seconds })
}

/// The worst combinations that fail and are not fitted yet.
fn worst_of(checks: &[Expression], certificate: &Certificate, fitted: &[Expression]) -> Vec<Expression> {
    let miss = |found: &Certified| found.worst.unwrap_or(f64::INFINITY);
    let mut failing: Vec<(&Expression, &Certified)> = checks
        .iter()
        .zip(&certificate.expressions)
        .filter(|(check, found)| miss(found) > 1.0 && fitted.iter().all(|f| f.name != check.name))
        .collect();
    failing.sort_by(|(_, a), (_, b)| miss(b).total_cmp(&miss(a)));
    failing.into_iter().take(ADDED).map(|(check, _)| check.clone()).collect()
}

/// Certifies those again that failed or nearly did.
fn recheck(
    shell: &Shell,
    checks: &[Expression],
    params: &FitParams,
    fit: &FitResult,
    certificate: &mut Certificate,
) {
    let watched: Vec<usize> = (0..checks.len())
        .filter(|i| certificate.expressions[*i].worst.is_none_or(|worst| worst > WATCHED))
        .collect();
    let again: Vec<Expression> = watched.iter().map(|i| checks[*i].clone()).collect();
    let found = certify(shell, &fit.stiffness, &again, params);
    for (index, found) in watched.into_iter().zip(found.expressions) {
        certificate.expressions[index] = found;
    }
}

/// What the random numbers of combinations are for.
const COMBINATIONS: u64 = 0x1fa;

/// Seeded pairs and triples of `shapes`, with weights from 0 to 1. A shape that is made to be used on top of another one
/// brings that one along, with at least its own weight.
pub fn seeded_combinations(
    shapes: &[usize],
    base_of: &dyn Fn(usize) -> Option<usize>,
    count: usize,
    seed: u64,
) -> Vec<Vec<(usize, f64)>> {
    if shapes.len() < 2 {
        return Vec::new();
    }
    let combination = |index: usize| {
        let random = Keyed::new(seed, COMBINATIONS.wrapping_add(index as u64));
        let size = (2 + index % 2).min(shapes.len());
        let mut parts: Vec<(usize, f64)> = Vec::new();
        let mut tick = 0;
        while parts.len() < size {
            let part = shapes[(random.uniform(2 * tick) * shapes.len() as f64) as usize];
            if parts.iter().all(|(other, _)| *other != part) {
                parts.push((part, random.uniform(2 * tick + 1)));
            }
            tick += 1;
        }
        for (shape, weight) in parts.clone() {
            let Some(base) = base_of(shape) else { continue };
            match parts.iter_mut().find(|(other, _)| *other == base) {
                Some((_, under)) => *under = under.max(weight),
                None => parts.push((base, weight)),
            }
        }
        parts.sort_by_key(|(part, _)| *part);
        parts
    };
    (0..count).map(combination).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_seeded_and_bring_their_bases_along() {
        let shapes = [0, 2, 3, 5, 7];
        let base_of = |shape: usize| (shape == 3).then_some(9);
        let found = seeded_combinations(&shapes, &base_of, 60, 7);
        assert_eq!(found, seeded_combinations(&shapes, &base_of, 60, 7));
        assert_ne!(found, seeded_combinations(&shapes, &base_of, 60, 8));
        let mut with_base = 0;
        for parts in &found {
            let weight = |shape: usize| parts.iter().find(|(s, _)| *s == shape).map(|(_, w)| *w);
            assert!(parts.iter().all(|(_, weight)| (0.0..=1.0).contains(weight)));
            assert_eq!(weight(3).is_some(), weight(9).is_some());
            if let (Some(shape), Some(base)) = (weight(3), weight(9)) {
                assert!(base >= shape);
                with_base += 1;
            }
            let drawn = parts.iter().filter(|(shape, _)| *shape != 9).count();
            assert!(drawn == 2 || drawn == 3);
        }
        assert!(with_base > 10);
    }
}
