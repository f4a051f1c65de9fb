//! Painted materials (*Blendvolumes* §6.2): stiffness given on the skin, and diffused through the volume below it.

use zygoma_physics::rebalanced::Lame;

use super::blend_materials::BlendMaterials;
use super::build::Enriched;
use super::harmonic::Harmonic;

/// The material of one expression, painted on the skin.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialPaint {
    /// The shape whose material it is; `None` for the neutral's.
    pub shape: Option<usize>,
    /// For each vertex of the whole mesh its stroke.
    pub strokes: Vec<Stroke>,
}

/// Paint at one vertex. Without any the material is the neutral's.
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

impl Enriched {
    /// The blend materials with some painted ones, which replace those that contraction gives. Paint of the neutral comes first, whatever its place.
    pub(super) fn painted(&self, paints: &[MaterialPaint]) -> BlendMaterials {
        let mut materials = self.materials.clone();
        let (neutral, shapes): (Vec<_>, Vec<_>) = paints.iter().partition(|paint| paint.shape.is_none());
        for paint in neutral {
            materials.change_neutral(&self.diffused(&paint.strokes, materials.relaxed()));
        }
        for paint in shapes {
            if let Some(shape) = paint.shape.filter(|shape| *shape < self.volumes.shapes.len()) {
                materials.replace_shape(shape, &self.diffused(&paint.strokes, materials.relaxed()));
            }
        }
        materials
    }

    /// Changes of every element's material: on the skin as painted, below it as heat would spread.
    fn diffused(&self, strokes: &[Stroke], relaxed: &[Lame]) -> Vec<Lame> {
        let mut values = self.painted_rows(strokes, relaxed);
        let harmonic = Harmonic::new(&self.rest, &self.tets, |row| self.is_skin[row]);
        if let Ok(mut harmonic) = harmonic {
            harmonic.extend(&mut values);
        }
        let mean = |tet: &[u32; 4]| {
            let of = |k: usize| 0.25 * tet.iter().map(|v| values[*v as usize][k]).sum::<f64>();
            Lame { mu: of(0), lambda: of(1) }
        };
        self.tets.iter().map(mean).collect()
    }

    /// The change of μ and λ at each row of the skin; 0 at all others.
    fn painted_rows(&self, strokes: &[Stroke], relaxed: &[Lame]) -> Vec<[f64; 2]> {
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
            let of = |k: usize| (painted[k][0] - painted[k][1] * own[k]) / f64::max(*all, f64::MIN_POSITIVE);
            if *all > 0.0 && self.is_skin[row] { [of(0), of(1)] } else { [0.0; 2] }
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
