//! Laws of retargeting, between built-in heads, whose correspondence is exact.

use glam::{DVec3, Vec3};
use zygoma_head::anatomy::FillDetail;
use zygoma_head::fit::{FittedHead, SharedSkin};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::Rig;

use super::*;

/// The rig of a sampled head and its registered head, exactly.
fn head(seed: u64) -> (Rig, RetargetHead) {
    let options = HeadOptions::sampled(seed, Level::High);
    let rig = Head::new(&options).rig_with_texture(None);
    let head = RetargetHead::of_fitted(&rig, FittedHead::built_in(&options, FillDetail::Coarse));
    (rig, head)
}

fn worst(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(p, q)| p.distance(*q)).fold(0.0, f32::max)
}

/// The vertex that is farthest off.
fn farthest(rig: &Rig, a: &[Vec3], b: &[Vec3]) -> Vec3 {
    let off = |v: &usize| a[*v].distance(b[*v]);
    let vertex = (0..a.len()).max_by(|u, v| off(u).total_cmp(&off(v))).unwrap();
    rig.skin().positions[vertex]
}

fn own(rig: &Rig, shape: usize) -> Vec<Vec3> {
    rig.skin().shapes[shape].deltas.to_dense(rig.skin().positions.len())
}

fn named(rig: &Rig, name: &str) -> usize {
    rig.skin().shapes.iter().position(|shape| shape.name == name).unwrap()
}

/// A neutral stays where it is, and a head gets back its own shapes: by the surface all of them, through the anatomy those that move most.
#[test]
fn a_head_gets_back_its_neutral_and_its_own_shapes() {
    let (rig, first) = head(3);
    let (_, second) = head(3);
    let mut source = SourceFace::new(&rig, first);
    let mut target =
        RigRetarget::new(&source, &rig, second, Transfer::Anatomical, &RetargetParams::default()).unwrap();
    assert_eq!(target.carrier().transfer(), Transfer::Anatomical);
    let still = vec![0.0; source.shape_count()];
    let (neutral, report) = target.frame(&source.expression(&still));
    assert!(
        neutral.iter().all(|offset| offset.length() < 1e-6),
        "{}",
        worst(&neutral, &vec![Vec3::ZERO; neutral.len()])
    );
    assert_eq!((report.inverted, report.lip_crossings), (0, [0, 0]));
    for name in ["jawOpen", "eyeBlinkLeft", "mouthSmileRight", "mouthPucker", "browInnerUp", "jawLeft"] {
        let shape = named(&rig, name);
        let (carried, report) = target.shape(&mut source, shape);
        let off = worst(&carried.meshes[0].offsets, &own(&rig, shape));
        let place = farthest(&rig, &carried.meshes[0].offsets, &own(&rig, shape));
        assert!(off < 5e-5, "{name}: {off} m at {place}, {report:?}");
        assert_eq!(report.lip_crossings[1], 0, "{name}");
    }
}

/// Between two people: an expression goes the way that the target's own goes, whatever was carried before, mirrored where the source is, and
/// back again to where it started.
#[test]
fn expressions_carry_to_another_head_and_back() {
    let ((rig, first), (other, second)) = (head(3), head(5));
    let params = RetargetParams::default();
    let mut there = Carrier::new(&first, &second, Transfer::Anatomical, &params).unwrap();
    let mut back = Carrier::new(&second, &first, Transfer::Anatomical, &params).unwrap();
    // Usual solves end a little before the minimum, on either side of it.
    let converged = RetargetParams { iterations: 300, ..RetargetParams::default() };
    let mut exact = Carrier::new(&first, &second, Transfer::Anatomical, &converged).unwrap();
    let (mut source, mut target) = (SourceFace::new(&rig, first), SourceFace::new(&other, second));
    let names = ["jawOpen", "mouthSmileLeft", "mouthSmileRight", "eyeBlinkRight"];
    let starts = names.map(|name| source.shape(named(&rig, name)));
    let found = starts.each_ref().map(|start| there.carry(start));
    assert_eq!(there.carry(&starts[0]).0, found[0].0, "the order does not matter");
    for ((name, start), (carried, report)) in names.iter().zip(&starts).zip(&found) {
        assert_eq!(report.lip_crossings[1], 0, "{name}");
        let own = target.shape(named(&other, name));
        let cosine = cosine(&target.head().rest, &carried.skin, &own.skin);
        assert!(cosine > 0.95, "{name}: {cosine}");
        let (again, _) = back.carry(carried);
        let distances = again.skin.iter().zip(&start.skin).map(|(p, q)| p.distance(*q));
        let mean = distances.sum::<f64>() / again.skin.len() as f64;
        assert!(mean < 5e-4, "{name} comes back {mean} m off");
    }
    let mirror = SharedSkin::get().mirror;
    let [left, right] = [1, 2].map(|smile| exact.carry(&starts[smile]).0);
    let apart = |(v, p): (usize, &DVec3)| {
        let q = right.skin[mirror[v] as usize] * DVec3::new(-1.0, 1.0, 1.0);
        (p.distance(q), *p)
    };
    let worst = left.skin.iter().enumerate().map(apart).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert!(worst.0 < 1e-4, "{worst:?}");
}

/// The cosine between the displacements of two poses.
fn cosine(rest: &[DVec3], a: &[DVec3], b: &[DVec3]) -> f64 {
    let moved = |posed: &[DVec3]| posed.iter().zip(rest).map(|(p, q)| *p - *q).collect::<Vec<DVec3>>();
    let (a, b) = (moved(a), moved(b));
    let dot = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(p, q)| p.dot(*q)).sum::<f64>();
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}
