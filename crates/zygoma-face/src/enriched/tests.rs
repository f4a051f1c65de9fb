//! The built-in head with its anatomy, with few shapes.

mod creature;
mod editing;
mod linings;
mod painting;
mod touching;
mod volumes;

use std::sync::{Arc, LazyLock};

use glam::{DQuat, DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_geometry::tets::volume;
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_numerics::Budget;
use zygoma_rig::Rig;

use super::*;
use crate::body::restoring::assert_restores;
use crate::body::{Body, Drive, RigBody};
use crate::model::{Continue, FaceModel, Landmarks};
use crate::volume::{TissueInput, TissueVolume};

const FRAME: f64 = 1.0 / 60.0;

static RIG: LazyLock<Rig> = LazyLock::new(|| {
    let mut rig =
        Head::new(&HeadOptions { level: Level::Low, ..HeadOptions::default() }).rig_with_texture(None);
    let skin = rig.skin;
    let kept = ["jawOpen", "jawLeft", "mouthSmileLeft", "mouthSmileRight", "cheekPuff"];
    rig.meshes[skin].shapes.retain(|shape| kept.contains(&shape.name.as_str()));
    rig
});

static FACE: LazyLock<FaceModel> = LazyLock::new(|| {
    let mut face = FaceModel::of_rig(&RIG, 1000, &Budget::default()).unwrap();
    face.add_anatomy(&RIG).unwrap();
    face
});

static ENRICHED: LazyLock<Arc<Enriched>> =
    LazyLock::new(|| Arc::new(build(&FACE, EnrichedParams::default().gravity)));

fn build(face: &FaceModel, gravity: [f64; 3]) -> Enriched {
    let fill = TissueVolume::of_face(face);
    let input = TissueInput { volume: fill.as_ref(), ..TissueInput::new(face) };
    // Longer steps than the published ones, so that the tests are quick.
    let params = EnrichedParams { step_time: FRAME, gravity, ..EnrichedParams::default() };
    Enriched::build(&input, &params, &mut |_| Continue::Yes).unwrap()
}

fn weights(named: &[(&str, f32)]) -> Vec<f32> {
    let weight = |name: &str| named.iter().find(|(wanted, _)| *wanted == name).map_or(0.0, |(_, w)| *w);
    FACE.shapes.iter().map(|shape| weight(&shape.name)).collect()
}

fn turned(angle: f64) -> RigidMotion {
    RigidMotion { rotation: DQuat::from_rotation_y(angle), translation: DVec3::ZERO }
}

/// The largest distance of a body from the rig, m.
fn off_the_rig(body: &mut EnrichedBody, weights: &[f32]) -> f32 {
    let mut rig = RigBody::new(&FACE);
    rig.drive(Drive::Weights(weights)).unwrap();
    let plain: Vec<Vec3> = rig.advance(0.0).positions.to_vec();
    let shown = body.frame_before(0.0).positions;
    plain.iter().zip(shown).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

/// Talks for some frames; returns the largest distance from the rig.
fn talk(body: &mut EnrichedBody, frames: u32, head: impl Fn(f64) -> f64) -> f32 {
    let mut worst = 0.0_f32;
    for frame in 1..=frames {
        let time = f64::from(frame) * FRAME;
        let wave = |rate: f64| (0.5 - 0.5 * (rate * time).cos()) as f32;
        let now = weights(&[
            ("jawOpen", wave(20.0)),
            ("mouthSmileLeft", wave(9.0)),
            ("mouthSmileRight", wave(9.0)),
            ("jawLeft", 0.3 * wave(13.0)),
        ]);
        body.drive(Drive::Weights(&now)).unwrap();
        body.set_head_pose(&turned(head(time)));
        body.advance(FRAME);
        worst = worst.max(off_the_rig(body, &now));
    }
    worst
}

#[test]
fn a_still_head_is_the_artists_own_to_the_last_bit() {
    let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
    body.settle();
    assert_eq!(talk(&mut body, 20, |_| 0.0), 0.0);
    // Nor does a head that is turned and held still differ, without gravity.
    for (axis, value) in [("gravity.x", 0.0), ("gravity.y", -9.81), ("gravity.z", 0.0)] {
        body.set_param(axis, value).unwrap();
    }
    body.set_head_pose(&turned(0.7));
    body.settle();
    assert_eq!(talk(&mut body, 5, |_| 0.7), 0.0, "gravity along the axis of the turn is felt as before");
}

#[test]
fn a_head_on_its_side_is_the_artists_own_without_gravity() {
    let mut face = FACE.clone();
    face.add_section(&ENRICHED.solved());
    let weightless = build(&face, [0.0; 3]);
    let mut body = EnrichedBody::new(Arc::new(weightless)).unwrap();
    let lying = RigidMotion { rotation: DQuat::from_rotation_z(1.5), translation: DVec3::ZERO };
    body.set_head_pose(&lying);
    body.settle();
    let now = weights(&[("jawOpen", 0.6), ("mouthSmileLeft", 1.0)]);
    for _ in 0..5 {
        body.drive(Drive::Weights(&now)).unwrap();
        body.set_head_pose(&lying);
        body.advance(FRAME);
        assert_eq!(off_the_rig(&mut body, &now), 0.0);
    }
}

/// A blend that crushes elements is repaired inside, and its skin is still the artist's.
#[test]
fn a_still_head_is_exact_where_its_volume_is_repaired() {
    let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
    body.settle();
    let extreme =
        weights(&[("jawOpen", 1.5), ("jawLeft", 1.5), ("mouthSmileLeft", 1.5), ("mouthSmileRight", 1.5)]);
    for frame in 1..=6 {
        let now: Vec<f32> = extreme.iter().map(|weight| weight * frame as f32 / 6.0).collect();
        body.drive(Drive::Weights(&now)).unwrap();
        body.advance(FRAME);
        assert_eq!(off_the_rig(&mut body, &now), 0.0);
    }
    let report = body.rest_report();
    assert!(report.repaired > 0 && report.inverted_left == 0, "{report:?}");
}

#[test]
fn it_goes_on_from_a_saved_state_bit_for_bit() {
    let cheek = Landmarks::new(&FACE).find("cheek-left").unwrap().vertex as usize;
    let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
    let at = body.frame_before(0.0).positions[cheek];
    assert_restores(&mut body, at);
}

#[test]
fn a_naive_run_lags_behind_its_own_expressions() {
    // At the published step: longer ones are nearly static.
    let mut face = FACE.clone();
    face.add_section(&ENRICHED.solved());
    let fill = TissueVolume::of_face(&face);
    let input = TissueInput { volume: fill.as_ref(), ..TissueInput::new(&face) };
    let enriched = Enriched::build(&input, &EnrichedParams::default(), &mut |_| Continue::No).unwrap();
    let mut body = EnrichedBody::new(Arc::new(enriched)).unwrap();
    body.set_param("rebalance", 0.0).unwrap();
    body.settle();
    let lag = talk(&mut body, 8, |_| 0.0);
    assert!(lag > 1e-4, "{lag} m");
}

#[test]
fn a_shaken_head_swings_and_comes_back() {
    let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
    body.settle();
    let shaken = talk(&mut body, 30, |time| 0.3 * (25.0 * time).sin());
    assert!((1e-3..0.02).contains(&shaken), "{shaken} m");
    assert!(body.inverted().is_empty());
    let last = weights(&[("mouthSmileLeft", 0.5)]);
    body.drive(Drive::Weights(&last)).unwrap();
    body.set_head_pose(&turned(0.0));
    let mut frames = 0;
    while off_the_rig(&mut body, &last) > 1e-6 && frames < 300 {
        body.advance(FRAME);
        frames += 1;
    }
    assert!(frames < 300, "{} m after five seconds", off_the_rig(&mut body, &last));
}

/// Expressions deform the cheeks, and leave the ears as they are.
#[test]
fn cheeks_are_as_soft_as_published_and_ears_are_firm() {
    let stiffness = EnrichedBody::new(ENRICHED.clone()).unwrap().skin_stiffness(None);
    let places = Landmarks::new(&FACE);
    let at = |place: &str| f64::from(stiffness[places.find(place).unwrap().vertex as usize]);
    let EnrichedParams { mu, firm_mu, .. } = EnrichedParams::default();
    for side in ["left", "right"] {
        let [cheek, ear] = ["cheek", "ear"].map(|place| at(&format!("{place}-{side}")));
        assert!(cheek < 2.0 * mu && ear > 0.8 * firm_mu, "{side}: a cheek of {cheek} Pa, an ear of {ear} Pa");
    }
}

#[test]
fn the_lips_of_a_smile_swing_less_than_relaxed_ones() {
    let places = Landmarks::new(&FACE);
    let lip = places.find("lip-lower").unwrap().vertex as usize;
    let swing = |smile: f32| {
        let now = weights(&[("mouthSmileLeft", smile), ("mouthSmileRight", smile)]);
        let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
        body.drive(Drive::Weights(&now)).unwrap();
        body.settle();
        let still = body.frame_before(0.0).positions[lip];
        let mut most = 0.0_f32;
        for frame in 1..=24 {
            body.set_head_pose(&turned(0.3 * (25.0 * f64::from(frame) * FRAME).sin()));
            most = most.max(body.advance(FRAME).positions[lip].distance(still));
        }
        most
    };
    let [relaxed, smiling] = [0.0, 1.0].map(swing);
    assert!(relaxed > 5e-4 && smiling < 0.6 * relaxed, "{smiling} against {relaxed} m");
}

#[test]
fn solved_volumes_are_taken_from_a_face_file_and_damaged_ones_are_not() {
    let mut face = FACE.clone();
    face.add_section(&ENRICHED.solved());
    let again = FaceModel::from_bytes(&face.to_bytes()).unwrap();
    let fill = TissueVolume::of_face(&again);
    let input = TissueInput { volume: fill.as_ref(), ..TissueInput::new(&again) };
    let mut solved = 0;
    let params = EnrichedParams::default();
    let kept = Enriched::build(&input, &params, &mut |_| {
        solved += 1;
        Continue::Yes
    })
    .unwrap();
    assert_eq!((solved, kept.solved()), (0, ENRICHED.solved()));
    // Another fill has other volumes.
    let mut other = fill.clone().unwrap();
    other.mesh.positions[0].x += 1e-6;
    let input = TissueInput { volume: Some(&other), ..TissueInput::new(&again) };
    let cancelled = Enriched::build(&input, &params, &mut |_| Continue::No);
    assert!(matches!(cancelled, Err(EnrichedError::Cancelled)));
}

#[test]
fn a_face_without_anatomy_has_one_layer() {
    let input = TissueInput::new(&FACE);
    let params = EnrichedParams { step_time: FRAME, ..EnrichedParams::default() };
    let layer = Enriched::build(&input, &params, &mut |_| Continue::Yes).unwrap();
    let mut body = EnrichedBody::new(Arc::new(layer)).unwrap();
    body.settle();
    assert_eq!(talk(&mut body, 6, |_| 0.0), 0.0);
    let shaken = talk(&mut body, 20, |time| 0.3 * (25.0 * time).sin());
    assert!((5e-4..0.03).contains(&shaken), "{shaken} m");
}

#[test]
fn a_take_that_starts_at_speed_begins_without_a_jolt() {
    let begin = |steadily: bool| {
        let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
        body.settle();
        // Along a straight line at 2 m/s.
        let at = |frame: u32| RigidMotion {
            rotation: DQuat::IDENTITY,
            translation: DVec3::new(2.0 * f64::from(frame) * FRAME, 0.0, 0.0),
        };
        body.set_head_pose(&at(1));
        if steadily {
            Body::begin_moving(&mut body, FRAME);
        } else {
            body.run(FRAME);
        }
        body.set_head_pose(&at(2));
        body.advance(FRAME);
        body.largest_displacement()
    };
    let [steady, jolted] = [true, false].map(begin);
    assert!(steady < 1e-9 && jolted > 1e-4, "{steady} {jolted}");
}
