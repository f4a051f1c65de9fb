//! Cartilage: the nose and the ears are stiffer than soft tissue.

use super::TissueSkin;
use crate::model::{FaceModel, Landmarks};

/// Places on cartilage.
const PLACES: [&str; 3] = ["nose-tip", "ear-left", "ear-right"];
/// Cartilage is whole within a landmark's radius, and ends at this multiple of it. Ours.
const END: f64 = 1.6;

/// The fraction of cartilage at each vertex of a tissue's skin. Parts that hang free have none.
pub(crate) fn cartilage(face: &FaceModel, skin: &TissueSkin) -> Vec<f64> {
    let mut fractions = vec![0.0; skin.positions.len()];
    let landmarks = Landmarks::new(face);
    for landmark in PLACES.iter().filter_map(|name| landmarks.find(name)) {
        let (centre, radius) =
            (face.neutral[landmark.vertex as usize].as_dvec3(), f64::from(landmark.radius));
        for (vertex, at) in skin.positions.iter().enumerate().filter(|(v, _)| !skin.is_loose[*v]) {
            let fraction = ((END - at.distance(centre) / radius) / (END - 1.0)).clamp(0.0, 1.0);
            fractions[vertex] = f64::max(fractions[vertex], fraction);
        }
    }
    fractions
}
