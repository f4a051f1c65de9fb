//! The built-in hand: bone lengths of an adult, and postures by the angles of its joints.

use glam::{Mat3, Quat, Vec3};
use zygoma_physics::contact::Pose;

use crate::joints::{Finger, Joint, Side};
use crate::pose::HandPose;

/// Angles of a finger's joints, rad; 0 is straight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FingerPosture {
    /// Flexion at the knuckle.
    pub proximal: f32,
    /// Flexion at the middle joint.
    pub intermediate: f32,
    /// Flexion at the last joint.
    pub distal: f32,
    /// Turn away from the middle finger.
    pub spread: f32,
}

/// Angles of the thumb's joints, rad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThumbPosture {
    /// From 0, beside the palm, to 1, across it with its pad towards the fingers; −0.6 is in the plane of the palm.
    pub opposition: f32,
    /// Flexion at the knuckle.
    pub proximal: f32,
    /// Flexion at the last joint.
    pub distal: f32,
}

/// A posture of the built-in hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posture {
    /// The thumb.
    pub thumb: ThumbPosture,
    /// Index, middle, ring and little finger.
    pub fingers: [FingerPosture; 4],
}

/// A finger of the built-in right hand in the frame of its wrist: knuckles of the palm, lengths of the phalanges, and radii. In
/// millimetres.
struct FingerShape {
    metacarpal: Vec3,
    proximal: Vec3,
    lengths: [f32; 3],
    radii: [f32; 5],
}

/// Lengths are those of an average adult hand (some 18.5 cm from the wrist to the tip of the middle finger), rounded. Ours.
const FINGERS: [FingerShape; 4] = [
    FingerShape {
        metacarpal: Vec3::new(-13.0, -3.0, -30.0),
        proximal: Vec3::new(-26.0, -3.0, -90.0),
        lengths: [43.0, 25.0, 16.0],
        radii: [12.0, 11.5, 9.0, 8.0, 7.0],
    },
    FingerShape {
        metacarpal: Vec3::new(-3.0, -2.0, -30.0),
        proximal: Vec3::new(-4.0, -1.0, -93.0),
        lengths: [46.0, 29.0, 17.0],
        radii: [12.0, 11.5, 9.0, 8.0, 7.0],
    },
    FingerShape {
        metacarpal: Vec3::new(8.0, -3.0, -29.0),
        proximal: Vec3::new(16.0, -3.0, -87.0),
        lengths: [42.0, 27.0, 17.0],
        radii: [12.0, 11.0, 8.5, 7.5, 6.5],
    },
    FingerShape {
        metacarpal: Vec3::new(18.0, -6.0, -28.0),
        proximal: Vec3::new(34.0, -8.0, -78.0),
        lengths: [33.0, 20.0, 14.0],
        radii: [12.0, 10.0, 7.5, 6.5, 5.5],
    },
];
/// The thumb: its first joint, lengths of its bones and radii, in millimetres.
const THUMB_ROOT: Vec3 = Vec3::new(-25.0, -12.0, -26.0);
const THUMB_LENGTHS: [f32; 3] = [43.0, 33.0, 21.0];
const THUMB_RADII: [f32; 4] = [14.0, 11.5, 9.5, 8.0];
const WRIST_RADIUS: f32 = 20.0;

/// Directions of the thumb's first bone and of its nail, beside the palm and across it.
const THUMB_BESIDE: [Vec3; 2] = [Vec3::new(-0.62, -0.40, -0.68), Vec3::new(-0.80, 0.35, 0.49)];
const THUMB_ACROSS: [Vec3; 2] = [Vec3::new(-0.02, -0.72, -0.69), Vec3::new(-0.12, -0.68, 0.72)];

impl FingerPosture {
    /// A finger curled from 0, straight, to 1, as in a fist.
    pub fn curled(curl: f32, spread: f32) -> Self {
        Self { proximal: 1.45 * curl, intermediate: 1.75 * curl, distal: 1.2 * curl, spread }
    }

    fn between(&self, other: &Self, t: f32) -> Self {
        let mix = |a: f32, b: f32| a + t * (b - a);
        Self {
            proximal: mix(self.proximal, other.proximal),
            intermediate: mix(self.intermediate, other.intermediate),
            distal: mix(self.distal, other.distal),
            spread: mix(self.spread, other.spread),
        }
    }
}

impl Posture {
    /// All fingers straight and a little spread: the posture in which the skin is made.
    pub fn open() -> Self {
        let straight = |spread| FingerPosture { proximal: 0.05, intermediate: 0.08, distal: 0.05, spread };
        Self {
            thumb: ThumbPosture { opposition: 0.0, proximal: 0.1, distal: 0.05 },
            fingers: [0.10, 0.0, 0.10, 0.20].map(straight),
        }
    }

    /// A flat hand with the fingers together, as for a slap or to stroke.
    pub fn flat() -> Self {
        let straight = |spread| FingerPosture { proximal: 0.06, intermediate: 0.06, distal: 0.03, spread };
        Self {
            thumb: ThumbPosture { opposition: -0.6, proximal: 0.0, distal: -0.05 },
            fingers: [-0.03, 0.0, -0.04, -0.06].map(straight),
        }
    }

    /// The index finger straight and the others curled, as for a poke.
    pub fn pointing() -> Self {
        let straight = FingerPosture { proximal: 0.12, intermediate: 0.10, distal: 0.06, spread: 0.0 };
        Self {
            thumb: ThumbPosture { opposition: 0.7, proximal: 0.6, distal: 0.7 },
            fingers: [straight; 4].map(|_| FingerPosture::curled(0.95, 0.0)),
        }
        .with_finger(Finger::Index, straight)
    }

    /// A fist.
    pub fn fist() -> Self {
        Self {
            thumb: ThumbPosture { opposition: 0.75, proximal: 0.7, distal: 0.8 },
            fingers: [FingerPosture::curled(1.0, 0.0); 4],
        }
    }

    /// Thumb and index finger as in a pinch, with a gap between their pads in metres, from 3 mm to 6 cm; the others are curled.
    pub fn pinch(gap: f32) -> Self {
        Self::pinch_with(1, gap)
    }

    /// Thumb and some fingers (1 to 4) as in a pinch, with a gap in metres between the pads of thumb and index finger.
    pub fn pinch_with(fingers: usize, gap: f32) -> Self {
        let posture = |t: f32| {
            let finger = |k: usize| {
                // Fingers farther from the thumb bend more to end beside the index finger.
                let more = 0.06 * k as f32;
                let wide =
                    FingerPosture { proximal: 0.42 + more, intermediate: 0.42, distal: 0.25, spread: 0.0 };
                let closed =
                    FingerPosture { proximal: 0.98 + more, intermediate: 0.68, distal: 0.35, spread: 0.0 };
                if k < fingers { wide.between(&closed, t) } else { FingerPosture::curled(0.85, 0.0) }
            };
            let mix = |a: f32, b: f32| a + t * (b - a);
            Self {
                thumb: ThumbPosture {
                    opposition: mix(0.92, 1.0),
                    proximal: mix(0.0, 0.05),
                    distal: mix(0.0, 0.1),
                },
                fingers: std::array::from_fn(finger),
            }
        };
        let width = |t: f32| {
            let [thumb, index] = posture(t).pose(Side::Right).pinch_points(Finger::Index);
            thumb.distance(index)
        };
        // The gap shrinks as t grows, until the pads pass each other.
        let (mut low, mut high) = (-0.5, 0.9);
        for _ in 0..24 {
            let middle = 0.5 * (low + high);
            if width(middle) > gap { low = middle } else { high = middle }
        }
        posture(0.5 * (low + high))
    }

    /// The same posture with another finger.
    pub fn with_finger(mut self, finger: Finger, posture: FingerPosture) -> Self {
        self.fingers[finger as usize] = posture;
        self
    }

    /// A posture between this one (t = 0) and another (t = 1).
    pub fn between(&self, other: &Self, t: f32) -> Self {
        let mix = |a: f32, b: f32| a + t * (b - a);
        let (a, b) = (&self.thumb, &other.thumb);
        Self {
            thumb: ThumbPosture {
                opposition: mix(a.opposition, b.opposition),
                proximal: mix(a.proximal, b.proximal),
                distal: mix(a.distal, b.distal),
            },
            fingers: std::array::from_fn(|k| self.fingers[k].between(&other.fingers[k], t)),
        }
    }

    /// The joints of the built-in hand in this posture, with the wrist at the origin: fingers along −Z, the palm facing −Y.
    pub fn pose(&self, side: Side) -> HandPose {
        let mut hand =
            HandPose { joints: [Pose::IDENTITY; Joint::COUNT], radii: [WRIST_RADIUS; Joint::COUNT] };
        let mut set = |joint: Joint, rotation: Quat, at: Vec3, radius: f32| {
            hand.joints[joint as usize] = Pose { rotation, translation: at };
            hand.radii[joint as usize] = radius;
        };
        let bent = |angle: f32| Quat::from_rotation_x(-angle);

        let mut rotation = thumb_frame(self.thumb.opposition);
        let mut at = THUMB_ROOT;
        let turns = [0.0, self.thumb.proximal, self.thumb.distal, 0.0];
        let joints = [Joint::ThumbMetacarpal, Joint::ThumbProximal, Joint::ThumbDistal, Joint::ThumbTip];
        for (k, joint) in joints.into_iter().enumerate() {
            rotation *= bent(turns[k]);
            set(joint, rotation, at, THUMB_RADII[k]);
            at += THUMB_LENGTHS.get(k).map_or(Vec3::ZERO, |length| *length * (rotation * Vec3::NEG_Z));
        }

        for finger in Finger::ALL {
            let (shape, angles) = (&FINGERS[finger as usize], &self.fingers[finger as usize]);
            let palm = frame(shape.proximal - shape.metacarpal, Vec3::Y);
            // The index finger spreads towards the thumb, the others away from it.
            let away = if finger == Finger::Index { 1.0 } else { -1.0 };
            let [metacarpal, proximal, intermediate, distal, tip] = finger.joints();
            set(metacarpal, palm, shape.metacarpal, shape.radii[0]);
            // Knuckles fan out; fingers that are together are parallel to the hand.
            let mut rotation =
                frame(Vec3::NEG_Z, palm * Vec3::Y) * Quat::from_rotation_y(away * angles.spread);
            let mut at = shape.proximal;
            let turns = [angles.proximal, angles.intermediate, angles.distal, 0.0];
            for (k, joint) in [proximal, intermediate, distal, tip].into_iter().enumerate() {
                rotation *= bent(turns[k]);
                set(joint, rotation, at, shape.radii[k + 1]);
                at += shape.lengths.get(k).map_or(Vec3::ZERO, |length| *length * (rotation * Vec3::NEG_Z));
            }
        }
        let hand = hand.scaled(1e-3);
        if side == Side::Left { hand.mirrored() } else { hand }
    }
}

/// Rotation of the right thumb's first bone in the frame of the wrist.
pub(crate) fn thumb_frame(opposition: f32) -> Quat {
    let [beside, across] = [THUMB_BESIDE, THUMB_ACROSS].map(|[along, nail]| frame(along, nail));
    beside.slerp(across, opposition)
}

/// The rotation that takes −Z to a direction, and +Y as close as possible to another.
pub(crate) fn frame(along: Vec3, up: Vec3) -> Quat {
    let back = -along.normalize_or(Vec3::NEG_Z);
    let right = up.cross(back).try_normalize().unwrap_or_else(|| back.any_orthonormal_vector());
    Quat::from_mat3(&Mat3::from_cols(right, back.cross(right), back))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joints_point_along_their_bones() {
        for posture in [Posture::open(), Posture::fist(), Posture::pointing(), Posture::pinch(0.02)] {
            for side in [Side::Left, Side::Right] {
                let hand = posture.pose(side);
                assert!(hand.is_valid());
                for finger in Finger::ALL {
                    for pair in finger.joints().windows(2) {
                        let along = (hand.at(pair[1]) - hand.at(pair[0])).normalize();
                        assert!(along.dot(hand.forward(pair[0])) > 0.999, "{:?}", pair[0]);
                    }
                }
            }
        }
    }

    #[test]
    fn fingers_curl_towards_the_palm_and_the_thumb_is_inside() {
        let [open, fist] = [Posture::open(), Posture::fist()].map(|posture| posture.pose(Side::Right));
        for finger in Finger::ALL {
            let [knuckle, tip] = [finger.joints()[1], finger.tip()];
            assert!(open.at(tip).z < open.at(knuckle).z - 0.06);
            assert!(fist.at(tip).y < fist.at(knuckle).y - 0.01 && fist.at(tip).z > fist.at(knuckle).z - 0.03);
        }
        assert!(open.at(Joint::ThumbTip).x < open.at(Joint::IndexTip).x, "a right thumb is at −X");
        assert!(open.at(Joint::MiddleTip).distance(Vec3::ZERO) > 0.17);
    }

    #[test]
    fn a_pinch_has_the_gap_that_is_asked_for() {
        for gap in [0.008, 0.02, 0.04, 0.06] {
            let [thumb, index] = Posture::pinch(gap).pose(Side::Left).pinch_points(Finger::Index);
            assert!((thumb.distance(index) - gap).abs() < 1e-4, "{gap}: {}", thumb.distance(index));
        }
        let hand = Posture::pinch(0.01).pose(Side::Right);
        let facing = hand.palmar(Joint::ThumbTip).dot(hand.palmar(Joint::IndexTip));
        assert!(facing < -0.2, "the pads face each other: {facing}");
    }
}
