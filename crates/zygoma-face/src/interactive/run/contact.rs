//! Pushing the skin out of what presses on it, at full resolution.

use glam::{Vec3, Vec4, Vec4Swizzles};
use zygoma_physics::shell::StepMatrices;

use super::samples::Samples;
use super::targets::Targets;
use super::touch::Drive;
use super::touches::{Contact, Touches};

/// Sweeps over the contact points of a step; each leaves less penetration than the one before. Ours.
const SWEEPS: usize = 12;

/// Sweeps end when no point is deeper than this share of the height.
const ENOUGH: f32 = 2e-5;

/// A point that was pushed is looked for this far from the collider, in heights.
const FAR: f32 = 0.1;

/// Points that are farther than this share of the height from every collider are not looked at again within a step.
const NEAR: f32 = 0.005;

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
                    pressing: 0.0,
                    dragging: Vec3::ZERO,
                    normal: Vec3::ZERO,
                });
            }
        }
    }
}

/// How deep the shell may be pushed in a step.
pub(super) struct Bone<'a> {
    /// Where the shell would rest.
    rested: &'a [Vec4],
    normals_before: &'a [Vec3],
    normals_now: &'a [Vec3],
    share: f32,
    depth: &'a [f32],
}

impl<'a> Bone<'a> {
    /// At a share of the frame between two targets whose normals are up to date.
    pub(super) fn at(
        before: &'a Targets,
        now: &'a Targets,
        share: f32,
        rested: &'a [Vec4],
        depth: &'a [f32],
    ) -> Self {
        Self { rested, normals_before: before.normals(), normals_now: now.normals(), share, depth }
    }

    /// How far a vertex is above the bone (negative: below it), and the way out.
    pub(super) fn below(&self, vertex: usize, position: Vec4) -> (f32, Vec3) {
        let before = self.normals_before[vertex];
        let normal = (before + self.share * (self.normals_now[vertex] - before)).normalize_or_zero();
        ((position - self.rested[vertex]).xyz().dot(normal) + self.depth[vertex], normal)
    }
}

/// What bone does to a vertex of the shell in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Support {
    /// How far it pushed the vertex out.
    lift: f32,
    /// Whether a collider that is stronger than bone is near.
    is_overruled: bool,
    is_listed: bool,
}

impl Support {
    fn is_firm(self) -> bool {
        self.lift > 0.0 && !self.is_overruled
    }
}

impl Touches {
    /// Pushes the skin out of the colliders and holds what is pulled, in a step that ends at a share of the frame. `next`
    /// are the shell's positions to be corrected, `current` those before the step.
    pub(super) fn resolve(
        &mut self,
        samples: &Samples,
        bone: &Bone<'_>,
        next: &mut [Vec4],
        current: &[Vec4],
        matrices: &StepMatrices,
        share: f32,
    ) {
        for (_, touch) in &mut self.touches {
            touch.load.begin_step();
        }
        self.gather(samples, next, current, share);
        for _ in 0..SWEEPS {
            let pushed = self.push_out(samples, next, matrices);
            if self.support(bone, next).max(pushed) < ENOUGH {
                break;
            }
        }
        self.report(samples, next);
        for (_, pull) in &mut self.pulls {
            pull.hold(share, next, matrices.resistance());
        }
    }

    /// Lists the points that are near a collider in this step, and the vertices that bone may have to support.
    fn gather(&mut self, samples: &Samples, next: &[Vec4], current: &[Vec4], share: f32) {
        self.near.clear();
        for vertex in self.supported.drain(..) {
            self.supports[vertex as usize] = Support::default();
        }
        for candidate in &self.candidates {
            let touch = &self.touches[candidate.touch as usize].1;
            let offset = candidate.offset_before + share * (candidate.offset_now - candidate.offset_before);
            let at = offset + samples.carried(candidate.sample, next);
            if touch.collider.probe(at, NEAR).is_none() {
                continue;
            }
            let before = offset + samples.carried(candidate.sample, current);
            self.near.push(Candidate { offset, before, ..*candidate });
            for (vertex, _) in samples.follows_freely(candidate.sample) {
                let support = &mut self.supports[*vertex as usize];
                support.is_overruled |= touch.drive == Drive::Kinematic;
                if !support.is_listed {
                    support.is_listed = true;
                    self.supported.push(*vertex);
                }
            }
        }
    }

    /// One sweep over the forces that keep the skin out, by Gauss-Seidel with projection: a force may be taken back while
    /// others do the same work, but never pulls. Without taking back, points would be left off the collider by chance,
    /// come back in the next step, and so on for ever. Returns the largest displacement.
    fn push_out(&mut self, samples: &Samples, next: &mut [Vec4], matrices: &StepMatrices) -> f32 {
        let (step, resistance) = (matrices.step_time(), matrices.resistance());
        let mut largest = 0.0f32;
        for candidate in &mut self.near {
            let touch = &mut self.touches[candidate.touch as usize].1;
            let at = candidate.offset + samples.carried(candidate.sample, next);
            let within = if candidate.pressing > 0.0 { FAR } else { 0.0 };
            let Some(probe) = touch.collider.probe(at, within) else { continue };
            // Where bone holds the skin, the collider has to give way.
            let yielding = touch.compliance(step);
            let gives_way = |v: u32| yielding == 0.0 || !self.supports[v as usize].is_firm();
            let carriers = || samples.follows_freely(candidate.sample).filter(|(v, _)| gives_way(*v));
            let compliance: f32 =
                carriers().map(|(v, w)| w * w / resistance[*v as usize]).sum::<f32>() + yielding;
            if compliance <= 0.0 {
                continue;
            }
            let pressing = (candidate.pressing - probe.distance / compliance).max(0.0);
            let mut force = pressing * probe.normal - candidate.pressing * candidate.normal;
            if touch.friction > 0.0 {
                // Coulomb: what it takes to stop the sliding, at most μ times the pressing.
                let slide = at - candidate.before - step * probe.velocity;
                let along = slide - slide.dot(probe.normal) * probe.normal;
                let dragging = candidate.dragging - along / compliance;
                let dragging = dragging.clamp_length_max(touch.friction * pressing);
                force += dragging - candidate.dragging;
                candidate.dragging = dragging;
            }
            (candidate.pressing, candidate.normal) = (pressing, probe.normal);
            largest = largest.max(compliance * force.length());
            for (v, w) in carriers() {
                next[*v as usize] += (*w / resistance[*v as usize] * force).extend(0.0);
            }
            touch.collider.now.translation -= yielding * force;
        }
        largest
    }

    /// One sweep over the bone below the skin that driven colliders press. Returns the largest displacement.
    fn support(&mut self, bone: &Bone<'_>, next: &mut [Vec4]) -> f32 {
        let mut largest = 0.0f32;
        for vertex in &self.supported {
            let vertex = *vertex as usize;
            let support = &mut self.supports[vertex];
            if support.is_overruled {
                continue;
            }
            let (below, normal) = bone.below(vertex, next[vertex]);
            let lift = (support.lift - below).max(0.0);
            next[vertex] += ((lift - support.lift) * normal).extend(0.0);
            largest = largest.max((lift - support.lift).abs());
            support.lift = lift;
        }
        largest
    }

    /// Notes what was pushed, how strongly, and how deep it still is.
    fn report(&mut self, samples: &Samples, next: &[Vec4]) {
        self.contacts.clear();
        let metres = 1.0 / self.per_metre;
        for candidate in &self.near {
            let (name, touch) = &mut self.touches[candidate.touch as usize];
            let at = candidate.offset + samples.carried(candidate.sample, next);
            touch.load.add(candidate.pressing * candidate.normal + candidate.dragging, at);
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
        for (_, touch) in &mut self.touches {
            touch.end_step();
        }
    }
}

fn distance_to_segment(point: Vec3, from: Vec3, to: Vec3) -> f32 {
    let along = to - from;
    let share = ((point - from).dot(along) / along.length_squared().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    point.distance(from + share * along)
}
