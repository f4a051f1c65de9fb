//! What the rig wants at one time.

use glam::{Vec3, Vec4, Vec4Swizzles};

use super::contact::Layer;
use super::rig::CoarseRig;
use crate::interactive::Face;

/// What the rig wants at the end of a frame. On the shell in heights and in the order of the steps, on the mesh in metres.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    /// Where the shell should be.
    pub(super) target: Vec<Vec4>,
    /// What the settled shell misses of that.
    pub(super) residual: Vec<Vec4>,
    /// Neutral and detail of the whole mesh.
    pub(super) base: Vec<Vec3>,
    normals: Vec<Vec3>,
    has_normals: bool,
}

/// How the whole mesh follows the shell: three vertices of the shell, in the order of the steps, and their weights.
pub(super) type Carriers = ([u32; 3], [f32; 3]);

impl Targets {
    pub(super) fn new(face: &Face, rig: &CoarseRig) -> Self {
        let count = rig.rest().len();
        Self {
            target: rig.rest().to_vec(),
            residual: vec![Vec4::ZERO; count],
            base: vec![Vec3::ZERO; face.vertex_count()],
            normals: vec![Vec3::ZERO; count],
            has_normals: false,
        }
    }

    pub(super) fn copy_from(&mut self, other: &Self) {
        self.target.copy_from_slice(&other.target);
        self.residual.copy_from_slice(&other.residual);
        self.base.copy_from_slice(&other.base);
        self.has_normals = false;
    }

    pub(super) fn layer(&self) -> Layer<'_> {
        Layer { base: &self.base, residual: &self.residual }
    }

    /// Sets everything from weights of the shapes.
    pub(super) fn set_weights(&mut self, rig: &CoarseRig, weights: &[f32], with_detail: bool) {
        self.has_normals = false;
        rig.targets(weights, &mut self.target, &mut self.residual);
        rig.detail(weights, with_detail, &mut self.base);
    }

    /// Sets everything from a surface of the whole mesh, in metres.
    pub(super) fn set_surface(
        &mut self,
        face: &Face,
        rig: &CoarseRig,
        vertices: &[u32],
        embedding: &[Carriers],
        surface: &[Vec3],
    ) {
        self.has_normals = false;
        let (height, per_metre) = (face.height as f32, (1.0 / face.height) as f32);
        for (target, vertex) in self.target.iter_mut().zip(vertices) {
            let place = &face.places[*vertex as usize];
            let corners = face.triangles[place.triangle as usize];
            let at: Vec3 = (0..3).map(|i| place.barycentric[i] as f32 * surface[corners[i] as usize]).sum();
            *target = (per_metre * at).extend(0.0);
        }
        self.residual.copy_from_slice(rig.neutral_residual());
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

    /// Computes the normals of the target, along which depth is measured, unless that was done.
    pub(super) fn update_normals(&mut self, triangles: &[[u32; 3]]) {
        if self.has_normals {
            return;
        }
        self.has_normals = true;
        self.normals.fill(Vec3::ZERO);
        for t in triangles {
            let [a, b, c] = t.map(|v| self.target[v as usize].xyz());
            let area = (b - a).cross(c - a);
            for v in t {
                self.normals[*v as usize] += area;
            }
        }
        for normal in &mut self.normals {
            *normal = normal.normalize_or_zero();
        }
    }

    /// The normals, once [updated](Self::update_normals).
    pub(super) fn normals(&self) -> &[Vec3] {
        &self.normals
    }
}
