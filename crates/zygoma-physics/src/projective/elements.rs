//! Elements of one energy, in batches of sixteen.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;

use zygoma_numerics::svd3::{LANES, Vec3};
use zygoma_numerics::{Real, project_definite};

use super::energies::Energy;
use super::stencil::Stencil;

/// A vertex: x, y, z and a padding number that is carried along.
pub type Row<T> = [T; 4];

/// Elements with the energy `E`: `N` vertices sampled into `R` vectors, with `P` parameters each.
#[derive(Clone, Debug)]
pub struct Elements<T, E, const N: usize, const R: usize, const P: usize> {
    batches: Vec<Batch<T, N, R, P>>,
    count: usize,
    energy: PhantomData<fn() -> E>,
}

/// Elements side by side, aligned to cache lines so that no register load crosses one.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Batch<T, const N: usize, const R: usize, const P: usize> {
    pub(super) vertices: [[u32; LANES]; N],
    pub(super) coefficients: [[[T; LANES]; N]; R],
    pub(super) parameters: [[T; LANES]; P],
}

/// A precision in which elements are evaluated: `f32` on wide registers, `f64` one element at a time.
pub trait Precision: Real {
    /// Adds the gradient of a part of the elements and returns their energy.
    fn accumulate<E: Energy<R, P>, const N: usize, const R: usize, const P: usize>(
        elements: &Elements<Self, E, N, R, P>,
        part: Part,
        x: &[Row<Self>],
        gradient: &mut [Row<Self>],
    ) -> f64;
}

impl Precision for f64 {
    fn accumulate<E: Energy<R, P>, const N: usize, const R: usize, const P: usize>(
        elements: &Elements<Self, E, N, R, P>,
        part: Part,
        x: &[Row<Self>],
        gradient: &mut [Row<Self>],
    ) -> f64 {
        elements.accumulate_scalar(elements.part(part), x, gradient)
    }
}

impl Precision for f32 {
    fn accumulate<E: Energy<R, P>, const N: usize, const R: usize, const P: usize>(
        elements: &Elements<Self, E, N, R, P>,
        part: Part,
        x: &[Row<Self>],
        gradient: &mut [Row<Self>],
    ) -> f64 {
        super::batches::accumulate::<E, N, R, P>(&elements.batches[elements.part(part)], x, gradient)
    }
}

/// One of the equal parts in which a large group is evaluated. A small group belongs to the first as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its index.
    pub index: usize,
    /// Number of parts.
    pub count: usize,
}

impl Part {
    /// The whole group.
    pub const ALL: Self = Self { index: 0, count: 1 };
}

/// Groups of fewer batches are not divided. Ours.
pub(super) const SPLIT: usize = 250;

impl<T: Precision, E: Energy<R, P>, const N: usize, const R: usize, const P: usize> Default
    for Elements<T, E, N, R, P>
{
    fn default() -> Self {
        Self { batches: Vec::new(), count: 0, energy: PhantomData }
    }
}

impl<T: Precision, E: Energy<R, P>, const N: usize, const R: usize, const P: usize> Elements<T, E, N, R, P> {
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

    /// Removes all elements and keeps their memory.
    pub fn clear(&mut self) {
        self.batches.clear();
        self.count = 0;
    }

    /// Adds an element. The weights among its parameters are absolute: already multiplied by [`Stencil::size`].
    pub fn push(&mut self, stencil: &Stencil<N, R>, parameters: E::Parameters<f64>) {
        let packed = E::pack(parameters);
        let lane = self.count % LANES;
        if lane == 0 {
            // Unused lanes repeat the first one, with weight zero.
            let mut batch = Batch {
                vertices: stencil.vertices.map(|v| [v; LANES]),
                coefficients: stencil.coefficients.map(|row| row.map(|c| [T::of(c); LANES])),
                parameters: packed.map(|p| [T::of(p); LANES]),
            };
            batch.parameters[..E::WEIGHTS].fill([T::default(); LANES]);
            self.batches.push(batch);
        }
        let element = self.count;
        self.count += 1;
        self.set_stencil(element, stencil);
        self.batches[element / LANES].set_packed(lane, packed);
    }

    /// Replaces the stencil of an element, as for another rest shape.
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
    pub fn set_parameters(&mut self, element: usize, parameters: E::Parameters<f64>) {
        assert!(element < self.count, "an element that was added");
        self.batches[element / LANES].set_packed(element % LANES, E::pack(parameters));
    }

    /// The parameters of an element.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn parameters(&self, element: usize) -> E::Parameters<f64> {
        E::unpack(&self.batches[element / LANES].packed(element % LANES))
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

    /// All batches, mutably.
    pub(super) fn batches_mut(&mut self) -> &mut [Batch<T, N, R, P>] {
        &mut self.batches
    }

    /// The batches of a part.
    fn part(&self, Part { index, count }: Part) -> Range<usize> {
        let batches = self.batches.len();
        match index {
            _ if batches >= SPLIT => batches * index / count..batches * (index + 1) / count,
            0 => 0..batches,
            _ => 0..0,
        }
    }

    /// Adds the gradient of some batches and returns their energy, one element after the other.
    fn accumulate_scalar(&self, batches: Range<usize>, x: &[Row<T>], gradient: &mut [Row<T>]) -> f64 {
        let mut energy = 0.0;
        for element in LANES * batches.start..(LANES * batches.end).min(self.count) {
            let (batch, lane) = (&self.batches[element / LANES], element % LANES);
            let parameters = E::unpack(&batch.parameters.map(|p| p[lane]));
            let (part, stress) = E::evaluate(&parameters, &batch.sample(lane, x));
            energy += part.into();
            batch.scatter(lane, &stress, gradient);
        }
        energy
    }
}

impl<T: Real, const N: usize, const R: usize, const P: usize> Batch<T, N, R, P> {
    /// The packed parameters of an element.
    pub(super) fn packed(&self, lane: usize) -> [f64; P] {
        self.parameters.map(|p| p[lane].into())
    }

    /// Replaces the packed parameters of an element.
    pub(super) fn set_packed(&mut self, lane: usize, packed: [f64; P]) {
        for (place, parameter) in self.parameters.iter_mut().zip(packed) {
            place[lane] = T::of(parameter);
        }
    }

    pub(super) fn sample(&self, lane: usize, x: &[Row<T>]) -> [Vec3<T>; R] {
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

/// A callback that receives the weight and the entries of a row.
pub type VisitRow<'a> = dyn FnMut(f64, &[(u32, f64)]) + 'a;

/// A callback that receives vertices and a symmetric block of three rows for each of them, row by row.
pub type VisitBlock<'a> = dyn FnMut(&[u32], &[f64]) + 'a;

/// Elements of any energy.
pub trait Group<T>: Send + Sync + Any {
    /// Adds the gradient of a part and returns its energy.
    fn accumulate(&self, part: Part, x: &[Row<T>], gradient: &mut [Row<T>]) -> f64;
    /// Number of batches.
    fn batch_count(&self) -> usize;
    /// Visits the rows c and weights w whose sum Σ w cᵀc is this group's part of the global matrix (Z of *Progressive PD* eq. 6). Entries are (vertex,
    /// coefficient); a vertex may occur twice.
    fn each_row(&self, visit: &mut VisitRow<'_>);
    /// Adds the product of the exact Hessian at `x` and a direction.
    fn add_hessian_product(&self, x: &[Row<T>], direction: &[[f64; 3]], out: &mut [[f64; 3]]);
    /// Visits blocks whose sum is the Hessian at `x`, each of them made positive semidefinite.
    fn each_definite_block(&self, x: &[Row<T>], visit: &mut VisitBlock<'_>);
    /// The largest vertex that an element names, if there is an element.
    fn last_vertex(&self) -> Option<u32>;
    /// Itself, mutably, for downcasting.
    fn as_any_mut(&mut self) -> &mut dyn Any;
    /// Itself, for downcasting.
    fn as_any(&self) -> &dyn Any;
    /// A copy.
    fn boxed(&self) -> Box<dyn Group<T>>;
}

impl<T: 'static> Clone for Box<dyn Group<T>> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl<T: Precision, E: Energy<R, P>, const N: usize, const R: usize, const P: usize> Group<T>
    for Elements<T, E, N, R, P>
{
    fn accumulate(&self, part: Part, x: &[Row<T>], gradient: &mut [Row<T>]) -> f64 {
        T::accumulate(self, part, x, gradient)
    }

    fn batch_count(&self) -> usize {
        self.batches.len()
    }

    fn each_row(&self, visit: &mut VisitRow<'_>) {
        for element in 0..self.count {
            let (batch, lane) = (&self.batches[element / LANES], element % LANES);
            let weight: f64 = batch.parameters[..E::WEIGHTS].iter().map(|w| w[lane].into()).sum();
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
            let ds = E::stress_differential(&E::unpack(&batch.packed(lane)), &z, &dz);
            for i in 0..N {
                let row = &mut out[batch.vertices[i][lane] as usize];
                for r in 0..R {
                    (0..3).for_each(|k| row[k] += coefficient(r, i) * ds[r][k]);
                }
            }
        }
    }

    /// The Hessian Gᵀ (∂²W/∂z²) G of an element is semidefinite if its middle is, and that is smaller.
    fn each_definite_block(&self, x: &[Row<T>], visit: &mut VisitBlock<'_>) {
        let mut middle = vec![0.0; 9 * R * R];
        let mut block = vec![0.0; 9 * N * N];
        for element in 0..self.count {
            let (batch, lane) = (&self.batches[element / LANES], element % LANES);
            let z = batch.sample(lane, x).map(|v| v.map(Into::into));
            let parameters = E::unpack(&batch.packed(lane));
            for column in 0..3 * R {
                let mut dz = [[0.0; 3]; R];
                dz[column / 3][column % 3] = 1.0;
                let ds = E::stress_differential(&parameters, &z, &dz);
                ds.as_flattened().iter().enumerate().for_each(|(row, ds)| middle[3 * R * row + column] = *ds);
            }
            project_definite(3 * R, &mut middle);
            block.fill(0.0);
            for (i, j) in (0..N).flat_map(|i| (0..N).map(move |j| (i, j))) {
                for (r, s) in (0..R).flat_map(|r| (0..R).map(move |s| (r, s))) {
                    let [a, b]: [f64; 2] =
                        [batch.coefficients[r][i][lane].into(), batch.coefficients[s][j][lane].into()];
                    for (k, l) in (0..3).flat_map(|k| (0..3).map(move |l| (k, l))) {
                        block[3 * N * (3 * i + k) + 3 * j + l] +=
                            a * b * middle[3 * R * (3 * r + k) + 3 * s + l];
                    }
                }
            }
            visit(&batch.vertices.map(|v| v[lane]), &block);
        }
    }

    fn last_vertex(&self) -> Option<u32> {
        self.batches.iter().flat_map(|batch| batch.vertices.as_flattened()).copied().max()
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn Group<T>> {
        Box::new(Self { batches: self.batches.clone(), count: self.count, energy: PhantomData })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
