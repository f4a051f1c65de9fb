//! The plain rig as a body: the reference for all others.

use std::sync::Arc;

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_rig::{RigMesh, SparseDeltas};

use super::{BadDrive, Body, Drive, Frame};
use crate::model::FaceModel;

/// The rig without physics.
#[derive(Clone)]
pub struct RigBody {
    neutral: Arc<[Vec3]>,
    shapes: Arc<[Runs]>,
    positions: Vec<Vec3>,
}

impl RigBody {
    /// The plain rig of a face.
    pub fn new(model: &FaceModel) -> Self {
        Self::of_shapes(&model.neutral, model.shapes.iter().map(|shape| &shape.deltas))
    }

    /// The plain rig of a mesh, before a face is built from it.
    pub fn of_mesh(mesh: &RigMesh) -> Self {
        Self::of_shapes(&mesh.positions, mesh.shapes.iter().map(|shape| &shape.deltas))
    }

    fn of_shapes<'a>(neutral: &[Vec3], shapes: impl Iterator<Item = &'a SparseDeltas>) -> Self {
        let runs = |deltas: &SparseDeltas| {
            Runs::from_dense(bytemuck::cast_slice(&deltas.to_dense(neutral.len())), 8)
        };
        Self { neutral: neutral.into(), shapes: shapes.map(runs).collect(), positions: neutral.to_vec() }
    }

    fn evaluate(&mut self, weights: &[f32]) {
        let weight = |shape: usize| weights.get(shape).copied().filter(|w| w.is_finite()).unwrap_or(0.0);
        let weights: Vec<f32> = (0..self.shapes.len()).map(weight).collect();
        self.positions.copy_from_slice(&self.neutral);
        let fits = accumulate_runs(bytemuck::cast_slice_mut(&mut self.positions), &weights, &self.shapes);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
    }
}

impl Body for RigBody {
    fn name(&self) -> &'static str {
        "rig"
    }

    fn drive(&mut self, drive: Drive<'_>) -> Result<(), BadDrive> {
        match drive {
            Drive::Weights(weights) => self.evaluate(weights),
            Drive::Surface(surface) => {
                if surface.len() != self.neutral.len() || surface.iter().any(|p| !p.is_finite()) {
                    return Err(BadDrive::Surface(self.neutral.len()));
                }
                self.positions.copy_from_slice(surface);
            }
            Drive::Markers(_) | Drive::Materials(_) => return Err(drive.unsupported("the plain rig")),
        }
        Ok(())
    }

    fn set_head_pose(&mut self, _pose: &RigidMotion) {}

    fn settle(&mut self) {}

    fn advance(&mut self, _seconds: f64) -> Frame<'_> {
        Frame { positions: &self.positions, asleep: true }
    }

    fn frame_before(&mut self, _seconds: f64) -> Frame<'_> {
        Frame { positions: &self.positions, asleep: true }
    }
}
