//! The interactions of NePHIM's takes, as scripted hands.

use glam::{Quat, Vec3};
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::run::{ScriptedHand, TouchScript};
use zygoma_hand::{Gesture, HandPose, Joint, Side};
use zygoma_numerics::random::Keyed;
use zygoma_physics::contact::Pose;

use super::SECONDS;

/// Tracking error of an interaction: standard deviations of the hand's place, m, and of its turn, rad. With these the plain rig is free of
/// collisions about as often as published. Its depth (1.2 cm) cannot be reached: fingers of the built-in hand are 7 to 10 mm thick from
/// their core to the skin.
const MISPLACED: f64 = 0.005;
const MISTURNED: f64 = 0.05;
/// Tracking noise from frame to frame, m.
const JITTER: f64 = 0.0007;

/// The interactions of NePHIM Table 9: gesture, place, number with one hand, number with both. Its rows add up to 156, three fewer than its own sum; its
/// circles are strokes here.
pub(super) const INTERACTIONS: [(Gesture, &str, usize, usize); 18] = [
    (Gesture::Poke, "cheek", 2, 7),
    (Gesture::Press, "cheek", 0, 4),
    (Gesture::Poke, "nose-tip", 2, 0),
    (Gesture::Poke, "forehead", 1, 0),
    (Gesture::Punch, "chin", 4, 0),
    (Gesture::Pinch, "lip-lower", 5, 0),
    (Gesture::Pinch, "cheek", 13, 5),
    (Gesture::Stroke, "ear>cheek", 7, 16),
    (Gesture::Stroke, "cheek>ear", 0, 9),
    (Gesture::Stroke, "jaw>cheekbone", 4, 9),
    (Gesture::Stroke, "cheekbone>jaw", 5, 11),
    (Gesture::Stroke, "cheek>mouth", 0, 2),
    (Gesture::Stroke, "cheekbone>cheek", 0, 16),
    (Gesture::Slap, "cheek", 6, 0),
    (Gesture::Punch, "cheek", 4, 3),
    (Gesture::Pull, "lip-lower", 1, 3),
    (Gesture::Pull, "cheek", 0, 15),
    (Gesture::Pull, "nose-tip", 2, 0),
];

/// One interaction of one or two hands.
pub(super) struct Interaction {
    number: u64,
    pub(super) gesture: Gesture,
    pub(super) path: &'static str,
    script: TouchScript,
}

impl Interaction {
    /// Hands at a time of the interaction, as a tracker sees them.
    pub(super) fn poses(&self, time: f64, frame: u64, plain: &[Vec3]) -> Vec<(Side, HandPose)> {
        let [random, jitter] = [20, 21].map(|seed| Keyed::new(seed, self.number));
        let hand = |(k, hand): (u64, &ScriptedHand)| {
            let normal = |tick: u64| random.normal(8 * k + tick) as f32;
            let shake = |axis: u64| jitter.normal(64 * frame + 8 * k + axis) as f32;
            let shift = MISPLACED as f32 * Vec3::new(normal(0), normal(1), normal(2))
                + JITTER as f32 * Vec3::new(shake(0), shake(1), shake(2));
            let turn = Quat::from_scaled_axis(MISTURNED as f32 * Vec3::new(normal(3), normal(4), normal(5)));
            let pose = hand.pose(time, plain);
            let about = pose.at(Joint::IndexTip);
            (hand.side, pose.moved(&Pose { rotation: turn, translation: about + shift - turn * about }))
        };
        (0..).zip(&self.script.hands).map(hand).collect()
    }
}

/// Makes the interactions on a face, all or those of one gesture: an even choice of at most `most`.
pub(super) fn interactions(
    face: &FaceModel,
    (most, gesture): (usize, Option<&str>),
) -> anyhow::Result<Vec<Interaction>> {
    let places = Landmarks::new(face);
    let place = |name: &str, side: Side| {
        let own = format!("{name}-{}", side.name());
        if places.find(&own).is_some() { own } else { name.to_owned() }
    };
    let hand = |gesture: Gesture, path: &str, side: Side| {
        let (from, to) = path.split_once('>').unwrap_or((path, path));
        let toward = if from == to { String::new() } else { format!("toward = \"{}\"\n", place(to, side)) };
        format!(
            "[[hand]]\ngesture = \"{}\"\nat = \"{}\"\n{toward}hand = \"{}\"\nfrom = 0\nto = {SECONDS}\n",
            gesture.name(),
            place(from, side),
            side.name()
        )
    };
    let mut scripts = Vec::new();
    let is_wanted = |own: Gesture| gesture.is_none_or(|wanted| own.name() == wanted);
    for (gesture, path, one, both) in INTERACTIONS.into_iter().filter(|row| is_wanted(row.0)) {
        let alternating = (0..one).map(|k| if k % 2 == 0 { vec![Side::Left] } else { vec![Side::Right] });
        // Both hands cannot be at the lip at once.
        let pair = if path == "lip-lower" { vec![Side::Right] } else { vec![Side::Left, Side::Right] };
        for sides in alternating.chain(std::iter::repeat_n(pair, both)) {
            let script = sides.iter().map(|side| hand(gesture, path, *side)).collect::<String>();
            scripts.push((gesture, path, script));
        }
    }
    let count = scripts.len().min(most.max(1));
    let chosen = (0..count).map(|k| k * scripts.len() / count);
    let made = chosen.map(|number| {
        let (gesture, path, script) = &scripts[number];
        let script = TouchScript::parse(script, face, &places).map_err(anyhow::Error::msg)?;
        Ok(Interaction { number: number as u64, gesture: *gesture, path, script })
    });
    made.collect()
}
