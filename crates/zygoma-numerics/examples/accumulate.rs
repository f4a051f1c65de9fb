//! Times rig evaluation: 8 active shapes of a 57-shape rig with 11,248 vertices.
//! `cargo run --release -p zygoma-numerics --example accumulate`

use std::hint::black_box;
use std::time::Instant;

use zygoma_numerics::random::Keyed;
use zygoma_numerics::simd::{Runs, accumulate_runs};

const VERTICES: usize = 11_248;
const SHAPES: usize = 57;
const ACTIVE: usize = 8;
const REPEATS: usize = 2_000;

fn main() {
    // Real shapes move about an eighth of the face, in runs of a few vertices; a dense rig is the worst case.
    for (name, moved, run) in
        [("local shapes", 0.125, 6), ("half the face", 0.5, 12), ("dense shapes", 1.0, 1)]
    {
        let shapes: Vec<Runs> = (0..SHAPES).map(|shape| sample(shape as u64, moved, run)).collect();
        let mut output = vec![0.0_f32; 3 * VERTICES];
        let mut best = f64::INFINITY;
        let mut total = 0.0;
        for frame in 0..REPEATS {
            let active: Vec<(f32, &Runs)> =
                (0..ACTIVE).map(|i| (0.1 + 0.1 * i as f32, &shapes[(frame + 7 * i) % SHAPES])).collect();
            let start = Instant::now();
            if let Err(problem) = accumulate_runs(black_box(&mut output), black_box(&active)) {
                eprintln!("{problem}");
                return;
            }
            let elapsed = start.elapsed().as_secs_f64();
            best = best.min(elapsed);
            total += elapsed;
        }
        let (runs, values) = (shapes[0].runs().len(), shapes[0].values().len());
        let mean = total / REPEATS as f64;
        println!(
            "{name}: {runs} runs and {values} values a shape: best {:.4} ms, mean {:.4} ms a frame",
            1e3 * best,
            1e3 * mean
        );
    }
}

/// A shape that moves a share of the vertices, in runs of `run` vertices.
fn sample(shape: u64, moved: f64, run: usize) -> Runs {
    let stream = Keyed::new(3, shape);
    let mut dense = vec![0.0_f32; 3 * VERTICES];
    for (place, value) in dense.iter_mut().enumerate() {
        if stream.uniform((place / (3 * run)) as u64) < moved {
            *value = stream.normal(1_000_000 + place as u64) as f32;
        }
    }
    Runs::from_dense(&dense, 8)
}
