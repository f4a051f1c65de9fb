//! All energies of one body, and their sum.

use std::marker::PhantomData;

use glam::DVec3;
use rayon::prelude::*;
use zygoma_numerics::simd::{self, Simd, WithSimd};
use zygoma_numerics::{SymmetricMatrix, vectors};

use super::elements::{Group, Part, Precision, Row, SPLIT};
use super::solve::Inertia;

/// Systems whose largest group has this many batches are evaluated in four parts, with a gradient each; smaller ones in two. Ours.
const MANY: usize = 8 * SPLIT;

/// Vertices with energies between them.
///
/// The first vertices are free, the others kinematic: their positions are prescribed. Points on rigid bodies are kinematic vertices too.
pub struct System<T> {
    groups: Vec<Box<dyn Group<T>>>,
    /// Whether each group is transient.
    is_transient: Vec<bool>,
    vertices: usize,
    free: usize,
    /// Constant force on each free vertex, such as gravity and actuation, N.
    pub forces: Vec<Row<T>>,
}

impl<T: Precision> Clone for System<T> {
    fn clone(&self) -> Self {
        Self {
            groups: self.groups.clone(),
            is_transient: self.is_transient.clone(),
            vertices: self.vertices,
            free: self.free,
            forces: self.forces.clone(),
        }
    }
}

/// A typed handle to a group of a system.
pub struct Handle<G> {
    index: usize,
    kind: PhantomData<fn() -> G>,
}

impl<G> Clone for Handle<G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G> Copy for Handle<G> {}

/// A group that does not fit its system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an element names vertex {vertex}, but there are only {count} vertices")]
pub struct VertexBeyond {
    /// The vertex named.
    pub vertex: u32,
    /// Number of vertices.
    pub count: usize,
}

impl<T: Precision> System<T> {
    /// A system without energies.
    ///
    /// # Panics
    /// If there are more free vertices than vertices.
    pub fn new(vertices: usize, free: usize) -> Self {
        assert!(free <= vertices, "free vertices are some of all");
        Self {
            groups: Vec::new(),
            is_transient: Vec::new(),
            vertices,
            free,
            forces: vec![[T::default(); 4]; free],
        }
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.vertices
    }

    /// Number of free vertices.
    pub fn free_count(&self) -> usize {
        self.free
    }

    /// Adds permanent elements.
    pub fn add<G: Group<T>>(&mut self, group: G) -> Result<Handle<G>, VertexBeyond> {
        self.add_as(group, false)
    }

    /// Adds transient elements, such as contacts. They are not part of [`matrix`](Self::matrix); a global step is given their
    /// [`transient_rows`](Self::transient_rows) whenever they change.
    pub fn add_transient<G: Group<T>>(&mut self, group: G) -> Result<Handle<G>, VertexBeyond> {
        self.add_as(group, true)
    }

    fn add_as<G: Group<T>>(&mut self, group: G, is_transient: bool) -> Result<Handle<G>, VertexBeyond> {
        match group.last_vertex() {
            Some(vertex) if vertex as usize >= self.vertices => {
                Err(VertexBeyond { vertex, count: self.vertices })
            }
            _ => {
                self.groups.push(Box::new(group));
                self.is_transient.push(is_transient);
                Ok(Handle { index: self.groups.len() - 1, kind: PhantomData })
            }
        }
    }

    /// The elements behind a handle.
    pub fn group<G: Group<T>>(&self, handle: Handle<G>) -> &G {
        self.groups[handle.index].as_any().downcast_ref().expect("a handle keeps its group's type")
    }

    /// The elements behind a handle, mutably. They must only name existing vertices.
    pub fn group_mut<G: Group<T>>(&mut self, handle: Handle<G>) -> &mut G {
        self.groups[handle.index].as_any_mut().downcast_mut().expect("a handle keeps its group's type")
    }

    /// Energy of all elements and forces; `gradient` gets one row per vertex, zero for kinematic ones.
    ///
    /// # Panics
    /// If the slices do not have one row per vertex.
    pub fn energy_and_gradient(&self, x: &[Row<T>], gradient: &mut [Row<T>]) -> f64 {
        self.evaluate(None, x, gradient, &mut Vec::new()).energy
    }

    /// The same with the inertia of a step, and memory for gradients of parts that is kept from call to call.
    ///
    /// # Panics
    /// If the slices do not have one row per vertex.
    pub(super) fn evaluate(
        &self,
        inertia: Option<&Inertia<'_, T>>,
        x: &[Row<T>],
        gradient: &mut [Row<T>],
        spare: &mut Vec<Row<T>>,
    ) -> Evaluated {
        assert!(x.len() == self.vertices && gradient.len() == self.vertices, "one row per vertex");
        let add_up = |part: Part, gradient: &mut [Row<T>]| -> f64 {
            gradient.fill([T::default(); 4]);
            self.groups.iter().map(|group| group.accumulate(part, x, gradient)).sum()
        };
        let count = self.part_count();
        spare.resize((count - 1) * self.vertices, [T::default(); 4]);
        let energy = if count == 1 {
            add_up(Part::ALL, gradient)
        } else {
            let mut gradients: Vec<&mut [Row<T>]> = vec![&mut *gradient];
            gradients.extend(spare.chunks_exact_mut(self.vertices));
            let parts = gradients.par_iter_mut().enumerate();
            let energies: Vec<f64> =
                parts.map(|(index, gradient)| add_up(Part { index, count }, gradient)).collect();
            energies.iter().sum()
        };
        gradient[self.free..].fill([T::default(); 4]);
        let others: Vec<&[Row<T>]> = spare.chunks_exact(self.vertices).collect();
        let rest = AddRest {
            forces: &self.forces,
            inertia: inertia.map(|i| (i.weights, i.predicted)),
            others: &others,
            x,
            gradient: &mut gradient[..self.free],
            first: 0,
        };
        let rest = rest.run();
        Evaluated { energy: energy + rest.energy, square: rest.square }
    }

    /// The number of parts in which the system is evaluated. It depends on the system alone, so that sums do not depend on the number of threads.
    fn part_count(&self) -> usize {
        match self.groups.iter().map(|group| group.batch_count()).max() {
            Some(MANY..) => 4,
            Some(SPLIT..) => 2,
            _ => 1,
        }
    }

    /// Adds the gradient of the transient groups and returns their energy.
    pub(super) fn accumulate_transients(&self, x: &[Row<T>], gradient: &mut [Row<T>]) -> f64 {
        let transient = self.groups.iter().zip(&self.is_transient).filter(|(_, transient)| **transient);
        transient.map(|(group, _)| group.accumulate(Part::ALL, x, gradient)).sum()
    }

    /// The matrix rows of the transient groups, over the free vertices.
    pub fn transient_rows(&self) -> Vec<MatrixRow> {
        let mut rows = Vec::new();
        for (group, _) in self.groups.iter().zip(&self.is_transient).filter(|(_, transient)| **transient) {
            group.each_row(&mut |weight, row| {
                let entries = self.free_entries(row);
                if weight > 0.0 && !entries.is_empty() {
                    rows.push(MatrixRow { weight, entries });
                }
            });
        }
        rows
    }

    fn free_entries(&self, row: &[(u32, f64)]) -> Vec<(u32, f64)> {
        let mut entries: Vec<(u32, f64)> =
            row.iter().copied().filter(|(v, c)| (*v as usize) < self.free && *c != 0.0).collect();
        entries.sort_unstable_by_key(|(vertex, _)| *vertex);
        entries.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            kept.1 += if same { later.1 } else { 0.0 };
            same
        });
        entries
    }

    /// The matrix of the global step over the free vertices for the permanent groups: Z = Σ w GᵀG plus a diagonal, M / h² of a step or
    /// nothing (*Progressive PD* eq. 6). It is positive definite if every connected part is attached.
    pub fn matrix(&self, diagonal: &[f64]) -> SymmetricMatrix {
        self.sum_rows(diagonal, |transient| !transient)
    }

    /// The same with the transient groups.
    pub fn matrix_with_transients(&self, diagonal: &[f64]) -> SymmetricMatrix {
        self.sum_rows(diagonal, |_| true)
    }

    fn sum_rows(&self, diagonal: &[f64], wanted: impl Fn(bool) -> bool) -> SymmetricMatrix {
        let mut entries: Vec<(usize, usize, f64)> =
            diagonal.iter().take(self.free).enumerate().map(|(i, value)| (i, i, *value)).collect();
        for (group, _) in self.groups.iter().zip(&self.is_transient).filter(|(_, t)| wanted(**t)) {
            group.each_row(&mut |weight, row| {
                let row = self.free_entries(row);
                for (place, (i, a)) in row.iter().enumerate() {
                    for (j, b) in &row[..=place] {
                        entries.push((*i as usize, *j as usize, weight * a * b));
                    }
                }
            });
        }
        SymmetricMatrix::from_entries(self.free, &entries)
    }

    /// The product of the exact Hessian at `x` and a direction over all vertices.
    pub fn hessian_product(&self, x: &[Row<T>], direction: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let mut out = vec![[0.0; 3]; self.vertices];
        for group in &self.groups {
            group.add_hessian_product(x, direction, &mut out);
        }
        out[self.free..].fill([0.0; 3]);
        out
    }
}

impl<T: Precision> System<T> {
    /// The Hessian at `x` over the free vertices, three rows each, plus `diagonal` (M / h² of a step, or nothing) on those of each vertex. Negative
    /// curvature of single elements is removed, so that it is positive semidefinite and [Newton's method](super::Solver::minimise_by_newton)
    /// can step downhill anywhere. Where no element has any, it is exact.
    pub(super) fn definite_hessian(&self, x: &[Row<T>], diagonal: &[f64]) -> SymmetricMatrix {
        let mut entries: Vec<(usize, usize, f64)> = Vec::new();
        for (v, value) in diagonal.iter().take(self.free).enumerate() {
            entries.extend((3 * v..3 * v + 3).map(|k| (k, k, *value)));
        }
        for group in &self.groups {
            group.each_definite_block(x, &mut |vertices, block| {
                let size = 3 * vertices.len();
                let unknown = |row: usize| 3 * vertices[row / 3] as usize + row % 3;
                let is_free = |row: &usize| (vertices[row / 3] as usize) < self.free;
                for row in (0..size).filter(is_free) {
                    for column in (0..=row).filter(is_free) {
                        let value = block[size * row + column];
                        // A vertex may occur twice, so that both triangles of a block meet on one entry of the diagonal.
                        let twice = row != column && unknown(row) == unknown(column);
                        let value = if twice { 2.0 * value } else { value };
                        entries.push((unknown(row), unknown(column), value));
                    }
                }
            });
        }
        SymmetricMatrix::from_entries(3 * self.free, &entries)
    }
}

/// The result of an evaluation besides the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Evaluated {
    /// The energy.
    pub(super) energy: f64,
    /// The square of the gradient's Euclidean norm.
    pub(super) square: f64,
}

/// Adds the sums of the other parts, forces and inertia to a gradient.
struct AddRest<'a, T> {
    forces: &'a [Row<T>],
    /// Weights and predicted positions.
    inertia: Option<(&'a [T], &'a [Row<T>])>,
    others: &'a [&'a [Row<T>]],
    x: &'a [Row<T>],
    gradient: &'a mut [Row<T>],
    /// The vertex at which the gradient begins; the other slices begin at the first.
    first: usize,
}

impl<T: Precision> AddRest<'_, T> {
    /// Adds them in halves, if there are many vertices.
    fn run(self) -> Evaluated {
        let Some(middle) = vectors::middle(4 * self.gradient.len()) else {
            return simd::run(self);
        };
        let (start, later_start) = (self.first, self.first + middle / 4);
        let (gradient, later) = self.gradient.split_at_mut(middle / 4);
        let second = AddRest { gradient: later, first: later_start, ..self };
        let first = AddRest { gradient, first: start, ..second };
        let (a, b) = rayon::join(|| first.run(), || second.run());
        Evaluated { energy: a.energy + b.energy, square: a.square + b.square }
    }
}

impl<T: Precision> WithSimd for AddRest<'_, T> {
    type Output = Evaluated;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Evaluated {
        let Self { forces, inertia, others, x, gradient, first } = self;
        let (forces, x) = (&forces[first..], &x[first..]);
        // All four numbers of a row, with the padding masked out.
        let seen = [T::of(1.0), T::of(1.0), T::of(1.0), T::default()];
        let (mut energies, mut squares) = ([0.0; 4], [0.0; 4]);
        for other in others {
            for (row, other) in gradient.iter_mut().zip(&other[first..]) {
                for k in 0..4 {
                    row[k] = row[k] + other[k];
                }
            }
        }
        if let Some((weights, predicted)) = inertia {
            let predicted = weights[first..].iter().zip(&predicted[first..]);
            for ((row, x), (weight, predicted)) in gradient.iter_mut().zip(x).zip(predicted) {
                for k in 0..4 {
                    let off = (x[k] - predicted[k]) * seen[k];
                    let pull = *weight * off;
                    row[k] = row[k] + pull;
                    energies[k] += 0.5 * (pull * off).into();
                }
            }
        }
        for ((row, x), force) in gradient.iter_mut().zip(x).zip(forces) {
            for k in 0..4 {
                energies[k] -= (force[k] * x[k] * seen[k]).into();
                row[k] = (row[k] - force[k]) * seen[k];
                squares[k] += (row[k] * row[k]).into();
            }
        }
        Evaluated { energy: energies.iter().sum(), square: squares.iter().sum() }
    }
}

/// One row c of a group, with its weight w: it adds w cᵀc to the matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixRow {
    /// w.
    pub weight: f64,
    /// Free vertices, ascending, with their coefficients.
    pub entries: Vec<(u32, f64)>,
}

/// A position as a row.
pub fn row<T: Precision>(p: DVec3) -> Row<T> {
    [T::of(p.x), T::of(p.y), T::of(p.z), T::default()]
}

/// A row as a position.
pub fn position<T: Precision>(row: &Row<T>) -> DVec3 {
    DVec3::new(row[0].into(), row[1].into(), row[2].into())
}
