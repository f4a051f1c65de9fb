//! Laws that the whole must obey.

use glam::{DAffine3, DQuat, DVec3};
use zygoma_geometry::laplacian::Laplacian;
use zygoma_numerics::random::Keyed;

use super::test_bodies::Block;
use super::*;

const TISSUE: Material = Material { young: 3e4, poisson: 0.4 };

/// A block with elements of every energy on it, none of them strained at rest.
fn everything<T: Precision>(block: &Block) -> System<T> {
    let rest = &block.positions;
    let mut system = System::new(rest.len(), rest.len());
    let tets = || block.tets.iter().map(|tet| Stencil::tetrahedron(rest, *tet).unwrap());
    system.add(block.tissue(TISSUE)).unwrap();
    let (mut strain, mut volume, mut limit, mut shape, mut shaped) = (
        Elements::<T, Strain, 4, 3, 1>::new(),
        Elements::<T, Volume, 4, 3, 3>::new(),
        Elements::<T, StrainLimit, 4, 3, 3>::new(),
        Elements::<T, Shape, 4, 3, 10>::new(),
        ShapedTets::<T>::new(),
    );
    for s in tets() {
        strain.push(&s, Strain { weight: 1e4 * s.size });
        volume.push(&s, Volume { weight: 2e4 * s.size, volume: VolumeTarget::REST });
        limit.push(&s, StrainLimit { weight: 2e4 * s.size, low: 0.95, high: 1.05 });
        let w = 1e4 * s.size;
        let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        shape.push(&s, Shape { weight: w, shape: identity });
        let volume = VolumeTarget::REST;
        let parameters =
            ShapedCorotatedVolume { strain_weight: w, volume_weight: 2.0 * w, volume, shape: identity };
        shaped.push(&s, parameters);
    }
    system.add(strain).unwrap();
    system.add(volume).unwrap();
    system.add(limit).unwrap();
    system.add(shape).unwrap();
    system.add(shaped).unwrap();
    let [nx, ny, _] = block.counts;
    let corner =
        |i: u32| (i & 1) + (i >> 1 & 1) * (nx as u32 + 1) + (i >> 2 & 1) * ((nx + 1) * (ny + 1)) as u32;
    let mut hexahedra = Elements::<T, CorotatedVolume, 8, 3, 4>::new();
    for s in Stencil::hexahedron(rest, std::array::from_fn(|i| corner(i as u32))).unwrap() {
        hexahedra.push(&s, TISSUE.corotated_volume(s.size));
    }
    system.add(hexahedra).unwrap();
    let sheet: Vec<[u32; 3]> = (0..ny as u32)
        .flat_map(|y| (0..nx as u32).map(move |x| y * (nx as u32 + 1) + x))
        .flat_map(|a| [[a, a + 1, a + nx as u32 + 2], [a, a + nx as u32 + 2, a + nx as u32 + 1]])
        .collect();
    let (mut skin, mut area) =
        (Elements::<T, TriangleStrain, 3, 2, 1>::new(), Elements::<T, TriangleArea, 3, 2, 2>::new());
    for t in &sheet {
        let s = Stencil::triangle(rest, *t).unwrap();
        skin.push(&s, TriangleStrain { weight: TISSUE.sheet_strain_weight(1e-3) * s.size });
        area.push(&s, TriangleArea { weight: TISSUE.sheet_area_weight(1e-3) * s.size, area: 1.0 });
    }
    system.add(skin).unwrap();
    system.add(area).unwrap();
    let laplacian = Laplacian::new(rest, &sheet);
    let mut bends = Elements::<T, Length, 8, 1, 2>::new();
    for (v, neighbours) in laplacian.rows.iter().enumerate().take((nx + 1) * (ny + 1)) {
        let s = Stencil::<8, 1>::curvature(v as u32, neighbours, laplacian.areas[v]).unwrap();
        bends.push(&s, Length { weight: 1e-7 * s.size, length: s.sample(rest)[0].length() });
    }
    system.add(bends).unwrap();
    let mut springs = Elements::<T, Length, 2, 1, 2>::new();
    for t in &block.tets {
        let s = Stencil::edge(rest, [t[0], t[3]]);
        springs.push(&s, Length { weight: 5.0, length: s.size });
    }
    system.add(springs).unwrap();
    let mut links = Elements::<T, Length, 8, 1, 2>::new();
    let (a, b) = (Point::on_triangle(sheet[0], [0.2, 0.3, 0.5]), Point::vertex(rest.len() as u32 - 1));
    links.push(&b.from(&a), Length { weight: 20.0, length: b.from(&a).sample(rest)[0].length() });
    system.add_transient(links).unwrap();
    system
}

fn block() -> Block {
    let mut block = Block::new([3, 2, 2], DVec3::new(0.03, 0.02, 0.015));
    // Not all alike.
    for (i, p) in block.positions.iter_mut().enumerate() {
        let stream = Keyed::new(1, i as u64);
        *p += 1e-3 * DVec3::new(stream.normal(0), stream.normal(1), stream.normal(2));
    }
    block
}

fn shaken<T: Precision>(block: &Block, size: f64) -> Vec<Row<T>> {
    let shake = |(i, p): (usize, &DVec3)| {
        let stream = Keyed::new(2, i as u64);
        row(*p + size * DVec3::new(stream.normal(0), stream.normal(1), stream.normal(2)))
    };
    block.positions.iter().enumerate().map(shake).collect()
}

#[test]
fn the_gradient_is_that_of_the_energy() {
    let block = block();
    let system = everything::<f64>(&block);
    let x = shaken::<f64>(&block, 1e-3);
    let mut gradient = vec![[0.0; 4]; x.len()];
    system.energy_and_gradient(&x, &mut gradient);
    let mut scratch = gradient.clone();
    for (vertex, axis) in [(0, 0), (5, 1), (11, 2), (20, 0), (35, 1)] {
        let at = |by: f64, scratch: &mut Vec<Row<f64>>| {
            let mut moved = x.clone();
            moved[vertex][axis] += by;
            system.energy_and_gradient(&moved, scratch)
        };
        let slope = (at(1e-8, &mut scratch) - at(-1e-8, &mut scratch)) / 2e-8;
        assert!(
            (slope - gradient[vertex][axis]).abs() < 1e-4 * gradient[vertex][axis].abs().max(0.01),
            "{slope} {}",
            gradient[vertex][axis]
        );
    }
}

#[test]
fn wide_registers_agree_with_double_precision() {
    let block = block();
    let (wide, exact) = (everything::<f32>(&block), everything::<f64>(&block));
    let mut gradient = vec![[0.0; 4]; block.positions.len()];
    let mut reference = vec![[0.0; 4]; block.positions.len()];
    let energy = wide.energy_and_gradient(&shaken::<f32>(&block, 1e-3), &mut gradient);
    let expected = exact.energy_and_gradient(&shaken::<f64>(&block, 1e-3), &mut reference);
    assert!((energy / expected - 1.0).abs() < 1e-4, "{energy} {expected}");
    let largest = reference.iter().flatten().fold(0.0, |m: f64, g| m.max(g.abs()));
    for (a, b) in gradient.iter().flatten().zip(reference.iter().flatten()) {
        assert!((f64::from(*a) - b).abs() < 1e-4 * largest, "{a} {b}");
    }
}

#[test]
fn rigid_motions_cost_nothing() {
    let block = block();
    let system = everything::<f64>(&block);
    let motion = DAffine3::from_rotation_translation(
        DQuat::from_rotation_y(2.0) * DQuat::from_rotation_x(0.7),
        DVec3::new(0.3, -0.1, 0.2),
    );
    let x: Vec<Row<f64>> = block.positions.iter().map(|p| row(motion.transform_point3(*p))).collect();
    let mut gradient = vec![[0.0; 4]; x.len()];
    assert!(system.energy_and_gradient(&x, &mut gradient) < 1e-20);
    assert!(gradient.iter().flatten().all(|g| g.abs() < 1e-10));
}

#[test]
fn internal_forces_have_no_resultant() {
    let block = block();
    let system = everything::<f64>(&block);
    let x = shaken::<f64>(&block, 2e-3);
    let mut gradient = vec![[0.0; 4]; x.len()];
    system.energy_and_gradient(&x, &mut gradient);
    let (mut force, mut torque, mut size) = (DVec3::ZERO, DVec3::ZERO, 0.0);
    for (g, x) in gradient.iter().zip(&x) {
        force += position(g);
        torque += position(x).cross(position(g));
        size += position(g).length();
    }
    assert!(force.length() < 1e-12 * size && torque.length() < 1e-12 * size, "{force} {torque} of {size}");
}

/// A random direction over all vertices.
fn direction(count: usize, seed: u64) -> Vec<[f64; 3]> {
    let at = |v: usize| std::array::from_fn(|k| Keyed::new(seed, v as u64).normal(k as u64));
    (0..count).map(at).collect()
}

/// The product of the assembled Hessian and a direction.
fn assembled_product(system: &System<f64>, x: &[Row<f64>], direction: &[[f64; 3]]) -> Vec<f64> {
    let flat: Vec<[f64; 1]> = direction.as_flattened().iter().map(|value| [*value]).collect();
    let mut product = vec![[0.0]; flat.len()];
    system.definite_hessian(x, &[]).multiply(&flat, &mut product);
    product.into_flattened()
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn the_assembled_hessian_is_that_of_the_energy_where_it_is_definite() {
    let block = block();
    let system = everything::<f64>(&block);
    // At rest every energy has its minimum.
    let x = block.rows::<f64>();
    let along = direction(x.len(), 3);
    let assembled = assembled_product(&system, &x, &along);
    let gradient = |by: f64| {
        let moved: Vec<Row<f64>> = x
            .iter()
            .zip(&along)
            .map(|(x, d)| [x[0] + by * d[0], x[1] + by * d[1], x[2] + by * d[2], 0.0])
            .collect();
        let mut gradient = vec![[0.0; 4]; x.len()];
        system.energy_and_gradient(&moved, &mut gradient);
        gradient
    };
    let step = 1e-7;
    let (plus, minus) = (gradient(step), gradient(-step));
    let largest = assembled.iter().fold(0.0, |m: f64, value| m.max(value.abs()));
    for (v, found) in assembled.as_chunks::<3>().0.iter().enumerate() {
        for k in 0..3 {
            let measured = (plus[v][k] - minus[v][k]) / (2.0 * step);
            assert!((measured - found[k]).abs() < 1e-3 * largest, "{measured} {} of {largest}", found[k]);
        }
    }
    let exact = system.hessian_product(&x, &along);
    for (a, b) in assembled.iter().zip(exact.as_flattened()) {
        assert!((a - b).abs() < 1e-9 * largest, "{a} {b} of {largest}");
    }
}

#[test]
fn the_assembled_hessian_has_no_negative_curvature() {
    let block = block();
    let system = everything::<f64>(&block);
    // So far from rest that many elements are inverted.
    let x = shaken::<f64>(&block, 8e-3);
    let mut removed = 0;
    for seed in 10..60 {
        let along = direction(x.len(), seed);
        let definite = inner(&assembled_product(&system, &x, &along), along.as_flattened());
        let exact = inner(system.hessian_product(&x, &along).as_flattened(), along.as_flattened());
        assert!(definite > 0.0, "{definite}");
        assert!(definite >= exact - 1e-9 * definite, "{definite} {exact}");
        removed += usize::from(definite > exact * (1.0 + 1e-3));
    }
    assert!(removed > 0, "no element has negative curvature: the test shows nothing");
    // A factor exists as soon as something holds the block.
    let held = system.definite_hessian(&x, &vec![1e-3; x.len()]);
    assert!(zygoma_numerics::Cholesky::<f64>::new(zygoma_numerics::Analysis::new(&held), &held).is_ok());
}

#[test]
fn newtons_method_goes_downhill_across_negative_curvature() {
    let block = block();
    let system = everything::<f64>(&block);
    let (weights, predicted) = (vec![1.0; block.positions.len()], block.rows::<f64>());
    let inertia = Inertia { weights: &weights, predicted: &predicted };
    let mut x = shaken::<f64>(&block, 8e-3);
    let mut global = Prefactored::<f64>::new(&system.matrix_with_transients(&weights), &[]).unwrap();
    let options = SolveOptions { iterations: 100, tolerance: 1e-9, ..SolveOptions::default() };
    let report =
        Solver::new(&system).minimise_by_newton(&system, Some(&inertia), &mut global, &options, &mut x);
    assert!(report.energies.windows(2).all(|pair| pair[1] <= pair[0]), "{:?}", report.energies);
    assert!(
        report.gradient[0] < 1e-6 * report.gradient[1],
        "{:?} after {}",
        report.gradient,
        report.energies.len()
    );
}

#[test]
fn any_number_of_threads_evaluates_alike() {
    let block = Block::new([28, 18, 18], DVec3::new(0.03, 0.02, 0.02));
    let mut system = System::<f32>::new(block.positions.len(), block.positions.len());
    system.add(block.tissue(TISSUE)).unwrap();
    // Different at every vertex, so that none is taken for another.
    system.forces.iter_mut().enumerate().for_each(|(v, force)| force[1] = 1e-3 * (v as f32).sin());
    assert!(block.tets.len() > 16 * 2000, "{} elements are not evaluated in four parts", block.tets.len());
    let x = shaken::<f32>(&block, 2e-4);
    let evaluate = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut gradient = vec![[0.0; 4]; x.len()];
        let energy = pool.install(|| system.energy_and_gradient(&x, &mut gradient));
        (energy, gradient)
    };
    let one = evaluate(1);
    assert!(one == evaluate(2) && one == evaluate(4), "the gradients differ");
    let mut exact = System::<f64>::new(block.positions.len(), block.positions.len());
    exact.add(block.tissue(TISSUE)).unwrap();
    exact.forces = system.forces.iter().map(|force| force.map(f64::from)).collect();
    let mut gradient = vec![[0.0; 4]; x.len()];
    let wide: Vec<Row<f64>> = x.iter().map(|row| row.map(f64::from)).collect();
    let energy = exact.energy_and_gradient(&wide, &mut gradient);
    assert!((one.0 / energy - 1.0).abs() < 1e-4, "{} {energy}", one.0);
    let largest = gradient.iter().flatten().fold(0.0, |m: f64, g| m.max(g.abs()));
    for (a, b) in one.1.iter().flatten().zip(gradient.iter().flatten()) {
        assert!((f64::from(*a) - b).abs() < 1e-4 * largest, "{a} {b} of {largest}");
    }
}

/// A block pulled at both ends by a uniform traction: its stretch and lateral strain.
fn pulled(material: Material, traction: f64) -> (f64, f64) {
    let size = DVec3::new(0.02, 0.04, 0.02);
    let block = Block::new([2, 4, 2], size);
    let mut system = System::<f64>::new(block.positions.len(), block.positions.len());
    system.add(block.tissue(material)).unwrap();
    // Exact nodal forces of a uniform traction on the end faces: a third of every boundary triangle's area.
    for tet in &block.tets {
        for skip in 0..4 {
            let face: Vec<u32> = (0..4).filter(|k| *k != skip).map(|k| tet[k]).collect();
            for end in [0.0, size.y] {
                if face.iter().all(|v| (block.positions[*v as usize].y - end).abs() < 1e-9) {
                    let [a, b, c] = [face[0], face[1], face[2]].map(|v| block.positions[v as usize]);
                    let fraction = traction * (b - a).cross(c - a).length() / 6.0;
                    let sign = if end > 0.0 { 1.0 } else { -1.0 };
                    face.iter().for_each(|v| system.forces[*v as usize][1] += sign * fraction);
                }
            }
        }
    }
    // Nothing holds the block: a little inertia does, and does not move the balanced forces' solution.
    let mut x = block.rows();
    let weights = vec![1e-3; x.len()];
    let mut global = Prefactored::<f64>::new(&system.matrix(&weights), &[]).unwrap();
    let mut solver = Solver::new(&system);
    for _ in 0..6 {
        let predicted = x.clone();
        let inertia = Inertia { weights: &weights, predicted: &predicted };
        let options = SolveOptions { iterations: 300, tolerance: 1e-12, ..Default::default() };
        solver.minimise(&system, Some(&inertia), &mut global, &options, &mut x);
    }
    let last = x.len() - 1;
    let span = position(&x[last]) - position(&x[0]);
    (span.y / size.y - 1.0, span.x / size.x - 1.0)
}

#[test]
fn a_uniform_pull_finds_young_and_poisson() {
    for poisson in [0.0, 0.3, 0.45] {
        let material = Material { young: 2e4, poisson };
        let (along, across) = pulled(material, 20.0);
        assert!((along / 1e-3 - 1.0).abs() < 5e-3, "{poisson}: {along}");
        assert!((across + poisson * along).abs() < 5e-3 * along, "{poisson}: {across}");
    }
}

/// How far the end of a bar that hangs from its top sinks under its own weight.
fn hanging(material: Material, cuts: usize) -> f64 {
    let size = DVec3::new(0.02, 0.2, 0.02);
    let mut block = Block::new([cuts, 10 * cuts, cuts], size);
    let free = block.free_first(|p| p.y < size.y - 1e-9);
    let mut system = System::<f64>::new(block.positions.len(), free);
    system.add(block.tissue(material)).unwrap();
    for (force, mass) in system.forces.iter_mut().zip(block.masses(1000.0)) {
        force[1] = -9.81 * mass;
    }
    let mut x = block.rows();
    let mut global = Prefactored::<f64>::new(&system.matrix(&[]), &[]).unwrap();
    let options = SolveOptions { iterations: 400, tolerance: 1e-7, ..Default::default() };
    let report = Solver::new(&system).minimise(&system, None, &mut global, &options, &mut x);
    assert!(report.gradient[0] <= 1e-7 * report.gradient[1], "{report:?}");
    assert!(report.energies.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 4e-15)));
    let end = (0..free).filter(|v| block.positions[*v].y < 1e-9);
    let (sum, count) = end.fold((0.0, 0.0), |(s, n), v| (s + block.positions[v].y - x[v][1], n + 1.0));
    sum / count
}

#[test]
fn a_hanging_bar_converges_to_its_reference() {
    // ρ g L² / 2E; with lateral contraction the held end makes the bar a little stiffer.
    for (poisson, tolerance) in [(0.0, 1e-3), (0.3, 0.012)] {
        let material = Material { young: 2e5, poisson };
        let reference = 1000.0 * 9.81 * 0.2 * 0.2 / (2.0 * 2e5);
        let misses = [1, 2, 3].map(|cuts| (hanging(material, cuts) / reference - 1.0).abs());
        assert!(misses[2] < tolerance, "{poisson}: {misses:?}");
        assert!(poisson == 0.0 || (misses[1] < misses[0] && misses[2] < misses[1]), "{misses:?}");
    }
}

#[test]
fn momentum_stays_without_attachments() {
    let block = block();
    let system = everything::<f64>(&block);
    let masses = block.masses(1000.0);
    let mut dynamics = Dynamics::new(&system, shaken(&block, 1e-3), masses.clone(), 0.01);
    for (i, v) in dynamics.velocities.iter_mut().enumerate() {
        *v = [0.3, -0.2 + 2.0 * block.positions[i].x, 0.1, 0.0];
    }
    let momentum = |dynamics: &Dynamics<f64>| -> DVec3 {
        dynamics.velocities.iter().zip(&masses).map(|(v, m)| *m * position(v)).sum()
    };
    let before = momentum(&dynamics);
    let mut global =
        Prefactored::<f64>::new(&system.matrix_with_transients(&dynamics.diagonal()), &[]).unwrap();
    for _ in 0..5 {
        let options = SolveOptions { iterations: 200, tolerance: 1e-10, ..Default::default() };
        dynamics.step(&system, &mut global, &options);
        assert!(
            momentum(&dynamics).distance(before) < 1e-8 * before.length(),
            "{} {before}",
            momentum(&dynamics)
        );
    }
}

/// A block held at one end and bent by its weight, at any scale: energies by iteration.
fn bent(scale: f64, gauss_seidel: bool, options: &SolveOptions) -> SolveReport {
    let size = scale * DVec3::new(0.08, 0.02, 0.02);
    let mut block = Block::new([8, 2, 2], size);
    let free = block.free_first(|p| p.x > 1e-9 * scale);
    let mut system = System::<f64>::new(block.positions.len(), free);
    // Weights grow as the cube of the scale, lengths as the scale: the same problem in other units.
    system.add(block.tissue(TISSUE)).unwrap();
    for (force, mass) in system.forces.iter_mut().zip(block.masses(1000.0)) {
        force[1] = -9.81 * mass / scale;
    }
    let matrix = system.matrix(&[]);
    let mut global: Box<dyn GlobalStep<f64>> = if gauss_seidel {
        Box::new(GaussSeidel::new(&matrix))
    } else {
        Box::new(Prefactored::<f64>::new(&matrix, &[]).unwrap())
    };
    Solver::new(&system).minimise(&system, None, &mut *global, options, &mut block.rows())
}

/// A block of tissue that is held at one end.
fn held_block<T: Precision>() -> (Block, System<T>) {
    let mut block = Block::new([6, 2, 2], DVec3::new(0.06, 0.02, 0.02));
    let free = block.free_first(|p| p.x > 1e-9);
    let mut system = System::new(block.positions.len(), free);
    system.add(block.tissue(TISSUE)).unwrap();
    (block, system)
}

/// A block held at one end and under a sideways load, minimised a little and then again under another one: what the second search starts with,
/// energy and gradient, with and without a new evaluation.
fn reloaded<T: Factored>(changed: Changed) -> [f64; 2] {
    let (block, mut system) = held_block::<T>();
    let mut global = Prefactored::<T>::new(&system.matrix(&[]), &[]).unwrap();
    let (mut solver, mut x) = (Solver::new(&system), block.rows());
    let options = SolveOptions { iterations: 3, ..Default::default() };
    system.forces.iter_mut().for_each(|force| *force = row(DVec3::new(0.0, -2e-3, 1e-3)));
    solver.minimise(&system, None, &mut global, &options, &mut x);
    system.forces.iter_mut().for_each(|force| *force = row(DVec3::new(1e-3, 1e-3, 0.0)));
    let options = SolveOptions { changed, ..options };
    let report = solver.minimise(&system, None, &mut global, &options, &mut x);
    [report.energies[0], report.gradient[1]]
}

/// The largest relative difference of two pairs of numbers.
fn differ([a, b]: [[f64; 2]; 2]) -> f64 {
    (0..2).map(|k| (a[k] / b[k] - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn other_forces_need_no_new_evaluation() {
    let double = differ([Changed::Forces, Changed::Anything].map(reloaded::<f64>));
    assert!(double < 1e-12, "{double}");
    let single = differ([Changed::Forces, Changed::Anything].map(reloaded::<f32>));
    assert!(single < 1e-5, "{single}");
}

/// A block pressed on a floor, then on another one that lies higher and with another load: what the second search starts with.
fn on_another_floor<T: Factored>(changed: Changed) -> [f64; 2] {
    let (block, mut system) = held_block::<T>();
    let floor = system.add_transient(Elements::<T, HalfSpace, 1, 1, 5>::new()).unwrap();
    let mut global = Prefactored::<T>::new(&system.matrix(&[]), &[]).unwrap();
    let (mut solver, mut x) = (Solver::new(&system), block.rows());
    let options = SolveOptions { iterations: 3, ..Default::default() };
    let free = system.free_count() as u32;
    let mut search = |system: &mut System<T>, level: f64, options: &SolveOptions| {
        system.forces.iter_mut().for_each(|force| *force = row(DVec3::new(0.0, -0.1 * level, 0.0)));
        let floor = system.group_mut(floor);
        floor.clear();
        let plane = HalfSpace { weight: 30.0, normal: [0.0, 1.0, 0.0], offset: level };
        (0..free).for_each(|v| floor.push(&Stencil::vertex(v), plane));
        let report = solver.minimise(system, None, &mut global, options, &mut x);
        solver.release_transients(system, &x);
        [report.energies[0], report.gradient[1]]
    };
    search(&mut system, 1e-3, &options);
    search(&mut system, 3e-3, &SolveOptions { changed, ..options })
}

#[test]
fn other_transient_elements_need_no_evaluation_of_what_stays() {
    let double = differ([Changed::Transients, Changed::Anything].map(on_another_floor::<f64>));
    assert!(double < 1e-12, "{double}");
    let single = differ([Changed::Transients, Changed::Anything].map(on_another_floor::<f32>));
    assert!(single < 1e-5, "{single}");
    let forgotten = differ([Changed::Forces, Changed::Anything].map(on_another_floor::<f64>));
    assert!(forgotten > 0.1, "without the new floor it starts elsewhere: {forgotten}");
}

#[test]
fn a_step_ends_alike_wherever_its_search_starts() {
    let (block, system) = held_block::<f64>();
    let free = system.free_count();
    let masses = block.masses(1000.0)[..free].to_vec();
    let ended = |held: bool| {
        let mut dynamics = Dynamics::new(&system, block.rows(), masses.clone(), 0.01);
        dynamics.velocities.fill([0.0, 0.5, -0.2, 0.0]);
        let mut global = Prefactored::<f64>::new(&system.matrix(&dynamics.diagonal()), &[]).unwrap();
        if held {
            dynamics.begin_held();
        } else {
            dynamics.begin(&system);
        }
        let options = SolveOptions { iterations: 300, tolerance: 1e-12, ..Default::default() };
        dynamics.search(&system, &mut global, &options);
        dynamics.finish();
        (dynamics.positions, dynamics.velocities)
    };
    let ((at, speed), (held_at, held_speed)) = (ended(false), ended(true));
    let way = at.iter().zip(&held_at).map(|(a, b)| position(a).distance(position(b))).fold(0.0, f64::max);
    assert!(way < 1e-9, "{way}");
    let off = speed.iter().zip(&held_speed).map(|(a, b)| position(a).distance(position(b)));
    assert!(off.fold(0.0, f64::max) < 1e-6);
    assert!(at.iter().zip(&block.positions).any(|(x, rest)| position(x).distance(*rest) > 1e-4), "it moves");
}

#[test]
fn iteration_counts_do_not_change_with_scale() {
    for gauss_seidel in [false, true] {
        let options = SolveOptions { iterations: 2000, tolerance: 1e-4, ..Default::default() };
        let [small, large] = [1.0, 1024.0].map(|scale| bent(scale, gauss_seidel, &options));
        let fallen = small.gradient[0] / small.gradient[1];
        assert!(fallen <= 1e-4 && small.iterations() > 5, "{fallen} after {}", small.iterations());
        assert!(
            small.iterations().abs_diff(large.iterations()) <= 1,
            "{} {}",
            small.iterations(),
            large.iterations()
        );
        let fractions = |r: &SolveReport| {
            r.energies.iter().map(|e| e / r.energies[r.energies.len() - 1]).collect::<Vec<_>>()
        };
        for (a, b) in fractions(&small).iter().zip(fractions(&large)).take(6) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}

#[test]
fn all_ways_lead_to_the_same_minimum_and_never_uphill() {
    let far = |line_search, history| SolveOptions {
        iterations: 3000,
        tolerance: 1e-6,
        line_search,
        history,
        ..Default::default()
    };
    let reference = bent(1.0, false, &far(LineSearch::Armijo, 5));
    let least = reference.energies[reference.iterations()];
    for (gauss_seidel, line_search, history) in [
        (false, LineSearch::Wolfe, 5),
        (true, LineSearch::Armijo, 5),
        (false, LineSearch::Armijo, 0),
        (false, LineSearch::None, 0),
    ] {
        let report = bent(1.0, gauss_seidel, &far(line_search, history));
        assert!(report.energies.windows(2).all(|pair| pair[1] <= pair[0] + 1e-15), "{line_search:?}");
        let found = report.energies[report.iterations()];
        assert!((found / least - 1.0).abs() < 1e-6, "{line_search:?} {history}: {found} {least}");
    }
    let plain = bent(1.0, false, &far(LineSearch::Armijo, 0));
    assert!(
        2 * reference.iterations() < plain.iterations(),
        "{} {}",
        reference.iterations(),
        plain.iterations()
    );
}

#[test]
fn compliance_is_as_good_as_a_fresh_factor() {
    let block = block();
    let system = everything::<f64>(&block);
    let hold = vec![0.5; block.positions.len()];
    let last = block.positions.len() as u32 - 1;
    let rows = system.transient_rows();
    let mut candidates: Vec<u32> = rows.iter().flat_map(|row| row.entries.iter().map(|e| e.0)).collect();
    let mut fresh = Prefactored::<f64>::new(&system.matrix_with_transients(&hold), &[]).unwrap();
    let mut updated = Prefactored::<f64>::new(&system.matrix(&hold), &candidates).unwrap();
    updated.set_transient(&rows).unwrap();
    let q: Vec<Row<f64>> = shaken(&block, 1.0);
    let (mut a, mut b) = (q.clone(), q.clone());
    fresh.solve(&q, &mut a);
    updated.solve(&q, &mut b);
    let largest = a.iter().flatten().fold(0.0, |m: f64, v| m.max(v.abs()));
    for (a, b) in a.iter().zip(&b) {
        assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-9 * largest));
    }
    candidates.retain(|v| *v != last);
    let mut narrow = Prefactored::<f64>::new(&system.matrix(&hold), &candidates).unwrap();
    assert_eq!(narrow.set_transient(&rows), Err(TransientError::NoCandidate(last)));
}

#[test]
fn the_adjoint_is_the_derivative_of_an_equilibrium() {
    let size = DVec3::new(0.04, 0.02, 0.02);
    let mut block = Block::new([4, 2, 2], size);
    let free = block.free_first(|p| p.x > 1e-9);
    let mut system = System::<f64>::new(block.positions.len(), free);
    system.add(block.tissue(TISSUE)).unwrap();
    let base: Vec<Row<f64>> =
        (0..free).map(|v| [0.0, -2e-2 * Keyed::new(3, v as u64).uniform(0), 1e-2, 0.0]).collect();
    let loss: Vec<[f64; 3]> =
        (0..free).map(|v| [0, 1, 2].map(|k| Keyed::new(4, v as u64).normal(k))).collect();
    let mut global = Prefactored::<f64>::new(&system.matrix(&[]), &[]).unwrap();
    let options = SolveOptions { iterations: 3000, tolerance: 1e-11, ..Default::default() };
    let mut solved = |forces: &[Row<f64>]| {
        system.forces.copy_from_slice(forces);
        let mut x = block.rows();
        let report = Solver::new(&system).minimise(&system, None, &mut global, &options, &mut x);
        assert!(
            report.gradient[0] < 1e-9 * report.gradient[1],
            "{:?}",
            (report.gradient, report.iterations(), report.stalled)
        );
        x
    };
    let value = |x: &[Row<f64>]| -> f64 {
        x.iter().zip(&loss).map(|(x, l)| (0..3).map(|k| x[k] * l[k]).sum::<f64>()).sum()
    };
    let step = 1e-5;
    let mut measured = Vec::new();
    for (vertex, axis) in [(3, 0), (10, 1), (free - 1, 2)] {
        let ends = [step, -step].map(|by| {
            let mut forces = base.clone();
            forces[vertex][axis] += by;
            value(&solved(&forces))
        });
        measured.push((vertex, axis, (ends[0] - ends[1]) / (2.0 * step)));
    }
    let x = solved(&base);
    let lambda = adjoint(&system, &x, &[], &mut global, &loss, 1e-10, 2000).unwrap();
    for (vertex, axis, slope) in measured {
        let found = lambda[vertex][axis];
        assert!((found - slope).abs() < 1e-3 * slope.abs().max(1e-3), "{found} {slope}");
    }
}
