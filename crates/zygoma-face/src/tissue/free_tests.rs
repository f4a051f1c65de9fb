//! A creature that is not human: a ball with two antennae, a few shapes, no mouth and no bones.

use std::f64::consts::{PI, TAU};
use std::sync::{Arc, LazyLock};

use glam::{DAffine3, DQuat, DVec3, Vec3};
use zygoma_geometry::Faces;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::{RigMesh, Shape, SparseDeltas};

use super::*;
use crate::body::Body;
use crate::model::Continue;
use crate::model::FaceModel;
use crate::model::{FreePart, ProtrudingPart};
use crate::shell::{BuildParams, build};

const BALL: f64 = 0.1;
const ANTENNA: f64 = 0.11;
const RADIUS: f64 = 0.009;

/// A surface of revolution about X: tip, antenna, ball, antenna, tip; the face looks to +Z.
fn creature() -> RigMesh {
    const SECTORS: u32 = 48;
    let end = BALL + ANTENNA;
    // Half of the outline from the tip to the ball's equator: position along the axis and distance from it.
    let mut outline: Vec<(f64, f64)> = (1..=6)
        .map(|i| f64::from(i) * PI / 12.0)
        .map(|a| (end - RADIUS + RADIUS * a.cos(), RADIUS * a.sin()))
        .collect();
    let root = RADIUS.atan2(BALL) + 0.02;
    outline.extend((1..45).map(|i| (end - RADIUS - (end - RADIUS - BALL) * f64::from(i) / 45.0, RADIUS)));
    outline.extend(
        (0..=40)
            .map(|i| root + (0.5 * PI - root) * f64::from(i) / 40.0)
            .map(|a| (BALL * a.cos(), BALL * a.sin())),
    );
    let back: Vec<(f64, f64)> = outline.iter().rev().skip(1).map(|(x, r)| (-x, *r)).collect();
    outline.extend(back);
    let rings = outline.len() as u32;
    let mut positions = vec![Vec3::new(end as f32, 0.0, 0.0)];
    for (x, r) in &outline {
        for sector in 0..SECTORS {
            let angle = TAU * f64::from(sector) / f64::from(SECTORS);
            positions.push(DVec3::new(*x, r * angle.sin(), r * angle.cos()).as_vec3());
        }
    }
    positions.push(Vec3::new(-end as f32, 0.0, 0.0));
    let at = |ring: u32, sector: u32| 1 + ring * SECTORS + sector % SECTORS;
    let last = positions.len() as u32 - 1;
    let mut triangles = Vec::new();
    for sector in 0..SECTORS {
        triangles.push([0, at(0, sector + 1), at(0, sector)]);
        triangles.push([last, at(rings - 1, sector), at(rings - 1, sector + 1)]);
        for ring in 0..rings - 1 {
            let [a, b] = [at(ring, sector), at(ring, sector + 1)];
            let [c, d] = [at(ring + 1, sector), at(ring + 1, sector + 1)];
            triangles.extend([[a, b, c], [b, d, c]]);
        }
    }
    let bump = |centre: DVec3, push: DVec3| {
        let offset = |p: &Vec3| {
            let away = p.as_dvec3().distance(BALL * centre.normalize()) / 0.04;
            (push * (-away * away).exp()).as_vec3()
        };
        let offset = |p: &Vec3| if offset(p).length() > 1e-5 { offset(p) } else { Vec3::ZERO };
        SparseDeltas::from_dense(&positions.iter().map(offset).collect::<Vec<_>>())
    };
    let shape = |name: &str, deltas| Shape { name: name.to_owned(), deltas };
    let shapes = vec![
        shape("puff", bump(DVec3::Z, 0.012 * DVec3::Z)),
        shape("frown", bump(DVec3::new(0.0, 0.6, 0.8), DVec3::new(0.0, -0.008, 0.0))),
        shape("twist", bump(DVec3::new(0.3, -0.5, 0.8), DVec3::new(0.008, 0.0, 0.0))),
    ];
    RigMesh {
        name: "creature".to_owned(),
        positions,
        faces: Faces::from_triangles(&triangles),
        uvs: None,
        shapes,
        regions: Vec::new(),
        to_rig: DAffine3::IDENTITY,
        quantum: 1e-7,
    }
}

static FACE: LazyLock<FaceModel> = LazyLock::new(|| {
    let params = BuildParams {
        triangles: 4000,
        uniform_stiffness: Some(10.0),
        corrected: false,
        ..BuildParams::default()
    };
    build("creature", &creature(), &params, &mut |_| Continue::Yes).unwrap()
});

fn tissue() -> Arc<Tissue> {
    // Whichever shapes are taken for the jaw, there is no mouth.
    let mut face = FACE.clone();
    face.inside.free_parts = FreePart::find(&face);
    Arc::new(Tissue::new(&face, &TissueParams::default()).unwrap())
}

#[test]
fn antennae_are_found_and_nothing_else() {
    let parts = ProtrudingPart::find(&FACE);
    for part in &parts {
        println!(
            "{:.0} mm long, {:.0} mm around, tip at {:.3}",
            1e3 * part.length,
            1e3 * part.girth,
            part.tip
        );
    }
    assert_eq!(parts.len(), 2);
    assert!(parts[0].tip.x * parts[1].tip.x < 0.0, "one on each side");
    for part in &parts {
        assert!((0.8 * ANTENNA..1.4 * ANTENNA).contains(&part.length), "{}", part.length);
        let mesh = creature();
        let ball =
            part.vertices.iter().filter(|v| mesh.positions[**v as usize].length() < 0.99 * BALL as f32);
        assert_eq!(ball.count(), 0, "nothing inside the ball's surface");
    }
}

#[test]
fn antennae_swing_on_a_shake_settle_and_keep_their_volume() {
    let mut face = TissueBody::new(tissue()).unwrap();
    assert_eq!(face.tissue.lip_counts(), [0, 0], "no mouth, no lips");
    face.settle();
    let rest = face.advance(0.02).to_vec();
    let moved = |now: &[Vec3], tips: bool| {
        let is_wanted = |p: &Vec3| if tips { p.x.abs() > 0.19 } else { p.z > 0.07 };
        let wanted = now.iter().zip(&rest).filter(|(_, rest)| is_wanted(rest));
        wanted.map(|(a, b)| 1e3 * a.distance(*b)).fold(0.0, f32::max)
    };
    let (mut tips, mut front) = (0.0_f32, 0.0_f32);
    let (mut volume, mut inverted) = ([1.0_f64; 2], 0);
    for frame in 0..25 {
        let angle = 0.3 * (frame as f64 * 0.02 * 12.0).sin();
        face.set_head_pose(&RigidMotion {
            rotation: DQuat::from_rotation_z(angle),
            translation: DVec3::ZERO,
        });
        let now = face.advance(0.02).to_vec();
        (tips, front) = (tips.max(moved(&now, true)), front.max(moved(&now, false)));
        let report = face.volume();
        volume = [volume[0].min(report.total), volume[1].max(report.total)];
        inverted = inverted.max(report.inverted);
    }
    println!("tips move by {tips:.1} mm, the face by {front:.2} mm; volume {volume:?}, {inverted} inverted");
    assert!(tips > 10.0 && tips > 5.0 * front, "{tips} {front}");
    assert!(volume[0] > 0.98 && volume[1] < 1.02 && inverted == 0, "{volume:?} {inverted}");
    face.set_head_pose(&RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO });
    // A soft antenna of this length sways about once a second.
    let mut left = Vec::new();
    for _ in 0..8 {
        let second = (0..50).map(|_| moved(face.advance(0.02), true)).fold(0.0, f32::max);
        left.push(second);
    }
    println!("swings second by second: {left:.2?} mm");
    // Below a tenth of a millimetre is the error of single precision.
    assert!(left.windows(2).all(|pair| pair[1] < pair[0] || pair[1] < 0.1), "every second less: {left:?}");
    assert!(left[7] < 0.02 * tips, "{left:?}");
}

#[test]
fn what_is_free_takes_no_part_in_expressions_and_the_rest_does() {
    let mut face = TissueBody::new(tissue()).unwrap();
    face.set_weights(&[1.0, 0.5, 0.0]);
    face.settle();
    let now = face.advance(0.02).to_vec();
    let mesh = creature();
    let mut wanted = mesh.positions.clone();
    for (weight, shape) in [1.0, 0.5, 0.0].iter().zip(&mesh.shapes) {
        shape.deltas.iter().for_each(|(v, d)| wanted[v as usize] += *weight * d);
    }
    let off = now.iter().zip(&wanted).map(|(a, b)| 1e3 * a.distance(*b));
    let (mean, worst) = (off.clone().sum::<f32>() / now.len() as f32, off.fold(0.0, f32::max));
    println!("off the rig: mean {mean:.3} mm, worst {worst:.2} mm, {:?}", face.volume());
    assert!(mean < 0.02 && worst < 0.2, "{mean} {worst}");
}
