//! Rest shapes whose blend crushes elements: sound single shapes do not make a sound sum.

use glam::DVec3;
use zygoma_geometry::tets::volume;
use zygoma_physics::unfold::{UnfoldInput, Unfolder};

use super::build::Enriched;
use super::patch::{Patch, vertices_around};

/// Elements below this fraction of their volume are repaired.
pub(super) const CRUSHED: f64 = 0.1;
/// How firmly vertices inside are kept where the blend has them, per volume and stiffness of the material, 1/m². Ours.
const KEPT: f64 = 1e4;
/// Rings of neighbours around crushed elements that may move, and how firmly those on the skin are kept: in one attempt after the other, until no element
/// is inverted. The artist's skin is shown wherever that of the volume ends. Ours.
const YIELDING: [(usize, f64); 3] = [(2, 3e6), (4, 1e5), (6, 1e4)];
/// Passes of unfolding in each attempt. Ours.
const PASSES: usize = 3;

/// The outcome of a repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Elements that the blend crushes.
    pub crushed: usize,
    /// Those of them that are inverted.
    pub inverted: usize,
    /// Elements that are inverted after the repair.
    pub left: usize,
}

impl Enriched {
    /// The repair that the rest shape for some weights needs.
    pub fn repair_of(&self, weights: &[f32]) -> Repaired {
        self.repair(&mut self.rest_shape(weights).0)
    }

    /// Unfolds the elements of a rest shape that are crushed.
    pub(super) fn repair(&self, positions: &mut [DVec3]) -> Repaired {
        let fullness = |x: &[DVec3], tet: usize| self.corner_volume(x, tet) / self.first_volumes[tet];
        let crushed: Vec<usize> =
            (0..self.tets.len()).filter(|tet| fullness(positions, *tet) < CRUSHED).collect();
        if crushed.is_empty() {
            return Repaired::default();
        }
        let inverted = crushed.iter().filter(|tet| fullness(positions, **tet) <= 0.0).count();
        let mut left = inverted;
        for (rings, kept_skin) in YIELDING {
            let patch = Patch::around(&self.tets, &self.surroundings(&crushed, rings));
            self.unfold(&patch, kept_skin, positions);
            left = patch.elements.iter().filter(|tet| fullness(positions, **tet) <= 0.0).count();
            if left == 0 {
                break;
            }
        }
        Repaired { crushed: crushed.len(), inverted, left }
    }

    fn corner_volume(&self, x: &[DVec3], tet: usize) -> f64 {
        volume(self.tets[tet].map(|v| x[v as usize]))
    }

    /// Flags the vertices around some elements that may move.
    fn surroundings(&self, elements: &[usize], rings: usize) -> Vec<bool> {
        let mut is_free = vertices_around(&self.tets, elements, rings, self.rest.len());
        is_free.iter_mut().zip(&self.is_bone).for_each(|(free, bone)| *free &= !bone);
        is_free
    }

    fn unfold(&self, patch: &Patch, kept_skin: f64, positions: &mut [DVec3]) {
        let mut pulls = vec![0.0; patch.vertices.len()];
        for (tet, element) in patch.tets.iter().zip(&patch.elements) {
            let quarter = 0.25 * self.first_volumes[*element];
            for v in tet {
                let is_skin = self.is_skin[patch.vertices[*v as usize] as usize];
                pulls[*v as usize] += quarter * if is_skin { kept_skin } else { KEPT };
            }
        }
        let rest = patch.gather(&self.rest);
        let input = UnfoldInput { rest: &rest, tets: &patch.tets, fixed: &patch.is_fixed, pulls: &pulls };
        // Every vertex is pulled, so that the matrix is positive definite.
        let Ok(mut unfolder) = Unfolder::new(&input) else { return };
        let targets = patch.gather(positions);
        let mut x = targets.clone();
        unfolder.run(&mut x, &targets, CRUSHED, PASSES);
        patch.scatter(&x, positions);
    }
}
