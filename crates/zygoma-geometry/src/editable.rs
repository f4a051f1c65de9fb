//! A triangle mesh for remeshing: triangles can be added and removed.

use glam::DVec3;

use crate::normals::area_vector;
use crate::topology::half_edges;

/// Vertices, triangles and which triangles are around each vertex. Removed triangles keep their number.
#[derive(Default)]
pub(crate) struct EditableMesh {
    pub(crate) positions: Vec<DVec3>,
    pub(crate) triangles: Vec<[u32; 3]>,
    alive: Vec<bool>,
    pub(crate) around: Vec<Vec<u32>>,
}

/// An edge, smaller vertex first.
pub(crate) fn key(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// The cotangent of the angle at `apex`.
fn cotangent(apex: DVec3, a: DVec3, b: DVec3) -> f64 {
    let (u, v) = (a - apex, b - apex);
    u.dot(v) / u.cross(v).length().max(f64::MIN_POSITIVE)
}

/// An edge flip that joins the vertices opposite to it.
pub(crate) struct Flip {
    /// The vertices that it would join.
    pub(crate) opposite: [u32; 2],
    triangles: [u32; 2],
    corners: [[u32; 3]; 2],
}

impl EditableMesh {
    pub(crate) fn new(positions: Vec<DVec3>) -> Self {
        let around = vec![Vec::new(); positions.len()];
        Self { positions, around, ..Self::default() }
    }

    pub(crate) fn triangle_count(&self) -> usize {
        self.alive.iter().filter(|alive| **alive).count()
    }

    pub(crate) fn add(&mut self, corners: [u32; 3]) {
        let index = self.triangles.len() as u32;
        self.triangles.push(corners);
        self.alive.push(true);
        for v in corners {
            self.around[v as usize].push(index);
        }
    }

    pub(crate) fn replace(&mut self, t: u32, corners: [u32; 3]) {
        self.remove(t);
        self.alive[t as usize] = true;
        self.triangles[t as usize] = corners;
        for v in corners {
            self.around[v as usize].push(t);
        }
    }

    pub(crate) fn remove(&mut self, t: u32) {
        for v in self.triangles[t as usize] {
            self.around[v as usize].retain(|other| *other != t);
        }
        self.alive[t as usize] = false;
    }

    pub(crate) fn points(&self, t: u32) -> [DVec3; 3] {
        self.triangles[t as usize].map(|v| self.positions[v as usize])
    }

    /// The area vector of a triangle.
    pub(crate) fn area(&self, t: u32) -> DVec3 {
        let [a, b, c] = self.points(t);
        area_vector(a, b, c)
    }

    /// The triangles on both sides of an edge.
    pub(crate) fn shared(&self, a: u32, b: u32) -> Vec<u32> {
        let has = |t: &&u32| self.triangles[**t as usize].contains(&b);
        self.around[a as usize].iter().filter(has).copied().collect()
    }

    /// The corner of a triangle that is not on an edge of it.
    pub(crate) fn opposite(&self, t: u32, a: u32, b: u32) -> u32 {
        self.triangles[t as usize].into_iter().find(|v| *v != a && *v != b).unwrap_or(a)
    }

    /// The vertices next to one, ascending.
    pub(crate) fn neighbours(&self, v: u32) -> Vec<u32> {
        let corners = self.around[v as usize].iter().flat_map(|t| self.triangles[*t as usize]);
        let mut all: Vec<u32> = corners.filter(|w| *w != v).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn living(&self) -> impl Iterator<Item = &[u32; 3]> {
        self.triangles.iter().zip(&self.alive).filter(|(_, alive)| **alive).map(|(t, _)| t)
    }

    /// The numbers of the triangles that were not removed.
    pub(crate) fn numbers_of_living(&self) -> impl Iterator<Item = u32> {
        (0u32..).zip(&self.alive).filter(|(_, alive)| **alive).map(|(index, _)| index)
    }

    /// The length of a triangle's longest side.
    pub(crate) fn longest_side(&self, t: u32) -> f64 {
        let p = self.points(t);
        (0..3).map(|i| p[i].distance(p[(i + 1) % 3])).fold(0.0, f64::max)
    }

    /// Every edge once, ascending.
    pub(crate) fn edges(&self) -> Vec<(u32, u32)> {
        let mut edges: Vec<_> = self.living().flat_map(|t| half_edges(*t)).map(|(a, b)| key(a, b)).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Splits an edge at a new vertex and returns the vertices opposite to it.
    pub(crate) fn split(&mut self, (a, b): (u32, u32), position: DVec3) -> Vec<u32> {
        let m = self.positions.len() as u32;
        self.positions.push(position);
        self.around.push(Vec::new());
        let mut opposite = Vec::with_capacity(2);
        for t in self.shared(a, b) {
            let corners = self.triangles[t as usize];
            opposite.push(self.opposite(t, a, b));
            self.replace(t, corners.map(|v| if v == b { m } else { v }));
            self.add(corners.map(|v| if v == a { m } else { v }));
        }
        opposite
    }

    /// Collapses an edge: merges one end into the other.
    pub(crate) fn merge(&mut self, gone: u32, kept: u32, position: DVec3) {
        for t in self.shared(gone, kept) {
            self.remove(t);
        }
        for t in self.around[gone as usize].clone() {
            let corners = self.triangles[t as usize].map(|v| if v == gone { kept } else { v });
            self.replace(t, corners);
        }
        self.positions[kept as usize] = position;
    }

    /// The flip of an edge, if its opposite angles sum to more than 180° and the angle between its triangles has a cosine above
    /// `smooth`.
    pub(crate) fn flip_of(&self, (a, b): (u32, u32), smooth: f64) -> Option<Flip> {
        let shared = self.shared(a, b);
        let [s, t] = shared[..] else { return None };
        let (c, d) = (self.opposite(s, a, b), self.opposite(t, a, b));
        let [pa, pb, pc, pd] = [a, b, c, d].map(|v| self.positions[v as usize]);
        let flat = cotangent(pc, pa, pb) + cotangent(pd, pa, pb) < -1e-9;
        if c == d || !flat || !self.shared(c, d).is_empty() {
            return None;
        }
        let first = self.triangles[s as usize].map(|v| if v == b { d } else { v });
        let second = self.triangles[t as usize].map(|v| if v == a { c } else { v });
        let normal = self.area(s) + self.area(t);
        let is_smooth = [first, second].iter().all(|corners| {
            let [a, b, c] = corners.map(|v| self.positions[v as usize]);
            let flipped = area_vector(a, b, c);
            flipped.dot(normal) > smooth * flipped.length() * normal.length()
        });
        is_smooth.then_some(Flip { opposite: [c, d], triangles: [s, t], corners: [first, second] })
    }

    pub(crate) fn flip(&mut self, flip: &Flip) {
        for (t, corners) in flip.triangles.iter().zip(flip.corners) {
            self.replace(*t, corners);
        }
    }

    /// The new number of every vertex when those without triangles are left out.
    pub(crate) fn numbers(&self) -> Vec<Option<u32>> {
        let mut next = 0u32..;
        self.around.iter().map(|around| if around.is_empty() { None } else { next.next() }).collect()
    }

    /// The vertices that have triangles, and the triangles between them, in the numbers of [`numbers`](Self::numbers).
    pub(crate) fn compact(&self, numbers: &[Option<u32>]) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let kept = self.positions.iter().zip(numbers).filter(|(_, number)| number.is_some());
        let number = |v: u32| numbers[v as usize].unwrap_or_default();
        (kept.map(|(p, _)| *p).collect(), self.living().map(|t| t.map(number)).collect())
    }
}
