//! Measures tissue on a rig: how closely it follows the plain rig, how much of its volume it keeps, and how far a shaken head moves the
//! cheeks: `cargo run --release -p zygoma-face --example tissue -- [RIG] [--triangles 4000] [--no-bones] [--fit]`; without a rig the
//! built-in head. With `--fit` stiffness is fitted to the shapes, with `--forces` forces drive the tissue instead of shapes;
//! `--attachment`, `--tone`, `--poisson`, `--young`, `--contact` and `--thickness` take other values of those parameters.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use glam::{DQuat, DVec3, Vec3};
use zygoma_face::body::Body;
use zygoma_face::model::Bones;
use zygoma_face::model::Continue;
use zygoma_face::model::Landmarks;
use zygoma_face::shell::{BuildParams, build};
use zygoma_face::tissue::{Actuation, Tissue, TissueBody, TissueParams};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_head::anatomy::Anatomy;
use zygoma_head::{Head, HeadOptions};
use zygoma_rig::arkit;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::formats::{Limits, read_rig};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const POSES: [(&str, &[(&str, f32)]); 9] = [
    ("jaw half open", &[("jawOpen", 0.5)]),
    ("jaw open", &[("jawOpen", 1.0)]),
    ("jaw left", &[("jawLeft", 1.0)]),
    ("smile", &[("mouthSmileLeft", 1.0), ("mouthSmileRight", 1.0)]),
    ("pucker", &[("mouthPucker", 1.0)]),
    ("funnel", &[("mouthFunnel", 1.0), ("jawOpen", 0.3)]),
    ("brows", &[("browInnerUp", 1.0)]),
    ("sneer", &[("noseSneerLeft", 1.0), ("noseSneerRight", 1.0)]),
    ("puff", &[("cheekPuff", 1.0)]),
];

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| arguments.iter().position(|a| a == flag).and_then(|i| arguments.get(i + 1));
    let with_bones = !arguments.iter().any(|word| word == "--no-bones");
    let rig = match arguments.first().filter(|word| !word.starts_with("--")) {
        Some(path) => read_rig(Path::new(path), &Limits::default())?,
        None => {
            let head = Head::new(&HeadOptions::default());
            let mut rig = head.rig_with_texture(None);
            rig.meshes.extend(Anatomy::new(&head).rig_meshes(&head));
            rig
        }
    };
    let mesh = rig.skin();
    let triangles = value("--triangles").map(|v| v.parse()).transpose()?.unwrap_or(4000);
    let params =
        BuildParams { triangles, uniform_stiffness: Some(1.0), corrected: false, ..BuildParams::default() };
    let mut face = build(&rig.name, mesh, &params, &mut |_| Continue::Yes)?;
    face.inside.bones = Bones::of_rig(&rig).filter(|_| with_bones);
    let began = Instant::now();
    let has = |flag: &str| arguments.iter().any(|word| word == flag);
    let mut params = TissueParams {
        actuation: if has("--forces") { Actuation::Forces } else { Actuation::Shapes },
        fit_stiffness: has("--fit"),
        attachment: value("--attachment").map(|v| v.parse()).transpose()?,
        poisson: value("--poisson").map(|v| v.parse()).transpose()?,
        ..TissueParams::default()
    };
    for (flag, field) in [
        ("--tone", &mut params.tone),
        ("--young", &mut params.young),
        ("--contact", &mut params.contact),
        ("--thickness", &mut params.thickness),
    ] {
        *field = value(flag).map(|v| v.parse()).transpose()?.unwrap_or(*field);
    }
    let tissue = Arc::new(Tissue::new(&face, &params)?);
    let places = Landmarks::new(&face);
    println!(
        "{}: {}, {} tetrahedra, {} bare triangles, {:.1} s",
        rig.name,
        if face.inside.bones.is_some() { "with bones" } else { "without bones" },
        tissue.tet_count(),
        tissue.bare_count(),
        began.elapsed().as_secs_f64()
    );
    let weight = |shapes: &[(&str, f32)]| -> Vec<f32> {
        let of = |name: &str| {
            let name = arkit::recognise(name).map(|found| found.shape);
            shapes.iter().find(|(wanted, _)| name == Some(*wanted)).map_or(0.0, |(_, weight)| *weight)
        };
        mesh.shapes.iter().map(|shape| of(&shape.name)).collect()
    };
    let evaluator = Evaluator::new(mesh);
    for (name, shapes) in POSES {
        let weights = weight(shapes);
        let mut plain = vec![Vec3::ZERO; mesh.positions.len()];
        evaluator.evaluate(&weights, &mut plain);
        let mut performing = TissueBody::new(tissue.clone())?;
        performing.set_weights(&weights);
        performing.settle();
        let surface = performing.advance(0.04).to_vec();
        let off: Vec<f32> =
            face.skin.iter().map(|v| 1e3 * surface[*v as usize].distance(plain[*v as usize])).collect();
        let worst = (0..off.len()).max_by(|a, b| off[*a].total_cmp(&off[*b])).unwrap_or(0);
        let at = mesh.positions[face.skin[worst] as usize];
        let near = places.nearest(at).map_or("nothing", |place| &place.name);
        let (volume, rigs) = (performing.volume(), tissue.plain_volume(&weights));
        println!(
            "{name:14} off mean {:.3} worst {:.2} mm near {near} {:.3}; volume {:.4} mean {:.3} p95 {:.3} inverted {} (rig {:.4} {:.3} {:.3} {}); {} lip contacts",
            off.iter().sum::<f32>() / off.len() as f32,
            off[worst],
            at,
            volume.total,
            volume.mean,
            volume.p95,
            volume.inverted,
            rigs.total,
            rigs.mean,
            rigs.p95,
            rigs.inverted,
            performing.lips().contacts
        );
    }
    if let Some(misfit) = tissue.stiffness_misfit() {
        println!("stiffness from the shapes: {misfit:.3} of the misfit is left; strain, volume, attachment:");
        for place in places.iter() {
            let vertex = face.embedding.vertices[place.vertex as usize][0] as usize;
            let [a, b, c] = tissue.stiffness(vertex);
            println!("  {:16} {a:.2} {b:.2} {c:.2}", place.name);
        }
    }
    let mut performing = TissueBody::new(tissue.clone())?;
    performing.settle();
    let rest = performing.advance(0.02).to_vec();
    let near = |v: &usize| {
        ["cheek-left", "cheek-right"]
            .iter()
            .filter_map(|name| places.find(name))
            .any(|place| rest[*v].distance(rest[place.vertex as usize]) < place.radius)
    };
    let cheeks: Vec<usize> = face.skin.iter().map(|v| *v as usize).filter(near).collect();
    let mouth = places.find("mouth-left").map_or(Vec3::ZERO, |place| rest[place.vertex as usize]);
    // The axis of the built-in head lies half its height behind its lips.
    let axis = DVec3::new(0.0, 0.0, f64::from(mouth.z) - 0.5 * face.height);
    let (mut most, mut anywhere, mut left) = (0.0_f32, 0.0_f32, 0.0_f32);
    for frame in 0..90 {
        let angle =
            if frame < 30 { 0.6 * (frame as f64 * 0.02 * 6.0 * std::f64::consts::PI).sin() } else { 0.0 };
        let rotation = DQuat::from_rotation_y(angle);
        performing.set_head_pose(&RigidMotion { rotation, translation: axis - rotation * axis });
        let now = performing.advance(0.02);
        left = cheeks.iter().map(|v| 1e3 * now[*v].distance(rest[*v])).fold(0.0, f32::max);
        most = most.max(left);
        anywhere = anywhere.max(now.iter().zip(&rest).map(|(a, b)| 1e3 * a.distance(*b)).fold(0.0, f32::max));
    }
    println!("shaken: cheeks by {most:.2} mm (left {left:.3}), anywhere {anywhere:.2} mm");
    Ok(())
}
