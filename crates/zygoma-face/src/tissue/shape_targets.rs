//! Where the shapes have all of the flesh: the skin as the artist made it, what lies below it as it keeps its volume.
//!
//! Each shape's volume is found once, with its skin held. Blended like the skin, these volumes are the shapes that the elements are pulled to
//! (GPFM eq. 2 and 10): flesh that is where the blend has it is free of strain, whatever the weights, so that the rig's own face is an
//! equilibrium, and a stable one.

use glam::DVec3;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_physics::projective::{Row, row};

use super::build::Tissue;
use super::hold::{Holder, base_shape, only};
use super::progress::{Teller, TissueError};
use crate::model::FaceModel;

/// Displacements below this are those of the search for an equilibrium, far from what a shape moves, m. Ours.
const STILL: f64 = 1e-6;

/// Displacement of every row of the flesh by each shape at weight 1, where it is not zero.
#[derive(Default)]
pub(super) struct ShapeTargets {
    shapes: Vec<Runs>,
}

impl ShapeTargets {
    /// Solves for what lies below the skin of each shape.
    pub(super) fn find(tissue: &Tissue, face: &FaceModel, teller: &mut Teller) -> Result<Self, TissueError> {
        let mut holder = Holder::new(tissue)?;
        let rest = &tissue.flesh.mesh.positions;
        let count = face.shapes.len();
        let mut shapes = Vec::with_capacity(count);
        for shape in 0..count {
            teller.tell(shape, count)?;
            let mut from = |base: Option<usize>| match base {
                Some(base) => holder.hold(&only(count, &[base])),
                None => rest.clone(),
            };
            let base = base_shape(face, shape);
            let before = from(base);
            let at_one: Vec<usize> = base.into_iter().chain([shape]).collect();
            let after = holder.hold(&only(count, &at_one));
            let moved = |vertex: &u32| -> Row<f32> {
                let way = after[*vertex as usize] - before[*vertex as usize];
                row(if way.length() > STILL { way } else { DVec3::ZERO })
            };
            shapes.push(tissue.layout.vertices.iter().map(moved).collect::<Vec<Row<f32>>>());
        }
        teller.end_round();
        Ok(Self::of_rows(shapes.into_iter()))
    }

    /// From the displacement of every row by each shape.
    pub(super) fn of_rows(shapes: impl Iterator<Item = Vec<Row<f32>>>) -> Self {
        Self { shapes: shapes.map(|rows| Runs::from_dense(rows.as_flattened(), 8)).collect() }
    }

    pub(super) fn shape_count(&self) -> usize {
        self.shapes.len()
    }

    /// Displacement of every row for some weights.
    pub(super) fn blend(&self, weights: &[f32], displacements: &mut [Row<f32>]) {
        displacements.fill([0.0; 4]);
        let fits = accumulate_runs(displacements.as_flattened_mut(), weights, &self.shapes);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
    }
}
