//! Cartilage: the nose and the ears are stiffer than soft tissue, so that they do not bend too much under a finger (NePHIM Fig. 12c).

use crate::model::{FaceModel, Landmarks};
use crate::volume::TissueSkin;

use super::stiffness::StiffnessMap;

/// Places on cartilage.
const PLACES: [&str; 3] = ["nose-tip", "ear-left", "ear-right"];
/// Cartilage is whole within a landmark's radius, and ends at this multiple of it. Ours.
const END: f64 = 1.6;

impl StiffnessMap {
    /// Makes strain, volume and attachment stiffer by a factor where a face has cartilage. Parts that hang free are none.
    pub(super) fn stiffen_cartilage(&mut self, face: &FaceModel, skin: &TissueSkin, factor: f64) {
        if factor == 1.0 {
            return;
        }
        let landmarks = Landmarks::new(face);
        for landmark in PLACES.iter().filter_map(|name| landmarks.find(name)) {
            let (centre, radius) =
                (face.neutral[landmark.vertex as usize].as_dvec3(), f64::from(landmark.radius));
            for (vertex, at) in skin.positions.iter().enumerate().filter(|(v, _)| !skin.is_loose[*v]) {
                let fraction = ((END - at.distance(centre) / radius) / (END - 1.0)).clamp(0.0, 1.0);
                let stiffer = 1.0 + fraction * (factor - 1.0);
                for map in [&mut self.strain, &mut self.volume, &mut self.attachment] {
                    map[vertex] *= stiffer;
                }
            }
        }
    }
}
