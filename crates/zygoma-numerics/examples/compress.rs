//! Times the compression of a long take: 4,000 frames of 11,248 vertices.
//! `cargo run --release -p zygoma-numerics --example compress -- [frames] [vertices]`

use std::time::Instant;

use zygoma_numerics::low_rank::{CompressOptions, compress};
use zygoma_numerics::random::Keyed;
use zygoma_numerics::simd::axpy;

const SOURCES: usize = 300;

fn main() -> Result<(), std::num::ParseIntError> {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let frames = numbers.first().copied().unwrap_or(4_000);
    let columns = 3 * numbers.get(1).copied().unwrap_or(11_248);
    // Three hundred smooth bumps of falling strength, in millimetres: each frame is a mix of all of them.
    let bump = |source: usize, column: usize| {
        let stream = Keyed::new(1, source as u64);
        let (middle, width) = (stream.uniform(0), 0.01 + 0.05 * stream.uniform(1));
        let off = (column / 3) as f64 * 3.0 / columns as f64 - middle;
        let strength = 12.0 * 0.97_f64.powi(source as i32) * stream.normal(2 + (column % 3) as u64);
        (strength * (-(off / width).powi(2)).exp()) as f32
    };
    let sources: Vec<Vec<f32>> =
        (0..SOURCES).map(|source| (0..columns).map(|column| bump(source, column)).collect()).collect();
    let mut take = vec![0.0_f32; frames * columns];
    for (row, line) in take.chunks_exact_mut(columns).enumerate() {
        for (i, source) in sources.iter().enumerate() {
            let phase = Keyed::new(2, i as u64);
            let weight = (row as f64 * (0.02 + 0.2 * phase.uniform(0)) + 6.3 * phase.uniform(1)).sin();
            if weight > 0.4 {
                axpy(line, weight as f32, source);
            }
        }
    }
    let mut reads = 0_usize;
    let mut read = |row: usize, line: &mut [f32]| {
        reads += 1;
        line.copy_from_slice(&take[row * columns..][..columns]);
    };
    for max_error in [1.0, 0.1, 0.02] {
        let options = CompressOptions { max_error, max_rank: None, seed: 1 };
        let start = Instant::now();
        match compress(frames, columns, &mut read, &options) {
            Ok(product) => println!(
                "{frames} × {columns}, bound {max_error} mm: rank {}, largest {:.4} mm, rms {:.5} mm, {:.1} s",
                product.rank(),
                product.max_error,
                product.rms_error,
                start.elapsed().as_secs_f64(),
            ),
            Err(problem) => eprintln!("{problem}"),
        }
    }
    println!("{} passes over the frames in all", reads / frames.max(1));
    Ok(())
}
