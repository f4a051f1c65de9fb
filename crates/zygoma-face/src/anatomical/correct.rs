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
    /// Correctives of pairs of shapes that together do something else than one after the other.
    pub pairs: Vec<PairCorrective>,
}

/// A corrective of two shapes, whose weight is the product of theirs.
pub struct PairCorrective {
    /// The shapes.
    pub of: [usize; 2],
    /// Displacements of the whole mesh at weight 1.
    pub offsets: Vec<Vec3>,
}

/// Shapes that are solved between two reports of progress. Ours, as those below.
const BATCH: usize = 4;
/// A pair gets a corrective if its two shapes miss the simulation by more than this on average, over skin that they move this far, m.
const WORTH: f32 = 3e-4;
const MOVED: f32 = 1e-3;

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
        let neutral = solved(&at_rest, &[], 1.0);
        let alone = |shape: &usize| {
            let together: Vec<usize> = face.base_shape(*shape).into_iter().chain([*shape]).collect();
            solved(&at_rest, &together, 1.0)
        };
        let all: Vec<usize> = (0..count).collect();
        let Some(surfaces) = in_batches(&all, alone, progress) else { return Ok(None) };
        let displaced = |shape: usize| {
            let base = face.base_shape(shape).map_or(&neutral, |base| &surfaces[base]);
            surfaces[shape].iter().zip(base).map(|(to, from)| *to - *from).collect()
        };
        let shapes = (0..count).map(displaced).collect();
        Ok(Some(Self { shapes, neutral, pairs: Vec::new() }))
    }

    /// Solves for pairs of shapes, up to some number of those that move the same skin most, and keeps a corrective for each whose two shapes
    /// miss the simulation. `progress` gets the number of solved pairs, and may cancel: then there are no correctives.
    pub fn add_pairs(
        &mut self,
        head: &Arc<Anatomical>,
        face: &FaceModel,
        most: usize,
        progress: &mut dyn FnMut(usize) -> Continue,
    ) -> Result<(), AnatomicalError> {
        let at_rest = AnatomicalBody::new(head.clone())?;
        let pairs = head.overlapping(face, most);
        let corrective = |of: &[usize; 2]| {
            let at = |weight: f32| {
                let mut weights = vec![0.0; self.shapes.len()];
                of.iter().for_each(|shape| weights[*shape] = weight);
                (solved(&at_rest, of, weight), self.blend(&weights))
            };
            let missed = |direct: &[Vec3], blended: &[Vec3]| mean_miss(&self.neutral, direct, blended);
            let (direct, blended) = at(1.0);
            if missed(&direct, &blended) < WORTH {
                return None;
            }
            let offsets: Vec<Vec3> = direct.iter().zip(&blended).map(|(to, from)| *to - *from).collect();
            // At half of both weights a corrective has a quarter of its own, which must help there too: contact begins at once.
            let (direct, blended) = at(0.5);
            let corrected: Vec<Vec3> =
                blended.iter().zip(&offsets).map(|(p, way)| *p + 0.25 * *way).collect();
            let helps = missed(&direct, &corrected) < missed(&direct, &blended);
            helps.then_some(PairCorrective { of: *of, offsets })
        };
        if let Some(found) = in_batches(&pairs, corrective, progress) {
            self.pairs = found.into_iter().flatten().collect();
        }
        Ok(())
    }

    /// The corrected rig's surface at some weights.
    pub fn blend(&self, weights: &[f32]) -> Vec<Vec3> {
        let mut surface = self.neutral.clone();
        let mut add = |weight: f32, offsets: &[Vec3]| {
            if weight != 0.0 {
                surface.iter_mut().zip(offsets).for_each(|(p, offset)| *p += weight * *offset);
            }
        };
        weights.iter().zip(&self.shapes).for_each(|(weight, offsets)| add(*weight, offsets));
        for pair in &self.pairs {
            let [a, b] = pair.of.map(|shape| weights.get(shape).map_or(0.0, |weight| weight.max(0.0)));
            add(a * b, &pair.offsets);
        }
        surface
    }
}

/// The surface of a body that settles with some shapes at a weight.
fn solved(at_rest: &AnatomicalBody, shapes: &[usize], weight: f32) -> Vec<Vec3> {
    let mut body = at_rest.clone();
    let count = body.model.output.shapes.len();
    let weights: Vec<f32> =
        (0..count).map(|shape| if shapes.contains(&shape) { weight } else { 0.0 }).collect();
    body.set_weights(&weights);
    body.settle();
    body.positions
}

/// The mean distance between two surfaces over skin that the first one moves, m; 0 if it moves none.
fn mean_miss(neutral: &[Vec3], direct: &[Vec3], blended: &[Vec3]) -> f32 {
    let (mut missed, mut count) = (0.0, 0.0_f32);
    for ((direct, blended), rest) in direct.iter().zip(blended).zip(neutral) {
        if direct.distance(*rest) > MOVED {
            missed += direct.distance(*blended);
            count += 1.0;
        }
    }
    missed / count.max(1.0)
}

/// The results for some items, in parallel; `None` if `progress` cancels.
fn in_batches<T: Sync, R: Send>(
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

impl Anatomical {
    /// The pairs of shapes that move the same skin, those that move it most first. Shapes that are sculpted on another one are left out.
    fn overlapping(&self, face: &FaceModel, most: usize) -> Vec<[usize; 2]> {
        let lengths: Vec<Vec<f64>> =
            self.surface.moves.iter().map(|moves| moves.iter().map(|way| way.length()).collect()).collect();
        let is_alone = |shape: &usize| face.base_shape(*shape).is_none();
        let shapes: Vec<usize> = (0..lengths.len()).filter(is_alone).collect();
        let common = |[a, b]: [usize; 2]| -> f64 {
            let both = lengths[a].iter().zip(&lengths[b]).zip(&self.surface.areas);
            both.map(|((a, b), area)| area * a.min(*b)).sum()
        };
        let pairs = shapes.iter().enumerate().flat_map(|(k, a)| shapes[k + 1..].iter().map(|b| [*a, *b]));
        let mut ranked: Vec<(f64, [usize; 2])> = pairs.map(|pair| (common(pair), pair)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.into_iter().filter(|(common, _)| *common > 0.0).take(most).map(|(_, pair)| pair).collect()
    }
}
