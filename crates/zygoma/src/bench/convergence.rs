//! Convergence of different solvers within one step (*Progressive PD*, Fig. 3).
//!
//! All solvers start from the same step of the built-in head with its lips pressed together and stuck. Times include the cost of a change
//! of constraints before the first iteration: a new numeric factorisation (with the pattern analysed beforehand), the small dense factor of
//! the compliance, or next to nothing.

use serde::Serialize;
use zygoma_face::tissue::StepProblem;
use zygoma_numerics::{Analysis, Cholesky, NotPositiveDefinite, SymmetricMatrix};
use zygoma_physics::projective::{
    Background, GaussSeidel, GlobalStep, LineSearch, MatrixRow, Prefactored, SolveOptions, SolveReport,
    Solver,
};
use zygoma_picture::{Chart, Line, Scale};

use super::harness::milliseconds;
use super::tissue::Scene;

/// Frames until the lips are pressed together and stuck, and the cheek is moving.
const FRAMES: usize = 26;
/// Iterations of each solver.
const ITERATIONS: usize = 40;
/// Iterations after which the energy has stopped falling.
const FAR: usize = 400;
/// The iteration at which a factor computed in the background takes over, as in the paper.
const SWITCH: usize = 8;
/// Runs of each solver; the fastest counts.
const RUNS: usize = 5;

/// The step, and how each solver converged on it.
#[derive(Serialize)]
pub(crate) struct ConvergenceReport {
    pub(crate) vertices: usize,
    pub(crate) tetrahedra: usize,
    pub(crate) constraints: usize,
    pub(crate) threads: usize,
    pub(crate) ways: Vec<Way>,
}

/// One solver.
#[derive(Serialize)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// Milliseconds that a change of constraints costs before the first iteration.
    pub(crate) change_ms: f64,
    /// Mean milliseconds of the first eight iterations.
    pub(crate) iteration_ms: f64,
    /// (E − E*) / (E₀ − E*) at the start and after each iteration.
    pub(crate) relative_errors: Vec<f64>,
    /// Time at which each error was reached, including the change of constraints.
    pub(crate) at_ms: Vec<f64>,
    /// Relative error at 16 ms, including the change of constraints.
    pub(crate) at_16_ms: f64,
}

/// Compares the solvers on a face with a given number of triangles.
pub(crate) fn run(triangles: usize) -> anyhow::Result<ConvergenceReport> {
    let mut scene = Scene::new(triangles)?;
    for _ in 0..FRAMES {
        scene.advance();
    }
    let problem = scene.performing.last_step();
    let stays = problem.system.matrix(&problem.diagonal);
    let all = problem.system.matrix_with_transients(&problem.diagonal);
    let rows = problem.system.transient_rows();
    let runs = runs(&problem, &stays, &all, &rows)?;
    let mut solver = Solver::new(problem.system);
    let mut x = problem.start.clone();
    let far = options(FAR, 5, LineSearch::Wolfe);
    let mut fresh = Prefactored::<f32>::new(&all, &[])?;
    let longest = solver.minimise(problem.system, Some(&problem.inertia), &mut fresh, &far, &mut x);
    let energies = runs.iter().map(|run| &run.report).chain([&longest]).flat_map(|report| &report.energies);
    let least = energies.copied().fold(f64::INFINITY, f64::min);
    Ok(ConvergenceReport {
        vertices: problem.system.vertex_count(),
        tetrahedra: scene.tissue.tet_count(),
        constraints: rows.len(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        ways: runs.iter().map(|run| run.way(least)).collect(),
    })
}

/// The result of one solver's run.
struct Run {
    name: &'static str,
    change_ms: f64,
    total_ms: f64,
    report: SolveReport,
}

impl Run {
    fn way(&self, least: f64) -> Way {
        let first = self.report.energies[0];
        let error = |energy: &f64| (energy - least) / (first - least);
        let relative_errors: Vec<f64> = self.report.energies.iter().map(error).collect();
        let at_ms: Vec<f64> = self.report.seconds.iter().map(|s| self.change_ms + 1e3 * s).collect();
        let eighth = at_ms.len().min(9) - 1;
        let iteration_ms = (at_ms[eighth] - at_ms[0]) / eighth.max(1) as f64;
        let done = at_ms.partition_point(|ms| *ms <= 16.0);
        let at_16_ms = done.checked_sub(1).map_or(1.0, |last| relative_errors[last]);
        Way { name: self.name, change_ms: self.change_ms, iteration_ms, relative_errors, at_ms, at_16_ms }
    }
}

fn options(iterations: usize, history: usize, line_search: LineSearch) -> SolveOptions {
    SolveOptions { iterations, history, line_search, ..Default::default() }
}

/// Runs every solver, timing its own change of constraints first.
fn runs(
    problem: &StepProblem<'_>,
    stays: &SymmetricMatrix,
    all: &SymmetricMatrix,
    rows: &[MatrixRow],
) -> Result<Vec<Run>, NotPositiveDefinite> {
    let plain = options(ITERATIONS, 0, LineSearch::None);
    let quasi_newton = options(ITERATIONS, 5, LineSearch::Armijo);
    let mut candidates: Vec<u32> =
        rows.iter().flat_map(|row| row.entries.iter().map(|entry| entry.0)).collect();
    candidates.sort_unstable();
    candidates.dedup();
    let mut one = GaussSeidel::new(stays).with_fixed_iterations(1);
    let mut adaptive = GaussSeidel::new(stays);
    let mut compliance = Prefactored::<f32>::new(stays, &candidates)?;
    let mut offline = Background::new(stays, SWITCH);
    let mut fresh = Prefactored::<f32>::new(all, &[])?;
    let refactored = refactor_ms(all)?;
    let set = |step: &mut GaussSeidel<f32>| milliseconds(|| step.set_transient(rows));
    let (one_ms, adaptive_ms) = (set(&mut one), set(&mut adaptive));
    let compliance_ms = milliseconds(|| {
        // All rows act on candidates, and weights are positive.
        let _ = compliance.set_transient(rows);
    });
    let mut found = vec![
        go("Gauss-Seidel PD, one iteration", problem, &mut one, &plain, one_ms),
        go("Cholesky PD", problem, &mut fresh, &plain, refactored),
        go("L-BFGS, new Cholesky factor", problem, &mut fresh, &quasi_newton, refactored),
        go("L-BFGS, adaptive Gauss-Seidel", problem, &mut adaptive, &quasi_newton, adaptive_ms),
    ];
    found.push(fastest(|| {
        // The factor is computed while iterations go on: once for each run.
        let change = milliseconds(|| offline.refactor(rows, all.clone()));
        once("L-BFGS, Gauss-Seidel, then Cholesky", problem, &mut offline, &quasi_newton, change)
    }));
    found.push(go("L-BFGS, compliance", problem, &mut compliance, &quasi_newton, compliance_ms));
    Ok(found)
}

/// Milliseconds for a new factorisation of a matrix whose pattern has been analysed: the fastest of several runs.
///
/// Analysing the pattern again costs several times as much, but a fixed pattern that holds every candidate pair would avoid it.
fn refactor_ms(matrix: &SymmetricMatrix) -> Result<f64, NotPositiveDefinite> {
    let mut factor = Cholesky::<f32>::new(Analysis::new(matrix), matrix)?;
    let mut fastest = f64::INFINITY;
    for _ in 0..RUNS {
        let mut outcome = Ok(());
        fastest = fastest.min(milliseconds(|| outcome = factor.refactor(matrix)));
        outcome?;
    }
    Ok(fastest)
}

/// The fastest of several runs.
fn fastest(mut run: impl FnMut() -> Run) -> Run {
    let first = run();
    (1..RUNS).map(|_| run()).fold(first, |best, run| if run.total_ms < best.total_ms { run } else { best })
}

/// Runs one solver after a change of constraints that is made once.
fn go(
    name: &'static str,
    problem: &StepProblem<'_>,
    global: &mut dyn GlobalStep<f32>,
    options: &SolveOptions,
    change_ms: f64,
) -> Run {
    fastest(|| once(name, problem, global, options, change_ms))
}

fn once(
    name: &'static str,
    problem: &StepProblem<'_>,
    global: &mut dyn GlobalStep<f32>,
    options: &SolveOptions,
    change_ms: f64,
) -> Run {
    let mut solver = Solver::new(problem.system);
    let mut x = problem.start.clone();
    let mut report = SolveReport::default();
    let total_ms = milliseconds(|| {
        report = solver.minimise(problem.system, Some(&problem.inertia), global, options, &mut x);
    });
    Run { name, change_ms, total_ms, report }
}

impl ConvergenceReport {
    /// The convergence figure.
    pub(crate) fn chart(&self) -> Chart {
        let line = |way: &Way| {
            let points = way.at_ms.iter().zip(&way.relative_errors).map(|(ms, error)| [*ms, *error]);
            Line { name: way.name.to_owned(), points: points.collect() }
        };
        Chart {
            title: format!(
                "One step of tissue: {} tetrahedra, {} constraints, {} threads",
                self.tetrahedra, self.constraints, self.threads
            ),
            x_label: "milliseconds, change of constraints included".to_owned(),
            y_label: "relative error of the energy".to_owned(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            lines: self.ways.iter().map(line).collect(),
        }
    }
}
