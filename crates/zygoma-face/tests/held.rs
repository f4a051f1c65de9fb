//! An untouched face that holds an expression matches the artist's shape, whatever its stiffness.

mod rigs;

use glam::Vec3;
use rayon::prelude::*;
use zygoma_face::model::Continue;
use zygoma_face::model::FaceModel;
use zygoma_face::shell::{BuildParams, RunParams, ShellBody, build};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::{Rig, RigMesh, arkit};

use rigs::other_rigs;

/// Worst distance from the rig at weight 1, and at half weight, in heights.
const WHOLE: f32 = 3e-4;
const HALF: f32 = 1e-3;

fn plain(mesh: &RigMesh, weights: &[f32]) -> Vec<Vec3> {
    let mut positions = mesh.positions.clone();
    for (shape, weight) in mesh.shapes.iter().zip(weights).filter(|(_, weight)| **weight != 0.0) {
        for (vertex, offset) in shape.deltas.iter() {
            positions[vertex as usize] += *weight * offset;
        }
    }
    positions
}

/// Distance of the face from the rig, in heights, after it moved from its neutral and held the given weights.
fn held(face: &FaceModel, mesh: &RigMesh, weights: &[f32]) -> f32 {
    let mut running = ShellBody::new(face, RunParams::default().awake()).expect("it can be simulated");
    running.advance(0.0);
    running.set_weights(weights);
    for _ in 0..100 {
        running.advance(0.01);
    }
    let found = running.advance(0.01).positions;
    let pairs = found.iter().zip(plain(mesh, weights));
    pairs.map(|(a, b)| a.distance(b)).fold(0.0, f32::max) / face.height as f32
}

fn check(rig: &Rig, triangles: usize) {
    let mesh = rig.skin();
    let params = BuildParams { triangles, uniform_stiffness: Some(1.0), ..BuildParams::default() };
    let face = build(&rig.name, mesh, &params, &mut |_| Continue::Yes).expect("it can be built");
    let is = |index: &usize, wanted: &str| {
        arkit::recognise(&mesh.shapes[*index].name).is_some_and(|found| found.shape == wanted)
    };
    let find = |wanted: &str| (0..mesh.shapes.len()).find(|index| is(index, wanted));
    let alone = |shape: usize, weight: f32| {
        let mut weights = vec![0.0; mesh.shapes.len()];
        weights[shape] = weight;
        weights
    };
    let mut cases: Vec<(Vec<f32>, f32)> = Vec::new();
    for shape in 0..mesh.shapes.len() {
        cases.push((alone(shape, 1.0), WHOLE));
        cases.push((alone(shape, 0.5), HALF));
    }
    if let (Some(jaw), Some(close)) = (find("jawOpen"), find("mouthClose")) {
        let mut weights = alone(jaw, 1.0);
        weights[close] = 1.0;
        cases.push((weights, WHOLE));
    }
    cases.par_iter().for_each(|(weights, limit)| {
        let error = held(&face, mesh, weights);
        let names: Vec<&str> =
            (0..weights.len()).filter(|i| weights[*i] > 0.0).map(|i| &*mesh.shapes[i].name).collect();
        assert!(error < *limit, "{}: {names:?} {weights:?}: {error}", rig.name);
    });
}

#[test]
fn the_built_in_head_holds_its_expressions() {
    check(&Head::new(&HeadOptions::sampled(0, Level::Low)).rig(), 1500);
}

#[test]
fn other_rigs_hold_their_expressions() {
    for rig in other_rigs() {
        check(&rig, 1500);
    }
}
