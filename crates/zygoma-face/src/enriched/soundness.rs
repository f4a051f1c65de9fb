//! How sound rest volumes are: without inverted elements, and without intersections that the artist's skin does not have (*Blendvolumes* §6.1, §7).

use glam::DVec3;
use zygoma_geometry::intersect::crossing_pairs;
use zygoma_geometry::tets::{TetMesh, volume};

use super::build::Enriched;
use crate::model::FaceModel;

/// Figures of the rest volume of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Soundness {
    /// Inverted elements.
    pub inverted: usize,
    /// Smallest volume of an element over that in the neutral.
    pub least_fullness: f64,
    /// Pairs of triangles of the skin that cross each other.
    pub skin_crossings: usize,
    /// Those of the artist's own skin, at the same vertices.
    pub artists_crossings: usize,
    /// Pairs of other boundary triangles that cross, such as skin and bone.
    pub other_crossings: usize,
    /// Largest distance of the volume's skin from the artist's, m.
    pub off_skin: f64,
}

impl Enriched {
    /// The soundness of the rest volume of a single shape, or of the neutral, as it is blended, without repair. `mouthClose` is taken on top of an
    /// open jaw. `face` is the one that it was built from.
    pub fn soundness(&self, face: &FaceModel, shape: Option<usize>) -> Soundness {
        let mut weights = vec![0.0; self.volumes.shapes.len()];
        for shape in shape.into_iter().chain(shape.and_then(|shape| face.base_shape(shape))) {
            weights[shape] = 1.0;
        }
        let (positions, tets) = self.rest_shape(&weights);
        let mut artists = positions.clone();
        let mut whole = self.skin.neutral.clone();
        self.skin.add_shapes(&weights, &mut whole);
        let whole: Vec<DVec3> = whole.iter().map(|p| p.as_dvec3()).collect();
        let mut off_skin = 0.0_f64;
        for (place, row) in self.skin_places.iter().filter(|(_, row)| self.is_skin[*row as usize]) {
            let at = place.interpolate(&face.triangles, &whole);
            off_skin = off_skin.max(at.distance(positions[*row as usize]));
            artists[*row as usize] = at;
        }
        let boundary = TetMesh { positions: self.rest.clone(), tets: tets.to_vec() }.boundary();
        let skin: Vec<[u32; 3]> =
            boundary.iter().filter(|t| t.iter().all(|v| self.is_skin[*v as usize])).copied().collect();
        let skin_crossings = crossing_pairs(&positions, &skin).len();
        let fullness = tets.iter().zip(&self.first_volumes).map(|(tet, first)| {
            let now = volume(tet.map(|v| positions[v as usize]));
            now / first
        });
        Soundness {
            inverted: fullness.clone().filter(|full| *full <= 0.0).count(),
            least_fullness: fullness.fold(f64::INFINITY, f64::min),
            skin_crossings,
            artists_crossings: crossing_pairs(&artists, &skin).len(),
            other_crossings: crossing_pairs(&positions, &boundary).len() - skin_crossings,
            off_skin,
        }
    }
}
