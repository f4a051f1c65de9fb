//! Pushing the skin out of what presses on it, at full resolution.

use glam::{Vec3, Vec4, Vec4Swizzles};
use zygoma_physics::shell::StepMatrices;

use super::samples::Samples;
use super::touches::{Contact, Touches};

/// Sweeps over the contact points of a step; each leaves less penetration than the one before. Ours.
const SWEEPS: usize = 12;

/// Sweeps end when no point is deeper than this share of the height.
const ENOUGH: f32 = 2e-5;

/// A point that was pushed is looked for this far from the collider, in heights.
const FAR: f32 = 0.1;

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
    /// Its offset at the end of the step, and where it was before the step.
    offset: Vec3,
    before: Vec3,
    /// How far a force moves it in the step.
    compliance: f32,
    /// Forces on it in the step: along the normal, never pulling, and of friction.
    pressing: f32,
    dragging: Vec3,
    /// Where the pressing is directed.
    normal: Vec3,
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
                    compliance: 0.0,
                    pressing: 0.0,
                    dragging: Vec3::ZERO,
                    normal: Vec3::ZERO,
                });
            }
        }
    }
}

impl Touches {
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
        self.gather(samples, next, current, matrices.resistance(), share);
        self.push_out(samples, next, matrices);
        self.report(samples, next);
        for (_, pull) in &mut self.pulls {
            pull.hold(share, next, matrices.resistance());
        }
    }

    /// Lists the points that are near a collider in this step.
    fn gather(&mut self, samples: &Samples, next: &[Vec4], current: &[Vec4], resistance: &[f32], share: f32) {
        self.near.clear();
        for candidate in &self.candidates {
            let touch = &self.touches[candidate.touch as usize].1;
            let offset = candidate.offset_before + share * (candidate.offset_now - candidate.offset_before);
            let at = offset + samples.carried(candidate.sample, next);
            if touch.collider.probe(at, NEAR).is_some() {
                let before = offset + samples.carried(candidate.sample, current);
                let compliance = samples.compliance(candidate.sample, resistance);
                if compliance > 0.0 {
                    self.near.push(Candidate { offset, before, compliance, ..*candidate });
                }
            }
        }
    }

    /// Finds the forces that keep the skin out, by Gauss-Seidel with projection: a force may be taken back while others
    /// do the same work, but never pulls. Without taking back, points would be left off the collider by chance, come back
    /// in the next step, and so on for ever.
    fn push_out(&mut self, samples: &Samples, next: &mut [Vec4], matrices: &StepMatrices) {
        let (step, resistance) = (matrices.step_time(), matrices.resistance());
        for _ in 0..SWEEPS {
            let mut largest = 0.0f32;
            for candidate in &mut self.near {
                let touch = &mut self.touches[candidate.touch as usize].1;
                let at = candidate.offset + samples.carried(candidate.sample, next);
                let Some(probe) = touch.collider.probe(at, FAR) else { continue };
                let pressing = (candidate.pressing - probe.distance / candidate.compliance).max(0.0);
                let mut force = pressing * probe.normal - candidate.pressing * candidate.normal;
                (candidate.pressing, candidate.normal) = (pressing, probe.normal);
                if touch.friction > 0.0 {
                    // Coulomb: what it takes to stop the sliding, at most μ times the pressing.
                    let slide = at - candidate.before - step * probe.velocity;
                    let along = slide - slide.dot(probe.normal) * probe.normal;
                    let dragging = candidate.dragging - along / candidate.compliance;
                    let dragging = dragging.clamp_length_max(touch.friction * pressing);
                    force += dragging - candidate.dragging;
                    candidate.dragging = dragging;
                }
                largest = largest.max(candidate.compliance * force.length());
                samples.push(candidate.sample, force, next, resistance);
            }
            if largest < ENOUGH {
                break;
            }
        }
        for candidate in &self.near {
            let touch = &mut self.touches[candidate.touch as usize].1;
            let force = candidate.pressing * candidate.normal + candidate.dragging;
            let at = candidate.offset + samples.carried(candidate.sample, next);
            touch.force -= force;
            touch.load.add(force, at);
        }
    }

    /// Notes what was pushed, how deep it still is and how strongly it was pushed.
    fn report(&mut self, samples: &Samples, next: &[Vec4]) {
        self.contacts.clear();
        let metres = 1.0 / self.per_metre;
        for candidate in &self.near {
            let (name, touch) = &mut self.touches[candidate.touch as usize];
            let at = candidate.offset + samples.carried(candidate.sample, next);
            let Some(probe) = touch.collider.probe(at, ENOUGH) else { continue };
            touch.load.note_depth(-probe.distance);
            let push = candidate.pressing * candidate.normal + candidate.dragging;
            if push != Vec3::ZERO {
                let area = samples.area(candidate.sample).max(f32::MIN_POSITIVE);
                self.contacts.push(Contact {
                    touch: *name,
                    vertex: samples.vertex(candidate.sample),
                    point: metres * at,
                    normal: probe.normal,
                    force: metres * metres * push,
                    // Areas are in heights too, and pressures are the same at every size.
                    pressure: candidate.pressing / area,
                });
            }
        }
    }
}

fn distance_to_segment(point: Vec3, from: Vec3, to: Vec3) -> f32 {
    let along = to - from;
    let share = ((point - from).dot(along) / along.length_squared().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    point.distance(from + share * along)
}
