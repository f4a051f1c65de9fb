//! A part of a tetrahedral mesh, with its own numbering.

use glam::DVec3;

/// Some vertices that may move, the elements around them, and the other vertices of these.
pub(super) struct Patch {
    /// Its vertices, ascending.
    pub(super) vertices: Vec<u32>,
    pub(super) is_fixed: Vec<bool>,
    /// Its elements, as indices into all.
    pub(super) elements: Vec<usize>,
    /// Their vertices in the patch's numbering.
    pub(super) tets: Vec<[u32; 4]>,
}

/// Flags the vertices of some elements and of the rings of elements around them.
pub(super) fn vertices_around(
    tets: &[[u32; 4]],
    elements: &[usize],
    rings: usize,
    vertices: usize,
) -> Vec<bool> {
    let mut is_near = vec![false; vertices];
    elements.iter().flat_map(|tet| tets[*tet]).for_each(|v| is_near[v as usize] = true);
    for _ in 1..rings {
        let before = is_near.clone();
        for tet in tets.iter().filter(|tet| tet.iter().any(|v| before[*v as usize])) {
            tet.iter().for_each(|v| is_near[*v as usize] = true);
        }
    }
    is_near
}

impl Patch {
    /// The part of a mesh around its free vertices.
    pub(super) fn around(tets: &[[u32; 4]], is_free: &[bool]) -> Self {
        let moves = |tet: &[u32; 4]| tet.iter().any(|v| is_free[*v as usize]);
        let elements: Vec<usize> = (0..tets.len()).filter(|index| moves(&tets[*index])).collect();
        let mut place = vec![u32::MAX; is_free.len()];
        elements.iter().flat_map(|index| tets[*index]).for_each(|v| place[v as usize] = 0);
        let vertices: Vec<u32> = (0..is_free.len() as u32).filter(|v| place[*v as usize] == 0).collect();
        (0..).zip(&vertices).for_each(|(new, v)| place[*v as usize] = new);
        Self {
            is_fixed: vertices.iter().map(|v| !is_free[*v as usize]).collect(),
            tets: elements.iter().map(|index| tets[*index].map(|v| place[v as usize])).collect(),
            vertices,
            elements,
        }
    }

    /// Values of its vertices.
    pub(super) fn gather<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.vertices.iter().map(|v| values[*v as usize]).collect()
    }

    /// Writes positions of its vertices back.
    pub(super) fn scatter(&self, positions: &[DVec3], all: &mut [DVec3]) {
        self.vertices.iter().zip(positions).for_each(|(v, p)| all[*v as usize] = *p);
    }
}
