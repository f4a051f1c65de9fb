//! Draws an OBJ file from several sides onto one sheet:
//! `cargo run -p zygoma-picture --example render_obj -- mesh.obj sheet.png [--size 480] [--wire] [--matte] [--zoom x,y,z,radius]`.
//!
//! Only positions and faces are read. Faces whose material names eyes, teeth or gums get their colours; see-through
//! layers (eyelashes, tear film, eye shadow) are left out, and irises are painted onto the eyes.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use glam::Vec3;
use zygoma_geometry::normals::vertex_normals;
use zygoma_picture::{
    Bounds, Camera, Finish, Paint, RenderOptions, Scene, Surface, View, Wireframe, color, grid, render,
};

/// Faces of one material.
struct Part {
    material: String,
    triangles: Vec<[u32; 3]>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("render_obj: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mesh, sheet, flags @ ..] = arguments.as_slice() else {
        return Err("give an OBJ file and the PNG to write".into());
    };
    let value = |flag: &str| flags.iter().position(|f| f == flag).and_then(|i| flags.get(i + 1));
    let has = |flag: &str| flags.iter().any(|f| f == flag);
    let size =
        value("--size").map_or(Ok(480), |s| s.parse().map_err(|_| format!("--size {s} is no number")))?;
    let text = std::fs::read_to_string(mesh).map_err(|error| format!("{mesh}: reading failed: {error}"))?;
    let (positions, parts) = parse(&text);
    let exists = |triangle: &[u32; 3]| triangle.iter().all(|v| (*v as usize) < positions.len());
    // One set of normals for all parts, or a seam would show where two of them meet.
    let all: Vec<[u32; 3]> = parts.iter().flat_map(|part| &part.triangles).copied().filter(exists).collect();
    let normals = vertex_normals(&positions, &all);
    let drawn = parts.iter().filter(|part| !is_see_through(&part.material));
    let surfaces = drawn.map(|part| {
        let (paint, finish) = if has("--matte") {
            (Paint::Plain(color::CLAY), Finish::Matte)
        } else {
            paint(&part.material, &positions, &part.triangles)
        };
        let surface = Surface::new(&positions, &part.triangles).painted(paint, finish);
        let surface = Surface { normals: Some(&normals), ..surface };
        if has("--wire") { surface.with_wireframe(Wireframe::default()) } else { surface }
    });
    let scene = Scene::new(surfaces);
    if scene.bounds().is_none() {
        return Err(format!("{mesh}: there is no triangle to draw"));
    }
    let framed = value("--zoom").map_or_else(|| Ok(scene.points()), |zoom| region(zoom))?;
    let options = RenderOptions { width: size, height: size, ..RenderOptions::default() };
    let views = [
        ("front", View::FRONT),
        ("three-quarter", View::THREE_QUARTER),
        ("side", View::SIDE),
        ("three-quarter right", View::THREE_QUARTER_RIGHT),
        ("below", View::BELOW),
        ("back", View::BACK),
    ];
    let start = Instant::now();
    let mut pictures = Vec::new();
    for (name, view) in views {
        let camera = Camera::framing_points(view, &framed, options.aspect());
        pictures.push((render(&scene, &camera, &options).map_err(|error| error.to_string())?, name));
    }
    let each = start.elapsed().as_secs_f64() / views.len() as f64;
    let triangles: usize = scene.surfaces.iter().map(|surface| surface.triangles.len()).sum();
    println!(
        "{} vertices, {triangles} triangles, {size} × {size} pixels: {each:.3} s a picture",
        positions.len()
    );
    grid(&pictures, 3).save(Path::new(sheet)).map_err(|error| error.to_string())
}

/// Positions and triangles by material; lines that are not understood are passed over.
fn parse(text: &str) -> (Vec<Vec3>, Vec<Part>) {
    let mut positions = Vec::new();
    let mut parts = vec![Part { material: String::new(), triangles: Vec::new() }];
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let numbers: Vec<f32> = words.take(3).map(|word| word.parse().unwrap_or(f32::NAN)).collect();
                positions.push(if let [x, y, z] = numbers[..] { Vec3::new(x, y, z) } else { Vec3::NAN });
            }
            Some("usemtl") => {
                parts.push(Part { material: words.next().unwrap_or("").to_owned(), triangles: Vec::new() });
            }
            Some("f") => {
                let corner = |word: &str| -> Option<u32> {
                    let index: i64 = word.split('/').next()?.parse().ok()?;
                    let index = if index < 0 { positions.len() as i64 + index } else { index - 1 };
                    u32::try_from(index).ok()
                };
                let corners: Vec<u32> = words.filter_map(corner).collect();
                let fan = (2..corners.len()).map(|i| [corners[0], corners[i - 1], corners[i]]);
                if let Some(part) = parts.last_mut() {
                    part.triangles.extend(fan);
                }
            }
            _ => {}
        }
    }
    (positions, parts)
}

fn is_see_through(material: &str) -> bool {
    ["EyeBlend", "EyeLash", "EyeOcclusion", "Iris", "Lacrimal"].iter().any(|name| material.contains(name))
}

fn paint<'a>(material: &str, positions: &[Vec3], triangles: &[[u32; 3]]) -> (Paint<'a>, Finish) {
    let named = |name: &str| material.contains(name);
    if named("Sclera") {
        (eye(positions, triangles), Finish::Wet)
    } else if named("Teeth") {
        (Paint::Plain(color::TEETH), Finish::Wet)
    } else if named("Gums") {
        (Paint::Plain(color::GUMS), Finish::Wet)
    } else {
        (Paint::Plain(color::SKIN), Finish::Skin)
    }
}

/// An eyeball that looks ahead: iris and pupil are painted by the angle at its centre.
fn eye<'a>(positions: &[Vec3], triangles: &[[u32; 3]]) -> Paint<'a> {
    let ball =
        Bounds::of(triangles.as_flattened().iter().filter_map(|v| positions.get(*v as usize).copied()));
    let centre = ball.map_or(Vec3::ZERO, |ball| ball.centre());
    let color = |position: &Vec3| {
        let sideways = (*position - centre).normalize_or_zero().truncate().length();
        match sideways {
            s if position.z < centre.z || s > 0.47 => color::EYE,
            s if s > 0.19 => [0.36, 0.27, 0.19],
            _ => [0.05, 0.04, 0.04],
        }
    };
    Paint::PerVertex(positions.iter().map(color).collect())
}

/// "x,y,z,radius" as the corners of a box.
fn region(text: &str) -> Result<Vec<Vec3>, String> {
    let numbers: Vec<f32> = text.split(',').filter_map(|word| word.trim().parse().ok()).collect();
    let [x, y, z, radius] = numbers[..] else {
        return Err(format!("--zoom {text} is not x,y,z,radius"));
    };
    let centre = Vec3::new(x, y, z);
    Ok(Bounds { low: centre - radius, high: centre + radius }.corners().to_vec())
}
