//! Loading rigs and evaluating blendshapes.

use std::path::{Path, PathBuf};

use glam::Vec3;
use zygoma_head::{Head, HeadOptions};
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::formats::{self, Limits, ict};
use zygoma_rig::{Rig, RigMesh, Shape, SparseDeltas};

use super::{Bench, Report};

/// Shapes at non-zero weight in the evaluation benchmark, about as many as a captured face has at a time.
const ACTIVE_SHAPES: usize = 8;

/// Measures the named rigs, or the built-in head.
pub(crate) fn run(rigs: &[PathBuf]) -> anyhow::Result<Report> {
    let mut report = Report::new();
    for path in rigs {
        measure_loading(path, &mut report)?;
        measure_evaluation(&formats::read_rig(path, &Limits::default())?, &mut report);
    }
    if rigs.is_empty() {
        measure_evaluation(&Head::new(&HeadOptions::default()).rig(), &mut report);
    }
    Ok(report)
}

fn measure_loading(path: &Path, report: &mut Report) -> anyhow::Result<()> {
    formats::read_rig(path, &Limits::default())?;
    let goal = if ict::is_ict(path) { 4000.0 } else { 50.0 };
    let name =
        path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
    let bench = Bench::new(format!("load {name}")).goal_ms(goal);
    let bench = bench.reference("reading the bytes", || read_bytes(path));
    report.results.push(bench.run(|| formats::read_rig(path, &Limits::default())));
    Ok(())
}

/// Reads a file, or all files in a folder, and returns the total size.
fn read_bytes(path: &Path) -> usize {
    let files: Vec<PathBuf> = match std::fs::read_dir(path) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) => vec![path.to_owned()],
    };
    files.iter().filter_map(|file| std::fs::read(file).ok()).map(|bytes| bytes.len()).sum()
}

fn measure_evaluation(rig: &Rig, report: &mut Report) {
    let mesh = &outer_skin(rig.skin());
    if mesh.shapes.is_empty() {
        return;
    }
    let weights = spread_weights(mesh.shapes.len());
    let evaluator = Evaluator::new(mesh);
    let dense: Vec<Vec<Vec3>> =
        mesh.shapes.iter().map(|shape| shape.deltas.to_dense(mesh.positions.len())).collect();
    let [mut ours, mut theirs, mut copy] = [(); 3].map(|()| mesh.positions.clone());
    let label = format!(
        "evaluate {}: {} vertices, {} of {} shapes",
        rig.name,
        mesh.positions.len(),
        weights.iter().filter(|weight| **weight != 0.0).count(),
        weights.len()
    );
    let bench = Bench::new(label.clone()).goal_ms(0.08);
    let bench = bench.reference("dense evaluation", || evaluate_densely(mesh, &dense, &weights, &mut theirs));
    report.results.push(bench.run(|| evaluator.evaluate(&weights, &mut ours)));
    let bench = Bench::new(label).reference("copying the output", || copy.copy_from_slice(&mesh.positions));
    report.results.push(bench.run(|| evaluator.evaluate(&weights, &mut ours)));
}

/// The mesh without the eyes, teeth and sockets that ICT-FaceKit keeps behind the skin in the same mesh.
pub(crate) fn outer_skin(mesh: &RigMesh) -> RigMesh {
    let skin = ["face", "head_and_neck"];
    let ends = mesh.regions.iter().filter(|region| skin.contains(&region.name.as_str()));
    let count = ends.map(|region| region.vertices.end).max().unwrap_or(mesh.positions.len());
    let trimmed = |shape: &Shape| {
        let (vertices, offsets) =
            shape.deltas.iter().filter(|(vertex, _)| (*vertex as usize) < count).unzip();
        Shape { name: shape.name.clone(), deltas: SparseDeltas { vertices, offsets } }
    };
    RigMesh {
        positions: mesh.positions[..count].to_vec(),
        shapes: mesh.shapes.iter().map(trimmed).collect(),
        ..mesh.clone()
    }
}

/// Weights that are zero except for a few, spread over the rig.
fn spread_weights(count: usize) -> Vec<f32> {
    let stride = count.div_ceil(ACTIVE_SHAPES);
    (0..count).map(|shape| if shape % stride == 0 { 0.5 } else { 0.0 }).collect()
}

/// The textbook loop: every shape, every vertex.
fn evaluate_densely(mesh: &RigMesh, dense: &[Vec<Vec3>], weights: &[f32], positions: &mut [Vec3]) {
    positions.copy_from_slice(&mesh.positions);
    for (offsets, weight) in dense.iter().zip(weights) {
        for (position, offset) in positions.iter_mut().zip(offsets) {
            *position += *weight * *offset;
        }
    }
}
