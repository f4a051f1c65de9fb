//! Hands in a touch script: gestures at places of the face.

use glam::Vec3;
use serde::Deserialize;
use toml::Spanned;
use zygoma_hand::{Extent, Gesture, HandPose, Side, Spot};

use super::file::Where;
use super::{Place, Reader};
use crate::contact::HAND_FRICTION;

/// Drag of a pull where none is given, along the skin's normal, m. Ours.
const PULL: f32 = 0.015;

/// Skin this far beside the way of a stroke counts, up to this height above it, m. Ours.
const ASIDE: f32 = 0.008;
const HIGHEST: f32 = 0.03;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HandFile {
    name: Option<String>,
    gesture: Spanned<String>,
    at: Spanned<Where>,
    toward: Option<Spanned<Where>>,
    hand: Option<Spanned<String>>,
    from: f64,
    to: f64,
    depth: Option<f32>,
    by: Option<[f32; 3]>,
    fingers: Option<usize>,
    roll: Option<f32>,
    friction: Option<f32>,
}

/// A gesture of a hand at a place of a face.
#[derive(Clone, Debug)]
pub struct ScriptedHand {
    /// Its name.
    pub name: String,
    /// The hand.
    pub side: Side,
    /// Start, in seconds since the start of the take.
    pub from: f64,
    /// End.
    pub to: f64,
    /// Coulomb friction.
    pub friction: f32,
    gesture: Gesture,
    at: Place,
    /// The end of a stroke.
    toward: Option<Place>,
    depth: f32,
    /// Drag of a pull; `None`: outwards.
    by: Option<Vec3>,
    fingers: usize,
    /// Turn of the hand about the skin's normal, rad.
    roll: f32,
}

impl ScriptedHand {
    /// The hand at a time, on the plain rig's surface, in metres in the head's frame.
    pub fn pose(&self, time: f64, plain: &[Vec3]) -> HandPose {
        let t = ((time - self.from) / (self.to - self.from)).clamp(0.0, 1.0) as f32;
        let (at, out) = self.at.on(plain);
        let extent = Extent { depth: self.depth, by: self.by.unwrap_or(PULL * out), fingers: self.fingers };
        let (at, out) = match &self.toward {
            Some(toward) => {
                let (to, out_there) = toward.on(plain);
                let travel = self.gesture.travel(t);
                let out = out.lerp(out_there, travel).normalize_or(out);
                let at = at.lerp(to, travel);
                (at + rise(at, out, plain) * out, out)
            }
            None => (at, out),
        };
        self.gesture.pose(self.side, &Spot::new(at, out, self.roll), &extent, t)
    }
}

/// Height of the surface above a point along a normal: a straight way between two places leads through the cheek between them.
fn rise(at: Vec3, out: Vec3, surface: &[Vec3]) -> f32 {
    let heights = surface.iter().filter_map(|p| {
        let offset = *p - at;
        let height = offset.dot(out);
        ((offset - height * out).length() < ASIDE && height.abs() < HIGHEST).then_some(height)
    });
    heights.fold(0.0, f32::max)
}

impl Reader<'_> {
    pub(super) fn hand(&self, written: &Spanned<HandFile>, index: usize) -> Result<ScriptedHand, String> {
        let line = self.line(written);
        let hand = written.get_ref();
        let named = hand.gesture.get_ref();
        let gesture = Gesture::ALL.iter().find(|(name, _)| name == named).map(|(_, gesture)| *gesture);
        let gesture = gesture.ok_or_else(|| {
            let known: Vec<&str> = Gesture::ALL.iter().map(|(name, _)| *name).collect();
            format!(
                "line {}: there is no gesture '{named}'; there are {}",
                self.line(&hand.gesture),
                known.join(", ")
            )
        })?;
        let problem = |text: &str| Err(format!("line {line}: {text}"));
        if !(hand.from.is_finite() && hand.to.is_finite() && hand.from < hand.to) {
            return problem("'from' must be before 'to'");
        }
        let at = self.spot(&hand.at)?;
        let side = match &hand.hand {
            Some(name) => Side::from_name(name.get_ref()).ok_or_else(|| {
                format!("line {}: a hand is left or right, not '{}'", self.line(name), name.get_ref())
            })?,
            // The person's own hand on that side.
            None if at.on(&self.face.neutral).0.x >= 0.0 => Side::Left,
            None => Side::Right,
        };
        let toward = hand.toward.as_ref().map(|toward| self.spot(toward)).transpose()?;
        if gesture == Gesture::Stroke && toward.is_none() {
            return problem("a stroke needs the place that it goes to: toward");
        }
        if gesture != Gesture::Stroke && toward.is_some() {
            return problem("only a stroke goes toward another place");
        }
        if gesture != Gesture::Pull && hand.by.is_some() {
            return problem("only a pull drags skin by a distance");
        }
        let depth = hand.depth.map_or(gesture.usual_depth(), |depth| self.unit * depth);
        let by = hand.by.map(|by| self.unit * Vec3::from_array(by));
        let friction = hand.friction.unwrap_or(HAND_FRICTION);
        let roll = hand.roll.unwrap_or(0.0).to_radians();
        if !(depth.is_finite() && by.is_none_or(Vec3::is_finite) && roll.is_finite()) {
            return problem("depth, by and roll must be finite numbers");
        }
        if !(friction >= 0.0 && friction.is_finite()) {
            return problem("friction must be 0 or more");
        }
        let fingers = hand.fingers.unwrap_or(1);
        if !(1..=4).contains(&fingers) {
            return problem("one to four fingers pinch with the thumb");
        }
        Ok(ScriptedHand {
            name: hand.name.clone().unwrap_or_else(|| format!("hand {}", index + 1)),
            from: hand.from,
            to: hand.to,
            side,
            friction,
            gesture,
            at,
            toward,
            depth,
            by,
            fingers,
            roll,
        })
    }
}
