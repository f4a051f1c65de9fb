//! Returns broken tissue to the rig.

use zygoma_physics::projective::{Row, position, row};

use super::build::Tissue;
use super::run::TissueBody;
use crate::body::weights_of_carriers;

impl Tissue {
    /// Flags the vertices of the whole mesh that no bone and no muscle holds.
    pub fn free_vertices(&self) -> Vec<bool> {
        let is_free = |corners: &[u32; 3]| corners.iter().any(|v| self.surface.is_loose[*v as usize]);
        self.skin.embedding.vertices.iter().map(is_free).collect()
    }

    /// Vertices of the whole mesh that follow the skin at some elements, except at those that the rig itself inverts.
    pub fn broken_vertices(&self, elements: &[u32], weights: &[f32]) -> Vec<u32> {
        let plain = self.plain_inverted(weights);
        let mut is_broken = vec![false; self.skin_count()];
        for element in elements.iter().filter(|element| plain.binary_search(element).is_err()) {
            for vertex in self.tissue_mesh.mesh.tets[*element as usize] {
                is_broken[self.tissue_mesh.above[vertex as usize] as usize] = true;
            }
        }
        let embedding = &self.skin.embedding;
        let follows = |v: &u32| {
            let (corners, weights) = (embedding.vertices[*v as usize], embedding.weights[*v as usize]);
            (0..3).any(|k| weights[k] > 0.0 && is_broken[corners[k] as usize])
        };
        (0..embedding.len() as u32).filter(follows).collect()
    }
}

impl TissueBody {
    /// Moves tissue back to the rig, by a fraction for each vertex of the whole mesh, and brings it to rest in the head's frame there.
    /// Vertices that are not finite go back completely.
    pub(super) fn blend_to_rig(&mut self, weights: &[f32]) {
        let tissue = self.tissue.clone();
        let weights = weights_of_carriers(tissue.skin.embedding.iter(), weights, tissue.skin_count());
        let targets = tissue.of_rig(&self.weights[1]);
        for place in 0..tissue.layout.free {
            let vertex = tissue.layout.vertices[place] as usize;
            let target = targets[vertex];
            let weight = f64::from(weights[tissue.tissue_mesh.above[vertex] as usize]);
            let back = |x: &mut Row<f32>| {
                let here = position(x);
                *x = row(if here.is_finite() { here.lerp(target, weight) } else { target });
            };
            back(&mut self.dynamics.positions[place]);
            back(&mut self.clock.before[place]);
            back(&mut self.goal[place]);
            self.head.stop(place, target, weight);
        }
    }
}
