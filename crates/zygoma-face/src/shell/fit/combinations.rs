//! Combinations of expressions, which must hold as well as single ones.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use glam::DVec3;
use zygoma_numerics::random::Keyed;
use zygoma_physics::shell::{Shell, Stiffness};

use super::certify::{Certificate, Certifier, Check, Found};
use super::worst::worst_together;
use super::{
    Continue, Expression, FitEnd, FitError, FitParams, FitProgress, FitResult, Nearby, reconstruct, refine,
};

/// A fit with its certificates.
#[derive(Clone, Debug)]
pub struct CertifiedFit {
    /// The last fit.
    pub fit: FitResult,
    /// The single expressions.
    pub shapes: Certificate,
    /// The combinations.
    pub combinations: Certificate,
    /// The combinations that a search predicted to be the worst. They are not fitted: full shapes that were never meant to be combined,
    /// such as two that open the jaw, would make all of the skin soft.
    pub searched: Certificate,
    /// Equilibria of the single expressions, the combinations and those of the search.
    pub rested: [Vec<Rested>; 3],
    /// Every fit: its number of expressions, its iterations and why it ended.
    pub rounds: Vec<(usize, Vec<FitProgress>, FitEnd)>,
    /// Seconds spent on fitting.
    pub fit_seconds: f64,
}

/// The current stage of a certified fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// The stiffness is being fitted.
    Fitting(FitProgress),
    /// The result is being certified.
    Certifying,
}

/// A combination of expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// The combined expression.
    pub expression: Expression,
    /// The single expressions, by index, and their weights. They are used only for an initial guess of the equilibrium.
    pub parts: Vec<(usize, f64)>,
}

/// Combines some of the single expressions, given by their indices.
pub type Together<'a> = dyn Fn(&[usize]) -> Combination + 'a;

/// Combinations to certify.
#[derive(Clone, Copy, Default)]
pub struct Combinations<'a> {
    /// The given combinations.
    pub given: &'a [Combination],
    /// If given, the worst combinations of the expressions at their fitted weights are searched for in the end.
    pub together: Option<&'a Together<'a>>,
}

/// An expression and its equilibrium.
#[derive(Clone, Debug, PartialEq)]
pub struct Rested {
    /// The weights of the rig's shapes.
    pub weights: Vec<f32>,
    /// The whole shell at equilibrium; its target if none was found.
    pub x: Vec<DVec3>,
}

/// Number of predicted worst combinations that are settled. Ours.
const SEARCHED: usize = 24;

/// Number of times that failing combinations are added to a fit, and how many each time. Ours.
const ROUNDS: usize = 8;
const ADDED: usize = 12;

/// Combinations this close to failing are checked again after every fit; the others once none of these fails. Ours.
const WATCHED: f64 = 0.8;

/// Fits the single expressions and adds the combinations that fail, worst first, until all hold, or the rounds or the time are used up.
/// The certificates show which expressions fail.
pub fn reconstruct_certified(
    shell: &Shell,
    targets: &[Expression],
    combinations: Combinations,
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
    // Combinations that cannot be fitted.
    let mut given_up: Vec<String> = Vec::new();
    let mut review = Review::new(shell, targets, combinations, &params);
    for round in 0..=ROUNDS {
        if progress(Stage::Certifying) == Continue::Abandon {
            return Err(FitError::Abandoned);
        }
        review.check_watched(&fit.stiffness);
        if params.budget.is_cancelled() {
            return Err(FitError::Abandoned);
        }
        let left = limit.map(|limit| limit - began.elapsed().as_secs_f64());
        let is_last = round == ROUNDS || fit.end == FitEnd::Caller || left.is_some_and(|left| left <= 0.0);
        let is_known = |name: &String| fitted.iter().any(|f| f.name == *name) || given_up.contains(name);
        let mut added = review.worst_combinations(is_known);
        if is_last || added.is_empty() {
            review.check_rest(&fit.stiffness);
            added = review.worst_combinations(is_known);
        }
        if is_last || (added.is_empty() && review.shapes_hold()) {
            break;
        }
        if !review.shapes_hold() {
            // The fit's margin for unseen effects was too small here.
            params.margin *= 0.97;
        }
        params.seconds = left;
        let before = fitted.len();
        fitted.extend(added);
        let start = Instant::now();
        let mut report = |now| progress(Stage::Fitting(now));
        let from = Nearby { stiffness: &fit.stiffness, solutions: &review.solutions(&fitted) };
        let refined = refine(shell, &fitted, &params, from, &mut report);
        fit_seconds += start.elapsed().as_secs_f64();
        let is_combination = |name: &String| targets.iter().all(|target| target.name != *name);
        match refined {
            Ok(refined) => {
                fit = refined;
                rounds.push((fitted.len(), fit.history.clone(), fit.end));
                review.outdate();
            }
            // A combination that cannot be fitted must not cost the existing fit, nor the others of this round, which the next round
            // tries without it.
            Err(FitError::Infeasible(name) | FitError::NotFinite(name)) if is_combination(&name) => {
                fitted.truncate(before);
                given_up.push(name);
            }
            Err(FitError::Abandoned) => return Err(FitError::Abandoned),
            Err(_) => break,
        }
    }
    review.check_rest(&fit.stiffness);
    if params.budget.is_cancelled() {
        return Err(FitError::Abandoned);
    }
    fit.worst.truncate(targets.len());
    fit.solutions.truncate(targets.len());
    let searched = review.search_worst(&fit.stiffness);
    if params.budget.is_cancelled() {
        return Err(FitError::Abandoned);
    }
    let [(shapes, a), (combinations, b), (searched, c)] = review.results(searched);
    Ok(CertifiedFit { fit, shapes, combinations, searched, rested: [a, b, c], rounds, fit_seconds })
}

/// Results for every expression under the current stiffness.
struct Review<'a> {
    certifier: Certifier<'a>,
    targets: &'a [Expression],
    checks: &'a [Combination],
    together: Option<&'a Together<'a>>,
    shapes: Vec<Entry>,
    combinations: Vec<Entry>,
}

/// The last result, and whether the stiffness has changed since.
#[derive(Default)]
struct Entry {
    found: Option<Found>,
    is_current: bool,
}

impl Entry {
    /// The largest distance over ε^r; infinite if no equilibrium was found.
    fn miss(&self) -> f64 {
        self.found.as_ref().and_then(|found| found.certified.worst).unwrap_or(f64::INFINITY)
    }

    fn is_watched(&self) -> bool {
        self.miss() > WATCHED
    }
}

impl<'a> Review<'a> {
    fn new(
        shell: &'a Shell,
        targets: &'a [Expression],
        combinations: Combinations<'a>,
        params: &FitParams,
    ) -> Self {
        let entries = |count: usize| (0..count).map(|_| Entry::default()).collect();
        Self {
            certifier: Certifier::new(shell, params),
            targets,
            checks: combinations.given,
            together: combinations.together,
            shapes: entries(targets.len()),
            combinations: entries(combinations.given.len()),
        }
    }

    /// Marks all results as outdated after the stiffness has changed.
    fn outdate(&mut self) {
        self.shapes.iter_mut().chain(&mut self.combinations).for_each(|entry| entry.is_current = false);
    }

    /// Checks every single expression, and the combinations that failed or nearly did; all of them the first time.
    fn check_watched(&mut self, stiffness: &Stiffness) {
        self.check_shapes(stiffness);
        self.check_combinations(stiffness, Entry::is_watched);
    }

    /// Checks the expressions that have not been checked under this stiffness yet.
    fn check_rest(&mut self, stiffness: &Stiffness) {
        self.check_shapes(stiffness);
        self.check_combinations(stiffness, |_| true);
    }

    /// Settles the combinations that are predicted to miss their targets most, judged by the single expressions.
    fn search_worst(&self, stiffness: &Stiffness) -> Vec<(Combination, Found)> {
        let Some(together) = self.together else { return Vec::new() };
        let miss = |(entry, target): (&Entry, &Expression)| -> Vec<DVec3> {
            let settled = entry.found.iter().flat_map(|found| &found.x);
            settled.zip(&target.positions).map(|(x, target)| *x - *target).collect()
        };
        let misses: Vec<Vec<DVec3>> = self.shapes.iter().zip(self.targets).map(miss).collect();
        let found: Vec<Combination> =
            worst_together(&misses, SEARCHED).iter().map(|parts| together(parts)).collect();
        let checks: Vec<Check> = found.iter().map(|combination| self.expected(combination)).collect();
        let settled = self.certifier.settle(stiffness, &checks);
        found.into_iter().zip(settled).collect()
    }

    fn check_shapes(&mut self, stiffness: &Stiffness) {
        let wanted: Vec<usize> = (0..self.shapes.len()).filter(|i| !self.shapes[*i].is_current).collect();
        let check = |i: &usize| match &self.shapes[*i].found {
            Some(found) => Check { target: &self.targets[*i], start: found.x.clone() },
            None => Check::from_target(&self.targets[*i]),
        };
        let checks: Vec<Check> = wanted.iter().map(check).collect();
        let found = self.certifier.settle(stiffness, &checks);
        take_up(&mut self.shapes, &wanted, found);
    }

    fn check_combinations(&mut self, stiffness: &Stiffness, is_wanted: impl Fn(&Entry) -> bool) {
        let entries = &self.combinations;
        let wanted: Vec<usize> =
            (0..entries.len()).filter(|i| !entries[*i].is_current && is_wanted(&entries[*i])).collect();
        let check = |i: &usize| match &self.combinations[*i].found {
            Some(found) => Check { target: &self.checks[*i].expression, start: found.x.clone() },
            None => self.expected(&self.checks[*i]),
        };
        let checks: Vec<Check> = wanted.iter().map(check).collect();
        let found = self.certifier.settle(stiffness, &checks);
        take_up(&mut self.combinations, &wanted, found);
    }

    /// Predicts that a combination misses its target by the weighted sum of the misses of its parts.
    fn expected<'c>(&self, combination: &'c Combination) -> Check<'c> {
        let Combination { expression, parts } = combination;
        let mut start = expression.positions.clone();
        for (part, weight) in parts {
            let Some(found) = self.shapes.get(*part).and_then(|entry| entry.found.as_ref()) else { continue };
            let (settled, target) = (&found.x, &self.targets[*part].positions);
            for (start, (settled, target)) in start.iter_mut().zip(settled.iter().zip(target)) {
                *start += *weight * (*settled - *target);
            }
        }
        Check { target: expression, start }
    }

    /// The last equilibrium of each of some expressions.
    fn solutions(&self, expressions: &[Expression]) -> Vec<Vec<DVec3>> {
        let shapes = self.targets.iter().zip(&self.shapes);
        let combinations = self.checks.iter().map(|check| &check.expression).zip(&self.combinations);
        let known: HashMap<&str, &Found> = shapes
            .chain(combinations)
            .filter_map(|(expression, entry)| Some((expression.name.as_str(), entry.found.as_ref()?)))
            .collect();
        let solution = |expression: &Expression| match known.get(expression.name.as_str()) {
            Some(found) => found.x.clone(),
            None => expression.positions.clone(),
        };
        expressions.iter().map(solution).collect()
    }

    fn shapes_hold(&self) -> bool {
        self.shapes.iter().all(|entry| entry.miss() <= 1.0)
    }

    /// The worst combinations that fail and are not known yet. Of those that fail at the same vertex, such as the frames of a take that
    /// holds a pose, the worst represents all.
    fn worst_combinations(&self, is_known: impl Fn(&String) -> bool) -> Vec<Expression> {
        let mut failing: Vec<(&Entry, &Expression)> = self
            .combinations
            .iter()
            .zip(self.checks)
            .map(|(entry, check)| (entry, &check.expression))
            .filter(|(entry, expression)| entry.miss() > 1.0 && !is_known(&expression.name))
            .collect();
        failing.sort_by(|(a, _), (b, _)| b.miss().total_cmp(&a.miss()));
        let mut places = BTreeSet::new();
        failing.retain(|(entry, _)| {
            let settled = entry.found.as_ref().filter(|found| found.certified.worst.is_some());
            settled.is_none_or(|found| places.insert(found.certified.vertex))
        });
        failing.into_iter().take(ADDED).map(|(_, expression)| expression.clone()).collect()
    }

    /// Certificates and equilibria: single expressions, combinations and those of the search.
    fn results(self, searched: Vec<(Combination, Found)>) -> [(Certificate, Vec<Rested>); 3] {
        let shapes = self.shapes.into_iter().zip(self.targets);
        let combinations =
            self.combinations.into_iter().zip(self.checks.iter().map(|check| &check.expression));
        let found =
            |(entry, expression): (Entry, &Expression)| Some((entry.found?, expression.weights.clone()));
        let searched =
            searched.into_iter().map(|(combination, found)| (found, combination.expression.weights));
        let all: [Vec<(Found, Vec<f32>)>; 3] = [
            shapes.filter_map(found).collect(),
            combinations.filter_map(found).collect(),
            searched.collect(),
        ];
        all.map(|found| {
            let certificate = self.certifier.certificate(found.iter().map(|(f, _)| f.certified.clone()));
            (certificate, found.into_iter().map(|(found, weights)| found.rested(weights)).collect())
        })
    }
}

fn take_up(entries: &mut [Entry], places: &[usize], found: Vec<Found>) {
    for (place, found) in places.iter().zip(found) {
        entries[*place] = Entry { found: Some(found), is_current: true };
    }
}

/// The random stream of combinations.
const COMBINATIONS: u64 = 0x1fa;

/// Seeded pairs and triples of `shapes`, with weights from 0 to 1. A shape made to be used on top of another one includes that one, with
/// at least its own weight.
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
