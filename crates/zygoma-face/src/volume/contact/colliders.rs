//! Contact of colliders with a volume: detected at points of the full-resolution skin, applied to the rows that carry them.
//!
//! In a step each point near a collider gets a half-space that it must not leave, as a potential, and with friction a line along which
//! alone it moves freely; both are detected again in mid-solve. Penetration that remains after the solve is resolved by the smallest
//! motion of the tissue.

use glam::{DVec3, Vec3};
use zygoma_physics::projective::{
    Attachments, Elements, HalfSpace, Handle, Line, MatrixRow, Row, Stencil, System, Target,
};

use super::Surface;
use super::held::is_held;
use super::search::{self, WATCH};
use super::skin_points::SkinPoints;
use crate::contact::{Colliders, Contact, ContactPoint, HeadWay, Hold, PinchedSkin, Samples, Thinned, thin};

/// Half-spaces of skin points; a point is carried by up to nine tissue vertices.
type Planes = Elements<f32, HalfSpace, 9, 1, 5>;
/// Points that stick to a collider.
type Grips = Elements<f32, Line, 9, 1, 7>;

/// Points closer than this get a half-space, m. Ours, as all below.
pub(super) const NEAR: f32 = 3e-4;
/// Points deeper than this are pushed out at the end of a step, m.
pub(super) const MISSING: f32 = 1e-5;
/// The largest distance by which a point is pushed out at once, m.
const FARTHEST: f32 = 2e-3;
/// Maximum number of points that are pushed out at once, of colliders that the rig moves and of others.
const MOST: usize = 300;
/// Skin this close to a collider is squeezed if it is also on teeth, m: about as much as lips and cheeks are thick.
const SQUEEZED: f32 = 1.2e-2;
/// Stiffness of grabbed skin over that of contact.
const GRASP: f64 = 10.0;
/// Contact between colliders and tissue in a step.
#[derive(Clone)]
pub(crate) struct ColliderContact {
    planes: Handle<Planes>,
    grips: Handle<Grips>,
    held: Handle<Attachments<f32>>,
    /// Points with a half-space.
    pressed: Vec<Pressed>,
    /// Friction forces of sliding points on rows, kept so that they can be removed when contacts are detected again.
    drags: Vec<(u32, Vec3)>,
    /// Stiffness of contact, N/m per m² of skin.
    stiffness: f32,
}

/// A point with a half-space.
#[derive(Clone, Copy, Debug)]
struct Pressed {
    /// Its index among the candidates.
    candidate: u32,
    point: ContactPoint,
    /// Minimum coordinate of the point along the normal.
    level: f32,
    /// Signed distance from the collider when the plane was found, negative inside.
    distance: f32,
    /// The area of skin that the point represents, m².
    area: f32,
}

impl Thinned for Pressed {
    fn point(&self) -> &ContactPoint {
        &self.point
    }

    fn distance(&self) -> f32 {
        self.distance
    }

    fn represent(&mut self, area: f32) {
        self.area = area;
    }
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
            pressed: Vec::new(),
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
    pub(crate) fn forget(&mut self, colliders: &mut Colliders) {
        self.pressed.clear();
        colliders.forget_points();
    }

    /// Begins a step that ends at a fraction of the frame: moves the colliders and finds the points that they may touch. `rig` holds the
    /// rig's own tissue positions at the end of the step, for colliders that the rig moves. `skin_travel` is about the largest motion of
    /// the skin in the step.
    pub(crate) fn begin(
        &mut self,
        skin: &SkinPoints,
        colliders: &mut Colliders,
        (state, rig): (&Surface<'_>, &[Row<f32>]),
        (way, fraction, seconds): (&HeadWay, f32, f32),
        skin_travel: f32,
    ) {
        colliders.move_colliders(fraction, way, seconds);
        pinch(skin, colliders, state);
        // The forces of the system are set anew in every step.
        self.drags.clear();
        self.pressed.clear();
        search::find_candidates(skin, colliders, (state, rig), (way, fraction, seconds), skin_travel);
        colliders.find_kept();
        for point in &mut colliders.candidates {
            point.begin_friction(&colliders.entries[point.touch as usize].1);
        }
    }

    /// Adds constraints to the system for points near colliders and for grabbed skin, at a fraction of the frame.
    pub(crate) fn prepare(
        &mut self,
        skin: &SkinPoints,
        colliders: &Colliders,
        state: &Surface<'_>,
        fraction: f32,
        system: &mut System<f32>,
    ) {
        self.clear(system);
        for (row, force) in self.drags.drain(..) {
            add_force(&mut system.forces[row as usize], -force);
        }
        self.find_planes(skin, colliders, state.x);
        for Pressed { point, level, area, .. } in &self.pressed {
            let (_, touch) = &colliders.entries[point.touch as usize];
            let stencil = stencil(&skin.samples, point.sample);
            let normal = point.hold.normal.to_array().map(f64::from);
            let (weight, offset) = (f64::from(self.stiffness * area), f64::from(*level));
            system.group_mut(self.planes).push(&stencil, HalfSpace { weight, normal, offset });
            let Some(anchor) = point.hold.anchor else { continue };
            if point.hold.slides {
                for (row, fraction) in skin.samples.follows_freely(point.sample) {
                    let force = *fraction * point.hold.dragging;
                    add_force(&mut system.forces[*row as usize], force);
                    self.drags.push((*row, force));
                }
            } else {
                let target = (touch.collider.place_of(&anchor) - point.offset).to_array().map(f64::from);
                system.group_mut(self.grips).push(&stencil, Line { weight, target, direction: normal });
            }
        }
        for (_, pull) in &colliders.grabs {
            for (row, place) in pull.places(fraction) {
                let weight = GRASP * f64::from(self.stiffness * skin.areas[row as usize]);
                let target = (place - state.origin(row as usize)).to_array().map(f64::from);
                system.group_mut(self.held).push(&Stencil::vertex(row), Target { weight, target });
            }
        }
    }

    /// Finds half-spaces for the points near colliders. Of the points that press on the same tissue a few represent all.
    fn find_planes(&mut self, skin: &SkinPoints, colliders: &Colliders, x: &[Row<f32>]) {
        let samples = &skin.samples;
        let earlier = std::mem::take(&mut self.pressed);
        let mut holds: Vec<(u32, Hold)> = earlier.iter().map(|p| (p.candidate, p.point.hold)).collect();
        holds.sort_by_key(|(candidate, _)| *candidate);
        for (candidate, point) in (0u32..).zip(&colliders.candidates) {
            let mut point = *point;
            let (_, touch) = &colliders.entries[point.touch as usize];
            let at = place(&point, samples, x);
            let side = point.side_met(touch, at);
            let Some(plane) = point.plane(touch, side, at, NEAR) else { continue };
            let plane = colliders.before_bone(touch, plane, at);
            if let Ok(known) = holds.binary_search_by_key(&candidate, |(candidate, _)| *candidate) {
                point.hold = holds[known].1;
            }
            point.hold.normal = plane.normal;
            let level = plane.normal.dot(plane.through - point.offset);
            self.pressed.push(Pressed { candidate, point, level, distance: plane.distance, area: 0.0 });
        }
        thin(&mut self.pressed, samples);
    }

    /// Tissue rows that constraints act on: grabbed skin first, then pressed skin, the deepest first.
    pub(crate) fn rows(&self, skin: &SkinPoints, colliders: &Colliders) -> Vec<u32> {
        let free = skin.free;
        let pulled = colliders.grabs.iter().flat_map(|(_, pull)| pull.vertices());
        let pressed = self.pressed.iter().flat_map(|pressed| carriers(skin, pressed.point.sample));
        pulled.filter(|row| (*row as usize) < free).chain(pressed).collect()
    }

    /// Tissue rows that colliders may press on in the next steps, the nearest first; not those that the rig moves.
    pub(crate) fn rows_ahead(&self, skin: &SkinPoints, colliders: &Colliders, x: &[Row<f32>]) -> Vec<u32> {
        let distance = |point: &ContactPoint| {
            let at = place(point, &skin.samples, x);
            let (_, touch) = &colliders.entries[point.touch as usize];
            touch.collider.signed_distance(at, WATCH).map(|found| (found.distance, point.sample))
        };
        let others = colliders.candidates.iter().filter(|point| point.home.is_none());
        let mut near: Vec<(f32, u32)> = others.filter_map(distance).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.into_iter().flat_map(|(_, sample)| carriers(skin, sample)).collect()
    }

    /// Sum of the friction of all sliding points on the free rows, N.
    #[cfg(test)]
    pub(crate) fn friction(&self) -> Vec3 {
        self.drags.iter().map(|(_, force)| *force).sum()
    }

    /// Finds the contact forces in a state: half-spaces push along the normal, and friction holds up to its limit.
    pub(crate) fn find_forces(&mut self, skin: &SkinPoints, colliders: &Colliders, x: &[Row<f32>]) {
        for Pressed { point, level, area, .. } in &mut self.pressed {
            let (_, touch) = &colliders.entries[point.touch as usize];
            let weight = self.stiffness * *area;
            let carried = carried(&skin.samples, point.sample, x);
            let hold = &mut point.hold;
            hold.pressing = weight * (*level - hold.normal.dot(carried)).max(0.0);
            if let Some(slip) = hold.slip(touch, point.offset + carried, hold.normal) {
                hold.drag(touch, -weight * slip, hold.pressing);
            }
        }
    }

    /// Applies the forces of the skin to the colliders after the solve, and updates the anchors of friction.
    pub(crate) fn react(
        &mut self,
        skin: &SkinPoints,
        colliders: &mut Colliders,
        state: &Surface<'_>,
        (fraction, seconds): (f32, f32),
    ) {
        let x = state.x;
        self.find_forces(skin, colliders, x);
        let samples = &skin.samples;
        // Points that press no more let go.
        colliders.candidates.iter_mut().for_each(|point| point.hold = Hold::default());
        for Pressed { candidate, point, area, .. } in &mut self.pressed {
            let (id, touch) = &mut colliders.entries[point.touch as usize];
            let at = place(point, samples, x);
            let weight = self.stiffness * *area;
            point.hold.anchor = point.hold.next_anchor(touch, at + point.hold.dragging / weight);
            colliders.candidates[*candidate as usize].hold = point.hold;
            if point.hold.pressing <= 0.0 {
                continue;
            }
            let force = point.hold.force();
            touch.load.add(force, at);
            if !touch.is_own {
                colliders.contacts.push(Contact {
                    collider: *id,
                    vertex: samples.vertex(point.sample),
                    point: at,
                    normal: point.hold.normal,
                    force,
                    pressure: point.hold.pressing / area.max(f32::MIN_POSITIVE),
                });
            }
        }
        for (index, (_, touch)) in (0u32..).zip(&mut colliders.entries) {
            let yielding = touch.compliance(seconds);
            let own = self.pressed.iter().filter(|pressed| pressed.point.touch == index);
            let felt: Vec3 = own.map(|pressed| pressed.point.hold.force()).sum();
            touch.collider.now.translation -= yielding * felt;
        }
        for (_, pull) in &mut colliders.grabs {
            let stiffness = GRASP as f32 * self.stiffness;
            for (row, place) in pull.places(fraction).collect::<Vec<_>>() {
                let missing = place - state.place(row as usize);
                pull.load.add(stiffness * skin.areas[row as usize] * missing, place);
            }
        }
    }

    /// Adds a row for each point that is still inside a collider. Points just outside are added too, so that they stay there. Lips that are
    /// pressed on the teeth by what nothing stops are pushed out of that alone, and yield into the teeth: where the two leave less room than
    /// a lip is thick, to ask for both tears it. Held skin [makes way](super::held) by itself.
    pub(crate) fn missing(
        &self,
        skin: &SkinPoints,
        colliders: &Colliders,
        x: &[Row<f32>],
        lifts: &mut Lifts,
    ) {
        let points = || colliders.candidates.iter().filter(|point| !is_held(skin, point.sample));
        push_out(skin, colliders, points().filter(|point| point.home.is_none()), x, lifts);
        let mut pressing: Vec<u32> = self.pressed.iter().map(|pressed| pressed.point.touch).collect();
        pressing.sort_unstable();
        pressing.dedup();
        pressing.retain(|index| colliders.entries[*index as usize].1.is_unstoppable());
        let is_squeezed = |point: &&ContactPoint| {
            let at = place(point, &skin.samples, x);
            let touch = |index: &u32| &colliders.entries[*index as usize].1.collider;
            pressing.iter().any(|index| touch(index).signed_distance(at, SQUEEZED).is_some())
        };
        let own = points().filter(|point| point.home.is_some() && !is_squeezed(point));
        push_out(skin, colliders, own, x, lifts);
    }

    /// Ends the step: records the remaining penetrations, keeps the contact points, and ends the step of each collider.
    pub(crate) fn end(&mut self, skin: &SkinPoints, colliders: &mut Colliders, x: &[Row<f32>]) {
        for point in &mut colliders.candidates {
            let (_, touch) = &mut colliders.entries[point.touch as usize];
            let at = place(point, &skin.samples, x);
            if let Some(plane) = point.plane(touch, None, at, NEAR) {
                touch.load.note_depth((-plane.distance).max(0.0));
            }
            let side = point.side_met(touch, at);
            point.side = side.filter(|side| side.holds(touch, at, MISSING));
            point.start = at;
        }
        colliders.keep_points();
        colliders.entries.iter_mut().for_each(|(_, touch)| touch.end_step());
    }
}

/// Position of a point in a state of the tissue.
pub(super) fn place(point: &ContactPoint, samples: &Samples, x: &[Row<f32>]) -> Vec3 {
    point.offset + carried(samples, point.sample, x)
}

/// Adds a row for each of some points, if any of them is inside its collider.
fn push_out<'a>(
    skin: &SkinPoints,
    colliders: &Colliders,
    points: impl Iterator<Item = &'a ContactPoint>,
    x: &[Row<f32>],
    lifts: &mut Lifts,
) {
    let samples = &skin.samples;
    let plane = |point: &ContactPoint| {
        let (_, touch) = &colliders.entries[point.touch as usize];
        let at = place(point, samples, x);
        let plane = point.plane(touch, point.side_met(touch, at), at, NEAR)?;
        let plane = colliders.before_bone(touch, plane, at);
        Some((point.sample, plane.normal, plane.distance))
    };
    let mut near: Vec<_> = points.filter_map(plane).collect();
    if near.iter().all(|(.., distance)| *distance > -MISSING) {
        return;
    }
    near.sort_by(|a, b| a.2.total_cmp(&b.2));
    near.truncate(MOST);
    for (sample, normal, distance) in near {
        let mut entries: Vec<(u32, f64)> =
            samples.follows_freely(sample).map(|(row, weight)| (*row, f64::from(*weight))).collect();
        if entries.is_empty() {
            continue;
        }
        entries.sort_unstable_by_key(|entry| entry.0);
        lifts.rows.push(MatrixRow { weight: 1.0, entries });
        lifts.directions.push(normal.as_dvec3());
        lifts.amounts.push(f64::from((-distance).min(FARTHEST)));
    }
}

/// Lets hands grab and release skin.
fn pinch(skin: &SkinPoints, colliders: &mut Colliders, state: &Surface<'_>) {
    if colliders.hands().next().is_none() {
        return;
    }
    let samples = &skin.samples;
    let sample = |sample: u32| {
        let offset = samples.on_mesh(sample, state.base) - carried(samples, sample, state.rest);
        offset + carried(samples, sample, state.x)
    };
    let vertex = |row: u32| state.place(row as usize);
    colliders.update_pinches(&PinchedSkin { samples, free: skin.free, sample: &sample, vertex: &vertex });
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

/// The rows that carry a point, as a stencil.
pub(crate) fn stencil(samples: &Samples, sample: u32) -> Stencil<9, 1> {
    let follows = samples.follows(sample);
    let first = follows.first().map_or(0, |(row, _)| *row);
    let mut stencil = Stencil { vertices: [first; 9], coefficients: [[0.0; 9]], size: 1.0 };
    for (place, (row, weight)) in follows.iter().take(9).enumerate() {
        stencil.vertices[place] = *row;
        stencil.coefficients[0][place] = f64::from(*weight);
    }
    stencil
}
