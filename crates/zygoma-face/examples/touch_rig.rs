//! Builds a rig, holds its shapes, presses and pulls it, and prints what happens; writes the touched face as OBJ:
//! `cargo run --release -p zygoma-face --example touch_rig -- RIG [--triangles 4000] [--uniform 2] [--seconds 20] [--out DIR]`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use glam::Vec3;
use zygoma_face::interactive::fit::Continue;
use zygoma_face::interactive::{BuildParams, BuildProgress, Drive, Face, InteractiveFace, RunParams, build};
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_rig::formats::{Limits, read_rig};
use zygoma_rig::{RigMesh, Shape};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("give a rig")?;
    let value = |flag: &str| arguments.iter().position(|a| a == flag).and_then(|i| arguments.get(i + 1));
    let mut params = BuildParams::default();
    if let Some(triangles) = value("--triangles") {
        params.triangles = triangles.parse()?;
    }
    params.uniform_stiffness = value("--uniform").map(|v| v.parse()).transpose()?;
    params.fit.seconds = value("--seconds").map(|v| v.parse()).transpose()?;
    let rig = read_rig(Path::new(path), &Limits::default())?;
    let mesh = rig.skin();
    let began = Instant::now();
    let mut fitted = String::new();
    let face = build(&rig.name, mesh, &params, &mut |now| {
        if let BuildProgress::Fitting(fit) = now {
            fitted = format!("{} iterations, worst {:.3}, {:.1} s", fit.iteration, fit.worst, fit.seconds);
        }
        Continue::Yes
    })?;
    println!(
        "{}: {} vertices, {} triangles; shell {} vertices, {} triangles, {} held; height {:.3} m; built in {:.1} s ({fitted}); {:?}",
        face.name,
        face.vertex_count(),
        face.triangles.len(),
        face.shell.vertex_count(),
        face.shell.triangles.len(),
        face.held.iter().filter(|held| **held).count(),
        face.height,
        began.elapsed().as_secs_f64(),
        face.certified,
    );
    hold_shapes(&face, mesh)?;
    let out = value("--out").map(PathBuf::from);
    for (name, place) in landmarks(&face, mesh) {
        press(&face, mesh, name, place, out.as_deref())?;
    }
    Ok(())
}

fn plain(mesh: &RigMesh, shape: &Shape, weight: f32) -> Vec<Vec3> {
    let mut positions = mesh.positions.clone();
    for (vertex, offset) in shape.deltas.iter() {
        positions[vertex as usize] += weight * offset;
    }
    positions
}

fn hold_shapes(face: &Face, mesh: &RigMesh) -> Outcome<()> {
    for weight in [1.0, 0.5] {
        let mut errors: Vec<(f64, &str)> = Vec::new();
        for (index, shape) in mesh.shapes.iter().enumerate() {
            let mut running =
                InteractiveFace::new(face, RunParams { sleep_after: None, ..RunParams::default() })?;
            let mut weights = vec![0.0; mesh.shapes.len()];
            weights[index] = weight;
            running.set_weights(&weights);
            for _ in 0..50 {
                running.advance(0.01);
            }
            let wanted = plain(mesh, shape, weight);
            let found = running.advance(0.01).positions;
            let worst = found.iter().zip(&wanted).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
            errors.push((f64::from(worst) / face.height, &shape.name));
        }
        errors.sort_by(|a, b| b.0.total_cmp(&a.0));
        let shown: Vec<String> =
            errors.iter().take(4).map(|(e, name)| format!("{name} {:.4} %", 100.0 * e)).collect();
        println!("held at {weight}: {}", shown.join(", "));
    }
    Ok(())
}

/// Places on the skin, found from the rig's proportions: in front of the face at shares of its height.
fn landmarks(face: &Face, mesh: &RigMesh) -> Vec<(&'static str, Vec3)> {
    let skin: Vec<Vec3> = face.skin.iter().map(|v| mesh.positions[*v as usize]).collect();
    let height = face.height as f32;
    let top = skin.iter().map(|p| p.y).fold(f32::MIN, f32::max);
    let tip = skin.iter().copied().max_by(|a, b| a.z.total_cmp(&b.z)).unwrap_or_default();
    let front = |x: f32, y: f32| {
        let near = |p: &&Vec3| (p.x - x).hypot(p.y - y) < 0.03 * height;
        skin.iter().filter(near).copied().max_by(|a, b| a.z.total_cmp(&b.z)).unwrap_or_default()
    };
    let left = |y: f32| {
        let near = |p: &&Vec3| (p.y - y).abs() < 0.08 * height;
        skin.iter().filter(near).copied().max_by(|a, b| a.x.total_cmp(&b.x)).unwrap_or_default()
    };
    vec![
        ("cheek", front(tip.x + 0.17 * height, tip.y - 0.05 * height)),
        ("forehead", front(tip.x, top - 0.25 * height)),
        ("nose", tip),
        ("lip", front(tip.x, tip.y - 0.13 * height)),
        ("ear", left(tip.y + 0.05 * height)),
    ]
}

fn press(face: &Face, mesh: &RigMesh, name: &str, place: Vec3, out: Option<&Path>) -> Outcome<()> {
    let mut running = InteractiveFace::new(face, RunParams { sleep_after: None, ..RunParams::default() })?;
    let rest = running.advance(0.01).positions.to_vec();
    let normals = running.advance(0.0).normals.to_vec();
    let nearest =
        (0..rest.len()).min_by(|a, b| rest[*a].distance(place).total_cmp(&rest[*b].distance(place)));
    let normal = normals[nearest.unwrap_or(0)];
    let radius = 0.01f32;
    let dent = |running: &mut InteractiveFace| {
        let now = running.advance(0.0).positions;
        now.iter().zip(&rest).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
    };
    let start = Pose::at(place + normal * (radius + 0.002));
    let sphere = || ColliderShape::Sphere { radius };
    let touch = running.touches_mut().add(sphere(), start, Drive::Kinematic);
    let mut deepest = 0.0f32;
    for frame in 1..=60 {
        let depth = 0.012 * (frame as f32 / 60.0);
        if let Some(touch) = running.touches_mut().get_mut(touch) {
            touch.pose = Pose::at(place + normal * (radius + 0.002 - depth));
        }
        running.advance(0.01);
        deepest =
            deepest.max(running.touches().get(touch).map_or(0.0, zygoma_face::interactive::Touch::deepest));
    }
    let kinematic = dent(&mut running);
    if let Some(folder) = out {
        std::fs::create_dir_all(folder)?;
        let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join(format!("{name}.obj")))?);
        for p in running.advance(0.0).positions {
            writeln!(file, "v {} {} {}", p.x, p.y, p.z)?;
        }
        for polygon in mesh.faces.iter() {
            let corners: Vec<String> = polygon.iter().map(|v| (v + 1).to_string()).collect();
            writeln!(file, "f {}", corners.join(" "))?;
        }
    }
    running.touches_mut().remove(touch);
    for _ in 0..100 {
        running.advance(0.01);
    }
    let left = dent(&mut running);
    let touch = running.touches_mut().add(sphere(), start, Drive::Bounded { force: 0.02 });
    if let Some(touch) = running.touches_mut().get_mut(touch) {
        touch.pose = Pose::at(place - normal * 0.02);
    }
    for _ in 0..300 {
        running.advance(0.01);
    }
    let force = running.touches().get(touch).map_or(0.0, |t| t.force().length());
    let percent = |length: f32| 100.0 * f64::from(length) / face.height;
    println!(
        "{name:9} at {:.3} {:.3} {:.3}: 10 mm in, dent {:.2} mm, sank {:.3} %, left after 1 s {:.3} %; 0.02 N: dent {:.2} mm, force {:.4} N",
        place.x,
        place.y,
        place.z,
        1e3 * kinematic,
        percent(deepest),
        percent(left),
        1e3 * dent(&mut running),
        force,
    );
    Ok(())
}
