//! Pushing the skin out of what presses on it, at full resolution.

use glam::{Vec3, Vec4, Vec4Swizzles};
use zygoma_physics::shell::{Push, StepMatrices};

use super::samples::Samples;
use super::touch::Drive;
use super::touches::{Contact, Touches};

/// Sweeps over the contact points of a step; each leaves less penetration than the one before. Ours.
const SWEEPS: usize = 12;

/// Sweeps end when no point is deeper than this share of the height.
const ENOUGH: f32 = 2e-5;

/// A vertex of the shell that carries at least this much of a contact point moves with what pushes it. Ours.
const CARRIES: f32 = 0.2;

/// Points that are farther than this share of the height from every collider are not looked at again within a step.
const NEAR: f32 = 0.01;

/// A point of the skin that may meet a collider.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    touch: u32,
    sample: u32,
    /// Where the point lies apart from the shell's own positions, at the start and at the end of the frame.
    offset_before: Vec3,
    offset_now: Vec3,
    /// Its offset at the end of the step, where it was before the step, and the push on it in the step.
    offset: Vec3,
    before: Vec3,
    push: Vec3,
}

/// What is drawn on the shell at one time: neutral and detail in metres, and what the shell misses of its target.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub(super) base: &'a [Vec3],
    pub(super) residual: &'a [Vec4],
}

/// What the skin does during a frame apart from the shell's own motion, for finding contacts.
pub(super) struct Skin<'a> {
    pub(super) samples: &'a Samples,
    pub(super) rest: &'a [Vec4],
    pub(super) per_metre: f32,
    pub(super) before: Layer<'a>,
    pub(super) now: Layer<'a>,
}

impl Skin<'_> {
    /// Lists the points that are within `reach` of the way from one place to another.
    pub(super) fn find_candidates(
        &self,
        touch: u32,
        from: Vec3,
        to: Vec3,
        reach: f32,
        shell: &[Vec4],
        candidates: &mut Vec<Candidate>,
    ) {
        for (vertex, position) in shell.iter().enumerate() {
            let (group, spread) = self.samples.group(vertex);
            let within = reach + 1.5 * spread;
            if group.is_empty() || distance_to_segment(position.xyz(), from, to) > within {
                continue;
            }
            for sample in group {
                let offset =
                    |layer: &Layer<'_>| self.samples.offset(*sample, layer, self.per_metre, self.rest);
                candidates.push(Candidate {
                    touch,
                    sample: *sample,
                    offset_before: offset(&self.before),
                    offset_now: offset(&self.now),
                    offset: Vec3::ZERO,
                    before: Vec3::ZERO,
                    push: Vec3::ZERO,
                });
            }
        }
    }
}

impl Touches {
    /// Vertices that were pushed in the last step, with the velocity of what pushed them.
    pub(super) fn pushed(&self) -> &[Push] {
        &self.pushed
    }

    /// Flags the vertices that a kinematic collider pushed in the last step: such a push is stronger than bone.
    pub(super) fn mark_overruled(&self, overruled: &mut [bool]) {
        overruled.fill(false);
        for push in self.pushed.iter().take(self.pushed_by_kinematic) {
            overruled[push.vertex as usize] = true;
        }
    }

    /// Pushes the skin out of the colliders and holds what is pulled, in a step that ends at a share of the frame. `next`
    /// are the shell's positions to be corrected, `current` those before the step.
    pub(super) fn resolve(
        &mut self,
        samples: &Samples,
        next: &mut [Vec4],
        current: &[Vec4],
        matrices: &StepMatrices,
        share: f32,
    ) {
        for (_, touch) in &mut self.touches {
            touch.force = Vec3::ZERO;
            touch.load.begin_step();
        }
        self.gather(samples, next, current, share);
        self.push_out(samples, next, matrices);
        self.report(samples, next);
        for (_, pull) in &mut self.pulls {
            pull.hold(share, next, matrices.resistance());
        }
    }

    /// Lists the points that are near a collider in this step.
    fn gather(&mut self, samples: &Samples, next: &[Vec4], current: &[Vec4], share: f32) {
        self.near.clear();
        for candidate in &self.candidates {
            let touch = &self.touches[candidate.touch as usize].1;
            let offset = candidate.offset_before + share * (candidate.offset_now - candidate.offset_before);
            let at = offset + samples.carried(candidate.sample, next);
            if touch.collider.probe(at, NEAR).is_some() {
                let before = offset + samples.carried(candidate.sample, current);
                self.near.push(Candidate { offset, before, push: Vec3::ZERO, ..*candidate });
            }
        }
    }

    fn push_out(&mut self, samples: &Samples, next: &mut [Vec4], matrices: &StepMatrices) {
        let step = matrices.step_time();
        for _ in 0..SWEEPS {
            let mut deepest = 0.0f32;
            for candidate in &mut self.near {
                let touch = &mut self.touches[candidate.touch as usize].1;
                let at = candidate.offset + samples.carried(candidate.sample, next);
                let Some(probe) = touch.collider.probe(at, 0.0) else { continue };
                deepest = deepest.max(-probe.distance);
                let mut correction = -probe.distance * probe.normal;
                if touch.friction > 0.0 {
                    // Sliding is held back by at most μ times the push (Coulomb, in positions).
                    let slide = at - candidate.before - step * probe.velocity;
                    let along = slide - slide.dot(probe.normal) * probe.normal;
                    correction -= along.clamp_length_max(touch.friction * -probe.distance);
                }
                let force = samples.push(candidate.sample, correction, next, matrices.resistance());
                candidate.push += force;
                touch.force -= force;
                touch.load.add(force, probe.point);
            }
            if deepest < ENOUGH {
                break;
            }
        }
    }

    /// Notes what was pushed, how deep it still is and how strongly it was pushed.
    fn report(&mut self, samples: &Samples, next: &[Vec4]) {
        self.pushed.clear();
        self.contacts.clear();
        let metres = 1.0 / self.per_metre;
        for kinematic in [true, false] {
            for candidate in &self.near {
                let (name, touch) = &mut self.touches[candidate.touch as usize];
                if (touch.drive == Drive::Kinematic) != kinematic {
                    continue;
                }
                let at = candidate.offset + samples.carried(candidate.sample, next);
                let Some(probe) = touch.collider.probe(at, ENOUGH) else { continue };
                touch.load.note_depth(-probe.distance);
                let velocity = probe.velocity.clamp_length_max(super::TOP_SPEED);
                let carriers = samples.follows(candidate.sample).iter().filter(|(_, w)| *w > CARRIES);
                self.pushed.extend(carriers.map(|(v, _)| Push {
                    vertex: *v,
                    normal: probe.normal,
                    velocity,
                }));
                if candidate.push != Vec3::ZERO {
                    let area = samples.area(candidate.sample).max(f32::MIN_POSITIVE);
                    self.contacts.push(Contact {
                        touch: *name,
                        vertex: samples.vertex(candidate.sample),
                        point: metres * at,
                        normal: probe.normal,
                        force: metres * metres * candidate.push,
                        // Areas are in heights too, and pressures are the same at every size.
                        pressure: candidate.push.dot(probe.normal) / area,
                    });
                }
            }
            if kinematic {
                self.pushed_by_kinematic = self.pushed.len();
            }
        }
    }
}

fn distance_to_segment(point: Vec3, from: Vec3, to: Vec3) -> f32 {
    let along = to - from;
    let share = ((point - from).dot(along) / along.length_squared().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    point.distance(from + share * along)
}
