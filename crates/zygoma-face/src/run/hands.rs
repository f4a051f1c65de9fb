//! Plays hands on a face: those of a hand take, in the world, and gestures of a touch script, which the head takes along.

use zygoma_hand::{HandPose, HandTake, Side};

use super::touch_script::{Moment, ScriptedHand};
use crate::body::Body;
use crate::contact::{ColliderFrame, HAND_FRICTION, HandBody, HandId};

/// A hand to be displayed: its pose in each frame, in the head's frame, in metres.
#[derive(Clone, Debug)]
pub struct HandProp {
    /// Its name.
    pub name: String,
    /// Which hand it is.
    pub side: Side,
    /// Its pose in each frame; `None` while it is away.
    pub poses: Vec<Option<HandPose>>,
    /// Number of frames in which it holds skin.
    pub holding: usize,
}

/// Hands that are being played.
pub(super) struct HandPlayer<'a> {
    sources: Vec<Source<'a>>,
    hands: Vec<Option<HandId>>,
    props: Vec<HandProp>,
}

enum Source<'a> {
    Take(&'a HandTake, Side),
    Script(&'a ScriptedHand),
}

impl Source<'_> {
    /// The hand at a moment; `None` while it is away.
    fn pose(&self, moment: &Moment<'_>) -> Option<HandPose> {
        match self {
            Self::Take(take, side) => take.sample(*side, moment.time),
            Self::Script(hand) => {
                let is_now = moment.time >= hand.from - 1e-9 && moment.time <= hand.to + 1e-9;
                is_now.then(|| hand.pose(moment.time, moment.plain))
            }
        }
    }

    fn prop(&self) -> HandProp {
        let (name, side) = match self {
            Self::Take(_, side) => (format!("{} hand", side.name()), *side),
            Self::Script(hand) => (hand.name.clone(), hand.side),
        };
        HandProp { name, side, poses: Vec::new(), holding: 0 }
    }
}

impl<'a> HandPlayer<'a> {
    pub(super) fn new(take: Option<&'a HandTake>, script: &'a [ScriptedHand]) -> Self {
        let sides = [Side::Left, Side::Right];
        let seen = take.into_iter().flat_map(|take| sides.map(|side| (take, side)));
        let taken = seen.filter(|(take, side)| !take.frames(*side).is_empty());
        let sources: Vec<Source<'a>> = taken
            .map(|(take, side)| Source::Take(take, side))
            .chain(script.iter().map(Source::Script))
            .collect();
        Self { hands: vec![None; sources.len()], props: sources.iter().map(Source::prop).collect(), sources }
    }

    /// Prepares the frame that ends at a moment.
    pub(super) fn before(&mut self, body: &mut dyn Body, moment: &Moment<'_>) {
        let Some(colliders) = body.colliders_mut() else { return };
        for (source, hand) in self.sources.iter().zip(&mut self.hands) {
            match (source.pose(moment), *hand) {
                (Some(pose), Some(id)) => colliders.move_hand(id, &pose),
                (Some(pose), None) => {
                    let (frame, friction) = match source {
                        Source::Take(..) => (ColliderFrame::World, HAND_FRICTION),
                        Source::Script(hand) => (ColliderFrame::Head, hand.friction),
                    };
                    *hand = Some(colliders.add_hand(frame, &pose, friction));
                }
                (None, Some(id)) => {
                    colliders.remove_hand(id);
                    *hand = None;
                }
                (None, None) => {}
            }
        }
    }

    /// Records the hands after a frame.
    pub(super) fn after(&mut self, body: &dyn Body) {
        for (prop, hand) in self.props.iter_mut().zip(&self.hands) {
            let found = hand.and_then(|id| Some((id, body.colliders()?)));
            prop.poses.push(found.and_then(|(id, colliders)| colliders.hand_pose(id)));
            let holds =
                found.and_then(|(id, colliders)| colliders.hand(id)).is_some_and(HandBody::is_holding);
            prop.holding += usize::from(holds);
        }
    }

    /// The hands of the last recorded frame.
    pub(super) fn shown(&self) -> impl Iterator<Item = (Side, &HandPose)> + Clone {
        self.props.iter().filter_map(|prop| Some((prop.side, prop.poses.last()?.as_ref()?)))
    }

    pub(super) fn into_props(self) -> Vec<HandProp> {
        self.props
    }
}
