//! Expressions of takes against the plain rig, and corrected rigs against the simulation.

use std::time::Instant;

use anyhow::Context;
use serde::Serialize;
use zygoma_face::anatomical::{AnatomicalBody, Corrected};
use zygoma_face::body::{Body, Drive};
use zygoma_face::model::Continue;

use super::{Gap, Subject, settle};
use crate::commands::simulate::anatomical::Tools;

/// Time from frame to frame, s. Frames are far apart in their take, so that each is a long way from the one before.
const FRAME: f64 = 0.04;

/// A take.
#[derive(Serialize)]
pub(crate) struct TakeFigures {
    pub(crate) take: String,
    pub(crate) frames: usize,
    /// Mean of |det F − 1|, and that under the plain rig with the same bones.
    pub(crate) volume: f64,
    pub(crate) plain_volume: f64,
    /// Frames in which lips cross.
    pub(crate) lip_crossings: usize,
    pub(crate) plain_crossings: usize,
    /// Distance from the plain rig.
    pub(crate) from_rig: Gap,
    pub(crate) most_inverted: usize,
    /// Time of the first expression from rest, and of the others on average.
    pub(crate) cold_ms: f64,
    pub(crate) frame_ms: f64,
    pub(crate) iterations: f64,
}

impl TakeFigures {
    pub(super) fn line(&self) -> String {
        format!(
            "{}, {} frames: volume changes by {:.2} % (plain rig {:.2}), lips cross in {} frames ({}), {:.2} mm from the rig, {:.1} at most; {:.0} ms a frame, {:.0} iterations",
            self.take,
            self.frames,
            100.0 * self.volume,
            100.0 * self.plain_volume,
            self.lip_crossings,
            self.plain_crossings,
            self.from_rig.mean_mm,
            self.from_rig.worst_mm,
            self.frame_ms,
            self.iterations
        )
    }

    pub(super) fn of(subject: &Subject<'_>, take: &str) -> anyhow::Result<Self> {
        let mut body = AnatomicalBody::new(subject.head.clone())?;
        let mut tools = Tools::new(&body, &subject.face).context("the plain rig cannot be solved for")?;
        let weights = subject.weights(take)?;
        let (mut volumes, mut gaps, mut times) = ([0.0; 2], Vec::new(), Vec::new());
        let (mut crossings, mut inverted, mut iterations) = ([0; 2], 0, 0);
        for (frame, weights) in weights.iter().enumerate() {
            let began = Instant::now();
            if frame == 0 {
                settle(&mut body, weights)?;
            } else {
                body.drive(Drive::Weights(weights)).context("an anatomical face follows weights")?;
                body.advance(FRAME);
            }
            times.push(1e3 * began.elapsed().as_secs_f64());
            iterations += body.iterations();
            let change = body.volume_change();
            volumes[0] += change.mean;
            volumes[1] += tools.plain.change(&subject.head, weights).mean;
            inverted = inverted.max(change.inverted);
            let (plain, shown) = (subject.plain(weights), body.frame_before(0.0).positions);
            gaps.push(Gap::between(shown, &plain, |_| true));
            for (count, surface) in crossings.iter_mut().zip([shown, &plain[..]]) {
                *count += usize::from(tools.crossings(surface) > 0);
            }
        }
        let count = weights.len().max(1) as f64;
        let (cold, warm) = times.split_first().context("the take has no frames")?;
        Ok(Self {
            take: take.to_owned(),
            frames: weights.len(),
            volume: volumes[0] / count,
            plain_volume: volumes[1] / count,
            lip_crossings: crossings[0],
            plain_crossings: crossings[1],
            from_rig: Gap::of(&gaps),
            most_inverted: inverted,
            cold_ms: *cold,
            frame_ms: warm.iter().sum::<f64>() / warm.len().max(1) as f64,
            iterations: iterations as f64 / count,
        })
    }
}

/// A corrected rig in the frames of a take.
#[derive(Serialize)]
pub(crate) struct CorrectedFigures {
    pub(crate) shapes_seconds: f64,
    /// Distance of the corrected rig from the simulation, over skin that moves more than 1 mm.
    pub(crate) from_direct: Gap,
    /// That of the plain rig.
    pub(crate) plain_from_direct: Gap,
}

impl CorrectedFigures {
    pub(super) fn line(&self) -> String {
        format!(
            "corrected rig, made in {:.0} s: {:.3} mm from the simulation where skin moves, {:.1} at most; the plain rig {:.2}",
            self.shapes_seconds,
            self.from_direct.mean_mm,
            self.from_direct.worst_mm,
            self.plain_from_direct.mean_mm
        )
    }

    pub(super) fn of(subject: &Subject<'_>, take: &str) -> anyhow::Result<Self> {
        let began = Instant::now();
        let corrected = Corrected::new(&subject.head, &subject.face, &mut |_| Continue::Yes)?
            .context("the correction was cancelled")?;
        let shapes_seconds = began.elapsed().as_secs_f64();
        let mut gaps = [Vec::new(), Vec::new()];
        for weights in subject.weights(take)? {
            let direct = subject.settled(&subject.head, &weights)?;
            let plain = subject.plain(&weights);
            let moves = |v: usize| plain[v].distance(subject.face.neutral[v]) > 1e-3;
            let rigs = [corrected.blend(&weights), plain.clone()];
            for (gaps, rig) in gaps.iter_mut().zip(&rigs) {
                gaps.push(Gap::between(rig, &direct, moves));
            }
        }
        let [from_direct, plain_from_direct] = gaps.map(|gaps| Gap::of(&gaps));
        Ok(Self { shapes_seconds, from_direct, plain_from_direct })
    }
}
