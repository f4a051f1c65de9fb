//! Hands with a skin of their own, friction on meshes that deform, cartilage, and the published method.

use std::sync::{Arc, LazyLock};

use glam::{Quat, Vec3};
use zygoma_face::body::{Body, Touchable};
use zygoma_face::contact::{ColliderFrame, ColliderMotion, HAND_FRICTION, HandBody, HandSurface};
use zygoma_face::model::{Continue, FaceModel, Landmarks};
use zygoma_face::run::{HandProbe, HandSummary, TouchScript};
use zygoma_face::shell::{BuildParams, RunParams, ShellBody, build};
use zygoma_face::tissue::{PublishedBody, PublishedOptions, Tissue, TissueBody, TissueParams};
use zygoma_geometry::normals::vertex_normals;
use zygoma_hand::{Extent, Gesture, HandMesh, Side, Spot};
use zygoma_head::{Head, HeadOptions};
use zygoma_physics::contact::{ColliderMesh, ColliderShape, Pose};

/// The built-in head with a coarse shell, and its tissue.
static FACE: LazyLock<FaceModel> = LazyLock::new(|| {
    let rig = Head::new(&HeadOptions::default()).rig();
    let params = BuildParams {
        triangles: 2000,
        uniform_stiffness: Some(10.0),
        corrected: false,
        ..BuildParams::default()
    };
    build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes).expect("it can be built")
});
static TISSUE: LazyLock<Arc<Tissue>> =
    LazyLock::new(|| Arc::new(Tissue::new(&FACE, &TissueParams::default()).expect("it can be built")));

fn tissue() -> TissueBody {
    let mut body = TissueBody::new(TISSUE.clone()).expect("it can be simulated");
    body.settle();
    body
}

fn bodies() -> [Box<dyn Body>; 2] {
    let mut shell = ShellBody::new(&FACE, RunParams::default().awake()).expect("it can be simulated");
    shell.advance(0.0);
    [Box::new(shell), Box::new(tissue())]
}

/// A landmark and the outward direction there.
fn spot(name: &str) -> (Vec3, Vec3) {
    let vertex = Landmarks::new(&FACE).find(name).expect("the built-in head has it").vertex as usize;
    (FACE.neutral[vertex], vertex_normals(&FACE.neutral, &FACE.triangles)[vertex])
}

/// Vertices of the skin within a distance of a point.
fn near(at: Vec3, within: f32) -> Vec<usize> {
    let skin = FACE.skin.iter().map(|v| *v as usize);
    skin.filter(|v| FACE.neutral[*v].distance(at) < within).collect()
}

/// A hand that pokes a cheek, or pinches and pulls it, with its skin: no vertex of the face is left inside it.
#[test]
fn a_hand_presses_with_its_skin_and_pinches() {
    let (at, out) = spot("cheek-left");
    let place = Spot::new(at, out, 0.0);
    let surface = HandSurface::Skin(Arc::new(HandMesh::built_in(Side::Left).clone()));
    for gesture in [Gesture::Poke, Gesture::Pull] {
        let extent = Extent { depth: gesture.usual_depth(), by: 0.01 * out, fingers: 1 };
        let pose = |frame: usize| gesture.pose(Side::Left, &place, &extent, frame as f32 / 32.0);
        let mut body = tissue();
        let hand = body.colliders_mut().add_hand_with(ColliderFrame::Head, &pose(0), HAND_FRICTION, &surface);
        let hand = hand.expect("the built-in hand is closed");
        let mut probe = HandProbe::new().expect("the built-in hand is closed");
        let mut holds = false;
        let frames: Vec<_> = (1..=24)
            .map(|frame| {
                body.colliders_mut().move_hand(hand, &pose(frame));
                body.advance(0.05);
                let shown = body.show(body.latency()).to_vec();
                holds |= body.colliders().hand(hand).is_some_and(HandBody::is_holding);
                let pose = body.colliders().hand_pose(hand).expect("it is there");
                let hands = [(Side::Left, &pose)].into_iter();
                Some(probe.measure(hands, &FACE.skin, (&FACE.neutral, &shown)))
            })
            .collect();
        let found = HandSummary::new(frames.iter());
        println!("{gesture:?}: {found:?}");
        assert!(found.touching > 5, "{gesture:?}: {found:?}");
        assert!(found.resolved_percent > 95.0, "{gesture:?}: {found:?}");
        assert!(found.simulated.deepest_free_mm < 0.5, "{gesture:?}: {found:?}");
        assert_eq!(holds, gesture == Gesture::Pull, "{gesture:?}");
    }
}

/// A ball that is pressed into the cheek and rolled and dragged there, by its pose or by its vertices: friction holds the skin at the
/// same points of it.
#[test]
fn friction_follows_a_mesh_that_deforms_as_it_follows_one_that_moves() {
    let (at, out) = spot("cheek-left");
    let aside = out.cross(Vec3::Y).normalize();
    let (ball, triangles) = zygoma_geometry::shapes::sphere(24, 32);
    let ball: Vec<Vec3> = ball.iter().map(|p| 0.012 * *p).collect();
    let pose = |time: f32| Pose {
        rotation: Quat::from_axis_angle(out, 0.8 * (time - 0.3).clamp(0.0, 0.4)),
        translation: at + (0.02 - 0.04 * time.min(0.3)) * out + 0.02 * (time - 0.3).clamp(0.0, 0.4) * aside,
    };
    let moved = |time: f32| ball.iter().map(|p| pose(time).apply(*p)).collect::<Vec<Vec3>>();
    for kind in 0..2 {
        let surface = |deforms: bool| {
            let mut body = bodies().into_iter().nth(kind).expect("there are two");
            let vertices = if deforms { moved(0.0) } else { ball.clone() };
            let mesh = ColliderMesh::new(vertices, triangles.clone()).expect("it is closed");
            let colliders = body.colliders_mut().expect("it can be touched");
            let first = if deforms { Pose::IDENTITY } else { pose(0.0) };
            let shape = ColliderShape::Mesh(Box::new(mesh));
            let id = colliders.add_in(ColliderFrame::Head, shape, first, ColliderMotion::Kinematic);
            colliders.get_mut(id).expect("it was added").friction = 1.0;
            let mut surface = Vec::new();
            for frame in 1..=42 {
                let (time, colliders) =
                    (frame as f32 / 60.0, body.colliders_mut().expect("it can be touched"));
                if deforms {
                    colliders.deform(id, &moved(time)).expect("it has as many vertices");
                } else {
                    colliders.get_mut(id).expect("it was added").pose = pose(time);
                }
                surface = body.advance(1.0 / 60.0).positions.to_vec();
            }
            surface
        };
        let (rigid, deformed) = (surface(false), surface(true));
        let near = near(at, 0.02);
        let dragged = near.iter().map(|v| (rigid[*v] - FACE.neutral[*v]).dot(aside)).fold(0.0, f32::max);
        let apart = near.iter().map(|v| rigid[*v].distance(deformed[*v])).fold(0.0, f32::max);
        println!("body {kind}: dragged by {:.2} mm, {:.3} mm apart", 1e3 * dragged, 1e3 * apart);
        assert!(dragged > 1.5e-3, "friction drags the skin along: {dragged} m");
        assert!(apart < 5e-4, "{apart} m apart");
    }
}

/// The neck is cut, and the rig moves its edge.
#[test]
fn a_cut_edge_makes_way_for_what_is_pressed_on_it_and_returns_to_the_rig_exactly() {
    let normals = vertex_normals(&FACE.neutral, &FACE.triangles);
    let forward = |v: &usize| normals[*v].z > 0.7 && FACE.neutral[*v].x.abs() < 0.01;
    let skin = FACE.skin.iter().map(|v| *v as usize).filter(forward);
    let edge = skin.min_by(|a, b| FACE.neutral[*a].y.total_cmp(&FACE.neutral[*b].y)).expect("a throat");
    let (at, out) = (FACE.neutral[edge], normals[edge]);
    let radius = 0.012;
    let mut body = tissue();
    let rest = body.advance(1.0 / 60.0)[edge];
    let place = |depth: f32| Pose::at(at + (radius - depth) * out);
    let ball = ColliderShape::Sphere { radius };
    let id = body.colliders_mut().add_in(ColliderFrame::Head, ball, place(-0.01), ColliderMotion::Kinematic);
    let mut shown = Vec::new();
    for frame in 1..=30 {
        body.colliders_mut().get_mut(id).expect("it was added").pose = place(0.0005 * frame as f32 - 0.01);
        shown = body.advance(1.0 / 60.0).to_vec();
    }
    let middle = body.colliders().get(id).expect("it was added").place().translation;
    let depth = near(at, 0.03).into_iter().map(|v| radius - shown[v].distance(middle)).fold(0.0, f32::max);
    let moved = shown[edge].distance(at);
    println!("the edge makes way by {:.2} mm, and {:.3} mm are left inside", 1e3 * moved, 1e3 * depth);
    assert!(moved > 3e-3 && depth < 2e-4, "{moved} m, {depth} m");
    body.colliders_mut().remove(id);
    let mut back = Vec3::ZERO;
    for _ in 0..120 {
        back = body.advance(1.0 / 60.0)[edge];
    }
    println!("{} mm from the rig", 1e3 * back.distance(rest));
    assert_eq!(back, rest, "the edge is where the rig has it");
}

#[test]
fn cartilage_makes_the_nose_bend_less() {
    let (at, _) = spot("nose-tip");
    let tip = near(at, 1e-6)[0];
    let bent = |cartilage: f64| {
        let params = TissueParams { cartilage, ..TissueParams::default() };
        let tissue = Tissue::new(&FACE, &params).expect("it can be built");
        let mut body = TissueBody::new(Arc::new(tissue)).expect("it can be simulated");
        body.settle();
        // One newton from the side.
        let from = at + 0.02 * Vec3::X - 0.004 * Vec3::Z;
        let (shape, force) =
            (ColliderShape::Sphere { radius: 0.008 }, ColliderMotion::Bounded { force: 1.0 });
        let id = body.colliders_mut().add_in(ColliderFrame::Head, shape, Pose::at(from), force);
        body.colliders_mut().get_mut(id).expect("it was added").pose = Pose::at(from - 0.04 * Vec3::X);
        (0..40).map(|_| body.advance(1.0 / 60.0)[tip].distance(at)).fold(0.0, f32::max)
    };
    let [soft, usual, hard] = [1.0, TissueParams::default().cartilage, 100.0].map(bent);
    println!("bent by {soft} m without cartilage, {usual} m with it, {hard} m if it is harder");
    // Cartilage ends within the nose: soft tissue at its base bends, however hard it is.
    assert!(soft > 1e-3 && usual < 0.75 * soft && hard < 0.75 * usual, "{soft} m, {usual} m, {hard} m");
}

/// A poke at the cheek by the published method.
fn published(options: PublishedOptions) -> HandSummary {
    let script = "[[hand]]\ngesture = \"poke\"\nat = \"cheek-left\"\ndepth = 6\nfrom = 0\nto = 1.6\n";
    let script = TouchScript::parse(script, &FACE, &Landmarks::new(&FACE)).expect("it is a script");
    let hand = &script.hands[0];
    let mut body = PublishedBody::new(TISSUE.clone(), options).expect("it can be simulated");
    body.settle();
    let colliders = body.colliders_mut();
    let id = colliders.add_hand(ColliderFrame::Head, &hand.pose(0.0, &FACE.neutral), HAND_FRICTION);
    let mut probe = HandProbe::new().expect("the built-in hand is closed");
    let frames: Vec<_> = (6..=14)
        .map(|frame| {
            let goal = hand.pose(0.05 * f64::from(frame), &FACE.neutral);
            body.colliders_mut().move_hand(id, &goal);
            let shown = body.advance(0.05).positions.to_vec();
            Some(probe.measure([(hand.side, &goal)].into_iter(), &FACE.skin, (&FACE.neutral, &shown)))
        })
        .collect();
    HandSummary::new(frames.iter())
}

#[test]
fn the_published_method_takes_skin_along_and_each_of_its_parts_matters() {
    let whole = PublishedOptions::default();
    let [all, bare, soft] =
        [whole, PublishedOptions { correction: false, ..whole }, PublishedOptions { bones: 0.0, ..whole }]
            .map(published);
    for found in [&all, &bare, &soft] {
        println!("{found:?}");
    }
    assert!(all.touching > 4, "{all:?}");
    // A coarse mesh hardly follows a fingertip: see `bench hands --published` for a fine one.
    assert!(all.simulated.deepest_mm < 0.9 * all.tracked.deepest_mm, "{all:?}");
    assert!(bare.simulated.deepest_mm > 1.05 * all.simulated.deepest_mm, "{bare:?}");
    assert!(soft.simulated.deepest_mm < 0.95 * all.simulated.deepest_mm, "{soft:?}");
    assert!(soft.simulated.deformation_mm > all.simulated.deformation_mm, "{soft:?}");
}
