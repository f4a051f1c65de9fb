//! Expressions of a source as mixtures of examples, and the same mixtures of the target's examples: linear blendshapes over the whole face, or
//! patch by patch (AnaConDaR eq. 1 to 3).

use std::sync::OnceLock;

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::patches::Patches;
use zygoma_head::fit::{JawPose, SharedSkin};
use zygoma_numerics::DenseFactor;

/// Number of patches (AnaConDaR Fig. 1).
const PATCHES: usize = 80;
/// Examples that move a patch by less than this say nothing about how it moves, m: mixtures of them would need weights without bound. Ours.
const LEAST_MOTION: f64 = 1e-4;

/// Regularisation of the weights of a rig's shapes, relative to the square of each. Ours: thousands of vertices determine some fifty weights, and a
/// head must find its own expressions again.
const SHAPE_REGULARISATION: f64 = 1e-5;

/// The patches of the skin that all heads share.
pub(super) fn shared_patches() -> &'static Patches {
    static SHARED: OnceLock<Patches> = OnceLock::new();
    SHARED.get_or_init(|| {
        let shared = SharedSkin::get();
        Patches::mirrored(shared.template, shared.triangles, shared.mirror, PATCHES)
            .expect("the built-in head has thousands of vertices in one part")
    })
}

/// Displacements of the shared skin and the pose of the jaw in one expression.
#[derive(Clone, Debug)]
pub(super) struct Delta {
    pub(super) skin: Vec<DVec3>,
    pub(super) jaw: JawPose,
}

/// Weights of all examples in each region.
pub(super) struct BlendWeights(pub(super) Vec<Vec<f64>>);

/// Finds weights of examples, region by region.
pub(super) struct Blend {
    /// The vertices of each region.
    regions: Vec<Vec<u32>>,
    of_vertex: Vec<u32>,
    examples: Vec<Delta>,
    /// For each region the factor of its regularised Gram matrix; `None` where nothing can be fitted.
    factors: Vec<Option<DenseFactor>>,
}

impl Blend {
    /// One region: linear blendshapes.
    pub(super) fn linear(examples: Vec<Delta>, regularisation: f64) -> Self {
        let count = SharedSkin::get().template.len();
        Self::new(vec![0; count], vec![(0..count as u32).collect()], examples, |squares| {
            vec![regularisation * mean(squares); squares.len()]
        })
    }

    /// One region, in which each example is regularised relative to its own size: shapes of a rig that move little count as much as others.
    pub(super) fn of_shapes(shapes: Vec<Delta>) -> Self {
        let count = SharedSkin::get().template.len();
        Self::new(vec![0; count], vec![(0..count as u32).collect()], shapes, |squares| {
            squares.iter().map(|square| SHAPE_REGULARISATION * square).collect()
        })
    }

    /// The shared patches: patchwise linear blendshapes.
    pub(super) fn patchwise(examples: Vec<Delta>, regularisation: f64) -> Self {
        let patches = shared_patches();
        Self::new(patches.of_vertex.clone(), patches.members(), examples, |squares| {
            vec![regularisation * mean(squares); squares.len()]
        })
    }

    fn new(
        of_vertex: Vec<u32>,
        regions: Vec<Vec<u32>>,
        examples: Vec<Delta>,
        regularised: impl Fn(&[f64]) -> Vec<f64> + Sync,
    ) -> Self {
        let factor = |region: &Vec<u32>| {
            let dot = |a: usize, b: usize| dot(region, &examples[a].skin, &examples[b].skin);
            let least = region.len() as f64 * LEAST_MOTION * LEAST_MOTION;
            let squares: Vec<f64> = (0..examples.len()).map(|k| dot(k, k).max(least)).collect();
            let added = regularised(&squares);
            DenseFactor::new(examples.len(), |a, b| dot(a, b) + if a == b { added[a] } else { 0.0 })
        };
        let factors = regions.par_iter().map(factor).collect();
        Self { regions, of_vertex, examples, factors }
    }

    /// Number of regions.
    pub(super) fn regions(&self) -> usize {
        self.regions.len()
    }

    /// The weights that come nearest to displacements of the skin (AnaConDaR eq. 2).
    pub(super) fn fit(&self, skin: &[DVec3]) -> BlendWeights {
        let fit = |(region, factor): (&Vec<u32>, &Option<DenseFactor>)| {
            let right = |example: &Delta| [dot(region, &example.skin, skin), 0.0, 0.0, 0.0];
            let mut rows: Vec<[f64; 4]> = self.examples.iter().map(right).collect();
            match factor {
                Some(factor) => factor.solve(&mut rows),
                None => rows.fill([0.0; 4]),
            }
            rows.iter().map(|row| row[0]).collect()
        };
        BlendWeights(self.regions.par_iter().zip(&self.factors).map(fit).collect())
    }

    /// The mixture of these examples.
    pub(super) fn mix(&self, weights: &BlendWeights) -> Delta {
        self.mix_of(weights, &self.examples)
    }

    /// The examples.
    pub(super) fn into_examples(self) -> Vec<Delta> {
        self.examples
    }

    /// The same mixture of other examples (AnaConDaR eq. 3). The jaw follows the weights of the skin over it.
    pub(super) fn mix_of(&self, weights: &BlendWeights, examples: &[Delta]) -> Delta {
        let BlendWeights(weights) = weights;
        let at = |v: usize| {
            let weights = &weights[self.of_vertex[v] as usize];
            weights.iter().zip(examples).map(|(weight, example)| *weight * example.skin[v]).sum()
        };
        let chin = SharedSkin::get().region("jaw_rigid");
        let fraction = 1.0 / chin.len().max(1) as f64;
        let mut jaw = JawPose::default();
        for v in chin {
            let weights = &weights[self.of_vertex[*v as usize] as usize];
            for (weight, example) in weights.iter().zip(examples) {
                jaw = jaw.plus(fraction * weight, &example.jaw);
            }
        }
        Delta { skin: (0..self.of_vertex.len()).map(at).collect(), jaw }
    }
}

/// The published λ_reg has the unit of a squared length: here it counts relative to the mean square of the examples.
fn mean(squares: &[f64]) -> f64 {
    squares.iter().sum::<f64>() / squares.len().max(1) as f64
}

fn dot(region: &[u32], a: &[DVec3], b: &[DVec3]) -> f64 {
    region.iter().map(|v| a[*v as usize].dot(b[*v as usize])).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples whose directions differ from place to place.
    fn examples(count: usize, size: f64) -> Vec<Delta> {
        let wave = |k: usize, p: &DVec3| {
            let k = k as f64 + 1.0;
            size * DVec3::new((0.03 * k * p.y).sin(), (0.02 * k * p.x + k).cos(), (0.05 * k * p.z).sin())
        };
        let skin = |k: usize| SharedSkin::get().template.iter().map(|p| wave(k, p)).collect();
        let jaw = |k: usize| JawPose { turn: DVec3::X * k as f64, glide: DVec3::ZERO };
        (0..count).map(|k| Delta { skin: skin(k), jaw: jaw(k) }).collect()
    }

    #[test]
    fn shared_patches_are_eighty_and_mirrored() {
        let (patches, shared) = (shared_patches(), SharedSkin::get());
        assert_eq!(patches.count, 80);
        let sizes: Vec<usize> = patches.members().iter().map(Vec::len).collect();
        let mean = shared.template.len() / 80;
        assert!(sizes.iter().all(|size| *size > mean / 5 && *size < 4 * mean), "{sizes:?}");
        for members in patches.members() {
            let image = |v: &u32| patches.of_vertex[shared.mirror[*v as usize] as usize];
            assert!(members.iter().all(|v| image(v) == image(&members[0])));
        }
    }

    /// Regularisation has no unit: weights stay when lengths are measured otherwise, and take little from what examples explain.
    #[test]
    fn an_example_is_found_again_at_any_scale() {
        let found = [0.01, 10.0].map(|size| {
            let blend = Blend::patchwise(examples(4, size), 0.01);
            let wanted = &blend.examples[2].skin;
            let weights = blend.fit(wanted);
            let mixed = blend.mix(&weights);
            let off: f64 = mixed.skin.iter().zip(wanted).map(|(a, b)| a.distance(*b)).sum();
            let all: f64 = wanted.iter().map(|way| way.length()).sum();
            assert!(off < 0.1 * all, "{size}: {off} of {all}");
            assert!((mixed.jaw.turn.x - 2.0).abs() < 0.1, "{:?}", mixed.jaw);
            weights
        });
        let [BlendWeights(small), BlendWeights(large)] = found;
        for (a, b) in small.iter().flatten().zip(large.iter().flatten()) {
            assert!((a - b).abs() < 1e-9, "{a} and {b}");
        }
    }

    /// A face that is one example on the left and another one on the right is a mixture of patches, and not of whole faces.
    #[test]
    fn patches_mix_what_whole_faces_cannot() {
        let shared = SharedSkin::get();
        let both = examples(2, 0.01);
        let pick = |v: usize| both[usize::from(shared.template[v].x > 0.0)].skin[v];
        let wanted: Vec<DVec3> = (0..shared.template.len()).map(pick).collect();
        let off = |blend: &Blend| {
            let found = blend.mix(&blend.fit(&wanted)).skin;
            found.iter().zip(&wanted).map(|(a, b)| a.distance(*b)).sum::<f64>() / wanted.len() as f64
        };
        let (whole, patchwise) =
            (off(&Blend::linear(both.clone(), 0.01)), off(&Blend::patchwise(both.clone(), 0.01)));
        assert!(patchwise < 0.3 * whole, "{patchwise} against {whole}");
    }
}
