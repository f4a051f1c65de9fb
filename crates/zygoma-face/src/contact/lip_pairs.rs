//! Finds contact pairs between two sheets whose order along an axis is known, such as the lips in a part of the mouth.
//!
//! Proximity alone does not show on which side of the other lip a vertex belongs once it penetrates deeply. So both lips are projected
//! along the axis from the lower to the upper lip: at every point of the plane perpendicular to it, all of the upper lip belongs above
//! all of the lower one. Pushing the lips apart along the axis does not change which triangles overlap.

use glam::Vec3;
use zygoma_geometry::intersect::triangles_cross;

use super::lip_grid::{Area, Grid};
use crate::model::{LipPart, LipPointAtRest};

/// A contact pair: a point of each lip, one above the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ContactPair {
    pub(crate) upper: LipPoint,
    pub(crate) lower: LipPoint,
    /// Signed distance of the upper point above the lower one along the axis, m.
    pub(crate) gap: f32,
    /// The upward direction of this pair.
    pub(crate) axis: Vec3,
}

/// A point of a lip: at a vertex, on an edge or in a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LipPoint {
    pub(crate) vertices: [u32; 3],
    pub(crate) weights: [f32; 3],
}

impl LipPoint {
    fn vertex(vertex: u32) -> Self {
        Self { vertices: [vertex; 3], weights: [1.0, 0.0, 0.0] }
    }

    fn on_edge([a, b]: [u32; 2], fraction: f32) -> Self {
        Self { vertices: [a, b, a], weights: [1.0 - fraction, fraction, 0.0] }
    }

    /// Values at vertices, interpolated.
    pub(crate) fn of<T: std::iter::Sum + std::ops::Mul<f32, Output = T>>(
        &self,
        value: impl Fn(u32) -> T,
    ) -> T {
        (0..3).map(|k| value(self.vertices[k]) * self.weights[k]).sum()
    }
}

/// Maximum distances at which pairs are found, m.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Margins {
    /// For a vertex above or below a triangle.
    pub(crate) vertex: f32,
    /// For an edge above another.
    pub(crate) edge: f32,
}

/// Maximum penetration of a vertex into the other lip, m.
const DEEPEST: f32 = 0.03;
/// Tissue penetrates the other lip by at most this much more than the rig does, m. Ours, as those below.
const BEYOND_RIG: f32 = 3e-3;
/// In a step, a vertex' penetration grows by at most its own motion, the other lip's motion and this, m: a sudden larger depth means that
/// it has slid past the other lip's edge.
const JUMP: f32 = 5e-4;
/// The rig's motion is followed in steps of this length, m, up to a maximum number of them.
const PART_OF_WAY: f32 = 1.5e-3;
const MOST_PARTS: usize = 8;
/// Edges with a larger penetration belong to layers that are handled by vertices, m.
const DEEPEST_EDGE: f32 = 2e-3;

/// Detects contacts between the lips.
#[derive(Clone, Debug)]
pub(crate) struct LipContactDetector {
    axis: Vec3,
    across: [Vec3; 2],
    upper: usize,
    triangles: [Vec<[u32; 3]>; 2],
    /// Edges of each lip with their one or two adjacent triangles.
    edges: [Vec<Edge>; 2],
    /// Vertices of other parts, and vertices that penetrate in the rest pose: their order is unknown, and the artist's own intersections
    /// are kept.
    is_unordered: Vec<bool>,
    /// Each vertex in the neutral.
    at_rest: Vec<LipPointAtRest>,
    /// Penetration of each vertex into the other lip in the rig itself, m.
    depths: Vec<f32>,
    /// The rig's lips.
    followed: Vec<Vec3>,
    /// Buffers for following the rig: the next depths, and both ends of a step.
    next_depths: Vec<f32>,
    part_of_way: [Vec<Vec3>; 2],
    /// Size of a grid cell.
    cell: f32,
    /// Two coordinates perpendicular to the axis, and the one along it.
    flat: Vec<Vec3>,
    faces: [Vec<bool>; 2],
    /// Grids of the triangles of both lips, then of their edges.
    grids: [Grid; 4],
    found: Vec<ContactPair>,
    /// Pairs of crossing edges: found in parallel with the others.
    found_edges: Vec<ContactPair>,
    /// The region where both lips overlap, for the last state that was searched.
    area: Option<Area>,
    crossing: Vec<[u32; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    ends: [u32; 2],
    triangles: [u32; 2],
}

/// Vertices with a larger penetration at rest have no known order, m.
const UNORDERED: f32 = 3e-4;
/// Neighbours in a corner of the mouth are points of two lips if the cosine of the angle between their normals in the neutral is smaller
/// than this. Ours: −0.7 to −0.9 do on facecap, whose slit reaches into the corners, and on an MPFB head, whose corners are as wide as their
/// triangles.
const OPPOSED: f32 = -0.8;

impl LipContactDetector {
    /// Determines the order in a part of the lips at rest; `positions` are those of all lip points, of which the first `upper` are the
    /// upper lip.
    pub(crate) fn new(lips: &LipPart, upper: usize, positions: &[Vec3], at_rest: &[LipPointAtRest]) -> Self {
        let axis = lips.axis;
        let across = [axis.any_orthonormal_vector(), axis.cross(axis.any_orthonormal_vector())];
        let edges = lips.triangles.each_ref().map(|triangles| edges(triangles));
        let all = edges.iter().flatten().map(|e| {
            let [a, b] = e.ends.map(|v| positions[v as usize]);
            a.distance(b)
        });
        let cell =
            (1.5 * all.sum::<f32>() / edges.iter().map(Vec::len).sum::<usize>().max(1) as f32).max(1e-5);
        // Vertices of other parts have no order here.
        let mut is_unordered = vec![true; positions.len()];
        lips.triangles.iter().flatten().flatten().for_each(|v| is_unordered[*v as usize] = false);
        let mut order = Self {
            axis,
            across,
            upper,
            faces: lips.triangles.each_ref().map(|triangles| vec![false; triangles.len()]),
            triangles: lips.triangles.clone(),
            edges,
            is_unordered,
            at_rest: at_rest.to_vec(),
            depths: vec![0.0; positions.len()],
            followed: positions.to_vec(),
            next_depths: vec![0.0; positions.len()],
            part_of_way: [positions.to_vec(), positions.to_vec()],
            cell,
            flat: vec![Vec3::ZERO; positions.len()],
            grids: std::array::from_fn(|_| Grid::default()),
            found: Vec::new(),
            found_edges: Vec::new(),
            area: None,
            crossing: Vec::new(),
        };
        if let Some((area, heights)) = order.lay_out(positions, 0.0) {
            let is_deep = |v: &u32| {
                order.find_at_vertex(*v, &area, 0.0).is_some_and(|meeting| meeting.gap < -UNORDERED)
            };
            let deep: Vec<u32> = order.vertices_near(heights).filter(is_deep).collect();
            deep.iter().for_each(|v| order.is_unordered[*v as usize] = true);
        }
        order
    }

    /// Resets to the rest pose.
    pub(crate) fn forget(&mut self, rest: &[Vec3]) {
        self.depths.fill(0.0);
        self.followed.copy_from_slice(rest);
    }

    /// Follows the rig's own lips to their current positions, and records their penetration depths.
    pub(crate) fn follow(&mut self, positions: &[Vec3]) {
        let way = |(from, to): (&Vec3, &Vec3)| from.distance(*to);
        let farthest = self.followed.iter().zip(positions).map(way).fold(0.0, f32::max);
        let parts = ((farthest / PART_OF_WAY).ceil() as usize).clamp(1, MOST_PARTS);
        let [mut from, mut to] = std::mem::take(&mut self.part_of_way);
        from.copy_from_slice(&self.followed);
        for part in 1..=parts {
            let fraction = part as f32 / parts as f32;
            for (to, (a, b)) in to.iter_mut().zip(from.iter().zip(positions)) {
                *to = a.lerp(*b, fraction);
            }
            self.follow_part(&to);
        }
        self.part_of_way = [from, to];
    }

    fn follow_part(&mut self, positions: &[Vec3]) {
        let found = self.lay_out(positions, 0.0);
        let mut depths = std::mem::take(&mut self.next_depths);
        depths.fill(0.0);
        if let Some((area, heights)) = &found {
            let moved = |v: u32| positions[v as usize].distance(self.followed[v as usize]);
            for vertex in self.vertices_near(*heights) {
                let Some(meeting) = self.find_at_vertex(vertex, area, 0.0) else { continue };
                let (depth, known) = (-meeting.gap, self.depths[vertex as usize]);
                let way = meeting.upper.of(moved) + meeting.lower.of(moved);
                if depth <= known + way + JUMP {
                    depths[vertex as usize] = depth;
                }
            }
        }
        self.next_depths = std::mem::replace(&mut self.depths, depths);
        self.followed.copy_from_slice(positions);
    }

    /// Whether a pair's penetration is plausible, given the rig's own.
    fn is_plausible(&self, meeting: &ContactPair) -> bool {
        let places = [&meeting.upper, &meeting.lower];
        let corners = places
            .iter()
            .flat_map(|place| (0..3).filter(|k| place.weights[*k] > 0.0).map(|k| place.vertices[k]));
        let known = corners.map(|v| self.depths[v as usize]).fold(0.0, f32::max);
        -meeting.gap <= known + BEYOND_RIG
    }

    /// Finds contact pairs that are closer than the margins, or penetrating.
    pub(crate) fn find(&mut self, positions: &[Vec3], margins: Margins) -> &[ContactPair] {
        self.found.clear();
        self.area = self.lay_out(positions, margins.vertex.max(margins.edge)).map(|(area, heights)| {
            let (mut found, mut found_edges) =
                (std::mem::take(&mut self.found), std::mem::take(&mut self.found_edges));
            found_edges.clear();
            let order = &*self;
            rayon::join(
                || {
                    let meetings = order
                        .vertices_near(heights)
                        .filter_map(|v| order.find_at_vertex(v, &area, margins.vertex));
                    found.extend(meetings.filter(|meeting| order.is_plausible(meeting)));
                },
                || order.find_edges(&area, margins.edge, &mut found_edges),
            );
            found.extend_from_slice(&found_edges);
            (self.found, self.found_edges) = (found, found_edges);
            area
        });
        &self.found
    }

    /// Vertices with a known order that are not far above or below all of the other lip.
    fn vertices_near(&self, heights: [f32; 2]) -> impl Iterator<Item = u32> {
        let is_near = move |vertex: &u32| {
            let height = self.flat[*vertex as usize].z;
            if (*vertex as usize) < self.upper { height <= heights[0] } else { height >= heights[1] }
        };
        (0..self.flat.len() as u32).filter(|v| !self.is_unordered[*v as usize]).filter(is_near)
    }

    /// Sorts the lips into grid cells where they overlap within a margin. Returns that region, and the heights above which the upper lip
    /// and below which the lower lip have no contact; none without an overlap.
    fn lay_out(&mut self, positions: &[Vec3], margin: f32) -> Option<(Area, [f32; 2])> {
        for (flat, p) in self.flat.iter_mut().zip(positions) {
            *flat = Vec3::new(self.across[0].dot(*p), self.across[1].dot(*p), self.axis.dot(*p));
        }
        let bounds = |side: usize| {
            let corners = self.triangles[side].iter().flatten().map(|v| self.flat[*v as usize]);
            corners.fold((Vec3::MAX, Vec3::MIN), |(low, high), p| (low.min(p), high.max(p)))
        };
        let ((upper_low, upper_high), (lower_low, lower_high)) = (bounds(0), bounds(1));
        let (low, high) = (upper_low.max(lower_low), upper_high.min(lower_high));
        if low.x > high.x || low.y > high.y || upper_low.z - lower_high.z > margin {
            return None;
        }
        for side in 0..2 {
            for (t, faces) in self.triangles[side].iter().zip(&mut self.faces[side]) {
                let [a, b, c] = t.map(|v| self.flat[v as usize]);
                let up = (b - a).cross(c - a).z;
                *faces = if side == 0 { up < 0.0 } else { up > 0.0 };
            }
        }
        let area = Area::new(low, high, self.cell);
        let heights = [lower_high.z + margin, upper_low.z - margin];
        let (flat, triangles, edges, faces) = (&self.flat, &self.triangles, &self.edges, &self.faces);
        let unordered = &self.is_unordered;
        let fill = |side: usize, [of_triangles, of_edges]: [&mut Grid; 2]| {
            let is_far = |corners: [Vec3; 3]| match side {
                0 => corners.iter().all(|p| p.z > heights[0]),
                _ => corners.iter().all(|p| p.z < heights[1]),
            };
            let near = |corners: [u32; 3]| {
                Some(corners.map(|v| flat[v as usize])).filter(|corners| !is_far(*corners))
            };
            of_triangles.fill(&area, triangles[side].iter().map(|t| near(*t)));
            let corners = edges[side].iter().map(|e| {
                let faces = e.triangles.iter().any(|t| faces[side][*t as usize]);
                let is_ordered = e.ends.iter().all(|v| !unordered[*v as usize]);
                if faces && is_ordered { near([e.ends[0], e.ends[1], e.ends[0]]) } else { None }
            });
            of_edges.fill(&area, corners);
        };
        let [first, second, third, fourth] = &mut self.grids;
        rayon::join(|| fill(0, [first, third]), || fill(1, [second, fourth]));
        Some((area, heights))
    }

    /// Adds intersecting triangles of any orientation to the pairs [found](Self::find) in the same state: lips side by side, or folds
    /// that vertices cannot resolve.
    pub(crate) fn find_crossings(&mut self) -> &[ContactPair] {
        let Some(area) = &self.area else { return &self.found };
        let is_ordered = |t: &[u32; 3]| t.iter().all(|v| !self.is_unordered[*v as usize]);
        for (index, upper) in self.triangles[0].iter().enumerate().filter(|(_, t)| is_ordered(t)) {
            let [low, high] = self.grids[0].boxes[index];
            let Some((from, to)) = area.cells_of(low, high) else { continue };
            let p = upper.map(|v| self.flat[v as usize]);
            for y in from[1]..=to[1] {
                for x in from[0]..=to[0] {
                    for other in self.grids[1].cell([x, y]) {
                        let [other_low, other_high] = self.grids[1].boxes[*other as usize];
                        let corner = low.max(other_low);
                        let apart = corner.cmpgt(high.min(other_high)).any();
                        // Each pair is tested once: in the first cell that both overlap.
                        if apart || area.first_cell(corner) != [x, y] {
                            continue;
                        }
                        let lower = &self.triangles[1][*other as usize];
                        if !is_ordered(lower) {
                            continue;
                        }
                        let q = lower.map(|v| self.flat[v as usize]);
                        if triangles_cross(p.map(Vec3::as_dvec3), q.map(Vec3::as_dvec3)) {
                            self.crossing.push([index as u32, *other]);
                        }
                    }
                }
            }
        }
        let crossing = std::mem::take(&mut self.crossing);
        for [upper, lower] in &crossing {
            self.found.extend(self.deepest(*upper, *lower).filter(|meeting| self.is_plausible(meeting)));
        }
        self.crossing = crossing;
        self.crossing.clear();
        &self.found
    }

    /// The deepest penetration of an upper triangle below a lower one.
    fn deepest(&self, upper: u32, lower: u32) -> Option<ContactPair> {
        let (upper, lower) = (self.triangles[0][upper as usize], self.triangles[1][lower as usize]);
        let flat = |v: u32| self.flat[v as usize];
        let mut best: Option<ContactPair> = None;
        let mut consider = |upper: LipPoint, lower: LipPoint| {
            if !self.is_between_lips(&upper, &lower) {
                return;
            }
            let gap = upper.of(|v| flat(v).z) - lower.of(|v| flat(v).z);
            if best.is_none_or(|best| gap < best.gap) {
                best = Some(ContactPair { upper, lower, gap, axis: self.axis });
            }
        };
        for k in 0..3 {
            if let Some(weights) = barycentric(flat(lower[k]), upper.map(flat)) {
                consider(LipPoint { vertices: upper, weights }, LipPoint::vertex(lower[k]));
            }
            if let Some(weights) = barycentric(flat(upper[k]), lower.map(flat)) {
                consider(LipPoint::vertex(upper[k]), LipPoint { vertices: lower, weights });
            }
            for l in 0..3 {
                let (a, b) = ([upper[k], upper[(k + 1) % 3]], [lower[l], lower[(l + 1) % 3]]);
                if let Some([s, t]) = crossing(a.map(flat), b.map(flat)) {
                    consider(LipPoint::on_edge(a, s), LipPoint::on_edge(b, t));
                }
            }
        }
        best
    }

    /// The contact of a vertex with the triangle of the other lip that it must not pass.
    fn find_at_vertex(&self, vertex: u32, area: &Area, margin: f32) -> Option<ContactPair> {
        let is_upper = (vertex as usize) < self.upper;
        let other = usize::from(is_upper);
        let p = self.flat[vertex as usize];
        let cell = area.cell_of(p)?;
        // Heights of an upper vertex are negated, so that the other lip is always above.
        let sign = if is_upper { -1.0 } else { 1.0 };
        let height = sign * p.z;
        let (mut behind, mut ahead): (Option<Hit>, Option<Hit>) = (None, None);
        // Beyond these heights, a triangle is neither within the margin nor one that the vertex can have penetrated.
        let (lowest, highest) =
            if is_upper { (p.z - margin, p.z + DEEPEST) } else { (p.z - DEEPEST, p.z + margin) };
        for triangle in self.grids[other].cell(cell) {
            let [low, high] = self.grids[other].boxes[*triangle as usize];
            let is_beside = p.x < low.x || p.x > high.x || p.y < low.y || p.y > high.y;
            if is_beside || high.z < lowest || low.z > highest {
                continue;
            }
            let corners = self.triangles[other][*triangle as usize];
            let Some(weights) = barycentric(p, corners.map(|v| self.flat[v as usize])) else { continue };
            let at: f32 = (0..3).map(|k| weights[k] * self.flat[corners[k] as usize].z).sum();
            let hit = Hit { triangle: *triangle, weights, height: sign * at };
            if hit.height <= height {
                if behind.is_none_or(|best| hit.height > best.height) {
                    behind = Some(hit);
                }
            } else if self.faces[other][*triangle as usize]
                && ahead.is_none_or(|best| hit.height < best.height)
            {
                ahead = Some(hit);
            }
        }
        // Inside the other lip, the nearest surface behind the vertex is one that faces its own lip.
        let inside =
            behind.filter(|hit| self.faces[other][hit.triangle as usize] && height - hit.height < DEEPEST);
        let hit = inside.or(ahead.filter(|hit| hit.height - height < margin))?;
        let own = LipPoint::vertex(vertex);
        let there = LipPoint { vertices: self.triangles[other][hit.triangle as usize], weights: hit.weights };
        let (upper, lower) = if is_upper { (own, there) } else { (there, own) };
        self.is_between_lips(&upper, &lower).then_some(ContactPair {
            upper,
            lower,
            gap: hit.height - height,
            axis: self.axis,
        })
    }

    /// Whether two points belong to two lips. Neighbours in a corner of the mouth do if they face each other across a slit; where the skin
    /// turns from one lip to the other, an expression may bring either of them above the other.
    fn is_between_lips(&self, upper: &LipPoint, lower: &LipPoint) -> bool {
        let way = |place: &LipPoint| {
            let corners = (0..3).filter(|k| place.weights[*k] > 0.0);
            let ways = corners.map(|k| self.at_rest[place.vertices[k] as usize].from_corner);
            ways.fold(f32::INFINITY, f32::min)
        };
        let normal = |place: &LipPoint| place.of(|v| self.at_rest[v as usize].normal).normalize_or_zero();
        way(upper) + way(lower) >= 0.0 || normal(upper).dot(normal(lower)) < OPPOSED
    }

    /// Finds pairs of edges that cross in projection.
    fn find_edges(&self, area: &Area, margin: f32, found: &mut Vec<ContactPair>) {
        for (edge, [low, high]) in self.edges[0].iter().zip(&self.grids[2].boxes) {
            let Some((from, to)) = area.cells_of(*low, *high) else { continue };
            let ends = edge.ends.map(|v| self.flat[v as usize]);
            for y in from[1]..=to[1] {
                for x in from[0]..=to[0] {
                    for index in self.grids[3].cell([x, y]) {
                        let [other_low, other_high] = self.grids[3].boxes[*index as usize];
                        let is_beside = low.x > other_high.x
                            || high.x < other_low.x
                            || low.y > other_high.y
                            || high.y < other_low.y;
                        let (highest, lowest) = (high.z - other_low.z, low.z - other_high.z);
                        if is_beside || lowest > margin || highest < -DEEPEST_EDGE {
                            continue;
                        }
                        let other = &self.edges[1][*index as usize];
                        let others = other.ends.map(|v| self.flat[v as usize]);
                        let Some([s, t]) = crossing(ends, others) else { continue };
                        let at = ends[0].lerp(ends[1], s);
                        // Each pair is tested once: in the cell that contains its crossing.
                        if area.cell_of(at) != Some([x, y]) {
                            continue;
                        }
                        let gap = at.z - others[0].lerp(others[1], t).z;
                        let (upper, lower) =
                            (LipPoint::on_edge(edge.ends, s), LipPoint::on_edge(other.ends, t));
                        if gap < margin && gap > -DEEPEST_EDGE && self.is_between_lips(&upper, &lower) {
                            found.push(ContactPair { upper, lower, gap, axis: self.axis });
                        }
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Hit {
    triangle: u32,
    weights: [f32; 3],
    height: f32,
}

fn edges(triangles: &[[u32; 3]]) -> Vec<Edge> {
    let mut halves: Vec<([u32; 2], u32)> = (0..)
        .zip(triangles)
        .flat_map(|(t, [a, b, c])| [[*a, *b], [*b, *c], [*c, *a]].map(|[p, q]| ([p.min(q), p.max(q)], t)))
        .collect();
    halves.sort_unstable();
    let mut edges: Vec<Edge> = Vec::new();
    for (ends, triangle) in halves {
        match edges.last_mut() {
            Some(last) if last.ends == ends => last.triangles[1] = triangle,
            _ => edges.push(Edge { ends, triangles: [triangle; 2] }),
        }
    }
    edges
}

/// Barycentric coordinates of a point in a triangle, both projected along the axis; none outside.
fn barycentric(p: Vec3, [a, b, c]: [Vec3; 3]) -> Option<[f32; 3]> {
    let cross = |u: Vec3, v: Vec3| u.x * v.y - u.y * v.x;
    let whole = cross(b - a, c - a);
    if whole == 0.0 {
        return None;
    }
    let parts = [cross(b - p, c - p) / whole, cross(c - p, a - p) / whole];
    let weights = [parts[0], parts[1], 1.0 - parts[0] - parts[1]];
    weights.iter().all(|w| *w >= 0.0).then_some(weights)
}

/// The crossing of two segments, both projected along the axis, as parameters along each.
fn crossing([a, b]: [Vec3; 2], [c, d]: [Vec3; 2]) -> Option<[f32; 2]> {
    let cross = |u: Vec3, v: Vec3| u.x * v.y - u.y * v.x;
    let (u, v, w) = (b - a, d - c, c - a);
    let whole = cross(u, v);
    if whole == 0.0 {
        return None;
    }
    let fractions = [cross(w, v) / whole, cross(w, u) / whole];
    fractions.iter().all(|s| (0.0..=1.0).contains(s)).then_some(fractions)
}

/// The contact area of some pairs, from the areas of the points: half of the area of each vertex in contact, counted once, since each lip
/// counts its own. Edges next to vertices add nothing; alone they count half of the smaller adjacent area.
pub(crate) fn area_of(areas: &[f32], pairs: &[ContactPair]) -> f32 {
    let vertex = |m: &ContactPair| {
        [m.upper, m.lower].iter().find(|place| place.weights[0] == 1.0).map(|place| place.vertices[0])
    };
    let mut vertices: Vec<u32> = pairs.iter().filter_map(vertex).collect();
    vertices.sort_unstable();
    vertices.dedup();
    let around = |place: &LipPoint| place.of(|v| areas[v as usize]);
    let patches = pairs.iter().map(|m| around(&m.upper).min(around(&m.lower)));
    let all = if vertices.is_empty() {
        patches.fold(0.0, f32::max)
    } else {
        vertices.iter().map(|v| areas[*v as usize]).sum()
    };
    0.5 * all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sheets of `count` × `count` squares in a square of 2 cm, the upper one shifted against the lower one, so that edges cross.
    fn sheets(
        count: usize,
        upper: impl Fn(f32, f32) -> f32,
        lower: impl Fn(f32, f32) -> f32,
    ) -> (LipPart, Vec<Vec3>) {
        let size = 0.02;
        let mut positions = Vec::new();
        let mut triangles = [Vec::new(), Vec::new()];
        for side in 0..2_usize {
            let first = positions.len() as u32;
            for i in 0..=count {
                for j in 0..=count {
                    let shift = if side == 0 { 0.31 } else { 0.0 };
                    let [x, z] = [i, j].map(|k| size * (k as f32 + shift) / count as f32);
                    positions.push(Vec3::new(x, if side == 0 { upper(x, z) } else { lower(x, z) }, z));
                }
            }
            let at = |i: usize, j: usize| first + (i * (count + 1) + j) as u32;
            for i in 0..count {
                for j in 0..count {
                    let [a, b, c, d] = [at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)];
                    // The lower sheet faces up, the upper one down.
                    for [p, q, r] in [[a, b, c], [a, c, d]] {
                        triangles[side].push(if side == 0 { [p, r, q] } else { [p, q, r] });
                    }
                }
            }
        }
        (LipPart { axis: Vec3::Y, triangles }, positions)
    }

    /// A detector for lips that grow together nowhere.
    fn detector(lips: &LipPart, upper: usize, positions: &[Vec3]) -> LipContactDetector {
        let at_rest = LipPointAtRest { from_corner: f32::INFINITY, normal: Vec3::ZERO };
        LipContactDetector::new(lips, upper, positions, &vec![at_rest; positions.len()])
    }

    const NEAR: Margins = Margins { vertex: 5e-4, edge: 5e-4 };

    #[test]
    fn sheets_apart_do_not_meet_and_close_ones_meet_everywhere() {
        let (lips, apart) = sheets(8, |_, _| 0.001, |_, _| 0.0);
        let mut order = detector(&lips, apart.len() / 2, &apart);
        assert!(order.find(&apart, NEAR).is_empty());
        let close: Vec<Vec3> = sheets(8, |_, _| 0.0003, |_, _| 0.0).1;
        let found = order.find(&close, NEAR);
        assert!(found.iter().all(|meeting| (meeting.gap - 0.0003).abs() < 1e-7));
        // Nearly every vertex lies above or below the other sheet, and every edge crosses some of it.
        assert!(found.len() > 2 * 60, "{}", found.len());
        let edges = found.iter().filter(|m| m.upper.weights[1] > 0.0 && m.upper.weights[2] == 0.0);
        assert!(edges.filter(|m| m.lower.weights[1] > 0.0).count() > 100);
    }

    #[test]
    fn a_sheet_far_on_the_wrong_side_is_found_at_its_depth() {
        let (lips, rest) = sheets(8, |_, _| 0.001, |_, _| 0.0);
        let mut order = detector(&lips, rest.len() / 2, &rest);
        let (_, through) = sheets(8, |x, _| 0.2 * x, |_, _| 0.008);
        order.follow(&through);
        let deepest = order.find(&through, NEAR).iter().map(|m| m.gap).fold(0.0, f32::min);
        assert!((deepest + 0.008 - 0.2 * 0.02 * 0.31 / 8.0).abs() < 1e-6, "{deepest}");
    }

    /// A lip that slides past the other one's edge has not penetrated it, however far below it is then; one that is pushed there has.
    #[test]
    fn what_slides_past_an_edge_is_not_deep_inside() {
        let (lips, beside) = sheets(8, |_, _| -0.008, |_, _| 0.0);
        let upper = beside.len() / 2;
        let shifted = |way: Vec3| -> Vec<Vec3> {
            let shift = |(v, p): (usize, &Vec3)| if v < upper { *p + way } else { *p };
            beside.iter().enumerate().map(shift).collect()
        };
        let apart = shifted(0.03 * Vec3::X);
        let mut order = detector(&lips, upper, &apart);
        let below = shifted(0.01 * Vec3::X);
        order.follow(&below);
        assert_eq!(order.find(&below, NEAR), []);
        let mut pushed = detector(&lips, upper, &shifted(0.009 * Vec3::Y + 0.01 * Vec3::X));
        pushed.follow(&below);
        assert!(pushed.find(&below, NEAR).len() > 20);
        pushed.forget(&apart);
        pushed.follow(&below);
        assert_eq!(pushed.find(&below, NEAR), []);
    }

    #[test]
    fn following_the_rig_asks_for_no_memory() {
        let (lips, rest) = sheets(8, |_, _| 0.001, |_, _| 0.0);
        let (_, through) = sheets(8, |x, _| 0.2 * x, |_, _| 0.008);
        let mut order = detector(&lips, rest.len() / 2, &rest);
        let mut there_and_back = || [&through, &rest].map(|positions| order.follow(positions));
        // A thread pool of its own: handing work to another thread may allocate.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| {
            there_and_back();
            let memory = allocation_counter::measure(|| {
                there_and_back();
            });
            assert_eq!(memory.count_total, 0);
        });
        order.follow(&through);
        assert!(order.depths.iter().any(|depth| *depth > 0.005), "the way was followed");
    }

    #[test]
    fn what_crosses_at_rest_stays_as_it_is() {
        let slope = |x: f32, _: f32| 0.002 - 0.25 * x;
        let (lips, rest) = sheets(8, slope, |_, _| 0.0);
        let mut order = detector(&lips, rest.len() / 2, &rest);
        let ordered = |meeting: &ContactPair| meeting.upper.of(|v| rest[v as usize]).x < 0.01 + 0.02 / 8.0;
        order.find(&rest, NEAR);
        assert!(order.find_crossings().iter().all(ordered), "only where it does not cross");
        let (_, lower) = sheets(8, |x, z| slope(x, z) - 0.001, |_, _| 0.0);
        order.follow(&lower);
        assert!(!order.find(&lower, NEAR).is_empty(), "and there it is parted");
    }

    /// Where the lips are pairs once they have passed through each other, if they grow together at x = 0 with the given normals there.
    fn pairs_near_a_corner(normals: [Vec3; 2]) -> Vec<f32> {
        let (lips, rest) = sheets(8, |_, _| 0.001, |_, _| 0.0);
        let upper = rest.len() / 2;
        // An edge is 2.5 mm long.
        let at_rest = |(v, p): (usize, &Vec3)| LipPointAtRest {
            from_corner: p.x - 0.00125,
            normal: normals[usize::from(v >= upper)],
        };
        let at_rest: Vec<LipPointAtRest> = rest.iter().enumerate().map(at_rest).collect();
        let mut order = LipContactDetector::new(&lips, upper, &rest, &at_rest);
        let (_, through) = sheets(8, |_, _| -0.001, |_, _| 0.0);
        order.follow(&through);
        order.find(&through, NEAR);
        order.find_crossings().iter().map(|pair| pair.upper.of(|v| through[v as usize]).x).collect()
    }

    /// Where the skin turns in a corner of the mouth, neighbours may lie on either side of each other.
    #[test]
    fn neighbours_where_the_lips_grow_together_are_no_pair() {
        let along = pairs_near_a_corner([Vec3::new(-1.0, -1.0, 0.0), Vec3::new(-1.0, 1.0, 0.0)]);
        let nearest = along.iter().copied().fold(f32::INFINITY, f32::min);
        assert!(nearest > 0.002 && nearest < 0.006, "{nearest}");
        assert!(along.iter().any(|x| *x > 0.015), "farther off they are parted");
    }

    #[test]
    fn neighbours_that_face_each_other_across_a_slit_are_parted() {
        let along = pairs_near_a_corner([Vec3::NEG_Y, Vec3::Y]);
        assert!(along.iter().any(|x| *x < 0.002));
    }

    #[test]
    fn edges_find_what_vertices_miss() {
        // Two saddles, rotated against each other and touching at the middle: ridges cross where there is no vertex.
        let saddle = |x: f32, z: f32| 40.0 * ((x - 0.01) * (x - 0.01) - (z - 0.01) * (z - 0.01));
        let (lips, rest) = sheets(6, |x, z| 0.01 + saddle(x, z), saddle);
        let mut order = detector(&lips, rest.len() / 2, &rest);
        let (_, near) = sheets(6, |x, z| 0.0001 + saddle(x, z), saddle);
        let found = order.find(&near, Margins { vertex: 0.0, edge: 0.0 });
        assert!(found.iter().any(|m| m.upper.weights[0] != 1.0 && m.lower.weights[0] != 1.0));
    }

    /// At any resolution, the pairs add up to the overlap of the sheets, whether found once or in two states.
    #[test]
    fn the_area_of_contact_is_counted_once() {
        for count in [6, 12, 24] {
            let (lips, rest) = sheets(count, |_, _| 0.0003, |_, _| 0.0);
            let mut areas = vec![0.0; rest.len()];
            for t in lips.triangles.iter().flatten() {
                let [a, b, c] = t.map(|v| rest[v as usize]);
                t.iter().for_each(|v| areas[*v as usize] += (b - a).cross(c - a).length() / 6.0);
            }
            let mut found = detector(&lips, rest.len() / 2, &rest).find(&rest, NEAR).to_vec();
            let area = area_of(&areas, &found);
            // The upper sheet is shifted by a part of a square.
            let shared = (0.02 * (1.0 - 0.31 / count as f32)).powi(2);
            assert!((area / shared - 1.0).abs() < 0.1, "{count}: {area} m² of {shared} m²");
            found.extend(found.clone());
            assert_eq!(area_of(&areas, &found), area);
        }
    }
}
