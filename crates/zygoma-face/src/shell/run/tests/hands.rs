//! Hands on a shell of any size.

use zygoma_hand::{Extent, Gesture, Side, Spot};

use super::*;
use crate::contact::{ColliderFrame, HAND_FRICTION};

/// The skin of a head of some height after a hand of fitting size has pulled at its cheek, in heights; and how far it was pulled. Without
/// friction: whether a point sticks or slips depends on rounding.
fn pulled(face: &FaceModel, height: f32) -> (Vec<Vec3>, f32) {
    let size = height / 0.24;
    let out = Vec3::new(0.5, -0.2, 0.84).normalize();
    let spot = Spot::new(0.12 * out, out, 0.0);
    let extent = Extent { depth: Gesture::Pull.usual_depth(), by: 0.012 * out, fingers: 1 };
    let hand = |time: f64| Gesture::Pull.pose(Side::Left, &spot, &extent, time as f32).scaled(size);
    let mut running = ShellBody::new(face, awake()).unwrap();
    running.advance(0.0);
    let id = running.colliders_mut().add_hand(ColliderFrame::Head, &hand(0.0), 0.0);
    let mut farthest = 0.0f32;
    for frame in 1..=70 {
        running.colliders_mut().move_hand(id, &hand(f64::from(frame) / 100.0));
        running.advance(0.01);
        let moved = worst(running.last_frame().positions, &face.neutral);
        farthest = farthest.max(moved / height);
    }
    let surface = running.last_frame().positions.iter().map(|p| *p / height).collect();
    (surface, farthest)
}

#[test]
fn a_pull_is_the_same_at_any_size() {
    let (reference, far) = pulled(&FACE, 0.24);
    assert!(far > 0.04, "the cheek is pulled by {far} heights");
    for scale in [0.01, 100.0] {
        let height = 0.24 * scale;
        let (surface, _) = pulled(&built(height), height);
        let apart = worst(&reference, &surface);
        println!("{scale}: {apart} heights apart");
        assert!(apart < 2e-3, "{scale}: {apart} heights");
    }
}

/// The skin of a head of some height after a flat hand of fitting size has stroked it with friction, in heights.
fn stroked(face: &FaceModel, height: f32) -> Vec<Vec3> {
    let size = height / 0.24;
    let out = Vec3::new(0.5, -0.2, 0.84).normalize();
    let spot = Spot::new(0.12 * out, out, 0.0);
    let extent = Extent { depth: 3e-3, by: 0.03 * Vec3::Y, fingers: 1 };
    let hand = |time: f64| Gesture::Stroke.pose(Side::Left, &spot, &extent, time as f32).scaled(size);
    let mut running = ShellBody::new(face, awake()).unwrap();
    running.advance(0.0);
    let id = running.colliders_mut().add_hand(ColliderFrame::Head, &hand(0.0), HAND_FRICTION);
    for frame in 1..=55 {
        running.colliders_mut().move_hand(id, &hand(f64::from(frame) / 100.0));
        running.advance(0.01);
    }
    running.last_frame().positions.iter().map(|p| *p / height).collect()
}

#[test]
fn a_stroke_with_friction_is_the_same_at_any_size() {
    let reference = stroked(&FACE, 0.24);
    let moved = worst(&reference, &FACE.neutral.iter().map(|p| *p / 0.24).collect::<Vec<_>>());
    assert!(moved > 0.01, "the skin is moved by {moved} heights");
    for scale in [0.01, 100.0] {
        let height = 0.24 * scale;
        let apart = worst(&reference, &stroked(&built(height), height));
        println!("{scale}: {apart} heights apart");
        // Which points stick depends on rounding, but not how far they do.
        assert!(apart < 5e-3, "{scale}: {apart} heights");
    }
}
