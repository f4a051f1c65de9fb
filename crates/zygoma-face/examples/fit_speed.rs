//! Builds a rig and tells how its fit went.
//!
//! `cargo run --release -p zygoma-face --example fit_speed -- RIG TRIANGLES [SECONDS]`

use std::path::Path;

use zygoma_face::interactive::fit::Continue;
use zygoma_face::interactive::{BuildInput, BuildParams, BuildProgress, build_with_report};
use zygoma_rig::formats::{Limits, read_rig};

/// Processor seconds of this program so far, where the system tells them.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = |field: usize| stat.split_whitespace().nth(field).and_then(|t| t.parse::<f64>().ok());
    (ticks(13).unwrap_or(0.0) + ticks(14).unwrap_or(0.0)) / 100.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a rig")?;
    let triangles = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let rig = read_rig(Path::new(&path), &Limits::default())?;
    let mut params = BuildParams { triangles, ..BuildParams::default() };
    params.fit.seconds = arguments.next().and_then(|s| s.parse().ok());
    println!("read {:.1} s", processor_seconds());
    let input = BuildInput { name: &rig.name, mesh: rig.skin(), poses: &[] };
    let (face, report) = build_with_report(&input, &params, &mut |now| {
        match now {
            BuildProgress::Fitting(p) => println!(
                "{:4} {:7.2} s ({:7.2} cpu)  loss {:.6}  worst {:.4}  step {:.4}",
                p.iteration,
                p.seconds,
                processor_seconds(),
                p.loss,
                p.worst,
                p.step
            ),
            BuildProgress::Certifying if std::env::var("NOCERT").is_ok() => std::process::exit(0),
            other => println!("{other:?} {:.2} cpu", processor_seconds()),
        }
        Continue::Yes
    })?;
    let _ = &face;
    println!("{:?} total cpu {:.2}", report.phases, processor_seconds());
    for fit in &report.fits {
        println!(
            "{} triangles, {} expressions, {} iterations: {:?}",
            fit.triangles,
            fit.expressions,
            fit.history.len(),
            fit.end
        );
    }
    println!("{:?}", face.certified);
    for shape in report.shapes.iter().chain(&report.combinations) {
        if shape.worst.is_none_or(|worst| worst > 1.0) {
            println!("  {} {:?} at vertex {}", shape.name, shape.worst, shape.vertex);
        }
    }
    for (name, values) in [("strain", &face.stiffness.strain), ("bending", &face.stiffness.bending)] {
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
    Ok(())
}
