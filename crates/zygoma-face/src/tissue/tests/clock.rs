//! Time steps: frames of any length, frames of no length, rest, and starts at speed.

use std::f64::consts::{PI, TAU};

use zygoma_physics::contact::{ColliderShape, Pose};

use super::touching::spot;
use super::*;
use crate::contact::ColliderMotion;

/// The largest distance between two surfaces, mm.
fn apart(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(a, b)| 1e3 * a.distance(*b)).fold(0.0, f32::max)
}

/// A head that turns about its neck.
fn turned(rotation: DQuat) -> RigidMotion {
    let neck = DVec3::new(0.0, -0.06, -0.03);
    RigidMotion { rotation, translation: neck - rotation * neck }
}

/// Surfaces at 0.25, 0.5 and 0.75 s while the head turns and nods and the jaw opens, with frames of the given lengths between them.
fn surfaces(lengths: &[f64]) -> Vec<Vec<Vec3>> {
    let mut face = performing();
    face.settle();
    let mut lengths = lengths.iter().cycle();
    let (mut time, mut found) = (0.0, Vec::new());
    for moment in [0.25, 0.5, 0.75] {
        let mut shown = Vec::new();
        while time < moment {
            let seconds = lengths.next().unwrap().min(moment - time);
            // The remainder would be too short for a frame of its own.
            let seconds = if moment - time - seconds < 1e-9 { moment - time } else { seconds };
            time += seconds;
            let swing = 0.25 * (1.0 - (1.5 * TAU * time).cos());
            let nod = 0.1 * (PI * time).sin().powi(2);
            face.set_head_pose(&turned(DQuat::from_rotation_y(swing) * DQuat::from_rotation_x(nod)));
            face.set_weights(&weights_of(&[("jawOpen", 0.8 * time as f32)]));
            shown = face.advance(seconds).to_vec();
        }
        found.push(shown);
    }
    found
}

#[test]
fn the_motion_does_not_depend_on_the_frame_rate() {
    let usual = surfaces(&[1.0 / 60.0]);
    let rates = [24.0, 25.0, 29.97, 59.94, 90.0, 144.0].map(|rate| vec![1.0 / rate]);
    let jittering = vec![0.011, 0.031, 0.016, 0.005, 0.042, 0.018, 0.023];
    for lengths in rates.into_iter().chain([jittering]) {
        let found = surfaces(&lengths);
        let worst = usual.iter().zip(&found).map(|(a, b)| apart(a, b)).fold(0.0, f32::max);
        println!("frames of {lengths:.4?} s: {worst:.4} mm");
        assert!(worst < 0.1, "frames of {lengths:?} s: {worst} mm");
    }
}

#[test]
fn a_frame_without_length_changes_nothing_and_an_endless_one_ends() {
    let smile = weights_of(&[("mouthSmileLeft", 1.0)]);
    let run = |idle: &[f64]| {
        let mut face = performing();
        face.settle();
        face.set_weights(&smile);
        let mut shown = Vec::new();
        for _ in 0..3 {
            shown = face.advance(1.0 / 120.0).to_vec();
            for seconds in idle {
                assert!(face.advance(*seconds) == shown, "{seconds} s");
            }
        }
        (shown, face.advance(f64::INFINITY).to_vec())
    };
    let (shown, last) = run(&[]);
    assert!(run(&[0.0, -1.0, f64::NAN]) == (shown.clone(), last.clone()));
    let mut face = performing();
    face.set_weights(&smile);
    let settled = face.settle().to_vec();
    let (on_its_way, left) = (apart(&shown, &settled), apart(&last, &settled));
    assert!(on_its_way > 1.0 && left < 0.1, "{on_its_way} mm, and {left} mm a second later");
}

#[test]
fn a_settled_face_stays_where_it_is() {
    let tilted = turned(DQuat::from_rotation_z(1.0) * DQuat::from_rotation_x(0.4));
    let upright = turned(DQuat::IDENTITY);
    for (names, pose) in [
        (&[][..], tilted),
        (&[("jawOpen", 0.6)], upright),
        (&[("mouthSmileLeft", 1.0), ("mouthSmileRight", 1.0)], tilted),
    ] {
        let mut face = performing();
        face.set_weights(&weights_of(names));
        face.set_head_pose(&pose);
        let settled = face.settle().to_vec();
        assert!(face.advance(1.0 / 60.0) == settled, "the first frame is a step old");
        let after = (0..60).map(|_| apart(face.advance(1.0 / 60.0), &settled)).fold(0.0, f32::max);
        let sagged = {
            let mut upright = performing();
            upright.set_weights(&weights_of(names));
            apart(upright.settle(), &settled)
        };
        println!("{names:?}: {sagged:.2} mm by gravity, moves by {after:.3} mm after it settled");
        assert!((sagged > 0.3) == (pose != upright), "{names:?}: {sagged} mm");
        assert!(after < 0.1, "{names:?}: {after} mm");
    }
}

#[test]
fn without_control_the_weights_themselves_act() {
    let rigged = &FACE.1;
    let params =
        TissueParams { actuation: Actuation::Forces, control_iterations: 0, ..TissueParams::default() };
    let tissue = Tissue::new(rigged, &params).unwrap();
    let mut face = TissueBody::new(Arc::new(tissue)).unwrap();
    face.settle();
    let smile = weights_of(&[("mouthSmileLeft", 1.0)]);
    face.set_weights(&smile);
    let last = (0..60).map(|_| off_the_rig(face.advance(1.0 / 60.0), &smile)).last().unwrap();
    assert!(face.actuations() == smile);
    assert!(last.0 < 1.0 && last.1 < 5.0, "{last:?} mm off the rig");
}

/// A performance that starts at speed.
#[test]
fn a_head_that_turns_from_the_start_does_not_jolt() {
    // 160° per second, while a smile grows.
    let at = |time: f64| turned(DQuat::from_rotation_y(2.8 * time));
    let smile = |time: f64| weights_of(&[("mouthSmileLeft", 0.3 + time as f32)]);
    let swing = |glides: bool| {
        let mut face = performing();
        let h = face.latency();
        face.set_head_pose(&at(0.0));
        face.set_weights(&smile(0.0));
        face.settle();
        let (mut worst, mut last) = (0.0_f32, 0.0);
        for step in 1..=24 {
            let time = f64::from(step) * h;
            face.set_head_pose(&at(time));
            face.set_weights(&smile(time));
            if step == 1 && glides {
                face.glide();
            } else {
                face.run(h);
            }
            (_, last) = off_the_rig(face.show(0.0), &smile(time));
            worst = worst.max(last);
        }
        (worst, last)
    };
    // A steady turn leads to the same state, however it began.
    let [(jolted, turning), (steady, _)] = [false, true].map(swing);
    println!(
        "{jolted:.2} mm off the rig after a start from rest, {steady:.2} mm when it glides, {turning:.2} mm when it has turned for a while"
    );
    assert!(jolted > turning + 0.4, "{jolted} mm");
    assert!(steady < turning + 0.1, "{steady} mm");
}

/// A palm that comes down at once: contact candidates are added over a few steps, not all in one.
#[test]
fn a_palm_does_not_stop_the_clock() {
    let mut face = performing();
    face.settle();
    let (at, normal) = spot("cheek-left");
    let palm = ColliderShape::RoundedBox { half_extents: Vec3::new(0.03, 0.03, 0.006), radius: 0.004 };
    let rotation = glam::Quat::from_rotation_arc(Vec3::Z, normal);
    let place = |depth: f32| Pose { rotation, translation: at + (0.01 - depth) * normal };
    let touch = face.colliders_mut().add(palm, place(-0.03), ColliderMotion::Kinematic);
    face.advance(1.0 / 60.0);
    let mut known = face.step_factor.candidate_count();
    let (start, mut deepest) = (known, Vec::new());
    for frame in 1..=40 {
        face.colliders_mut().get_mut(touch).unwrap().pose = place(if frame < 3 { -0.01 } else { 0.004 });
        face.advance(1.0 / 60.0);
        let now = face.step_factor.candidate_count();
        assert!(now <= known + 3 * crate::volume::contact::MOST_NEW / 2, "{} at once", now - known);
        known = now;
        deepest.push(1e3 * face.penetration());
    }
    println!("{} vertices under the palm; inside by {deepest:.3?} mm", known - start);
    assert!(known - start >= crate::volume::contact::MOST_NEW, "a palm is large: {}", known - start);
    assert!(deepest[39] < 0.1, "{deepest:?} mm");
}
