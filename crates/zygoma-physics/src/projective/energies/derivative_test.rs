//! The derivative test that every energy goes through, and random samples for it.

use std::fmt::Debug;

use proptest::prelude::*;
use zygoma_numerics::random::Keyed;
use zygoma_numerics::svd3::{Mat3, Vec3, svd3};

use super::Energy;

fn random<const R: usize>(stream: Keyed, from: u64, size: f64) -> [Vec3<f64>; R] {
    std::array::from_fn(|r| std::array::from_fn(|k| size * stream.normal(from + (3 * r + k) as u64)))
}

/// z + by · along.
pub(super) fn moved<const R: usize>(z: &[Vec3<f64>; R], along: &[Vec3<f64>; R], by: f64) -> [Vec3<f64>; R] {
    std::array::from_fn(|r| std::array::from_fn(|k| z[r][k] + by * along[r][k]))
}

/// The inner product of two samples.
pub(super) fn inner<const R: usize>(a: &[Vec3<f64>; R], b: &[Vec3<f64>; R]) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b).sum()
}

/// The Euclidean distance of two samples.
pub(super) fn distance<const R: usize>(a: &[Vec3<f64>; R], b: &[Vec3<f64>; R]) -> f64 {
    let off = moved(a, b, -1.0);
    inner(&off, &off).sqrt()
}

/// A matrix in double precision.
pub(super) fn double(m: &Mat3<f32>) -> Mat3<f64> {
    m.map(|column| column.map(f64::from))
}

/// Checks the stress against differences of the energy, the differential against differences of the stress, the symmetry of the differential, and that
/// packing loses nothing.
pub(super) fn check_derivatives<K, const R: usize, const P: usize>(p: &K::Parameters<f64>, z: &[Vec3<f64>; R])
where
    K: Energy<R, P>,
    K::Parameters<f64>: Debug + PartialEq,
{
    check_derivatives_within::<K, R, P>(1e-5, p, z);
}

/// The same with a relative tolerance of the differential: polynomials have no steep third derivatives, on which differences of stresses depend.
pub(super) fn check_derivatives_within<K, const R: usize, const P: usize>(
    tolerance: f64,
    p: &K::Parameters<f64>,
    z: &[Vec3<f64>; R],
) where
    K: Energy<R, P>,
    K::Parameters<f64>: Debug + PartialEq,
{
    let packed = K::pack(*p);
    assert_eq!(*p, K::unpack(&packed));
    let stream = Keyed::new(11, z[0][0].to_bits());
    let (along, other) = (random::<R>(stream, 0, 1.0), random::<R>(stream, 40, 1.0));
    let step = 1e-5;
    let [plus, minus] = [step, -step].map(|by| K::evaluate(p, &moved(z, &along, by)));
    let (energy, stress) = K::evaluate(p, z);
    let scale = packed[0] * (1.0 + inner(z, z)) + energy;
    let slope = (plus.0 - minus.0) / (2.0 * step);
    assert!((slope - inner(&stress, &along)).abs() < 1e-6 * scale, "{slope} {}", inner(&stress, &along));
    let differential = K::stress_differential(p, z, &along);
    let measured = moved(&plus.1, &minus.1, -1.0);
    for (d, m) in differential.iter().flatten().zip(measured.iter().flatten()) {
        assert!((d - m / (2.0 * step)).abs() < tolerance * scale, "{d} {}: {z:?}", m / (2.0 * step));
    }
    let (ab, ba) = (inner(&differential, &other), inner(&K::stress_differential(p, z, &other), &along));
    assert!((ab - ba).abs() < 1e-8 * scale, "symmetric: {ab} {ba}");
}

/// A sample around the identity.
pub(super) fn gradient<const R: usize>(seed: u64, spread: f64) -> [Vec3<f64>; R] {
    let mut z = random::<R>(Keyed::new(12, seed), 0, spread);
    for r in 0..R {
        z[r][r] += 1.0;
    }
    z
}

/// A deformation gradient around the identity.
pub(super) fn solid(seed: u64, spread: f64) -> Mat3<f64> {
    gradient::<3>(seed, spread)
}

/// Samples around the identity.
pub(super) fn regular<const R: usize>() -> impl Strategy<Value = [Vec3<f64>; R]> {
    (0_u64..100_000).prop_map(|seed| gradient::<R>(seed, 0.25))
}

/// Deformation gradients away from the places where a closest rotation or volume jumps.
pub(super) fn regular_solid() -> impl Strategy<Value = Mat3<f64>> {
    regular::<3>().prop_filter("nearly flat or inverted", |f| {
        let d = svd3(f).d;
        d[1] + d[2] > 0.3 && d[2] > 0.1
    })
}

/// Matrices around the identity, in double and in single precision.
pub(super) fn matrices_near_identity(spread: f64) -> impl Iterator<Item = (Mat3<f64>, Mat3<f32>)> {
    (0..400).map(move |seed| {
        let stream = Keyed::new(31, seed);
        let single: Mat3<f32> = std::array::from_fn(|r| {
            std::array::from_fn(|k| {
                let off = spread * stream.normal((3 * r + k) as u64);
                (off + if r == k { 1.0 } else { 0.0 }) as f32
            })
        });
        (double(&single), single)
    })
}

/// The closest point of the set that an energy of one weight pulls to.
pub(super) fn closest<K: Energy<R, P>, const R: usize, const P: usize>(
    p: &K::Parameters<f64>,
    z: &[Vec3<f64>; R],
) -> [Vec3<f64>; R] {
    moved(z, &K::evaluate(p, z).1, -1.0 / K::pack(*p)[0])
}

/// A sample near or far from another one.
pub(super) fn near<const R: usize>(z: &[Vec3<f64>; R], seed: u64, tick: u64) -> [Vec3<f64>; R] {
    let stream = Keyed::new(14 + seed, tick);
    moved(z, &random::<R>(stream, 0, 1.0), 1.5 * stream.uniform(99))
}

/// Checks that none of many other points of a set is closer than the one found. `other` brings a sample into the set by another way than the closest.
pub(super) fn is_closest<const R: usize>(
    z: &[Vec3<f64>; R],
    found: &[Vec3<f64>; R],
    other: impl Fn(u64) -> [Vec3<f64>; R],
) {
    let best = distance(z, found).powi(2);
    for tick in 0..3000 {
        let p = other(tick);
        let square = distance(z, &p).powi(2);
        assert!(square >= best - 1e-9, "{square} < {best} for {z:?}");
    }
}
