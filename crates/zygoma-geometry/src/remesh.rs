//! Isotropic remeshing with a size that varies in space and curves that are kept.
//!
//! Long edges are split, short ones collapsed, the rest flipped towards Delaunay and vertices relaxed in the
//! surface (\[Botsch and Kobbelt 2004\]); feature curves keep their edges, and their vertices only slide along them.

use std::collections::HashMap;

use glam::DVec3;

use crate::editable::{EditableMesh, key};
use crate::topology::half_edges;

/// A triangle mesh with marked curves on it.
#[derive(Clone, Debug, Default)]
pub struct FeatureMesh {
    /// Vertices.
    pub positions: Vec<DVec3>,
    /// Triangles, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Marked edges, smaller vertex first, with the bit of the curve that they belong to.
    pub features: Vec<(u32, u32, u32)>,
}

/// The sizing field and the surface of a new mesh.
pub trait Target {
    /// The wanted edge length at a point.
    fn size(&self, point: DVec3) -> f64;

    /// The outward unit normal of the surface near a point.
    fn normal(&self, point: DVec3) -> DVec3;

    /// The nearest point of the surface that also lies on all curves whose bits are set.
    fn project(&self, point: DVec3, curves: u32) -> DVec3;
}

impl FeatureMesh {
    /// Splits triangles along the zero line of a field, and marks that line as a curve.
    /// Edges whose middle is not `within` are left alone.
    pub fn cut(&mut self, curve: u32, field: impl Fn(DVec3) -> f64, within: impl Fn(DVec3) -> bool) {
        let near_zero = |v: f64| if v.abs() < 1e-9 { 1e-9 } else { v };
        let values: Vec<f64> = self.positions.iter().map(|p| near_zero(field(*p))).collect();
        let mut split: HashMap<(u32, u32), u32> = HashMap::new();
        let old: HashMap<(u32, u32), u32> = self.features.iter().map(|(a, b, c)| ((*a, *b), *c)).collect();
        let mut features: Vec<(u32, u32, u32)> = Vec::new();
        for (a, b) in self.triangles.iter().flat_map(|t| half_edges(*t)) {
            let key = (a.min(b), a.max(b));
            let (va, vb) = (values[key.0 as usize], values[key.1 as usize]);
            let (pa, pb) = (self.positions[key.0 as usize], self.positions[key.1 as usize]);
            if va * vb < 0.0 && !split.contains_key(&key) && within(0.5 * (pa + pb)) {
                let t = (va / (va - vb)).clamp(0.03, 0.97);
                split.insert(key, self.positions.len() as u32);
                self.positions.push(pa + t * (pb - pa));
                if let Some(bit) = old.get(&key) {
                    let new = self.positions.len() as u32 - 1;
                    features.push((key.0, new, *bit));
                    features.push((key.1, new, *bit));
                }
            }
        }
        features.extend(self.features.iter().filter(|(a, b, _)| !split.contains_key(&(*a, *b))));
        let mut triangles = Vec::with_capacity(self.triangles.len());
        for t in &self.triangles {
            let at = |i: usize| {
                let (a, b) = (t[i], t[(i + 1) % 3]);
                split.get(&(a.min(b), a.max(b))).copied()
            };
            let splits = [at(0), at(1), at(2)];
            match splits.iter().flatten().count() {
                1 => {
                    let i = splits.iter().position(Option::is_some).unwrap_or(0);
                    let (a, b, c) = (t[i], t[(i + 1) % 3], t[(i + 2) % 3]);
                    let m = splits[i].unwrap_or(a);
                    triangles.extend([[a, m, c], [m, b, c]]);
                }
                2 => {
                    // The corner between the two split edges is cut off.
                    let i = splits.iter().position(Option::is_none).unwrap_or(0);
                    let (a, b, c) = (t[i], t[(i + 1) % 3], t[(i + 2) % 3]);
                    let m = splits[(i + 1) % 3].unwrap_or(b);
                    let n = splits[(i + 2) % 3].unwrap_or(a);
                    triangles.extend([[m, c, n], [a, b, m], [a, m, n]]);
                    features.push((m.min(n), m.max(n), curve));
                }
                _ => triangles.push(*t),
            }
        }
        self.triangles = triangles;
        self.features = features;
    }

    /// Keeps only the longest connected piece of a curve.
    pub fn keep_longest(&mut self, curve: u32) {
        let mut sets = crate::topology::DisjointSets::new(self.positions.len());
        for (a, b, _) in self.features.iter().filter(|(_, _, bit)| *bit == curve) {
            sets.join(*a, *b);
        }
        let mut lengths: HashMap<u32, usize> = HashMap::new();
        for (a, _, _) in self.features.iter().filter(|(_, _, bit)| *bit == curve) {
            *lengths.entry(sets.find(*a)).or_insert(0) += 1;
        }
        let longest = lengths.iter().max_by_key(|(root, length)| (**length, u32::MAX - **root));
        let Some((longest, _)) = longest.map(|(r, l)| (*r, *l)) else { return };
        self.features.retain(|(a, _, bit)| *bit != curve || sets.find(*a) == longest);
    }

    /// Marks the border edges whose two ends satisfy a condition.
    pub fn mark_border(&mut self, curve: u32, on: impl Fn(DVec3) -> bool) {
        let border = crate::topology::EdgeCounts::new(&self.triangles).border();
        let marked = border
            .into_iter()
            .filter(|(a, b)| on(self.positions[*a as usize]) && on(self.positions[*b as usize]));
        let marked: Vec<_> = marked.map(|(a, b)| (a, b, curve)).collect();
        self.features.extend(marked);
    }

    /// Remeshes in a number of passes.
    pub fn remeshed(self, target: &impl Target, passes: usize) -> FeatureMesh {
        let mut work = Work::new(self);
        for pass in 0..passes {
            work.split_long(target);
            // The first pass meets a mesh that is many times too fine.
            for _ in 0..if pass == 0 { 12 } else { 2 } {
                if work.collapse_short(target) == 0 {
                    break;
                }
                work.flip();
            }
            work.flip();
            for _ in 0..2 {
                work.relax(target);
                work.flip();
            }
        }
        work.finish()
    }
}

struct Work {
    mesh: EditableMesh,
    features: HashMap<(u32, u32), u32>,
    curves: Vec<Vec<(u32, u32)>>,
}

fn area_normal(p: [DVec3; 3]) -> DVec3 {
    (p[1] - p[0]).cross(p[2] - p[0])
}

impl Work {
    fn new(mesh: FeatureMesh) -> Self {
        let mut curves = vec![Vec::new(); mesh.positions.len()];
        let mut features = HashMap::new();
        for (a, b, bit) in mesh.features {
            if features.insert(key(a, b), bit).is_none() {
                curves[a as usize].push((b, bit));
                curves[b as usize].push((a, bit));
            }
        }
        let mut editable = EditableMesh::new(mesh.positions);
        mesh.triangles.into_iter().for_each(|t| editable.add(t));
        Self { mesh: editable, features, curves }
    }

    fn curve_bits(&self, v: u32) -> u32 {
        self.curves[v as usize].iter().fold(0, |bits, (_, bit)| bits | bit)
    }

    /// Ends and crossings of curves never move away.
    fn is_corner(&self, v: u32) -> bool {
        let at = &self.curves[v as usize];
        !at.is_empty() && (at.len() != 2 || at[0].1 != at[1].1)
    }

    fn split_long(&mut self, target: &impl Target) {
        let mut queue = self.mesh.edges();
        let mut next = 0;
        // A target whose size falls towards a point would have edges split for ever: a pass makes at most twice as many
        // triangles as there were, as each split adds up to four edges to the queue. The next pass goes on.
        let most = 8 * queue.len();
        while next < queue.len() && queue.len() < most {
            let (a, b) = queue[next];
            next += 1;
            let (pa, pb) = (self.mesh.positions[a as usize], self.mesh.positions[b as usize]);
            let middle = 0.5 * (pa + pb);
            if pa.distance(pb) <= 4.0 / 3.0 * target.size(middle) {
                continue;
            }
            if self.mesh.shared(a, b).is_empty() {
                continue;
            }
            let bit = self.features.remove(&key(a, b));
            let m = self.mesh.positions.len() as u32;
            let projected = target.project(middle, bit.unwrap_or(0));
            // A projection that strays would leave edges that are as long as before.
            let stays = projected.distance(middle) < 0.25 * pa.distance(pb);
            let opposite = self.mesh.split((a, b), if stays { projected } else { middle });
            self.curves.push(Vec::new());
            if let Some(bit) = bit {
                self.curves[a as usize].retain(|(w, _)| *w != b);
                self.curves[b as usize].retain(|(w, _)| *w != a);
                for end in [a, b] {
                    self.features.insert(key(end, m), bit);
                    self.curves[end as usize].push((m, bit));
                    self.curves[m as usize].push((end, bit));
                }
            }
            queue.extend(opposite.into_iter().map(|opposite| key(m, opposite)));
            queue.push(key(a, m));
            queue.push(key(m, b));
        }
    }

    /// Collapses edges that are too short; returns how many.
    fn collapse_short(&mut self, target: &impl Target) -> usize {
        let mut count = 0;
        for (a, b) in self.mesh.edges() {
            if self.mesh.shared(a, b).is_empty() {
                continue;
            }
            let middle = 0.5 * (self.mesh.positions[a as usize] + self.mesh.positions[b as usize]);
            let size = target.size(middle);
            if self.mesh.positions[a as usize].distance(self.mesh.positions[b as usize]) < 0.8 * size
                && (self.collapse(a, b, size, target) || self.collapse(b, a, size, target))
            {
                count += 1;
            }
        }
        count
    }

    /// Whether `gone` may be pulled into `kept`, and where the kept vertex then lies.
    fn collapsed_position(&self, gone: u32, kept: u32) -> Option<DVec3> {
        let (pg, pk) = (self.mesh.positions[gone as usize], self.mesh.positions[kept as usize]);
        if self.is_corner(gone) {
            return None;
        }
        let on_curve = |v: u32| !self.curves[v as usize].is_empty();
        if on_curve(gone) {
            let bit = self.features.get(&key(gone, kept))?;
            // A closed curve keeps at least a triangle's worth of vertices.
            let others = self.curves[gone as usize].iter().find(|(w, _)| *w != kept)?;
            if self.features.contains_key(&key(others.0, kept)) {
                return None;
            }
            let straight = !self.is_corner(kept) && self.curve_bits(kept) == *bit;
            return Some(if straight { 0.5 * (pg + pk) } else { pk });
        }
        Some(if on_curve(kept) { pk } else { 0.5 * (pg + pk) })
    }

    fn collapse(&mut self, gone: u32, kept: u32, size: f64, target: &impl Target) -> bool {
        let Some(position) = self.collapsed_position(gone, kept) else { return false };
        let shared = self.mesh.shared(gone, kept);
        let (around_gone, around_kept) = (self.mesh.neighbours(gone), self.mesh.neighbours(kept));
        let common = around_gone.iter().filter(|v| around_kept.binary_search(v).is_ok()).count();
        if common != shared.len() {
            return false;
        }
        for v in around_gone.iter().chain(&around_kept) {
            if *v != gone && *v != kept && self.mesh.positions[*v as usize].distance(position) > 1.3 * size {
                return false;
            }
        }
        for v in [gone, kept] {
            for t in &self.mesh.around[v as usize] {
                if shared.contains(t) {
                    continue;
                }
                let before = self.mesh.points(*t);
                let corners = self.mesh.triangles[*t as usize];
                let after: [DVec3; 3] = std::array::from_fn(|i| {
                    if corners[i] == gone || corners[i] == kept { position } else { before[i] }
                });
                let (n0, n1) = (area_normal(before), area_normal(after));
                let longest =
                    (0..3).map(|i| after[i].distance_squared(after[(i + 1) % 3])).fold(0.0, f64::max);
                if n1.length() < 0.05 * longest && n1.length() < n0.length() {
                    return false;
                }
                // A crumpled spot has no good normals to keep; then the surface itself decides.
                if n0.dot(n1) < 0.5 * n0.length() * n1.length() {
                    let true_normal = target.normal((after[0] + after[1] + after[2]) / 3.0);
                    if n1.dot(true_normal) < 0.5 * n1.length() {
                        return false;
                    }
                }
            }
        }
        self.mesh.merge(gone, kept, position);
        for (w, bit) in std::mem::take(&mut self.curves[gone as usize]) {
            self.features.remove(&key(gone, w));
            self.curves[w as usize].retain(|(x, _)| *x != gone);
            if w != kept {
                self.features.insert(key(kept, w), bit);
                self.curves[w as usize].push((kept, bit));
                self.curves[kept as usize].push((w, bit));
            }
        }
        true
    }

    /// Flips edges whose opposite angles sum to more than 180°, where the surface is smooth enough.
    fn flip(&mut self) {
        for (a, b) in self.mesh.edges() {
            if self.features.contains_key(&key(a, b)) {
                continue;
            }
            if let Some(flip) = self.mesh.flip_of((a, b), 0.7) {
                self.mesh.flip(&flip);
            }
        }
    }

    /// Moves every vertex towards the middle of its surroundings, within surface and curve.
    fn relax(&mut self, target: &impl Target) {
        for v in 0..self.mesh.positions.len() as u32 {
            if self.mesh.around[v as usize].is_empty() || self.is_corner(v) {
                continue;
            }
            let old = self.mesh.positions[v as usize];
            let bits = self.curve_bits(v);
            let aim = if bits != 0 {
                let ends = &self.curves[v as usize];
                0.5 * (self.mesh.positions[ends[0].0 as usize] + self.mesh.positions[ends[1].0 as usize])
            } else {
                self.centroid(v, target)
            };
            let normal = self.mesh.around[v as usize]
                .iter()
                .map(|t| area_normal(self.mesh.points(*t)))
                .sum::<DVec3>()
                .normalize_or_zero();
            let mut step = 0.6 * (aim - old);
            if bits == 0 {
                step -= normal * step.dot(normal);
            }
            for _ in 0..3 {
                let moved = target.project(old + step, bits);
                if moved.distance(old) < 2.0 * target.size(old) && self.keeps_sides(v, moved, target) {
                    self.mesh.positions[v as usize] = moved;
                    break;
                }
                step *= 0.4;
            }
        }
    }

    fn keeps_sides(&self, v: u32, moved: DVec3, target: &impl Target) -> bool {
        self.mesh.around[v as usize].iter().all(|t| {
            let before = self.mesh.points(*t);
            let corners = self.mesh.triangles[*t as usize];
            let after: [DVec3; 3] = std::array::from_fn(|i| if corners[i] == v { moved } else { before[i] });
            let (n0, n1) = (area_normal(before), area_normal(after));
            let longest = (0..3).map(|i| after[i].distance_squared(after[(i + 1) % 3])).fold(0.0, f64::max);
            let shaped = n1.length() > 0.04 * longest || n1.length() > n0.length();
            let turned = n0.dot(n1) <= 0.3 * n0.length() * n1.length();
            shaped
                && (!turned
                    || n1.dot(target.normal((after[0] + after[1] + after[2]) / 3.0)) > 0.5 * n1.length())
        })
    }

    /// Mean of the surrounding triangles' centres, weighted by area over wanted area.
    fn centroid(&self, v: u32, target: &impl Target) -> DVec3 {
        let (mut sum, mut weights) = (DVec3::ZERO, 0.0);
        for t in &self.mesh.around[v as usize] {
            let p = self.mesh.points(*t);
            let middle = (p[0] + p[1] + p[2]) / 3.0;
            let weight = area_normal(p).length() / target.size(middle).powi(2);
            sum += weight * middle;
            weights += weight;
        }
        if weights > 0.0 { sum / weights } else { self.mesh.positions[v as usize] }
    }

    fn finish(self) -> FeatureMesh {
        let numbers = self.mesh.numbers();
        let (positions, triangles) = self.mesh.compact(&numbers);
        let number = |v: u32| numbers[v as usize].unwrap_or(u32::MAX);
        let mut features: Vec<_> = self
            .features
            .iter()
            .map(|((a, b), bit)| {
                let (a, b) = key(number(*a), number(*b));
                (a, b, *bit)
            })
            .collect();
        features.sort_unstable();
        FeatureMesh { positions, triangles, features }
    }
}
