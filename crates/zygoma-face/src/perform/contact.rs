//! Lips that meet, and stick (*Progressive PD*, §4.3).
//!
//! Contact is decided on the lips at full resolution and acts on the flesh through the weights with which they follow it.

use glam::Vec3;
use zygoma_geometry::normals::vertex_normals;
use zygoma_geometry::triangle_tree::TriangleTree;
use zygoma_numerics::random::Keyed;
use zygoma_physics::projective::{Contacts, Elements, Handle, Point, Row, System, Target};

use super::lips::Lips;
use super::tissue::Tissue;

/// Sticky springs: the vector between two embedded points has a target.
pub(super) type StickySprings = Elements<f32, Target, 8, 1, 4>;

/// Pairs this close before a step may meet in it, m.
const MARGIN: f32 = 1e-3;
/// Lips are never deeper in each other than this, m: beyond, a pair belongs to other parts of them.
const DEEPEST: f32 = 6e-3;
/// A pair meets face to face: its offset leaves the normal by at most this, m.
const SIDEWAYS: f32 = 1e-3;
/// Pairs closer than this touch, m.
const TOUCHING: f32 = 1e-4;
/// What the last projection may move, m.
const LAST: f32 = 1e-4;
/// Most contacts of a step; the deepest are kept.
const MOST: usize = 200;
/// r of eq. 16: a spring of 2 mm breaks with probability 0.1 in a frame of 40 ms.
const BREAK_RATE: f32 = 450.7;

/// Two lips, what is between them, and what holds them together.
pub(super) struct LipContact {
    lips: Lips,
    carriers: Vec<Point>,
    areas: Vec<f64>,
    trees: [TriangleTree; 2],
    contacts: Handle<Contacts<f32>>,
    springs: Handle<StickySprings>,
    sticky: Vec<Sticky>,
    positions: Vec<Vec3>,
    tick: u64,
}

/// A vertex stuck to the place of another.
#[derive(Clone, Copy, Debug)]
struct Sticky {
    vertex: u32,
    other: u32,
    /// From the other vertex to the point that the vertex sticks to.
    offset: Vec3,
}

/// A vertex at or behind the other lip.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    vertex: u32,
    /// The nearest vertex of the other lip, which carries the point.
    other: u32,
    point: Vec3,
    normal: Vec3,
    gap: f32,
}

/// What follows flesh at some state: rest positions are in the rows of `rest`.
pub(super) struct Surface<'a> {
    /// The whole mesh without what follows the flesh.
    pub(super) base: &'a [Vec3],
    pub(super) rest: &'a [Row<f32>],
    pub(super) x: &'a [Row<f32>],
}

impl LipContact {
    /// Adds what lips need to a system. None where a face has no lips that were found.
    pub(super) fn new(tissue: &Tissue, lips: Lips, system: &mut System<f32>) -> Option<Self> {
        if lips.triangles.iter().any(Vec::is_empty) {
            return None;
        }
        let carrier = |vertex: &u32| {
            let (corners, weights) = (
                tissue.skin.embedding.vertices[*vertex as usize],
                tissue.skin.embedding.weights[*vertex as usize],
            );
            Point::on_triangle(corners.map(|v| tissue.layout.rows[v as usize]), weights.map(f64::from))
        };
        let positions: Vec<Vec3> = lips.vertices.iter().map(|v| tissue.skin.neutral[*v as usize]).collect();
        let mut areas = vec![0.0; lips.vertices.len()];
        for t in lips.triangles.iter().flatten() {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            t.iter().for_each(|v| areas[*v as usize] += f64::from((b - a).cross(c - a).length()) / 6.0);
        }
        let fits = "an empty group names no vertex";
        Some(Self {
            carriers: lips.vertices.iter().map(carrier).collect(),
            areas,
            trees: lips.triangles.each_ref().map(|triangles| TriangleTree::new(&positions, triangles)),
            contacts: system.add_transient(Contacts::new()).expect(fits),
            springs: system.add_transient(StickySprings::new()).expect(fits),
            sticky: Vec::new(),
            positions,
            tick: 0,
            lips,
        })
    }

    /// Free rows that transient constraints may act on.
    pub(super) fn candidates(&self, free: usize) -> Vec<u32> {
        let mut rows: Vec<u32> = self
            .carriers
            .iter()
            .flat_map(|carrier| carrier.vertices)
            .filter(|v| (*v as usize) < free)
            .collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Takes all constraints out of the system.
    pub(super) fn clear(&self, system: &mut System<f32>) {
        system.group_mut(self.contacts).clear();
        system.group_mut(self.springs).clear();
    }

    /// Number of sticky springs.
    pub(super) fn sticky_count(&self) -> usize {
        self.sticky.len()
    }

    /// Lets go of everything.
    pub(super) fn forget(&mut self) {
        self.sticky.clear();
    }

    /// Puts the constraints of a step into the system: pairs that are close now, pairs that would pass where the actuations lead, and
    /// what sticks. Stiffness per m² of lip.
    pub(super) fn prepare(
        &mut self,
        now: &Surface<'_>,
        wanted: &Surface<'_>,
        stiffness: f64,
        stickiness: f64,
        system: &mut System<f32>,
    ) {
        self.clear(system);
        self.place(now);
        let mut meetings: Vec<(Meeting, [Vec3; 2])> = Vec::new();
        let mut is_met = vec![false; self.carriers.len()];
        for (surface, margin) in [(now, MARGIN), (wanted, 0.0)] {
            self.place(surface);
            for meeting in self.find(margin) {
                if !std::mem::replace(&mut is_met[meeting.vertex as usize], true) {
                    let fixed = |vertex: u32, at: Vec3| at - self.carried(vertex, surface.x);
                    let own = fixed(meeting.vertex, self.positions[meeting.vertex as usize]);
                    meetings.push((meeting, [own, fixed(meeting.other, meeting.point)]));
                }
            }
        }
        meetings.sort_by(|a, b| a.0.gap.total_cmp(&b.0.gap).then(a.0.vertex.cmp(&b.0.vertex)));
        for (meeting, [own, other]) in meetings.iter().take(MOST) {
            let stencil = self.carriers[meeting.vertex as usize].from(&self.carriers[meeting.other as usize]);
            let (n, offset) = (meeting.normal.as_dvec3(), -meeting.normal.dot(*own - *other));
            let weight = stiffness * self.areas[meeting.vertex as usize];
            system.group_mut(self.contacts).push(&stencil, [weight, n.x, n.y, n.z, f64::from(offset)]);
        }
        for sticky in &self.sticky {
            let stencil = self.carriers[sticky.vertex as usize].from(&self.carriers[sticky.other as usize]);
            let fixed = |vertex: u32| self.base_of(vertex, now.base) - self.carried(vertex, now.rest);
            let target = (fixed(sticky.other) + sticky.offset - fixed(sticky.vertex)).as_dvec3();
            let weight = stickiness * self.areas[sticky.vertex as usize];
            system.group_mut(self.springs).push(&stencil, [weight, target.x, target.y, target.z]);
        }
    }

    /// Breaks springs by chance and length, and makes new ones where lips touch, at the end of a step.
    pub(super) fn stick(&mut self, after: &Surface<'_>, step_time: f64, seed: u64) {
        self.place(after);
        self.tick += 1;
        let (positions, tick) = (&self.positions, self.tick);
        let frames = step_time / 0.04;
        self.sticky.retain(|sticky| {
            let stretched =
                positions[sticky.vertex as usize] - positions[sticky.other as usize] - sticky.offset;
            let chance = 0.5 * (1.0 - (2.0 - BREAK_RATE * stretched.length()).tanh());
            let breaks = 1.0 - (1.0 - f64::from(chance)).powf(frames);
            Keyed::new(seed, u64::from(sticky.vertex)).uniform(tick) >= breaks
        });
        let mut is_stuck = vec![false; self.carriers.len()];
        self.sticky.iter().for_each(|sticky| is_stuck[sticky.vertex as usize] = true);
        for meeting in self.find(TOUCHING) {
            if !is_stuck[meeting.vertex as usize] && self.sticky.len() < MOST {
                let offset = meeting.point - self.positions[meeting.other as usize];
                self.sticky.push(Sticky { vertex: meeting.vertex, other: meeting.other, offset });
            }
        }
    }

    /// Moves what is left behind the other lip out by a tenth of a millimetre at most; gives the largest way moved, and how deep
    /// the lips are still in each other, in metres.
    pub(super) fn project(&mut self, surface: &mut [Vec3]) -> [f32; 2] {
        for (place, vertex) in self.positions.iter_mut().zip(&self.lips.vertices) {
            *place = surface[*vertex as usize];
        }
        let mut moved = [0.0_f32; 2];
        for meeting in self.find(0.0) {
            let way = (-meeting.gap).min(LAST);
            surface[self.lips.vertices[meeting.vertex as usize] as usize] += way * meeting.normal;
            moved = [moved[0].max(way), moved[1].max(-meeting.gap - way)];
        }
        moved
    }

    fn base_of(&self, vertex: u32, base: &[Vec3]) -> Vec3 {
        base[self.lips.vertices[vertex as usize] as usize]
    }

    /// Σ w x of what a lip vertex follows.
    fn carried(&self, vertex: u32, x: &[Row<f32>]) -> Vec3 {
        let carrier = &self.carriers[vertex as usize];
        let part = |k: usize| carrier.weights[k] as f32 * Vec3::from_slice(&x[carrier.vertices[k] as usize]);
        (0..4).map(part).sum()
    }

    /// The lips as a state of the flesh has them.
    fn place(&mut self, surface: &Surface<'_>) {
        for vertex in 0..self.carriers.len() as u32 {
            let follows = self.carried(vertex, surface.x) - self.carried(vertex, surface.rest);
            self.positions[vertex as usize] = self.base_of(vertex, surface.base) + follows;
        }
    }

    /// Vertices of either lip within a margin of the other, or behind it.
    fn find(&mut self, margin: f32) -> Vec<Meeting> {
        let mut meetings = Vec::new();
        for side in 0..2 {
            self.trees[side].refit(&self.positions, &self.lips.triangles[side]);
        }
        let all: Vec<[u32; 3]> = self.lips.triangles.iter().flatten().copied().collect();
        let normals = vertex_normals(&self.positions, &all);
        for (vertex, at) in self.positions.iter().enumerate() {
            let other = usize::from(vertex < self.lips.upper);
            let triangles = &self.lips.triangles[other];
            let Some(near) = self.trees[other].closest(&self.positions, triangles, *at, DEEPEST) else {
                continue;
            };
            let corners = triangles[near.triangle as usize];
            let [a, b, c] = corners.map(|v| self.positions[v as usize]);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            let offset = *at - near.point;
            let gap = offset.dot(normal);
            let faces = normals[vertex].dot(normal) < 0.0;
            if gap >= margin || !faces || (offset - gap * normal).length() > SIDEWAYS {
                continue;
            }
            let largest = (0..3).max_by(|i, j| near.barycentric[*i].total_cmp(&near.barycentric[*j]));
            let other = corners[largest.unwrap_or(0)];
            meetings.push(Meeting { vertex: vertex as u32, other, point: near.point, normal, gap });
        }
        meetings
    }
}
