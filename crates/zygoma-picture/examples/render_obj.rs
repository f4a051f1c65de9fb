//! Draws an OBJ file from several sides onto one sheet:
//! `cargo run -p zygoma-picture --example render_obj -- mesh.obj sheet.png [--size 480] [--wire] [--matte] [--zoom x,y,z,radius]`.
//!
//! Only positions and faces are read. Faces whose material names eyes, teeth or gums get their colours; see-through
//! layers (eyelashes, tear film, eye shadow) are left out.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use glam::Vec3;
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
    let drawn = parts.iter().filter(|part| !is_see_through(&part.material));
    let surfaces = drawn.map(|part| {
        let (color, finish) = paint(&part.material);
        let (color, finish) = if has("--matte") { (color::CLAY, Finish::Matte) } else { (color, finish) };
        let surface = Surface::new(&positions, &part.triangles).painted(Paint::Plain(color), finish);
        if has("--wire") { surface.with_wireframe(Wireframe::default()) } else { surface }
    });
    let scene = Scene::new(surfaces);
    let whole = scene.bounds().ok_or(format!("{mesh}: there is no triangle to draw"))?;
    let bounds = value("--zoom").map_or(Ok(whole), |zoom| region(zoom))?;
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
        let camera = Camera::framing(view, &bounds, options.aspect());
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
    ["EyeBlend", "EyeLash", "EyeOcclusion", "Lacrimal"].iter().any(|name| material.contains(name))
}

fn paint(material: &str) -> (color::Rgb, Finish) {
    let named = |name: &str| material.contains(name);
    if named("Sclera") {
        (color::EYE, Finish::Wet)
    } else if named("Iris") {
        ([0.32, 0.24, 0.17], Finish::Wet)
    } else if named("Teeth") {
        (color::TEETH, Finish::Wet)
    } else if named("Gums") {
        (color::GUMS, Finish::Wet)
    } else {
        (color::SKIN, Finish::Skin)
    }
}

/// "x,y,z,radius" as a box.
fn region(text: &str) -> Result<Bounds, String> {
    let numbers: Vec<f32> = text.split(',').filter_map(|word| word.trim().parse().ok()).collect();
    let [x, y, z, radius] = numbers[..] else {
        return Err(format!("--zoom {text} is not x,y,z,radius"));
    };
    let centre = Vec3::new(x, y, z);
    Ok(Bounds { low: centre - radius, high: centre + radius })
}
