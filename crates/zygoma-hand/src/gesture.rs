//! Gestures of the built-in hand at a spot of a surface: poke, pinch, stroke and the like.

use glam::{Quat, Vec3};
use zygoma_physics::contact::Pose;

use crate::joints::{Finger, Joint, Side};
use crate::pose::HandPose;
use crate::posture::{Posture, frame};

/// Distance from the surface at which a gesture begins and ends, m. Ours, as all below.
const AWAY: f32 = 0.06;
/// Gap of a pinch before it closes, and when it is closed, m.
const WIDE: f32 = 0.036;
const CLOSED: f32 = 0.008;
/// The widest gap between thumb and index finger, m.
const WIDEST: f32 = 0.06;

/// A kind of gesture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gesture {
    /// A straight index finger presses.
    Poke,
    /// Thumb and fingers close on the surface and let go.
    Pinch,
    /// Flat fingers press and move along the surface.
    Stroke,
    /// A pinch that is dragged away before it lets go.
    Pull,
    /// A fist strikes.
    Punch,
    /// A flat hand strikes.
    Slap,
    /// A flat hand is laid on the surface.
    Press,
}

/// A spot of a surface, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Its position.
    pub at: Vec3,
    /// Unit normal, outwards.
    pub out: Vec3,
    /// Unit tangent that is up for the hand.
    pub up: Vec3,
}

impl Spot {
    /// A spot with a normal; up is as close as possible to +Y, turned about the normal by an angle.
    pub fn new(at: Vec3, out: Vec3, roll: f32) -> Self {
        let out = out.normalize_or(Vec3::Z);
        let up = Vec3::Y
            .reject_from_normalized(out)
            .try_normalize()
            .unwrap_or_else(|| out.any_orthonormal_vector());
        Self { at, out, up: Quat::from_axis_angle(out, roll) * up }
    }
}

/// How far a gesture goes, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Depth of the hand's surface below the spot.
    pub depth: f32,
    /// Drag of a pull.
    pub by: Vec3,
    /// Number of fingers that pinch with the thumb, from 1 to 4.
    pub fingers: usize,
}

impl Gesture {
    /// All gestures, with their names in touch scripts.
    pub const ALL: [(&'static str, Self); 7] = [
        ("poke", Self::Poke),
        ("pinch", Self::Pinch),
        ("stroke", Self::Stroke),
        ("pull", Self::Pull),
        ("punch", Self::Punch),
        ("slap", Self::Slap),
        ("press", Self::Press),
    ];

    /// Its name in touch scripts.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, gesture)| *gesture == self).map_or("", |(name, _)| name)
    }

    /// Depth where none is given, m.
    pub fn usual_depth(self) -> f32 {
        match self {
            Self::Poke => 6e-3,
            // The pads: tips reach up to a centimetre deeper.
            Self::Pinch | Self::Pull => -2e-3,
            Self::Stroke => 3e-3,
            Self::Punch | Self::Slap => 8e-3,
            Self::Press => 5e-3,
        }
    }

    /// Progress of a stroke along its way, from 0 to 1, at a fraction of its time.
    pub fn travel(self, t: f32) -> f32 {
        keyed(t, &[(0.2, 0.0), (0.8, 1.0)])
    }

    /// The hand at a fraction of the gesture's time.
    pub fn pose(self, side: Side, spot: &Spot, extent: &Extent, t: f32) -> HandPose {
        let depth = extent.depth;
        match self {
            Self::Poke | Self::Press | Self::Stroke => {
                let ease = if self == Self::Stroke { 0.2 } else { 0.35 };
                let out = keyed(t, &[(0.0, AWAY), (ease, -depth), (1.0 - ease, -depth), (1.0, AWAY)]);
                self.placed(side, spot, out)
            }
            Self::Punch | Self::Slap => {
                let out = keyed(t, &[(0.0, 1.5 * AWAY), (0.45, -depth), (0.55, -depth), (1.0, 1.5 * AWAY)]);
                self.placed(side, spot, out)
            }
            Self::Pinch | Self::Pull => {
                let out = keyed(t, &[(0.0, AWAY), (0.2, -depth), (0.85, -depth), (1.0, AWAY)]);
                let gap = keyed(t, &[(0.2, WIDE), (0.4, CLOSED), (0.75, CLOSED), (0.82, WIDE)]);
                let drag = if self == Self::Pull { keyed(t, &[(0.42, 0.0), (0.65, 1.0)]) } else { 0.0 };
                let dragged = Spot { at: spot.at + drag * extent.by, ..*spot };
                pinching(side, &dragged, (extent.fingers, gap), out)
            }
        }
    }

    /// A hand whose part that touches is at a distance above the spot.
    fn placed(self, side: Side, spot: &Spot, out: f32) -> HandPose {
        let hand = match self {
            Self::Poke => Posture::pointing(),
            Self::Punch => Posture::fist(),
            _ => Posture::flat(),
        }
        .pose(side);
        let wrist = &hand[Joint::Wrist];
        let (forward, palmar, dorsal) =
            (wrist.rotation * Vec3::NEG_Z, wrist.rotation * Vec3::NEG_Y, wrist.rotation * Vec3::Y);
        let middle = |joints: [Joint; 4]| joints.iter().map(|joint| hand.at(*joint)).sum::<Vec3>() / 4.0;
        let (contact, into, up) = match self {
            Self::Poke => {
                let into = hand.forward(Joint::IndexTip);
                (hand.at(Joint::IndexTip) + hand.radius(Joint::IndexTip) * into, into, dorsal)
            }
            // The first phalanges of index and middle finger strike.
            Self::Punch => {
                let knuckles = [
                    Joint::IndexProximal,
                    Joint::IndexIntermediate,
                    Joint::MiddleProximal,
                    Joint::MiddleIntermediate,
                ];
                {
                    let middle = middle(knuckles);
                    let front = |joint: Joint| (hand.at(joint) - middle).dot(forward) + hand.radius(joint);
                    let foremost = Joint::ALL.into_iter().map(front).fold(0.0, f32::max);
                    (middle + foremost * forward, forward, dorsal)
                }
            }
            Self::Stroke => {
                let pads = [Joint::IndexTip, Joint::MiddleTip, Joint::MiddleDistal, Joint::RingTip];
                // Fingertips lead: the palm stays off the surface.
                let into = (palmar + 0.4 * forward).normalize_or(palmar);
                (middle(pads) + hand.radius(Joint::MiddleTip) * into, into, forward)
            }
            _ => {
                let palm = [
                    Joint::IndexProximal,
                    Joint::MiddleProximal,
                    Joint::MiddleIntermediate,
                    Joint::RingProximal,
                ];
                (middle(palm) + hand.radius(Joint::MiddleProximal) * palmar, palmar, forward)
            }
        };
        moved_to(&hand, (contact, into, up), spot, out)
    }
}

/// A pinching hand whose pads meet at a distance above the spot.
fn pinching(side: Side, spot: &Spot, (fingers, gap): (usize, f32), out: f32) -> HandPose {
    let hand = Posture::pinch_with(fingers, gap).pose(side);
    let [thumb, index] = hand.pinch_points(Finger::Index);
    let across = (index - thumb).normalize_or(Vec3::Y);
    let into = (hand.forward(Joint::ThumbTip) + hand.forward(Joint::IndexTip)).reject_from_normalized(across);
    moved_to(&hand, (0.5 * (thumb + index), into, across), spot, out)
}

/// A hand whose thumb and index finger have their pads at two points of a surface, or as near as fingers can be, and that comes from
/// outside. `None` if the points are one or the direction is along them.
pub fn pinch_between(side: Side, [thumb, finger]: [Vec3; 2], outward: Vec3) -> Option<HandPose> {
    let up = (finger - thumb).try_normalize()?;
    let out = outward.reject_from_normalized(up).try_normalize()?;
    let spot = Spot { at: 0.5 * (thumb + finger), out, up };
    let gap = thumb.distance(finger).clamp(CLOSED, WIDEST);
    Some(pinching(side, &spot, (1, gap), 0.0))
}

/// Moves a hand so that its contact point is above a spot, one of its directions points into the surface and another is up.
fn moved_to(hand: &HandPose, (contact, into, up): (Vec3, Vec3, Vec3), spot: &Spot, out: f32) -> HandPose {
    let rotation = frame(-spot.out, spot.up) * frame(into, up).inverse();
    let translation = spot.at + out * spot.out - rotation * contact;
    hand.moved(&Pose { rotation, translation })
}

/// A value that goes smoothly from key to key, and is held before the first and after the last.
fn keyed(t: f32, keys: &[(f32, f32)]) -> f32 {
    let after = keys.partition_point(|(time, _)| *time <= t);
    let last = keys.len() - 1;
    let ((from, a), (to, b)) = (keys[after.saturating_sub(1)], keys[after.min(last)]);
    let x = ((t - from) / (to - from).max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    a + x * x * (3.0 - 2.0 * x) * (b - a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bones::Bone;

    const SPOT: Spot = Spot { at: Vec3::new(0.05, 0.0, 0.06), out: Vec3::X, up: Vec3::Y };

    /// Height of a hand's lowest capsule above the spot's plane.
    fn lowest(hand: &HandPose) -> f32 {
        let height = |bone: Bone| {
            let capsule = bone.capsule(hand);
            let ends = [-1.0, 1.0].map(|end| capsule.pose.apply(end * capsule.half_length * Vec3::Y));
            ends.iter().map(|end| (*end - SPOT.at).dot(SPOT.out)).fold(f32::MAX, f32::min) - capsule.radius
        };
        Bone::ALL.into_iter().map(height).fold(f32::MAX, f32::min)
    }

    #[test]
    fn gestures_come_from_afar_and_reach_their_depth() {
        for (name, gesture) in Gesture::ALL {
            for side in [Side::Left, Side::Right] {
                let depth = gesture.usual_depth();
                let extent = Extent { depth, by: Vec3::ZERO, fingers: 1 };
                let at = |t: f32| lowest(&gesture.pose(side, &SPOT, &extent, t));
                assert!(at(0.0) > 0.02 && at(1.0) > 0.02, "{name}: {} {}", at(0.0), at(1.0));
                let deepest = (0..=100).map(|k| at(k as f32 / 100.0)).fold(f32::MAX, f32::min);
                // Tips of pinching and stroking fingers are below the pads, and the ball of the thumb is below the palm.
                let spare = match gesture {
                    Gesture::Pinch | Gesture::Pull | Gesture::Slap | Gesture::Press => 12e-3,
                    Gesture::Stroke => 6e-3,
                    _ => 4e-3,
                };
                assert!((deepest + depth).abs() < spare, "{name}: {deepest}");
            }
        }
    }

    #[test]
    fn a_pinch_between_two_points_has_its_pads_there() {
        for gap in [0.012, 0.03, 0.05] {
            let points = [Vec3::new(0.05, 0.0, 0.06), Vec3::new(0.05, gap, 0.06)];
            let hand = pinch_between(Side::Left, points, Vec3::new(1.0, 0.3, 0.0)).unwrap();
            let pads = hand.pinch_points(Finger::Index);
            assert!(
                pads[0].distance(points[0]) < 1e-3 && pads[1].distance(points[1]) < 1e-3,
                "{gap}: {pads:?}"
            );
            assert!(hand.at(Joint::Wrist).x > 0.1, "it comes from outside");
        }
        assert!(pinch_between(Side::Left, [Vec3::X; 2], Vec3::Y).is_none());
    }

    #[test]
    fn a_pull_closes_drags_and_lets_go() {
        let by = Vec3::new(0.02, 0.01, 0.0);
        let extent = Extent { depth: 4e-3, by, fingers: 1 };
        let points = |t: f32| Gesture::Pull.pose(Side::Left, &SPOT, &extent, t).pinch_points(Finger::Index);
        let gap = |t: f32| points(t)[0].distance(points(t)[1]);
        let middle = |t: f32| 0.5 * (points(t)[0] + points(t)[1]);
        assert!((gap(0.1) - WIDE).abs() < 1e-3 && (gap(0.5) - CLOSED).abs() < 1e-3 && gap(0.83) > 0.03);
        assert!((middle(0.7) - middle(0.41)).distance(by) < 1e-4);
        let axis = (points(0.5)[1] - points(0.5)[0]).normalize();
        assert!(axis.dot(SPOT.up) > 0.99, "the finger is above the thumb");
    }
}
