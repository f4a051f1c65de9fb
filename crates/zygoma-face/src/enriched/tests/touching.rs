//! Fingers on enriched faces, and lips that the artist has in each other.

use zygoma_geometry::intersect::crossing_pairs;
use zygoma_geometry::normals::vertex_normals;
use zygoma_hand::{Extent, Gesture, Side, Spot};
use zygoma_physics::contact::{ColliderShape, Pose};

use super::*;
use crate::body::Touchable;
use crate::contact::{ColliderFrame, ColliderMotion, HAND_FRICTION};

const RADIUS: f32 = 0.01;

/// A landmark of the skin, and the outward direction there.
fn spot(name: &str) -> (Vec3, Vec3) {
    let vertex = Landmarks::new(&FACE).find(name).unwrap().vertex as usize;
    let normals = vertex_normals(&FACE.neutral, &FACE.triangles);
    (FACE.neutral[vertex], normals[vertex])
}

/// Advances until the face is the rig's own within 1 µm; the time that it takes, s.
fn time_to_recover(body: &mut EnrichedBody, weights: &[f32]) -> f64 {
    let mut frames = 0;
    while off_the_rig(body, weights) > 1e-6 && frames < 400 {
        body.advance(FRAME);
        frames += 1;
    }
    f64::from(frames) * FRAME
}

#[test]
fn a_fingertip_presses_and_the_artists_face_comes_back() {
    let still = weights(&[]);
    // A lip is thin, and has teeth behind it.
    for (place, deep) in [("cheek-left", 0.005), ("lip-lower", 0.003)] {
        let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
        body.settle();
        let (at, normal) = spot(place);
        let pose = |depth: f32| Pose::at(at + (RADIUS - depth) * normal);
        let sphere = ColliderShape::Sphere { radius: RADIUS };
        let colliders = body.colliders_mut();
        let finger = colliders.add(sphere, pose(-0.003), ColliderMotion::Kinematic);
        let mut deepest = 0.0_f32;
        for frame in 1..=40 {
            let depth = -0.003 + (deep + 0.003) * (frame as f32 / 25.0).min(1.0);
            body.colliders_mut().get_mut(finger).unwrap().pose = pose(depth);
            body.advance(FRAME);
            deepest = deepest.max(body.penetration());
        }
        let dented = off_the_rig(&mut body, &still);
        let force = body.colliders().get(finger).unwrap().force();
        let inverted = body.inverted().len();
        body.colliders_mut().remove(finger);
        let time = time_to_recover(&mut body, &still);
        println!(
            "{place}: {dented} m, {force} N, {deepest} m inside, {inverted} inverted, back after {time} s"
        );
        assert!(dented > 0.8 * deep && deepest < 2e-4, "{place}: dented by {dented} m, {deepest} m inside");
        assert!(force.dot(normal) > 0.02, "{place}: the skin pushes back, {force} N");
        // A few thin elements at the edge of a lip fold under a finger; none stays folded.
        let allowed = if place == "lip-lower" { ENRICHED.tet_count() / 2000 } else { 0 };
        assert!(inverted <= allowed, "{place}: {inverted}");
        assert!(body.inverted().is_empty(), "{place}");
        assert!(time < 5.0, "{place}: {} m after {time} s", off_the_rig(&mut body, &still));
    }
}

#[test]
fn grabbed_skin_is_pulled_and_let_go() {
    let still = weights(&[]);
    let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
    body.settle();
    let (at, normal) = spot("cheek-left");
    let vertex = Landmarks::new(&FACE).find("cheek-left").unwrap().vertex as usize;
    let grab = body.grab(at, 0.01).unwrap();
    for frame in 1..=30 {
        let way = 0.008 * (frame as f32 / 20.0).min(1.0);
        body.colliders_mut().drag(grab, at + way * normal);
        body.advance(FRAME);
    }
    let pulled = (body.frame_before(0.0).positions[vertex] - at).dot(normal);
    assert!((6e-3..10e-3).contains(&pulled), "{pulled} m of 8 mm");
    assert!(body.inverted().is_empty());
    body.colliders_mut().release(grab);
    let time = time_to_recover(&mut body, &still);
    assert!(time < 5.0, "{} m after {time} s", off_the_rig(&mut body, &still));
}

#[test]
fn a_hand_pinches_a_cheek_and_pulls_it() {
    let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
    body.settle();
    let (at, out) = spot("cheek-left");
    let place = Spot::new(at, out, 0.0);
    let extent = Extent { depth: Gesture::Pull.usual_depth(), by: 0.008 * out, fingers: 1 };
    let pose = |t: f32| Gesture::Pull.pose(Side::Left, &place, &extent, t);
    let hand = body.colliders_mut().add_hand(ColliderFrame::Head, &pose(0.15), HAND_FRICTION);
    for frame in 1..=30 {
        body.colliders_mut().move_hand(hand, &pose(0.15 + 0.5 * frame as f32 / 30.0));
        body.advance(FRAME);
    }
    assert!(body.colliders().hand(hand).unwrap().is_holding());
    let shown = body.frame_before(0.0).positions;
    let near = FACE.neutral.iter().zip(shown).filter(|(a, _)| a.distance(at) < 0.01);
    let pulled = near.map(|(a, b)| (*b - *a).dot(out)).fold(0.0, f32::max);
    assert!(pulled > 4e-3, "{pulled} m of 8 mm");
}

#[test]
fn lips_that_the_artist_has_in_each_other_stay_exact_unless_contact_is_absolute() {
    // A jaw that closes beyond the neutral.
    let shut = weights(&[("jawOpen", -0.1)]);
    let close = |mode: ContactMode| {
        let mut face = FACE.clone();
        face.add_section(&ENRICHED.solved());
        let fill = TissueVolume::of_face(&face);
        let input = TissueInput { volume: fill.as_ref(), ..TissueInput::new(&face) };
        let params = EnrichedParams { step_time: FRAME, contact_mode: mode, ..EnrichedParams::default() };
        let enriched = Enriched::build(&input, &params, &mut |_| Continue::No).unwrap();
        let mut body = EnrichedBody::new(Arc::new(enriched)).unwrap();
        body.settle();
        for frame in 1..=20 {
            let fraction = (frame as f32 / 10.0).min(1.0);
            let now: Vec<f32> = shut.iter().map(|weight| fraction * weight).collect();
            body.drive(Drive::Weights(&now)).unwrap();
            body.advance(FRAME);
        }
        let shown: Vec<DVec3> = body.frame_before(0.0).positions.iter().map(|p| p.as_dvec3()).collect();
        let crossings = crossing_pairs(&shown, &FACE.triangles).len();
        (off_the_rig(&mut body, &shut), crossings)
    };
    let (relative, artists) = close(ContactMode::Relative);
    let (absolute, left) = close(ContactMode::Absolute);
    println!("{relative} m and {artists} crossings, {absolute} m and {left} crossings");
    assert_eq!(relative, 0.0);
    assert!(absolute > 1e-4 && 3 * left < artists, "{absolute} m, {left} of {artists} crossings left");
}
