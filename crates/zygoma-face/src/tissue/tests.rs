mod clock;
mod hands;
mod keeping;
mod markers;
mod sticking;
mod sweeping;
mod touching;
mod volumes;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use glam::{DQuat, DVec3, Vec3};
use zygoma_geometry::intersect::crossing_pairs;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_head::{Head, HeadOptions};
use zygoma_rig::RigMesh;
use zygoma_rig::evaluate::Evaluator;

use super::*;
use crate::body::{Body, Touchable};
use crate::model::Continue;
use crate::model::FaceModel;
use crate::shell::{BuildParams, build};

/// The built-in head with a coarse shell.
static FACE: LazyLock<(RigMesh, FaceModel)> = LazyLock::new(|| {
    let rig = Head::new(&HeadOptions::default()).rig();
    let params = BuildParams {
        triangles: 2000,
        uniform_stiffness: Some(10.0),
        corrected: false,
        ..BuildParams::default()
    };
    let face = build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes).unwrap();
    (rig.skin().clone(), face)
});

static TISSUE: LazyLock<Arc<Tissue>> = LazyLock::new(|| {
    let face = &FACE.1;
    Arc::new(Tissue::new(face, &TissueParams::default()).unwrap())
});

fn performing() -> TissueBody {
    TissueBody::new(TISSUE.clone()).unwrap()
}

fn weights_of(names: &[(&str, f32)]) -> Vec<f32> {
    let mut weights = vec![0.0; FACE.1.shapes.len()];
    for (name, weight) in names {
        weights[FACE.1.shape(name).unwrap()] = *weight;
    }
    weights
}

/// The surface of the plain rig.
fn plain(weights: &[f32]) -> Vec<Vec3> {
    let mut plain = vec![Vec3::ZERO; FACE.0.positions.len()];
    Evaluator::new(&FACE.0).evaluate(weights, &mut plain);
    plain
}

/// Distance from the plain rig, mm: the 95th percentile over skin that the rig moves by more than a millimetre, and the largest over all
/// skin.
fn missed(found: &[Vec3], weights: &[f32]) -> [f32; 2] {
    let (mesh, face) = &*FACE;
    let plain = plain(weights);
    let off = |v: &u32| 1e3 * found[*v as usize].distance(plain[*v as usize]);
    let moves = |v: &&u32| plain[**v as usize].distance(mesh.positions[**v as usize]) > 1e-3;
    let mut moved: Vec<f32> = face.skin.iter().filter(moves).map(off).collect();
    moved.sort_by(f32::total_cmp);
    [moved.get(moved.len() * 95 / 100).copied().unwrap_or(0.0), face.skin.iter().map(off).fold(0.0, f32::max)]
}

/// Number of pairs of triangles of the whole skin that cross on a surface though they do not in the neutral.
fn crossings(surface: &[Vec3]) -> usize {
    static NEUTRAL: LazyLock<BTreeSet<(u32, u32)>> = LazyLock::new(|| pairs(&FACE.0.positions));
    fn pairs(surface: &[Vec3]) -> BTreeSet<(u32, u32)> {
        let positions: Vec<DVec3> = surface.iter().map(|p| p.as_dvec3()).collect();
        crossing_pairs(&positions, &TISSUE.skin_points.triangles).into_iter().collect()
    }
    pairs(surface).difference(&NEUTRAL).count()
}

/// Mean and worst distance from the plain rig over the simulated skin, mm.
fn off_the_rig(found: &[Vec3], weights: &[f32]) -> (f32, f32) {
    let face = &FACE.1;
    let plain = plain(weights);
    let off: Vec<f32> =
        face.skin.iter().map(|v| 1e3 * found[*v as usize].distance(plain[*v as usize])).collect();
    (off.iter().sum::<f32>() / off.len() as f32, off.iter().copied().fold(0.0, f32::max))
}

#[test]
fn no_element_is_inverted_at_rest_and_a_still_face_stays_still() {
    let mut face = performing();
    println!(
        "{} tetrahedra under {} triangles, {} of them bare",
        TISSUE.tet_count(),
        FACE.1.coarse.triangles.len(),
        TISSUE.bare_count()
    );
    assert!(50 * TISSUE.bare_count() < FACE.1.coarse.triangles.len(), "tissue nearly everywhere");
    assert_eq!(face.volume().inverted, 0);
    for _ in 0..5 {
        let (_, worst) = off_the_rig(face.advance(0.04), &weights_of(&[]));
        assert!(worst < 0.1, "{worst} mm");
    }
}

#[test]
fn a_build_reports_every_shape_and_can_be_cancelled() {
    let (_, face) = &*FACE;
    let make = |last: usize| {
        let mut reported = Vec::new();
        let mut progress = |now: TissueProgress| {
            reported.push((now.round, now.shape));
            if reported.len() > last { Continue::Abandon } else { Continue::Yes }
        };
        let input = TissueInput::new(face);
        let made = Tissue::build(&input, &TissueParams::default(), &mut progress).map(|_| ());
        (made, reported)
    };
    let (made, reported) = make(2);
    assert_eq!((made, reported), (Err(TissueError::Abandoned), vec![(0, 0), (0, 1), (0, 2)]));
    let (made, reported) = make(usize::MAX);
    assert_eq!(made, Ok(()));
    let first: Vec<_> = (0..face.shapes.len()).map(|shape| (0, shape)).collect();
    assert_eq!(reported[..first.len()], first[..]);
    assert!(reported.is_sorted(), "{reported:?}");
}

#[test]
fn held_expressions_are_those_of_the_rig() {
    let mut found = Vec::new();
    for names in [
        &[("jawOpen", 0.6)][..],
        &[("jawOpen", 1.0)],
        &[("mouthSmileLeft", 1.0), ("mouthSmileRight", 1.0)],
        &[("browInnerUp", 1.0)],
        &[("mouthPucker", 0.7), ("jawOpen", 0.3)],
        &[("jawOpen", 0.7), ("mouthStretchLeft", 0.8), ("noseSneerRight", 1.0), ("cheekPuff", 0.4)],
    ] {
        let mut face = performing();
        let weights = weights_of(names);
        face.set_weights(&weights);
        face.settle();
        let [p95, worst] = missed(face.advance(0.04), &weights);
        println!("{names:?}: p95 {p95:.4} mm, worst {worst:.3} mm, {:?}", face.volume());
        found.push((p95, worst, face.volume().inverted));
    }
    assert!(
        found.iter().all(|(p95, worst, inverted)| *p95 < 0.05 && *worst < 0.5 && *inverted == 0),
        "{found:?}"
    );
}

/// The paper's own drive still works, within its own bounds.
#[test]
fn forces_hold_expressions_as_well() {
    let face = &FACE.1;
    let params = TissueParams { actuation: Actuation::Forces, ..TissueParams::default() };
    let tissue = Arc::new(Tissue::new(face, &params).unwrap());
    let mut performing = TissueBody::new(tissue).unwrap();
    let weights = weights_of(&[("mouthSmileLeft", 1.0), ("jawOpen", 0.4)]);
    performing.set_weights(&weights);
    performing.settle();
    let [p95, worst] = missed(performing.advance(0.04), &weights);
    println!("by forces: p95 {p95:.3} mm, worst {worst:.2} mm, {:?}", performing.volume());
    assert!(p95 < 1.0 && worst < 5.0, "{p95} {worst} mm");
    assert!(performing.actuations() != weights, "forces are found, not given");
}

#[test]
fn a_shaken_head_moves_the_cheeks_and_they_settle() {
    let mut face = performing();
    face.settle();
    let rest = face.advance(0.02).to_vec();
    let moved = |now: &[Vec3]| now.iter().zip(&rest).map(|(a, b)| 1e3 * a.distance(*b)).fold(0.0, f32::max);
    let mut most = 0.0_f32;
    for frame in 0..25 {
        let angle = 0.4 * (frame as f64 * 0.02 * 25.0).sin();
        face.set_head_pose(&RigidMotion {
            rotation: DQuat::from_rotation_y(angle),
            translation: DVec3::ZERO,
        });
        most = most.max(moved(face.advance(0.02)));
    }
    println!("the skin moves by up to {most:.2} mm");
    assert!((1.0..15.0).contains(&most), "{most} mm");
    face.set_head_pose(&RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO });
    for _ in 0..60 {
        face.advance(0.02);
    }
    let left = moved(face.advance(0.02));
    assert!(left < 0.2, "{left} mm");
}

#[test]
fn lips_do_not_pass_through_each_other() {
    println!("lips: {:?} vertices", TISSUE.lip_counts());
    assert!(TISSUE.lip_counts().iter().all(|count| *count > 50));
    let mut left = Vec::new();
    for names in [
        &[("jawOpen", 0.5), ("mouthClose", 0.5)][..],
        &[("mouthPressLeft", 1.0), ("mouthPressRight", 1.0)],
        &[("mouthPucker", 1.0)],
        &[("mouthRollLower", 1.0)],
        &[("mouthShrugLower", 1.0)],
        &[("mouthClose", 0.15)],
    ] {
        let mut face = performing();
        face.settle();
        let weights = weights_of(names);
        for frame in 1..=30 {
            let fraction = (frame as f32 / 20.0).min(1.0);
            face.set_weights(&weights.iter().map(|w| fraction * w).collect::<Vec<_>>());
            face.advance(1.0 / 60.0);
        }
        let surface = face.advance(1.0 / 60.0).to_vec();
        let (rig, tissue) = (crossings(&plain(&weights)), crossings(&surface));
        println!("{names:?}: crossings {rig} → {tissue}; {:?}; {:?}", face.lips(), face.volume());
        assert!(face.lips().projected <= 1.001e-4);
        left.push((rig, tissue));
    }
    // Where lips that overlap by 4 mm grow together, two triangles of a millimetre may stay crossed.
    assert!(left.iter().all(|(rig, tissue)| 100 * tissue <= *rig), "{left:?}");
    assert!(left.iter().any(|(rig, _)| *rig > 20), "the rig's lips cross somewhere: {left:?}");
}

/// The same frames to the last bit on one thread and on two, on tissue large enough for its vectors to be split between them.
#[test]
fn the_number_of_threads_changes_nothing() {
    const LARGE: usize = 8192;
    let rig = Head::new(&HeadOptions::default()).rig();
    let mut mesh = rig.skin().clone();
    // Few shapes: most of the build time goes into their forces.
    mesh.shapes.retain(|shape| ["jawOpen", "mouthClose", "mouthSmileLeft"].contains(&shape.name.as_str()));
    let params = BuildParams {
        triangles: 9500,
        uniform_stiffness: Some(10.0),
        corrected: false,
        ..BuildParams::default()
    };
    let face = build(&rig.name, &mesh, &params, &mut |_| Continue::Yes).unwrap();
    let tissue = Tissue::new(&face, &TissueParams::default()).unwrap();
    assert!(tissue.layout.free > LARGE, "{} free vertices are not split", tissue.layout.free);
    let tissue = Arc::new(tissue);
    let weights = |fraction: f32| -> Vec<f32> {
        let weight = |name: &str| match name {
            "mouthClose" => 0.3 * fraction,
            "mouthSmileLeft" => fraction,
            _ => 0.0,
        };
        mesh.shapes.iter().map(|shape| weight(&shape.name)).collect()
    };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut face = TissueBody::new(tissue.clone()).unwrap();
            for frame in 1..=5 {
                face.set_weights(&weights(frame as f32 / 5.0));
                face.advance(1.0 / 60.0);
            }
            assert!(face.lips().contacts > 0, "the lips should press");
            face.show(0.0).to_vec()
        })
    };
    let one = run(1);
    assert!(one == run(2) && one == run(4), "the frames differ");
}

#[test]
fn lips_are_found_by_what_parts_them_where_no_shape_is_named_for_it() {
    let (_, face) = &*FACE;
    let (jaw, mut nameless) = (&face.inside.jaw_shapes, face.clone());
    nameless.shapes.iter_mut().enumerate().for_each(|(k, shape)| shape.name = format!("shape {k}"));
    let [known, found] =
        [face, &nameless].map(|face| crate::model::Lips::find(face, jaw, &face.coarse.on_mesh));
    assert!(known.upper > 0 && known.upper < known.vertices.len());
    // Another jaw shape may split a little more at the corners of the mouth, but both lips are the same two.
    for (known, found) in [
        (&known.vertices[..known.upper], &found.vertices[..found.upper]),
        (&known.vertices[known.upper..], &found.vertices[found.upper..]),
    ] {
        let both = known.iter().filter(|vertex| found.contains(vertex)).count();
        let fraction = 2.0 * both as f64 / (known.len() + found.len()) as f64;
        assert!(fraction > 0.9, "{fraction} of {} and {} vertices", known.len(), found.len());
    }
    let backwards: Vec<usize> = jaw.iter().rev().copied().collect();
    assert!(
        crate::model::Lips::find(&nameless, &backwards, &face.coarse.on_mesh).vertices == found.vertices,
        "in any order"
    );
}
