//! Targets of skin that hands push and pull (Thesis ch. 6, Algorithms 2 to 4).

use std::collections::{BTreeMap, BTreeSet};

use glam::Vec3;
use zygoma_geometry::closest::SignedSurface;
use zygoma_hand::{Finger, HandMesh, HandPose};

/// Δε of Table 8, as the number of parts of a tick.
const PARTS: usize = 20;
/// r and l_min of Table 8, m.
const RADIUS: f32 = 5e-3;
const SHORTEST: f32 = 25e-3;

/// A point of the skin and its target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pin {
    pub(super) sample: u32,
    pub(super) target: Vec3,
}

/// Skin that is held between fingers, by hand and finger: I_pull.
#[derive(Clone, Debug, Default)]
pub(super) struct Interactions {
    pulled: BTreeMap<(u64, usize), BTreeSet<u32>>,
}

/// A hand at the last tick and at this one.
pub(super) type Moved = (u64, [HandPose; 2]);

impl Interactions {
    /// The targets of a tick, with points of the skin where they were simulated last and where they are tracked now.
    pub(super) fn find(&mut self, hands: &[Moved], [before, now]: &[Vec<Vec3>; 2], paths: bool) -> Vec<Pin> {
        self.pulled.retain(|(hand, _), _| hands.iter().any(|(own, _)| own == hand));
        let mut pins = Vec::new();
        let middle = now.iter().sum::<Vec3>() / now.len().max(1) as f32;
        for hand in hands {
            self.pull(hand, now, middle, &mut pins);
        }
        let mut taken: BTreeSet<u32> = pins.iter().map(|pin| pin.sample).collect();
        for (_, [last, pose]) in hands {
            push([last, pose], [before, now], paths, &mut taken, &mut pins);
        }
        pins
    }

    /// Algorithm 3: marks skin in cylinders that get shorter, and lets go of it when they are long again.
    fn pull(&mut self, (hand, [last, pose]): &Moved, now: &[Vec3], middle: Vec3, pins: &mut Vec<Pin>) {
        for finger in Finger::ALL {
            let length = |hand: &HandPose| {
                let [thumb, pad] = hand.pinch_points(finger);
                thumb.distance(pad)
            };
            let held = self.pulled.entry((*hand, finger as usize)).or_default();
            let cylinder = pose.pinch_points(finger);
            if length(pose) >= SHORTEST {
                held.clear();
            } else if length(pose) < length(last) {
                held.extend((0u32..).zip(now).filter(|(_, at)| is_inside(&cylinder, **at)).map(|(s, _)| s));
            }
            let new =
                held.iter().map(|s| Pin { sample: *s, target: ridge(&cylinder, now[*s as usize], middle) });
            pins.extend(new);
        }
    }

    /// Points that are still inside a hand, with the nearest point of its surface (Thesis ch. 6 eq. 10).
    pub(super) fn remaining(&self, hands: &[Moved], at: &[Vec3]) -> Vec<Pin> {
        let held: BTreeSet<u32> = self.pulled.values().flatten().copied().collect();
        let mut found = Vec::new();
        for (_, [_, pose]) in hands {
            let Some(surface) = surface_of(pose) else { continue };
            for (sample, at) in (0u32..).zip(at) {
                if held.contains(&sample) {
                    continue;
                }
                if let Some(inside) = surface.closest(*at, 0.0).filter(|found| found.signed_distance < 0.0) {
                    found.push(Pin { sample, target: inside.nearest.point });
                }
            }
        }
        found
    }
}

/// Algorithm 2: skin that a hand meets on its way is dragged along to the same point of the hand.
fn push(
    [last, pose]: [&HandPose; 2],
    [before, now]: [&[Vec3]; 2],
    paths: bool,
    taken: &mut BTreeSet<u32>,
    pins: &mut Vec<Pin>,
) {
    let skin = HandMesh::built_in(pose.side());
    let [from, to] = [last, pose].map(|hand| skin.posed(hand));
    let Some(mut surface) = surface_of(pose) else { return };
    let first = if paths { 0 } else { PARTS };
    for part in first..=PARTS {
        let t = part as f32 / PARTS as f32;
        let vertices: Vec<Vec3> = from.iter().zip(&to).map(|(a, b)| a.lerp(*b, t)).collect();
        if surface.deform(&vertices).is_err() {
            return;
        }
        for (sample, (a, b)) in (0u32..).zip(before.iter().zip(now)) {
            let met = surface.closest(a.lerp(*b, t), 0.0).filter(|found| found.signed_distance < 0.0);
            let Some(met) = met else { continue };
            if taken.insert(sample) {
                let corners = skin.rest.triangles[met.nearest.triangle as usize];
                let target = (0..3).map(|i| met.nearest.barycentric[i] * to[corners[i] as usize]).sum();
                pins.push(Pin { sample, target });
            }
        }
    }
}

fn is_inside([start, end]: &[Vec3; 2], at: Vec3) -> bool {
    let (length, axis) = (start.distance(*end), (*end - *start).normalize_or_zero());
    let along = (at - *start).dot(axis);
    (0.0..=length).contains(&along) && (at - *start - along * axis).length() <= RADIUS
}

/// Algorithm 4: the place of a point on the ridge between thumb and finger, whose normal leads away from the middle of the head.
fn ridge([start, end]: &[Vec3; 2], at: Vec3, middle: Vec3) -> Vec3 {
    let centre = 0.5 * (*start + *end);
    let length = start.distance(*end);
    let normal = (centre - middle).normalize_or_zero();
    let plane = at - (at - centre).dot(normal) * normal;
    let nearest = start.distance(plane).min(end.distance(plane));
    let height = (nearest / (0.5 * length)).min(1.0);
    plane + height * length * normal
}

/// The built-in hand's surface in a pose.
fn surface_of(pose: &HandPose) -> Option<SignedSurface> {
    let skin = HandMesh::built_in(pose.side());
    let mut surface = SignedSurface::new(skin.rest.clone()).ok()?;
    surface.deform(&skin.posed(pose)).ok()?;
    Some(surface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ridge_is_highest_between_the_fingers_and_never_a_spike() {
        let cylinder = [Vec3::new(-0.005, 0.0, 0.1), Vec3::new(0.005, 0.0, 0.1)];
        let height = |x: f32| ridge(&cylinder, Vec3::new(x, 0.0, 0.098), Vec3::ZERO).z - 0.1;
        assert!((height(0.0) - 0.01).abs() < 1e-4 && height(0.005).abs() < 1e-4);
        assert!(height(0.03) <= 0.0101, "κ is at most 1, however far the skin is left behind");
    }
}
