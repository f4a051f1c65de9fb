//! Mirrors halves at x ≥ 0 to whole meshes.

use glam::DVec3;

/// Maps the vertices of a half to those of the whole; the half's come first.
pub(super) struct Halves {
    /// For each vertex of the whole its mirror image.
    pub(super) mirror: Vec<u32>,
    half: usize,
}

fn reflect(p: DVec3) -> DVec3 {
    DVec3::new(-p.x, p.y, p.z)
}

impl Halves {
    /// Vertices with x = 0 are their own mirror images.
    pub(super) fn of(half: &[DVec3]) -> Self {
        let mut mirror: Vec<u32> = (0..half.len() as u32).collect();
        for v in 0..half.len() {
            if half[v].x != 0.0 {
                mirror[v] = mirror.len() as u32;
                mirror.push(v as u32);
            }
        }
        Self { mirror, half: half.len() }
    }

    /// Positions of the whole.
    pub(super) fn positions(&self, half: &[DVec3]) -> Vec<DVec3> {
        let others = self.mirror[self.half..].iter().map(|v| reflect(half[*v as usize]));
        half.iter().copied().chain(others).collect()
    }

    /// Values of the whole, the same on both sides.
    pub(super) fn values<T: Copy>(&self, half: &[T]) -> Vec<T> {
        half.iter().copied().chain(self.mirror[self.half..].iter().map(|v| half[*v as usize])).collect()
    }

    /// Triangles of the whole.
    pub(super) fn triangles(&self, half: &[[u32; 3]]) -> Vec<[u32; 3]> {
        let other = |t: &[u32; 3]| [t[0], t[2], t[1]].map(|v| self.mirror[v as usize]);
        half.iter().copied().chain(half.iter().map(other)).collect()
    }

    /// Tetrahedra of the whole.
    pub(super) fn tets(&self, half: &[[u32; 4]]) -> Vec<[u32; 4]> {
        let other = |t: &[u32; 4]| [t[0], t[2], t[1], t[3]].map(|v| self.mirror[v as usize]);
        half.iter().copied().chain(half.iter().map(other)).collect()
    }
}
