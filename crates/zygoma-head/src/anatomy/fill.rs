//! A tetrahedral fill between skin and bone, made with the mouth open so that the lips never share an element.
//!
//! A lattice of tetrahedra is refined by bisection \[Maubach 1995\] where skin is thin or detailed; vertices near the
//! boundary are moved onto it, and tetrahedra that still cross it are cut.

use std::collections::HashMap;

use glam::DVec3;
use zygoma_geometry::tets::TetMesh;

use super::fill_cut;
use crate::sculpt::field::at;

/// A tetrahedron of the lattice; `kind` says which edge is bisected next: from corner 0 to corner `kind`.
#[derive(Clone, Copy)]
struct Simplex {
    corners: [u32; 4],
    kind: u8,
    /// Whether it needs no further refinement of its own.
    settled: bool,
}

/// The region to fill and how finely.
pub(super) trait Region {
    /// Signed field of the region: negative inside.
    fn field(&self, p: DVec3) -> f64;

    /// Longest allowed edge at a point.
    fn size(&self, p: DVec3) -> f64;

    /// Tetrahedra with longest edges up to this are not refined for thin tissue.
    fn thinnest(&self) -> f64;
}

/// Cube edge of the coarsest lattice.
const CUBE: f64 = 16.0;
pub(super) const LOW: DVec3 = at(0.0, -152.0, -128.0);
const CUBES: [usize; 3] = [7, 20, 17];

/// Fills the half x ≥ 0 of a region that is symmetric in x.
pub(super) fn fill(region: &impl Region) -> TetMesh {
    let mut lattice = Lattice::new();
    lattice.values = lattice.positions.iter().map(|p| region.field(*p)).collect();
    lattice.refine(region);
    let tets = lattice.simplices.iter().map(|s| s.corners).collect();
    fill_cut::cut(lattice.positions, lattice.values, tets, region)
}

struct Lattice {
    positions: Vec<DVec3>,
    /// The region's field at the vertices.
    values: Vec<f64>,
    simplices: Vec<Simplex>,
    middles: HashMap<(u32, u32), u32>,
}

fn key(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

impl Lattice {
    fn new() -> Self {
        let stride = CUBES.map(|c| c + 1);
        let number = |i: usize, j: usize, k: usize| ((k * stride[1] + j) * stride[0] + i) as u32;
        let mut positions = Vec::new();
        for k in 0..stride[2] {
            for j in 0..stride[1] {
                for i in 0..stride[0] {
                    positions.push(LOW + CUBE * at(i as f64, j as f64, k as f64));
                }
            }
        }
        // The six paths along the axes from a corner of the cube to the opposite one.
        const PATHS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let mut simplices = Vec::new();
        for k in 0..CUBES[2] {
            for j in 0..CUBES[1] {
                for i in 0..CUBES[0] {
                    for path in PATHS {
                        // Odd cubes run the other way, so that neighbours are mirror images and bisection conforms.
                        let mut corner = [i % 2, j % 2, k % 2];
                        let base = [i, j, k];
                        let place = |c: [usize; 3]| number(base[0] + c[0], base[1] + c[1], base[2] + c[2]);
                        let mut corners = [place(corner); 4];
                        for (step, axis) in path.iter().enumerate() {
                            corner[*axis] = 1 - corner[*axis];
                            corners[step + 1] = place(corner);
                        }
                        simplices.push(Simplex { corners, kind: 3, settled: false });
                    }
                }
            }
        }
        Self { positions, values: Vec::new(), simplices, middles: HashMap::new() }
    }

    fn longest(&self, s: &Simplex) -> f64 {
        self.positions[s.corners[0] as usize].distance(self.positions[s.corners[s.kind as usize] as usize])
    }

    fn refine(&mut self, region: &impl Region) {
        const MOST_PASSES: usize = 60;
        for _ in 0..MOST_PASSES {
            let mut changed = false;
            let mut next = Vec::with_capacity(self.simplices.len());
            for s in std::mem::take(&mut self.simplices) {
                if self.has_hanging(&s) || (!s.settled && self.is_too_large(&s, region)) {
                    next.extend(self.bisected(s, region));
                    changed = true;
                } else {
                    next.push(Simplex { settled: true, ..s });
                }
            }
            self.simplices = next;
            if !changed {
                break;
            }
        }
    }

    fn has_hanging(&self, s: &Simplex) -> bool {
        let c = s.corners;
        (0..4).any(|i| (i + 1..4).any(|j| self.middles.contains_key(&key(c[i], c[j]))))
    }

    fn is_too_large(&self, s: &Simplex, region: &impl Region) -> bool {
        let centre = s.corners.iter().map(|v| self.positions[*v as usize]).sum::<DVec3>() / 4.0;
        let longest = self.longest(s);
        if longest > region.size(centre) {
            return region.field(centre) < longest;
        }
        longest > region.thinnest() && self.misses_flesh(s, region)
    }

    /// Whether an edge of a tetrahedron passes through a thin piece of the region without a corner in it.
    fn misses_flesh(&self, s: &Simplex, region: &impl Region) -> bool {
        let value = |i: usize| self.values[s.corners[i] as usize];
        let point = |i: usize| self.positions[s.corners[i] as usize];
        let centre = (0..4).map(point).sum::<DVec3>() / 4.0;
        if (0..4).all(|i| value(i) > 0.0 && value(i) < self.longest(s)) && region.field(centre) < 0.0 {
            return true;
        }
        let pairs = (0..4).flat_map(|i| (i + 1..4).map(move |j| (i, j)));
        pairs.into_iter().any(|(i, j)| {
            let near = value(i).max(value(j)) < point(i).distance(point(j));
            value(i) > 0.0 && value(j) > 0.0 && near && region.field(point(i).midpoint(point(j))) < 0.0
        })
    }

    fn bisected(&mut self, s: Simplex, region: &impl Region) -> [Simplex; 2] {
        let d = s.kind as usize;
        let c = s.corners;
        let count = self.positions.len() as u32;
        let middle = *self.middles.entry(key(c[0], c[d])).or_insert(count);
        if middle == count {
            let p = 0.5 * (self.positions[c[0] as usize] + self.positions[c[d] as usize]);
            self.positions.push(p);
            self.values.push(region.field(p));
        }
        let kind = if d == 1 { 3 } else { s.kind - 1 };
        let (mut first, mut second) = (c, c);
        first[d] = middle;
        second[..d].copy_from_slice(&c[1..=d]);
        second[d] = middle;
        [first, second].map(|corners| Simplex { corners, kind, settled: false })
    }
}
