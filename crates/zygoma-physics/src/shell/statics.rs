//! A shell, or a part of it, at rest between its elasticity and the pull towards one target.
//!
//! Ψ(x) = Σ ½ aᵢ ‖xᵢ − tᵢ‖² + Σ ½ k (‖q‖ − r)² + Σ ½ k (n · q − c⁰)², the quasistatic form of IFA eq. 4 without lagging
//! (§4.2): q joins the ends of a spring of length r at rest, or the closest points of a [`Bend`] with its normal n at the target.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use zygoma_numerics::{Analysis, SymmetricMatrix};

use super::{Bend, Shell, ShellParams, Stiffness};

/// The part of a shell that may move towards a target, while all other vertices are held there.
#[derive(Debug)]
pub struct Statics {
    part: Arc<Part>,
    target: Vec<DVec3>,
    /// Normal of each bending element at the target.
    normals: Vec<DVec3>,
}

/// What does not depend on the target.
#[derive(Debug)]
struct Part {
    /// Local to shell vertices: first those that may move, then the held ones next to them.
    vertices: Vec<u32>,
    free: usize,
    actuation: Vec<f64>,
    springs: Vec<Spring>,
    /// In local vertices.
    bends: Vec<Bend>,
    blocks: Blocks,
    analysis: Arc<Analysis>,
}

/// Stiffness of the elements of a [`Statics`], N/m.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    springs: Vec<f64>,
    bends: Vec<f64>,
}

/// A spring in local vertices.
#[derive(Clone, Copy, Debug)]
struct Spring {
    ends: [u32; 2],
    /// r, also its weight per unit of stiffness.
    length: f64,
}

impl Spring {
    fn span(&self, x: &[DVec3]) -> DVec3 {
        x[self.ends[0] as usize] - x[self.ends[1] as usize]
    }

    /// ∂/∂q of ½ (‖q‖ − r)².
    fn pull(&self, x: &[DVec3]) -> DVec3 {
        let q = self.span(x);
        q - self.length * q.normalize_or_zero()
    }

    /// ∂²/∂q² of ½ (‖q‖ − r)², without the share `damping` of its negative part.
    fn curvature(&self, x: &[DVec3], damping: f64) -> DMat3 {
        let q = self.span(x);
        let length = q.length();
        if length < 1e-12 {
            return DMat3::IDENTITY;
        }
        let along = q / length;
        let across = 1.0 - self.length / length;
        let across = if across < 0.0 { (1.0 - damping) * across } else { across };
        DMat3::from_diagonal(DVec3::splat(across)) + (1.0 - across) * outer(along, along)
    }
}

impl Statics {
    /// The equilibrium of the `free` vertices of a shell pulled to `target`; all others are held at it.
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
                springs.push(Spring { ends, length: spring.rest_length });
            }
        }
        let mut bends = Vec::new();
        for bend in &shell.bends {
            if let Some(vertices) = localise(bend.vertices, free, &mut local, &mut vertices) {
                bends.push(Bend { vertices, ..*bend });
            }
        }
        let blocks = Blocks::new(free, &springs, &bends);
        let analysis = Analysis::new(&blocks.matrix);
        let actuation = vertices[..free].iter().map(|v| params.actuation(shell.area[*v as usize])).collect();
        let part = Part { vertices, free, actuation, springs, bends, blocks, analysis };
        Self::of_part(Arc::new(part), target)
    }

    /// The same vertices of the same shell pulled to another target. All else is shared.
    ///
    /// # Panics
    /// If `target` is shorter than the shell has vertices.
    pub fn retargeted(&self, target: &[DVec3]) -> Self {
        Self::of_part(self.part.clone(), target)
    }

    fn of_part(part: Arc<Part>, target: &[DVec3]) -> Self {
        let target: Vec<DVec3> = part.vertices.iter().map(|v| target[*v as usize]).collect();
        let normals = part.bends.iter().map(|bend| bend.normal(&target)).collect();
        Self { part, target, normals }
    }

    /// Every bending element with its normal and n · q − c⁰.
    fn bent<'a>(&'a self, x: &'a [DVec3]) -> impl Iterator<Item = (&'a Bend, DVec3, f64)> {
        let bends = self.part.bends.iter().zip(&self.normals);
        bends.map(|(bend, normal)| (bend, *normal, bend.distance(x, *normal) - bend.rest_distance))
    }

    /// The shell's numbers of the vertices here; the first [`free_count`](Self::free_count) may move.
    pub fn vertices(&self) -> &[u32] {
        &self.part.vertices
    }

    /// How many vertices may move.
    pub fn free_count(&self) -> usize {
        self.part.free
    }

    /// Number of springs and bending elements.
    pub fn element_count(&self) -> usize {
        self.part.springs.len() + self.part.bends.len()
    }

    /// Targets of the vertices here: where the search for an equilibrium may start.
    pub fn target(&self) -> &[DVec3] {
        &self.target
    }

    /// p^max A / ε^r of every free vertex.
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

    /// What the elements weigh under a stiffness of the whole shell.
    pub fn weights(&self, stiffness: &Stiffness) -> Weights {
        let mean = |values: &[f64], local: &[u32]| {
            local.iter().map(|v| values[self.part.vertices[*v as usize] as usize]).sum::<f64>()
                / local.len() as f64
        };
        let Part { springs, bends, .. } = &*self.part;
        Weights {
            springs: springs.iter().map(|e| e.length * mean(&stiffness.strain, &e.ends)).collect(),
            bends: bends.iter().map(|e| e.scale * mean(&stiffness.bending, &e.vertices)).collect(),
        }
    }

    /// Ψ(x), up to the constant of the held vertices.
    pub fn energy(&self, weights: &Weights, x: &[DVec3]) -> f64 {
        let Part { free, actuation, springs, .. } = &*self.part;
        let pulled = (0..*free).map(|i| actuation[i] * x[i].distance_squared(self.target[i])).sum::<f64>();
        let stretched = springs.iter().zip(&weights.springs).map(|(e, k)| k * e.pull(x).length_squared());
        let bent = self.bent(x).zip(&weights.bends).map(|((_, _, off), k)| k * off * off);
        0.5 * (pulled + stretched.sum::<f64>() + bent.sum::<f64>())
    }

    /// ∂Ψ/∂x of the free vertices.
    pub fn gradient(&self, weights: &Weights, x: &[DVec3], out: &mut [DVec3]) {
        let Part { free, actuation, springs, .. } = &*self.part;
        for i in 0..*free {
            out[i] = actuation[i] * (x[i] - self.target[i]);
        }
        let mut add = |vertex: u32, force: DVec3| {
            if let Some(sum) = out[..*free].get_mut(vertex as usize) {
                *sum += force;
            }
        };
        for (spring, weight) in springs.iter().zip(&weights.springs) {
            let pull = *weight * spring.pull(x);
            add(spring.ends[0], pull);
            add(spring.ends[1], -pull);
        }
        for ((bend, normal, off), weight) in self.bent(x).zip(&weights.bends) {
            for (vertex, share) in bend.vertices.iter().zip(bend.weights) {
                add(*vertex, *weight * off * share * normal);
            }
        }
    }

    /// ∂²Ψ/∂x² of the free vertices, without the share `damping` of each element's negative curvature: 0 is exact,
    /// 1 is always positive definite.
    pub fn hessian(&self, weights: &Weights, x: &[DVec3], damping: f64, out: &mut SymmetricMatrix) {
        let Part { actuation, springs, bends, blocks, .. } = &*self.part;
        let mut sums = vec![DMat3::ZERO; blocks.count];
        for (slot, actuation) in blocks.diagonal.iter().zip(actuation) {
            sums[*slot as usize] = DMat3::from_diagonal(DVec3::splat(*actuation));
        }
        let mut add = |slot: u32, block: DMat3| {
            if let Some(sum) = sums.get_mut(slot as usize) {
                *sum += block;
            }
        };
        for ((spring, weight), slots) in
            springs.iter().zip(&weights.springs).zip(blocks.springs.as_chunks::<3>().0)
        {
            let curvature = *weight * spring.curvature(x, damping);
            add(slots[0], curvature);
            add(slots[1], -curvature);
            add(slots[2], curvature);
        }
        let bends = bends.iter().zip(&self.normals).zip(&weights.bends);
        for (((bend, normal), weight), slots) in bends.zip(blocks.bends.as_chunks::<10>().0) {
            let curvature = *weight * outer(*normal, *normal);
            for (slot, (i, j)) in slots.iter().zip((0..4).flat_map(|i| (0..=i).map(move |j| (i, j)))) {
                add(*slot, bend.weights[i] * bend.weights[j] * curvature);
            }
        }
        blocks.write(&sums, out);
    }

    /// Adds λᵀ ∂²Ψ/∂x∂κ to the derivatives by the stiffness of every vertex of the shell.
    pub fn add_stiffness_gradient(&self, x: &[DVec3], adjoint: &[DVec3], out: &mut Stiffness) {
        let Part { springs, vertices, .. } = &*self.part;
        let along = |vertex: u32, pull: DVec3| adjoint.get(vertex as usize).map_or(0.0, |a| pull.dot(*a));
        for spring in springs {
            let (pull, [a, b]) = (spring.pull(x), spring.ends);
            let share = 0.5 * spring.length * (along(a, pull) - along(b, pull));
            [a, b].iter().for_each(|v| out.strain[vertices[*v as usize] as usize] += share);
        }
        for (bend, normal, off) in self.bent(x) {
            let shares = bend.vertices.iter().zip(bend.weights);
            let sum: f64 = shares.map(|(v, share)| share * along(*v, normal)).sum();
            let share = 0.25 * bend.scale * off * sum;
            bend.vertices.iter().for_each(|v| out.bending[vertices[*v as usize] as usize] += share);
        }
    }
}

/// a bᵀ
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// The force that is left at every vertex of a whole shell, as the distance over which actuation makes it up, m.
/// Written apart from [`Statics`], so that what one of them says can be checked by the other.
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
        let normal = bend.normal(target);
        let off = bend.distance(x, normal) - bend.rest_distance;
        let pull = bend.scale * stiffness.of_bend(bend) * off * normal;
        for (vertex, weight) in bend.vertices.iter().zip(bend.weights) {
            forces[*vertex as usize] -= weight * pull;
        }
    }
    forces.iter().enumerate().map(|(v, force)| force.length() / actuation(v)).collect()
}

/// Local numbers of an element's vertices, or nothing if none may move. Held vertices are added as met.
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

/// The sparse matrix as 3×3 blocks, and where each element adds to them.
#[derive(Debug)]
struct Blocks {
    count: usize,
    /// Column by column: where its blocks start; the first is the diagonal one.
    starts: Vec<u32>,
    diagonal: Vec<u32>,
    /// For every element its pairs (0,0), (1,0), (1,1), ...; `u32::MAX` where a vertex is held.
    springs: Vec<u32>,
    bends: Vec<u32>,
    /// The scalar matrix of these blocks, all zero.
    matrix: SymmetricMatrix,
}

impl Blocks {
    fn new(free: usize, springs: &[Spring], bends: &[Bend]) -> Self {
        let mut pairs = Vec::new();
        let mut collect = |vertices: &[u32]| {
            for (i, a) in vertices.iter().enumerate() {
                pairs.extend(vertices[..i].iter().map(|b| (*a as usize, *b as usize)));
            }
        };
        springs.iter().for_each(|e| collect(&e.ends));
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
            springs: springs.iter().flat_map(|e| slots(&e.ends)).collect(),
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
#[path = "statics_tests.rs"]
mod tests;
