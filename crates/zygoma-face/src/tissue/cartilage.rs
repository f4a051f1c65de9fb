//! Cartilage: the nose and the ears are stiffer than soft tissue, so that they do not bend too much under a finger (NePHIM Fig. 12c).

use crate::model::FaceModel;
use crate::volume::{TissueSkin, cartilage};

use super::stiffness::StiffnessMap;

impl StiffnessMap {
    /// Makes strain, volume and attachment stiffer by a factor where a face has cartilage.
    pub(super) fn stiffen_cartilage(&mut self, face: &FaceModel, skin: &TissueSkin, factor: f64) {
        if factor == 1.0 {
            return;
        }
        for (vertex, fraction) in cartilage(face, skin).into_iter().enumerate() {
            let stiffer = 1.0 + fraction * (factor - 1.0);
            for map in [&mut self.strain, &mut self.volume, &mut self.attachment] {
                map[vertex] *= stiffer;
            }
        }
    }
}
