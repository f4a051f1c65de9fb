//! Lips of third-party rigs: where the plain rig drives them through each other, tissue keeps them apart.

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;
use zygoma_face::model::Continue;
use zygoma_face::shell::{BuildParams, build};
use zygoma_face::tissue::{Tissue, TissueBody, TissueParams};
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::formats::{Limits, read_rig};
use zygoma_rig::{RigMesh, arkit};
use zygoma_testing::real_data;

const CASES: [&[(&str, f32)]; 8] = [
    &[("jawOpen", 0.25), ("mouthClose", 0.25)],
    &[("jawOpen", 0.5), ("mouthClose", 0.5)],
    &[("jawOpen", 0.75), ("mouthClose", 0.75)],
    &[("jawOpen", 1.0), ("mouthClose", 1.0)],
    &[("mouthPressLeft", 1.0), ("mouthPressRight", 1.0)],
    &[("mouthPucker", 1.0)],
    &[("mouthRollLower", 1.0)],
    &[("mouthShrugLower", 1.0)],
];

fn weights_of(mesh: &RigMesh, shapes: &[(&str, f32)]) -> Vec<f32> {
    let weight = |shape: &zygoma_rig::Shape| {
        let name = arkit::recognise(&shape.name).map(|found| found.shape);
        shapes.iter().find(|(wanted, _)| name == Some(*wanted)).map_or(0.0, |(_, weight)| *weight)
    };
    mesh.shapes.iter().map(weight).collect()
}

#[test]
fn tissue_keeps_lips_apart_where_the_rig_does_not() {
    for path in ["rigs/facecap.glb", "ict/FaceXModel"].into_iter().filter_map(real_data) {
        let rig = read_rig(&path, &Limits::default()).unwrap();
        let mesh = rig.skin();
        let params = BuildParams {
            triangles: 4000,
            uniform_stiffness: Some(1.0),
            corrected: false,
            ..BuildParams::default()
        };
        let face = build(&rig.name, mesh, &params, &mut |_| Continue::Yes).unwrap();
        let tissue = Arc::new(Tissue::new(&face, &TissueParams::default()).unwrap());
        let crosses = |shapes: &&[(&str, f32)]| {
            let weights = weights_of(mesh, shapes);
            let mut plain = vec![Vec3::ZERO; mesh.positions.len()];
            Evaluator::new(mesh).evaluate(&weights, &mut plain);
            let mut performing = TissueBody::new(tissue.clone()).unwrap();
            performing.settle();
            let mut last = Vec::new();
            for frame in 1..=26 {
                let fraction = (frame as f32 / 20.0).min(1.0);
                performing.set_weights(&weights.iter().map(|w| fraction * w).collect::<Vec<_>>());
                last = performing.advance(1.0 / 60.0).to_vec();
            }
            let (before, after) = (tissue.lip_crossings(&plain), tissue.lip_crossings(&last));
            println!("{} {shapes:?}: {before} → {after}, {:?}", rig.name, performing.lips());
            assert_eq!(after, 0, "{} {shapes:?}", rig.name);
            assert!(performing.lips().projected <= 1.001e-4);
            performing.set_weights(&weights);
            let settled = tissue.lip_crossings(performing.settle());
            assert_eq!(settled, 0, "{} {shapes:?}: put there at once", rig.name);
            before > 0
        };
        let crossed = CASES.par_iter().filter(|shapes| crosses(shapes)).count();
        assert!(crossed > 5, "{}: the rig's own lips cross in {crossed} cases", rig.name);
    }
}
