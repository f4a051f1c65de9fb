//! Times frames of flesh with lips that press and stick, stage by stage, as `zygoma bench tissue` does, but quick to build:
//! `cargo run --release -p zygoma-face --example tissue_frame -- [triangles] [frames]`.

use std::sync::Arc;
use std::time::Instant;

use zygoma_face::interactive::fit::Continue;
use zygoma_face::interactive::{BuildParams, build};
use zygoma_face::perform::{PerformParams, PerformingFace, Tissue};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::jaw::jaw_driven_shapes;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let triangles = words.next().and_then(|word| word.parse().ok()).unwrap_or(14_000);
    let frames = words.next().and_then(|word| word.parse().ok()).unwrap_or(60);
    let level = if triangles > 14_000 { Level::High } else { Level::Middle };
    let rig = Head::new(&HeadOptions { level, ..HeadOptions::default() }).rig_with_texture(None);
    let mesh = rig.skin();
    let build_params =
        BuildParams { triangles, uniform_stiffness: Some(1.0), corrected: false, ..BuildParams::default() };
    let began = Instant::now();
    let face = build(&rig.name, mesh, &build_params, &mut |_| Continue::Yes)?;
    println!("face {:.1} s", began.elapsed().as_secs_f64());
    let params = PerformParams { stickiness: 2e6, ..PerformParams::default() };
    let tissue = Arc::new(Tissue::new(&face, &jaw_driven_shapes(mesh), &params)?);
    println!("tissue {:.1} s", began.elapsed().as_secs_f64());
    let mut performing = PerformingFace::new(tissue.clone())?;
    println!("performing {:.1} s", began.elapsed().as_secs_f64());
    let mut weights = vec![0.0; mesh.shapes.len()];
    let find = |name: &str| mesh.shapes.iter().position(|shape| shape.name == name).unwrap_or(0);
    let (close, smile) = (find("mouthClose"), find("mouthSmileLeft"));
    performing.advance(0.0);
    let mut times = Vec::new();
    for frame in 0..20 + frames {
        weights[close] = 0.15 * (frame as f32 / 20.0).min(1.0);
        weights[smile] = 0.2 + 0.2 * (0.3 * frame as f32).sin();
        performing.set_weights(&weights);
        let began = Instant::now();
        performing.advance(params.step_time);
        if frame >= 20 {
            times.push(1e3 * began.elapsed().as_secs_f64());
        }
    }
    println!("{:?}", performing.stages());
    times.sort_by(f64::total_cmp);
    println!(
        "frame {:.2} ms (p10 {:.2}, p90 {:.2}); {:?}",
        times[times.len() / 2],
        times[times.len() / 10],
        times[times.len() * 9 / 10],
        performing.lips()
    );
    Ok(())
}
