//! The response of a shell to contact: forces that push its skin out of colliders, at full resolution.

mod bone;
mod search;

use glam::{Vec3, Vec4};
use zygoma_physics::shell::StepMatrices;

use crate::contact::{ColliderMotion, Colliders, Contact, Hold, Samples};
pub(super) use bone::{Bone, is_beyond};
pub(super) use search::{Skin, Travel};

use bone::Supports;

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

/// Memory is reserved for this many colliders that all of the skin is near to.
const AT_ONCE: usize = 4;

/// A contact point that is near a collider in a step.
#[derive(Clone, Copy, Debug)]
struct Near {
    /// Its index among the candidates.
    candidate: u32,
    /// Displacement per unit of force, if all vertices that it is embedded in can move.
    compliance: f32,
}

/// The contact of a shell with colliders in a step.
#[derive(Clone, Debug)]
pub(super) struct ShellContact {
    near: Vec<Near>,
    /// The near points that are visited in a sweep.
    pressed: Vec<u32>,
    /// Vertices within reach of a hand, while its contacts are searched for.
    reached: Vec<u32>,
    supports: Supports,
}

impl ShellContact {
    /// For a shell of some vertices, whose skin has `samples` contact points. Frames need no more memory.
    pub(super) fn new(vertices: usize, samples: usize) -> Self {
        Self {
            near: Vec::with_capacity(AT_ONCE * samples),
            pressed: Vec::with_capacity(AT_ONCE * samples),
            reached: Vec::with_capacity(vertices),
            supports: Supports::new(vertices),
        }
    }

    /// Resolves penetrations and applies grabs, in a step that ends at a fraction of the frame. `next` are the shell's positions to be
    /// corrected, `current` those before the step.
    pub(super) fn resolve(
        &mut self,
        colliders: &mut Colliders,
        samples: &Samples,
        bone: &mut Bone<'_>,
        (next, current): (&mut [Vec4], &[Vec4]),
        (matrices, fraction): (&StepMatrices, f32),
    ) {
        self.gather(colliders, samples, (next, current), matrices.compliance(), fraction);
        self.settle(colliders, samples, bone, next, matrices);
        self.report(colliders, samples, next);
        for (_, pull) in &mut colliders.grabs {
            pull.hold(fraction, next, matrices.resistance());
        }
    }

    /// Solves for contact forces that leave no penetration. Few points end up with a force: a round over all points finds these, and then
    /// sweeps visit only these until they converge.
    fn settle(
        &mut self,
        colliders: &mut Colliders,
        samples: &Samples,
        bone: &mut Bone<'_>,
        next: &mut [Vec4],
        matrices: &StepMatrices,
    ) {
        let rounds = (MOST_POINTS / self.near.len().max(1)).clamp(FEWEST_ROUNDS, ROUNDS);
        for _ in 0..rounds {
            self.pressed.clear();
            self.pressed.extend(0..self.near.len() as u32);
            let pushed = self.push_out(colliders, samples, next, matrices);
            if self.supports.lift(bone, next).max(pushed) < ENOUGH {
                break;
            }
            let hold = |near: &Near| &colliders.candidates[near.candidate as usize].hold;
            self.pressed.retain(|point| hold(&self.near[*point as usize]).pressing > 0.0);
            let sweeps = (MOST_POINTS / self.pressed.len().max(1)).clamp(1, SWEEPS);
            for _ in 0..sweeps {
                let pushed = self.push_out(colliders, samples, next, matrices);
                if self.supports.lift(bone, next).max(pushed) < ENOUGH {
                    break;
                }
            }
        }
    }

    /// Lists the points that are near a collider in this step, and the vertices that bone may have to support.
    fn gather(
        &mut self,
        colliders: &mut Colliders,
        samples: &Samples,
        (next, current): (&[Vec4], &[Vec4]),
        compliance: &[f32],
        fraction: f32,
    ) {
        self.near.clear();
        self.supports.clear();
        for (candidate, point) in (0u32..).zip(&mut colliders.candidates) {
            let touch = &colliders.entries[point.touch as usize].1;
            let kept = std::mem::take(&mut point.hold);
            let side = point.side.take();
            if touch.spares(samples.follows(point.sample)) {
                continue;
            }
            let [before, now] = point.offsets;
            point.offset = before + fraction * (now - before);
            let at = point.offset + samples.carried(point.sample, next);
            point.start = point.offset + samples.carried(point.sample, current);
            point.side = side.filter(|side| side.holds(touch, at, 0.0));
            point.side = point.side_met(touch, at);
            if point.side.is_none() && touch.collider.signed_distance(at, NEAR).is_none() {
                continue;
            }
            point.hold = Hold { anchor: kept.anchor, ..Hold::default() };
            point.begin_friction(touch);
            let is_kinematic = touch.drive == ColliderMotion::Kinematic;
            let mut sum = 0.0;
            for (vertex, weight) in samples.follows_freely(point.sample) {
                sum += weight * weight * compliance[*vertex as usize];
                self.supports.list(*vertex, is_kinematic);
            }
            self.near.push(Near { candidate, compliance: sum });
        }
    }

    /// One sweep over the contact forces of the listed points, by projected Gauss-Seidel: a force may shrink while others replace it, but
    /// is never negative. Without shrinking, points would end up off the collider by chance, come back in the next step, and so on for
    /// ever. Returns the largest displacement.
    fn push_out(
        &mut self,
        colliders: &mut Colliders,
        samples: &Samples,
        next: &mut [Vec4],
        matrices: &StepMatrices,
    ) -> f32 {
        let (step, compliance) = (matrices.step_time(), matrices.compliance());
        let mut largest = 0.0f32;
        for pressed in &self.pressed {
            let near = &self.near[*pressed as usize];
            let point = &mut colliders.candidates[near.candidate as usize];
            let touch = &mut colliders.entries[point.touch as usize].1;
            let at = point.offset + samples.carried(point.sample, next);
            let within = if point.hold.pressing > 0.0 { FAR } else { 0.0 };
            let Some(found) = point.plane(touch, point.side, at, within) else { continue };
            // Where bone holds the skin, a driven collider has to yield.
            let yielding = touch.compliance(step);
            let firm = |v: u32| if yielding == 0.0 { None } else { self.supports.firm(v) };
            let borne: f32 = if yielding == 0.0 {
                0.0
            } else {
                let firm = samples.follows_freely(point.sample).filter(|(v, _)| firm(*v).is_some());
                firm.map(|(v, w)| w * w * compliance[*v as usize]).sum()
            };
            let along_normal = near.compliance - borne + yielding;
            if along_normal <= 0.0 {
                continue;
            }
            let hold = &mut point.hold;
            let pressing = (hold.pressing - found.distance / along_normal).max(0.0);
            let push = pressing * found.normal - hold.pressing * hold.normal;
            let slip = hold.slip(touch, at, found.normal);
            let wanted = slip.map(|slip| hold.dragging - slip / (near.compliance + yielding));
            let dragged = wanted.map_or(Vec3::ZERO, |wanted| hold.drag(touch, wanted, pressing));
            (hold.pressing, hold.normal) = (pressing, found.normal);
            let force = push + dragged;
            largest = largest.max(along_normal * force.length());
            for (v, w) in samples.follows_freely(point.sample) {
                // Skin on bone can be dragged along it, but not pushed into it.
                let felt = firm(*v).map_or(force, |out| dragged - dragged.dot(out) * out);
                next[*v as usize] += (*w * compliance[*v as usize] * felt).extend(0.0);
            }
            touch.collider.now.translation -= yielding * force;
        }
        largest
    }

    /// Records contacts, their forces and the remaining penetrations.
    fn report(&self, colliders: &mut Colliders, samples: &Samples, next: &[Vec4]) {
        colliders.contacts.clear();
        let metres = 1.0 / colliders.scale.per_metre;
        for near in &self.near {
            let point = &mut colliders.candidates[near.candidate as usize];
            let (name, touch) = &mut colliders.entries[point.touch as usize];
            let at = point.offset + samples.carried(point.sample, next);
            let push = point.hold.force();
            touch.load.add(push, at);
            point.hold.anchor = point.hold.next_anchor(touch, at);
            point.side = point.side.filter(|side| side.holds(touch, at, ENOUGH));
            let Some(found) = touch.collider.signed_distance(at, ENOUGH) else { continue };
            touch.load.note_depth(-found.distance);
            if push != Vec3::ZERO {
                let area = samples.area(point.sample).max(f32::MIN_POSITIVE);
                colliders.contacts.push(Contact {
                    collider: *name,
                    vertex: samples.vertex(point.sample),
                    point: metres * at,
                    normal: found.normal,
                    force: metres * metres * push,
                    // Areas are in face heights² too, and pressures are the same at every size.
                    pressure: point.hold.pressing / area,
                });
            }
        }
        for (_, touch) in &mut colliders.entries {
            touch.end_step();
        }
    }
}
