//! Skin that follows the rig exactly, as lids and the cut edges of a mesh do. It makes way for what is pressed on it, and returns.

use glam::Vec3;
use zygoma_physics::projective::Row;

use super::colliders::{MISSING, NEAR, place};
use super::skin_points::SkinPoints;
use crate::contact::{Colliders, ContactPoint};

/// Time in which held skin that nothing presses on returns to the rig, s. Ours, as those below.
const RETURN: f32 = 0.02;
/// Points that held skin carries by at least this fraction are moved by it, others by the tissue.
const MOSTLY: f32 = 0.5;
/// Held skin goes along with this fraction of the motion of the held skin beside it.
const TAUT: f32 = 0.8;
/// Skin this near to the rig is back, m.
const BACK: f32 = 1e-6;
/// Largest number of passes over the points in a step.
const PASSES: usize = 20;

/// How far held skin is from where the rig has it.
#[derive(Clone)]
pub(super) struct HeldSkin {
    /// The way of each held row, and whether it may have one now.
    ways: Vec<(Vec3, bool)>,
    /// Room for the next ways, and for the points that held skin carries, among the candidates.
    next: Vec<Vec3>,
    points: Vec<u32>,
}

impl HeldSkin {
    pub(super) fn new(skin: &SkinPoints) -> Self {
        let count = skin.areas.len() - skin.free;
        Self { ways: vec![(Vec3::ZERO, false); count], next: vec![Vec3::ZERO; count], points: Vec::new() }
    }

    /// Whether any of it has been moved.
    pub(super) fn is_moved(&self) -> bool {
        self.ways.iter().any(|(_, is_moved)| *is_moved)
    }

    /// All of it is where the rig has it.
    pub(super) fn forget(&mut self) {
        self.ways.fill((Vec3::ZERO, false));
    }

    /// Places held skin for a step in which the rig has the rows at a goal.
    pub(super) fn place(&mut self, skin: &SkinPoints, goal: &[Row<f32>], x: &mut [Row<f32>]) {
        for (row, (way, is_moved)) in (skin.free..).zip(&mut self.ways) {
            if std::mem::replace(is_moved, *way != Vec3::ZERO) {
                x[row] = goal[row];
                add(&mut x[row], *way);
            }
        }
    }

    /// Lets held skin return towards the rig in a step of some seconds, and towards the held skin beside it, for it is taut.
    pub(super) fn give_back(&mut self, skin: &SkinPoints, seconds: f32, x: &mut [Row<f32>]) {
        if !self.is_moved() {
            return;
        }
        let returning = 1.0 - (-seconds / RETURN).exp();
        self.next.fill(Vec3::ZERO);
        for (row, beside) in &skin.held {
            let way = |row: u32| self.ways[row as usize - skin.free].0;
            let sum: Vec3 = beside.iter().map(|row| way(*row)).sum();
            let goal = TAUT * sum / beside.len().max(1) as f32;
            let next = way(*row).lerp(goal, returning);
            self.next[*row as usize - skin.free] = if next.length() < BACK { Vec3::ZERO } else { next };
        }
        for (row, _) in &skin.held {
            let index = *row as usize - skin.free;
            self.shift(*row as usize, self.next[index] - self.ways[index].0, x);
        }
    }

    /// Moves held skin out of colliders.
    pub(super) fn make_way(&mut self, skin: &SkinPoints, colliders: &Colliders, x: &mut [Row<f32>]) {
        let is_pressed = |point: &ContactPoint| point.home.is_none() && is_held(skin, point.sample);
        let mut points = std::mem::take(&mut self.points);
        points.clear();
        points.extend(
            (0u32..).zip(&colliders.candidates).filter(|(_, point)| is_pressed(point)).map(|(k, _)| k),
        );
        for _ in 0..PASSES {
            let mut pushed = false;
            for point in &points {
                pushed |= self.push(skin, colliders, &colliders.candidates[*point as usize], x);
            }
            if !pushed {
                break;
            }
        }
        self.points = points;
        for (below, above) in &skin.below_held {
            let way = |row: &u32| self.ways[*row as usize - skin.free].0;
            let missing = way(above) - way(below);
            self.shift(*below as usize, missing, x);
        }
    }

    /// Moves the held rows that carry a point until it is outside of its collider. Returns whether it was inside.
    fn push(
        &mut self,
        skin: &SkinPoints,
        colliders: &Colliders,
        point: &ContactPoint,
        x: &mut [Row<f32>],
    ) -> bool {
        let (_, touch) = &colliders.entries[point.touch as usize];
        let at = place(point, &skin.samples, x);
        let Some(plane) = point.plane(touch, point.side_met(touch, at), at, NEAR) else { return false };
        let plane = colliders.before_bone(touch, plane, at);
        if plane.distance > -MISSING {
            return false;
        }
        let held = || skin.samples.follows(point.sample).iter().filter(|(row, _)| *row as usize >= skin.free);
        let squared: f32 = held().map(|(_, weight)| weight * weight).sum();
        for (row, weight) in held() {
            self.shift(*row as usize, -plane.distance * weight / squared * plane.normal, x);
        }
        true
    }

    fn shift(&mut self, row: usize, by: Vec3, x: &mut [Row<f32>]) {
        if by == Vec3::ZERO {
            return;
        }
        let first = x.len() - self.ways.len();
        let (way, is_moved) = &mut self.ways[row - first];
        *way += by;
        *is_moved = true;
        add(&mut x[row], by);
    }
}

/// Whether held skin carries most of a point.
pub(super) fn is_held(skin: &SkinPoints, sample: u32) -> bool {
    let free: f32 = skin.samples.follows_freely(sample).map(|(_, weight)| weight).sum();
    free <= 1.0 - MOSTLY
}

fn add(to: &mut Row<f32>, way: Vec3) {
    (0..3).for_each(|k| to[k] += way[k]);
}
