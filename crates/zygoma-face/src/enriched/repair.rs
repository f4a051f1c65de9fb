//! Rest shapes whose blend crushes elements: sound single shapes do not make a sound sum.

use glam::DVec3;
use zygoma_geometry::tets::volume;
use zygoma_physics::unfold::{UnfoldInput, Unfolder};

use super::build::Enriched;
use super::patch::Patch;

/// Elements below this fraction of their volume are repaired.
pub(super) const CRUSHED: f64 = 0.1;
/// Rings of neighbours around them that may move. Ours.
const RINGS: usize = 2;
/// How firmly vertices are kept where the blend has them, per volume and stiffness of the material, 1/m²: interior ones weakly, those on the
/// skin firmly. Ours.
const KEPT: f64 = 1e4;
const KEPT_SKIN: f64 = 3e6;
/// Attempts to unfold. Ours.
const ATTEMPTS: usize = 3;

/// The outcome of a repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repaired {
    /// Elements that the blend crushes.
    pub(super) crushed: usize,
    /// Those of them that are inverted.
    pub(super) inverted: usize,
    /// Elements that are inverted after the repair.
    pub(super) left: usize,
}

impl Enriched {
    /// Unfolds the elements of a rest shape that are crushed.
    pub(super) fn repair(&self, positions: &mut [DVec3]) -> Repaired {
        let fullness = |x: &[DVec3], tet: usize| self.corner_volume(x, tet) / self.first_volumes[tet];
        let crushed: Vec<(usize, f64)> = (0..self.tets.len())
            .map(|tet| (tet, fullness(positions, tet)))
            .filter(|(_, full)| *full < CRUSHED)
            .collect();
        if crushed.is_empty() {
            return Repaired::default();
        }
        let inverted = crushed.iter().filter(|(_, full)| *full <= 0.0).count();
        let patch = Patch::around(&self.tets, &self.surroundings(crushed.iter().map(|(tet, _)| *tet)));
        self.unfold(&patch, positions);
        let left = patch.elements.iter().filter(|tet| fullness(positions, **tet) <= 0.0).count();
        Repaired { crushed: crushed.len(), inverted, left }
    }

    fn corner_volume(&self, x: &[DVec3], tet: usize) -> f64 {
        volume(self.tets[tet].map(|v| x[v as usize]))
    }

    /// Flags the vertices around some elements that may move.
    fn surroundings(&self, elements: impl Iterator<Item = usize>) -> Vec<bool> {
        let mut is_free = vec![false; self.rest.len()];
        for tet in elements {
            self.tets[tet].iter().for_each(|v| is_free[*v as usize] = true);
        }
        for _ in 1..RINGS {
            let before = is_free.clone();
            for tet in self.tets.iter().filter(|tet| tet.iter().any(|v| before[*v as usize])) {
                tet.iter().for_each(|v| is_free[*v as usize] = true);
            }
        }
        is_free.iter_mut().zip(&self.is_bone).for_each(|(free, bone)| *free &= !bone);
        is_free
    }

    fn unfold(&self, patch: &Patch, positions: &mut [DVec3]) {
        let mut pulls = vec![0.0; patch.vertices.len()];
        for (tet, element) in patch.tets.iter().zip(&patch.elements) {
            let quarter = 0.25 * self.first_volumes[*element];
            for v in tet {
                let is_skin = self.is_skin[patch.vertices[*v as usize] as usize];
                pulls[*v as usize] += quarter * if is_skin { KEPT_SKIN } else { KEPT };
            }
        }
        let rest = patch.gather(&self.rest);
        let input = UnfoldInput { rest: &rest, tets: &patch.tets, fixed: &patch.is_fixed, pulls: &pulls };
        // Every vertex is pulled, so that the matrix is positive definite.
        let Ok(mut unfolder) = Unfolder::new(&input) else { return };
        let targets = patch.gather(positions);
        let mut x = targets.clone();
        unfolder.run(&mut x, &targets, CRUSHED, ATTEMPTS);
        patch.scatter(&x, positions);
    }
}
