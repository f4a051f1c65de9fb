//! Polygons of mixed size over shared vertices.

use std::ops::Range;

/// Polygons as artists make them: triangles, quads and larger ones side by side.
///
/// The corners of all faces lie one after the other; face `f` owns the corners `range(f)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faces {
    ends: Vec<u32>,
    corners: Vec<u32>,
}

impl Faces {
    /// Faces that are all triangles.
    pub fn from_triangles(triangles: &[[u32; 3]]) -> Self {
        Self {
            ends: (1..=triangles.len() as u32).map(|face| 3 * face).collect(),
            corners: triangles.iter().flatten().copied().collect(),
        }
    }

    /// Appends one face.
    pub fn push(&mut self, corners: &[u32]) {
        self.corners.extend_from_slice(corners);
        self.ends.push(self.corners.len() as u32);
    }

    /// Number of faces.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no face.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The range of the corners of one face in [`corners`](Self::corners).
    pub fn range(&self, face: usize) -> Range<usize> {
        let start = if face == 0 { 0 } else { self.ends[face - 1] };
        start as usize..self.ends[face] as usize
    }

    /// The vertices of one face.
    pub fn face(&self, face: usize) -> &[u32] {
        &self.corners[self.range(face)]
    }

    /// The vertices of all faces, face after face.
    pub fn corners(&self) -> &[u32] {
        &self.corners
    }

    /// All faces in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.len()).map(|face| self.face(face))
    }

    /// Number of triangles that [`triangles`](Self::triangles) gives.
    pub fn triangle_count(&self) -> usize {
        self.iter().map(|face| face.len().saturating_sub(2)).sum()
    }

    /// Every face as a fan of triangles around its first corner, in order.
    pub fn triangles(&self) -> Vec<[u32; 3]> {
        let fan = |face: &[u32]| -> Vec<[u32; 3]> {
            (2..face.len()).map(|i| [face[0], face[i - 1], face[i]]).collect()
        };
        self.iter().flat_map(fan).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fans_keep_order_and_count() {
        let mut faces = Faces::default();
        faces.push(&[0, 1, 2, 3]);
        faces.push(&[3, 2, 4]);
        assert_eq!(faces.triangles(), [[0, 1, 2], [0, 2, 3], [3, 2, 4]]);
        assert_eq!(faces.triangle_count(), 3);
        assert_eq!(faces.range(1), 4..7);
        assert_eq!(Faces::from_triangles(&faces.triangles()).triangles(), faces.triangles());
    }
}
