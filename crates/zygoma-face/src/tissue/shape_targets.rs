//! Displacement of all tissue by the shapes: the skin as the artist made it, the tissue below it as it keeps its volume.
//!
//! Each shape's volume is solved once, with its skin fixed. Blended like the skin, these volumes are the target shapes of the elements
//! (GPFM eq. 2 and 10): tissue at the blend is free of strain, whatever the weights, so that the rig's own face is an equilibrium, and a
//! stable one.

use glam::DVec3;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_physics::projective::{Row, row};

use super::build::Tissue;
use super::hold::{Holder, only};
use super::progress::{ProgressReporter, TissueError};
use crate::model::FaceModel;

/// Displacements below this are residuals of the equilibrium, far from the skin that a shape moves, m. Ours.
const STILL: f64 = 1e-6;

/// Non-zero displacements of the tissue rows by each shape at weight 1.
#[derive(Default)]
pub(super) struct ShapeTargets {
    shapes: Vec<Runs>,
}

impl ShapeTargets {
    /// Solves for the tissue below the skin of each shape.
    pub(super) fn find(
        tissue: &Tissue,
        face: &FaceModel,
        reporter: &mut ProgressReporter,
    ) -> Result<Self, TissueError> {
        let mut holder = Holder::new(tissue)?;
        let rest = &tissue.tissue_mesh.mesh.positions;
        let count = face.shapes.len();
        let mut shapes = Vec::with_capacity(count);
        for shape in 0..count {
            reporter.report(shape, count)?;
            let mut from = |base: Option<usize>| match base {
                Some(base) => holder.hold(&only(count, &[base])),
                None => rest.clone(),
            };
            let base = face.base_shape(shape);
            let before = from(base);
            let at_one: Vec<usize> = base.into_iter().chain([shape]).collect();
            let after = holder.hold(&only(count, &at_one));
            let moved = |vertex: &u32| -> Row<f32> {
                let way = after[*vertex as usize] - before[*vertex as usize];
                row(if way.length() > STILL { way } else { DVec3::ZERO })
            };
            shapes.push(tissue.layout.vertices.iter().map(moved).collect::<Vec<Row<f32>>>());
        }
        reporter.end_round();
        Ok(Self::of_rows(shapes.into_iter()))
    }

    /// Stores the displacement of every row by each shape.
    pub(super) fn of_rows(shapes: impl Iterator<Item = Vec<Row<f32>>>) -> Self {
        Self { shapes: shapes.map(|rows| Runs::from_dense(rows.as_flattened(), 8)).collect() }
    }

    pub(super) fn shape_count(&self) -> usize {
        self.shapes.len()
    }

    /// Blends the displacement of every row for the given weights.
    pub(super) fn blend(&self, weights: &[f32], displacements: &mut [Row<f32>]) {
        displacements.fill([0.0; 4]);
        let fits = accumulate_runs(displacements.as_flattened_mut(), weights, &self.shapes);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
    }
}
