use proptest::prelude::*;
use zygoma_numerics::random::Keyed;
use zygoma_numerics::svd3::{Vec3, svd3};

use super::derivative::Differentiable;
use super::kinds::*;

fn numbers<const R: usize>(stream: Keyed, from: u64, size: f64) -> [Vec3<f64>; R] {
    std::array::from_fn(|r| std::array::from_fn(|k| size * stream.normal(from + (3 * r + k) as u64)))
}

fn moved<const R: usize>(z: &[Vec3<f64>; R], along: &[Vec3<f64>; R], by: f64) -> [Vec3<f64>; R] {
    std::array::from_fn(|r| std::array::from_fn(|k| z[r][k] + by * along[r][k]))
}

fn inner<const R: usize>(a: &[Vec3<f64>; R], b: &[Vec3<f64>; R]) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b).sum()
}

/// Stress against differences of energy, its change against differences of stress, and the symmetry of that change.
fn check<K: Differentiable<R, P>, const R: usize, const P: usize>(
    z: &[Vec3<f64>; R],
    p: &[f64; P],
    seed: u64,
) {
    let stream = Keyed::new(11, seed);
    let (along, other) = (numbers::<R>(stream, 0, 1.0), numbers::<R>(stream, 40, 1.0));
    let step = 1e-5;
    let [plus, minus] = [step, -step].map(|by| K::evaluate(&moved(z, &along, by), p));
    let (energy, stress) = K::evaluate(z, p);
    let scale = p[0] * (1.0 + inner(z, z)) + energy;
    let slope = (plus.0 - minus.0) / (2.0 * step);
    assert!((slope - inner(&stress, &along)).abs() < 1e-6 * scale, "{slope} {}", inner(&stress, &along));
    let change = K::stress_change(z, p, &along);
    let measured = moved(&plus.1, &minus.1, -1.0);
    for (c, m) in change.iter().flatten().zip(measured.iter().flatten()) {
        assert!((c - m / (2.0 * step)).abs() < 1e-5 * scale, "{c} {}: {z:?}", m / (2.0 * step));
    }
    let (ab, ba) = (inner(&change, &other), inner(&K::stress_change(z, p, &other), &along));
    assert!((ab - ba).abs() < 1e-8 * scale, "symmetric: {ab} {ba}");
}

/// A gradient around the identity, as `seed` has it.
fn gradient<const R: usize>(seed: u64, spread: f64) -> [Vec3<f64>; R] {
    let mut z = numbers::<R>(Keyed::new(12, seed), 0, spread);
    for r in 0..R {
        z[r][r] += 1.0;
    }
    z
}

proptest! {
    #[test]
    fn stresses_and_their_changes_agree_with_differences(seed in 0_u64..100_000) {
        let solid = gradient::<3>(seed, 0.25);
        let d = svd3(&solid).d;
        // Away from the places where a closest point jumps or a limit begins.
        prop_assume!(d[1] + d[2] > 0.3 && d[2] > 0.1 && d.iter().all(|d| (d - 0.9).abs() > 1e-3 && (d - 1.1).abs() > 1e-3));
        let goal: [f64; 9] = std::array::from_fn(|k| if k % 4 == 0 { 1.1 } else { 0.1 * k as f64 - 0.4 });
        let with_goal: [f64; 10] = std::array::from_fn(|k| if k == 0 { 3.0 } else { goal[k - 1] });
        check::<Strain, 3, 1>(&solid, &[2.0], seed);
        check::<Volume, 3, 3>(&solid, &[2.0, 1.0, 1.0], seed);
        check::<Volume, 3, 3>(&solid, &[2.0, 0.7, 0.7_f64.cbrt()], seed);
        check::<Tissue, 3, 4>(&solid, &[2.0, 5.0, 1.2, 1.2_f64.cbrt()], seed);
        check::<StrainLimit, 3, 3>(&solid, &[2.0, 0.9, 1.1], seed);
        check::<GradientTarget, 3, 10>(&solid, &with_goal, seed);
        check::<Target, 1, 4>(&gradient::<1>(seed, 0.25), &[2.0, 0.1, 0.2, 0.3], seed);
        check::<Line, 1, 7>(&gradient::<1>(seed, 0.25), &[2.0, 0.1, 0.2, 0.3, 0.6, 0.0, 0.8], seed);
        check::<Length, 1, 2>(&gradient::<1>(seed, 0.25), &[2.0, 0.7], seed);
        let plane = gradient::<1>(seed, 0.25);
        prop_assume!((plane[0][0] - 0.8).abs() > 1e-3);
        check::<HalfSpace, 1, 5>(&plane, &[2.0, 1.0, 0.0, 0.0, 0.8], seed);
        let flat = gradient::<2>(seed, 0.25);
        check::<TriangleStrain, 2, 1>(&flat, &[2.0], seed);
        check::<TriangleArea, 2, 2>(&flat, &[2.0, 0.8], seed);
        let well_shaped = with_goal.map(|x| x * 0.3);
        let shape: [f64; 10] = std::array::from_fn(|k| well_shaped[k] + if k > 0 && (k - 1) % 4 == 0 { 0.7 } else { 0.0 });
        check::<Shape, 3, 10>(&solid, &shape, seed);
        let shaped = [2.0, 5.0, 1.2, 1.2_f64.cbrt(), 0.8, 0.1, 0.02, -0.05, 1.3, 0.15, 0.1, 0.2, 1.1];
        check::<ShapedTissue, 3, 13>(&solid, &shaped, seed);
    }
}

/// An unshaped element is tissue, and a shaped one is the sum of its shape and its volume.
#[test]
fn shaped_tissue_is_what_its_parts_are() {
    let cube_root = 0.9_f64.cbrt();
    for seed in 0..30 {
        let z = gradient::<3>(seed, 0.3);
        let shaped = |a: [f64; 9]| {
            let tissue = [2.0, 5.0, 0.9, cube_root];
            ShapedTissue::evaluate(&z, &std::array::from_fn(|k| if k < 4 { tissue[k] } else { a[k - 4] }))
        };
        let whole = shaped([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(whole, Tissue::evaluate(&z, &[2.0, 5.0, 0.9, cube_root]));
        let a = [0.7, -0.2, 0.0, 0.1, 1.0, 0.1, 0.0, 0.3, 1.3];
        let (energy, stress) = shaped(a);
        let shape = Shape::evaluate(&z, &std::array::from_fn(|k| if k == 0 { 2.0 } else { a[k - 1] }));
        let volume = Volume::evaluate(&z, &[5.0, 0.9, cube_root]);
        assert!((energy - shape.0 - volume.0).abs() < 1e-12 * energy);
        let sum = moved(&shape.1, &volume.1, 1.0);
        assert!(inner(&moved(&stress, &sum, -1.0), &moved(&stress, &sum, -1.0)) < 1e-20 * inner(&sum, &sum));
    }
}

/// No other point of a set, found by a random walk on it, is closer than the closest one.
fn is_closest<const R: usize>(
    z: &[Vec3<f64>; R],
    found: &[Vec3<f64>; R],
    other: impl Fn(u64) -> [Vec3<f64>; R],
) {
    let distance = |p: &[Vec3<f64>; R]| inner(&moved(z, p, -1.0), &moved(z, p, -1.0));
    let best = distance(found);
    for tick in 0..3000 {
        let p = other(tick);
        assert!(distance(&p) >= best - 1e-9, "{} < {best} for {z:?}", distance(&p));
    }
}

fn closest<K: Kind<R, P>, const R: usize, const P: usize>(
    z: &[Vec3<f64>; R],
    p: &[f64; P],
) -> [Vec3<f64>; R] {
    moved(z, &K::evaluate(z, p).1, -1.0 / p[0])
}

#[test]
fn projections_are_the_closest_points() {
    for seed in 0..30 {
        let z = gradient::<3>(seed, 0.4);
        let stream = |tick: u64| Keyed::new(14 + seed, tick);
        // Matrices near and far, brought into each set by another way than the closest one.
        let near = |tick: u64| moved(&z, &numbers::<3>(stream(tick), 0, 1.0), 1.5 * stream(tick).uniform(99));
        is_closest(&z, &closest::<Strain, 3, 1>(&z, &[1.0]), |t| svd3(&near(t)).rotation());
        let volume = closest::<Volume, 3, 3>(&z, &[1.0, 0.8, 0.8_f64.cbrt()]);
        let found: f64 = svd3(&volume).d.iter().product();
        assert!((found - 0.8).abs() < 1e-9, "{found}");
        is_closest(&z, &volume, |t| {
            let svd = svd3(&near(t));
            let d = svd.d.map(|d| d.abs().max(1e-3));
            svd.with_values(d.map(|x| x * (0.8 / d.iter().product::<f64>()).cbrt()))
        });
        let limit = closest::<StrainLimit, 3, 3>(&z, &[1.0, 0.9, 1.1]);
        is_closest(&z, &limit, |t| {
            let svd = svd3(&near(t));
            svd.with_values(svd.d.map(|d| d.clamp(0.9, 1.1)))
        });
        let flat = gradient::<2>(seed, 0.4);
        let bent =
            |tick: u64| moved(&flat, &numbers::<2>(stream(tick), 0, 1.0), 1.5 * stream(tick).uniform(99));
        let square = |z: &[Vec3<f64>; 2]| closest::<TriangleStrain, 2, 1>(z, &[1.0]);
        is_closest(&flat, &square(&flat), |t| square(&bent(t)));
        let area = closest::<TriangleArea, 2, 2>(&flat, &[1.0, 0.7]);
        assert!((area_of(&area) - 0.7).abs() < 1e-9, "{}", area_of(&area));
        is_closest(&flat, &area, |t| {
            let other = bent(t);
            let scale = (0.7 / area_of(&other)).sqrt();
            other.map(|column| column.map(|x| scale * x))
        });
    }
}

fn area_of(z: &[Vec3<f64>; 2]) -> f64 {
    let n = zygoma_numerics::svd3::matrix::cross(z[0], z[1]);
    zygoma_numerics::svd3::matrix::dot(n, n).sqrt()
}

#[test]
fn small_and_large_triangles_find_their_area_again() {
    let q = closest::<TriangleStrain, 2, 1>(&gradient::<2>(5, 0.4), &[1.0]);
    // The first is the one of seed 30443 above: half as long, a quarter as wide as its goal.
    for d in [[0.641, 0.325], [0.1, 0.1], [0.5, 0.01], [3.0, 2.9], [4.0, 0.05], [1.0, 1.0], [0.9, 0.88]] {
        let z: [Vec3<f64>; 2] = std::array::from_fn(|r| q[r].map(|x| x * d[r]));
        for goal in [0.3, 0.8, 1.0] {
            let area = area_of(&closest::<TriangleArea, 2, 2>(&z, &[1.0, goal]));
            assert!((area - goal).abs() < 1e-9, "{d:?} {goal}: {area}");
            check::<TriangleArea, 2, 2>(&z, &[2.0, goal], 1);
            let single = z.map(|column| column.map(|x| x as f32));
            let area = area_of(&closest_single(&single, goal as f32));
            // 1 − λ² loses digits where the goal is far smaller.
            assert!((area - goal).abs() < 5e-3 * goal, "{d:?} {goal}: {area} in single precision");
        }
    }
}

fn closest_single(z: &[Vec3<f32>; 2], area: f32) -> [Vec3<f64>; 2] {
    let (_, stress) = TriangleArea::evaluate(z, &[1.0, area]);
    std::array::from_fn(|r| std::array::from_fn(|k| f64::from(z[r][k] - stress[r][k])))
}

#[test]
fn inverted_and_flat_solids_find_their_volume_again() {
    for d in [
        [1.0, 1.0, 0.0],
        [1.0, 0.8, -0.5],
        [3.0, 3.0, 0.3],
        [0.1, 0.1, 0.1],
        [5.0, 0.01, -0.01],
        [2.0, 2.0, 2.0],
    ] {
        let svd = svd3(&gradient::<3>(3, 0.4));
        let z = svd.with_values(d);
        let p = closest::<Volume, 3, 3>(&z, &[1.0, 1.0, 1.0]);
        let volume: f64 = svd3(&p).d.iter().product();
        assert!((volume - 1.0).abs() < 1e-6, "{d:?}: {volume}");
        let single = z.map(|column| column.map(|x| x as f32));
        let (energy, stress) = Tissue::evaluate(&single, &[1.0_f32, 1.0, 1.0, 1.0]);
        let (exact, _) = Tissue::evaluate(&z, &[1.0, 1.0, 1.0, 1.0]);
        assert!((f64::from(energy) / exact - 1.0).abs() < 2e-3 || exact < 1e-9, "{d:?}: {energy} {exact}");
        assert!(stress.iter().flatten().all(|x| x.is_finite()));
    }
}
