//! Elements of one kind, in batches of eight.

use std::any::Any;
use std::marker::PhantomData;

use zygoma_numerics::Real;
use zygoma_numerics::simd::{self, Simd, WithSimd};
use zygoma_numerics::svd3::matrix::scale_add;
use zygoma_numerics::svd3::{LANES, Vec3, Wide};

use super::derivative::Differentiable;
use super::stencil::Stencil;

/// A vertex: x, y, z and a number that is carried along.
pub type Row<T> = [T; 4];

/// Elements of kind `K`: `N` vertices sampled into `R` vectors, with `P` parameters each.
#[derive(Clone, Debug)]
pub struct Elements<T, K, const N: usize, const R: usize, const P: usize> {
    batches: Vec<Batch<T, N, R, P>>,
    count: usize,
    kind: PhantomData<fn() -> K>,
}

#[derive(Clone, Debug)]
struct Batch<T, const N: usize, const R: usize, const P: usize> {
    vertices: [[u32; LANES]; N],
    coefficients: [[[T; LANES]; N]; R],
    parameters: [[T; LANES]; P],
}

/// A number in which groups of elements can be evaluated: `f32` on wide registers, `f64` one element at a time.
pub trait Precision: Real {
    /// Adds the gradient of all elements and returns their energy.
    fn accumulate<K: Differentiable<R, P>, const N: usize, const R: usize, const P: usize>(
        elements: &Elements<Self, K, N, R, P>,
        x: &[Row<Self>],
        gradient: &mut [Row<Self>],
    ) -> f64;
}

impl Precision for f64 {
    fn accumulate<K: Differentiable<R, P>, const N: usize, const R: usize, const P: usize>(
        elements: &Elements<Self, K, N, R, P>,
        x: &[Row<Self>],
        gradient: &mut [Row<Self>],
    ) -> f64 {
        elements.accumulate_scalar(x, gradient)
    }
}

impl Precision for f32 {
    fn accumulate<K: Differentiable<R, P>, const N: usize, const R: usize, const P: usize>(
        elements: &Elements<Self, K, N, R, P>,
        x: &[Row<Self>],
        gradient: &mut [Row<Self>],
    ) -> f64 {
        let batches = &elements.batches;
        if batches.len() < SPLIT {
            return simd::run(Accumulate { batches, x, gradient, kind: elements.kind });
        }
        // Always the same two halves, so that sums do not depend on the number of threads.
        let (first, second) = batches.split_at(batches.len() / 2);
        let mut other = vec![[0.0; 4]; gradient.len()];
        let (a, b) = rayon::join(
            || simd::run(Accumulate { batches: first, x, gradient: &mut *gradient, kind: elements.kind }),
            || simd::run(Accumulate { batches: second, x, gradient: &mut other, kind: elements.kind }),
        );
        for (sum, row) in gradient.iter_mut().zip(&other) {
            (0..3).for_each(|k| sum[k] += row[k]);
        }
        a + b
    }
}

/// From this many batches on, two threads are worth their start. Ours.
const SPLIT: usize = 1000;

impl<T: Precision, K: Differentiable<R, P>, const N: usize, const R: usize, const P: usize> Default
    for Elements<T, K, N, R, P>
{
    fn default() -> Self {
        Self { batches: Vec::new(), count: 0, kind: PhantomData }
    }
}

impl<T: Precision, K: Differentiable<R, P>, const N: usize, const R: usize, const P: usize>
    Elements<T, K, N, R, P>
{
    /// No elements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets all elements, and keeps their memory for others.
    pub fn clear(&mut self) {
        self.batches.clear();
        self.count = 0;
    }

    /// Adds an element. The weights among its parameters are absolute: [`Stencil::size`] is in them already.
    pub fn push(&mut self, stencil: &Stencil<N, R>, parameters: [f64; P]) {
        let lane = self.count % LANES;
        if lane == 0 {
            // Lanes that are not used yet repeat the first one, without weight.
            let mut batch = Batch {
                vertices: stencil.vertices.map(|v| [v; LANES]),
                coefficients: stencil.coefficients.map(|row| row.map(|c| [T::of(c); LANES])),
                parameters: parameters.map(|p| [T::of(p); LANES]),
            };
            batch.parameters[..K::WEIGHTS].fill([T::default(); LANES]);
            self.batches.push(batch);
        }
        let element = self.count;
        self.count += 1;
        self.set_stencil(element, stencil);
        self.set_parameters(element, parameters);
    }

    /// Changes what an element samples: another rest shape.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn set_stencil(&mut self, element: usize, stencil: &Stencil<N, R>) {
        let (batch, lane) = (&mut self.batches[element / LANES], element % LANES);
        for i in 0..N {
            batch.vertices[i][lane] = stencil.vertices[i];
            for r in 0..R {
                batch.coefficients[r][i][lane] = T::of(stencil.coefficients[r][i]);
            }
        }
    }

    /// Changes the parameters of an element. A change of weights also changes the matrix of the global step.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn set_parameters(&mut self, element: usize, parameters: [f64; P]) {
        assert!(element < self.count, "an element that was added");
        let (batch, lane) = (&mut self.batches[element / LANES], element % LANES);
        for (place, parameter) in batch.parameters.iter_mut().zip(parameters) {
            place[lane] = T::of(parameter);
        }
    }

    /// The parameters of an element.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn parameters(&self, element: usize) -> [f64; P] {
        self.batches[element / LANES].parameters.map(|p| p[element % LANES].into())
    }

    /// The vertices of an element.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn vertices(&self, element: usize) -> [u32; N] {
        self.batches[element / LANES].vertices.map(|v| v[element % LANES])
    }

    /// The sampled vectors of an element.
    ///
    /// # Panics
    /// If there is no such element, or a vertex of it.
    pub fn sample(&self, element: usize, x: &[Row<T>]) -> [Vec3<T>; R] {
        self.batches[element / LANES].sample(element % LANES, x)
    }

    /// Adds the gradient and returns the energy, one element after the other.
    pub fn accumulate_scalar(&self, x: &[Row<T>], gradient: &mut [Row<T>]) -> f64 {
        let mut energy = 0.0;
        for element in 0..self.count {
            let (batch, lane) = (&self.batches[element / LANES], element % LANES);
            let parameters = batch.parameters.map(|p| p[lane]);
            let (part, stress) = K::evaluate(&batch.sample(lane, x), &parameters);
            energy += part.into();
            batch.scatter(lane, &stress, gradient);
        }
        energy
    }
}

impl<T: Real, const N: usize, const R: usize, const P: usize> Batch<T, N, R, P> {
    fn sample(&self, lane: usize, x: &[Row<T>]) -> [Vec3<T>; R] {
        let mut z = [[T::default(); 3]; R];
        for i in 0..N {
            let row = x[self.vertices[i][lane] as usize];
            for r in 0..R {
                for k in 0..3 {
                    z[r][k] = self.coefficients[r][i][lane].mul_add(row[k], z[r][k]);
                }
            }
        }
        z
    }

    fn scatter(&self, lane: usize, stress: &[Vec3<T>; R], gradient: &mut [Row<T>]) {
        for i in 0..N {
            let row = &mut gradient[self.vertices[i][lane] as usize];
            for r in 0..R {
                for k in 0..3 {
                    row[k] = self.coefficients[r][i][lane].mul_add(stress[r][k], row[k]);
                }
            }
        }
    }
}

/// Evaluates all batches, eight elements at a time.
struct Accumulate<'a, K, const N: usize, const R: usize, const P: usize> {
    batches: &'a [Batch<f32, N, R, P>],
    x: &'a [Row<f32>],
    gradient: &'a mut [Row<f32>],
    kind: PhantomData<fn() -> K>,
}

impl<K: Differentiable<R, P>, const N: usize, const R: usize, const P: usize> WithSimd
    for Accumulate<'_, K, N, R, P>
{
    type Output = f64;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let mut energy = 0.0;
        let mut corners = [[[0.0_f32; LANES]; 3]; N];
        let mut energies = [0.0_f32; LANES];
        for batch in self.batches {
            for i in 0..N {
                for lane in 0..LANES {
                    let row = self.x[batch.vertices[i][lane] as usize];
                    corners[i][0][lane] = row[0];
                    corners[i][1][lane] = row[1];
                    corners[i][2][lane] = row[2];
                }
            }
            for part in (0..LANES).step_by(S::F32_LANES) {
                evaluate_part::<S, K, N, R, P>(simd, batch, part, &mut corners, &mut energies);
            }
            for i in 0..N {
                for lane in 0..LANES {
                    let row = &mut self.gradient[batch.vertices[i][lane] as usize];
                    row[0] += corners[i][0][lane];
                    row[1] += corners[i][1][lane];
                    row[2] += corners[i][2][lane];
                }
            }
            for part in energies {
                energy += f64::from(part);
            }
        }
        energy
    }
}

/// Turns positions of corners into their gradients, for as many elements as a register holds.
#[inline(always)]
fn evaluate_part<S: Simd, K: Differentiable<R, P>, const N: usize, const R: usize, const P: usize>(
    simd: S,
    batch: &Batch<f32, N, R, P>,
    part: usize,
    corners: &mut [[[f32; LANES]; 3]; N],
    energies: &mut [f32; LANES],
) {
    let zero = Wide::load(simd, &[0.0; LANES]);
    let mut z = [[zero; 3]; R];
    for i in 0..N {
        let x = [
            Wide::load(simd, &corners[i][0][part..]),
            Wide::load(simd, &corners[i][1][part..]),
            Wide::load(simd, &corners[i][2][part..]),
        ];
        for r in 0..R {
            let c = Wide::load(simd, &batch.coefficients[r][i][part..]);
            z[r] = scale_add(c, x, z[r]);
        }
    }
    let mut parameters = [zero; P];
    for p in 0..P {
        parameters[p] = Wide::load(simd, &batch.parameters[p][part..]);
    }
    let (energy, stress) = K::evaluate(&z, &parameters);
    energy.store(&mut energies[part..]);
    for i in 0..N {
        let mut force = [zero; 3];
        for r in 0..R {
            let c = Wide::load(simd, &batch.coefficients[r][i][part..]);
            force = scale_add(c, stress[r], force);
        }
        for k in 0..3 {
            force[k].store(&mut corners[i][k][part..]);
        }
    }
}

/// Is given the weight and the entries of a row.
pub type VisitRow<'a> = dyn FnMut(f64, &[(u32, f64)]) + 'a;

/// Elements of any kind.
pub trait Group<T>: Send + Any {
    /// Adds the gradient and returns the energy.
    fn accumulate(&self, x: &[Row<T>], gradient: &mut [Row<T>]) -> f64;
    /// Names the rows c and weights w whose Σ w cᵀc is this group's part of the global matrix (Z of eq. 6), as (vertex,
    /// coefficient). A vertex may come twice.
    fn each_row(&self, visit: &mut VisitRow<'_>);
    /// Adds the exact Hessian at `x`, applied to a direction.
    fn add_hessian_product(&self, x: &[Row<T>], direction: &[[f64; 3]], out: &mut [[f64; 3]]);
    /// The largest vertex that an element names, if there is an element.
    fn last_vertex(&self) -> Option<u32>;
    /// Itself, to be changed as what it is.
    fn as_any_mut(&mut self) -> &mut dyn Any;
    /// Itself, to be read as what it is.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Precision, K: Differentiable<R, P>, const N: usize, const R: usize, const P: usize> Group<T>
    for Elements<T, K, N, R, P>
{
    fn accumulate(&self, x: &[Row<T>], gradient: &mut [Row<T>]) -> f64 {
        T::accumulate(self, x, gradient)
    }

    fn each_row(&self, visit: &mut VisitRow<'_>) {
        for element in 0..self.count {
            let (batch, lane) = (&self.batches[element / LANES], element % LANES);
            let weight: f64 = batch.parameters[..K::WEIGHTS].iter().map(|w| w[lane].into()).sum();
            for row in &batch.coefficients {
                visit(
                    weight,
                    &std::array::from_fn::<_, N, _>(|i| (batch.vertices[i][lane], row[i][lane].into())),
                );
            }
        }
    }

    fn add_hessian_product(&self, x: &[Row<T>], direction: &[[f64; 3]], out: &mut [[f64; 3]]) {
        for element in 0..self.count {
            let (batch, lane) = (&self.batches[element / LANES], element % LANES);
            let z = batch.sample(lane, x).map(|v| v.map(Into::into));
            let coefficient = |r: usize, i: usize| -> f64 { batch.coefficients[r][i][lane].into() };
            let mut dz = [[0.0; 3]; R];
            for r in 0..R {
                for i in 0..N {
                    let along = direction[batch.vertices[i][lane] as usize];
                    (0..3).for_each(|k| dz[r][k] += coefficient(r, i) * along[k]);
                }
            }
            let change = K::stress_change(&z, &batch.parameters.map(|p| p[lane].into()), &dz);
            for i in 0..N {
                let row = &mut out[batch.vertices[i][lane] as usize];
                for r in 0..R {
                    (0..3).for_each(|k| row[k] += coefficient(r, i) * change[r][k]);
                }
            }
        }
    }

    fn last_vertex(&self) -> Option<u32> {
        self.batches.iter().flat_map(|batch| batch.vertices.as_flattened()).copied().max()
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
