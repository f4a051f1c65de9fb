//! Extracts the zero surface of a field as triangles: marching tetrahedra over a lattice.

use std::collections::HashMap;

use glam::DVec3;
use rayon::prelude::*;

/// A box of grid cells; lattice points are `origin + cell * index`.
#[derive(Clone, Copy, Debug)]
pub struct Lattice {
    /// Corner with the smallest coordinates.
    pub origin: DVec3,
    /// Edge length of a cell.
    pub cell: f64,
    /// Number of cells along each axis; a multiple of 8, the side of a block that is skipped as a whole when it is far from the
    /// surface.
    pub cells: [usize; 3],
}

/// Cells along the side of a block that is skipped as a whole when it is far from the surface.
const BLOCK: usize = 8;
/// Upper bound on the field's slope, with some margin.
const SLOPE: f64 = 1.6;

type Edge = (u32, u32);

impl Lattice {
    /// A lattice that covers a box of some extent from its lowest corner.
    pub fn covering(origin: DVec3, extent: DVec3, cell: f64) -> Self {
        let cells = extent.to_array().map(|length| (length / cell / BLOCK as f64).ceil() as usize * BLOCK);
        Self { origin, cell, cells }
    }

    fn point(&self, [i, j, k]: [usize; 3]) -> DVec3 {
        self.origin + self.cell * DVec3::new(i as f64, j as f64, k as f64)
    }

    fn key(&self, [i, j, k]: [usize; 3]) -> u32 {
        ((k * (self.cells[1] + 1) + j) * (self.cells[0] + 1) + i) as u32
    }
}

/// Triangles of the surface on which a field is zero, counter-clockwise from where it is positive. The border of the lattice cuts it
/// open. The field must be a distance in the sense that its slope is nowhere above 1.6.
pub fn zero_surface(lattice: &Lattice, field: impl Fn(DVec3) -> f64 + Sync) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let blocks = lattice.cells.map(|cells| cells / BLOCK);
    let all: Vec<[usize; 3]> = (0..blocks[2])
        .flat_map(|k| (0..blocks[1]).flat_map(move |j| (0..blocks[0]).map(move |i| [i, j, k])))
        .collect();
    let parts: Vec<Vec<[(Edge, DVec3); 3]>> =
        all.par_iter().map(|block| march_block(lattice, *block, &field)).collect();

    let mut numbers: HashMap<Edge, u32> = HashMap::new();
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for corner in parts.iter().flatten() {
        let triangle = corner.map(|(edge, point)| {
            *numbers.entry(edge).or_insert_with(|| {
                positions.push(point);
                positions.len() as u32 - 1
            })
        });
        if triangle[0] != triangle[1] && triangle[1] != triangle[2] && triangle[2] != triangle[0] {
            triangles.push(triangle);
        }
    }
    (positions, triangles)
}

fn march_block(
    lattice: &Lattice,
    block: [usize; 3],
    field: &(impl Fn(DVec3) -> f64 + Sync),
) -> Vec<[(Edge, DVec3); 3]> {
    let first = block.map(|b| b * BLOCK);
    let half = 0.5 * BLOCK as f64 * lattice.cell;
    let centre = lattice.point(first) + DVec3::splat(half);
    if field(centre).abs() > SLOPE * half * 3f64.sqrt() {
        return Vec::new();
    }
    const SIDE: usize = BLOCK + 1;
    let mut values = vec![0.0; SIDE * SIDE * SIDE];
    for k in 0..SIDE {
        for j in 0..SIDE {
            for i in 0..SIDE {
                values[(k * SIDE + j) * SIDE + i] =
                    field(lattice.point([first[0] + i, first[1] + j, first[2] + k]));
            }
        }
    }
    let value = |c: [usize; 3]| values[((c[2] - first[2]) * SIDE + c[1] - first[1]) * SIDE + c[0] - first[0]];
    let mut triangles = Vec::new();
    for k in 0..BLOCK {
        for j in 0..BLOCK {
            for i in 0..BLOCK {
                let base = [first[0] + i, first[1] + j, first[2] + k];
                march_cell(lattice, base, &value, &mut triangles);
            }
        }
    }
    triangles
}

/// The six tetrahedra of a cell around its diagonal (Freudenthal): paths from corner 0 to corner 7.
const PATHS: [[usize; 2]; 6] = [[1, 3], [1, 5], [2, 3], [2, 6], [4, 5], [4, 6]];

fn march_cell(
    lattice: &Lattice,
    base: [usize; 3],
    value: &impl Fn([usize; 3]) -> f64,
    triangles: &mut Vec<[(Edge, DVec3); 3]>,
) {
    let corner = |c: usize| [base[0] + (c & 1), base[1] + (c >> 1 & 1), base[2] + (c >> 2)];
    let values: [f64; 8] = std::array::from_fn(|c| value(corner(c)));
    let inside = values.iter().filter(|v| **v < 0.0).count();
    if inside == 0 || inside == 8 {
        return;
    }
    let crossing = |a: usize, b: usize| {
        let (ka, kb) = (lattice.key(corner(a)), lattice.key(corner(b)));
        let t = (values[a] / (values[a] - values[b])).clamp(0.02, 0.98);
        let (pa, pb) = (lattice.point(corner(a)), lattice.point(corner(b)));
        // Interpolated from the lower key, so that both cells of an edge agree to the last bit.
        let point = if ka < kb { pa + t * (pb - pa) } else { pb + (1.0 - t) * (pa - pb) };
        ((ka.min(kb), ka.max(kb)), point)
    };
    for [b, c] in PATHS {
        let tet = [0, b, c, 7];
        let (mut ins, mut outs) = (Vec::with_capacity(4), Vec::with_capacity(4));
        for v in tet {
            if values[v] < 0.0 { ins.push(v) } else { outs.push(v) }
        }
        let mut emit = |t: [(Edge, DVec3); 3]| {
            // Orient by the side that lies inside.
            let normal = (t[1].1 - t[0].1).cross(t[2].1 - t[0].1);
            let inner: DVec3 =
                ins.iter().map(|v| lattice.point(corner(*v))).sum::<DVec3>() / ins.len() as f64;
            let outer: DVec3 =
                outs.iter().map(|v| lattice.point(corner(*v))).sum::<DVec3>() / outs.len() as f64;
            if normal.dot(outer - inner) >= 0.0 {
                triangles.push(t);
            } else {
                triangles.push([t[0], t[2], t[1]]);
            }
        };
        match (ins.len(), outs.len()) {
            (1, 3) => emit([crossing(ins[0], outs[0]), crossing(ins[0], outs[1]), crossing(ins[0], outs[2])]),
            (3, 1) => emit([crossing(ins[0], outs[0]), crossing(ins[1], outs[0]), crossing(ins[2], outs[0])]),
            (2, 2) => {
                let [ac, ad] = [crossing(ins[0], outs[0]), crossing(ins[0], outs[1])];
                let [bc, bd] = [crossing(ins[1], outs[0]), crossing(ins[1], outs[1])];
                emit([ac, ad, bd]);
                emit([ac, bd, bc]);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::EdgeCounts;

    #[test]
    fn the_surface_of_a_ball_is_closed_and_round() {
        let lattice = Lattice::covering(DVec3::splat(-1.2), DVec3::splat(2.4), 0.1);
        let (positions, triangles) = zero_surface(&lattice, |p| p.length() - 1.0);
        assert!(positions.len() > 500);
        assert!(positions.iter().all(|p| (p.length() - 1.0).abs() < 0.01));
        let volume: f64 = triangles
            .iter()
            .map(|t| t.map(|v| positions[v as usize]))
            .map(|[a, b, c]| a.dot(b.cross(c)) / 6.0)
            .sum();
        assert!((volume - 4.19).abs() < 0.05, "{volume}");
        assert!(EdgeCounts::new(&triangles).border().is_empty());
    }
}
