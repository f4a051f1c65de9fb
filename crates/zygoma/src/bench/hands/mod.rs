//! Hands on a face: penetration before and after, as in NePHIM Table 3, and the time of frames.

mod cartilage;
mod interactions;
mod methods;
mod pictures;
mod sizes;

use std::sync::Arc;

use anyhow::Context;
use serde::Serialize;
use zygoma_face::body::{Body, Touchable};
use zygoma_face::contact::{ColliderFrame, Colliders, HAND_FRICTION, HandId};
use zygoma_face::model::{Continue, FaceModel};
use zygoma_face::run::{HandFrameMeasure, HandProbe, HandSummary};
use zygoma_face::tissue::{Tissue, TissueBody, TissueInput, TissueParams};
use zygoma_geometry::normals::vertex_normals;
use zygoma_hand::{Gesture, HandPose, Side};
use zygoma_numerics::Budget;
use zygoma_rig::Rig;

use self::cartilage::{NoseRow, nose};
use self::interactions::{INTERACTIONS, Interaction, interactions};
use self::methods::{Published, VARIANTS};
use self::sizes::{FrameTimes, SizeRow, rest, size, timed};
use crate::cli::BenchHandsArgs;

/// Frames per second, as in NePHIM.
const RATE: f64 = 20.0;
/// Seconds of an interaction. Ours, as those below.
const SECONDS: f64 = 1.6;
/// Goals for a frame with hands, ms.
const MEDIAN_GOAL_MS: f64 = 30.0;
const P99_GOAL_MS: f64 = 60.0;

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
    /// NePHIM's own method on the same tissue, whole and without some of its parts, as asked for.
    pub(crate) published: Vec<MethodRow>,
    /// Times of frames of 1/20 s with hands, and without.
    pub(crate) touched: FrameTimes,
    pub(crate) untouched: FrameTimes,
    pub(crate) median_goal_ms: f64,
    pub(crate) p99_goal_ms: f64,
    /// How far the nose bends, as asked for.
    pub(crate) nose: Option<NoseRow>,
    /// Times of larger tissue, as asked for.
    pub(crate) sizes: Vec<SizeRow>,
}

/// Another method on the same interactions.
#[derive(Serialize)]
pub(crate) struct MethodRow {
    pub(crate) name: &'static str,
    #[serde(flatten)]
    pub(crate) found: HandSummary,
    /// Times of whole frames of 1/20 s.
    pub(crate) frames: FrameTimes,
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

/// A rig's face with its tissue.
fn build(rig: &Rig, triangles: usize) -> anyhow::Result<(FaceModel, Arc<Tissue>)> {
    let mut face = FaceModel::of_rig(rig, triangles, &Budget::default())?;
    face.look_inside(rig);
    let tissue = Tissue::build(&TissueInput::new(&face), &TissueParams::default(), &mut |_| Continue::Yes)?;
    Ok((face, Arc::new(tissue)))
}

/// Plays interactions on tissue and measures them; then times tissue of other sizes.
pub(crate) fn run(rig: &Rig, options: &BenchHandsArgs) -> anyhow::Result<HandsReport> {
    let BenchHandsArgs { triangles, interactions: most, gesture, sizes, .. } = options;
    let (face, tissue) = build(rig, *triangles)?;
    if let Some(folder) = &options.pictures {
        pictures::write(folder, rig, &face, &tissue)?;
    }
    let interactions = interactions(&face, (*most, gesture.as_deref()))?;
    let mut body = TissueBody::new(tissue.clone())?;
    body.settle();
    let untouched = rest(&mut body);
    let normals = vertex_normals(&face.neutral, &face.triangles);
    let probe = HandProbe::new().context("the built-in hand has no closed surface")?;
    let mut probe = probe.with_inside(&face.inside);
    let (mut simulated, mut projected) = (Vec::new(), Vec::new());
    let mut touched = Vec::new();
    let variants = VARIANTS.iter().filter(|_| options.published);
    let mut published: Vec<Published> =
        variants.map(|variant| Published::new(&tissue, *variant)).collect::<anyhow::Result<_>>()?;
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
            for other in &mut published {
                if frame == 0 {
                    other.begin(&poses);
                }
                other.measure(&poses, &face, &mut probe);
            }
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
        published: published.into_iter().map(Published::row).collect(),
        touched: FrameTimes::new(touched),
        untouched,
        median_goal_ms: MEDIAN_GOAL_MS,
        p99_goal_ms: P99_GOAL_MS,
        nose: if options.cartilage { Some(nose(&face)?) } else { None },
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
