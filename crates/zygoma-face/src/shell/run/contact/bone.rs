//! Bone below the skin of a shell: how deep its vertices may be pushed.

use glam::{Vec3, Vec4, Vec4Swizzles};

use crate::shell::run::targets::{Fans, Targets};

/// The maximum depth of the shell in a step.
pub(crate) struct Bone<'a> {
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
    pub(crate) fn at(
        [before, now]: [&'a mut Targets; 2],
        fans: &'a Fans,
        fraction: f32,
        rested: &'a [Vec4],
        depth: &'a [f32],
    ) -> Self {
        Self { before, now, fans, fraction, rested, depth }
    }

    /// Whether a vertex may be too deep: a conservative test of its distance from rest, without a square root.
    pub(crate) fn may_be_below(&self, vertex: usize, position: Vec4) -> bool {
        is_beyond(position - self.rested[vertex], self.depth[vertex])
    }

    /// Signed distance of a vertex above the bone (negative: below it), and the outward normal.
    pub(crate) fn below(&mut self, vertex: usize, position: Vec4) -> (f32, Vec3) {
        self.before.find_normal(vertex, self.fans);
        self.now.find_normal(vertex, self.fans);
        let before = self.before.normal(vertex);
        let normal = (before + self.fraction * (self.now.normal(vertex) - before)).normalize_or_zero();
        ((position - self.rested[vertex]).xyz().dot(normal) + self.depth[vertex], normal)
    }
}

/// Whether an offset may be longer than a length: a conservative test by its largest coordinate.
pub(crate) fn is_beyond(offset: Vec4, length: f32) -> bool {
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
    /// The outward normal of the bone, if it supports the vertex.
    fn firm(self) -> Option<Vec3> {
        (self.lift > 0.0 && !self.is_overruled).then_some(self.normal)
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

    /// Forgets the vertices of the last step.
    pub(super) fn clear(&mut self) {
        for vertex in self.listed.drain(..) {
            self.each[vertex as usize] = Support::default();
        }
    }

    /// Lists a vertex near a collider, which may overrule bone.
    pub(super) fn list(&mut self, vertex: u32, is_overruled: bool) {
        let support = &mut self.each[vertex as usize];
        support.is_overruled |= is_overruled;
        if !support.is_listed {
            support.is_listed = true;
            self.listed.push(vertex);
        }
    }

    /// The outward normal of the bone that supports a vertex, if any does.
    pub(super) fn firm(&self, vertex: u32) -> Option<Vec3> {
        self.each[vertex as usize].firm()
    }

    /// One sweep over the bone below skin that driven colliders press. Returns the largest displacement.
    pub(super) fn lift(&mut self, bone: &mut Bone<'_>, next: &mut [Vec4]) -> f32 {
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
