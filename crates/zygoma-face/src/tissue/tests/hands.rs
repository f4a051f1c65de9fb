//! Hands on skin: fingers that curl through it, and fingers that pinch it. The same for a shell and for tissue.

use zygoma_hand::{Extent, Finger, Gesture, HandFrame, HandPose, HandTake, Joint, Posture, Side, Spot};
use zygoma_physics::contact::Pose;

use super::touching::spot;
use super::*;
use crate::contact::{ColliderFrame, HAND_FRICTION};
use crate::model::{Inside, Landmarks, Teeth};
use crate::run::{HandProbe, HandSummary, TouchScript};
use crate::shell::{RunParams, ShellBody};

fn bodies() -> [Box<dyn Body>; 2] {
    let mut tissue = performing();
    tissue.settle();
    let mut shell = ShellBody::new(&FACE.1, RunParams::default().awake()).unwrap();
    shell.advance(0.0);
    [Box::new(shell), Box::new(tissue)]
}

/// Lets a hand follow a path in the head's frame for some seconds, and returns the surface, one latency old, at each frame.
fn play(body: &mut dyn Body, path: &dyn Fn(f64) -> HandPose, seconds: f64, rate: f64) -> Vec<Vec<Vec3>> {
    let hand = body.colliders_mut().unwrap().add_hand(ColliderFrame::Head, &path(0.0), HAND_FRICTION);
    let frames = (seconds * rate).round() as usize;
    let mut surfaces = Vec::new();
    for frame in 1..=frames {
        body.colliders_mut().unwrap().move_hand(hand, &path(frame as f64 / rate));
        surfaces.push(body.advance(1.0 / rate).positions.to_vec());
    }
    body.colliders_mut().unwrap().remove_hand(hand);
    surfaces
}

/// Vertices of the skin within a distance of a landmark at rest.
fn near(at: Vec3, within: f32) -> Vec<usize> {
    let (mesh, face) = &*FACE;
    face.skin.iter().map(|v| *v as usize).filter(|v| mesh.positions[*v].distance(at) < within).collect()
}

/// An index finger along the cheek that curls into it within a twentieth of a second: its tip moves by more than its own thickness in one
/// frame at 20 Hz.
fn curling(at: Vec3, out: Vec3) -> impl Fn(f64) -> HandPose {
    let spot = Spot::new(at, out, 0.0);
    // The finger points up along the cheek, bent backwards; then its last phalanges sweep through the skin.
    let straight = Posture::pointing().pose(Side::Left);
    let knuckle = straight.at(Joint::IndexIntermediate);
    let rotation = {
        let hand = glam::Mat3::from_cols(Vec3::NEG_Z, Vec3::NEG_Y, Vec3::NEG_Z.cross(Vec3::NEG_Y));
        let face = glam::Mat3::from_cols(spot.up, -spot.out, spot.up.cross(-spot.out));
        glam::Quat::from_mat3(&(face * hand.transpose()))
    };
    let wrist = spot.at + 0.024 * spot.out - 0.035 * spot.up - rotation * knuckle;
    move |time: f64| {
        let curl = ((time - 0.1) / 0.05).clamp(0.0, 1.0) as f32;
        let mut posture = Posture::pointing();
        posture.fingers[0].intermediate += -0.5 + 0.85 * curl;
        posture.fingers[0].distal += 0.2 * curl;
        posture.pose(Side::Left).moved(&Pose { rotation, translation: wrist })
    }
}

#[test]
fn a_curling_finger_never_tunnels_at_any_rate() {
    let (at, out) = spot("cheek-left");
    let path = curling(at, out);
    for rate in [20.0, 60.0, 144.0] {
        for mut body in bodies() {
            let surfaces = play(body.as_mut(), &path, 0.5, rate);
            let end = path(0.5);
            let last = surfaces.last().unwrap();
            // Skin that the finger met must be on its palmar side: below the bones, not above them.
            let mut passed = 0;
            let mut pushed = 0.0f32;
            for vertex in near(at, 0.02) {
                let p = last[vertex];
                for [from, to] in
                    [[Joint::IndexIntermediate, Joint::IndexDistal], [Joint::IndexDistal, Joint::IndexTip]]
                {
                    let (a, b) = (end.at(from), end.at(to));
                    let along = (b - a).normalize();
                    let fraction = (p - a).dot(along);
                    let offset = p - a - fraction * along;
                    let is_near = offset.length() < 2.5 * end.radius(from);
                    let is_above = offset.dot(end.palmar(from)) < -0.5 * offset.length();
                    passed += usize::from((0.0..a.distance(b)).contains(&fraction) && is_near && is_above);
                }
                pushed = pushed.max(p.distance(FACE.0.positions[vertex]));
            }
            println!("{} at {rate} Hz: {passed} passed, pushed by {:.2} mm", body.name(), 1e3 * pushed);
            assert_eq!(passed, 0, "{} at {rate} Hz", body.name());
            assert!(pushed > 3e-3, "{} at {rate} Hz: the finger does not reach the skin", body.name());
        }
    }
}

const PULLED: f64 = 2.0;

/// A cheek that is pinched and dragged.
fn pull(by: Vec3) -> impl Fn(f64) -> HandPose {
    let (at, out) = spot("cheek-left");
    let spot = Spot::new(at, out, 0.0);
    let extent = Extent { depth: Gesture::Pull.usual_depth(), by, fingers: 1 };
    move |time: f64| Gesture::Pull.pose(Side::Left, &spot, &extent, (time / PULLED) as f32)
}

#[test]
fn a_pinch_dragged_sideways_takes_skin_along_and_letting_go_returns_it() {
    let (at, out) = spot("cheek-left");
    let aside = out.cross(Vec3::Y).normalize();
    for mut body in bodies() {
        let rest = body.advance(1.0 / 60.0).positions.to_vec();
        let path = pull(0.03 * aside);
        let surfaces = play(body.as_mut(), &path, PULLED, 60.0);
        let moved = |surface: &[Vec3]| {
            let along = near(at, 0.012).into_iter().map(|v| (surface[v] - rest[v]).dot(aside));
            along.fold(f32::NEG_INFINITY, f32::max)
        };
        let dragged = surfaces.iter().map(|surface| moved(surface)).fold(0.0, f32::max);
        let before = moved(&surfaces[(0.41 * PULLED * 60.0) as usize]);
        let mut left = 0.0;
        for _ in 0..90 {
            let surface = body.advance(1.0 / 60.0).positions;
            left = near(at, 0.03).into_iter().map(|v| surface[v].distance(rest[v])).fold(0.0, f32::max);
        }
        println!(
            "{}: dragged by {:.1} mm after {:.1} mm, {:.3} mm left",
            body.name(),
            1e3 * dragged,
            1e3 * before,
            1e3 * left
        );
        assert!(dragged > 0.02, "{}: {dragged} m of 3 cm", body.name());
        assert!(left < 5e-4, "{}: {left} m are left", body.name());
    }
}

/// NePHIM §3.3.2: a cylinder that gets shorter grabs below 25 mm; it lets go above that, and 2 mm later so that noise drops nothing.
#[test]
fn a_pinch_grabs_when_it_gets_short_and_lets_go_when_it_is_long_again() {
    let (at, out) = spot("cheek-left");
    let spot = Spot::new(at, out, 0.0);
    let hand = |gap: f32| {
        let pads = [-0.5, 0.5].map(|end| spot.at + end * gap * spot.up);
        zygoma_hand::pinch_between(Side::Left, pads, spot.out).unwrap()
    };
    for mut body in bodies() {
        let id = body.colliders_mut().unwrap().add_hand(ColliderFrame::Head, &hand(0.02), HAND_FRICTION);
        body.settle();
        let mut holds = |gap: f32| {
            body.colliders_mut().unwrap().move_hand(id, &hand(gap));
            body.advance(0.05);
            body.colliders().unwrap().hand(id).unwrap().holds(Finger::Index)
        };
        // Millimetres, and whether skin is held then: a pinch that opens grabs nothing.
        let way = [(22, false), (30, false), (26, false), (24, true), (26, true), (28, false), (24, true)];
        for (gap, is_held) in way {
            assert_eq!(holds(1e-3 * gap as f32), is_held, "{} at {gap} mm", body.name());
        }
    }
}

/// Plays a hand of a script on tissue at 20 Hz and measures it against the hand's own skin.
fn measured(gesture: &str, teeth: Option<Teeth>) -> HandSummary {
    let face = &FACE.1;
    let script = format!("[[hand]]\n{gesture}\nfrom = 0\nto = 1.6\n");
    let script = TouchScript::parse(&script, face, &Landmarks::new(face)).unwrap();
    let hand = &script.hands[0];
    let mut tissue = performing();
    let inside = Inside { teeth: teeth.clone(), ..Inside::default() };
    if let Some(teeth) = teeth {
        tissue.set_teeth(teeth);
    }
    tissue.settle();
    let mut probe = HandProbe::new().unwrap().with_inside(&inside);
    let id =
        tissue.colliders_mut().add_hand(ColliderFrame::Head, &hand.pose(0.0, &face.neutral), HAND_FRICTION);
    let frames: Vec<_> = (1..=32)
        .map(|frame| {
            let goal = hand.pose(0.05 * f64::from(frame), &face.neutral);
            tissue.colliders_mut().move_hand(id, &goal);
            tissue.advance(0.05);
            let shown = tissue.show(tissue.latency()).to_vec();
            let pose = tissue.colliders().hand_pose(id).unwrap();
            let hands = [(hand.side, &pose)].into_iter();
            Some(probe.measure(hands, &face.skin, (&face.neutral, &shown)))
        })
        .collect();
    HandSummary::new(frames.iter())
}

#[test]
fn fingers_that_pinch_or_stroke_leave_no_skin_inside() {
    // The stroke passes the corner of the eye, whose lids have an inner side.
    let stroke = "gesture = \"stroke\"\nat = \"jaw-left\"\ntoward = \"cheekbone-left\"";
    for gesture in ["gesture = \"pinch\"\nat = \"cheek-left\"", stroke] {
        let found = measured(gesture, None);
        println!("{gesture}: {found:?}");
        assert!(found.touching > 8, "{gesture}: {found:?}");
        assert!(found.resolved_percent > 95.0, "{gesture}: {found:?}");
        assert!(found.simulated.deepest_free_mm < 0.5, "{gesture}: {found:?}");
    }
}

/// The edge of a flat hand presses lips on teeth, and leaves them less room than they are thick.
#[test]
fn a_palm_on_the_cheek_presses_lips_on_teeth_and_leaves_no_skin_inside() {
    let teeth = Teeth::of_rig(&Head::new(&HeadOptions::default()).rig()).unwrap();
    let found = measured("gesture = \"press\"\nat = \"cheek-left\"\ndepth = 8", Some(teeth));
    println!("{found:?}");
    assert!(found.touching > 8, "{found:?}");
    assert!(found.resolved_percent > 95.0, "{found:?}");
    assert!(found.simulated.deepest_free_mm < 0.5, "{found:?}");
}

#[test]
fn the_same_take_at_any_rate_is_the_same_pull() {
    let (at, out) = spot("cheek-left");
    // Recorded at 20 Hz, and followed until half a second after the drag has ended.
    let pull = pull(0.015 * out);
    let frame = |k: usize| HandFrame { time: 0.05 * k as f64, pose: pull(0.05 * k as f64) };
    let take = HandTake { left: (0..=40).map(frame).collect(), right: Vec::new() };
    let path = |time: f64| take.sample(Side::Left, time).unwrap();
    for kind in 0..2 {
        let surface = |rate: f64| {
            let mut body = bodies().into_iter().nth(kind).unwrap();
            play(body.as_mut(), &path, 0.7 * PULLED, rate).pop().unwrap()
        };
        let reference = surface(60.0);
        for rate in [20.0, 144.0] {
            let other = surface(rate);
            let apart =
                near(at, 0.03).into_iter().map(|v| reference[v].distance(other[v])).fold(0.0, f32::max);
            println!("body {kind} at {rate} Hz: {:.3} mm apart", 1e3 * apart);
            assert!(apart < 1e-3, "{apart} m at {rate} Hz");
        }
    }
}

#[test]
fn a_pull_is_the_same_to_the_last_bit_on_any_number_of_threads() {
    let (_, out) = spot("cheek-left");
    let path = pull(0.01 * out);
    let surface = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut tissue = performing();
            tissue.settle();
            play(&mut tissue, &path, 0.6 * PULLED, 60.0).pop().unwrap()
        })
    };
    let one = surface(1);
    assert!(one == surface(2) && one == surface(4));
}

#[test]
fn a_hand_far_away_changes_nothing_and_a_pinch_of_air_holds_nothing() {
    let (at, out) = spot("cheek-left");
    let spot = Spot::new(at + 0.3 * out, out, 0.0);
    let extent = Extent { depth: 0.0, by: Vec3::ZERO, fingers: 2 };
    for mut body in bodies() {
        let rest = body.advance(0.01).positions.to_vec();
        let hand = Gesture::Pinch.pose(Side::Right, &spot, &extent, 0.0);
        let id = body.colliders_mut().unwrap().add_hand(ColliderFrame::Head, &hand, HAND_FRICTION);
        for frame in 0..=40 {
            let pose = Gesture::Pinch.pose(Side::Right, &spot, &extent, 0.5 * frame as f32 / 40.0);
            body.colliders_mut().unwrap().move_hand(id, &pose);
            let surface = body.advance(0.01).positions;
            let moved = surface.iter().zip(&rest).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
            assert!(moved < 1e-4, "{}: {moved} m", body.name());
        }
        let hand = body.colliders().unwrap().hand(id).unwrap();
        assert!(Finger::ALL.iter().all(|finger| !hand.holds(*finger)));
    }
}
