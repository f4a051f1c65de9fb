//! Things on a square of skin in the plane z = 0, 0.2 m wide, with the head behind it.

use glam::{Quat, Vec3};

use super::*;
use crate::bake::BakeOptions;
use crate::frames::{Frames, StoredFrames};
use crate::take::{WeightCurve, WeightTrack};
use crate::test_rigs::{mesh, rig as rig_of};
use crate::{RigMesh, Shape, SparseDeltas, Take};

fn shape(name: &str, count: usize, offset: Vec3) -> Shape {
    Shape { name: name.into(), deltas: SparseDeltas::from_dense(&vec![offset; count]) }
}

/// A rectangle of `columns` × `rows` vertices, `step` apart, around a centre.
fn sheet(columns: u32, rows: u32, step: f32, at: Vec3) -> RigMesh {
    let middle = 0.5 * Vec3::new((columns - 1) as f32, (rows - 1) as f32, 0.0);
    let point = |i: u32| at + step * (Vec3::new((i % columns) as f32, (i / columns) as f32, 0.0) - middle);
    let quad = |i: u32| [[i, i + 1, i + columns + 1], [i, i + columns + 1, i + columns]];
    let cells = (0..columns * (rows - 1)).filter(|i| i % columns < columns - 1);
    mesh((0..columns * rows).map(point).collect(), &cells.flat_map(quad).collect::<Vec<_>>())
}

fn named(name: &str, mesh: RigMesh) -> RigMesh {
    RigMesh { name: name.into(), ..mesh }
}

/// Skin that a shape "jawOpen" moves down and a shape "mouthSmile" moves aside.
fn skin() -> RigMesh {
    let skin = sheet(41, 41, 0.005, Vec3::ZERO);
    let count = skin.positions.len();
    let shapes = vec![shape("jawOpen", count, -0.02 * Vec3::Y), shape("mouthSmile", count, 0.01 * Vec3::X)];
    RigMesh { shapes, ..skin }
}

/// A strip 6 cm wide that arches over the skin: it touches at both ends.
fn glasses() -> RigMesh {
    let mut glasses = named("glasses", sheet(13, 3, 0.005, Vec3::ZERO));
    glasses.positions.iter_mut().for_each(|p| p.z = 0.02 - 22.0 * p.x * p.x);
    glasses
}

/// Hair that stands 3 cm off the skin, on roots that touch it everywhere: an upright comb.
fn beard() -> RigMesh {
    let mut beard = named("beard", sheet(21, 4, 0.005, Vec3::ZERO));
    for (index, p) in beard.positions.iter_mut().enumerate() {
        *p = Vec3::new(p.x, 0.0, 0.01 * (index / 21) as f32);
    }
    beard
}

fn rig(others: Vec<RigMesh>) -> Rig {
    let mut rig = rig_of(skin());
    rig.meshes.extend(others);
    rig
}

/// Positions of the only other mesh of a rig when the skin moves by `motion` from its shapes' positions.
fn ridden(rig: &Rig, weights: [f32; 2], motion: impl Fn(Vec3) -> Vec3) -> Vec<Vec3> {
    let offset = -0.02 * weights[0] * Vec3::Y + 0.01 * weights[1] * Vec3::X;
    let shown: Vec<Vec3> = rig.skin().positions.iter().map(|p| motion(*p + offset)).collect();
    let mut positions = rig.meshes[1].positions.clone();
    let followers = Followers::new(rig);
    followers.riders()[0].ride(&weights, &shown, &mut positions);
    positions
}

fn dent(p: Vec3) -> Vec3 {
    p - 0.01 * (-(p.truncate().length() / 0.02).powi(2)).exp() * Vec3::Z
}

#[test]
fn what_lies_or_sits_on_the_skin_turns_with_it() {
    let turned = |p: Vec3| Quat::from_rotation_y(0.5) * p + Vec3::new(0.0, 0.01, 0.02);
    for other in [named("brow", sheet(5, 3, 0.005, 0.002 * Vec3::Z)), glasses(), beard()] {
        let rig = rig(vec![other]);
        for (found, own) in ridden(&rig, [0.0; 2], turned).iter().zip(&rig.meshes[1].positions) {
            assert!(found.distance(turned(*own)) < 1e-5, "{}: {found} {own}", rig.meshes[1].name);
        }
    }
}

#[test]
fn a_beard_bends_with_a_touched_cheek_and_glasses_stay_stiff() {
    let lengths = |positions: &[Vec3], mesh: &RigMesh| -> Vec<f32> {
        let triangles = mesh.faces.triangles();
        triangles.iter().map(|[a, b, _]| positions[*a as usize].distance(positions[*b as usize])).collect()
    };
    let stiff = rig(vec![glasses()]);
    let found = ridden(&stiff, [0.0; 2], dent);
    let [was, is] = [&stiff.meshes[1].positions, &found].map(|p| lengths(p, &stiff.meshes[1]));
    assert!(was.iter().zip(&is).all(|(was, is)| (was - is).abs() < 1e-6), "glasses do not stretch");
    let soft = rig(vec![beard()]);
    let own = &soft.meshes[1].positions;
    for (found, own) in ridden(&soft, [0.0; 2], dent).iter().zip(own).take(21) {
        assert!(found.distance(dent(*own)) < 5e-4, "roots stay on the skin: {found} {own}");
    }
    let tip = ridden(&soft, [0.0; 2], dent)[3 * 21 + 10];
    assert!(tip.distance(own[3 * 21 + 10] - 0.01 * Vec3::Z) < 1e-3, "a hair goes with its root: {tip}");
}

#[test]
fn a_mesh_adds_what_the_skin_does_beyond_the_shapes_that_both_have() {
    let lift = |p: Vec3| p + 0.005 * Vec3::Z;
    let bare = sheet(5, 3, 0.005, 0.002 * Vec3::Z);
    let with = |names: &[&str]| RigMesh {
        name: "brow".into(),
        shapes: names.iter().map(|name| shape(name, 15, 0.03 * Vec3::Y)).collect(),
        ..bare.clone()
    };
    let down = -0.02 * Vec3::Y;
    let aside = 0.01 * Vec3::X;
    let cases: [(&[&str], Vec3); 3] =
        [(&[], down + aside), (&["Jaw_Open"], aside), (&["jawOpen", "mouthSmile"], Vec3::ZERO)];
    for (names, wanted) in cases {
        let rig = rig(vec![with(names)]);
        for (found, own) in ridden(&rig, [1.0; 2], lift).iter().zip(&bare.positions) {
            let wanted = *own + wanted + 0.005 * Vec3::Z;
            assert!(found.distance(wanted) < 1e-6, "{names:?}: {found} {wanted}");
        }
    }
}

#[test]
fn what_is_inside_hidden_far_or_a_body_does_not_ride() {
    let brow = |name: &str, z: f32| named(name, sheet(5, 3, 0.005, z * Vec3::Z));
    let rig = rig(vec![
        brow("brow", 0.002),
        brow("h_teeth", 0.002),
        brow("eye_left", 0.002),
        brow("eyelashes", 0.002),
        brow("behind", -0.02),
        brow("far", 0.1),
        brow("hair", 0.002),
        sheet(41, 41, 0.05, 0.002 * Vec3::Z),
    ]);
    let riders: Vec<usize> = Followers::new(&rig).riders().iter().map(Rider::mesh).collect();
    assert_eq!(riders, [1, 4]);
}

#[test]
fn frames_of_a_rider_follow_the_shown_skin() {
    let rig = rig(vec![named("brow", sheet(5, 3, 0.005, 0.002 * Vec3::Z))]);
    let curve = WeightCurve::linear([0.0, 1.0].into(), vec![0.0, 1.0]);
    let take = Take { weights: vec![WeightTrack { shape: "jawOpen".into(), curve }], ..Take::default() };
    let mut shown = StoredFrames::new(1.0, rig.skin().positions.len());
    for frame in 0..2 {
        let moved = frame as f32 * Vec3::new(0.0, -0.02, 0.004);
        shown.push(&rig.skin().positions.iter().map(|p| *p + moved).collect::<Vec<_>>());
    }
    let followers = Followers::new(&rig);
    let mut riding = Riding::new(&rig, &followers.riders()[0], &take, &mut shown);
    assert_eq!((riding.count(), riding.vertex_count()), (2, 15));
    let mut positions = vec![Vec3::ZERO; 15];
    riding.read(1, &mut positions).unwrap();
    for (found, own) in positions.iter().zip(&rig.meshes[1].positions) {
        assert!(found.distance(*own + Vec3::new(0.0, -0.02, 0.004)) < 1e-6);
    }
    let baked = bake_riders(&rig, &followers, &take, &mut shown, &BakeOptions::default()).unwrap();
    assert_eq!((baked.len(), baked[0].mesh, baked[0].baked.animation.targets.len()), (1, 1, 1));
}
