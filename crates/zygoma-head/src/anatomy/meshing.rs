//! Meshes half of a sculpted solid with well-shaped triangles.

use glam::DVec3;
use zygoma_geometry::implicit::{Lattice, zero_surface};
use zygoma_geometry::remesh::{FeatureMesh, Target};
use zygoma_geometry::topology::connected_parts;

use crate::sculpt::field::at;
use crate::sculpt::gradient;
use crate::surface::MIDDLE;

/// A solid and the resolution of its surface mesh.
pub(super) struct Solid<F, S> {
    /// Its signed distance, in millimetres.
    pub(super) field: F,
    /// Target edge length.
    pub(super) size: S,
}

impl<F: Fn(DVec3) -> f64, S: Fn(DVec3) -> f64> Target for Solid<F, S> {
    fn size(&self, point: DVec3) -> f64 {
        (self.size)(point)
    }

    fn normal(&self, point: DVec3) -> DVec3 {
        gradient(&self.field, point).normalize_or_zero()
    }

    fn project(&self, point: DVec3, curves: u32) -> DVec3 {
        let mut p = point;
        for _ in 0..4 {
            let slope = gradient(&self.field, p);
            let step = (self.field)(p) / slope.length_squared().max(0.05);
            p -= slope * step.clamp(-1.5, 1.5);
            if curves & MIDDLE != 0 {
                p.x = 0.0;
            }
        }
        p
    }
}

/// The half x ≥ 0 of the solid's largest surface.
pub(super) fn half_surface<F: Fn(DVec3) -> f64 + Sync, S: Fn(DVec3) -> f64>(
    solid: &Solid<F, S>,
    cell: f64,
    passes: usize,
) -> FeatureMesh {
    const LOW: DVec3 = at(0.0, -176.0, -124.0);
    const EXTENT: DVec3 = at(110.0, 330.0, 250.0);
    let (positions, triangles) = zero_surface(&Lattice::covering(LOW, EXTENT, cell), &solid.field);
    let mut mesh = largest_part(&positions, &triangles);
    mesh.mark_border(MIDDLE, |p| p.x < 1e-9);
    mesh.remeshed(solid, passes)
}

fn largest_part(positions: &[DVec3], triangles: &[[u32; 3]]) -> FeatureMesh {
    let (parts, count) = connected_parts(positions.len(), triangles);
    let mut sizes = vec![0usize; count];
    for t in triangles {
        sizes[parts[t[0] as usize] as usize] += 1;
    }
    let largest = (0..count).max_by_key(|part| (sizes[*part], count - part)).unwrap_or(0) as u32;
    let mut numbers = vec![u32::MAX; positions.len()];
    let mut kept = Vec::new();
    for (v, p) in positions.iter().enumerate() {
        if parts[v] == largest {
            numbers[v] = kept.len() as u32;
            kept.push(*p);
        }
    }
    let triangles = triangles
        .iter()
        .filter(|t| parts[t[0] as usize] == largest)
        .map(|t| t.map(|v| numbers[v as usize]))
        .collect();
    FeatureMesh { positions: kept, triangles, features: Vec::new() }
}

/// For each of `count` vertices: the cells (triangles, tetrahedra) around it, and their other vertices, ascending.
pub(super) fn around<const N: usize>(cells: &[[u32; N]], count: usize) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
    let mut around = vec![Vec::new(); count];
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (i, cell) in (0u32..).zip(cells) {
        for v in cell {
            around[*v as usize].push(i);
            neighbours[*v as usize].extend(cell.iter().filter(|w| *w != v));
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    (around, neighbours)
}
