//! Built-in takes: an expression tour, a few seconds of speech, a fast head shake, a run.

use std::f64::consts::TAU;
use std::sync::Arc;

use glam::{DQuat, DVec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::{JointRole, Take};
use zygoma_rig::{MotionTrack, WeightCurve, WeightTrack};

use crate::sculpt::field::{bell, ramp};

const FPS: f64 = 60.0;

/// The built-in takes: tour, speech, shake and run. They turn the head about the origin.
pub fn built_in_takes() -> Vec<Take> {
    vec![tour(), speech(), shake(), run()]
}

/// A weight as a function of time.
type Weight = Box<dyn Fn(f64) -> f64>;

/// An expression: shapes with weights; names that end in `*` mean both sides.
type Pose = &'static [(&'static str, f64)];

/// When each expression of the tour is held, and its weights.
const TOUR: [(f64, f64, Pose); 13] = [
    (0.6, 1.6, &[("mouthSmile*", 0.8), ("cheekSquint*", 0.5), ("eyeSquint*", 0.25)]),
    (2.0, 2.7, &[("jawOpen", 0.75), ("eyeWide*", 0.8), ("browInnerUp", 0.9), ("browOuterUp*", 0.8)]),
    (3.1, 3.8, &[("browDown*", 0.9), ("noseSneer*", 0.7), ("mouthUpperUp*", 0.5), ("eyeSquint*", 0.5)]),
    (4.1, 4.8, &[("mouthFrown*", 0.8), ("browInnerUp", 0.8), ("mouthShrugLower", 0.6)]),
    (5.1, 5.6, &[("mouthPucker", 0.9)]),
    (5.9, 6.4, &[("mouthFunnel", 0.9), ("jawOpen", 0.2)]),
    (6.7, 7.1, &[("mouthLeft", 0.9), ("eyeLookOutLeft", 0.7), ("eyeLookInRight", 0.7)]),
    (7.3, 7.7, &[("mouthRight", 0.9), ("eyeLookInLeft", 0.7), ("eyeLookOutRight", 0.7)]),
    (8.0, 8.5, &[("cheekPuff", 1.0), ("mouthPress*", 0.4)]),
    (8.8, 9.2, &[("jawLeft", 0.8)]),
    (9.4, 9.8, &[("mouthSmileLeft", 0.9), ("eyeBlinkLeft", 1.0), ("cheekSquintLeft", 0.7)]),
    (10.1, 10.5, &[("tongueOut", 1.0), ("jawOpen", 0.35)]),
    (10.9, 11.5, &[("mouthSmile*", 1.0), ("jawOpen", 0.25), ("cheekSquint*", 0.6), ("eyeSquint*", 0.3)]),
];

const TOUR_LENGTH: f64 = 12.0;
/// Time to reach or leave an expression.
const EASE: f64 = 0.28;

fn key_times(length: f64) -> Arc<[f64]> {
    (0..=(length * FPS).round() as usize).map(|frame| frame as f64 / FPS).collect()
}

fn sides(name: &str) -> Vec<String> {
    match name.strip_suffix('*') {
        Some(stem) => vec![format!("{stem}Left"), format!("{stem}Right")],
        None => vec![name.to_owned()],
    }
}

/// A take from functions of time; tracks of the same shape keep the larger weight.
fn sampled(name: &str, length: f64, weights: Vec<(String, Weight)>) -> Take {
    let times = key_times(length);
    let mut tracks: Vec<WeightTrack> = Vec::new();
    for (shape, weight) in weights {
        let values: Vec<f32> = times.iter().map(|t| weight(*t).clamp(0.0, 1.0) as f32).collect();
        if let Some(track) = tracks.iter_mut().find(|track| track.shape == shape) {
            for (old, new) in track.curve.values.iter_mut().zip(values) {
                *old = old.max(new);
            }
        } else {
            tracks.push(WeightTrack { shape, curve: WeightCurve::linear(times.clone(), values) });
        }
    }
    Take { name: name.to_owned(), weights: tracks, motions: Vec::new() }
}

fn blink(at: f64) -> impl Fn(f64) -> f64 {
    move |t| ramp(at - 0.09, at, t) * ramp(at + 0.18, at + 0.03, t)
}

fn tour() -> Take {
    let mut weights: Vec<(String, Weight)> = Vec::new();
    for (from, to, pose) in TOUR {
        for (name, weight) in pose {
            for shape in sides(name) {
                let held = move |t: f64| weight * ramp(from - EASE, from, t) * ramp(to + EASE, to, t);
                weights.push((shape, Box::new(held)));
            }
        }
    }
    for at in [0.25, 1.85, 3.95, 6.55, 7.85, 11.75] {
        for shape in sides("eyeBlink*") {
            weights.push((shape, Box::new(blink(at))));
        }
    }
    let mut take = sampled("tour", TOUR_LENGTH, weights);
    take.motions.push(head_motion(TOUR_LENGTH, |t| RigidMotion {
        rotation: DQuat::from_rotation_y(0.10 * (TAU * t / 6.0).sin())
            * DQuat::from_rotation_x(0.04 * (TAU * t / 4.0).sin()),
        translation: DVec3::ZERO,
    }));
    take
}

fn head_motion(length: f64, motion: impl Fn(f64) -> RigidMotion) -> MotionTrack {
    let times = key_times(length);
    let motions = times.iter().map(|t| motion(*t)).collect();
    MotionTrack { role: JointRole::Head, times, motions }
}

/// The mouth poses of a nonsense sentence: start, length, and the pose of each sound.
const SOUNDS: [(f64, f64, Pose); 16] = [
    (0.30, 0.14, &[("mouthClose", 0.12), ("jawOpen", 0.12), ("mouthPress*", 0.5)]),
    (0.44, 0.22, &[("jawOpen", 0.55), ("mouthStretch*", 0.1)]),
    (0.66, 0.14, &[("jawOpen", 0.18), ("mouthFunnel", 0.5)]),
    (0.80, 0.20, &[("mouthPucker", 0.7), ("jawOpen", 0.12)]),
    (1.00, 0.14, &[("jawOpen", 0.14), ("mouthLowerDown*", 0.35)]),
    (1.14, 0.22, &[("jawOpen", 0.28), ("mouthSmile*", 0.4), ("mouthStretch*", 0.25)]),
    (1.36, 0.12, &[("mouthRollLower", 0.5), ("mouthUpperUp*", 0.25), ("jawOpen", 0.08)]),
    (1.48, 0.24, &[("jawOpen", 0.48)]),
    (1.80, 0.12, &[("mouthPress*", 0.6)]),
    (1.92, 0.22, &[("jawOpen", 0.38), ("mouthFunnel", 0.35)]),
    (2.14, 0.16, &[("jawOpen", 0.16), ("mouthLowerDown*", 0.3), ("mouthSmile*", 0.2)]),
    (2.30, 0.24, &[("jawOpen", 0.30), ("mouthStretch*", 0.3), ("mouthUpperUp*", 0.2)]),
    (2.54, 0.16, &[("mouthPucker", 0.6), ("mouthFunnel", 0.3)]),
    (2.70, 0.26, &[("jawOpen", 0.58), ("browInnerUp", 0.4)]),
    (2.96, 0.14, &[("mouthPress*", 0.45), ("mouthShrugUpper", 0.2)]),
    (3.10, 0.40, &[("mouthSmile*", 0.45), ("cheekSquint*", 0.3)]),
];

fn speech() -> Take {
    const LENGTH: f64 = 4.0;
    let mut weights: Vec<(String, Weight)> = Vec::new();
    for (start, length, pose) in SOUNDS {
        for (name, weight) in pose {
            for shape in sides(name) {
                // Neighbouring sounds overlap, as in real speech.
                let shaped = move |t: f64| weight * bell(t - start - 0.5 * length, 0.55 * length);
                weights.push((shape, Box::new(shaped)));
            }
        }
    }
    for at in [0.15, 1.75, 3.3] {
        for shape in sides("eyeBlink*") {
            weights.push((shape, Box::new(blink(at))));
        }
    }
    let mut take = sampled("speech", LENGTH, weights);
    take.motions.push(head_motion(LENGTH, |t| RigidMotion {
        rotation: DQuat::from_rotation_x(0.05 * (TAU * t / 1.3).sin() * ramp(0.0, 0.4, t))
            * DQuat::from_rotation_z(0.02 * (TAU * t / 2.1).sin()),
        translation: DVec3::ZERO,
    }));
    take
}

fn shake() -> Take {
    const LENGTH: f64 = 3.0;
    let swing = |t: f64| ramp(0.2, 0.6, t) * ramp(2.4, 1.6, t);
    let mut take = sampled(
        "shake",
        LENGTH,
        sides("eyeBlink*").into_iter().map(|s| (s, Box::new(move |t| 0.8 * swing(t)) as Weight)).collect(),
    );
    take.motions.push(head_motion(LENGTH, move |t| RigidMotion {
        rotation: DQuat::from_rotation_y(0.6 * swing(t) * (TAU * 3.0 * t).sin()),
        translation: DVec3::ZERO,
    }));
    take
}

fn run() -> Take {
    const LENGTH: f64 = 4.0;
    // 170 steps a minute: up and down with each step, sideways and turning with each pair.
    const STEPS: f64 = 170.0 / 60.0;
    let pace = |t: f64| ramp(0.0, 0.5, t) * ramp(LENGTH, LENGTH - 0.5, t);
    let breath = move |t: f64| 0.10 + 0.08 * (TAU * STEPS * t / 4.0).sin();
    let mut take = sampled(
        "run",
        LENGTH,
        vec![("jawOpen".to_owned(), Box::new(move |t| pace(t) * breath(t)) as Weight)],
    );
    take.motions.push(head_motion(LENGTH, move |t| {
        let step = TAU * STEPS * t;
        // A landing is sharper than the flight before it.
        let bounce = step.sin() - 0.25 * (2.0 * step).cos();
        RigidMotion {
            rotation: DQuat::from_rotation_x(pace(t) * 0.06 * (step + 0.8).sin())
                * DQuat::from_rotation_y(pace(t) * 0.05 * (0.5 * step).sin()),
            translation: pace(t) * DVec3::new(0.012 * (0.5 * step).sin(), 0.035 * bounce, 0.006 * step.cos()),
        }
    }));
    take
}
