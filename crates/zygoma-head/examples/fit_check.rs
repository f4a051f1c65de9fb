//! Fits the built-in head into meshes and prints how well:
//! `cargo run --release -p zygoma-head --example fit_check -- [--pictures DIR] [--landmarks FILE] MESH…`.
//!
//! The landmarks (vertex indices, in the 68 standard places, as ICT-FaceKit's `vertex_indices.json` has them, one in a line)
//! are withheld from the fit and only measured.

use std::path::Path;

use glam::{DVec3, Vec3};
use zygoma_head::dials::Warp;
use zygoma_head::fit::{FitInput, FittedHead, fit};
use zygoma_head::{Head, HeadOptions};
use zygoma_picture::{Camera, Finish, Paint, RenderOptions, Rgb, Scene, Surface, View, color, grid, render};
use zygoma_rig::formats::{Limits, read_rig};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let (mut pictures, mut landmarks) = (None, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match &word[..] {
            "--pictures" => pictures = words.next(),
            "--landmarks" => {
                let text = std::fs::read_to_string(words.next().ok_or("--landmarks needs a file")?)?;
                landmarks = text.split_whitespace().map(str::parse).collect::<Result<Vec<usize>, _>>()?;
            }
            mesh => {
                if let Err(error) = check(Path::new(mesh), pictures.as_deref(), &landmarks) {
                    println!("{mesh}: {error}");
                }
            }
        }
    }
    Ok(())
}

fn check(path: &Path, pictures: Option<&str>, landmarks: &[usize]) -> Result<(), Failure> {
    let rig = read_rig(path, &Limits::default())?;
    let skin = rig.skin();
    let positions: Vec<DVec3> = skin.positions.iter().map(|p| p.as_dvec3()).collect();
    let triangles = skin.faces.triangles();
    let others: Vec<(Vec<DVec3>, Vec<[u32; 3]>)> = rig
        .meshes
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != rig.skin)
        .map(|(_, mesh)| (mesh.positions.iter().map(|p| p.as_dvec3()).collect(), mesh.faces.triangles()))
        .collect();
    let others: Vec<(&[DVec3], &[[u32; 3]])> = others.iter().map(|(p, t)| (&p[..], &t[..])).collect();
    let input = FitInput { others: &others, ..FitInput::new(&positions, &triangles) };
    let fitted = fit(&input)?;
    let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let r = &fitted.report;
    let mm = |d: zygoma_head::fit::Distances| {
        format!("{:.2} mean {:.2} p95 {:.2} worst", 1e3 * d.mean, 1e3 * d.p95, 1e3 * d.worst)
    };
    println!(
        "{name}: scale {:.3}, turned {:.2}",
        fitted.to_mesh.scale,
        fitted.to_mesh.rotation.angle_between(glam::DQuat::IDENTITY)
    );
    let turned: Vec<String> = zygoma_head::dials::DIALS
        .iter()
        .map(|d| (d.name, fitted.dials.get(d.name)))
        .filter(|(_, v)| v.abs() > 0.3)
        .map(|(n, v)| format!("{n} {v:.1}"))
        .collect();
    println!("  dials {}", turned.join(", "));
    println!("  registration {} mm; ears {}", mm(r.registration), mm(r.ears));
    println!("  by dials     {} mm", mm(r.by_dials));
    println!("  inverted {} carried, {:?} in the end", r.inverted_carried, r.inverted);
    println!("  bone outside skin {}, least cover {:.2} mm", r.penetrating, 1e3 * r.cover);
    println!("  seconds {:.2?}", r.seconds);
    if landmarks.len() == 68 && positions.len() > *landmarks.iter().max().unwrap_or(&0) {
        withheld(&fitted, landmarks, &positions);
    }
    if let Some(folder) = pictures {
        picture(&fitted, &positions, &triangles, &Path::new(folder).join(format!("{name}.png")))?;
    }
    Ok(())
}

/// Distances from the fitted head's landmarks to those of the mesh, for the head that dials alone make and in the end.
fn withheld(fitted: &FittedHead, landmarks: &[usize], positions: &[DVec3]) {
    let plain = Head::new(&HeadOptions::default());
    let warp = Warp::new(&fitted.dials);
    let by_dials = |v: usize| fitted.to_mesh.apply(warp.apply(1e3 * plain.skin.positions[v], 1.0) / 1e3);
    let vertex = |i: usize| plain.places.landmarks[i] as usize;
    let distance = |i: usize, p: DVec3| 1e3 * p.distance(positions[landmarks[i]]) / fitted.to_mesh.scale;
    let parts = [
        ("jaw", 0..17),
        ("brows", 17..27),
        ("bridge", 27..30),
        ("nose", 30..36),
        ("eyes", 36..48),
        ("mouth", 48..68),
        ("all", 0..68),
    ];
    for (name, range) in parts {
        let all: Vec<f64> = range.clone().map(|i| distance(i, fitted.skin[vertex(i)])).collect();
        let dials: Vec<f64> = range.map(|i| distance(i, by_dials(vertex(i)))).collect();
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let worst = all.iter().copied().fold(0.0, f64::max);
        println!(
            "  landmarks {name:6} {:.2} mm mean, {worst:.2} worst; {:.2} by dials",
            mean(&all),
            mean(&dials)
        );
    }
}

fn picture(
    fitted: &FittedHead,
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    path: &Path,
) -> Result<(), Failure> {
    // All in the head's own frame, so that every picture looks from the same side.
    let back = fitted.to_mesh.inverse();
    let single = |points: &[DVec3]| points.iter().map(|p| back.apply(*p).as_vec3()).collect::<Vec<Vec3>>();
    let mesh = single(positions);
    let skin = single(&fitted.skin);
    let cranium = single(&fitted.anatomy.cranium.surface.positions);
    let mandible = single(&fitted.anatomy.mandible.surface.positions);
    type Layer<'a> = (&'a [Vec3], &'a [[u32; 3]], Rgb, f32);
    let layer = |points: &'_ [Vec3], t: &'_ [[u32; 3]], color: Rgb, opacity: f32| {
        (points.to_vec(), t.to_vec(), color, opacity)
    };
    let (c, m) = (&fitted.anatomy.cranium.surface.triangles, &fitted.anatomy.mandible.surface.triangles);
    let bones = || vec![layer(&cranium, c, color::BONE, 1.0), layer(&mandible, m, color::BONE, 1.0)];
    let mut through = bones();
    through.push(layer(&skin, &fitted.triangles, color::SKIN, 0.35));
    let scenes = [
        (vec![layer(&mesh, triangles, color::SKIN, 1.0)], View::FRONT, "mesh"),
        (vec![layer(&skin, &fitted.triangles, color::SKIN, 1.0)], View::FRONT, "fitted"),
        (bones(), View::FRONT, "bones"),
        (vec![layer(&mesh, triangles, color::SKIN, 1.0)], View::THREE_QUARTER, "mesh"),
        (vec![layer(&skin, &fitted.triangles, color::SKIN, 1.0)], View::THREE_QUARTER, "fitted"),
        (through, View::THREE_QUARTER, "bones under skin"),
    ];
    let options = RenderOptions::sized(420, 420);
    let mut pictures = Vec::new();
    for (layers, view, name) in &scenes {
        let layers: Vec<Layer<'_>> =
            layers.iter().map(|(p, t, color, opacity)| (&p[..], &t[..], *color, *opacity)).collect();
        let scene = Scene::new(layers.iter().map(|(p, t, color, opacity)| {
            Surface::new(p, t).painted(Paint::Plain(*color), Finish::Matte).with_opacity(*opacity)
        }));
        pictures.push((
            render(&scene, &Camera::framing_points(*view, &skin, options.aspect()), &options)?,
            *name,
        ));
    }
    grid(&pictures, 3).save(path)?;
    Ok(())
}
