//! Whole hands of a page: those that a headset or another program tracks, pinches of a touch screen, and gestures at places.

use glam::{Quat, Vec3};
use zygoma_face::body::Body;
use zygoma_face::contact::{ColliderFrame, HAND_FRICTION, HandId};
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::run::ScriptedHand;
use zygoma_face::run::TouchScript;
use zygoma_hand::trackers::{TrackedJoint, from_webxr};
use zygoma_hand::{Gesture, HandPose, Joint, Side, pinch_between};

use crate::frame::FrameWriter;
use crate::protocol::{ClientMessage, HandSide, HandSpace, ServerMessage};

/// A tracked hand that nothing was heard of for so long is away, s; as in hand takes.
const SILENCE: f64 = 0.25;

/// Duration of a gesture, s. Ours.
const DURATION: f64 = 2.5;

/// Joints are no farther from the origin than this, m, and no thicker: anything else is a mistake.
const FARTHEST: f32 = 10.0;
const THICKEST: f32 = 0.1;

/// The two hands.
#[derive(Debug, Default)]
pub(crate) struct TrackedHands {
    hands: [Option<Tracked>; 2],
    /// Hands that the body still has, but the page has not.
    gone: Vec<HandId>,
}

#[derive(Debug)]
struct Tracked {
    source: Source,
    frame: ColliderFrame,
    friction: f32,
    /// Its name on the body that is shown, once it is there.
    id: Option<HandId>,
}

/// Where a hand's poses come from.
#[derive(Debug)]
enum Source {
    /// A tracker, with the session's time of its last message.
    Joints(HandPose, f64),
    /// Two fingers of a touch screen, until they are lifted.
    Pinch(HandPose),
    /// A gesture, which began at a time of the session.
    Gesture(Box<ScriptedHand>, f64),
}

impl Source {
    /// The pose at a time; `None` once it is over.
    fn pose(&self, time: f64, plain: &[Vec3]) -> Option<HandPose> {
        match self {
            Self::Joints(pose, heard) => (time - heard < SILENCE).then_some(*pose),
            Self::Pinch(pose) => Some(*pose),
            Self::Gesture(hand, began) => (time - began < DURATION).then(|| hand.pose(time - began, plain)),
        }
    }
}

fn side_of(side: HandSide) -> Side {
    match side {
        HandSide::Left => Side::Left,
        HandSide::Right => Side::Right,
    }
}

/// The joints of a message as a hand.
fn tracked(side: Side, joints: &[[f32; 7]], radii: &[f32]) -> Result<HandPose, String> {
    if joints.len() != Joint::COUNT || !(radii.is_empty() || radii.len() == Joint::COUNT) {
        return Err(format!("a hand has {} joints, and as many radii or none", Joint::COUNT));
    }
    let joint = |k: usize| {
        let [x, y, z, qx, qy, qz, qw] = joints[k];
        TrackedJoint {
            position: Vec3::new(x, y, z),
            rotation: Quat::from_xyzw(qx, qy, qz, qw),
            radius: radii.get(k).copied(),
        }
    };
    let hand = from_webxr(side, &std::array::from_fn(joint)).map_err(|error| error.to_string())?;
    let is_near = hand.joints.iter().all(|joint| joint.translation.abs().max_element() < FARTHEST);
    if !(is_near && hand.radii.iter().all(|radius| *radius < THICKEST)) {
        return Err(
            "the tracked hand is farther away or thicker than a hand can be; lengths are in metres".into()
        );
    }
    Ok(hand)
}

/// Says what is wrong with the joints of a hand, if anything.
pub(crate) fn check_hand(side: HandSide, joints: &[[f32; 7]], radii: &[f32]) -> Result<(), String> {
    tracked(side_of(side), joints, radii).map(|_| ())
}

/// A gesture at a place of a face, from time 0.
fn scripted(face: &FaceModel, gesture: &str, at: &str, toward: Option<&str>) -> Result<ScriptedHand, String> {
    let quoted = |name: &str| serde_json::Value::from(name).to_string();
    let toward = toward.map_or_else(String::new, |toward| format!("toward = {}\n", quoted(toward)));
    let (gesture, at) = (quoted(gesture), quoted(at));
    let script = format!("[[hand]]\ngesture = {gesture}\nat = {at}\n{toward}from = 0\nto = {DURATION}\n");
    let mut script = TouchScript::parse(&script, face, &Landmarks::new(face))?;
    script.hands.pop().ok_or_else(|| "no hand is scripted".into())
}

/// Sends a page which gestures there are, and where a face has places for them.
pub(crate) fn gestures(face: &FaceModel) -> ServerMessage {
    ServerMessage::Gestures {
        gestures: Gesture::ALL.iter().map(|(name, _)| (*name).to_owned()).collect(),
        places: Landmarks::new(face).iter().map(|place| place.name.clone()).collect(),
    }
}

impl TrackedHands {
    /// Does what the page says about a hand, at a time of the session. Returns why not, if it cannot.
    pub(crate) fn handle(
        &mut self,
        message: &ClientMessage,
        face: Option<&FaceModel>,
        time: f64,
    ) -> Result<(), String> {
        match message {
            ClientMessage::Hand { side, space, joints, radii, .. } => {
                let side = side_of(*side);
                let frame = match space {
                    HandSpace::Head => ColliderFrame::Head,
                    HandSpace::World => ColliderFrame::World,
                };
                let pose = tracked(side, joints, radii)?;
                self.show(side, frame, HAND_FRICTION, Source::Joints(pose, time));
            }
            ClientMessage::Pinch { thumb, finger, outward, .. } => {
                let points = [*thumb, *finger].map(Vec3::from);
                // A pinch that is dragged over to the other side of the face stays the hand that it is.
                let nearer = if points[0].x + points[1].x >= 0.0 { Side::Left } else { Side::Right };
                let side = self.pinching().unwrap_or(nearer);
                let pose = pinch_between(side, points, Vec3::from(*outward)).filter(HandPose::is_valid);
                if let Some(pose) = pose {
                    self.show(side, ColliderFrame::Head, HAND_FRICTION, Source::Pinch(pose));
                }
            }
            ClientMessage::Gesture { gesture, at, toward, .. } => {
                let face = face.ok_or("this face cannot be touched yet; wait until it is built")?;
                let hand = scripted(face, gesture, at, toward.as_deref())?;
                let (side, friction) = (hand.side, hand.friction);
                self.show(side, ColliderFrame::Head, friction, Source::Gesture(Box::new(hand), time));
            }
            ClientMessage::HandAway { side, .. } => {
                for own in [Side::Left, Side::Right] {
                    if side.is_none_or(|side| side_of(side) == own) {
                        self.take_away(own);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn show(&mut self, side: Side, frame: ColliderFrame, friction: f32, source: Source) {
        match &mut self.hands[side as usize] {
            Some(hand) if hand.frame == frame && !matches!(source, Source::Gesture(..)) => {
                hand.source = source;
            }
            _ => {
                self.take_away(side);
                self.hands[side as usize] = Some(Tracked { source, frame, friction, id: None });
            }
        }
    }

    fn take_away(&mut self, side: Side) {
        self.gone.extend(self.hands[side as usize].take().and_then(|hand| hand.id));
    }

    /// The hand that a touch screen moves.
    fn pinching(&self) -> Option<Side> {
        let is_pinch = |side: &Side| {
            self.hands[*side as usize].as_ref().is_some_and(|hand| matches!(hand.source, Source::Pinch(_)))
        };
        [Side::Left, Side::Right].into_iter().find(is_pinch)
    }

    /// Forgets the body that they touched, which is gone or was reset: they come to the next one anew.
    pub(crate) fn leave_body(&mut self) {
        self.gone.clear();
        self.hands.iter_mut().flatten().for_each(|hand| hand.id = None);
    }

    /// Whether a gesture is played, which follows the plain rig.
    pub(crate) fn follow_rig(&self) -> bool {
        self.hands.iter().flatten().any(|hand| matches!(hand.source, Source::Gesture(..)))
    }

    /// Moves the hands on a body to where they are at the end of the next frame.
    pub(crate) fn place(&mut self, body: &mut dyn Body, time: f64, plain: &[Vec3]) {
        let Some(colliders) = body.colliders_mut() else { return };
        for side in [Side::Left, Side::Right] {
            let Some(hand) = &mut self.hands[side as usize] else { continue };
            match (hand.source.pose(time, plain), hand.id) {
                (Some(pose), Some(id)) => colliders.move_hand(id, &pose),
                (Some(pose), None) => hand.id = Some(colliders.add_hand(hand.frame, &pose, hand.friction)),
                (None, _) => self.take_away(side),
            }
        }
        self.gone.drain(..).for_each(|id| colliders.remove_hand(id));
    }

    /// Writes where the hands are into a frame.
    pub(crate) fn write(&self, body: &dyn Body, writer: &mut FrameWriter) {
        for (side, hand) in (0..).zip(&self.hands) {
            let id = hand.as_ref().and_then(|hand| hand.id);
            if let Some(pose) = id.and_then(|id| body.colliders()?.hand_pose(id)) {
                let joints: Vec<(Vec3, f32)> =
                    Joint::ALL.iter().map(|joint| (pose.at(*joint), pose.radius(*joint))).collect();
                writer.hand(side, &joints);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_hand::Posture;

    fn message(joints: Vec<[f32; 7]>) -> ClientMessage {
        ClientMessage::Hand {
            side: HandSide::Left,
            input: 1,
            space: HandSpace::World,
            joints,
            radii: Vec::new(),
        }
    }

    fn open_hand(shift: f32) -> Vec<[f32; 7]> {
        let pose = Posture::open().pose(Side::Left);
        let joint = |joint: &Joint| {
            let (t, r) = (pose[*joint].translation, pose[*joint].rotation);
            [t.x + shift, t.y, t.z, r.x, r.y, r.z, r.w]
        };
        Joint::ALL.iter().map(joint).collect()
    }

    #[test]
    fn hands_that_are_none_are_refused() {
        let mut hands = TrackedHands::default();
        let mut refused = |joints| hands.handle(&message(joints), None, 0.0).unwrap_err();
        assert!(refused(open_hand(0.0)[..24].to_vec()).contains("25 joints"));
        assert!(refused(open_hand(f32::NAN)).contains("finite"));
        assert!(refused(open_hand(100.0)).contains("metres"));
        assert!(hands.hands.iter().all(Option::is_none));
    }

    #[test]
    fn a_silent_tracker_has_no_hand_any_more() {
        let mut hands = TrackedHands::default();
        hands.handle(&message(open_hand(0.0)), None, 1.0).unwrap();
        let source = &hands.hands[Side::Left as usize].as_ref().unwrap().source;
        assert!(source.pose(1.2, &[]).is_some() && source.pose(1.3, &[]).is_none());
    }
}
