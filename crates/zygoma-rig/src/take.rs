//! Takes: weights and head motion over time.

use std::sync::Arc;

use glam::DVec3;
use serde::Serialize;
use zygoma_geometry::rigid::RigidMotion;

use crate::{JointRole, Rig};

/// A performance: blendshape weights, and head, jaw and eye motion, over time in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Take {
    /// The take's name.
    pub name: String,
    /// One track per shape, named as in the file that it came from.
    pub weights: Vec<WeightTrack>,
    /// At most one track per joint.
    pub motions: Vec<MotionTrack>,
}

/// How one shape's weight changes.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightTrack {
    /// The shape's name in the take's own spelling.
    pub shape: String,
    /// Its weight over time.
    pub curve: WeightCurve,
}

/// A weight over time. Before the first key and after the last the value is held.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightCurve {
    /// Key times in seconds, strictly increasing; shared by the tracks of one file.
    pub times: Arc<[f64]>,
    /// The weight at each key.
    pub values: Vec<f32>,
    /// Interpolation between the keys.
    pub interpolation: Interpolation,
}

/// Interpolation between two keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Interpolation {
    /// The earlier key's value is held.
    Step,
    /// A straight line.
    Linear,
    /// A cubic Hermite spline with these tangents (per second), as in glTF.
    Cubic {
        /// Tangent on arrival at each key.
        incoming: Vec<f32>,
        /// Tangent on departure.
        outgoing: Vec<f32>,
    },
}

/// Weights from −2 to 2 are usual: a shape is made for 0 to 1, and exaggerated or inverted at times. Ours.
const USUAL: f32 = 2.0;

/// A track whose weight leaves the usual range, as when it is in percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LargeWeight {
    /// The shape's name in the take's own spelling.
    pub shape: String,
    /// The weight that is farthest from 0.
    pub weight: f32,
    /// When it is reached, in seconds.
    pub time: f64,
}

impl std::fmt::Display for LargeWeight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { shape, weight, time } = self;
        write!(f, "the weight of {shape} reaches {weight} at {time:.2} s")
    }
}

/// How one joint moves away from rest.
///
/// The head's motion is in rig space; jaw and eyes move in the frame of the head, so that a turned head
/// does not turn them twice.
#[derive(Clone, Debug, PartialEq)]
pub struct MotionTrack {
    /// The joint.
    pub role: JointRole,
    /// Key times in seconds, strictly increasing.
    pub times: Arc<[f64]>,
    /// Motion at each key, interpolated linearly (rotations by slerp).
    pub motions: Vec<RigidMotion>,
}

/// A key interval and how far through it a time lies.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    from: usize,
    to: usize,
    fraction: f64,
}

/// Finds the key interval of a time; `None` without keys. Times outside are clamped to the ends.
fn span(times: &[f64], time: f64) -> Option<Span> {
    let last = times.len().checked_sub(1)?;
    let after = times.partition_point(|key| *key <= time);
    if after == 0 {
        return Some(Span { from: 0, to: 0, fraction: 0.0 });
    }
    if after > last {
        return Some(Span { from: last, to: last, fraction: 0.0 });
    }
    let (start, end) = (times[after - 1], times[after]);
    Some(Span { from: after - 1, to: after, fraction: (time - start) / (end - start) })
}

impl WeightCurve {
    /// A piecewise linear curve.
    pub fn linear(times: Arc<[f64]>, values: Vec<f32>) -> Self {
        Self { times, values, interpolation: Interpolation::Linear }
    }

    /// The weight at a time; 0 for a curve without keys.
    pub fn sample(&self, time: f64) -> f32 {
        let Some(Span { from, to, fraction }) = span(&self.times, time) else { return 0.0 };
        let (start, end) = (f64::from(self.values[from]), f64::from(self.values[to]));
        let value = match &self.interpolation {
            Interpolation::Step => start,
            Interpolation::Linear => start + fraction * (end - start),
            Interpolation::Cubic { .. } if from == to => start,
            Interpolation::Cubic { incoming, outgoing } => {
                let length = self.times[to] - self.times[from];
                let leave = length * f64::from(outgoing[from]);
                let arrive = length * f64::from(incoming[to]);
                hermite(start, leave, end, arrive, fraction)
            }
        };
        value as f32
    }
}

/// The cubic with these values and slopes at 0 and 1 (glTF 2.0, appendix C.5).
fn hermite(start: f64, leave: f64, end: f64, arrive: f64, t: f64) -> f64 {
    let (t2, t3) = (t * t, t * t * t);
    (2.0 * t3 - 3.0 * t2 + 1.0) * start
        + (t3 - 2.0 * t2 + t) * leave
        + (-2.0 * t3 + 3.0 * t2) * end
        + (t3 - t2) * arrive
}

impl MotionTrack {
    /// The motion at a time.
    pub fn sample(&self, time: f64) -> Option<RigidMotion> {
        let Span { from, to, fraction } = span(&self.times, time)?;
        let (start, end) = (&self.motions[from], &self.motions[to]);
        Some(RigidMotion {
            rotation: start.rotation.slerp(end.rotation, fraction),
            translation: start.translation.lerp(end.translation, fraction),
        })
    }
}

impl Take {
    /// The tracks whose keys leave the usual range of −2 to 2.
    pub fn large_weights(&self) -> Vec<LargeWeight> {
        let largest = |track: &WeightTrack| {
            let keys = track.curve.times.iter().zip(&track.curve.values);
            let (time, weight) = keys.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
            let large = LargeWeight { shape: track.shape.clone(), weight: *weight, time: *time };
            (weight.abs() > USUAL).then_some(large)
        };
        self.weights.iter().filter_map(largest).collect()
    }

    /// A sentence about weights outside the usual range; `None` where all are within.
    pub fn weight_warning(&self) -> Option<String> {
        let large = self.large_weights();
        let worst = large.iter().max_by(|a, b| a.weight.abs().total_cmp(&b.weight.abs()))?;
        let others = match large.len() - 1 {
            0 => String::new(),
            count => format!(", and {count} other tracks leave it too"),
        };
        Some(format!(
            "take {}: {worst}, beyond the usual range of -2 to 2{others}; weights run from 0 to 1, not to 100",
            self.name
        ))
    }

    /// Time of the first key in seconds; 0 for an empty take.
    pub fn start(&self) -> f64 {
        self.key_times().filter_map(|times| times.first()).copied().reduce(f64::min).unwrap_or(0.0)
    }

    /// Time of the last key in seconds.
    pub fn end(&self) -> f64 {
        self.key_times().filter_map(|times| times.last()).copied().reduce(f64::max).unwrap_or(0.0)
    }

    /// Length in seconds.
    pub fn duration(&self) -> f64 {
        self.end() - self.start()
    }

    /// The motion of a joint, if it moves.
    pub fn motion(&self, role: JointRole) -> Option<&MotionTrack> {
        self.motions.iter().find(|track| track.role == role)
    }

    /// Number of frames that a steady rate gives, both ends included.
    pub fn frame_count(&self, fps: f64) -> usize {
        // A last key that lies a rounding error before a frame still gets its frame.
        (self.duration() * fps + 1e-6).floor() as usize + 1
    }

    /// The same take with keys at a steady rate from its start, interpolated linearly.
    pub fn resampled(&self, fps: f64) -> Take {
        let start = self.start();
        let times: Arc<[f64]> = (0..self.frame_count(fps)).map(|frame| start + frame as f64 / fps).collect();
        let weights = self.weights.iter().map(|track| WeightTrack {
            shape: track.shape.clone(),
            curve: WeightCurve::linear(
                times.clone(),
                times.iter().map(|time| track.curve.sample(*time)).collect(),
            ),
        });
        let motions = self.motions.iter().map(|track| MotionTrack {
            role: track.role,
            times: times.clone(),
            motions: times.iter().filter_map(|time| track.sample(*time)).collect(),
        });
        Take { weights: weights.collect(), motions: motions.collect(), ..self.clone() }
    }

    /// The part of at most this many seconds in which weights change most, with keys at 60 a second; the whole take if it is shorter.
    pub fn liveliest(&self, seconds: f64) -> Take {
        const FPS: f64 = 60.0;
        let mut part = self.resampled(FPS);
        let (count, length) = (self.frame_count(FPS), (seconds * FPS).round() as usize + 1);
        if count <= length {
            return part;
        }
        // Cumulative change of the weights up to each key.
        let mut changed = vec![0.0; count];
        for key in 1..count {
            let change = |track: &WeightTrack| {
                f64::from((track.curve.values[key] - track.curve.values[key - 1]).abs())
            };
            changed[key] = changed[key - 1] + part.weights.iter().map(change).sum::<f64>();
        }
        let within = |from: usize| changed[from + length - 1] - changed[from];
        let from =
            (0..=count - length).fold(0, |best, from| if within(from) > within(best) { from } else { best });
        let kept = from..from + length;
        for track in &mut part.weights {
            track.curve.times = track.curve.times[kept.clone()].into();
            track.curve.values = track.curve.values[kept.clone()].to_vec();
        }
        for track in &mut part.motions {
            track.times = track.times[kept.clone()].into();
            track.motions = track.motions[kept.clone()].to_vec();
        }
        part
    }

    /// Moves the centres of rotation to the rig's joints. A take recorded without a rig knows only how far a joint turns, and so
    /// turns it about the origin; its tracks have no translation. The eyes of a rig without eye joints stay still.
    pub fn turn_at_joints_of(&mut self, rig: &Rig) {
        self.motions.retain_mut(|track| {
            let only_turns = track.motions.iter().all(|motion| motion.translation == DVec3::ZERO);
            let pivot = rig.pivot(track.role);
            if let (true, Some(pivot)) = (only_turns, pivot) {
                for motion in &mut track.motions {
                    motion.translation = pivot - motion.rotation * pivot;
                }
            }
            !only_turns || pivot.is_some()
        });
    }

    fn key_times(&self) -> impl Iterator<Item = &[f64]> {
        let weights = self.weights.iter().map(|track| &*track.curve.times);
        weights.chain(self.motions.iter().map(|track| &*track.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn curve(interpolation: Interpolation) -> WeightCurve {
        WeightCurve { times: [1.0, 2.0, 4.0].into(), values: vec![0.0, 1.0, 0.5], interpolation }
    }

    #[test]
    fn steps_hold_and_lines_run_straight() {
        let step = curve(Interpolation::Step);
        let line = curve(Interpolation::Linear);
        let at = [0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0];
        assert_eq!(at.map(|t| step.sample(t)), [0.0, 0.0, 0.0, 1.0, 1.0, 0.5, 0.5]);
        assert_eq!(at.map(|t| line.sample(t)), [0.0, 0.0, 0.5, 1.0, 0.75, 0.5, 0.5]);
    }

    #[test]
    fn a_cubic_with_the_slopes_of_a_parabola_is_that_parabola() {
        let times = [0.0, 1.0, 3.0];
        let parabola = |t: f64| (t * t - t) as f32;
        let slopes: Vec<f32> = times.iter().map(|t| (2.0 * t - 1.0) as f32).collect();
        let cubic = WeightCurve {
            times: times.into(),
            values: times.iter().map(|t| parabola(*t)).collect(),
            interpolation: Interpolation::Cubic { incoming: slopes.clone(), outgoing: slopes },
        };
        for t in [0.0, 0.3, 1.0, 1.9, 2.75, 3.0] {
            assert!((cubic.sample(t) - parabola(t)).abs() < 1e-5, "at {t}");
        }
    }

    #[test]
    fn the_liveliest_part_holds_what_changes() {
        let times: Arc<[f64]> = (0..=600).map(|k| k as f64 / 30.0).collect();
        let values =
            times.iter().map(|t| if (11.0..13.0).contains(t) { (20.0 * t).sin() as f32 } else { 0.0 });
        let curve = WeightCurve::linear(times.clone(), values.collect());
        let take =
            Take { weights: vec![WeightTrack { shape: "jawOpen".to_owned(), curve }], ..Take::default() };
        let part = take.liveliest(3.0);
        assert!((part.duration() - 3.0).abs() < 1e-9);
        assert!(
            part.start() <= 11.0 && part.end() >= 13.0 - 1.0 / 30.0,
            "{} to {}",
            part.start(),
            part.end()
        );
        assert_eq!(part.weights[0].curve.sample(12.0), take.weights[0].curve.sample(12.0));
        assert_eq!(take.liveliest(100.0).frame_count(60.0), take.frame_count(60.0));
    }

    #[test]
    fn resampling_keeps_both_ends_and_hits_the_keys() {
        let take = Take {
            weights: vec![WeightTrack { shape: "a".into(), curve: curve(Interpolation::Linear) }],
            ..Take::default()
        };
        let dense = take.resampled(10.0);
        assert_eq!(dense.weights[0].curve.times.len(), 31);
        assert!((dense.end() - 4.0).abs() < 1e-9);
        assert!((dense.weights[0].curve.values[10] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn rotations_are_interpolated_on_the_sphere() {
        let turned = RigidMotion { rotation: DQuat::from_rotation_y(1.0), translation: DVec3::X };
        let rest = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };
        let track =
            MotionTrack { role: JointRole::Head, times: [0.0, 1.0].into(), motions: vec![rest, turned] };
        let quarter = track.sample(0.25).expect("the track has keys");
        assert!(quarter.rotation.abs_diff_eq(DQuat::from_rotation_y(0.25), 1e-9));
        assert!((quarter.translation.x - 0.25).abs() < 1e-12);
    }

    #[test]
    fn recorded_rotations_turn_about_the_rigs_joints() {
        let mut rig = crate::test_rigs::rig_with_shapes(&["jawOpen"]);
        let position = DVec3::new(0.0, 1.5, 0.1);
        rig.joints.push(crate::Joint {
            role: JointRole::Head,
            name: "Head".into(),
            node: 0,
            position,
            carries: Vec::new(),
        });
        let turned = RigidMotion { rotation: DQuat::from_rotation_y(1.0), translation: DVec3::ZERO };
        let track = |role| MotionTrack { role, times: [0.0].into(), motions: vec![turned] };
        let motions = vec![track(JointRole::Head), track(JointRole::LeftEye)];
        let mut take = Take { motions, ..Take::default() };
        take.turn_at_joints_of(&rig);
        assert_eq!(take.motions.len(), 1, "there is no eye to turn");
        assert!(take.motions[0].motions[0].apply(position).distance(position) < 1e-12);
    }
}
