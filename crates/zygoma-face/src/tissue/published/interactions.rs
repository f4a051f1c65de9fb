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

/// Interactions over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Interactions {
    /// Skin that is held between fingers, by hand and finger: I_pull.
    pulled: BTreeMap<(u64, usize), BTreeSet<u32>>,
    /// Surfaces of the left and of the right hand, made when they are first needed.
    surfaces: [Option<SignedSurface>; 2],
}

/// A hand at the last tick and at this one.
pub(super) type Moved = (u64, [HandPose; 2]);

impl Interactions {
    /// The targets of a tick, with points of the skin where they were simulated last and where they are tracked now.
    pub(super) fn find(&mut self, hands: &[Moved], [before, now]: [&[Vec3]; 2], paths: bool) -> Vec<Pin> {
        self.pulled.retain(|(hand, _), _| hands.iter().any(|(own, _)| own == hand));
        let mut pins = Vec::new();
        let middle = now.iter().sum::<Vec3>() / now.len().max(1) as f32;
        for hand in hands {
            self.pull(hand, [before, now], middle, &mut pins);
        }
        let mut taken: BTreeSet<u32> = pins.iter().map(|pin| pin.sample).collect();
        for (_, [last, pose]) in hands {
            let Some(surface) = self.surface_of(pose) else { continue };
            push(surface, [last, pose], [before, now], paths, &mut taken, &mut pins);
        }
        pins
    }

    /// Lets go of all skin.
    pub(super) fn let_go(&mut self) {
        self.pulled.clear();
    }

    /// NePHIM Algorithm 3: marks skin in cylinders that get shorter, and lets go of it when they are long again.
    fn pull(
        &mut self,
        (hand, [last, pose]): &Moved,
        [before, now]: [&[Vec3]; 2],
        middle: Vec3,
        pins: &mut Vec<Pin>,
    ) {
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
                held.extend(
                    (0u32..).zip(before).filter(|(_, at)| is_inside(&cylinder, **at)).map(|(s, _)| s),
                );
            }
            let new =
                held.iter().map(|s| Pin { sample: *s, target: ridge(&cylinder, now[*s as usize], middle) });
            pins.extend(new);
        }
    }

    /// Points that are still inside a hand, with the nearest point of its surface (Thesis ch. 6 eq. 10).
    pub(super) fn remaining(&mut self, hands: &[Moved], at: &[Vec3]) -> Vec<Pin> {
        let held: BTreeSet<u32> = self.pulled.values().flatten().copied().collect();
        let mut found = Vec::new();
        for (_, [_, pose]) in hands {
            let Some(surface) = self.surface_of(pose) else { continue };
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

    /// The built-in hand's surface in a pose.
    fn surface_of(&mut self, pose: &HandPose) -> Option<&mut SignedSurface> {
        let skin = HandMesh::built_in(pose.side());
        let own = &mut self.surfaces[pose.side() as usize];
        if own.is_none() {
            *own = SignedSurface::new(skin.rest.clone()).ok();
        }
        let surface = own.as_mut()?;
        surface.deform(&skin.posed(pose)).ok()?;
        Some(surface)
    }
}

/// NePHIM Algorithm 2: skin that a hand meets on its way is dragged along to the same point of the hand.
fn push(
    surface: &mut SignedSurface,
    [last, pose]: [&HandPose; 2],
    [before, now]: [&[Vec3]; 2],
    paths: bool,
    taken: &mut BTreeSet<u32>,
    pins: &mut Vec<Pin>,
) {
    let skin = HandMesh::built_in(pose.side());
    let [from, to] = [last, pose].map(|hand| skin.posed(hand));
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

/// NePHIM Algorithm 4: the place of a point on the ridge between thumb and finger, whose normal leads away from the middle of the head.
fn ridge([start, end]: &[Vec3; 2], at: Vec3, middle: Vec3) -> Vec3 {
    let centre = 0.5 * (*start + *end);
    let length = start.distance(*end);
    let normal = (centre - middle).normalize_or_zero();
    let plane = at - (at - centre).dot(normal) * normal;
    let nearest = start.distance(plane).min(end.distance(plane));
    let height = (nearest / (0.5 * length)).min(1.0);
    plane + height * length * normal
}

#[cfg(test)]
mod tests {
    use zygoma_hand::{Joint, Posture, Side};
    use zygoma_physics::contact::Pose;

    use super::*;

    fn moved(hand: &HandPose, by: Vec3) -> HandPose {
        hand.moved(&Pose::at(by))
    }

    /// The pad between the last two joints of a straight index finger.
    fn on_finger(hand: &HandPose) -> Vec3 {
        hand.at(Joint::IndexDistal).lerp(hand.at(Joint::IndexTip), 0.5)
    }

    #[test]
    fn skin_that_a_hand_passes_is_dragged_along_by_the_point_that_met_it() {
        let end = Posture::pointing().pose(Side::Right);
        let way = 0.04 * end.palmar(Joint::IndexDistal);
        let start = moved(&end, -way);
        // On the way of the finger, which has left it behind at the end.
        let passed = on_finger(&end) - 0.5 * way;
        let beside = passed + 0.2 * Vec3::X;
        let places = [passed, beside];
        let mut interactions = Interactions::default();
        let pins = interactions.find(&[(0, [start, end])], [&places, &places], true);
        assert_eq!(pins.iter().map(|pin| pin.sample).collect::<Vec<_>>(), [0]);
        let surface = interactions.surface_of(&end).expect("the built-in hand is closed");
        let found = surface.closest(pins[0].target, 1e-3).expect("it is on the hand");
        assert!(found.signed_distance.abs() < 1e-5, "{found:?}");
        let along = (pins[0].target - passed).dot(way.normalize());
        assert!(along > 0.02, "it goes on with the palmar side of the finger: {along} m");
        let unseen = interactions.find(&[(0, [start, end])], [&places, &places], false);
        assert!(unseen.is_empty(), "without paths only the end of the way counts");
    }

    #[test]
    fn a_cylinder_that_gets_short_holds_the_skin_in_it_until_it_is_long_again() {
        let hand = |gap: f32| Posture::pinch_with(1, gap).pose(Side::Left);
        let middle = |hand: &HandPose| {
            let [thumb, pad] = hand.pinch_points(Finger::Index);
            0.5 * (thumb + pad)
        };
        let (wide, near, short) = (hand(0.04), hand(0.023), hand(0.012));
        let places = [middle(&short), middle(&short) + 0.05 * Vec3::X];
        let mut interactions = Interactions::default();
        let mut held = |from: &HandPose, to: &HandPose| {
            interactions.find(&[(7, [*from, *to])], [&places, &places], true);
            interactions.pulled.get(&(7, Finger::Index as usize)).map_or(0, BTreeSet::len)
        };
        assert_eq!(held(&wide, &wide), 0);
        assert_eq!(held(&short, &near), 0, "it gets longer");
        assert_eq!(held(&near, &short), 1);
        assert_eq!(held(&short, &near), 1, "it is still shorter than l_min");
        assert_eq!(held(&near, &wide), 0);
        assert_eq!(held(&wide, &short), 1);
        interactions.find(&[], [&places, &places], true);
        assert!(interactions.pulled.is_empty(), "a hand that has gone holds nothing");
    }

    #[test]
    fn a_correction_leads_to_the_nearest_point_of_the_hand_and_spares_held_skin() {
        let hand = Posture::pointing().pose(Side::Right);
        let inside = on_finger(&hand) + 0.003 * hand.palmar(Joint::IndexDistal);
        let places = [inside, inside + 0.05 * Vec3::X];
        let mut interactions = Interactions::default();
        let left = interactions.remaining(&[(0, [hand, hand])], &places);
        assert_eq!(left.iter().map(|pin| pin.sample).collect::<Vec<_>>(), [0]);
        let surface = interactions.surface_of(&hand).expect("the built-in hand is closed");
        let depth = -surface.closest(inside, 0.0).expect("it is inside").signed_distance;
        assert!(depth > 1e-3 && (left[0].target.distance(inside) - depth).abs() < 1e-6);
        interactions.pulled.entry((0, 0)).or_default().insert(0);
        assert!(interactions.remaining(&[(0, [hand, hand])], &places).is_empty());
    }

    #[test]
    fn a_ridge_is_highest_between_the_fingers_and_never_a_spike() {
        let cylinder = [Vec3::new(-0.005, 0.0, 0.1), Vec3::new(0.005, 0.0, 0.1)];
        let height = |x: f32| ridge(&cylinder, Vec3::new(x, 0.0, 0.098), Vec3::ZERO).z - 0.1;
        assert!((height(0.0) - 0.01).abs() < 1e-4 && height(0.005).abs() < 1e-4);
        assert!(height(0.03) <= 0.0101, "κ is at most 1, however far the skin is left behind");
    }
}
