//! Pushes the skin out of colliders, at full resolution.

use glam::{Vec3, Vec4, Vec4Swizzles};
use zygoma_physics::shell::StepMatrices;

use super::targets::{Fans, Targets};
use crate::contact::{
    Candidate, ColliderMotion, Colliders, Contact, HeadWay, Hold, Layer, Near, Reach, Samples,
};

/// Rounds over the contact points of a step, and sweeps in a round over those with contact forces; each sweep leaves less penetration
/// than the one before. Ours.
const ROUNDS: usize = 4;
const SWEEPS: usize = 8;

/// Maximum number of points visited by a step in all its rounds, though never fewer than `FEWEST_ROUNDS` rounds: skin thrown into several
/// colliders at once must not stall the simulation. A fingertip presses on less than a hundred points. Ours.
const MOST_POINTS: usize = 4000;
const FEWEST_ROUNDS: usize = 2;

/// Sweeps end when no point moves by more than this fraction of the height.
const ENOUGH: f32 = 2e-5;

/// Search distance from the collider for a point that was pushed, in face heights.
const FAR: f32 = 0.1;

/// Points that are farther than this fraction of the height from every collider are skipped for the rest of a step.
const NEAR: f32 = 0.005;

/// Motion of the skin during a frame apart from the shell's own, for finding contacts.
pub(super) struct Skin<'a> {
    pub(super) samples: &'a Samples,
    pub(super) rest: &'a [Vec4],
    pub(super) per_metre: f32,
    pub(super) before: Layer<'a>,
    pub(super) now: Layer<'a>,
    /// The shell at the start of the frame.
    pub(super) shell: &'a [Vec4],
    /// Maximum motion of each vertex of the shell in the frame, and the maximum over all.
    pub(super) travel: Travel<'a>,
}

/// Bounds on the motion of a shell's vertices in a frame, in face heights: by their targets, or by their velocity.
pub(super) struct Travel<'a> {
    pub(super) targets: [&'a [Vec4]; 2],
    pub(super) velocities: &'a [Vec4],
    pub(super) seconds: f32,
    /// Upper limit of these bounds: faster skin is found again in the next frame.
    pub(super) most: f32,
}

impl Travel<'_> {
    fn squared(&self, vertex: usize) -> f32 {
        let wanted = self.targets[0][vertex].distance_squared(self.targets[1][vertex]);
        wanted.max(self.seconds * self.seconds * self.velocities[vertex].length_squared())
    }

    fn of(&self, vertex: usize) -> f32 {
        self.squared(vertex).sqrt().min(self.most)
    }

    /// An upper bound over all vertices. The largest component along each axis need not come from the same vertex.
    fn farthest(&self) -> f32 {
        let [before, now] = self.targets;
        let wanted = before.iter().zip(now).fold(Vec4::ZERO, |most, (a, b)| most.max((*b - *a).abs()));
        let fastest = self.velocities.iter().fold(Vec4::ZERO, |most, v| most.max(v.abs()));
        wanted.length().max(self.seconds * fastest.length()).min(self.most)
    }
}

/// The path of a collider in a frame, and the radius around it in which it may touch.
pub(super) struct Way {
    pub(super) from: Vec3,
    pub(super) to: Vec3,
    pub(super) radius: f32,
}

impl Skin<'_> {
    /// Upper bound on the motion of any of the skin.
    pub(super) fn farthest(&self) -> f32 {
        self.travel.farthest()
    }

    /// Lists the points that may come within the radius of a path while skin moves by `farthest` at most.
    /// Only points that follow one of the given vertices are looked at.
    pub(super) fn find_candidates(
        &self,
        touch: u32,
        way: &Way,
        (farthest, vertices): (f32, impl Iterator<Item = usize>),
        found: &mut Vec<Candidate>,
    ) {
        // The bounding sphere of the whole path first, which needs no division.
        let Way { from, to, radius } = *way;
        let (middle, half) = (0.5 * (from + to), 0.5 * from.distance(to));
        for vertex in vertices {
            let position = self.shell[vertex];
            let (group, spread) = self.samples.group(vertex);
            let around = radius + 1.5 * spread + 2.0 * farthest + half;
            if position.xyz().distance_squared(middle) > around * around || group.is_empty() {
                continue;
            }
            let radius = radius + 2.0 * self.travel.of(vertex);
            if distance_to_segment(position.xyz(), from, to) > radius + 1.5 * spread {
                continue;
            }
            for sample in group {
                let offset =
                    |layer: &Layer<'_>| self.samples.offset(sample, layer, self.per_metre, self.rest);
                let offset_before = offset(&self.before);
                let at = offset_before + self.samples.carried(sample, self.shell);
                if distance_to_segment(at, from, to) <= radius {
                    let offset_now = offset(&self.now);
                    found.push(Candidate {
                        touch,
                        sample,
                        offset_before,
                        offset_now,
                        anchor: None,
                        side: None,
                    });
                }
            }
        }
    }
}

impl Skin<'_> {
    /// Lists the vertices with points that may come within a margin of a hand.
    fn list_reached(&self, reach: Option<Reach>, margin: f32, reached: &mut Vec<u32>) {
        reached.clear();
        let Some(reach) = reach else { return };
        let is_near = |vertex: &u32| {
            let spread = self.samples.group(*vertex as usize).1;
            reach.is_near(self.shell[*vertex as usize].xyz(), margin + 1.5 * spread)
        };
        reached.extend((0..self.shell.len() as u32).filter(is_near));
    }
}

/// The maximum depth of the shell in a step.
pub(super) struct Bone<'a> {
    before: &'a mut Targets,
    now: &'a mut Targets,
    fans: &'a Fans,
    fraction: f32,
    /// The shell's rest position.
    rested: &'a [Vec4],
    depth: &'a [f32],
}

impl<'a> Bone<'a> {
    /// At a fraction of the frame between two targets.
    pub(super) fn at(
        [before, now]: [&'a mut Targets; 2],
        fans: &'a Fans,
        fraction: f32,
        rested: &'a [Vec4],
        depth: &'a [f32],
    ) -> Self {
        Self { before, now, fans, fraction, rested, depth }
    }

    /// Whether a vertex may be too deep: a conservative test of its distance from rest, without a square root.
    pub(super) fn may_be_below(&self, vertex: usize, position: Vec4) -> bool {
        is_beyond(position - self.rested[vertex], self.depth[vertex])
    }

    /// Signed distance of a vertex above the bone (negative: below it), and the outward normal.
    pub(super) fn below(&mut self, vertex: usize, position: Vec4) -> (f32, Vec3) {
        self.before.find_normal(vertex, self.fans);
        self.now.find_normal(vertex, self.fans);
        let before = self.before.normal(vertex);
        let normal = (before + self.fraction * (self.now.normal(vertex) - before)).normalize_or_zero();
        ((position - self.rested[vertex]).xyz().dot(normal) + self.depth[vertex], normal)
    }
}

/// Whether an offset may be longer than a length: a conservative test by its largest coordinate.
pub(super) fn is_beyond(offset: Vec4, length: f32) -> bool {
    const INVERSE_ROOT_OF_3: f32 = 0.577_350;
    offset.abs().cmpgt(Vec4::splat(INVERSE_ROOT_OF_3 * length)).any()
}

/// The constraint of bone on a vertex of the shell in a step.
#[derive(Clone, Copy, Debug, Default)]
struct Support {
    /// How far it pushed the vertex out.
    lift: f32,
    /// The outward normal.
    normal: Vec3,
    /// Whether a kinematic collider, which overrules bone, is near.
    is_overruled: bool,
    is_listed: bool,
}

impl Support {
    fn is_firm(self) -> bool {
        self.lift > 0.0 && !self.is_overruled
    }
}

/// The constraints of bone on each vertex of the shell, and the list of vertices concerned.
#[derive(Clone, Debug)]
pub(super) struct Supports {
    each: Vec<Support>,
    listed: Vec<u32>,
}

impl Supports {
    pub(super) fn new(vertices: usize) -> Self {
        Self { each: vec![Support::default(); vertices], listed: Vec::with_capacity(vertices) }
    }

    /// One sweep over the bone below skin that driven colliders press. Returns the largest displacement.
    fn lift(&mut self, bone: &mut Bone<'_>, next: &mut [Vec4]) -> f32 {
        let mut largest = 0.0f32;
        for vertex in &self.listed {
            let vertex = *vertex as usize;
            let support = &mut self.each[vertex];
            if support.is_overruled {
                continue;
            }
            let (below, normal) = bone.below(vertex, next[vertex]);
            let lift = (support.lift - below).max(0.0);
            next[vertex] += ((lift - support.lift) * normal).extend(0.0);
            largest = largest.max((lift - support.lift).abs());
            (support.lift, support.normal) = (lift, normal);
        }
        largest
    }
}

impl Colliders {
    /// Finds the points that may come within a margin of colliders in the new frame.
    pub(super) fn find_candidates(&mut self, skin: &Skin<'_>, head: &HeadWay, margin: f32) {
        self.candidates.clear();
        let farthest = skin.farthest();
        let mut reached = std::mem::take(&mut self.reached);
        let mut hand = None;
        for (index, (_, touch)) in (0u32..).zip(&self.touches) {
            if touch.hand.is_some() && touch.hand != hand {
                hand = touch.hand;
                let reach = touch.hand.and_then(|hand| self.reach(hand, head, 1.0));
                skin.list_reached(reach, margin + 2.0 * farthest, &mut reached);
            }
            if touch.is_through() {
                continue;
            }
            let radius = touch.bounding_radius() + touch.detour(head) + margin;
            let way = Way { from: touch.start(head), to: touch.wanted(head, 1.0).translation, radius };
            if touch.hand.is_some() {
                let near = reached.iter().map(|vertex| *vertex as usize);
                skin.find_candidates(index, &way, (farthest, near), &mut self.candidates);
            } else {
                skin.find_candidates(index, &way, (farthest, 0..skin.shell.len()), &mut self.candidates);
            }
        }
        self.reached = reached;
        self.find_kept();
    }

    /// Resolves penetrations and applies grabs, in a step that ends at a fraction of the frame. `next` are the shell's positions to be
    /// corrected, `current` those before the step.
    pub(super) fn resolve(
        &mut self,
        samples: &Samples,
        supports: &mut Supports,
        bone: &mut Bone<'_>,
        (next, current): (&mut [Vec4], &[Vec4]),
        matrices: &StepMatrices,
        fraction: f32,
    ) {
        self.gather(samples, supports, (next, current), matrices.compliance(), fraction);
        self.settle(samples, supports, bone, next, matrices);
        self.report(samples, next);
        for (_, pull) in &mut self.pulls {
            pull.hold(fraction, next, matrices.resistance());
        }
    }

    /// Solves for contact forces that leave no penetration. Few points end up with a force: a round over all points finds these, and then
    /// sweeps visit only these until they converge.
    fn settle(
        &mut self,
        samples: &Samples,
        supports: &mut Supports,
        bone: &mut Bone<'_>,
        next: &mut [Vec4],
        matrices: &StepMatrices,
    ) {
        let rounds = (MOST_POINTS / self.near.len().max(1)).clamp(FEWEST_ROUNDS, ROUNDS);
        for _ in 0..rounds {
            self.pressed.clear();
            self.pressed.extend(0..self.near.len() as u32);
            let pushed = self.push_out(samples, supports, next, matrices);
            if supports.lift(bone, next).max(pushed) < ENOUGH {
                break;
            }
            let near = &self.near;
            self.pressed.retain(|point| near[*point as usize].hold.pressing > 0.0);
            let sweeps = (MOST_POINTS / self.pressed.len().max(1)).clamp(1, SWEEPS);
            for _ in 0..sweeps {
                let pushed = self.push_out(samples, supports, next, matrices);
                if supports.lift(bone, next).max(pushed) < ENOUGH {
                    break;
                }
            }
        }
    }

    /// Lists the points that are near a collider in this step, and the vertices that bone may have to support.
    fn gather(
        &mut self,
        samples: &Samples,
        supports: &mut Supports,
        (next, current): (&[Vec4], &[Vec4]),
        compliance: &[f32],
        fraction: f32,
    ) {
        self.near.clear();
        for vertex in supports.listed.drain(..) {
            supports.each[vertex as usize] = Support::default();
        }
        for (index, candidate) in (0u32..).zip(&mut self.candidates) {
            let touch = &self.touches[candidate.touch as usize].1;
            if touch.spares(samples.follows(candidate.sample)) {
                (candidate.anchor, candidate.side) = (None, None);
                continue;
            }
            let offset =
                candidate.offset_before + fraction * (candidate.offset_now - candidate.offset_before);
            let at = offset + samples.carried(candidate.sample, next);
            let earlier = offset + samples.carried(candidate.sample, current);
            let kept = candidate.side.take().filter(|side| side.holds(touch, at, 0.0));
            let side = kept.or_else(|| touch.side_met(earlier, at - earlier));
            if side.is_none() && touch.collider.signed_distance(at, NEAR).is_none() {
                candidate.anchor = None;
                continue;
            }
            let mut hold = Hold::default();
            if touch.friction > 0.0 {
                let before = || touch.collider.before.apply_inverse(earlier);
                hold.anchor = Some(candidate.anchor.unwrap_or_else(before) + touch.collider.deformed_at(at));
            }
            let is_kinematic = touch.drive == ColliderMotion::Kinematic;
            let mut sum = 0.0;
            for (vertex, weight) in samples.follows_freely(candidate.sample) {
                sum += weight * weight * compliance[*vertex as usize];
                let support = &mut supports.each[*vertex as usize];
                support.is_overruled |= is_kinematic;
                if !support.is_listed {
                    support.is_listed = true;
                    supports.listed.push(*vertex);
                }
            }
            let (touch, sample) = (candidate.touch, candidate.sample);
            self.near.push(Near { candidate: index, touch, sample, offset, compliance: sum, hold, side });
        }
    }

    /// One sweep over the contact forces of the listed points, by projected Gauss-Seidel: a force may shrink while others replace it, but
    /// is never negative. Without shrinking, points would end up off the collider by chance, come back in the next step, and so on for
    /// ever. Returns the largest displacement.
    fn push_out(
        &mut self,
        samples: &Samples,
        supports: &Supports,
        next: &mut [Vec4],
        matrices: &StepMatrices,
    ) -> f32 {
        let (step, compliance) = (matrices.step_time(), matrices.compliance());
        let mut largest = 0.0f32;
        for point in &self.pressed {
            let near = &mut self.near[*point as usize];
            let touch = &mut self.touches[near.touch as usize].1;
            let at = near.offset + samples.carried(near.sample, next);
            let within = if near.hold.pressing > 0.0 { FAR } else { 0.0 };
            let found = match &near.side {
                Some(side) => {
                    Some(side.distance(&touch.collider, at)).filter(|found| found.distance <= within)
                }
                None => touch.collider.signed_distance(at, within),
            };
            let Some(found) = found else { continue };
            // Where bone holds the skin, a driven collider has to yield.
            let yielding = touch.compliance(step);
            let firm = |v: u32| if yielding == 0.0 { None } else { supports.each[v as usize].firm() };
            let borne: f32 = if yielding == 0.0 {
                0.0
            } else {
                let firm = samples.follows_freely(near.sample).filter(|(v, _)| firm(*v).is_some());
                firm.map(|(v, w)| w * w * compliance[*v as usize]).sum()
            };
            let along_normal = near.compliance - borne + yielding;
            if along_normal <= 0.0 {
                continue;
            }
            let hold = &mut near.hold;
            let pressing = (hold.pressing - found.distance / along_normal).max(0.0);
            let push = pressing * found.normal - hold.pressing * hold.normal;
            let dragged = hold.drag(touch, at, found.normal, pressing, near.compliance + yielding);
            (hold.pressing, hold.normal) = (pressing, found.normal);
            let force = push + dragged;
            largest = largest.max(along_normal * force.length());
            for (v, w) in samples.follows_freely(near.sample) {
                // Skin on bone can be dragged along it, but not pushed into it.
                let felt = firm(*v).map_or(force, |out| dragged - dragged.dot(out) * out);
                next[*v as usize] += (*w * compliance[*v as usize] * felt).extend(0.0);
            }
            touch.collider.now.translation -= yielding * force;
        }
        largest
    }

    /// Records contacts, their forces and the remaining penetrations.
    fn report(&mut self, samples: &Samples, next: &[Vec4]) {
        self.contacts.clear();
        let metres = 1.0 / self.handling.per_metre;
        for near in &self.near {
            let (name, touch) = &mut self.touches[near.touch as usize];
            let at = near.offset + samples.carried(near.sample, next);
            let push = near.hold.pressing * near.hold.normal + near.hold.dragging;
            touch.load.add(push, at);
            let candidate = &mut self.candidates[near.candidate as usize];
            candidate.anchor = near.hold.next_anchor(touch, at);
            candidate.side = near.side.filter(|side| side.holds(touch, at, ENOUGH));
            let Some(found) = touch.collider.signed_distance(at, ENOUGH) else { continue };
            touch.load.note_depth(-found.distance);
            if push != Vec3::ZERO {
                let area = samples.area(near.sample).max(f32::MIN_POSITIVE);
                self.contacts.push(Contact {
                    touch: *name,
                    vertex: samples.vertex(near.sample),
                    point: metres * at,
                    normal: found.normal,
                    force: metres * metres * push,
                    // Areas are in face heights² too, and pressures are the same at every size.
                    pressure: near.hold.pressing / area,
                });
            }
        }
        for (_, touch) in &mut self.touches {
            touch.end_step();
        }
    }
}

impl Support {
    /// The outward normal of the bone, if it supports the vertex.
    fn firm(self) -> Option<Vec3> {
        self.is_firm().then_some(self.normal)
    }
}

fn distance_to_segment(point: Vec3, from: Vec3, to: Vec3) -> f32 {
    let along = to - from;
    let fraction =
        ((point - from).dot(along) / along.length_squared().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    point.distance(from + fraction * along)
}
