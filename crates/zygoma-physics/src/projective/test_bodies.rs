//! Bodies for tests.

use glam::DVec3;

use super::*;

/// A block of cubes, each cut into six tetrahedra along one diagonal.
pub(crate) struct Block {
    pub(crate) positions: Vec<DVec3>,
    pub(crate) tets: Vec<[u32; 4]>,
    pub(crate) counts: [usize; 3],
}

impl Block {
    pub(crate) fn new(counts: [usize; 3], size: DVec3) -> Self {
        let [nx, ny, nz] = counts;
        let at = |x: usize, y: usize, z: usize| ((z * (ny + 1) + y) * (nx + 1) + x) as u32;
        let mut positions = Vec::new();
        for z in 0..=nz {
            for y in 0..=ny {
                for x in 0..=nx {
                    let part = DVec3::new(x as f64 / nx as f64, y as f64 / ny as f64, z as f64 / nz as f64);
                    positions.push(part * size);
                }
            }
        }
        let mut tets = Vec::new();
        for (x, y, z) in (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| (x, y, z)))) {
            // Paths along the axes from corner to corner; odd orders of the axes are mirrored.
            for (path, odd) in [
                ([0, 1, 2], 0),
                ([1, 2, 0], 0),
                ([2, 0, 1], 0),
                ([1, 0, 2], 1),
                ([0, 2, 1], 1),
                ([2, 1, 0], 1),
            ] {
                let mut corner = [x, y, z];
                let mut tet = [at(x, y, z); 4];
                for (k, axis) in path.into_iter().enumerate() {
                    corner[axis] += 1;
                    tet[k + 1] = at(corner[0], corner[1], corner[2]);
                }
                if odd == 1 {
                    tet.swap(1, 2);
                }
                tets.push(tet);
            }
        }
        Self { positions, tets, counts }
    }

    /// Renumbers so that `free` vertices come first; returns their number.
    pub(crate) fn free_first(&mut self, free: impl Fn(DVec3) -> bool) -> usize {
        let (first, last): (Vec<usize>, Vec<usize>) =
            (0..self.positions.len()).partition(|v| free(self.positions[*v]));
        let order: Vec<usize> = first.iter().chain(&last).copied().collect();
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, old)| place[*old] = new as u32);
        self.positions = order.iter().map(|v| self.positions[*v]).collect();
        self.tets.iter_mut().for_each(|tet| *tet = tet.map(|v| place[v as usize]));
        first.len()
    }

    pub(crate) fn tissue<T: Precision>(&self, material: Material) -> CorotatedTets<T> {
        let mut elements = CorotatedTets::new();
        for tet in &self.tets {
            let stencil = Stencil::tetrahedron(&self.positions, *tet).unwrap();
            elements.push(&stencil, material.corotated_volume(stencil.size));
        }
        elements
    }

    pub(crate) fn rows<T: Precision>(&self) -> Vec<Row<T>> {
        self.positions.iter().map(|p| row(*p)).collect()
    }

    /// Mass of each vertex for a density.
    pub(crate) fn masses(&self, density: f64) -> Vec<f64> {
        let mut masses = vec![0.0; self.positions.len()];
        for tet in &self.tets {
            let stencil = Stencil::tetrahedron(&self.positions, *tet).unwrap();
            tet.iter().for_each(|v| masses[*v as usize] += 0.25 * density * stencil.size);
        }
        masses
    }
}
