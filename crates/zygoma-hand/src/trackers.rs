//! Adapters: the joints that trackers deliver, as a [`HandPose`].
//!
//! WebXR has the joints of this crate. OpenXR has the palm before them. MediaPipe has 21 points without rotations or radii; its metric
//! points lie around the middle of the hand, so the hand's place comes from the picture ([`Camera::place`]).

use glam::{Mat3, Quat, Vec2, Vec3};
use zygoma_physics::contact::Pose;

use crate::joints::{Finger, Joint, Side};
use crate::pose::HandPose;
use crate::posture::{Posture, frame, thumb_frame};

/// Number of joints in OpenXR: the palm and those of WebXR.
pub const OPENXR_JOINTS: usize = 26;
/// Number of points in MediaPipe.
pub const MEDIAPIPE_POINTS: usize = 21;

/// A joint as WebXR and OpenXR deliver it, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackedJoint {
    /// Its position.
    pub position: Vec3,
    /// Its rotation.
    pub rotation: Quat,
    /// Distance to the skin; `None` if the tracker does not know it.
    pub radius: Option<f32>,
}

/// Joints that are not those of a hand.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TrackerError {
    /// Not all numbers are finite, or a rotation has no length.
    #[error("the tracked hand has a joint without a finite position, rotation and radius")]
    NotFinite,
    /// The points have no extent.
    #[error("the tracked points do not span a hand")]
    Degenerate,
}

/// The hand of 25 WebXR joints, in the order of the standard.
pub fn from_webxr(side: Side, joints: &[TrackedJoint; Joint::COUNT]) -> Result<HandPose, TrackerError> {
    let mut hand = Posture::open().pose(side);
    for (k, joint) in joints.iter().enumerate() {
        hand.joints[k] = Pose { rotation: joint.rotation, translation: joint.position };
        hand.radii[k] = joint.radius.unwrap_or(hand.radii[k]);
    }
    if !hand.is_valid() {
        return Err(TrackerError::NotFinite);
    }
    hand.joints.iter_mut().for_each(|pose| pose.rotation = pose.rotation.normalize());
    Ok(hand)
}

/// The hand of 26 OpenXR joints. The palm, which comes first, is dropped.
pub fn from_openxr(side: Side, joints: &[TrackedJoint; OPENXR_JOINTS]) -> Result<HandPose, TrackerError> {
    from_webxr(side, &std::array::from_fn(|k| joints[k + 1]))
}

/// The hand of 21 metric points of MediaPipe (its *world landmarks*), in metres and in a right-handed frame with +Y up.
///
/// Rotations come from the directions of the bones and from the palm; radii and the roots of the fingers, which MediaPipe does not have,
/// from the built-in hand at the size of the tracked one.
pub fn from_mediapipe(side: Side, points: &[Vec3; MEDIAPIPE_POINTS]) -> Result<HandPose, TrackerError> {
    if points.iter().any(|p| !p.is_finite()) {
        return Err(TrackerError::NotFinite);
    }
    let built_in = Posture::open().pose(side);
    let (wrist, index, pinky, middle) = (points[0], points[5], points[17], points[9]);
    let size =
        wrist.distance(middle) / built_in.at(Joint::Wrist).distance(built_in.at(Joint::MiddleProximal));
    // Out of the back of a right hand, whose index finger is on the left when seen from there.
    let across = (index - wrist).cross(pinky - wrist) * if side == Side::Right { -1.0 } else { 1.0 };
    let back = across.try_normalize().filter(|_| size > 0.05).ok_or(TrackerError::Degenerate)?;

    let mut hand = built_in;
    hand.radii.iter_mut().for_each(|radius| *radius *= size);
    let palm = frame(middle - wrist, back);
    hand.joints[Joint::Wrist as usize] = Pose { rotation: palm, translation: wrist };
    let nail = palm * nail(side, palm.inverse() * (points[2] - points[1]));
    let thumb = [Joint::ThumbMetacarpal, Joint::ThumbProximal, Joint::ThumbDistal, Joint::ThumbTip];
    orient(&mut hand, &thumb, &points[1..5], nail);
    for finger in Finger::ALL {
        let joints = finger.joints();
        let first = 5 + 4 * finger as usize;
        let root = wrist + size * (palm * built_in.at(joints[0]));
        let chain = [root, points[first], points[first + 1], points[first + 2], points[first + 3]];
        orient(&mut hand, &joints, &chain, back);
    }
    Ok(hand)
}

/// Direction of the thumb's nail in the frame of the palm: that of the built-in hand whose thumb points in the most similar direction.
fn nail(side: Side, along: Vec3) -> Vec3 {
    let mirror = if side == Side::Left { Vec3::new(-1.0, 1.0, 1.0) } else { Vec3::ONE };
    let frames = (0..=10).map(|k| thumb_frame(0.1 * k as f32));
    let similar = |frame: &Quat| (*frame * Vec3::NEG_Z).dot(mirror * along);
    let best = frames.max_by(|a, b| similar(a).total_cmp(&similar(b))).unwrap_or(Quat::IDENTITY);
    mirror * (best * Vec3::Y)
}

/// Places joints at points, each turned from the one before by the smallest rotation that aligns it with its bone.
fn orient(hand: &mut HandPose, joints: &[Joint], points: &[Vec3], up: Vec3) {
    let mut rotation = frame(points[1] - points[0], up);
    for (k, joint) in joints.iter().enumerate() {
        if let Some(next) = points.get(k + 1) {
            let along = (*next - points[k]).try_normalize().unwrap_or(rotation * Vec3::NEG_Z);
            rotation = (Quat::from_rotation_arc(rotation * Vec3::NEG_Z, along) * rotation).normalize();
        }
        hand.joints[*joint as usize] = Pose { rotation, translation: points[k] };
    }
}

/// A pinhole camera that looks along −Z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Focal length in widths of the picture: 0.87 for a horizontal view of 60°.
    pub focal: f32,
    /// Height of the picture over its width.
    pub aspect: f32,
}

/// The place of a hand in front of a camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Translation of the metric points into the camera's frame, m.
    pub translation: Vec3,
    /// Root mean square distance between the pictured points and the placed ones, in widths of the picture.
    pub reprojection: f32,
    /// Error of the distance from the camera, m, if the tracked hand is 5 % larger or smaller than the real one: the usual spread of
    /// adult hands about MediaPipe's mean. A single picture cannot tell size from distance.
    pub depth_error: f32,
}

impl Camera {
    /// Finds where a hand is from its metric points and from the same points in the picture (x and y from 0 to 1, y down): the
    /// translation under which the projected points fit best, by linear least squares.
    pub fn place(
        &self,
        points: &[Vec3; MEDIAPIPE_POINTS],
        pictured: &[Vec2; MEDIAPIPE_POINTS],
    ) -> Result<Placed, TrackerError> {
        // A point p + t is seen at u = −f (p + t)_x / (p + t)_z, so (p + t)_x + u/f (p + t)_z = 0, and alike for y.
        let ray = |seen: &Vec2| Vec2::new(seen.x - 0.5, (0.5 - seen.y) * self.aspect) / self.focal;
        let (mut normal, mut right) = (Mat3::ZERO, Vec3::ZERO);
        for (p, seen) in points.iter().zip(pictured) {
            let u = ray(seen);
            for (axis, slope) in [(Vec3::X, u.x), (Vec3::Y, u.y)] {
                let row = axis + slope * Vec3::Z;
                normal += Mat3::from_cols(row.x * row, row.y * row, row.z * row);
                right -= row.dot(*p) * row;
            }
        }
        if normal.determinant().abs() < 1e-9 {
            return Err(TrackerError::Degenerate);
        }
        let translation = normal.inverse() * right;
        if !translation.is_finite() || translation.z >= 0.0 {
            return Err(TrackerError::Degenerate);
        }
        let miss = |(p, seen): (&Vec3, &Vec2)| {
            let at = *p + translation;
            (self.focal * (Vec2::new(at.x, at.y) / -at.z - ray(seen))).length_squared()
        };
        let mean = points.iter().zip(pictured).map(miss).sum::<f32>() / MEDIAPIPE_POINTS as f32;
        Ok(Placed { translation, reprojection: mean.sqrt(), depth_error: 0.05 * -translation.z })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hand() -> HandPose {
        let rotation = Quat::from_rotation_y(0.4) * Quat::from_rotation_x(0.3);
        Posture::pinch(0.03)
            .pose(Side::Right)
            .moved(&Pose { rotation, translation: Vec3::new(0.1, 0.2, -0.4) })
    }

    fn tracked(hand: &HandPose) -> [TrackedJoint; Joint::COUNT] {
        Joint::ALL.map(|joint| TrackedJoint {
            position: hand.at(joint),
            rotation: hand[joint].rotation,
            radius: Some(hand.radius(joint)),
        })
    }

    /// The points of a hand that MediaPipe has, in its order.
    fn points(hand: &HandPose) -> [Vec3; MEDIAPIPE_POINTS] {
        let fingers = Finger::ALL.into_iter().flat_map(|finger| finger.joints()[1..].to_vec());
        let thumb =
            [Joint::Wrist, Joint::ThumbMetacarpal, Joint::ThumbProximal, Joint::ThumbDistal, Joint::ThumbTip];
        let joints: Vec<Joint> = thumb.into_iter().chain(fingers).collect();
        std::array::from_fn(|k| hand.at(joints[k]))
    }

    #[test]
    fn webxr_and_openxr_give_the_same_hand() {
        let joints = tracked(&hand());
        let palm = TrackedJoint { position: Vec3::splat(9.0), ..joints[0] };
        let openxr: [TrackedJoint; OPENXR_JOINTS] =
            std::array::from_fn(|k| if k == 0 { palm } else { joints[k - 1] });
        assert_eq!(from_webxr(Side::Right, &joints), from_openxr(Side::Right, &openxr));
        let mut broken = joints;
        broken[3].position.x = f32::NAN;
        assert_eq!(from_webxr(Side::Right, &broken), Err(TrackerError::NotFinite));
    }

    #[test]
    fn mediapipe_points_give_joints_that_point_along_their_bones() {
        for side in [Side::Left, Side::Right] {
            let hand = if side == Side::Left { hand().mirrored() } else { hand() };
            let found = from_mediapipe(side, &points(&hand)).unwrap();
            for finger in Finger::ALL {
                let tip = finger.tip();
                assert!(found.at(tip).distance(hand.at(tip)) < 1e-6);
                assert!(found.forward(tip).dot(hand.forward(tip)) > 0.999);
                assert!(found.palmar(tip).dot(hand.palmar(tip)) > 0.9, "{side:?} {finger:?}");
            }
            assert!(found.at(Joint::RingMetacarpal).distance(hand.at(Joint::RingMetacarpal)) < 0.01);
            assert!(found.palmar(Joint::ThumbTip).dot(hand.palmar(Joint::ThumbTip)) > 0.5);
        }
        assert_eq!(from_mediapipe(Side::Left, &[Vec3::ONE; MEDIAPIPE_POINTS]), Err(TrackerError::Degenerate));
    }

    #[test]
    fn the_picture_tells_where_the_hand_is() {
        let camera = Camera { focal: 0.87, aspect: 0.75 };
        let placed = points(&hand());
        let pictured = placed.map(|p| {
            let seen = camera.focal * Vec2::new(p.x, p.y) / -p.z;
            Vec2::new(seen.x + 0.5, 0.5 - seen.y / camera.aspect)
        });
        let middle = placed.iter().sum::<Vec3>() / MEDIAPIPE_POINTS as f32;
        let found = camera.place(&placed.map(|p| p - middle), &pictured).unwrap();
        assert!(found.translation.distance(middle) < 1e-4, "{found:?}");
        assert!(found.reprojection < 1e-5 && found.depth_error > 0.01);
        // A hand that is 5 % larger than MediaPipe takes it to be is 5 % farther away than it seems.
        let smaller = camera.place(&placed.map(|p| (p - middle) / 1.05), &pictured).unwrap();
        let short = smaller.translation.z - middle.z;
        assert!((short - found.depth_error).abs() < 0.1 * found.depth_error, "{short}");
    }
}
