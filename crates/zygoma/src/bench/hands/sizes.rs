//! Times of frames with hands, and of tissue of other sizes.

use std::time::Instant;

use glam::Vec3;
use serde::Serialize;
use zygoma_face::body::{Body, Touchable};
use zygoma_face::contact::HandId;
use zygoma_face::model::Landmarks;
use zygoma_face::run::{ScriptedHand, TouchScript};
use zygoma_face::tissue::TissueBody;
use zygoma_hand::{HandPose, Side};
use zygoma_rig::Rig;

use super::{RATE, SECONDS, build, follow};
use crate::bench::harness::{Spread, cpu_seconds};

/// Times of tissue of a size while a palm is laid on the cheek, and while the cheek is pinched and pulled.
#[derive(Serialize)]
pub(crate) struct SizeRow {
    pub(crate) nodes: usize,
    pub(crate) tetrahedra: usize,
    pub(crate) palm: FrameTimes,
    pub(crate) pull: FrameTimes,
    pub(crate) untouched: FrameTimes,
    /// Processor time of a step of these three, of all threads, on average; `None` where the system does not report it. On a machine that does
    /// other work, steps take longer than this.
    pub(crate) processor_ms: Option<[f64; 3]>,
}

/// Times of steps of the physics, ms.
#[derive(Serialize)]
pub(crate) struct FrameTimes {
    pub(crate) median_ms: f64,
    pub(crate) p99_ms: f64,
}

impl FrameTimes {
    pub(super) fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let p99_ms = times.get(times.len() * 99 / 100).copied().unwrap_or(0.0);
        Self { median_ms: Spread::of(times).median_ms, p99_ms }
    }
}

/// Frames that are timed while nothing touches the tissue.
const RESTING: usize = 40;

/// Times of frames in which nothing touches settled tissue.
pub(super) fn rest(body: &mut TissueBody) -> FrameTimes {
    FrameTimes::new((0..RESTING).map(|_| timed(body)).collect())
}

/// Times every step of tissue with so many triangles of skin in which a hand touches it: first contacts are among them.
pub(super) fn size(rig: &Rig, triangles: usize) -> anyhow::Result<SizeRow> {
    let (face, tissue) = build(rig, triangles)?;
    let places = Landmarks::new(&face);
    let mut body = TissueBody::new(tissue.clone())?;
    body.settle();
    let began = cpu_seconds();
    let untouched = rest(&mut body);
    let resting = since(began).map(|spent| 1e3 * spent * body.latency() * RATE / RESTING as f64);
    let played = |gesture: &str| -> anyhow::Result<(FrameTimes, Option<f64>)> {
        let script =
            format!("[[hand]]\ngesture = \"{gesture}\"\nat = \"cheek-left\"\nfrom = 0\nto = {SECONDS}\n");
        let script = TouchScript::parse(&script, &face, &places).map_err(anyhow::Error::msg)?;
        let mut times = Vec::new();
        let mut spent = Some(0.0);
        // Each time the tissue starts anew, with nothing known about contacts.
        for _ in 0..4 {
            let mut body = TissueBody::new(tissue.clone())?;
            Body::settle(&mut body);
            let mut hands = Vec::new();
            let step = body.latency();
            for tick in 0..=(SECONDS / step) as u64 {
                let at = |hand: &ScriptedHand| (hand.side, hand.pose(tick as f64 * step, &face.neutral));
                let poses: Vec<(Side, HandPose)> = script.hands.iter().map(at).collect();
                follow(body.colliders_mut(), &mut hands, &poses);
                let (began, busy) = (Instant::now(), cpu_seconds());
                body.advance(step);
                let milliseconds = 1e3 * began.elapsed().as_secs_f64();
                let busy = since(busy);
                let colliders = body.colliders_mut();
                let force =
                    |hand: &HandId| colliders.hand_force(*hand).is_some_and(|force| force != Vec3::ZERO);
                if hands.iter().any(force) {
                    times.push(milliseconds);
                    spent = spent.zip(busy).map(|(sum, busy)| sum + busy);
                }
            }
        }
        let count = times.len().max(1) as f64;
        Ok((FrameTimes::new(times), spent.map(|spent| 1e3 * spent / count)))
    };
    let [(palm, pressing), (pull, pulling)] = [played("press")?, played("pull")?];
    let processor_ms = pressing.zip(pulling).zip(resting).map(|((palm, pull), rest)| [palm, pull, rest]);
    let (nodes, tetrahedra) = (tissue.node_count(), tissue.tet_count());
    Ok(SizeRow { nodes, tetrahedra, palm, pull, untouched, processor_ms })
}

/// Processor time since an earlier one, s.
fn since(earlier: Option<f64>) -> Option<f64> {
    Some(cpu_seconds()? - earlier?)
}

/// Advances by a frame; returns the time of a step, ms.
pub(super) fn timed(body: &mut TissueBody) -> f64 {
    let steps = (1.0 / (RATE * body.latency())).round().max(1.0);
    let began = Instant::now();
    body.advance(1.0 / RATE);
    1e3 * began.elapsed().as_secs_f64() / steps
}
