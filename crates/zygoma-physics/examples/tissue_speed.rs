//! Times one implicit Euler step of a two-layer sheet of flesh with contacts and sticky springs, for every global step, and prints how the
//! energy falls over time (*Progressive PD*, Fig. 3).
//!
//! `cargo run --release -p zygoma-physics --example tissue_speed -- [columns]` (84 columns: 14,450 vertices, 42,336 tetrahedra)

use std::time::Instant;

use glam::DVec3;
use zygoma_geometry::tets::split_prism;
use zygoma_physics::projective::{
    Contacts, Elements, GaussSeidel, GlobalStep, Inertia, LineSearch, Links, Material, Point, Prefactored,
    Row, SolveOptions, SolveReport, Solver, Stencil, System, Target, TissueTets, row,
};

const STEP: f64 = 0.04;
const THICKNESS: f64 = 0.008;

struct Sheet {
    rest: Vec<DVec3>,
    tets: Vec<[u32; 4]>,
    columns: usize,
}

impl Sheet {
    /// A sheet of 20 cm, bent around a head, outer layer first.
    fn new(columns: usize) -> Self {
        let count = (columns + 1) * (columns + 1);
        let layer = |radius: f64| {
            (0..count).map(move |i| {
                let (x, y) = ((i % (columns + 1)) as f64, (i / (columns + 1)) as f64);
                let angle = 2.0 * (x / columns as f64 - 0.5);
                DVec3::new(radius * angle.sin(), 0.2 * y / columns as f64, radius * angle.cos())
            })
        };
        let rest = layer(0.1).chain(layer(0.1 - THICKNESS)).collect();
        let mut tets = Vec::new();
        for i in (0..count as u32).filter(|i| (*i as usize % (columns + 1)) < columns).take(columns * columns)
        {
            let up = columns as u32 + 1;
            for t in [[i, i + 1, i + up + 1], [i, i + up + 1, i + up]] {
                tets.extend(split_prism(t, t.map(|v| v + count as u32)));
            }
        }
        Self { rest, tets, columns }
    }

    fn at(&self, x: usize, y: usize) -> u32 {
        (y * (self.columns + 1) + x) as u32
    }

    /// The flesh held by springs at its inner layer, with transient contacts and links across a line that is its mouth.
    fn system(&self) -> System<f32> {
        let mut system = System::new(self.rest.len(), self.rest.len());
        let flesh = Material { young: 2e4, poisson: 0.45 };
        let mut tissue = TissueTets::new();
        for tet in &self.tets {
            if let Some(stencil) = Stencil::tetrahedron(&self.rest, *tet) {
                tissue.push(&stencil, flesh.tissue(stencil.size, 1.0));
            }
        }
        let mut holds = Elements::<f32, Target, 1, 1, 4>::new();
        for (v, p) in self.rest.iter().enumerate().skip(self.rest.len() / 2) {
            holds.push(&Stencil::vertex(v as u32), [0.5, p.x, p.y, p.z]);
        }
        let (mut contacts, mut links) = (Contacts::new(), Links::new());
        let middle = self.columns / 2;
        for k in 0..110.min(self.columns) {
            let x = k * self.columns / 110.min(self.columns);
            let (a, b) = (Point::vertex(self.at(x, middle - 3)), Point::vertex(self.at(x, middle + 3)));
            links.push(&b.from(&a), [2.0, 0.0]);
            if k % 2 == 0 {
                contacts.push(&b.from(&a), [50.0, 0.0, 1.0, 0.0, 0.01]);
            }
        }
        let fits = "vertices of the sheet";
        system.add(tissue).expect(fits);
        system.add(holds).expect(fits);
        system.add_transient(contacts).expect(fits);
        system.add_transient(links).expect(fits);
        system
    }
}

/// Name, global step, history and line search of a way to the minimum, and what a change of constraints costs it in ms.
type Way<'a> = (&'a str, &'a mut dyn GlobalStep<f32>, usize, LineSearch, f64);

fn main() {
    let columns = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(84);
    let sheet = Sheet::new(columns);
    let system = sheet.system();
    let count = sheet.rest.len();
    let mass = 1000.0 * THICKNESS * 0.2 * 0.2 / count as f64;
    let diagonal = vec![mass / (STEP * STEP); count];
    let rows = system.transient_rows();
    println!("{count} vertices, {} tetrahedra, {} transient rows", sheet.tets.len(), rows.len());
    let mut candidates: Vec<u32> =
        rows.iter().flat_map(|row| row.entries.iter().map(|entry| entry.0)).collect();
    candidates.sort_unstable();
    candidates.dedup();
    let timed = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        1e3 * start.elapsed().as_secs_f64()
    };
    let positive = "masses make the matrix positive definite";
    let base = system.matrix(&diagonal);
    let mut compliance = None;
    let built = timed(&mut || compliance = Prefactored::<f32>::new(&base, &candidates).ok());
    let mut compliance = compliance.expect(positive);
    let changed = timed(&mut || compliance.set_transient(&rows).expect("all are candidates"));
    let mut fresh = None;
    let refactored =
        timed(&mut || fresh = Prefactored::<f32>::new(&system.matrix_with_transients(&diagonal), &[]).ok());
    let mut fresh = fresh.expect(positive);
    let mut progressive = GaussSeidel::new(&base);
    let gauss_seidel = timed(&mut || progressive.set_transient(&rows));
    let mut single = GaussSeidel::new(&base);
    single.set_transient(&rows);
    println!(
        "factor and compliance of {} candidates {built:.0} ms, once; a change of constraints {changed:.2} ms (compliance), {refactored:.0} ms (new factor), {gauss_seidel:.2} ms (Gauss-Seidel)",
        candidates.len()
    );
    // A frame's motion: the mouth opens and the head turns.
    let start: Vec<Row<f32>> = sheet.rest.iter().map(|p| row(*p)).collect();
    let moved = |p: &DVec3| {
        let open = if (p.y - 0.1).abs() < 0.05 { 0.004 * (p.y - 0.1).signum() } else { 0.0 };
        row(*p + DVec3::new(0.004 * (40.0 * p.y).sin(), open, 0.003 * (60.0 * p.x).cos()))
    };
    let predicted: Vec<Row<f32>> = sheet.rest.iter().map(moved).collect();
    let weights: Vec<f32> = diagonal.iter().map(|w| *w as f32).collect();
    let inertia = Inertia { weights: &weights, predicted: &predicted };
    let mut solver = Solver::new(&system);
    let mut run = |global: &mut dyn GlobalStep<f32>, options: &SolveOptions| -> (SolveReport, f64) {
        let mut best = (SolveReport::default(), f64::INFINITY);
        for _ in 0..5 {
            let mut x = predicted.clone();
            let mut report = SolveReport::default();
            let time =
                timed(&mut || report = solver.minimise(&system, Some(&inertia), global, options, &mut x));
            if time < best.1 {
                best = (report, time);
            }
        }
        best
    };
    let options = |iterations, history, line_search| SolveOptions {
        iterations,
        history,
        line_search,
        ..Default::default()
    };
    let far = options(200, 5, LineSearch::Armijo);
    let least = run(&mut fresh, &far).0.energies.iter().copied().fold(f64::INFINITY, f64::min);
    let ways: [Way<'_>; 4] = [
        ("Cholesky PD", &mut fresh, 0, LineSearch::None, refactored),
        ("Gauss-Seidel PD, two iterations", &mut single, 0, LineSearch::None, gauss_seidel),
        ("L-BFGS, compliance", &mut compliance, 5, LineSearch::Armijo, changed),
        ("L-BFGS, adaptive Gauss-Seidel", &mut progressive, 5, LineSearch::Armijo, gauss_seidel),
    ];
    for (name, global, history, line_search, once) in ways {
        let time = run(global, &options(8, history, line_search)).1;
        let report = run(global, &options(30, history, line_search)).0;
        let share = |energy: &f64| (energy - least) / (report.energies[0] - least);
        let falls: Vec<String> =
            report.energies.iter().map(|energy| format!("{:.1e}", share(energy))).collect();
        println!("{name}: {time:.1} ms for 8 iterations, {once:.2} ms for a change of constraints");
        println!("  relative error by iteration: {}", falls.join(" "));
    }
    let mut gradient = start.clone();
    let evaluation = (0..20)
        .map(|_| {
            timed(&mut || {
                system.energy_and_gradient(&predicted, &mut gradient);
            })
        })
        .fold(f64::INFINITY, f64::min);
    let mut s = start.clone();
    let solve = (0..20).map(|_| timed(&mut || fresh.solve(&gradient, &mut s))).fold(f64::INFINITY, f64::min);
    println!("one evaluation {evaluation:.2} ms, one factored solve {solve:.2} ms");
}
