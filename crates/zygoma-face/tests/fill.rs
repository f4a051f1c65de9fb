//! Any tetrahedral mesh is tissue: the built-in head's own anatomical fill performs, with an open mouth and both bones.

mod filled;

use std::sync::LazyLock;

use filled::Filled;
use glam::{DQuat, DVec3, Vec3};
use zygoma_face::body::Body;
use zygoma_face::model::Landmarks;
use zygoma_face::tissue::{Tie, TissueBody};
use zygoma_geometry::rigid::RigidMotion;

static FILLED: LazyLock<Filled> =
    LazyLock::new(|| Filled::new(&["jawOpen", "mouthSmileLeft", "mouthSmileRight"]));

const STEP: f64 = 1.0 / 60.0;

/// Positions of the vertices on a bone, at rest and now.
fn on_bone(body: &TissueBody, bone: Tie) -> Vec<[DVec3; 2]> {
    let now = body.tissue_positions();
    let pairs = FILLED.tissue.rest().iter().zip(&now).zip(FILLED.tissue.ties());
    pairs.filter(|(_, tie)| **tie == bone).map(|((rest, now), _)| [*rest, *now]).collect()
}

/// Checks that the cranium rests and that the jaw stays rigid.
fn check_bones(body: &TissueBody, jaw_moves: bool) {
    let cranium = on_bone(body, Tie::Cranium);
    assert!(cranium.len() > 1000 && cranium.iter().all(|[rest, now]| rest.distance(*now) < 1e-6));
    let jaw = on_bone(body, Tie::Jaw);
    for end in [jaw[0], jaw[jaw.len() - 1]] {
        let lengths = jaw.iter().map(|point| [0, 1].map(|k| point[k].distance(end[k])));
        let stretch = lengths.map(|[rest, now]| (rest - now).abs()).fold(0.0, f64::max);
        assert!(stretch < 1e-6, "{stretch} m");
    }
    let moved = jaw.iter().map(|[rest, now]| rest.distance(*now)).fold(0.0, f64::max);
    assert!(jaw.len() > 500 && (moved > 1e-3) == jaw_moves, "{moved} m");
}

/// The distance between the middles of the lips.
fn opening(surface: &[Vec3]) -> f32 {
    let places = Landmarks::new(&FILLED.face);
    let at = |name: &str| surface[places.find(name).expect("the face has lips").vertex as usize];
    at("lip-upper").distance(at("lip-lower"))
}

#[test]
fn a_still_face_is_the_rigs_and_its_mouth_opens() {
    let (mut body, mut openings) = (FILLED.body(), Vec::new());
    for shapes in
        [&[][..], &[("jawOpen", 1.0)], &[("mouthSmileLeft", 1.0), ("mouthSmileRight", 1.0), ("jawOpen", 0.3)]]
    {
        let weights = FILLED.weights(shapes);
        body.set_weights(&weights);
        body.settle();
        let surface = body.advance(STEP).to_vec();
        let off = FILLED.off_the_rig(&surface, &weights);
        let (p95, worst) = (off[off.len() * 95 / 100], off[off.len() - 1]);
        println!("{shapes:?}: p95 {p95:.3}, worst {worst:.3} mm, {:?}", body.volume());
        assert!(p95 < 0.1 && worst < 0.5, "{shapes:?}: {p95} {worst} mm");
        check_bones(&body, !shapes.is_empty());
        openings.push(1e3 * opening(&surface));
    }
    println!("lips apart by {openings:.1?} mm");
    assert!(openings[1] > openings[0] + 20.0 && openings[2] > openings[0] + 5.0, "{openings:?}");
}

#[test]
fn a_shaken_smile_swings_on_rigid_bones_and_no_element_stays_inverted() {
    const LONGEST: u32 = 6;
    let mut body = FILLED.body();
    let mut weights = FILLED.weights(&[]);
    let mut steps = vec![0_u32; FILLED.tissue.tet_count()];
    let (mut most, mut longest) = (0.0_f32, 0);
    for frame in 1..=30 {
        let fraction = (frame as f32 / 12.0).min(1.0);
        let shapes = [("jawOpen", 0.6), ("mouthSmileLeft", 0.4), ("mouthSmileRight", 0.4)];
        weights = FILLED.weights(&shapes.map(|(name, weight)| (name, fraction * weight)));
        body.set_weights(&weights);
        let time = f64::from(frame) * STEP;
        let rotation = DQuat::from_rotation_y(if frame > 20 { 0.0 } else { 0.4 * (25.0 * time).sin() });
        body.set_head_pose(&RigidMotion { rotation, translation: DVec3::ZERO });
        let surface = body.advance(STEP).to_vec();
        check_bones(&body, true);
        most = most.max(*FILLED.off_the_rig(&surface, &weights).last().expect("the face has skin"));
        // Elements that the artist's shapes themselves crush, such as in the corners of a smile, do not count.
        let (now, plain) = (body.inverted(), FILLED.tissue.plain_inverted(&weights));
        let is_own = |tet: u32| now.binary_search(&tet).is_ok() && plain.binary_search(&tet).is_err();
        for (tet, steps) in (0..).zip(&mut steps) {
            *steps = if is_own(tet) { *steps + 1 } else { 0 };
            longest = longest.max(*steps);
        }
    }
    let plain = FILLED.tissue.plain_inverted(&weights).len();
    println!(
        "up to {most:.2} mm from the rig; elements inverted for up to {longest} steps; at the end {} of {}, {plain} by the shapes",
        body.inverted().len(),
        steps.len()
    );
    assert!((1.0..30.0).contains(&most), "{most} mm");
    assert!(longest <= LONGEST, "an element is inverted for {longest} steps");
    assert!(1000 * plain < steps.len(), "the shapes crush {plain} elements");
}
