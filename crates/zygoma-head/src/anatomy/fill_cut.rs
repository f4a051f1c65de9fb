//! Cuts a lattice of tetrahedra to the boundary of a region.

use std::collections::HashMap;

use glam::DVec3;
use zygoma_geometry::tets::{TetMesh, volume};
use zygoma_geometry::topology::DisjointSets;

use super::fill::{LOW, Region};
use super::fill_smooth;
use crate::sculpt::gradient;

/// A vertex moves onto the boundary when an edge meets it within this share of its length.
const SNAP: f64 = 0.28;

/// Cuts the lattice; vertices on the plane x = 0 stay there.
pub(super) fn cut(
    positions: Vec<DVec3>,
    values: Vec<f64>,
    tets: Vec<[u32; 4]>,
    region: &impl Region,
) -> TetMesh {
    let mut cutter = Cutter { positions, values, crossings: HashMap::new(), out: Vec::new() };
    let near: Vec<[u32; 4]> =
        tets.into_iter().filter(|t| t.iter().any(|v| cutter.values[*v as usize] < 0.0)).collect();
    cutter.snap(&near, region);
    for tet in &near {
        cutter.cut_tet(*tet, region);
    }
    cutter.finish(region)
}

struct Cutter {
    positions: Vec<DVec3>,
    values: Vec<f64>,
    crossings: HashMap<(u32, u32), u32>,
    out: Vec<[u32; 4]>,
}

impl Cutter {
    fn snap(&mut self, tets: &[[u32; 4]], region: &impl Region) {
        // For each vertex the shortest distance to the boundary, as a share of the edge, and that edge's length.
        let mut nearest = vec![(f64::MAX, 0.0f64); self.positions.len()];
        let mut around: Vec<Vec<u32>> = vec![Vec::new(); self.positions.len()];
        for (i, t) in (0u32..).zip(tets) {
            for v in t {
                around[*v as usize].push(i);
                for w in t {
                    let (a, b) = (self.values[*v as usize], self.values[*w as usize]);
                    if a * b < 0.0 {
                        let length = self.positions[*v as usize].distance(self.positions[*w as usize]);
                        let share = a / (a - b);
                        let best = &mut nearest[*v as usize];
                        if share < best.0 {
                            *best = (share, length);
                        }
                    }
                }
            }
        }
        let mut order: Vec<u32> =
            (0..self.positions.len() as u32).filter(|v| nearest[*v as usize].0 < SNAP).collect();
        order.sort_by(|a, b| nearest[*a as usize].0.total_cmp(&nearest[*b as usize].0).then(a.cmp(b)));
        for v in order {
            let v = v as usize;
            let (_, length) = nearest[v];
            let old = self.positions[v];
            let mut p = old;
            for _ in 0..4 {
                let mut slope = gradient(|q| region.field(q), p);
                if old.x == 0.0 {
                    slope.x = 0.0;
                }
                if old.y == LOW.y {
                    slope.y = 0.0;
                }
                p -= slope
                    * (region.field(p) / slope.length_squared().max(0.05)).clamp(-0.5 * length, 0.5 * length);
            }
            if region.field(p).abs() > 0.05 || p.distance(old) > 0.45 * length || p.x < 0.0 {
                continue;
            }
            self.positions[v] = p;
            let sound = |t: &u32| {
                let tet = tets[*t as usize].map(|w| self.positions[w as usize]);
                volume(tet).abs() > 0.004 * length.powi(3)
                    && volume(tet) * self.sign_before(tets[*t as usize], v, old) > 0.0
            };
            if around[v].iter().all(sound) {
                self.values[v] = 0.0;
            } else {
                self.positions[v] = old;
            }
        }
    }

    /// Sign of a tetrahedron's volume with vertex `v` at its old position.
    fn sign_before(&self, tet: [u32; 4], v: usize, old: DVec3) -> f64 {
        volume(tet.map(|w| if w as usize == v { old } else { self.positions[w as usize] })).signum()
    }

    fn crossing(&mut self, inside: u32, outside: u32, region: &impl Region) -> u32 {
        let key = (inside.min(outside), inside.max(outside));
        if let Some(v) = self.crossings.get(&key) {
            return *v;
        }
        let (a, b) = (self.positions[inside as usize], self.positions[outside as usize]);
        let (mut low, mut high) = (0.0f64, 1.0f64);
        for _ in 0..16 {
            let middle = 0.5 * (low + high);
            if region.field(a.lerp(b, middle)) < 0.0 { low = middle } else { high = middle }
        }
        let v = self.positions.len() as u32;
        self.positions.push(a.lerp(b, low.clamp(0.12, 0.95)));
        self.values.push(0.0);
        self.crossings.insert(key, v);
        v
    }

    fn cut_tet(&mut self, tet: [u32; 4], region: &impl Region) {
        let value = |v: u32| self.values[v as usize];
        let inner: Vec<u32> = tet.into_iter().filter(|v| value(*v) < 0.0).collect();
        let on: Vec<u32> = tet.into_iter().filter(|v| value(*v) == 0.0).collect();
        let outer: Vec<u32> = tet.into_iter().filter(|v| value(*v) > 0.0).collect();
        // A tetrahedron with all corners on the boundary spans either thin tissue or a thin gap.
        let centre = || tet.iter().map(|v| self.positions[*v as usize]).sum::<DVec3>() / 4.0;
        if inner.is_empty() && (!outer.is_empty() || region.field(centre()) >= 0.0) {
            return;
        }
        if outer.is_empty() {
            self.emit(tet);
            return;
        }
        let mut cross = |i: usize, o: usize| self.crossing(inner[i], outer[o], region);
        match (inner.len(), on.len()) {
            (1, 0) => {
                let t = [inner[0], cross(0, 0), cross(0, 1), cross(0, 2)];
                self.emit(t);
            }
            (1, 1) => {
                let t = [inner[0], on[0], cross(0, 0), cross(0, 1)];
                self.emit(t);
            }
            (1, _) => {
                let t = [inner[0], on[0], on[1], cross(0, 0)];
                self.emit(t);
            }
            (2, 0) => {
                let p = [inner[0], cross(0, 0), cross(0, 1), inner[1], cross(1, 0), cross(1, 1)];
                self.emit_prism(p);
            }
            (2, _) => {
                let quad = [inner[0], inner[1], cross(1, 0), cross(0, 0)];
                self.emit_pyramid(quad, on[0]);
            }
            _ => {
                let p = [inner[0], inner[1], inner[2], cross(0, 0), cross(1, 0), cross(2, 0)];
                self.emit_prism(p);
            }
        }
    }

    /// Splits a pyramid. Diagonals start at the smallest index of each quad, so that neighbours agree \[Dompierre et al. 1999\].
    fn emit_pyramid(&mut self, [a, b, c, d]: [u32; 4], apex: u32) {
        if a.min(c) < b.min(d) {
            self.emit([a, b, c, apex]);
            self.emit([a, c, d, apex]);
        } else {
            self.emit([a, b, d, apex]);
            self.emit([b, c, d, apex]);
        }
    }

    /// Splits a prism with the triangles 0–1–2 and 3–4–5.
    fn emit_prism(&mut self, p: [u32; 6]) {
        let least = (0..6).min_by_key(|i| p[*i]).unwrap_or(0);
        let (near, far) = if least < 3 { ([0, 1, 2], [3, 4, 5]) } else { ([3, 4, 5], [0, 1, 2]) };
        let turn = |t: [usize; 3]| {
            let s = least % 3;
            [p[t[s]], p[t[(s + 1) % 3]], p[t[(s + 2) % 3]]]
        };
        let ([a, b, c], [x, y, z]) = (turn(near), turn(far));
        self.emit([x, y, z, a]);
        self.emit_pyramid([b, c, z, y], a);
    }

    fn emit(&mut self, tet: [u32; 4]) {
        let positive = volume(tet.map(|v| self.positions[v as usize])) > 0.0;
        self.out.push(if positive { tet } else { [tet[0], tet[2], tet[1], tet[3]] });
    }

    /// Keeps the largest face-connected piece, and renumbers its vertices.
    fn finish(mut self, region: &impl Region) -> TetMesh {
        let mut faces: HashMap<[u32; 3], u32> = HashMap::new();
        let mut sets = DisjointSets::new(self.out.len());
        for (i, t) in (0u32..).zip(&self.out) {
            for skip in 0..4 {
                let mut face = [t[(skip + 1) % 4], t[(skip + 2) % 4], t[(skip + 3) % 4]];
                face.sort_unstable();
                if let Some(other) = faces.insert(face, i) {
                    sets.join(i, other);
                }
            }
        }
        let (parts, count) = sets.numbered();
        let mut sizes = vec![0usize; count];
        for part in &parts {
            sizes[*part as usize] += 1;
        }
        let largest = (0..count).max_by_key(|p| (sizes[*p], count - p)).unwrap_or(0) as u32;
        let mut numbers = vec![u32::MAX; self.positions.len()];
        let mut kept: Vec<u32> = Vec::new();
        let mut fill = TetMesh::default();
        let out = std::mem::take(&mut self.out);
        for (tet, _) in out.iter().zip(&parts).filter(|(_, part)| **part == largest) {
            fill.tets.push(tet.map(|v| {
                let number = &mut numbers[v as usize];
                if *number == u32::MAX {
                    *number = fill.positions.len() as u32;
                    fill.positions.push(self.positions[v as usize]);
                    kept.push(v);
                }
                *number
            }));
        }
        let values = kept.iter().map(|v| self.values[*v as usize]).collect::<Vec<f64>>();
        fill_smooth::smooth(&mut fill, &values, region);
        fill
    }
}
