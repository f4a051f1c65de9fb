//! Builds a rig, holds its shapes, presses and pulls it, and prints what happens; writes the touched face as OBJ:
//! `cargo run --release -p zygoma-face --example touch_rig -- RIG [--triangles 4000] [--uniform 2] [--seconds 20]
//! [--face FILE] [--touch-only] [--out DIR]`; a face file is made, or read if it is there.

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
    let mut make = || {
        build(&rig.name, mesh, &params, &mut |now| {
            if let BuildProgress::Fitting(fit) = now {
                fitted =
                    format!("{} iterations, worst {:.3}, {:.1} s", fit.iteration, fit.worst, fit.seconds);
            }
            Continue::Yes
        })
    };
    let face = match value("--face").map(Path::new) {
        Some(file) if file.exists() => Face::read(file)?,
        Some(file) => {
            let face = make()?;
            face.write(file)?;
            face
        }
        None => make()?,
    };
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
    if !arguments.iter().any(|a| a == "--touch-only") {
        hold_shapes(&face, mesh)?;
    }
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
            let mut running = InteractiveFace::new(face, RunParams::default().awake())?;
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

/// Presses a fingertip of 1 cm into the skin, lets go, and pushes with bounded forces.
fn press(face: &Face, mesh: &RigMesh, name: &str, place: Vec3, out: Option<&Path>) -> Outcome<()> {
    let mut running = InteractiveFace::new(face, RunParams::default().awake())?;
    let frame = running.advance(0.01);
    let (rest, normals) = (frame.positions.to_vec(), frame.normals.to_vec());
    let nearest =
        (0..rest.len()).min_by(|a, b| rest[*a].distance(place).total_cmp(&rest[*b].distance(place)));
    let normal = normals[nearest.unwrap_or(0)];
    let radius = 0.01f32;
    let dent = |running: &mut InteractiveFace| {
        let now = running.advance(0.0).positions;
        now.iter().zip(&rest).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
    };
    let at = |depth: f32| Pose::at(place + normal * (radius - depth));
    let sphere = || ColliderShape::Sphere { radius };
    let touch = running.touches_mut().add(sphere(), at(-0.002), Drive::Kinematic);
    let mut deepest = 0.0f32;
    for frame in 1..=90 {
        if let Some(touch) = running.touches_mut().get_mut(touch) {
            touch.pose = at(-0.002 + 0.01 * (frame as f32 / 60.0).min(1.0));
        }
        running.advance(0.01);
        deepest = deepest.max(running.penetration());
    }
    let kinematic = dent(&mut running);
    let speed = running.top_speed();
    write_obj(running.advance(0.0).positions, mesh, out, name)?;
    running.touches_mut().remove(touch);
    for _ in 0..100 {
        running.advance(0.01);
    }
    let left = dent(&mut running);
    let percent = |length: f32| 100.0 * f64::from(length) / face.height;
    print!(
        "{name:9} at {:.3} {:.3} {:.3}: 8 mm in, dent {:.2} mm, sank {:.3} %, speed {speed:.4}, left after 1 s {:.3} %;",
        place.x,
        place.y,
        place.z,
        1e3 * kinematic,
        percent(deepest),
        percent(left),
    );
    for force in [0.02, 0.05, 0.1, 0.2, 0.5] {
        let touch = running.touches_mut().add(sphere(), at(-0.002), Drive::Bounded { force });
        if let Some(touch) = running.touches_mut().get_mut(touch) {
            touch.pose = at(0.02);
        }
        for _ in 0..100 {
            running.advance(0.01);
        }
        let sank =
            running.touches().get(touch).map_or(Vec3::ZERO, |t| at(0.0).translation - t.place().translation);
        let felt = running.touches().get(touch).map_or(0.0, |t| t.force().length());
        print!(
            " {force} N: {:.2} mm ({felt:.3} N, in {:.2} %)",
            1e3 * sank.dot(normal),
            percent(running.penetration())
        );
        if force == 0.2 {
            write_obj(running.advance(0.0).positions, mesh, out, &format!("{name}-pushed"))?;
        }
        running.touches_mut().remove(touch);
        for _ in 0..60 {
            running.advance(0.01);
        }
    }
    println!();
    Ok(())
}

fn write_obj(positions: &[Vec3], mesh: &RigMesh, folder: Option<&Path>, name: &str) -> Outcome<()> {
    let Some(folder) = folder else { return Ok(()) };
    std::fs::create_dir_all(folder)?;
    let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join(format!("{name}.obj")))?);
    for p in positions {
        writeln!(file, "v {} {} {}", p.x, p.y, p.z)?;
    }
    for polygon in mesh.faces.iter() {
        let corners: Vec<String> = polygon.iter().map(|v| (v + 1).to_string()).collect();
        writeln!(file, "f {}", corners.join(" "))?;
    }
    Ok(())
}
