//! Contact between the lips, dry or sticky (*Progressive PD*, §4.3).
//!
//! Contact is detected on the lips at full resolution and acts on the tissue through the weights of the embedding.

use glam::Vec3;
use zygoma_geometry::embedding::Embedding;
use zygoma_numerics::random::Keyed;
use zygoma_physics::projective::{Elements, HalfSpace, Handle, MatrixRow, Row, Stencil, System, Target};

use super::colliders::Lifts;
use super::{ContactMode, Surface};
use crate::contact::{ContactPair, LipContactDetector, LipPoint, Margins, area_of};
use crate::model::Lips;

/// Contacts between points of the lips: a vertex and a triangle or two edges, each vertex carried by up to three tissue vertices.
pub(crate) type LipContacts = Elements<f32, HalfSpace, 12, 1, 5>;
/// Sticky springs: the vector between two points has a target.
pub(crate) type StickySprings = Elements<f32, Target, 12, 1, 4>;

/// Pairs closer than this may touch in a step, m. Ours, as those below.
const NEAR: Margins = Margins { vertex: 3e-4, edge: 5e-5 };
/// Gap that contact keeps between the lips, m: about the error that the solve leaves.
const CLEARANCE: f32 = 4e-5;
/// Pairs closer than this are separated at the end of a step, m.
const MISSING: f32 = 2e-5;
/// The largest distance by which lips are separated at once, m: deeper penetrations take several rounds.
const FARTHEST: f32 = 1e-3;
/// Penetrations in the rig itself are resolved if they are no deeper than this, m. Deeper ones are resolved less, and those twice as deep
/// not at all: an expression that closes a jaw which is not open, or moves a mouth as a decal, keeps its look. Ours: each lip yields by
/// half of it, the 5 mm that tissue may deviate from its rig.
const DEEPEST_PARTED: f32 = 1e-2;
/// Pairs closer than this touch, m.
const TOUCHING: Margins = Margins { vertex: 1.5e-4, edge: 0.0 };
/// The largest displacement by the last projection, m.
const LAST: f32 = 1e-4;
/// Gap after the last projection, m: well above the rounding of positions on a head.
const APART: f32 = 1e-6;
/// Iterations of the last projection.
const ROUNDS: usize = 40;
/// Maximum number of contacts and of sticky springs in a step; the deepest contacts are kept.
const MOST: usize = 300;
/// Number of contacts kept among those that push the same tissue.
const ALIKE: usize = 3;
/// r of *Progressive PD* eq. 16: a spring of 2 mm breaks with probability 0.1 in a frame of 40 ms.
const BREAK_RATE: f32 = 450.7;

/// Contact and sticky springs between two lips.
#[derive(Clone)]
pub(crate) struct LipContact {
    lips: Lips,
    /// A contact detector for each part of the mouth.
    orders: Vec<LipContactDetector>,
    /// Rows of the system that carry each point, with their weights.
    carriers: Vec<([u32; 3], [f32; 3])>,
    areas: Vec<f32>,
    contacts: Handle<LipContacts>,
    springs: Handle<StickySprings>,
    pub(crate) sticky: Vec<Sticky>,
    /// Positions of the points, and the part of them that does not follow the tissue.
    pub(crate) positions: Vec<Vec3>,
    fixed: Vec<Vec3>,
    /// Positions in the neutral, and in the rig itself now.
    rest: Vec<Vec3>,
    own: Vec<Vec3>,
    meetings: Vec<ContactPair>,
    /// Whether `meetings` holds all pairs that are near in the present state of the tissue.
    is_current: bool,
    /// Pairs that become contacts, with the area that each represents.
    kept: Vec<(ContactPair, f32)>,
    moved: Vec<Vec3>,
    tick: u64,
    mode: ContactMode,
}

/// Two points that stick together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sticky {
    pub(crate) upper: LipPoint,
    pub(crate) lower: LipPoint,
    /// The vertex whose contact made the spring.
    vertex: u32,
}

/// Stiffnesses between the lips, N/m per m² of lip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stiffness {
    pub(crate) contact: f64,
    pub(crate) sticky: f64,
}

/// Result of the last projection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Projected {
    /// The largest displacement, m.
    pub(crate) moved: f32,
    /// Remaining penetration of the lips, m.
    pub(crate) left: f32,
}

impl LipContact {
    /// Adds empty groups for lip contact to a system. `None` if no lips were found on the face.
    /// `embedding` carries the whole mesh, `rows` hold the vertices that it is embedded in.
    pub(crate) fn new(
        (lips, neutral): (Lips, &[Vec3]),
        (embedding, rows): (&Embedding, &[u32]),
        mode: ContactMode,
        system: &mut System<f32>,
    ) -> Option<Self> {
        if lips.triangles.iter().any(Vec::is_empty) || lips.parts.is_empty() {
            return None;
        }
        let carrier = |vertex: &u32| {
            let corners = embedding.vertices[*vertex as usize];
            (corners.map(|v| rows[v as usize]), embedding.weights[*vertex as usize])
        };
        let positions: Vec<Vec3> = lips.vertices.iter().map(|v| neutral[*v as usize]).collect();
        let mut areas = vec![0.0; lips.vertices.len()];
        for t in lips.triangles.iter().flatten() {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            t.iter().for_each(|v| areas[*v as usize] += (b - a).cross(c - a).length() / 6.0);
        }
        let fits = "an empty group names no vertex";
        Some(Self {
            orders: lips
                .parts
                .iter()
                .map(|part| LipContactDetector::new(part, lips.upper, &positions, &lips.at_rest))
                .collect(),
            carriers: lips.vertices.iter().map(carrier).collect(),
            areas,
            contacts: system.add_transient(LipContacts::new()).expect(fits),
            springs: system.add_transient(StickySprings::new()).expect(fits),
            sticky: Vec::new(),
            fixed: positions.clone(),
            rest: positions.clone(),
            own: positions.clone(),
            moved: vec![Vec3::ZERO; positions.len()],
            meetings: Vec::new(),
            is_current: false,
            kept: Vec::new(),
            positions,
            tick: 0,
            mode,
            lips,
        })
    }

    /// Free rows that transient constraints may act on.
    pub(crate) fn candidates(&self, free: usize) -> Vec<u32> {
        let mut rows: Vec<u32> = self
            .carriers
            .iter()
            .flat_map(|(rows, weights)| (0..3).filter(|k| weights[*k] > 0.0).map(|k| rows[k]))
            .filter(|v| (*v as usize) < free)
            .collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Removes all constraints from the system.
    pub(crate) fn clear(&self, system: &mut System<f32>) {
        system.group_mut(self.contacts).clear();
        system.group_mut(self.springs).clear();
    }

    /// Number of contacts in the system.
    pub(crate) fn contact_count(&self, system: &System<f32>) -> usize {
        system.group(self.contacts).len()
    }

    /// Pairs that became contacts in the last step.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &(ContactPair, f32)> {
        self.kept.iter().take(MOST)
    }

    /// Number of sticky springs.
    pub(crate) fn sticky_count(&self) -> usize {
        self.sticky.len()
    }

    /// Removes all sticky springs and restarts the random numbers.
    pub(crate) fn unstick(&mut self) {
        self.sticky.clear();
        self.tick = 0;
    }

    /// Forgets all contacts, as if the face came from its rest pose.
    pub(crate) fn forget(&mut self) {
        self.unstick();
        for order in &mut self.orders {
            order.forget(&self.rest);
        }
    }

    /// Begins a step, given the lips in the rig itself.
    pub(crate) fn begin(&mut self, rig: &Surface<'_>) {
        self.place(rig);
        self.own.copy_from_slice(&self.positions);
        for order in &mut self.orders {
            order.follow(&self.own);
        }
    }

    /// Target gap of a pair: the signed_distance, or, where the rig's own penetration is too deep, the rig's gap plus a smaller correction.
    fn wanted_gap(&self, meeting: &ContactPair) -> f32 {
        let own = |place: &LipPoint| place.of(|v| self.own[v as usize]);
        let gap = meeting.axis.dot(own(&meeting.upper) - own(&meeting.lower));
        match self.mode {
            ContactMode::Absolute => wanted_gap(gap),
            ContactMode::Relative => gap.min(CLEARANCE),
        }
    }

    /// The largest correction that the present contacts ask of lips that pass through each other in the rig itself, m, and a vertex of the whole mesh there.
    pub(crate) fn correction_of_rig(&self) -> Option<(f32, u32)> {
        let own = |place: &LipPoint| place.of(|v| self.own[v as usize]);
        let correction = |(meeting, _): &(ContactPair, f32)| {
            let gap = meeting.axis.dot(own(&meeting.upper) - own(&meeting.lower));
            let vertex = self.lips.vertices[meeting.upper.vertices[0] as usize];
            (gap < 0.0).then(|| (self.wanted_gap(meeting) - gap, vertex))
        };
        let corrections = self.kept().filter_map(correction).filter(|(correction, _)| *correction > 0.0);
        corrections.max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Adds constraints to the system: contacts where the lips touch or pass each other in any of the states, and sticky springs.
    pub(crate) fn prepare(&mut self, states: &[Surface<'_>], stiffness: Stiffness, system: &mut System<f32>) {
        self.clear(system);
        self.is_current = false;
        self.meetings.clear();
        for state in states {
            self.place(state);
            self.find(NEAR);
        }
        self.thin();
        for (meeting, area) in self.kept.iter().take(MOST) {
            let n = meeting.axis;
            let fixed = |place: &LipPoint| place.of(|v| self.fixed[v as usize]);
            let wanted = self.wanted_gap(meeting);
            let offset = wanted - n.dot(fixed(&meeting.upper) - fixed(&meeting.lower));
            let weight = stiffness.contact * f64::from(*area);
            let stencil = self.stencil(&meeting.upper, &meeting.lower);
            let plane = HalfSpace { weight, normal: n.to_array().map(f64::from), offset: f64::from(offset) };
            system.group_mut(self.contacts).push(&stencil, plane);
        }
        for sticky in &self.sticky {
            let target =
                sticky.lower.of(|v| self.fixed[v as usize]) - sticky.upper.of(|v| self.fixed[v as usize]);
            let target = target.to_array().map(f64::from);
            let weight = stiffness.sticky * f64::from(self.areas[sticky.vertex as usize]);
            let stencil = self.stencil(&sticky.upper, &sticky.lower);
            system.group_mut(self.springs).push(&stencil, Target { weight, target });
        }
    }

    /// Adds the pairs closer than the margins, or in penetration.
    fn find(&mut self, margins: Margins) {
        for order in &mut self.orders {
            self.meetings.extend_from_slice(order.find(&self.positions, margins));
        }
    }

    /// Remaining penetrations: the row that resolves each, its direction and depth.
    pub(crate) fn missing(&mut self, state: &Surface<'_>, free: usize, lifts: &mut Lifts) {
        self.meetings.clear();
        self.place(state);
        for order in &mut self.orders {
            order.find(&self.positions, NEAR);
            self.meetings.extend_from_slice(order.find_crossings());
        }
        let mut meetings = std::mem::take(&mut self.meetings);
        meetings.retain(|meeting| yields(&self.stencil(&meeting.upper, &meeting.lower), free));
        self.meetings = meetings;
        let lacks = |meeting: &ContactPair| self.wanted_gap(meeting) - meeting.gap;
        self.is_current = self.meetings.iter().all(|meeting| lacks(meeting) <= CLEARANCE - MISSING);
        if self.is_current {
            return;
        }
        self.thin();
        let row = |meeting: &ContactPair| {
            let stencil = self.stencil(&meeting.upper, &meeting.lower);
            let mut entries: Vec<(u32, f64)> = Vec::new();
            for (vertex, c) in stencil.vertices.iter().zip(&stencil.coefficients[0]) {
                match entries.iter_mut().find(|entry| entry.0 == *vertex) {
                    Some(entry) => entry.1 += c,
                    None if (*vertex as usize) < free && *c != 0.0 => entries.push((*vertex, *c)),
                    None => {}
                }
            }
            entries.sort_unstable_by_key(|entry| entry.0);
            MatrixRow { weight: 1.0, entries }
        };
        for (meeting, _) in self.kept.iter().take(MOST) {
            lifts.rows.push(row(meeting));
            lifts.directions.push(meeting.axis.as_dvec3());
            lifts.amounts.push(f64::from((self.wanted_gap(meeting) - meeting.gap).min(FARTHEST)));
        }
    }

    /// Marks the contact pairs as outdated after the tissue has moved.
    pub(crate) fn leave(&mut self) {
        self.is_current = false;
    }

    /// Keeps the deepest few of the pairs that push the same tissue, deepest first; these represent the area of all.
    fn thin(&mut self) {
        let pushed = |place: &LipPoint| {
            let heaviest = |weights: &[f32; 3]| {
                (1..3).fold(0, |best, k| if weights[k] > weights[best] { k } else { best })
            };
            let (rows, weights) = &self.carriers[place.vertices[heaviest(&place.weights)] as usize];
            rows[heaviest(weights)]
        };
        let key = |m: &ContactPair| [pushed(&m.upper), pushed(&m.lower)];
        let mut keyed: Vec<([u32; 2], u32)> = (0..).zip(&self.meetings).map(|(k, m)| (key(m), k)).collect();
        keyed.sort_by(|(a, i), (b, j)| {
            let gap = |k: u32| self.meetings[k as usize].gap;
            a.cmp(b).then(gap(*i).total_cmp(&gap(*j)))
        });
        self.meetings = keyed.iter().map(|(_, k)| self.meetings[*k as usize]).collect();
        self.kept.clear();
        for same in self.meetings.chunk_by(|a, b| key(a) == key(b)) {
            let all = area_of(&self.areas, same);
            let kept = &same[..same.len().min(ALIKE)];
            self.kept.extend(kept.iter().map(|meeting| (*meeting, all / kept.len() as f32)));
        }
        self.kept.sort_by(|a, b| a.0.gap.total_cmp(&b.0.gap).then(key(&a.0).cmp(&key(&b.0))));
    }

    /// The stencil of the vector from a point of the lower lip to one of the upper, as far as it follows the tissue.
    fn stencil(&self, upper: &LipPoint, lower: &LipPoint) -> Stencil<12, 1> {
        let first = self.carriers[upper.vertices[0] as usize].0[0];
        let mut stencil = Stencil { vertices: [first; 12], coefficients: [[0.0; 12]], size: 1.0 };
        let mut next = 0;
        for (place, sign) in [(upper, 1.0), (lower, -1.0)] {
            for k in (0..3).filter(|k| place.weights[*k] != 0.0) {
                let (rows, weights) = &self.carriers[place.vertices[k] as usize];
                for (row, weight) in rows.iter().zip(weights) {
                    stencil.vertices[next] = *row;
                    stencil.coefficients[0][next] = sign * f64::from(place.weights[k] * weight);
                    next += 1;
                }
            }
        }
        stencil
    }

    /// Breaks springs at random, depending on their length, and adds new ones where lips touch, at the end of a step.
    pub(crate) fn stick(&mut self, after: &Surface<'_>, step_time: f64, seed: u64) {
        if !self.is_current {
            self.place(after);
            self.meetings.clear();
            self.find(TOUCHING);
        }
        self.break_springs(step_time, seed);
        let mut is_stuck = vec![false; self.carriers.len()];
        self.sticky.iter().for_each(|sticky| is_stuck[sticky.vertex as usize] = true);
        let touching = |meeting: &&ContactPair| meeting.gap < TOUCHING.vertex;
        for meeting in self.meetings.iter().filter(touching) {
            let vertex = [meeting.upper, meeting.lower]
                .iter()
                .find(|place| place.weights[0] == 1.0)
                .map(|p| p.vertices[0]);
            if let Some(vertex) = vertex
                && !is_stuck[vertex as usize]
                && self.sticky.len() < MOST
            {
                self.sticky.push(Sticky { upper: meeting.upper, lower: meeting.lower, vertex });
            }
        }
    }

    /// Breaks springs at random (*Progressive PD* eq. 16): the longer, the more likely.
    fn break_springs(&mut self, step_time: f64, seed: u64) {
        self.tick += 1;
        let (positions, tick) = (&self.positions, self.tick);
        let frames = step_time / 0.04;
        self.sticky.retain(|sticky| {
            let at = |place: &LipPoint| place.of(|v| positions[v as usize]);
            let length = at(&sticky.upper).distance(at(&sticky.lower));
            let chance = 0.5 * (1.0 - (2.0 - BREAK_RATE * length).tanh());
            let breaks = 1.0 - (1.0 - f64::from(chance)).powf(frames);
            Keyed::new(seed, u64::from(sticky.vertex)).uniform(tick) >= breaks
        });
    }

    /// Makes springs that all have the given length, and returns their number before and after some steps.
    #[cfg(test)]
    pub(crate) fn left_of_springs(
        &mut self,
        length: f32,
        steps: usize,
        step_time: f64,
        seed: u64,
    ) -> [usize; 2] {
        let count = self.lips.upper.min(self.positions.len() - self.lips.upper);
        let at = |vertex: usize| LipPoint { vertices: [vertex as u32; 3], weights: [1.0, 0.0, 0.0] };
        self.sticky.clear();
        for upper in 0..count {
            let lower = self.lips.upper + upper;
            self.positions[lower] = self.positions[upper] - length * Vec3::Y;
            self.sticky.push(Sticky { upper: at(upper), lower: at(lower), vertex: upper as u32 });
        }
        (0..steps).for_each(|_| self.break_springs(step_time, seed));
        [count, self.sticky.len()]
    }

    /// Resolves the remaining penetration of the lips, by a tenth of a millimetre at most for any vertex.
    pub(crate) fn project(&mut self, surface: &mut [Vec3]) -> Projected {
        for (place, vertex) in self.positions.iter_mut().zip(&self.lips.vertices) {
            *place = surface[*vertex as usize];
        }
        self.is_current = false;
        self.meetings.clear();
        // Displacements along the axis do not change which points are paired: one detection is enough.
        self.find(Margins { vertex: 2.0 * LAST, edge: 2.0 * LAST });
        self.moved.fill(Vec3::ZERO);
        let gap = |moved: &[Vec3], m: &ContactPair| {
            let way = m.upper.of(|v| moved[v as usize]) - m.lower.of(|v| moved[v as usize]);
            m.gap + m.axis.dot(way)
        };
        for _ in 0..ROUNDS {
            let mut is_done = true;
            for meeting in &self.meetings {
                let miss = APART - gap(&self.moved, meeting);
                if miss <= 0.0 {
                    continue;
                }
                is_done = false;
                let squares = |place: &LipPoint| place.weights.iter().map(|w| w * w).sum::<f32>();
                let fraction = miss / (squares(&meeting.upper) + squares(&meeting.lower));
                for (place, way) in [(&meeting.upper, fraction), (&meeting.lower, -fraction)] {
                    for k in 0..3 {
                        let moved = &mut self.moved[place.vertices[k] as usize];
                        *moved = (*moved + way * place.weights[k] * meeting.axis).clamp_length_max(LAST);
                    }
                }
            }
            if is_done {
                break;
            }
        }
        for (vertex, point) in &self.lips.copies {
            surface[*vertex as usize] += self.moved[*point as usize];
        }
        let left = self.meetings.iter().map(|meeting| -gap(&self.moved, meeting)).fold(0.0, f32::max);
        Projected { moved: self.moved.iter().map(|way| way.length()).fold(0.0, f32::max), left }
    }

    /// Finds the positions of the lips in a state of the tissue.
    fn place(&mut self, surface: &Surface<'_>) {
        for (point, (rows, weights)) in self.carriers.iter().enumerate() {
            let carried = |x: &[Row<f32>]| -> Vec3 {
                (0..3).map(|k| weights[k] * Vec3::from_slice(&x[rows[k] as usize])).sum()
            };
            let base = surface.base[self.lips.vertices[point] as usize];
            self.fixed[point] = base - carried(surface.rest);
            self.positions[point] = self.fixed[point] + carried(surface.x);
        }
    }
}

/// Whether free rows carry enough of a stencil to displace it. Kinematic skin follows the rig: to separate it by the small fraction that
/// free tissue carries would move that tissue many times as far.
fn yields(stencil: &Stencil<12, 1>, free: usize) -> bool {
    const SHARE: f64 = 0.3;
    let fractions =
        || stencil.vertices.iter().zip(&stencil.coefficients[0]).map(|(row, c)| (*row as usize, c.abs()));
    let of_free: f64 = fractions().filter(|(row, _)| *row < free).map(|(_, c)| c).sum();
    of_free >= SHARE * fractions().map(|(_, c)| c).sum::<f64>()
}

/// The target gap of two points, given their gap in the rig.
fn wanted_gap(of_rig: f32) -> f32 {
    let missing = CLEARANCE - of_rig;
    if missing <= DEEPEST_PARTED {
        return CLEARANCE;
    }
    of_rig + (2.0 * DEEPEST_PARTED - missing).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_points_on_free_tissue_are_lifted() {
        let stencil = |free: f64| {
            let mut stencil = Stencil { vertices: [9; 12], coefficients: [[0.0; 12]], size: 1.0 };
            (stencil.vertices[0], stencil.coefficients[0][0]) = (2, -free);
            (stencil.coefficients[0][1], stencil.coefficients[0][2]) = (1.0, free - 1.0);
            stencil
        };
        assert!(!yields(&stencil(0.08), 5) && yields(&stencil(1.0), 5) && yields(&stencil(0.0), 10));
    }

    #[test]
    fn lips_are_parted_unless_the_rig_has_them_deep_in_each_other() {
        assert_eq!([0.01, 0.0, -0.001, -0.0099].map(wanted_gap), [CLEARANCE; 4]);
        let [deep, deeper, meant] = [-0.015, -0.018, -0.04].map(|gap| wanted_gap(gap) - gap);
        assert!((deep - 0.005).abs() < 1e-4 && (deeper - 0.002).abs() < 1e-4 && meant == 0.0);
        // The target gap is continuous.
        let steps: Vec<f32> = (0..1500).map(|k| wanted_gap(-2e-5 * k as f32)).collect();
        assert!(steps.windows(2).all(|pair| (pair[1] - pair[0]).abs() < 5e-5));
    }
}
