//! Hands on a face: penetration before and after, as in NePHIM Table 3, and the time of frames.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use glam::{Quat, Vec3};
use serde::Serialize;
use zygoma_face::body::Body;
use zygoma_face::contact::{ColliderFrame, Colliders, HAND_FRICTION, HandId};
use zygoma_face::model::{Continue, FaceModel, Landmarks};
use zygoma_face::run::ScriptedHand;
use zygoma_face::run::{HandFrameMeasure, HandProbe, HandSummary, TouchScript};
use zygoma_face::tissue::{Tissue, TissueBody, TissueInput, TissueParams};
use zygoma_geometry::normals::vertex_normals;
use zygoma_hand::{Gesture, HandPose, Joint, Side};
use zygoma_numerics::Budget;
use zygoma_numerics::random::Keyed;
use zygoma_physics::contact::Pose;
use zygoma_rig::Rig;

use super::harness::Spread;
use crate::cli::BenchHandsArgs;

/// Frames per second, as in NePHIM.
const RATE: f64 = 20.0;
/// Seconds of an interaction. Ours, as those below.
const SECONDS: f64 = 1.6;
/// Tracking error of an interaction: standard deviations of the hand's place, m, and of its turn, rad. With these the plain rig is free of
/// collisions about as often as published. Its depth (1.2 cm) cannot be reached: fingers of the built-in hand are 7 to 10 mm thick from
/// their core to the skin.
const MISPLACED: f64 = 0.005;
const MISTURNED: f64 = 0.05;
/// Tracking noise from frame to frame, m.
const JITTER: f64 = 0.0007;
/// Goals for a frame with hands, ms.
const MEDIAN_GOAL_MS: f64 = 30.0;
const P99_GOAL_MS: f64 = 60.0;

/// The interactions of NePHIM Table 9: gesture, place, number with one hand, number with both.
const INTERACTIONS: [(Gesture, &str, usize, usize); 17] = [
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
    (Gesture::Punch, "cheek", 10, 7),
    (Gesture::Pull, "lip-lower", 1, 3),
    (Gesture::Pull, "cheek", 0, 15),
    (Gesture::Pull, "nose-tip", 2, 0),
];

/// The report.
#[derive(Serialize)]
pub(crate) struct HandsReport {
    pub(crate) rig: String,
    pub(crate) vertices: usize,
    pub(crate) tetrahedra: usize,
    pub(crate) interactions: usize,
    /// The simulated face, by gesture and place.
    pub(crate) by_gesture: Vec<GestureRow>,
    /// The plain rig and the simulated face.
    pub(crate) simulated: HandSummary,
    /// The plain rig with every colliding vertex moved inwards along its normal until it is free, as methods before NePHIM do.
    pub(crate) projected: HandSummary,
    /// Times of frames of 1/20 s with hands, and without.
    pub(crate) touched: FrameTimes,
    pub(crate) untouched: FrameTimes,
    pub(crate) median_goal_ms: f64,
    pub(crate) p99_goal_ms: f64,
    /// Times of larger tissue, as asked for.
    pub(crate) sizes: Vec<SizeRow>,
}

/// Times of tissue of a size while a palm is laid on the cheek, and while the cheek is pinched and pulled.
#[derive(Serialize)]
pub(crate) struct SizeRow {
    pub(crate) nodes: usize,
    pub(crate) tetrahedra: usize,
    pub(crate) palm: FrameTimes,
    pub(crate) pull: FrameTimes,
    pub(crate) untouched: FrameTimes,
}

/// Times of frames per step of the physics, ms.
#[derive(Serialize)]
pub(crate) struct FrameTimes {
    pub(crate) median_ms: f64,
    pub(crate) p99_ms: f64,
}

impl FrameTimes {
    fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let p99_ms = times.get(times.len() * 99 / 100).copied().unwrap_or(0.0);
        Self { median_ms: Spread::of(times).median_ms, p99_ms }
    }
}

/// Interactions of one gesture at one place.
#[derive(Serialize)]
pub(crate) struct GestureRow {
    pub(crate) gesture: &'static str,
    pub(crate) at: &'static str,
    /// Frames in which the plain rig is in a hand.
    pub(crate) touching: usize,
    /// Share of these that end free of collisions except at bone, %.
    pub(crate) resolved_percent: f64,
    /// The largest depth that remains off bone, mm.
    pub(crate) deepest_free_mm: f64,
}

/// One interaction of one or two hands.
struct Interaction {
    number: u64,
    gesture: Gesture,
    path: &'static str,
    script: TouchScript,
}

impl Interaction {
    /// Hands at a time of the interaction, as a tracker sees them.
    fn poses(&self, time: f64, frame: u64, plain: &[Vec3]) -> Vec<(Side, HandPose)> {
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

/// Makes the interactions on a face: an even choice of at most `most`.
fn interactions(face: &FaceModel, most: usize) -> anyhow::Result<Vec<Interaction>> {
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
    for (gesture, path, one, both) in INTERACTIONS {
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

/// A rig's face with its tissue.
fn build(rig: &Rig, triangles: usize) -> anyhow::Result<(FaceModel, Arc<Tissue>)> {
    let mut face = FaceModel::of_rig(rig, triangles, &Budget::default())?;
    face.look_inside(rig);
    let tissue = Tissue::build(&TissueInput::new(&face), &TissueParams::default(), &mut |_| Continue::Yes)?;
    Ok((face, Arc::new(tissue)))
}

/// Times of frames that nothing touches.
fn rest(body: &mut TissueBody) -> FrameTimes {
    body.settle();
    FrameTimes::new((0..40).map(|_| timed(body)).collect())
}

/// Times tissue with so many triangles of skin: first contacts are among the frames.
fn size(rig: &Rig, triangles: usize) -> anyhow::Result<SizeRow> {
    let (face, tissue) = build(rig, triangles)?;
    let places = Landmarks::new(&face);
    let mut body = TissueBody::new(tissue.clone())?;
    let untouched = rest(&mut body);
    let played = |gesture: &str| -> anyhow::Result<FrameTimes> {
        let script =
            format!("[[hand]]\ngesture = \"{gesture}\"\nat = \"cheek-left\"\nfrom = 0\nto = {SECONDS}\n");
        let script = TouchScript::parse(&script, &face, &places).map_err(anyhow::Error::msg)?;
        let mut times = Vec::new();
        // Each time the tissue starts anew, with nothing known about contacts.
        for _ in 0..4 {
            let mut body = TissueBody::new(tissue.clone())?;
            Body::settle(&mut body);
            let mut hands = Vec::new();
            for frame in 0..=(SECONDS * RATE) as u64 {
                let poses: Vec<(Side, HandPose)> = script
                    .hands
                    .iter()
                    .map(|hand| (hand.side, hand.pose(frame as f64 / RATE, &face.neutral)))
                    .collect();
                follow(body.colliders_mut(), &mut hands, &poses);
                times.push(timed(&mut body));
            }
        }
        Ok(FrameTimes::new(times))
    };
    let (palm, pull) = (played("press")?, played("pull")?);
    Ok(SizeRow { nodes: tissue.node_count(), tetrahedra: tissue.tet_count(), palm, pull, untouched })
}

/// Plays interactions on tissue and measures them; then times tissue of other sizes.
pub(crate) fn run(rig: &Rig, options: &BenchHandsArgs) -> anyhow::Result<HandsReport> {
    let BenchHandsArgs { triangles, interactions: most, sizes, .. } = options;
    let (triangles, most) = (*triangles, *most);
    let (face, tissue) = build(rig, triangles)?;
    let interactions = interactions(&face, most)?;
    let mut body = TissueBody::new(tissue.clone())?;
    let untouched = rest(&mut body);
    let normals = vertex_normals(&face.neutral, &face.triangles);
    let mut probe = HandProbe::new().context("the built-in hand has no closed surface")?;
    if let Some(bones) = &face.inside.bones {
        probe = probe.with_bones(bones);
    }
    let (mut simulated, mut projected) = (Vec::new(), Vec::new());
    let mut touched = Vec::new();
    for interaction in &interactions {
        body.colliders_mut().clear();
        Body::settle(&mut body);
        let frames = (SECONDS * RATE) as u64;
        let mut hands: Vec<HandId> = Vec::new();
        for frame in 0..=frames {
            let poses = interaction.poses(frame as f64 / RATE, frame, &face.neutral);
            follow(body.colliders_mut(), &mut hands, &poses);
            touched.push(timed(&mut body));
            let shown = body.show(body.latency()).to_vec();
            let seen: Vec<(Side, HandPose)> = poses
                .iter()
                .zip(&hands)
                .filter_map(|((side, _), hand)| Some((*side, body.colliders().hand_pose(*hand)?)))
                .collect();
            let hands_now = || seen.iter().map(|(side, hand)| (*side, hand));
            simulated.push(Some(probe.measure(hands_now(), &face.skin, (&face.neutral, &shown))));
            let moved = probe.project(hands_now(), &face.skin, (&face.neutral, &normals));
            projected.push(Some(probe.measure(hands_now(), &face.skin, (&face.neutral, &moved))));
        }
    }
    Ok(HandsReport {
        rig: rig.name.clone(),
        vertices: face.vertex_count(),
        tetrahedra: tissue.tet_count(),
        interactions: interactions.len(),
        by_gesture: by_gesture(&interactions, &simulated),
        simulated: summary(&simulated),
        projected: summary(&projected),
        touched: FrameTimes::new(touched),
        untouched,
        median_goal_ms: MEDIAN_GOAL_MS,
        p99_goal_ms: P99_GOAL_MS,
        sizes: sizes.iter().map(|triangles| size(rig, *triangles)).collect::<anyhow::Result<_>>()?,
    })
}

fn summary(measures: &[Option<HandFrameMeasure>]) -> HandSummary {
    HandSummary::new(measures.iter())
}

/// Sums up interactions by gesture and place; each has the same number of frames.
fn by_gesture(interactions: &[Interaction], measures: &[Option<HandFrameMeasure>]) -> Vec<GestureRow> {
    let frames = measures.len() / interactions.len().max(1);
    let row = |(gesture, path, ..): &(Gesture, &'static str, usize, usize)| {
        let is_own = |interaction: &Interaction| interaction.gesture == *gesture && interaction.path == *path;
        let chunks = interactions.iter().zip(measures.chunks(frames.max(1)));
        let own: Vec<_> = chunks.filter(|(i, _)| is_own(i)).flat_map(|(_, chunk)| chunk).copied().collect();
        let summary = summary(&own);
        (!own.is_empty()).then_some(GestureRow {
            gesture: gesture.name(),
            at: path,
            touching: summary.touching,
            resolved_percent: summary.resolved_percent,
            deepest_free_mm: summary.simulated.deepest_free_mm,
        })
    };
    INTERACTIONS.iter().filter_map(row).collect()
}

/// Moves hands to their poses, and adds them at first.
fn follow(colliders: &mut Colliders, hands: &mut Vec<HandId>, poses: &[(Side, HandPose)]) {
    if hands.is_empty() {
        hands.extend(
            poses.iter().map(|(_, pose)| colliders.add_hand(ColliderFrame::Head, pose, HAND_FRICTION)),
        );
    }
    for (hand, (_, pose)) in hands.iter().zip(poses) {
        colliders.move_hand(*hand, pose);
    }
}

/// Advances by a frame; returns the time of a step, ms.
fn timed(body: &mut TissueBody) -> f64 {
    let steps = (1.0 / (RATE * body.latency())).round().max(1.0);
    let began = Instant::now();
    body.advance(1.0 / RATE);
    1e3 * began.elapsed().as_secs_f64() / steps
}
