//! The rig's targets at one time.

use glam::{Vec3, Vec4, Vec4Swizzles};

use super::rig::CoarseRig;
use crate::contact::Layer;
use crate::shell::model::ShellModel;

/// The rig's targets at the end of a frame. On the shell in face heights and in step order, on the mesh in metres.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    /// Target positions of the shell.
    pub(super) target: Vec<Vec4>,
    /// Residual of the settled shell from its target.
    pub(super) residual: Vec<Vec4>,
    /// Rest position of the shell: the target minus the residual.
    pub(super) rested: Vec<Vec4>,
    /// Neutral plus detail of the whole mesh.
    pub(super) base: Vec<Vec3>,
    /// Normals of the target, computed on demand.
    normals: Vec<Option<Vec3>>,
    /// Vertices whose normals have been computed.
    known: Vec<u32>,
}

/// The triangle fan of each vertex of the shell, in step order.
#[derive(Clone, Debug)]
pub(super) struct Fans {
    ends: Vec<u32>,
    /// The other two corners, in the order of the triangle.
    others: Vec<[u32; 2]>,
}

impl Fans {
    pub(super) fn new(vertices: usize, triangles: &[[u32; 3]]) -> Self {
        let mut fans = vec![Vec::new(); vertices];
        for [a, b, c] in triangles {
            fans[*a as usize].push([*b, *c]);
            fans[*b as usize].push([*c, *a]);
            fans[*c as usize].push([*a, *b]);
        }
        let mut made = Self { ends: Vec::with_capacity(vertices), others: Vec::new() };
        for fan in fans {
            made.others.extend(fan);
            made.ends.push(made.others.len() as u32);
        }
        made
    }

    /// The normal of a surface at a vertex; zero where it has none.
    pub(super) fn normal(&self, vertex: usize, positions: &[Vec4]) -> Vec3 {
        let (at, own) = (|v: u32| positions[v as usize].xyz(), positions[vertex].xyz());
        let areas = self.of(vertex).iter().map(|[b, c]| (at(*b) - own).cross(at(*c) - own));
        areas.sum::<Vec3>().normalize_or_zero()
    }

    fn of(&self, vertex: usize) -> &[[u32; 2]] {
        let start = if vertex == 0 { 0 } else { self.ends[vertex - 1] };
        &self.others[start as usize..self.ends[vertex] as usize]
    }
}

/// Embedding of a vertex of the whole mesh: three vertices of the shell, in step order, and their weights.
pub(super) type Carriers = ([u32; 3], [f32; 3]);

impl Targets {
    pub(super) fn new(face: &ShellModel, rig: &CoarseRig) -> Self {
        let count = rig.rest().len();
        Self {
            target: rig.rest().to_vec(),
            residual: vec![Vec4::ZERO; count],
            rested: rig.rest().to_vec(),
            base: vec![Vec3::ZERO; face.vertex_count()],
            normals: vec![None; count],
            known: Vec::with_capacity(count),
        }
    }

    pub(super) fn copy_from(&mut self, other: &Self) {
        self.target.copy_from_slice(&other.target);
        self.residual.copy_from_slice(&other.residual);
        self.rested.copy_from_slice(&other.rested);
        self.base.copy_from_slice(&other.base);
        self.forget_normals();
    }

    pub(super) fn layer(&self) -> Layer<'_> {
        Layer { base: &self.base, residual: &self.residual }
    }

    /// Sets all fields from weights of the shapes.
    pub(super) fn set_weights(&mut self, rig: &CoarseRig, weights: &[f32], with_detail: bool) {
        self.forget_normals();
        rig.targets(weights, &mut self.target, &mut self.residual);
        self.find_rest();
        rig.detail(weights, with_detail, &mut self.base);
    }

    fn find_rest(&mut self) {
        for i in 0..self.rested.len() {
            self.rested[i] = self.target[i] - self.residual[i];
        }
    }

    /// Sets all fields from a surface of the whole mesh, in metres.
    pub(super) fn set_surface(
        &mut self,
        face: &ShellModel,
        rig: &CoarseRig,
        vertices: &[u32],
        embedding: &[Carriers],
        surface: &[Vec3],
    ) {
        self.forget_normals();
        let (height, per_metre) = (face.height as f32, (1.0 / face.height) as f32);
        for (target, vertex) in self.target.iter_mut().zip(vertices) {
            let place = &face.places[*vertex as usize];
            let corners = face.triangles[place.triangle as usize];
            let at: Vec3 = (0..3).map(|i| place.barycentric[i] as f32 * surface[corners[i] as usize]).sum();
            *target = (per_metre * at).extend(0.0);
        }
        self.residual.copy_from_slice(rig.neutral_residual());
        self.find_rest();
        for (vertex, (corners, weights)) in embedding.iter().enumerate() {
            let moved: Vec4 = (0..3)
                .map(|i| {
                    let corner = corners[i] as usize;
                    weights[i] * (self.target[corner] - rig.rest()[corner])
                })
                .sum();
            self.base[vertex] = surface[vertex] - height * moved.xyz();
        }
    }

    fn forget_normals(&mut self) {
        for vertex in self.known.drain(..) {
            self.normals[vertex as usize] = None;
        }
    }

    /// Computes the normal of the target at a vertex, along which depth is measured. Few are ever needed.
    pub(super) fn find_normal(&mut self, vertex: usize, fans: &Fans) {
        if self.normals[vertex].is_some() {
            return;
        }
        self.normals[vertex] = Some(fans.normal(vertex, &self.target));
        self.known.push(vertex as u32);
    }

    /// The normal at a vertex, or zero unless it was [found](Self::find_normal).
    pub(super) fn normal(&self, vertex: usize) -> Vec3 {
        self.normals[vertex].unwrap_or(Vec3::ZERO)
    }
}
