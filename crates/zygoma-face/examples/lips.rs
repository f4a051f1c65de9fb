//! Closes, presses, puckers and rolls the lips of a rig of simulated tissue and prints which of their triangles cross, beside the plain
//! rig:
//! `cargo run --release -p zygoma-face --example lips -- [RIG] [--triangles 4000] [--only NAME]`; without a rig the built-in head.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use glam::Vec3;
use zygoma_face::model::Continue;
use zygoma_face::shell::{BuildParams, build};
use zygoma_face::tissue::{Tissue, TissueBody, TissueParams};
use zygoma_head::{Head, HeadOptions};
use zygoma_rig::arkit;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::formats::{Limits, read_rig};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const CASES: [(&str, &[(&str, f32)]); 10] = [
    ("close 0.25", &[("jawOpen", 0.25), ("mouthClose", 0.25)]),
    ("close 0.5", &[("jawOpen", 0.5), ("mouthClose", 0.5)]),
    ("close 0.75", &[("jawOpen", 0.75), ("mouthClose", 0.75)]),
    ("close 1", &[("jawOpen", 1.0), ("mouthClose", 1.0)]),
    ("press", &[("mouthPressLeft", 1.0), ("mouthPressRight", 1.0)]),
    ("pucker", &[("mouthPucker", 1.0)]),
    ("roll lower", &[("mouthRollLower", 1.0)]),
    ("shrug lower", &[("mouthShrugLower", 1.0)]),
    ("close too far", &[("jawOpen", 0.3), ("mouthClose", 0.45)]),
    ("shut on a closed jaw", &[("mouthClose", 0.15)]),
];

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| arguments.iter().position(|a| a == flag).and_then(|i| arguments.get(i + 1));
    let rig = match arguments.first().filter(|word| !word.starts_with("--")) {
        Some(path) => read_rig(Path::new(path), &Limits::default())?,
        None => Head::new(&HeadOptions::default()).rig(),
    };
    let mesh = rig.skin();
    let triangles = value("--triangles").map(|v| v.parse()).transpose()?.unwrap_or(4000);
    let params =
        BuildParams { triangles, uniform_stiffness: Some(1.0), corrected: false, ..BuildParams::default() };
    let began = Instant::now();
    let face = build(&rig.name, mesh, &params, &mut |_| Continue::Yes)?;
    let tissue = Arc::new(Tissue::new(&face, &TissueParams::default())?);
    let rest = tissue.lip_crossings(&mesh.positions);
    println!(
        "{}: {} tetrahedra, {} bare triangles, lips of {:?} vertices, built in {:.1} s; {rest} crossings at rest",
        rig.name,
        tissue.tet_count(),
        tissue.bare_count(),
        tissue.lip_counts(),
        began.elapsed().as_secs_f64()
    );
    let find = |wanted: &str| {
        let is = |shape: &zygoma_rig::Shape| {
            arkit::recognise(&shape.name).is_some_and(|found| found.shape == wanted)
        };
        mesh.shapes.iter().position(is)
    };
    for (name, shapes) in CASES.iter().filter(|case| value("--only").is_none_or(|only| only == case.0)) {
        let mut weights = vec![0.0; mesh.shapes.len()];
        for (shape, weight) in *shapes {
            match find(shape) {
                Some(index) => weights[index] = *weight,
                None => println!("{name}: no {shape}"),
            }
        }
        let mut face = TissueBody::new(tissue.clone())?;
        face.settle();
        let (mut during, mut projected) = (0, 0.0_f32);
        let began = Instant::now();
        for frame in 1..=40 {
            let fraction = (frame as f32 / 20.0).min(1.0);
            face.set_weights(&weights.iter().map(|w| fraction * w).collect::<Vec<_>>());
            let surface = face.advance(1.0 / 60.0).to_vec();
            if frame % 5 == 0 {
                during = during.max(tissue.lip_crossings(&surface));
            }
            projected = projected.max(face.lips().projected);
        }
        let ms = began.elapsed().as_secs_f64() * 1e3 / 40.0;
        let mut plain = vec![Vec3::ZERO; mesh.positions.len()];
        Evaluator::new(mesh).evaluate(&weights, &mut plain);
        let surface = face.advance(1.0 / 60.0).to_vec();
        println!(
            "{name}: crossings {} → {}, at most {during} on the way; {} contacts, projected by at most {:.3} mm, left {:.3} mm; {:?}; {ms:.0} ms",
            tissue.lip_crossings(&plain),
            tissue.lip_crossings(&surface),
            face.lips().contacts,
            1e3 * projected,
            1e3 * face.lips().penetration,
            face.volume(),
        );
    }
    Ok(())
}
