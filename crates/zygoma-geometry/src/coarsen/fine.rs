//! The fine surface that a coarse mesh lies on: walking over it and along its borders.

use std::collections::{BTreeMap, HashMap};

use glam::DVec3;

use crate::closest::{SurfacePoint, at_barycentric, closest_on_triangle};
use crate::normals::area_vector;
use crate::topology::half_edges;

/// No triangle on the other side of an edge.
pub(super) const NONE: u32 = u32::MAX;

/// A border corner is kept when the border turns by more than this there, seen over half an edge each way. Ours.
const CORNER_COSINE: f64 = 0.4;

/// A surface with its neighbourhoods.
pub(super) struct FineSurface<'a> {
    pub(super) positions: &'a [DVec3],
    pub(super) triangles: &'a [[u32; 3]],
    /// Across the edge from corner i to corner i + 1.
    neighbours: Vec<[u32; 3]>,
    normals: Vec<DVec3>,
    pub(super) borders: Vec<Border>,
    /// Vertices on border edges that close to no line, as where triangles with different orientation meet.
    pub(super) loose: Vec<u32>,
}

/// One closed line of border edges, in the direction of their triangles. It passes each of its vertices once: lines that
/// meet at a vertex, as those of two holes that touch, are separate.
pub(super) struct Border {
    pub(super) vertices: Vec<u32>,
    /// The triangle and corner of the edge that starts at each vertex.
    edges: Vec<(u32, usize)>,
    /// Length from the start to each vertex.
    pub(super) arcs: Vec<f64>,
    pub(super) length: f64,
}

/// Scratch memory of walks over the surface.
#[derive(Default)]
pub(super) struct Walk {
    seen: HashMap<u32, ()>,
    queue: Vec<u32>,
}

impl<'a> FineSurface<'a> {
    pub(super) fn new(positions: &'a [DVec3], triangles: &'a [[u32; 3]]) -> Self {
        let mut owners: HashMap<(u32, u32), (u32, usize)> = HashMap::with_capacity(3 * triangles.len());
        for (index, triangle) in (0u32..).zip(triangles) {
            for (corner, edge) in half_edges(*triangle).into_iter().enumerate() {
                owners.entry(edge).or_insert((index, corner));
            }
        }
        let across = |(a, b): (u32, u32)| owners.get(&(b, a)).map_or(NONE, |(triangle, _)| *triangle);
        let neighbours = triangles.iter().map(|t| half_edges(*t).map(across)).collect();
        let normal = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            area_vector(a, b, c).normalize_or_zero()
        };
        let normals = triangles.iter().map(normal).collect();
        let mut surface =
            Self { positions, triangles, neighbours, normals, borders: Vec::new(), loose: Vec::new() };
        (surface.borders, surface.loose) = surface.find_borders();
        surface
    }

    /// The closed border lines, and the vertices of border edges that are on none.
    fn find_borders(&self) -> (Vec<Border>, Vec<u32>) {
        let mut leaving: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
        for (triangle, neighbours) in (0u32..).zip(&self.neighbours) {
            for corner in (0..3).filter(|corner| neighbours[*corner] == NONE) {
                leaving
                    .entry(self.triangles[triangle as usize][corner])
                    .or_default()
                    .push((triangle, corner));
            }
        }
        let (mut borders, mut loose) = (Vec::new(), Vec::new());
        while let Some(start) = leaving.keys().next().copied() {
            // Vertices walked through with the edges that leave them, and the place of each among them.
            let mut path: Vec<(u32, (u32, usize))> = Vec::new();
            let mut places: HashMap<u32, usize> = HashMap::new();
            let mut vertex = start;
            loop {
                if let Some(place) = places.get(&vertex) {
                    let line = path.split_off(*place);
                    line.iter().for_each(|(v, _)| _ = places.remove(v));
                    let (vertices, edges) = line.into_iter().unzip();
                    borders.push(self.border(vertices, edges));
                }
                let Some(choices) = leaving.get_mut(&vertex) else { break };
                let Some((triangle, corner)) = choices.pop() else { break };
                if choices.is_empty() {
                    leaving.remove(&vertex);
                }
                places.insert(vertex, path.len());
                path.push((vertex, (triangle, corner)));
                vertex = self.triangles[triangle as usize][(corner + 1) % 3];
            }
            if !path.is_empty() {
                loose.extend(path.iter().map(|(v, _)| *v).chain([vertex]));
            }
        }
        (borders, loose)
    }

    fn border(&self, vertices: Vec<u32>, edges: Vec<(u32, usize)>) -> Border {
        let mut length = 0.0;
        let mut arcs = Vec::with_capacity(vertices.len());
        for (triangle, corner) in &edges {
            arcs.push(length);
            let t = self.triangles[*triangle as usize];
            let [a, b] = [*corner, (*corner + 1) % 3].map(|i| self.positions[t[i] as usize]);
            length += a.distance(b);
        }
        Border { vertices, edges, arcs, length }
    }

    pub(super) fn position(&self, point: &SurfacePoint) -> DVec3 {
        point.interpolate(self.triangles, self.positions)
    }

    pub(super) fn normal(&self, triangle: u32) -> DVec3 {
        self.normals[triangle as usize]
    }

    /// The point of a border at a length from its start.
    pub(super) fn on_border(&self, border: usize, arc: f64) -> SurfacePoint {
        let line = &self.borders[border];
        // A border of vertices that all lie in one place has no length.
        let arc = if line.length > 0.0 { arc.rem_euclid(line.length).min(line.length) } else { 0.0 };
        let edge = line.arcs.partition_point(|start| *start <= arc).saturating_sub(1);
        let end = line.arcs.get(edge + 1).copied().unwrap_or(line.length);
        let (start, (triangle, corner)) = (line.arcs[edge], line.edges[edge]);
        let fraction = if end > start { ((arc - start) / (end - start)).clamp(0.0, 1.0) } else { 0.0 };
        let mut barycentric = [0.0; 3];
        barycentric[corner] = 1.0 - fraction;
        barycentric[(corner + 1) % 3] = fraction;
        SurfacePoint { triangle, barycentric }
    }

    /// Vertices (as places in their border) where a border turns sharply at the scale of an edge length.
    pub(super) fn corners(&self, border: usize, length: f64) -> Vec<bool> {
        let line = &self.borders[border];
        let reach = 0.5 * length;
        let turn = |place: usize| {
            let arc = line.arcs[place];
            let at = |arc: f64| self.position(&self.on_border(border, arc));
            let here = self.positions[line.vertices[place] as usize];
            let before = (here - at(arc - reach)).normalize_or_zero();
            let after = (at(arc + reach) - here).normalize_or_zero();
            before.dot(after)
        };
        let turns: Vec<f64> = (0..line.vertices.len()).map(turn).collect();
        let is_sharpest = |place: usize| {
            let gap = |other: usize| {
                let gap = (line.arcs[other] - line.arcs[place]).abs();
                gap.min(line.length - gap)
            };
            let count = turns.len();
            let ahead = (1..count).map(|step| (place + step) % count).take_while(|o| gap(*o) < length);
            let back = (1..count).map(|step| (place + count - step) % count).take_while(|o| gap(*o) < length);
            ahead
                .chain(back)
                .all(|other| turns[place] < turns[other] || (turns[place] == turns[other] && place < other))
        };
        // A border shorter than a few edges is a hole to be kept, not a shape with corners.
        let long_enough = line.length > 4.0 * length;
        (0..turns.len())
            .map(|place| long_enough && turns[place] < CORNER_COSINE && is_sharpest(place))
            .collect()
    }

    /// Whether two points are connected through triangles no farther from the first than `reach`. Points that face the same
    /// way are assumed to be: only folds bring points close that are far apart along the surface.
    pub(super) fn hang_together(
        &self,
        from: &SurfacePoint,
        to: &SurfacePoint,
        reach: f64,
        walk: &mut Walk,
    ) -> bool {
        if self.normal(from.triangle).dot(self.normal(to.triangle)) > 0.0 {
            return true;
        }
        let point = self.position(from);
        walk.seen.clear();
        walk.queue.clear();
        walk.seen.insert(from.triangle, ());
        walk.queue.push(from.triangle);
        while let Some(triangle) = walk.queue.pop() {
            if triangle == to.triangle {
                return true;
            }
            for neighbour in self.neighbours[triangle as usize] {
                if neighbour == NONE || walk.seen.insert(neighbour, ()).is_some() {
                    continue;
                }
                let corners = self.triangles[neighbour as usize].map(|v| self.positions[v as usize]);
                let nearest = at_barycentric(closest_on_triangle(point, corners), corners);
                if nearest.distance(point) <= reach {
                    walk.queue.push(neighbour);
                }
            }
        }
        false
    }

    /// The closest point to `point` among the triangles near it that are connected to `hint` and do not face away
    /// from `normal`.
    pub(super) fn project(
        &self,
        point: DVec3,
        hint: u32,
        normal: DVec3,
        slack: f64,
        walk: &mut Walk,
    ) -> SurfacePoint {
        let nearest = |triangle: u32| {
            let corners = self.triangles[triangle as usize].map(|v| self.positions[v as usize]);
            let barycentric = closest_on_triangle(point, corners);
            (at_barycentric(barycentric, corners).distance(point), barycentric)
        };
        let (distance, barycentric) = nearest(hint);
        let reach = distance + slack;
        let mut best = SurfacePoint { triangle: hint, barycentric };
        let faces = |triangle: u32| self.normals[triangle as usize].dot(normal) > -0.1;
        let mut best_distance = if faces(hint) { distance } else { f64::MAX };
        walk.seen.clear();
        walk.queue.clear();
        walk.seen.insert(hint, ());
        walk.queue.push(hint);
        let mut next = 0;
        while next < walk.queue.len() {
            for neighbour in self.neighbours[walk.queue[next] as usize] {
                if neighbour == NONE || walk.seen.insert(neighbour, ()).is_some() {
                    continue;
                }
                let (distance, barycentric) = nearest(neighbour);
                if distance > reach {
                    continue;
                }
                walk.queue.push(neighbour);
                if distance < best_distance && faces(neighbour) {
                    best = SurfacePoint { triangle: neighbour, barycentric };
                    best_distance = distance;
                }
            }
            next += 1;
        }
        best
    }
}
