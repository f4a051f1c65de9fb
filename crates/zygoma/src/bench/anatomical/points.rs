//! A dense face from tracked points of the same person.

use anyhow::Context;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::anatomical::AnatomicalBody;
use zygoma_face::body::{Body, Drive};
use zygoma_numerics::random::Keyed;
use zygoma_rig::formats::markers::MarkerPlace;

use super::{Gap, Subject};
use crate::commands::landmarks::tracked;

/// Points on the skin.
const POINTS: usize = 150;
/// Standard deviations of noise to try, mm.
const NOISE: [f64; 3] = [0.5, 1.0, 3.0];
/// Distance of a wrong point, m.
const WRONG: f32 = 0.02;
/// Skin that moves farther than this in a frame counts, m.
const MOVING: f32 = 1e-3;

/// Distances from the plain rig whose points were tracked, over skin that moves in the frame.
#[derive(Serialize)]
pub(crate) struct PointFigures {
    pub(crate) points: usize,
    pub(crate) frames: usize,
    /// Of the neutral.
    pub(crate) neutral: Gap,
    pub(crate) clean: Gap,
    /// The fraction of the motion that is explained.
    pub(crate) explained: f64,
    /// With noise of some standard deviations, mm.
    pub(crate) noise_mm: [f64; 3],
    pub(crate) noisy: [Gap; 3],
    /// With one point in five missing.
    pub(crate) missing: Gap,
    /// With one point 2 cm off.
    pub(crate) outlier: Gap,
}

impl PointFigures {
    pub(super) fn line(&self) -> String {
        let noisy = self.noisy.map(|gap| format!("{:.2}", gap.mean_mm)).join(", ");
        format!(
            "{} points, {} frames: {:.2} mm from the truth where skin moves (neutral {:.2}); with noise of 0.5, 1 and 3 mm {noisy}; one in five missing {:.2}; one 2 cm off {:.2}",
            self.points,
            self.frames,
            self.clean.mean_mm,
            self.neutral.mean_mm,
            self.missing.mean_mm,
            self.outlier.mean_mm
        )
    }

    pub(super) fn of(subject: &Subject<'_>, take: &str) -> anyhow::Result<Self> {
        let points = tracked(subject.rig, POINTS)?;
        let frames = subject.weights(take)?;
        let measure = |change: &dyn Fn(usize, &mut [Vec3])| {
            Followed { subject, points: &points }.measure(&frames, change)
        };
        let noisy = |deviation: f64| {
            measure(&|frame, places| {
                let random = Keyed::new(1, frame as u64);
                for (index, at) in places.iter_mut().enumerate() {
                    let off =
                        |axis: usize| (1e-3 * deviation * random.normal((3 * index + axis) as u64)) as f32;
                    *at += Vec3::new(off(0), off(1), off(2));
                }
            })
        };
        let clean = measure(&|_, _| {})?;
        let gone =
            |_: usize, places: &mut [Vec3]| places.iter_mut().step_by(5).for_each(|at| *at = Vec3::NAN);
        let wrong = |_: usize, places: &mut [Vec3]| {
            places.get_mut(POINTS / 3).into_iter().for_each(|at| at.y += WRONG);
        };
        let neutrals: Vec<Gap> = frames
            .iter()
            .map(|weights| {
                let truth = subject.plain(weights);
                Gap::between(&truth, &subject.face.neutral, |v| {
                    truth[v].distance(subject.face.neutral[v]) > MOVING
                })
            })
            .collect();
        let neutral = Gap::of(&neutrals);
        Ok(Self {
            points: points.len(),
            frames: frames.len(),
            neutral,
            clean,
            explained: 1.0 - clean.mean_mm / neutral.mean_mm.max(f64::MIN_POSITIVE),
            noise_mm: NOISE,
            noisy: [noisy(NOISE[0])?, noisy(NOISE[1])?, noisy(NOISE[2])?],
            missing: measure(&gone)?,
            outlier: measure(&wrong)?,
        })
    }
}

struct Followed<'a> {
    subject: &'a Subject<'a>,
    points: &'a [u32],
}

impl Followed<'_> {
    /// The distance from the truth when the points are changed in some way.
    fn measure(&self, frames: &[Vec<f32>], change: &dyn Fn(usize, &mut [Vec3])) -> anyhow::Result<Gap> {
        let places: Vec<MarkerPlace> = self.points.iter().map(|v| MarkerPlace::Vertex(*v)).collect();
        let mut body = AnatomicalBody::following(self.subject.head.clone(), &places)?;
        let mut gaps = Vec::new();
        for (frame, weights) in frames.iter().enumerate() {
            let truth = self.subject.plain(weights);
            let mut seen: Vec<Vec3> = self.points.iter().map(|v| truth[*v as usize]).collect();
            change(frame, &mut seen);
            body.drive(Drive::Markers(&seen)).context("the face follows points")?;
            Body::settle(&mut body);
            let neutral = &self.subject.face.neutral;
            gaps.push(Gap::between(body.frame_before(0.0).positions, &truth, |v| {
                truth[v].distance(neutral[v]) > MOVING
            }));
        }
        Ok(Gap::of(&gaps))
    }
}
