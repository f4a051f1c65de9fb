//! How sound rest volumes are: without inverted elements, and without intersections that the artist's skin does not have (*Blendvolumes* §6.1, §7).

use glam::DVec3;
use serde::Serialize;
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
    /// Pairs of boundary triangles that cross each other.
    pub crossings: Crossings,
    /// Those of the artist's own skin, at the same vertices.
    pub artists_crossings: usize,
    /// How much deeper the volume's skin is in the teeth than the artist's, at most, m.
    pub deeper_in_teeth: f64,
    /// Largest distance of the volume's skin from the artist's, m.
    pub off_skin: f64,
}

/// Pairs of boundary triangles that cross each other, by what they are of. Linings are of hollows that the rig does not have, such as a throat; triangles
/// between a lining and skin or bone count as lining.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Crossings {
    /// Skin and skin.
    pub skin: usize,
    /// Skin and bone.
    pub skin_bone: usize,
    /// Skin and lining.
    pub skin_lining: usize,
    /// Bone and bone.
    pub bone: usize,
    /// Bone and lining.
    pub bone_lining: usize,
    /// Lining and lining.
    pub lining: usize,
}

/// The part of a head that a boundary triangle belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Skin,
    Bone,
    Lining,
}

impl Crossings {
    fn count(pairs: &[(u32, u32)], parts: &[Part]) -> Self {
        let mut counts = Self::default();
        for (a, b) in pairs {
            let (a, b) = (parts[*a as usize], parts[*b as usize]);
            *match (a.min(b), a.max(b)) {
                (Part::Skin, Part::Skin) => &mut counts.skin,
                (Part::Skin, Part::Bone) => &mut counts.skin_bone,
                (Part::Skin, _) => &mut counts.skin_lining,
                (Part::Bone, Part::Bone) => &mut counts.bone,
                (Part::Bone, _) => &mut counts.bone_lining,
                _ => &mut counts.lining,
            } += 1;
        }
        counts
    }

    /// Those with a bone.
    pub fn with_bones(&self) -> usize {
        self.skin_bone + self.bone + self.bone_lining
    }

    /// Adds what others have more than a third.
    pub fn add_more(&mut self, others: &Self, third: &Self) {
        let more = |count: fn(&Self) -> usize| count(others).saturating_sub(count(third));
        self.skin += more(|c| c.skin);
        self.skin_bone += more(|c| c.skin_bone);
        self.skin_lining += more(|c| c.skin_lining);
        self.bone += more(|c| c.bone);
        self.bone_lining += more(|c| c.bone_lining);
        self.lining += more(|c| c.lining);
    }
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
        let parts: Vec<Part> = boundary.iter().map(|t| self.part(t)).collect();
        let crossings = Crossings::count(&crossing_pairs(&positions, &boundary), &parts);
        let fullness = tets.iter().zip(&self.first_volumes).map(|(tet, first)| {
            let now = volume(tet.map(|v| positions[v as usize]));
            now / first
        });
        Soundness {
            inverted: fullness.clone().filter(|full| *full <= 0.0).count(),
            least_fullness: fullness.fold(f64::INFINITY, f64::min),
            artists_crossings: Crossings::count(&crossing_pairs(&artists, &boundary), &parts).skin,
            deeper_in_teeth: deeper.fold(0.0, f64::max),
            crossings,
            off_skin,
        }
    }

    fn part(&self, triangle: &[u32; 3]) -> Part {
        let is_all = |flags: &[bool]| triangle.iter().all(|v| flags[*v as usize]);
        match (is_all(&self.is_skin), is_all(&self.is_bone)) {
            (true, _) => Part::Skin,
            (_, true) => Part::Bone,
            _ => Part::Lining,
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
