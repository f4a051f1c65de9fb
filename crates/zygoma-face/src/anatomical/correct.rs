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
        let solved = |shapes: &[usize]| {
            let mut body = at_rest.clone();
            let weights: Vec<f32> =
                (0..count).map(|shape| f32::from(u8::from(shapes.contains(&shape)))).collect();
            body.set_weights(&weights);
            body.settle();
            body.positions
        };
        let neutral = solved(&[]);
        let mut surfaces: Vec<Vec<Vec3>> = Vec::with_capacity(count);
        while surfaces.len() < count {
            if progress(surfaces.len()) != Continue::Yes {
                return Ok(None);
            }
            let batch = surfaces.len()..count.min(surfaces.len() + BATCH);
            let alone =
                |shape: usize| solved(&face.base_shape(shape).into_iter().chain([shape]).collect::<Vec<_>>());
            surfaces.extend(batch.into_par_iter().map(alone).collect::<Vec<_>>());
        }
        let displaced = |shape: usize| {
            let base = face.base_shape(shape).map_or(&neutral, |base| &surfaces[base]);
            surfaces[shape].iter().zip(base).map(|(to, from)| *to - *from).collect()
        };
        let shapes = (0..count).map(displaced).collect();
        Ok(Some(Self { shapes, neutral }))
    }
}
