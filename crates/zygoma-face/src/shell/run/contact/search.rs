//! Finds the points of a shell's skin that may touch a collider in a frame.

use glam::{Vec3, Vec4, Vec4Swizzles};

use super::ShellContact;
use crate::contact::{Colliders, ContactPoint, HeadWay, Layer, Reach, Samples};

/// Motion of the skin during a frame apart from the shell's own, for finding contacts.
pub(crate) struct Skin<'a> {
    pub(crate) samples: &'a Samples,
    pub(crate) rest: &'a [Vec4],
    pub(crate) per_metre: f32,
    pub(crate) before: Layer<'a>,
    pub(crate) now: Layer<'a>,
    /// The shell at the start of the frame.
    pub(crate) shell: &'a [Vec4],
    /// Maximum motion of each vertex of the shell in the frame, and the maximum over all.
    pub(crate) travel: Travel<'a>,
}

/// Bounds on the motion of a shell's vertices in a frame, in face heights: by their targets, or by their velocity.
pub(crate) struct Travel<'a> {
    pub(crate) targets: [&'a [Vec4]; 2],
    pub(crate) velocities: &'a [Vec4],
    pub(crate) seconds: f32,
    /// Upper limit of these bounds: faster skin is found again in the next frame.
    pub(crate) most: f32,
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
struct Way {
    from: Vec3,
    to: Vec3,
    radius: f32,
}

impl Skin<'_> {
    /// Upper bound on the motion of any of the skin.
    fn farthest(&self) -> f32 {
        self.travel.farthest()
    }

    /// Lists the points that may come within the radius of a path while skin moves by `farthest` at most.
    /// Only points that follow one of the given vertices are looked at.
    fn find_candidates(
        &self,
        touch: u32,
        way: &Way,
        (farthest, vertices): (f32, impl Iterator<Item = usize>),
        found: &mut Vec<ContactPoint>,
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
                    found.push(ContactPoint::new(touch, sample, [offset_before, offset(&self.now)], at));
                }
            }
        }
    }

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

impl ShellContact {
    /// Finds the points that may come within a margin of colliders in the new frame.
    pub(crate) fn find_candidates(
        &mut self,
        colliders: &mut Colliders,
        skin: &Skin<'_>,
        head: &HeadWay,
        margin: f32,
    ) {
        colliders.candidates.clear();
        let farthest = skin.farthest();
        let mut hand = None;
        let mut found = std::mem::take(&mut colliders.candidates);
        for (index, (_, touch)) in (0u32..).zip(&colliders.entries) {
            if touch.hand.is_some() && touch.hand != hand {
                hand = touch.hand;
                let reach = touch.hand.and_then(|hand| colliders.reach(hand, head, 1.0));
                skin.list_reached(reach, margin + 2.0 * farthest, &mut self.reached);
            }
            if touch.is_through() {
                continue;
            }
            let radius = touch.bounding_radius() + touch.detour(head) + margin;
            let way = Way { from: touch.start(head), to: touch.wanted(head, 1.0).translation, radius };
            if touch.hand.is_some() {
                let near = self.reached.iter().map(|vertex| *vertex as usize);
                skin.find_candidates(index, &way, (farthest, near), &mut found);
            } else {
                skin.find_candidates(index, &way, (farthest, 0..skin.shell.len()), &mut found);
            }
        }
        colliders.candidates = found;
        colliders.find_kept();
    }
}

fn distance_to_segment(point: Vec3, from: Vec3, to: Vec3) -> f32 {
    let along = to - from;
    let fraction =
        ((point - from).dot(along) / along.length_squared().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    point.distance(from + fraction * along)
}
