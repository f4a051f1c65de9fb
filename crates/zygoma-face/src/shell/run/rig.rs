//! The rig at the resolution of the shell, and the fine detail on top.

use glam::{Vec3, Vec4};
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_physics::shell::StepOrder;
use zygoma_rig::SparseDeltas;

use crate::shell::model::ShellModel;

/// Gaps of zeros in a shape up to this length are stored, since one long run is faster than two short ones.
const GAP: usize = 8;

/// The face's shapes, laid out for fast evaluation.
#[derive(Clone, Debug)]
pub(super) struct CoarseRig {
    rest: Vec<Vec4>,
    neutral_residual: Vec<Vec4>,
    /// In metres.
    neutral: Vec<Vec3>,
    coarse: Vec<Runs>,
    residual: Vec<Runs>,
    /// Corrections at half weight and of pairs, and the factor of each.
    bent: Vec<Runs>,
    bends: Vec<Bend>,
    detail: Vec<Runs>,
}

/// The nonlinear factor of a correction.
#[derive(Clone, Copy, Debug)]
enum Bend {
    /// 1 at half the weight of a shape, 0 at weights 0 and 1.
    Half(u32),
    /// The product of two weights.
    Product([u32; 2]),
}

impl Bend {
    fn scale(self, weights: &[f32]) -> f32 {
        match self {
            Self::Half(shape) => (1.0 - (2.0 * weights[shape as usize] - 1.0).abs()).max(0.0),
            Self::Product(shapes) => shapes.map(|shape| weights[shape as usize]).iter().product(),
        }
    }
}

impl CoarseRig {
    pub(super) fn new(face: &ShellModel, order: &StepOrder) -> Self {
        let on_shell = |deltas: &SparseDeltas| {
            let mut dense = vec![Vec4::ZERO; order.vertices.len()];
            for (vertex, offset) in deltas.iter() {
                dense[order.places[vertex as usize] as usize] = offset.extend(0.0);
            }
            Runs::from_dense(bytemuck::cast_slice(&dense), GAP)
        };
        let height = face.height as f32;
        let on_mesh = |deltas: &SparseDeltas| {
            let mut dense = deltas.to_dense(face.vertex_count());
            dense.iter_mut().for_each(|offset| *offset *= height);
            Runs::from_dense(bytemuck::cast_slice(&dense), GAP)
        };
        let in_order = |values: &[glam::DVec3]| -> Vec<Vec4> {
            order.vertices.iter().map(|v| values[*v as usize].as_vec3().extend(0.0)).collect()
        };
        let corrections = &face.fitted.corrections;
        let halves = (0u32..).zip(corrections).filter(|(_, correction)| !correction.half.vertices.is_empty());
        let halves = halves.map(|(index, correction)| (Bend::Half(index), &correction.half));
        let pairs = face.fitted.pairs.iter().map(|pair| (Bend::Product(pair.shapes), &pair.residual));
        let (bends, bent) = halves.chain(pairs).map(|(bend, deltas)| (bend, on_shell(deltas))).unzip();
        Self {
            bends,
            bent,
            coarse: face.shapes.iter().map(|shape| on_shell(&shape.coarse)).collect(),
            residual: corrections.iter().map(|correction| on_shell(&correction.residual)).collect(),
            detail: face.shapes.iter().map(|shape| on_mesh(&shape.detail)).collect(),
            rest: in_order(&face.shell.rest),
            neutral_residual: in_order(&face.fitted.neutral_residual),
            neutral: face.neutral.iter().map(|p| height * *p).collect(),
        }
    }

    pub(super) fn rest(&self) -> &[Vec4] {
        &self.rest
    }

    pub(super) fn neutral_residual(&self) -> &[Vec4] {
        &self.neutral_residual
    }

    /// Computes the targets of the shell and its residuals from them.
    pub(super) fn targets(&self, weights: &[f32], target: &mut [Vec4], residual: &mut [Vec4]) {
        target.copy_from_slice(&self.rest);
        residual.copy_from_slice(&self.neutral_residual);
        add(bytemuck::cast_slice_mut(target), weights, &self.coarse);
        add(bytemuck::cast_slice_mut(residual), weights, &self.residual);
        for (bend, runs) in self.bends.iter().zip(&self.bent) {
            let scale = bend.scale(weights);
            if scale != 0.0 {
                add(bytemuck::cast_slice_mut(residual), &[scale], std::slice::from_ref(runs));
            }
        }
    }

    /// Neutral plus fine detail of the whole mesh, in metres.
    pub(super) fn detail(&self, weights: &[f32], with_detail: bool, base: &mut [Vec3]) {
        base.copy_from_slice(&self.neutral);
        if with_detail {
            add(bytemuck::cast_slice_mut(base), weights, &self.detail);
        }
    }
}

fn add(output: &mut [f32], weights: &[f32], shapes: &[Runs]) {
    let fits = accumulate_runs(output, weights, shapes).is_ok();
    debug_assert!(fits, "runs were made for arrays of this length");
}
