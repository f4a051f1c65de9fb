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
    /// Pairs of boundary triangles that cross, one of which is on a bone.
    pub bone_crossings: usize,
    /// Other pairs of boundary triangles that cross: of linings that the rig does not have, such as a throat.
    pub lining_crossings: usize,
    /// How much deeper the volume's skin is in the teeth than the artist's, at most, m.
    pub deeper_in_teeth: f64,
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
        let artists = self.artists_skin(face, &weights, &positions);
        let skin = || (0..positions.len()).filter(|row| self.is_skin[*row]);
        let off_skin = skin().map(|row| artists[row].distance(positions[row])).fold(0.0, f64::max);
        let jaw = self.bones.pose(&weights);
        let in_teeth = |at: DVec3| {
            let depth = self.teeth.as_ref().map_or(0.0, |teeth| teeth.depth(&weights, &jaw, at.as_vec3()));
            f64::from(depth.max(0.0))
        };
        let deeper = skin().map(|row| in_teeth(positions[row]) - in_teeth(artists[row]));
        let boundary = TetMesh { positions: self.rest.clone(), tets: tets.to_vec() }.boundary();
        let is_all = |flags: &[bool], t: u32| boundary[t as usize].iter().all(|v| flags[*v as usize]);
        let is_skin = |(a, b): &(u32, u32)| is_all(&self.is_skin, *a) && is_all(&self.is_skin, *b);
        let is_bone = |(a, b): &(u32, u32)| is_all(&self.is_bone, *a) || is_all(&self.is_bone, *b);
        let crossings = crossing_pairs(&positions, &boundary);
        let skin_crossings = crossings.iter().filter(|pair| is_skin(pair)).count();
        let bone_crossings = crossings.iter().filter(|pair| is_bone(pair)).count();
        let fullness = tets.iter().zip(&self.first_volumes).map(|(tet, first)| {
            let now = volume(tet.map(|v| positions[v as usize]));
            now / first
        });
        Soundness {
            inverted: fullness.clone().filter(|full| *full <= 0.0).count(),
            least_fullness: fullness.fold(f64::INFINITY, f64::min),
            artists_crossings: crossing_pairs(&artists, &boundary)
                .iter()
                .filter(|pair| is_skin(pair))
                .count(),
            lining_crossings: crossings.len() - skin_crossings - bone_crossings,
            deeper_in_teeth: deeper.fold(0.0, f64::max),
            skin_crossings,
            bone_crossings,
            off_skin,
        }
    }

    /// Positions with the rows of the skin where the artist has them.
    fn artists_skin(&self, face: &FaceModel, weights: &[f32], positions: &[DVec3]) -> Vec<DVec3> {
        let mut artists = positions.to_vec();
        let mut whole = self.skin.neutral.clone();
        self.skin.add_shapes(weights, &mut whole);
        let whole: Vec<DVec3> = whole.iter().map(|p| p.as_dvec3()).collect();
        for (place, row) in self.skin_places.iter().filter(|(_, row)| self.is_skin[*row as usize]) {
            artists[*row as usize] = place.interpolate(&face.triangles, &whole);
        }
        artists
    }
}
