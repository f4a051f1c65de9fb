//! Contact of colliders with a volume: detected at points of the full-resolution skin, applied to the rows that carry them.
//!
//! In a step each point near a collider gets a half-space that it must not leave, as a potential, and with friction a line along which
//! alone it moves freely; both are detected again in mid-solve. Penetration that remains after the solve is resolved by the smallest
//! motion of the tissue.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_physics::contact::{Collider, SignedDistance};
use zygoma_physics::projective::{
    Attachments, Elements, HalfSpace, Handle, Line, MatrixRow, Row, Stencil, System, Target,
};

use super::Surface;
use super::skin_points::SkinPoints;
use crate::contact::{
    ColliderBody, ColliderId, ColliderMotion, Colliders, Contact, HandBody, HandId, HeadWay, PinchedSkin,
    Samples, Side,
};

/// Half-spaces of skin points; a point is carried by up to nine tissue vertices.
type Planes = Elements<f32, HalfSpace, 9, 1, 5>;
/// Points that stick to a collider.
type Grips = Elements<f32, Line, 9, 1, 7>;

/// Points within this distance become contact candidates of a step, m. Ours, as all below.
const WATCH: f32 = 6e-3;
/// Colliders that the rig moves do not push skin that is this close to its position in the rig, m.
const AT_HOME: f32 = 1e-4;
/// Points closer than this get a half-space, m.
const NEAR: f32 = 3e-4;
/// Points deeper than this are pushed out at the end of a step, m.
const MISSING: f32 = 1e-5;
/// The largest distance by which a point is pushed out at once, m.
const FARTHEST: f32 = 2e-3;
/// Number of points kept among those that press on the same tissue: the deepest.
const ALIKE: usize = 3;
/// Maximum number of points that get half-spaces.
const MOST: usize = 300;
/// Stiffness of grabbed skin over that of contact.
const GRASP: f64 = 10.0;
/// Minimum number of rows per parallel job.
const ROWS: usize = 64;
/// Maximum speed at which a driven collider approaches the skin, m/s.
const APPROACH: f32 = 0.5;

/// Contact between colliders and tissue in a step.
#[derive(Clone)]
pub(crate) struct ColliderContact {
    planes: Handle<Planes>,
    grips: Handle<Grips>,
    held: Handle<Attachments<f32>>,
    /// Points that may touch a collider in this step.
    candidates: Vec<Candidate>,
    /// Points with a half-space, and those of the last detection.
    pressed: Vec<Pressed>,
    earlier: Vec<Pressed>,
    /// Points that are still behind the side of a collider that they met.
    behind: Vec<Behind>,
    /// Friction forces of sliding points on rows, kept so that they can be removed when contacts are detected again.
    drags: Vec<(u32, Vec3)>,
    /// Stiffness of contact, N/m per m² of skin.
    stiffness: f32,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    touch: u32,
    sample: u32,
    /// Position of the point less that of the tissue that carries it.
    offset: Vec3,
    /// Position at the start of the step.
    start: Vec3,
    /// Further data where the rig moves the collider.
    own: Option<Own>,
    /// The side of the collider that it met in an earlier step and is still behind.
    side: Option<Side>,
}

/// A point near a collider that the rig moves.
#[derive(Clone, Copy, Debug)]
struct Own {
    /// Position of the point in the rig: it is never pushed farther than to there.
    home: Vec3,
    /// Position and signed distance when it was detected.
    at: Vec3,
    distance: f32,
}

impl Candidate {
    /// Position of the point in a state of the tissue.
    fn place(&self, samples: &Samples, x: &[Row<f32>]) -> Vec3 {
        self.offset + carried(samples, self.sample, x)
    }

    /// Allowed depth of the point behind a plane through a given position.
    fn allowed(&self, normal: Vec3, through: Vec3) -> f32 {
        self.own.map_or(0.0, |own| normal.dot(through - own.home).max(0.0))
    }

    /// Whether it cannot be near the collider: the distance changes by no more than the point has moved.
    fn is_far(&self, at: Vec3) -> bool {
        self.own.is_some_and(|own| own.distance - own.at.distance(at) > NEAR)
    }

    /// Signed distance from the collider plus the allowed depth, with the normal and a point of the contact plane; `None` where that is
    /// not near.
    fn signed_distance(&self, collider: &Collider, at: Vec3) -> Option<(f32, Vec3, Vec3)> {
        if self.is_far(at) {
            return None;
        }
        let found = collider.signed_distance(at, NEAR)?;
        let surface = at - found.distance * found.normal;
        let allowed = self.allowed(found.normal, surface);
        let distance = found.distance + allowed;
        (distance < NEAR).then_some((distance, found.normal, surface - allowed * found.normal))
    }
}

impl Candidate {
    /// The side of the collider that the point has met, in this step on its way to a position or earlier.
    fn side_met(&self, touch: &ColliderBody, at: Vec3) -> Option<Side> {
        self.side.or_else(|| touch.side_met(self.start, at - self.start))
    }

    /// The plane that the point must not cross in a step: signed distance from it now, its normal, and a point of it.
    fn plane(&self, touch: &ColliderBody, at: Vec3) -> Option<(f32, Vec3, Vec3)> {
        if self.own.is_some() {
            return self.signed_distance(&touch.collider, at);
        }
        let SignedDistance { distance, normal } = match self.side_met(touch, at) {
            Some(side) => side.distance(&touch.collider, at),
            None => touch.collider.signed_distance(at, NEAR)?,
        };
        (distance < NEAR).then(|| (distance, normal, at - distance * normal))
    }
}

/// A point with a half-space.
#[derive(Clone, Copy, Debug)]
struct Pressed {
    id: ColliderId,
    candidate: Candidate,
    normal: Vec3,
    /// Minimum coordinate of the point along the normal.
    level: f32,
    /// Signed distance from the collider when the plane was found, negative inside.
    distance: f32,
    /// Stiffness, N/m, and the area of skin that the point represents.
    weight: f32,
    area: f32,
    /// Anchor of static friction, in the collider's own frame.
    anchor: Option<Vec3>,
    slides: bool,
    /// Forces on the skin, N: along the normal, and by friction.
    pressing: f32,
    dragging: Vec3,
}

/// A point behind the side of a collider that it met.
#[derive(Clone, Copy, Debug)]
struct Behind {
    id: ColliderId,
    sample: u32,
    side: Side,
    depth: f32,
}

/// Rows to be displaced, each along a direction and by an amount of its own.
#[derive(Default)]
pub(crate) struct Lifts {
    pub(crate) rows: Vec<MatrixRow>,
    pub(crate) directions: Vec<DVec3>,
    pub(crate) amounts: Vec<f64>,
}

impl Lifts {
    /// Keeps only the rows for which a predicate holds.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&MatrixRow) -> bool) {
        let kept: Vec<bool> = self.rows.iter().map(is_kept).collect();
        let mut keeps = kept.iter();
        self.rows.retain(|_| keeps.next() == Some(&true));
        let mut keeps = kept.iter();
        self.directions.retain(|_| keeps.next() == Some(&true));
        let mut keeps = kept.iter();
        self.amounts.retain(|_| keeps.next() == Some(&true));
    }
}

impl ColliderContact {
    /// Adds empty groups for contact, friction and grabs to a system.
    pub(crate) fn new(stiffness: f64, system: &mut System<f32>) -> Self {
        let fits = "an empty group names no vertex";
        Self {
            planes: system.add_transient(Planes::new()).expect(fits),
            grips: system.add_transient(Grips::new()).expect(fits),
            held: system.add_transient(Attachments::new()).expect(fits),
            candidates: Vec::new(),
            pressed: Vec::new(),
            earlier: Vec::new(),
            behind: Vec::new(),
            drags: Vec::new(),
            stiffness: stiffness as f32,
        }
    }

    /// Removes all constraints from the system.
    pub(crate) fn clear(&self, system: &mut System<f32>) {
        system.group_mut(self.planes).clear();
        system.group_mut(self.grips).clear();
        system.group_mut(self.held).clear();
    }

    /// Forgets all contacts.
    pub(crate) fn forget(&mut self) {
        self.candidates.clear();
        self.pressed.clear();
        self.behind.clear();
    }

    /// Begins a step that ends at a fraction of the frame: moves the colliders and finds the points that they may touch. For colliders
    /// that the rig moves, `rig` holds the rig's own tissue positions at the end of the step. `skin_travel` is about the largest motion of
    /// the skin in the step.
    pub(crate) fn begin(
        &mut self,
        skin: &SkinPoints,
        touches: &mut Colliders,
        (state, rig): (&Surface<'_>, Option<&[Row<f32>]>),
        (way, fraction, seconds): (&HeadWay, f32, f32),
        skin_travel: f32,
    ) {
        touches.move_colliders(fraction, way, seconds);
        pinch(skin, touches, state);
        // The forces of the system are set anew in every step.
        self.drags.clear();
        self.candidates.clear();
        let travelled = |touch: &ColliderBody| {
            // A collider that the rig moves along with the skin meets it at the end of the motion of both.
            if rig.is_some() { 0.0 } else { touch.collider.travel() + skin_travel }
        };
        let reached = self.rows_in_reach(skin, touches, state, &travelled);
        for (index, (id, touch)) in (0u32..).zip(&mut touches.touches) {
            let is_driven = touch.drive != ColliderMotion::Kinematic;
            let wanted = touch.wanted(way, fraction).translation;
            let collider = &touch.collider;
            let within = self.depth_behind(*id).max(travelled(touch))
                + if is_driven { WATCH.max(APPROACH * seconds) } else { WATCH };
            if touch.is_through() {
                continue;
            }
            let first = self.candidates.len();
            let near = reached.iter().find(|(hand, _)| touch.hand == Some(*hand));
            let rows = near.map(|(_, rows)| &rows[..]);
            self.find_candidates(skin, (state, rig), (index, collider, rows), within);
            for candidate in &mut self.candidates[first..] {
                let same = |point: &&Behind| point.id == *id && point.sample == candidate.sample;
                candidate.side = self.behind.iter().find(same).map(|point| point.side);
            }
            if is_driven {
                // A driven collider moves freely up to the skin; from there on its force counts.
                let gap = |c: &Candidate| {
                    let at = c.place(&skin.samples, state.x);
                    collider.signed_distance(at, within).map_or(within, |found| found.distance)
                };
                let gap = self.candidates[first..].iter().map(gap).fold(APPROACH * seconds, f32::min);
                let missing = wanted - collider.now.translation;
                touch.fly(missing.clamp_length_max(gap.max(0.0)));
            }
        }
    }

    /// The deepest that a point is behind the side of a collider that it met.
    fn depth_behind(&self, id: ColliderId) -> f32 {
        self.behind.iter().filter(|point| point.id == id).map(|point| point.depth).fold(0.0, f32::max)
    }

    /// The rows near each hand.
    fn rows_in_reach(
        &self,
        skin: &SkinPoints,
        touches: &Colliders,
        state: &Surface<'_>,
        travelled: &dyn Fn(&ColliderBody) -> f32,
    ) -> Vec<(HandId, Vec<u32>)> {
        let samples = &skin.samples;
        let rows = |(id, _): (HandId, &HandBody)| {
            let bones = touches.iter().filter(|(_, touch)| touch.hand == Some(id));
            let margin = bones.map(|(bone, touch)| self.depth_behind(bone).max(travelled(touch)));
            let margin = WATCH + margin.fold(0.0, f32::max);
            let reach = touches.reach_in_step(id);
            let is_near = |row: &u32| {
                let (group, spread) = samples.group(*row as usize);
                let at = state.place(*row as usize);
                !group.is_empty() && reach.is_some_and(|reach| reach.is_near(at, margin + 1.5 * spread))
            };
            (id, (0..state.x.len() as u32).filter(is_near).collect())
        };
        touches.hands().map(rows).collect()
    }

    /// Adds the points within a distance of a collider, searched for near those tissue vertices that are close to it.
    fn find_candidates(
        &mut self,
        skin: &SkinPoints,
        (state, rig): (&Surface<'_>, Option<&[Row<f32>]>),
        (touch, collider, reached): (u32, &Collider, Option<&[u32]>),
        within: f32,
    ) {
        let samples = &skin.samples;
        let of_row = |row: usize| {
            let (group, spread) = samples.group(row);
            let own = Vec3::from_slice(&state.x[row]);
            let is_home = rig.is_some_and(|rig| own.distance(Vec3::from_slice(&rig[row])) < AT_HOME);
            let is_near = !group.is_empty()
                && !is_home
                && collider.signed_distance(state.place(row), within + 1.5 * spread).is_some();
            let looked_at = if is_near { group } else { 0..0 };
            looked_at.filter_map(move |sample| {
                let offset = samples.on_mesh(sample, state.base) - carried(samples, sample, state.rest);
                let at = offset + carried(samples, sample, state.x);
                let distance = collider.signed_distance(at, within)?.distance;
                let own =
                    |rig: &[Row<f32>]| Own { home: offset + carried(samples, sample, rig), at, distance };
                Some(Candidate { touch, sample, offset, start: at, own: rig.map(own), side: None })
            })
        };
        match reached {
            Some(rows) => self.candidates.extend(rows.iter().flat_map(|row| of_row(*row as usize))),
            None => {
                let rows = (0..state.x.len()).into_par_iter().with_min_len(ROWS);
                self.candidates.par_extend(rows.flat_map_iter(of_row));
            }
        }
    }

    /// Adds constraints to the system for points near colliders and for grabbed skin, at a fraction of the frame.
    pub(crate) fn prepare(
        &mut self,
        skin: &SkinPoints,
        touches: &Colliders,
        state: &Surface<'_>,
        fraction: f32,
        system: &mut System<f32>,
    ) {
        self.clear(system);
        for (row, force) in self.drags.drain(..) {
            add_force(&mut system.forces[row as usize], -force);
        }
        std::mem::swap(&mut self.pressed, &mut self.earlier);
        self.find_planes(skin, touches, state.x);
        for point in &mut self.pressed {
            let (_, touch) = &touches.touches[point.candidate.touch as usize];
            let stencil = stencil(&skin.samples, point.candidate.sample);
            let normal = point.normal.to_array().map(f64::from);
            let (weight, offset) = (f64::from(point.weight), f64::from(point.level));
            system.group_mut(self.planes).push(&stencil, HalfSpace { weight, normal, offset });
            let Some(anchor) = point.anchor.filter(|_| touch.friction > 0.0) else { continue };
            if point.slides {
                for (row, fraction) in skin.samples.follows_freely(point.candidate.sample) {
                    let force = *fraction * point.dragging;
                    add_force(&mut system.forces[*row as usize], force);
                    self.drags.push((*row, force));
                }
            } else {
                let target =
                    (touch.collider.now.apply(anchor) - point.candidate.offset).to_array().map(f64::from);
                system.group_mut(self.grips).push(&stencil, Line { weight, target, direction: normal });
            }
        }
        for (_, pull) in &touches.pulls {
            for (row, place) in pull.places(fraction) {
                let weight = GRASP * f64::from(self.stiffness * skin.areas[row as usize]);
                let target = (place - state.origin(row as usize)).to_array().map(f64::from);
                system.group_mut(self.held).push(&Stencil::vertex(row), Target { weight, target });
            }
        }
    }

    /// Finds half-spaces for the points near colliders. Of the points that press on the same tissue, sticking ones and the deepest
    /// represent all.
    fn find_planes(&mut self, skin: &SkinPoints, touches: &Colliders, x: &[Row<f32>]) {
        let samples = &skin.samples;
        self.pressed.clear();
        let mut earlier = self.earlier.clone();
        earlier.sort_by_key(|point| (point.id, point.candidate.sample));
        for candidate in &self.candidates {
            let (id, touch) = &touches.touches[candidate.touch as usize];
            let at = candidate.place(samples, x);
            let Some((distance, normal, surface)) = candidate.plane(touch, at) else { continue };
            let key = (*id, candidate.sample);
            let known = earlier.binary_search_by_key(&key, |p| (p.id, p.candidate.sample));
            let known = known.ok().map(|place| earlier[place]);
            let start = || touch.collider.before.apply_inverse(at);
            let anchor =
                (touch.friction > 0.0).then(|| known.and_then(|known| known.anchor).unwrap_or_else(start));
            self.pressed.push(Pressed {
                id: *id,
                candidate: *candidate,
                normal,
                level: normal.dot(surface - candidate.offset),
                distance,
                weight: 0.0,
                area: samples.area(candidate.sample),
                anchor,
                slides: known.is_some_and(|known| known.slides),
                pressing: known.map_or(0.0, |known| known.pressing),
                dragging: known.map_or(Vec3::ZERO, |known| known.dragging),
            });
        }
        let heaviest = |point: &Pressed| {
            let follows = samples.follows(point.candidate.sample);
            follows.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(row, _)| *row)
        };
        let key = |point: &Pressed| (point.candidate.touch, heaviest(point));
        self.pressed.sort_by(|a, b| {
            let sticks = |p: &Pressed| p.pressing > 0.0 && p.anchor.is_some();
            key(a).cmp(&key(b)).then(sticks(b).cmp(&sticks(a))).then(a.distance.total_cmp(&b.distance))
        });
        let mut kept = Vec::with_capacity(self.pressed.len());
        for same in self.pressed.chunk_by(|a, b| key(a) == key(b)) {
            let count = same.len().min(ALIKE);
            let area = same.iter().map(|point| point.area).sum::<f32>() / count as f32;
            let weight = self.stiffness * area;
            kept.extend(same[..count].iter().map(|point| Pressed { area, weight, ..*point }));
        }
        kept.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(key(a).cmp(&key(b))));
        kept.truncate(MOST);
        self.pressed = kept;
    }

    /// Tissue rows that constraints act on: grabbed skin first, then pressed skin, the deepest first.
    pub(crate) fn rows(&self, skin: &SkinPoints, touches: &Colliders) -> Vec<u32> {
        let free = skin.free;
        let pulled = touches.pulls.iter().flat_map(|(_, pull)| pull.vertices());
        let pressed = self.pressed.iter().flat_map(|point| carriers(skin, point.candidate.sample));
        pulled.filter(|row| (*row as usize) < free).chain(pressed).collect()
    }

    /// Tissue rows that constraints may act on in the next steps, the nearest first.
    pub(crate) fn rows_ahead(&self, skin: &SkinPoints, touches: &Colliders, x: &[Row<f32>]) -> Vec<u32> {
        let distance = |candidate: &Candidate| {
            let at = candidate.offset + carried(&skin.samples, candidate.sample, x);
            let (_, touch) = &touches.touches[candidate.touch as usize];
            touch.collider.signed_distance(at, WATCH).map(|found| (found.distance, *candidate))
        };
        let mut near: Vec<(f32, Candidate)> = self.candidates.iter().filter_map(distance).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.sample.cmp(&b.1.sample)));
        near.into_iter().flat_map(|(_, candidate)| carriers(skin, candidate.sample)).collect()
    }

    /// Sum of the friction of all sliding points on the free rows, N.
    #[cfg(test)]
    pub(crate) fn friction(&self) -> Vec3 {
        self.drags.iter().map(|(_, force)| *force).sum()
    }

    /// Finds the contact forces in a state: half-spaces push along the normal, and friction holds up to its limit.
    pub(crate) fn find_forces(&mut self, skin: &SkinPoints, touches: &Colliders, x: &[Row<f32>]) {
        for point in &mut self.pressed {
            let (_, touch) = &touches.touches[point.candidate.touch as usize];
            let carried = carried(&skin.samples, point.candidate.sample, x);
            point.pressing = point.weight * (point.level - point.normal.dot(carried)).max(0.0);
            let Some(anchor) = point.anchor.filter(|_| touch.friction > 0.0) else { continue };
            let limit = touch.friction * point.pressing;
            let target = touch.collider.now.apply(anchor);
            let slide = target - point.candidate.offset - carried;
            let wanted = point.weight * slide.reject_from_normalized(point.normal);
            point.slides = wanted.length() > limit;
            point.dragging = wanted.clamp_length_max(limit);
        }
    }

    /// Applies the forces of the skin to the colliders after the solve, and updates the anchors of friction.
    pub(crate) fn react(
        &mut self,
        skin: &SkinPoints,
        touches: &mut Colliders,
        state: &Surface<'_>,
        (fraction, seconds): (f32, f32),
    ) {
        let x = state.x;
        self.find_forces(skin, touches, x);
        let samples = &skin.samples;
        for point in &mut self.pressed {
            let (id, touch) = &mut touches.touches[point.candidate.touch as usize];
            let at = point.candidate.offset + carried(samples, point.candidate.sample, x);
            let force = point.pressing * point.normal + point.dragging;
            if point.pressing <= 0.0 {
                point.anchor = None;
                continue;
            }
            if point.slides {
                // The next step starts at the friction limit.
                point.anchor = Some(touch.collider.now.apply_inverse(at + point.dragging / point.weight));
            }
            touch.load.add(force, at);
            touches.contacts.push(Contact {
                touch: *id,
                vertex: samples.vertex(point.candidate.sample),
                point: at,
                normal: point.normal,
                force,
                pressure: point.pressing / point.area.max(f32::MIN_POSITIVE),
            });
        }
        for (id, touch) in &mut touches.touches {
            let yielding = touch.compliance(seconds);
            let felt: Vec3 =
                self.pressed.iter().filter(|p| p.id == *id).map(|p| p.pressing * p.normal + p.dragging).sum();
            touch.collider.now.translation -= yielding * felt;
        }
        for (_, pull) in &mut touches.pulls {
            let stiffness = GRASP as f32 * self.stiffness;
            for (row, place) in pull.places(fraction).collect::<Vec<_>>() {
                let missing = place - state.place(row as usize);
                pull.load.add(stiffness * skin.areas[row as usize] * missing, place);
            }
        }
    }

    /// Adds a row for each point that is still inside a collider. Points just outside are added too, so that they stay there.
    pub(crate) fn missing(&self, skin: &SkinPoints, touches: &Colliders, x: &[Row<f32>], lifts: &mut Lifts) {
        let samples = &skin.samples;
        let signed_distance = |candidate: &Candidate| {
            let (_, touch) = &touches.touches[candidate.touch as usize];
            let at = candidate.place(samples, x);
            let (distance, normal, _) = candidate.plane(touch, at)?;
            Some((*candidate, normal, distance))
        };
        let mut near: Vec<_> = self.candidates.iter().filter_map(signed_distance).collect();
        if near.iter().all(|(.., distance)| *distance > -MISSING) {
            return;
        }
        near.sort_by(|a, b| a.2.total_cmp(&b.2));
        near.truncate(MOST);
        for (candidate, normal, distance) in near {
            let mut entries: Vec<(u32, f64)> = samples
                .follows_freely(candidate.sample)
                .map(|(row, weight)| (*row, f64::from(*weight)))
                .collect();
            if entries.is_empty() {
                continue;
            }
            entries.sort_unstable_by_key(|entry| entry.0);
            lifts.rows.push(MatrixRow { weight: 1.0, entries });
            lifts.directions.push(normal.as_dvec3());
            lifts.amounts.push(f64::from((-distance).min(FARTHEST)));
        }
    }

    /// Ends the step: records the remaining penetrations and ends the step of each collider.
    pub(crate) fn end(&mut self, skin: &SkinPoints, touches: &mut Colliders, x: &[Row<f32>]) {
        self.behind.clear();
        for candidate in &self.candidates {
            let (id, touch) = &mut touches.touches[candidate.touch as usize];
            let at = candidate.place(&skin.samples, x);
            if let Some((distance, ..)) = candidate.signed_distance(&touch.collider, at) {
                touch.load.note_depth((-distance).max(0.0));
            }
            if candidate.own.is_none() {
                let side = candidate.side_met(touch, at);
                if let Some(side) = side.filter(|side| side.holds(touch, at, MISSING)) {
                    let depth = -side.distance(&touch.collider, at).distance;
                    self.behind.push(Behind { id: *id, sample: candidate.sample, side, depth });
                }
            }
        }
        touches.touches.iter_mut().for_each(|(_, touch)| touch.end_step());
    }
}

/// Lets hands grab and release skin.
fn pinch(skin: &SkinPoints, touches: &mut Colliders, state: &Surface<'_>) {
    if touches.hands().next().is_none() {
        return;
    }
    let samples = &skin.samples;
    let sample = |sample: u32| {
        let offset = samples.on_mesh(sample, state.base) - carried(samples, sample, state.rest);
        offset + carried(samples, sample, state.x)
    };
    let vertex = |row: u32| state.place(row as usize);
    touches.update_pinches(&PinchedSkin { samples, free: skin.free, sample: &sample, vertex: &vertex });
}

fn add_force(to: &mut Row<f32>, force: Vec3) {
    (0..3).for_each(|k| to[k] += force[k]);
}

/// Free tissue rows that carry a point.
fn carriers(skin: &SkinPoints, sample: u32) -> impl Iterator<Item = u32> {
    skin.samples.follows_freely(sample).map(|(row, _)| *row)
}

/// The contribution of a state of the tissue to the position of a point.
pub(crate) fn carried(samples: &Samples, sample: u32, x: &[Row<f32>]) -> Vec3 {
    samples.follows(sample).iter().map(|(row, w)| *w * Vec3::from_slice(&x[*row as usize])).sum()
}

fn stencil(samples: &Samples, sample: u32) -> Stencil<9, 1> {
    let follows = samples.follows(sample);
    let first = follows.first().map_or(0, |(row, _)| *row);
    let mut stencil = Stencil { vertices: [first; 9], coefficients: [[0.0; 9]], size: 1.0 };
    for (place, (row, weight)) in follows.iter().take(9).enumerate() {
        stencil.vertices[place] = *row;
        stencil.coefficients[0][place] = f64::from(*weight);
    }
    stencil
}
