//! A fingertip of 1 cm on life-size heads.

mod finger;
mod rigs;

use zygoma_face::model::Continue;
use zygoma_face::shell::{BuildParams, build};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::Rig;

use finger::Finger;
use rigs::other_rigs;

/// Ratio of the depths to which the same force pushes into the cheek and into the forehead.
const SOFTER: f32 = 3.0;

fn check(rig: &Rig, triangles: usize, limit: f32) {
    let params = BuildParams { triangles, uniform_stiffness: Some(1.0), ..BuildParams::default() };
    let face = build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes).expect("it can be built");
    for place in ["cheek-left", "nose-tip", "lip-upper", "lip-lower", "forehead", "ear-left"] {
        let (deepest, left) = Finger::new(&face, place).press();
        println!("{} {triangles} {place}: sank in by {deepest:.5}, left {left:.6} heights", rig.name);
        assert!(deepest < limit, "{} {place}: sank in by {deepest} heights", rig.name);
        assert!(left < 5e-4, "{} {place}: {left} heights are left", rig.name);
    }
    let pushed = |place: &str, force: f32| Finger::new(&face, place).push(force);
    let (cheek, forehead) = (pushed("cheek-left", 0.3), pushed("forehead", 0.3));
    println!("{}: 0.3 N push in the cheek {cheek} m, the forehead {forehead} m", rig.name);
    assert!(cheek > SOFTER * forehead, "{}: cheek {cheek} m, forehead {forehead} m", rig.name);
    // However strong the push, the bone holds.
    for force in [5.0, 50.0] {
        let pushed = pushed("cheek-left", force);
        assert!(pushed < cheek + 0.003, "{}: {force} N push in the cheek {pushed} m", rig.name);
    }
}

#[test]
fn fingers_do_not_sink_into_the_built_in_head() {
    let rig = Head::new(&HeadOptions::sampled(0, Level::Middle)).rig();
    check(&rig, 2000, 0.006);
    check(&rig, 4000, 0.003);
}

#[test]
fn fingers_do_not_sink_into_other_rigs() {
    for rig in other_rigs() {
        check(&rig, 2000, 0.006);
        check(&rig, 4000, 0.003);
    }
}
