//! Fits and certifies the stiffness for a folder of OBJ meshes of one topology and of height 1: `neutral.obj`
//! and one file per expression.
//!
//! `cargo run --release -p zygoma-face --example fit_speed -- FOLDER [SECONDS|-] [TABLE.csv]`

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use glam::DVec3;
use zygoma_face::interactive::fit::{Continue, Expression, FitParams, certify, reconstruct};
use zygoma_physics::shell::Shell;

type Mesh = (Vec<DVec3>, Vec<[u32; 3]>);

fn read(path: &Path) -> std::io::Result<Mesh> {
    let (mut positions, mut triangles) = (Vec::new(), Vec::new());
    for line in std::fs::read_to_string(path)?.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["v", xyz @ ..] => {
                let mut xyz = xyz.iter().map(|word| word.parse().unwrap_or(f64::NAN));
                positions.push(DVec3::from_array([0; 3].map(|_| xyz.next().unwrap_or(f64::NAN))));
            }
            ["f", corners @ ..] if corners.len() == 3 => {
                let index =
                    |word: &str| word.split('/').next().and_then(|n| n.parse::<u32>().ok()).unwrap_or(0);
                triangles.push([0, 1, 2].map(|k| index(corners[k]).wrapping_sub(1)));
            }
            _ => {}
        }
    }
    Ok((positions, triangles))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder with neutral.obj and expressions")?;
    let folder = Path::new(&folder);
    let (rest, triangles) = read(&folder.join("neutral.obj"))?;
    let mut targets = Vec::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|e| e.path())).collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if path.extension().is_some_and(|e| e == "obj") && name != "neutral" {
            targets.push(Expression { name, positions: read(&path)?.0 });
        }
    }
    let shell = Shell::new(rest, triangles)?;
    let params = FitParams { seconds: arguments.next().and_then(|s| s.parse().ok()), ..FitParams::default() };
    let fit = reconstruct(&shell, &targets, &params, &mut |p| {
        println!(
            "{:4} {:7.2} s  loss {:.6}  worst {:.4}  step {:.4}",
            p.iteration, p.seconds, p.loss, p.worst, p.step
        );
        Continue::Yes
    })?;
    println!(
        "{:?}; {} vertices, {} expressions, {} elements",
        fit.end,
        shell.vertex_count(),
        targets.len(),
        fit.elements
    );
    let start = Instant::now();
    let certificate = certify(&shell, &fit.stiffness, &targets, &params);
    println!(
        "certified: {} worst {:.4} ({:.2} s)",
        certificate.holds(),
        certificate.worst(),
        start.elapsed().as_secs_f64()
    );
    for failure in certificate.failures() {
        println!("  {} {:?} at vertex {}", failure.name, failure.worst, failure.vertex);
    }
    for (name, values) in [("strain", &fit.stiffness.strain), ("bending", &fit.stiffness.bending)] {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |q: f64| sorted[(q * (sorted.len() - 1) as f64) as usize];
        println!(
            "{name}: min {:.4} 5% {:.4} 25% {:.4} 50% {:.3} 75% {:.3} max {:.3}",
            at(0.0),
            at(0.05),
            at(0.25),
            at(0.5),
            at(0.75),
            at(1.0)
        );
    }
    if let Some(path) = arguments.next() {
        let mut table = String::from("x,y,z,moved,strain,bending\n");
        for (v, p) in shell.rest.iter().enumerate() {
            let moved = targets.iter().map(|t| t.positions[v].distance(*p)).fold(0.0, f64::max);
            let (strain, bending) = (fit.stiffness.strain[v], fit.stiffness.bending[v]);
            writeln!(table, "{},{},{},{moved},{strain},{bending}", p.x, p.y, p.z)?;
        }
        std::fs::write(path, table)?;
    }
    Ok(())
}
