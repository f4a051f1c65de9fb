//! Measures a body while it performs.

use std::collections::BTreeMap;

use glam::Vec3;
use zygoma_face::body::Body;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::run::watch::{Crossings, Deviations, GRAZE, Lasting, Peak, Pops, Swing, folded, life_mm};
use zygoma_face::run::{Observer, Outcome, Performed};
use zygoma_rig::{JointRole, Take};

use super::cell::{BodyKind, CrossingCounts, Inverted, Measured, PeakAt, Shaken};

/// Frames between two checks for crossings: 30 checks a second.
const LOOK: usize = 2;

/// Seconds to wait after the head has stopped.
const REST: f64 = 0.5;

/// The measurements of one take.
struct Probes {
    scale: f32,
    neutral: Vec<Vec3>,
    places: Landmarks,
    deviations: Deviations,
    pops: Pops,
    lasting: Lasting,
    swing: Swing,
    crossings: Crossings,
    /// Triangles whose folding counts.
    skin: Vec<[u32; 3]>,
    frames: usize,
    /// Frames checked for crossings, those with more than the rig's, and the worst of them.
    looked: usize,
    crossed: usize,
    most: CrossingCounts,
}

/// A body with probes around it.
pub(super) struct Probed<'a> {
    kind: BodyKind,
    face: &'a FaceModel,
    probes: Probes,
    fps: f64,
}

impl<'a> Probed<'a> {
    pub(super) fn new(kind: BodyKind, face: &'a FaceModel, places: &Landmarks, fps: f64) -> Self {
        let scale = life_mm(face.height);
        let neutral = face.neutral.clone();
        let follows = |v: &u32| face.embedding.weights[*v as usize].iter().sum::<f32>() > 0.0;
        // Vertices that follow no shell vertex are the plain rig's.
        let skin: Vec<[u32; 3]> = face.triangles.iter().copied().filter(|t| t.iter().any(follows)).collect();
        let probes = Probes {
            scale,
            deviations: Deviations::new(scale),
            pops: Pops::new(scale, fps),
            lasting: Lasting::new(fps),
            swing: Swing::new(face, places, scale),
            crossings: Crossings::new(&neutral, skin.clone()),
            neutral,
            places: places.clone(),
            skin,
            frames: 0,
            looked: 0,
            crossed: 0,
            most: CrossingCounts::default(),
        };
        Self { kind, face, probes, fps }
    }

    /// All measurements of the take.
    pub(super) fn measured(self, outcome: &Outcome, take: &Take, places: &Landmarks) -> Measured {
        let (probes, fps) = (&self.probes, self.fps);
        let peak = |peak: Peak| PeakAt {
            value: Some(f64::from(peak.value)).filter(|value| value.is_finite()),
            near: places
                .nearest(probes.neutral[peak.vertex as usize])
                .map_or_else(String::new, |place| place.name.clone()),
            seconds: peak.frame as f64 / fps,
        };
        let mut times = outcome.frame_times.clone();
        times.sort_by(f64::total_cmp);
        let time = |fraction: f64| {
            let last = times.len().saturating_sub(1);
            times.get((fraction * last as f64).round() as usize).copied().unwrap_or(0.0)
        };
        Measured {
            triangles: self.face.coarse.triangles.len(),
            frames: probes.frames,
            fps,
            worst: peak(probes.deviations.worst()),
            p95_mm: f64::from(probes.deviations.p95()),
            pop: peak(probes.pops.worst()),
            inverted: Inverted { momentary: probes.lasting.most(), lasting: probes.lasting.lasting() },
            crossings: CrossingCounts {
                frames_percent: 100.0 * probes.crossed as f64 / probes.looked.max(1) as f64,
                seconds: probes.most.seconds / fps,
                ..probes.most.clone()
            },
            returned_percent: 100.0 * outcome.gate.returned,
            failed: outcome.gate.failed.as_ref().map(|f| format!("{:.2} s, {}: {}", f.time, f.place, f.why)),
            ms: time(0.5),
            ms_p95: time(0.95),
            gate_ms: outcome.gate_ms,
            shaken: head_stops(take).map(|stop| Shaken {
                swing_mm: f64::from(probes.swing.widest()),
                left_mm: f64::from(probes.swing.at(((stop + REST) * fps).round() as usize)),
            }),
            seconds: 0.0,
        }
    }
}

impl Observer for Probed<'_> {
    fn frame(&mut self, body: &dyn Body, frame: &Performed<'_>) {
        let wrong = match self.kind {
            BodyKind::Shell => folded(&self.probes.skin, frame.plain, frame.shown, self.probes.scale),
            BodyKind::Tissue => inverted_beyond_rig(body, frame.weights),
        };
        self.probes.add(frame, &wrong);
    }
}

/// Inverted elements, excluding those that the rig itself inverts.
fn inverted_beyond_rig(body: &dyn Body, weights: &[f32]) -> Vec<u32> {
    let mut inverted = body.inverted();
    if !inverted.is_empty() {
        let of_rig = body.inverted_by_rig(weights);
        inverted.retain(|element| of_rig.binary_search(element).is_err());
    }
    inverted
}

impl Probes {
    fn add(&mut self, frame: &Performed<'_>, wrong: &[u32]) {
        let Performed { shown, plain, .. } = *frame;
        self.deviations.add(&self.neutral, plain, shown);
        self.pops.add(plain, shown);
        self.swing.add(plain, shown);
        self.lasting.add(wrong);
        if self.frames.is_multiple_of(LOOK) {
            self.looked += 1;
            let shown = self.crossings.find_deep(shown, plain, GRAZE / self.scale);
            let plain = self.crossings.find(plain).to_vec();
            self.crossed += usize::from(shown.len() > plain.len());
            let beyond = |shown: usize, plain: usize| shown as i64 - plain as i64;
            if self.looked == 1 || beyond(shown.len(), plain.len()) > beyond(self.most.shown, self.most.plain)
            {
                self.most = CrossingCounts {
                    shown: shown.len(),
                    plain: plain.len(),
                    near: self.place_of_most(&shown, &plain),
                    seconds: self.frames as f64,
                    ..CrossingCounts::default()
                };
            }
        }
        self.frames += 1;
    }

    /// The landmark nearest to most of the pairs that the plain rig does not have.
    fn place_of_most(&self, shown: &[(u32, u32)], plain: &[(u32, u32)]) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (triangle, _) in shown.iter().filter(|pair| plain.binary_search(pair).is_err()) {
            let corner = self.crossings.triangle(*triangle)[0];
            if let Some(place) = self.places.nearest(self.neutral[corner as usize]) {
                *counts.entry(&place.name).or_default() += 1;
            }
        }
        counts
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map_or_else(String::new, |(name, _)| name.to_owned())
    }
}

/// When a head that was shaken stops, in seconds after the take's start; `None` for a calm head, or one that never stops.
fn head_stops(take: &Take) -> Option<f64> {
    /// Faster than this, in rad/s, is shaken. Ours: the built-in tour nods with 0.1, its shake turns with 11.
    const SHAKEN: f64 = 3.0;
    const STILL: f64 = 1e-3;
    let track = take.motion(JointRole::Head)?;
    let speed = |k: usize| {
        let turned = track.motions[k].rotation.angle_between(track.motions[k - 1].rotation);
        turned / (track.times[k] - track.times[k - 1])
    };
    let keys = 1..track.times.len();
    let is_shaken = keys.clone().any(|k| speed(k) > SHAKEN);
    let last = keys.rev().find(|k| speed(*k) > STILL)?;
    (is_shaken && last + 1 < track.times.len()).then(|| track.times[last] - take.start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_head::built_in_takes;

    #[test]
    fn only_a_shaken_head_stops() {
        let stops = |name: &str| built_in_takes().iter().find(|take| take.name == name).and_then(head_stops);
        assert!(stops("shake").is_some_and(|stop| (2.3..2.5).contains(&stop)), "{:?}", stops("shake"));
        assert_eq!([stops("tour"), stops("speech")], [None, None]);
    }
}
