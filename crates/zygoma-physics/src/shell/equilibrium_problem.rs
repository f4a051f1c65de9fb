//! The quasistatic problem of a shell, or a part of it, between its elasticity and the actuation towards one target.
//!
//! Ψ(x) = Σ ½ aᵢ ‖xᵢ − tᵢ‖² + Σ ½ k (‖q‖ − r)², the quasistatic form of IFA eq. 4 without lagging (IFA §4.2):
//! q joins the ends of a spring or the closest points of a bending element, and r is its free length. Bending elements do not push: see
//! [`Bend`](super::Bend).

use std::sync::Arc;

use glam::{DMat3, DVec3};
use zygoma_numerics::{Analysis, SymmetricMatrix};

use super::length_energy::LengthEnergy;
use super::{Shell, ShellParams, Stiffness};

/// The free vertices of a shell with their elements and a target; all other vertices are fixed at the target.
#[derive(Debug)]
pub struct EquilibriumProblem {
    part: Arc<Part>,
    target: Vec<DVec3>,
    bends: Vec<Element<4>>,
}

/// The parts of a problem that do not depend on the target.
#[derive(Debug)]
struct Part {
    /// Shell vertices by local number: first the free ones, then their fixed neighbours.
    vertices: Vec<u32>,
    free: usize,
    actuation: Vec<f64>,
    springs: Vec<Element<2>>,
    /// Indices of the bending elements in the shell.
    bends: Vec<u32>,
    blocks: Blocks,
    analysis: Arc<Analysis>,
}

/// Stiffness of the elements of an [`EquilibriumProblem`], N/m.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    springs: Vec<f64>,
    bends: Vec<f64>,
}

/// A spring or bending element in local vertices.
#[derive(Clone, Copy, Debug)]
struct Element<const N: usize> {
    vertices: [u32; N],
    weights: [f64; N],
    energy: LengthEnergy,
    /// Weight per unit of stiffness: l^r for springs, ‖e‖/h̄ for bending elements.
    scale: f64,
}

impl<const N: usize> Element<N> {
    fn span(&self, x: &[DVec3]) -> DVec3 {
        (0..N).map(|i| self.weights[i] * x[self.vertices[i] as usize]).sum()
    }
}

impl EquilibriumProblem {
    /// The problem of the `free` vertices of a shell under actuation towards `target`; all others are fixed there.
    ///
    /// # Panics
    /// If `target` or `free` is not as long as the shell has vertices.
    pub fn new(shell: &Shell, params: &ShellParams, target: &[DVec3], free: &[bool]) -> Self {
        let count = shell.vertex_count();
        assert!(target.len() == count && free.len() == count, "one target per vertex");
        let mut local = vec![u32::MAX; count];
        let mut vertices: Vec<u32> = (0..count as u32).filter(|v| free[*v as usize]).collect();
        for (index, vertex) in vertices.iter().enumerate() {
            local[*vertex as usize] = index as u32;
        }
        let free = vertices.len();
        let mut springs = Vec::new();
        for spring in &shell.springs {
            if let Some(ends) = localise(spring.ends, free, &mut local, &mut vertices) {
                let (weights, length) = ([1.0, -1.0], spring.rest_length);
                springs.push(Element {
                    vertices: ends,
                    weights,
                    energy: LengthEnergy::spring(length),
                    scale: length,
                });
            }
        }
        let (mut bends, mut numbers) = (Vec::new(), Vec::new());
        for (number, bend) in (0u32..).zip(&shell.bends) {
            if let Some(ends) = localise(bend.vertices, free, &mut local, &mut vertices) {
                let energy = LengthEnergy::bend(bend.free_distance(target));
                bends.push(Element { vertices: ends, weights: bend.weights, energy, scale: bend.scale });
                numbers.push(number);
            }
        }
        let blocks = Blocks::new(free, &springs, &bends);
        let analysis = Analysis::new(&blocks.matrix);
        let target = vertices.iter().map(|v| target[*v as usize]).collect();
        let actuation = vertices[..free].iter().map(|v| params.actuation(shell.area[*v as usize])).collect();
        let part = Part { vertices, free, actuation, springs, bends: numbers, blocks, analysis };
        Self { part: Arc::new(part), target, bends }
    }

    /// The same problem with another target. The symbolic analysis is shared.
    ///
    /// # Panics
    /// If `target` is not as long as the shell has vertices.
    pub fn retargeted(&self, shell: &Shell, target: &[DVec3]) -> Self {
        assert_eq!(target.len(), shell.vertex_count(), "one target per vertex");
        let bend = |(element, number): (&Element<4>, &u32)| Element {
            energy: LengthEnergy::bend(shell.bends[*number as usize].free_distance(target)),
            ..*element
        };
        Self {
            part: self.part.clone(),
            target: self.part.vertices.iter().map(|v| target[*v as usize]).collect(),
            bends: self.bends.iter().zip(&self.part.bends).map(bend).collect(),
        }
    }

    /// Shell vertices by local number; the first [`free_count`](Self::free_count) are free.
    pub fn vertices(&self) -> &[u32] {
        &self.part.vertices
    }

    /// Number of free vertices.
    pub fn free_count(&self) -> usize {
        self.part.free
    }

    /// Number of springs and bending elements.
    pub fn element_count(&self) -> usize {
        self.part.springs.len() + self.bends.len()
    }

    /// Targets by local number: a start for the search.
    pub fn target(&self) -> &[DVec3] {
        &self.target
    }

    /// Actuation stiffness p^max A / ε^r of every free vertex (IFA eq. 5).
    pub fn actuation(&self) -> &[f64] {
        &self.part.actuation
    }

    pub(super) fn analysis(&self) -> &Arc<Analysis> {
        &self.part.analysis
    }

    /// An empty matrix for [`hessian`](Self::hessian), three rows per free vertex.
    pub fn matrix(&self) -> SymmetricMatrix {
        self.part.blocks.matrix.clone()
    }

    /// Weights of the elements for a stiffness of the whole shell.
    pub fn weights(&self, stiffness: &Stiffness) -> Weights {
        let mean = |values: &[f64], local: &[u32]| {
            local.iter().map(|v| values[self.part.vertices[*v as usize] as usize]).sum::<f64>()
                / local.len() as f64
        };
        Weights {
            springs: self
                .part
                .springs
                .iter()
                .map(|e| e.scale * mean(&stiffness.strain, &e.vertices))
                .collect(),
            bends: self.bends.iter().map(|e| e.scale * mean(&stiffness.bending, &e.vertices)).collect(),
        }
    }

    /// Ψ(x), up to a constant.
    pub fn energy(&self, weights: &Weights, x: &[DVec3]) -> f64 {
        let actuation: f64 =
            (0..self.part.free).map(|i| self.part.actuation[i] * x[i].distance_squared(self.target[i])).sum();
        0.5 * (actuation
            + energy_of(&self.part.springs, &weights.springs, x)
            + energy_of(&self.bends, &weights.bends, x))
    }

    /// ∂Ψ/∂x of the free vertices.
    pub fn gradient(&self, weights: &Weights, x: &[DVec3], out: &mut [DVec3]) {
        for i in 0..self.part.free {
            out[i] = self.part.actuation[i] * (x[i] - self.target[i]);
        }
        add_gradient(&self.part.springs, &weights.springs, x, &mut out[..self.part.free]);
        add_gradient(&self.bends, &weights.bends, x, &mut out[..self.part.free]);
    }

    /// ∂²Ψ/∂x² of the free vertices, less the fraction `damping` of each element's negative curvature: 0 is exact,
    /// 1 is always positive definite.
    pub fn hessian(&self, weights: &Weights, x: &[DVec3], damping: f64, out: &mut SymmetricMatrix) {
        let mut sums = vec![DMat3::ZERO; self.part.blocks.count];
        for (slot, actuation) in self.part.blocks.diagonal.iter().zip(&self.part.actuation) {
            sums[*slot as usize] = DMat3::from_diagonal(DVec3::splat(*actuation));
        }
        add_hessian(&self.part.springs, &weights.springs, &self.part.blocks.springs, x, damping, &mut sums);
        add_hessian(&self.bends, &weights.bends, &self.part.blocks.bends, x, damping, &mut sums);
        self.part.blocks.write(&sums, out);
    }

    /// Adds λᵀ ∂²Ψ/∂x∂κ to the gradient with respect to the stiffness of every vertex of the shell.
    pub fn add_stiffness_gradient(&self, x: &[DVec3], adjoint: &[DVec3], out: &mut Stiffness) {
        self.add_mixed(&self.part.springs, x, adjoint, &mut out.strain);
        self.add_mixed(&self.bends, x, adjoint, &mut out.bending);
    }

    fn add_mixed<const N: usize>(
        &self,
        elements: &[Element<N>],
        x: &[DVec3],
        adjoint: &[DVec3],
        out: &mut [f64],
    ) {
        for element in elements {
            let pull = element.energy.gradient(element.span(x));
            let mut along = 0.0;
            for i in 0..N {
                if let Some(adjoint) = adjoint.get(element.vertices[i] as usize) {
                    along += element.weights[i] * pull.dot(*adjoint);
                }
            }
            for vertex in element.vertices {
                out[self.part.vertices[vertex as usize] as usize] += element.scale * along / N as f64;
            }
        }
    }
}

/// The residual force at every vertex of a whole shell, divided by its actuation stiffness, m.
/// Written independently of [`EquilibriumProblem`], so that each checks the other.
///
/// # Panics
/// If `target` or `x` is not as long as the shell has vertices.
pub fn imbalance(
    shell: &Shell,
    params: &ShellParams,
    stiffness: &Stiffness,
    target: &[DVec3],
    x: &[DVec3],
) -> Vec<f64> {
    let actuation = |v: usize| params.actuation(shell.area[v]);
    let mut forces: Vec<DVec3> =
        (0..shell.vertex_count()).map(|v| actuation(v) * (target[v] - x[v])).collect();
    for spring in &shell.springs {
        let [a, b] = spring.ends.map(|v| v as usize);
        let q = x[a] - x[b];
        let pull = spring.rest_length
            * stiffness.of_spring(spring)
            * (q - spring.rest_length * q.normalize_or_zero());
        forces[a] -= pull;
        forces[b] += pull;
    }
    for bend in &shell.bends {
        let q = bend.span(x);
        let beyond = (q.length() - bend.free_distance(target)).max(0.0);
        let pull = bend.scale * stiffness.of_bend(bend) * beyond * q.normalize_or_zero();
        for (vertex, weight) in bend.vertices.iter().zip(bend.weights) {
            forces[*vertex as usize] -= weight * pull;
        }
    }
    forces.iter().enumerate().map(|(v, force)| force.length() / actuation(v)).collect()
}

/// Local numbers of an element's vertices, or none if no vertex is free. Fixed vertices are appended when first met.
fn localise<const N: usize>(
    ends: [u32; N],
    free: usize,
    local: &mut [u32],
    vertices: &mut Vec<u32>,
) -> Option<[u32; N]> {
    if ends.iter().all(|v| local[*v as usize] as usize >= free) {
        return None;
    }
    Some(ends.map(|vertex| {
        let place = &mut local[vertex as usize];
        if *place == u32::MAX {
            *place = vertices.len() as u32;
            vertices.push(vertex);
        }
        *place
    }))
}

fn energy_of<const N: usize>(elements: &[Element<N>], weights: &[f64], x: &[DVec3]) -> f64 {
    elements.iter().zip(weights).map(|(e, weight)| weight * e.energy.doubled(e.span(x))).sum()
}

fn add_gradient<const N: usize>(elements: &[Element<N>], weights: &[f64], x: &[DVec3], out: &mut [DVec3]) {
    for (element, weight) in elements.iter().zip(weights) {
        let force = *weight * element.energy.gradient(element.span(x));
        for i in 0..N {
            if let Some(sum) = out.get_mut(element.vertices[i] as usize) {
                *sum += element.weights[i] * force;
            }
        }
    }
}

fn add_hessian<const N: usize>(
    elements: &[Element<N>],
    weights: &[f64],
    slots: &[u32],
    x: &[DVec3],
    damping: f64,
    sums: &mut [DMat3],
) {
    let pairs = N * (N + 1) / 2;
    for ((element, weight), slots) in elements.iter().zip(weights).zip(slots.chunks_exact(pairs)) {
        let curvature = *weight * element.energy.hessian(element.span(x), damping);
        let mut slot = slots.iter();
        for i in 0..N {
            for j in 0..=i {
                if let Some(sum) = slot.next().and_then(|slot| sums.get_mut(*slot as usize)) {
                    *sum += curvature * (element.weights[i] * element.weights[j]);
                }
            }
        }
    }
}

/// The sparse matrix as symmetric 3×3 blocks, and the slots that each element adds to.
#[derive(Debug)]
struct Blocks {
    count: usize,
    /// First block of each column, which is the diagonal one.
    starts: Vec<u32>,
    diagonal: Vec<u32>,
    /// For every element its pairs (0,0), (1,0), (1,1), ...; `u32::MAX` where a vertex is fixed.
    springs: Vec<u32>,
    bends: Vec<u32>,
    /// The scalar matrix of these blocks, all zero.
    matrix: SymmetricMatrix,
}

impl Blocks {
    fn new(free: usize, springs: &[Element<2>], bends: &[Element<4>]) -> Self {
        let mut pairs = Vec::new();
        let mut collect = |vertices: &[u32]| {
            for (i, a) in vertices.iter().enumerate() {
                pairs.extend(vertices[..i].iter().map(|b| (*a as usize, *b as usize)));
            }
        };
        springs.iter().for_each(|e| collect(&e.vertices));
        bends.iter().for_each(|e| collect(&e.vertices));
        pairs.retain(|(a, b)| *a < free && *b < free);
        let pattern = SymmetricMatrix::with_pattern(free, pairs);
        let slot = |a: u32, b: u32| {
            if a as usize >= free || b as usize >= free {
                return u32::MAX;
            }
            pattern.position(a as usize, b as usize).map_or(u32::MAX, |place| place as u32)
        };
        let slots = |vertices: &[u32]| -> Vec<u32> {
            (0..vertices.len())
                .flat_map(|i| (0..=i).map(move |j| (i, j)))
                .map(|(i, j)| slot(vertices[i], vertices[j]))
                .collect()
        };
        let matrix = scalar_matrix(&pattern);
        Self {
            matrix,
            count: pattern.rows().len(),
            starts: pattern.starts().iter().map(|start| *start as u32).collect(),
            diagonal: pattern.starts()[..free].iter().map(|start| *start as u32).collect(),
            springs: springs.iter().flat_map(|e| slots(&e.vertices)).collect(),
            bends: bends.iter().flat_map(|e| slots(&e.vertices)).collect(),
        }
    }

    /// Writes the blocks to the scalar matrix, whose columns hold three rows per block, in order.
    fn write(&self, sums: &[DMat3], out: &mut SymmetricMatrix) {
        let values = out.values_mut();
        let mut place = 0;
        for column in 0..self.diagonal.len() {
            let blocks = &sums[self.starts[column] as usize..self.starts[column + 1] as usize];
            for k in 0..3 {
                for (index, block) in blocks.iter().enumerate() {
                    let rows = block.col(k).to_array();
                    let rows = if index == 0 { &rows[k..] } else { &rows[..] };
                    values[place..place + rows.len()].copy_from_slice(rows);
                    place += rows.len();
                }
            }
        }
    }
}

/// The matrix with three rows for each row of a pattern, all zero.
fn scalar_matrix(pattern: &SymmetricMatrix) -> SymmetricMatrix {
    let mut entries = Vec::with_capacity(9 * pattern.rows().len());
    for column in 0..pattern.size() {
        for row in &pattern.rows()[pattern.starts()[column]..pattern.starts()[column + 1]] {
            entries.extend((0..9).map(|k| (3 * row + k / 3, 3 * column + k % 3)));
        }
    }
    SymmetricMatrix::with_pattern(3 * pattern.size(), entries)
}

#[cfg(test)]
#[path = "equilibrium_tests.rs"]
mod tests;
