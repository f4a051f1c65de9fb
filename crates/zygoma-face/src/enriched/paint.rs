//! Painted materials (*Blendvolumes* §6.2): stiffness given on the skin, and diffused through the volume below it.

use std::sync::{Mutex, PoisonError};

use zygoma_physics::rebalanced::Lame;

use super::blend_materials::BlendMaterials;
use super::build::Enriched;
use crate::volume::Harmonic;

/// The material of one expression, painted on the skin.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialPaint {
    /// The shape whose material it is; `None` for the neutral's.
    pub shape: Option<usize>,
    /// For each vertex of the whole mesh its stroke.
    pub strokes: Vec<Stroke>,
}

impl MaterialPaint {
    /// The paint of a shape among those of a mesh with some vertices, new if there is none.
    pub fn among(paints: &mut Vec<Self>, shape: Option<usize>, vertices: usize) -> &mut Self {
        let place = paints.iter().position(|paint| paint.shape == shape).unwrap_or_else(|| {
            paints.push(Self { shape, strokes: vec![Stroke::default(); vertices] });
            paints.len() - 1
        });
        &mut paints[place]
    }
}

/// Paint at one vertex. Without any the material is as contraction has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stroke {
    /// μ, Pa.
    pub mu: Coat,
    /// λ, Pa.
    pub lambda: Coat,
}

/// One painted value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coat {
    /// The value, Pa.
    pub value: f64,
    /// How much of it is there, from 0 to 1.
    pub cover: f64,
}

/// Paint as it has spread through an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Diffused {
    /// The change of the neutral's material, Pa.
    pub(super) change: Lame,
    /// How much of μ is painted, from 0 to 1.
    pub(super) cover: f64,
}

impl Enriched {
    /// The blend materials with some painted ones. Where a shape is painted it loses what contraction gives it. Paint of the neutral comes first,
    /// whatever its place.
    pub(super) fn painted(&self, paints: &[MaterialPaint]) -> BlendMaterials {
        let mut materials = self.materials.clone();
        let (neutral, shapes): (Vec<_>, Vec<_>) = paints.iter().partition(|paint| paint.shape.is_none());
        for paint in neutral {
            materials.change_neutral(&self.diffused(&paint.strokes, materials.relaxed()));
        }
        for paint in shapes {
            self.paint_shape(paint, &mut materials);
        }
        materials
    }

    /// Renews the material of a shape after a change of its paint. A change of the neutral's changes those of all shapes.
    pub(super) fn repaint(
        &self,
        shape: Option<usize>,
        paints: &[MaterialPaint],
        materials: &mut BlendMaterials,
    ) {
        let Some(changed) = shape else {
            *materials = self.painted(paints);
            return;
        };
        materials.unpaint_shape(changed, &self.materials);
        if let Some(paint) = paints.iter().find(|paint| paint.shape == shape) {
            self.paint_shape(paint, materials);
        }
    }

    fn paint_shape(&self, paint: &MaterialPaint, materials: &mut BlendMaterials) {
        if let Some(shape) = paint.shape.filter(|shape| *shape < self.volumes.shapes.len()) {
            let diffused = self.diffused(&paint.strokes, materials.relaxed());
            materials.paint_shape(shape, &self.materials, &diffused);
        }
    }

    /// Paint in every element: on the skin as painted, below it as heat would spread.
    fn diffused(&self, strokes: &[Stroke], relaxed: &[Lame]) -> Vec<Diffused> {
        let mut values = self.painted_rows(strokes, relaxed);
        let harmonic = self.below_skin.get_or_init(|| {
            Harmonic::new(&self.rest, &self.tets, |row| self.is_skin[row]).ok().map(Mutex::new)
        });
        if let Some(harmonic) = harmonic {
            harmonic.lock().unwrap_or_else(PoisonError::into_inner).extend(&mut values);
        }
        let mean = |tet: &[u32; 4]| {
            let of = |k: usize| 0.25 * tet.iter().map(|v| values[*v as usize][k]).sum::<f64>();
            Diffused { change: Lame { mu: of(0), lambda: of(1) }, cover: of(2).clamp(0.0, 1.0) }
        };
        self.tets.iter().map(mean).collect()
    }

    /// μ at each vertex of the whole mesh, Pa, with the material of one shape alone, or the neutral's.
    pub(super) fn skin_stiffness(&self, materials: &BlendMaterials, shape: Option<usize>) -> Vec<f32> {
        let mut weights = vec![0.0; self.volumes.shapes.len()];
        if let Some(weight) = shape.and_then(|shape| weights.get_mut(shape)) {
            *weight = 1.0;
        }
        let mut blended = materials.relaxed().to_vec();
        materials.blend_at_once(&weights, &mut blended);
        let rows = self.mean_materials(&blended);
        let embedding = &self.skin.embedding;
        let at = |(corners, weights): (&[u32; 3], &[f32; 3])| {
            let sum: f32 = weights.iter().sum();
            let mu = |corner: u32| rows[self.skin_rows[corner as usize] as usize].mu as f32;
            let all: f32 = corners.iter().zip(weights).map(|(corner, weight)| weight * mu(*corner)).sum();
            if sum > 0.0 { all / sum } else { 0.0 }
        };
        embedding.vertices.iter().zip(&embedding.weights).map(at).collect()
    }

    /// The change of μ and λ, and the cover of μ, at each row of the skin; 0 at all others.
    fn painted_rows(&self, strokes: &[Stroke], relaxed: &[Lame]) -> Vec<[f64; 3]> {
        let embedding = &self.skin.embedding;
        // Sums of cover × value, of cover, and of all that a row carries.
        let mut sums = vec![([[0.0; 2]; 2], 0.0); self.rest.len()];
        for (v, (corners, weights)) in embedding.vertices.iter().zip(&embedding.weights).enumerate() {
            let stroke = strokes.get(v).copied().unwrap_or_default();
            for (corner, weight) in corners.iter().zip(weights) {
                let weight = f64::from(*weight);
                let (painted, all) = &mut sums[self.skin_rows[*corner as usize] as usize];
                for (sum, coat) in painted.iter_mut().zip([stroke.mu, stroke.lambda]) {
                    sum[0] += weight * coat.cover * coat.value;
                    sum[1] += weight * coat.cover;
                }
                *all += weight;
            }
        }
        let neutral = self.mean_materials(relaxed);
        let change = |(row, (painted, all)): (usize, &([[f64; 2]; 2], f64))| {
            let own = [neutral[row].mu, neutral[row].lambda];
            let of = |k: usize| (painted[k][0] - painted[k][1] * own[k]) / all;
            if *all > 0.0 && self.is_skin[row] { [of(0), of(1), painted[0][1] / all] } else { [0.0; 3] }
        };
        sums.iter().enumerate().map(change).collect()
    }

    /// The mean material of the elements around each row.
    fn mean_materials(&self, materials: &[Lame]) -> Vec<Lame> {
        let mut sums = vec![(Lame { mu: 0.0, lambda: 0.0 }, 0.0); self.rest.len()];
        for (tet, material) in self.tets.iter().zip(materials) {
            for v in tet {
                let (sum, count) = &mut sums[*v as usize];
                sum.mu += material.mu;
                sum.lambda += material.lambda;
                *count += 1.0;
            }
        }
        let mean = |(sum, count): &(Lame, f64)| {
            let count = count.max(1.0);
            Lame { mu: sum.mu / count, lambda: sum.lambda / count }
        };
        sums.iter().map(mean).collect()
    }
}
