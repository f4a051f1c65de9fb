//! A rig's shapes as anatomy allows them.

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::build::{Anatomical, AnatomicalError};
use super::run::AnatomicalBody;
use crate::model::{Continue, FaceModel};

/// A rig's skin with corrected shapes.
pub struct Corrected {
    /// The neutral: the rig's own, unless dials change it.
    pub neutral: Vec<Vec3>,
    /// Displacements of the whole mesh by each shape at weight 1.
    pub shapes: Vec<Vec<Vec3>>,
}

/// Shapes that are solved between two reports of progress. Ours.
const BATCH: usize = 4;

impl Corrected {
    /// Solves for every shape of a face alone, or on top of the shape that it is sculpted on. `progress` gets the number of solved shapes, and may cancel:
    /// then there is no result.
    pub fn new(
        head: &Arc<Anatomical>,
        face: &FaceModel,
        progress: &mut dyn FnMut(usize) -> Continue,
    ) -> Result<Option<Self>, AnatomicalError> {
        let count = face.shapes.len();
        let at_rest = AnatomicalBody::new(head.clone())?;
        let neutral = solved(&at_rest, &[]);
        let alone = |shape: &usize| {
            let together: Vec<usize> = face.base_shape(*shape).into_iter().chain([*shape]).collect();
            solved(&at_rest, &together)
        };
        let all: Vec<usize> = (0..count).collect();
        let Some(surfaces) = in_batches(&all, alone, progress) else { return Ok(None) };
        let displaced = |shape: usize| {
            let base = face.base_shape(shape).map_or(&neutral, |base| &surfaces[base]);
            surfaces[shape].iter().zip(base).map(|(to, from)| *to - *from).collect()
        };
        let shapes = (0..count).map(displaced).collect();
        Ok(Some(Self { shapes, neutral }))
    }

    /// The corrected rig's surface at some weights.
    pub fn blend(&self, weights: &[f32]) -> Vec<Vec3> {
        let mut surface = self.neutral.clone();
        for (weight, offsets) in weights.iter().zip(&self.shapes).filter(|(weight, _)| **weight != 0.0) {
            surface.iter_mut().zip(offsets).for_each(|(p, offset)| *p += *weight * *offset);
        }
        surface
    }
}

/// The surface of a body that settles with some shapes at weight 1.
fn solved(at_rest: &AnatomicalBody, shapes: &[usize]) -> Vec<Vec3> {
    let mut body = at_rest.clone();
    let count = body.model.output.shapes.len();
    let weights: Vec<f32> = (0..count).map(|shape| f32::from(u8::from(shapes.contains(&shape)))).collect();
    body.set_weights(&weights);
    body.settle();
    body.positions
}

/// The results for some items, in parallel; `None` if `progress` cancels.
pub(super) fn in_batches<T: Sync, R: Send>(
    items: &[T],
    result: impl Fn(&T) -> R + Sync,
    progress: &mut dyn FnMut(usize) -> Continue,
) -> Option<Vec<R>> {
    let mut results = Vec::with_capacity(items.len());
    for batch in items.chunks(BATCH) {
        if progress(results.len()) != Continue::Yes {
            return None;
        }
        results.extend(batch.par_iter().map(&result).collect::<Vec<_>>());
    }
    Some(results)
}
