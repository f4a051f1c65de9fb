//! Shows the fill of the built-in head's anatomy performing as tissue, and draws it: at rest, with the jaw open, smiling, shaken, and cut
//! through the middle: `cargo run --release -p zygoma-face --example fill -- FOLDER`.

#[path = "../tests/filled/mod.rs"]
mod filled;

use std::path::Path;
use std::time::Instant;

use filled::Filled;
use glam::{DQuat, DVec3, Vec3};
use zygoma_face::body::Body;
use zygoma_face::tissue::TissueBody;
use zygoma_geometry::cut::{Plane, clipped, section};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_picture::{
    Camera, ColorMap, Finish, Image, Paint, RenderOptions, Scene, Surface, View, grid, render,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let folder = std::env::args().nth(1).ok_or("name a folder for the pictures")?;
    std::fs::create_dir_all(&folder)?;
    let began = Instant::now();
    let filled = Filled::new(&["jawOpen", "mouthClose", "mouthSmileLeft", "mouthSmileRight"]);
    println!("{} tetrahedra, built in {:.1} s", filled.tissue.tet_count(), began.elapsed().as_secs_f64());
    let mut body = filled.body();
    let mut pictures = Vec::new();
    for (name, shapes) in [
        ("rest", &[][..]),
        ("jaw half open", &[("jawOpen", 0.5)]),
        ("jaw open", &[("jawOpen", 1.0)]),
        ("smile", &[("mouthSmileLeft", 1.0), ("mouthSmileRight", 1.0)]),
    ] {
        let weights = filled.weights(shapes);
        body.set_weights(&weights);
        body.settle();
        let began = Instant::now();
        let surface = body.advance(0.05).to_vec();
        let took = began.elapsed();
        let off = filled.off_the_rig(&surface, &weights);
        println!(
            "{name}: off the rig by p95 {:.3}, worst {:.3} mm; {:?}; inverted by the shapes {}; {:?} for 3 steps; {:?}",
            off[off.len() * 95 / 100],
            off[off.len() - 1],
            body.volume(),
            filled.tissue.plain_inverted(&weights).len(),
            took,
            body.lips()
        );
        pictures.push((drawn(&filled, &surface, 0.0)?, name.to_owned()));
        pictures.push((cut(&filled, &body, &surface)?, format!("{name}, cut")));
    }
    body.set_weights(&filled.weights(&[]));
    body.settle();
    let mut most = (0.0, Vec::new(), 0.0);
    for step in 0..36 {
        let angle = 0.4 * (f64::from(step) / 60.0 * 25.0).sin();
        body.set_head_pose(&RigidMotion {
            rotation: DQuat::from_rotation_y(angle),
            translation: DVec3::ZERO,
        });
        let surface = body.advance(1.0 / 60.0).to_vec();
        let off = filled.off_the_rig(&surface, &filled.weights(&[]));
        let worst = off[off.len() - 1];
        println!(
            "shaken {step}: {worst:.2} mm, {} inverted, {:?}",
            body.inverted().len(),
            body.stages().solve
        );
        if worst > most.0 {
            most = (worst, surface, angle);
        }
    }
    pictures.push((drawn(&filled, &most.1, most.2 as f32)?, format!("shaken: {:.1} mm", most.0)));
    grid(&pictures, 4).save(&Path::new(&folder).join("fill.png"))?;
    Ok(())
}

fn drawn(filled: &Filled, surface: &[Vec3], turned: f32) -> Outcome<Image> {
    let turn = glam::Quat::from_rotation_y(turned);
    let surface: Vec<Vec3> = surface.iter().map(|p| turn * *p).collect();
    let scene = Scene::new([Surface::new(&surface, &filled.face.triangles)]);
    shot(&scene, View { yaw: 25.0, pitch: 0.0 })
}

/// The skin's right half, with the fill in section, coloured by how its volume changed.
fn cut(filled: &Filled, body: &TissueBody, surface: &[Vec3]) -> Outcome<Image> {
    let plane = Plane { point: DVec3::new(0.002, 0.0, 0.0), normal: DVec3::X };
    let (positions, changes) = (body.tissue_positions(), body.volume_changes());
    let found = section(&positions, filled.tissue.tets(), &plane);
    let values: Vec<f32> = found.tets.iter().map(|tet| changes[*tet as usize]).collect();
    let inside: Vec<Vec3> = found.piece.positions.iter().map(|p| p.as_vec3()).collect();
    let skin: Vec<DVec3> = surface.iter().map(|p| p.as_dvec3()).collect();
    let half = clipped(&skin, &filled.face.triangles, &plane);
    let outside: Vec<Vec3> = half.positions.iter().map(|p| p.as_vec3()).collect();
    let mut corners = vec![0.0; inside.len()];
    for (triangle, value) in found.piece.triangles.iter().zip(&values) {
        triangle.iter().for_each(|v| corners[*v as usize] = *value);
    }
    let section = Surface::new(&inside, &found.piece.triangles)
        .with_field(corners, [-0.5, 0.5], ColorMap::Diverging)
        .with_wireframe(Default::default());
    let skin = Surface::new(&outside, &half.triangles).painted(Paint::Plain([0.8, 0.6, 0.5]), Finish::Matte);
    shot(&Scene::new([section, skin]), View { yaw: 90.0, pitch: 0.0 })
}

fn shot(scene: &Scene, view: View) -> Outcome<Image> {
    let options = RenderOptions::sized(480, 600);
    let bounds = scene.bounds().ok_or("there is nothing to draw")?;
    Ok(render(scene, &Camera::framing(view, &bounds, options.aspect()), &options)?)
}
