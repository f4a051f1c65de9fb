//! The evaluation of batches: two registers of elements at a time, from rows of positions to rows of the gradient.

use std::marker::PhantomData;

use zygoma_numerics::simd::{self, Simd, WithSimd};
use zygoma_numerics::svd3::matrix::scale_add;
use zygoma_numerics::svd3::{LANES, Lane, Pair, Vec3, Wide};

use super::elements::{Batch, Row};
use super::energies::Energy;

/// Adds the gradient of some batches and returns their energy.
pub(super) fn accumulate<E: Energy<R, P>, const N: usize, const R: usize, const P: usize>(
    batches: &[Batch<f32, N, R, P>],
    x: &[Row<f32>],
    gradient: &mut [Row<f32>],
) -> f64 {
    let energy = PhantomData::<fn() -> E>;
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = simd::avx512() {
        return simd.vectorize(Accumulate { simd, corners: x86::Transposed, batches, x, gradient, energy });
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = simd::avx2() {
        return simd.vectorize(Accumulate { simd, corners: x86::Transposed, batches, x, gradient, energy });
    }
    struct Portable<'a, E, const N: usize, const R: usize, const P: usize>(
        &'a [Batch<f32, N, R, P>],
        &'a [Row<f32>],
        &'a mut [Row<f32>],
        PhantomData<fn() -> E>,
    );
    impl<E: Energy<R, P>, const N: usize, const R: usize, const P: usize> WithSimd for Portable<'_, E, N, R, P> {
        type Output = f64;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            let Self(batches, x, gradient, energy) = self;
            Accumulate { simd, corners: OneByOne, batches, x, gradient, energy }.run()
        }
    }
    simd::run_widest(Portable(batches, x, gradient, energy))
}

/// Transposes rows of vertices into registers of coordinates, and back.
trait Corners<S: Simd>: Copy {
    /// Loads x, y and z of as many vertices as a register holds, from lane `part` on.
    fn gather(self, simd: S, x: &[Row<f32>], vertices: &[u32; LANES], part: usize) -> Vec3<Wide<S>>;
    /// Adds forces to the rows of the vertices.
    fn scatter(
        self,
        simd: S,
        forces: Vec3<Wide<S>>,
        vertices: &[u32; LANES],
        part: usize,
        gradient: &mut [Row<f32>],
    );
}

/// One number at a time, on any machine.
#[derive(Clone, Copy)]
struct OneByOne;

impl<S: Simd> Corners<S> for OneByOne {
    #[inline(always)]
    fn gather(self, simd: S, x: &[Row<f32>], vertices: &[u32; LANES], part: usize) -> Vec3<Wide<S>> {
        let mut numbers = [[0.0; LANES]; 3];
        for lane in part..part + S::F32_LANES {
            let row = x[vertices[lane] as usize];
            for k in 0..3 {
                numbers[k][lane] = row[k];
            }
        }
        [
            Wide::load(simd, &numbers[0][part..]),
            Wide::load(simd, &numbers[1][part..]),
            Wide::load(simd, &numbers[2][part..]),
        ]
    }

    #[inline(always)]
    fn scatter(
        self,
        _: S,
        forces: Vec3<Wide<S>>,
        vertices: &[u32; LANES],
        part: usize,
        gradient: &mut [Row<f32>],
    ) {
        let mut numbers = [[0.0; LANES]; 3];
        for k in 0..3 {
            forces[k].store(&mut numbers[k][part..]);
        }
        for lane in part..part + S::F32_LANES {
            let row = &mut gradient[vertices[lane] as usize];
            for k in 0..3 {
                row[k] += numbers[k][lane];
            }
        }
    }
}

/// The work on some batches.
struct Accumulate<'a, S, C, E, const N: usize, const R: usize, const P: usize> {
    simd: S,
    corners: C,
    batches: &'a [Batch<f32, N, R, P>],
    x: &'a [Row<f32>],
    gradient: &'a mut [Row<f32>],
    energy: PhantomData<fn() -> E>,
}

impl<S: Simd, C: Corners<S>, E: Energy<R, P>, const N: usize, const R: usize, const P: usize>
    Accumulate<'_, S, C, E, N, R, P>
{
    #[inline(always)]
    fn run(self) -> f64 {
        let Self { simd, corners, batches, x, gradient, .. } = self;
        let mut total = 0.0;
        let mut energies = [0.0_f32; LANES];
        let (pairs, last) = batches.as_chunks::<2>();
        for [a, b] in pairs {
            for part in (0..LANES).step_by(S::F32_LANES) {
                let (za, zb) = (sample(simd, corners, a, part, x), sample(simd, corners, b, part, x));
                let mut z = [[Pair(za[0][0], zb[0][0]); 3]; R];
                for r in 0..R {
                    for k in 0..3 {
                        z[r][k] = Pair(za[r][k], zb[r][k]);
                    }
                }
                let (pa, pb) = (parameters(simd, a, part), parameters(simd, b, part));
                let mut p = [z[0][0]; P];
                for k in 0..P {
                    p[k] = Pair(pa[k], pb[k]);
                }
                let (energy, stress) = E::evaluate(&E::unpack(&p), &z);
                let (mut sa, mut sb) = (za, zb);
                for r in 0..R {
                    for k in 0..3 {
                        (sa[r][k], sb[r][k]) = (stress[r][k].0, stress[r][k].1);
                    }
                }
                spread(simd, corners, a, part, &sa, gradient);
                spread(simd, corners, b, part, &sb, gradient);
                (energy.0 + energy.1).store(&mut energies[part..]);
            }
            total += sum(&energies);
        }
        for batch in last {
            for part in (0..LANES).step_by(S::F32_LANES) {
                let z = sample(simd, corners, batch, part, x);
                let (energy, stress) = E::evaluate(&E::unpack(&parameters(simd, batch, part)), &z);
                spread(simd, corners, batch, part, &stress, gradient);
                energy.store(&mut energies[part..]);
            }
            total += sum(&energies);
        }
        total
    }
}

#[inline(always)]
fn sum(energies: &[f32; LANES]) -> f64 {
    let mut sum = 0.0;
    for energy in energies {
        sum += f64::from(*energy);
    }
    sum
}

/// z = G x.
#[inline(always)]
fn sample<S: Simd, C: Corners<S>, const N: usize, const R: usize, const P: usize>(
    simd: S,
    corners: C,
    batch: &Batch<f32, N, R, P>,
    part: usize,
    x: &[Row<f32>],
) -> [Vec3<Wide<S>>; R] {
    let zero = Wide::load(simd, &[0.0; LANES]);
    let mut z = [[zero; 3]; R];
    for i in 0..N {
        let at = corners.gather(simd, x, &batch.vertices[i], part);
        for r in 0..R {
            let c = Wide::load(simd, &batch.coefficients[r][i][part..]);
            z[r] = scale_add(c, at, z[r]);
        }
    }
    z
}

#[inline(always)]
fn parameters<S: Simd, const N: usize, const R: usize, const P: usize>(
    simd: S,
    batch: &Batch<f32, N, R, P>,
    part: usize,
) -> [Wide<S>; P] {
    let mut parameters = [Wide::load(simd, &[0.0; LANES]); P];
    for p in 0..P {
        parameters[p] = Wide::load(simd, &batch.parameters[p][part..]);
    }
    parameters
}

/// Adds Gᵀ stress.
#[inline(always)]
fn spread<S: Simd, C: Corners<S>, const N: usize, const R: usize, const P: usize>(
    simd: S,
    corners: C,
    batch: &Batch<f32, N, R, P>,
    part: usize,
    stress: &[Vec3<Wide<S>>; R],
    gradient: &mut [Row<f32>],
) {
    for i in 0..N {
        let mut force = [stress[0][0].splat(0.0); 3];
        for r in 0..R {
            let c = Wide::load(simd, &batch.coefficients[r][i][part..]);
            force = scale_add(c, stress[r], force);
        }
        corners.scatter(simd, force, &batch.vertices[i], part, gradient);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128, __m256, __m512};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{Accumulate, Corners, Energy, LANES, Row, Simd, Vec3, Wide};

    /// Transposes as many rows at a time as a register has lanes. Rows k, k + 4, … are loaded side by side, so that permutations within groups of
    /// four lanes suffice.
    #[derive(Clone, Copy)]
    pub(super) struct Transposed;

    impl Corners<V4> for Transposed {
        #[inline(always)]
        fn gather(self, simd: V4, x: &[Row<f32>], v: &[u32; LANES], _: usize) -> Vec3<Wide<V4>> {
            let r0 = four(simd, x, [v[0], v[4], v[8], v[12]]);
            let r1 = four(simd, x, [v[1], v[5], v[9], v[13]]);
            let r2 = four(simd, x, [v[2], v[6], v[10], v[14]]);
            let r3 = four(simd, x, [v[3], v[7], v[11], v[15]]);
            let avx = simd.avx512f;
            let (xy01, xy23) = (avx._mm512_unpacklo_ps(r0, r1), avx._mm512_unpacklo_ps(r2, r3));
            let (zw01, zw23) = (avx._mm512_unpackhi_ps(r0, r1), avx._mm512_unpackhi_ps(r2, r3));
            [
                Wide::new(simd, cast(avx._mm512_unpacklo_pd(cast(xy01), cast(xy23)))),
                Wide::new(simd, cast(avx._mm512_unpackhi_pd(cast(xy01), cast(xy23)))),
                Wide::new(simd, cast(avx._mm512_unpacklo_pd(cast(zw01), cast(zw23)))),
            ]
        }

        #[inline(always)]
        fn scatter(
            self,
            simd: V4,
            forces: Vec3<Wide<V4>>,
            v: &[u32; LANES],
            _: usize,
            gradient: &mut [Row<f32>],
        ) {
            let [x, y, z]: [__m512; 3] =
                [cast(forces[0].values()), cast(forces[1].values()), cast(forces[2].values())];
            let avx = simd.avx512f;
            let zero = avx._mm512_setzero_ps();
            let (xy01, xy23) = (cast(avx._mm512_unpacklo_ps(x, y)), cast(avx._mm512_unpackhi_ps(x, y)));
            let (zw01, zw23) = (cast(avx._mm512_unpacklo_ps(z, zero)), cast(avx._mm512_unpackhi_ps(z, zero)));
            let r0 = cast(avx._mm512_unpacklo_pd(xy01, zw01));
            let r1 = cast(avx._mm512_unpackhi_pd(xy01, zw01));
            let r2 = cast(avx._mm512_unpacklo_pd(xy23, zw23));
            let r3 = cast(avx._mm512_unpackhi_pd(xy23, zw23));
            add_four(simd, r0, [v[0], v[4], v[8], v[12]], gradient);
            add_four(simd, r1, [v[1], v[5], v[9], v[13]], gradient);
            add_four(simd, r2, [v[2], v[6], v[10], v[14]], gradient);
            add_four(simd, r3, [v[3], v[7], v[11], v[15]], gradient);
        }
    }

    impl Corners<V3> for Transposed {
        #[inline(always)]
        fn gather(self, simd: V3, x: &[Row<f32>], v: &[u32; LANES], part: usize) -> Vec3<Wide<V3>> {
            let r0 = two(simd, x, [v[part], v[part + 4]]);
            let r1 = two(simd, x, [v[part + 1], v[part + 5]]);
            let r2 = two(simd, x, [v[part + 2], v[part + 6]]);
            let r3 = two(simd, x, [v[part + 3], v[part + 7]]);
            let avx = simd.avx;
            let (xy01, xy23) = (avx._mm256_unpacklo_ps(r0, r1), avx._mm256_unpacklo_ps(r2, r3));
            let (zw01, zw23) = (avx._mm256_unpackhi_ps(r0, r1), avx._mm256_unpackhi_ps(r2, r3));
            [
                Wide::new(simd, cast(avx._mm256_unpacklo_pd(cast(xy01), cast(xy23)))),
                Wide::new(simd, cast(avx._mm256_unpackhi_pd(cast(xy01), cast(xy23)))),
                Wide::new(simd, cast(avx._mm256_unpacklo_pd(cast(zw01), cast(zw23)))),
            ]
        }

        #[inline(always)]
        fn scatter(
            self,
            simd: V3,
            forces: Vec3<Wide<V3>>,
            v: &[u32; LANES],
            part: usize,
            gradient: &mut [Row<f32>],
        ) {
            let [x, y, z]: [__m256; 3] =
                [cast(forces[0].values()), cast(forces[1].values()), cast(forces[2].values())];
            let avx = simd.avx;
            let zero = avx._mm256_setzero_ps();
            let (xy01, xy23) = (cast(avx._mm256_unpacklo_ps(x, y)), cast(avx._mm256_unpackhi_ps(x, y)));
            let (zw01, zw23) = (cast(avx._mm256_unpacklo_ps(z, zero)), cast(avx._mm256_unpackhi_ps(z, zero)));
            let r0 = cast(avx._mm256_unpacklo_pd(xy01, zw01));
            let r1 = cast(avx._mm256_unpackhi_pd(xy01, zw01));
            let r2 = cast(avx._mm256_unpacklo_pd(xy23, zw23));
            let r3 = cast(avx._mm256_unpackhi_pd(xy23, zw23));
            add_two(simd, r0, [v[part], v[part + 4]], gradient);
            add_two(simd, r1, [v[part + 1], v[part + 5]], gradient);
            add_two(simd, r2, [v[part + 2], v[part + 6]], gradient);
            add_two(simd, r3, [v[part + 3], v[part + 7]], gradient);
        }
    }

    /// Two rows side by side.
    #[inline(always)]
    fn two(simd: V3, x: &[Row<f32>], [a, b]: [u32; 2]) -> __m256 {
        let (low, high): (__m128, __m128) = (cast(x[a as usize]), cast(x[b as usize]));
        simd.avx._mm256_insertf128_ps::<1>(simd.avx._mm256_castps128_ps256(low), high)
    }

    /// Four rows side by side.
    #[inline(always)]
    fn four(simd: V4, x: &[Row<f32>], [a, b, c, d]: [u32; 4]) -> __m512 {
        let (low, high) = (two(*simd, x, [a, b]), two(*simd, x, [c, d]));
        simd.avx512dq._mm512_insertf32x8::<1>(simd.avx512f._mm512_castps256_ps512(low), high)
    }

    /// Adds to two rows.
    #[inline(always)]
    fn add_two(simd: V3, rows: __m256, [a, b]: [u32; 2], gradient: &mut [Row<f32>]) {
        let first = simd.avx._mm256_castps256_ps128(rows);
        let row = &mut gradient[a as usize];
        *row = cast(simd.sse._mm_add_ps(cast(*row), first));
        let second = simd.avx._mm256_extractf128_ps::<1>(rows);
        let row = &mut gradient[b as usize];
        *row = cast(simd.sse._mm_add_ps(cast(*row), second));
    }

    /// Adds to four rows.
    #[inline(always)]
    fn add_four(simd: V4, rows: __m512, [a, b, c, d]: [u32; 4], gradient: &mut [Row<f32>]) {
        add_two(*simd, simd.avx512f._mm512_castps512_ps256(rows), [a, b], gradient);
        add_two(*simd, simd.avx512dq._mm512_extractf32x8_ps::<1>(rows), [c, d], gradient);
    }

    impl<S: Simd, E: Energy<R, P>, const N: usize, const R: usize, const P: usize> pulp::NullaryFnOnce
        for Accumulate<'_, S, Transposed, E, N, R, P>
    where
        Transposed: Corners<S>,
    {
        type Output = f64;
        #[inline(always)]
        fn call(self) -> f64 {
            self.run()
        }
    }
}
