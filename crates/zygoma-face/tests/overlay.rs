//! Pictures of tissue beside its skin agree with the reported figures.

use std::sync::{Arc, LazyLock};

use zygoma_face::model::Continue;
use zygoma_face::model::FaceModel;
use zygoma_face::shell::{BuildParams, build};
use zygoma_face::tissue::{LiveParams, STICKY, Tissue, TissueBody, TissueParams};
use zygoma_head::{Head, HeadOptions};

static MADE: LazyLock<(FaceModel, Arc<Tissue>)> = LazyLock::new(|| {
    let rig = Head::new(&HeadOptions::default()).rig();
    let params = BuildParams {
        triangles: 1500,
        uniform_stiffness: Some(2.0),
        corrected: false,
        ..BuildParams::default()
    };
    let face = build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes).expect("the rig has a face");
    let tissue = Tissue::new(&face, &TissueParams::default()).expect("the face has tissue");
    (face, Arc::new(tissue))
});

fn performing() -> TissueBody {
    TissueBody::new(MADE.1.clone()).expect("tissue can perform")
}

/// Holds shapes at the given weights for a number of steps.
fn hold(performing: &mut TissueBody, weights: &[(&str, f32)], steps: usize) {
    let mut all = vec![0.0; MADE.0.shapes.len()];
    weights.iter().for_each(|(name, weight)| all[MADE.0.shape(name).expect("the head has it")] = *weight);
    performing.set_weights(&all);
    (0..steps).for_each(|_| {
        performing.advance(1.0 / 60.0);
    });
}

#[test]
fn tissue_at_rest_is_where_it_was_made_and_no_larger() {
    let performing = performing();
    let moved = performing
        .tissue_positions()
        .iter()
        .zip(MADE.1.rest())
        .map(|(a, b)| a.distance(*b))
        .fold(0.0, f64::max);
    assert!(moved < 1e-6, "{moved}");
    assert!(performing.volume_changes().iter().all(|change| change.abs() < 1e-3));
    let skin = performing.skin_volume_changes();
    assert_eq!(skin.len(), MADE.0.vertex_count());
    let known = skin.iter().filter(|change| !change.is_nan());
    assert!(known.clone().all(|change| change.abs() < 1e-3));
    assert!(2 * known.count() > skin.len(), "tissue under most of the skin");
    assert!(performing.sticky_springs().is_empty());
}

#[test]
fn changes_of_volume_are_those_of_the_report() {
    let mut performing = performing();
    hold(&mut performing, &[("jawOpen", 1.0)], 20);
    let changes = performing.volume_changes();
    let rest =
        zygoma_geometry::tets::TetMesh { positions: MADE.1.rest().to_vec(), tets: MADE.1.tets().to_vec() };
    let volumes = rest.volumes();
    let whole: f64 = volumes.iter().sum();
    let grown: f64 = volumes.iter().zip(&changes).map(|(volume, change)| volume * f64::from(*change)).sum();
    assert!((grown / whole + 1.0 - performing.volume().total).abs() < 1e-6);
    let most =
        |changes: &[f32]| changes.iter().filter(|c| !c.is_nan()).fold(0.0, |most, c| c.abs().max(most));
    let (element, skin) = (most(&changes), most(&performing.skin_volume_changes()));
    assert!(element > 0.05 && skin > 0.02, "a mouth wide open presses and stretches: {element} {skin}");
}

#[test]
fn springs_are_shown_while_lips_stick_and_dry_lips_have_none() {
    let mut performing = performing();
    performing.set_live(LiveParams { stickiness: STICKY, ..performing.live() });
    // Values that are not finite change nothing.
    performing.set_live(LiveParams { stickiness: f64::NAN, gravity: [f64::INFINITY, 0.0, 0.0] });
    assert_eq!(performing.live(), LiveParams { stickiness: STICKY, gravity: MADE_UNDER });
    hold(&mut performing, &[("mouthClose", 0.25)], 20);
    let springs = performing.sticky_springs();
    assert!(!springs.is_empty() && springs.len() == performing.lips().sticky);
    assert!(!performing.lip_contacts().is_empty());
    // The jaw opens within a frame, and springs of some millimetres break soon (*Progressive PD* eq. 16): they are measured before.
    hold(&mut performing, &[("jawOpen", 0.2)], 1);
    let longest = performing.sticky_springs().iter().map(|[a, b]| a.distance(*b)).fold(0.0, f32::max);
    assert!(longest > 2e-4, "they are drawn out: {longest}");
    performing.set_live(LiveParams { stickiness: 0.0, ..performing.live() });
    assert!(performing.sticky_springs().is_empty() && performing.lips().sticky == 0);
    hold(&mut performing, &[("mouthClose", 0.25)], 10);
    assert!(performing.sticky_springs().is_empty());
}

const MADE_UNDER: [f64; 3] = [0.0, -9.81, 0.0];

#[test]
fn the_face_sags_under_gravity_that_changes() {
    let mut performing = performing();
    hold(&mut performing, &[], 5);
    let upright = performing.advance(1.0 / 60.0).to_vec();
    performing.set_live(LiveParams { gravity: [9.81, -9.81, 0.0], ..performing.live() });
    hold(&mut performing, &[], 60);
    let sagged = performing.advance(1.0 / 60.0);
    let moved = sagged.iter().zip(&upright).map(|(a, b)| a.x - b.x).fold(0.0, f32::max);
    assert!(moved > 1e-4, "towards the left, by {moved}");
}
