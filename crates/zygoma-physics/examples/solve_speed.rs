//! Times the factored solve of one frame (five steps) on the triangle meshes of OBJ files whose height is 1.
//!
//! `cargo run --release -p zygoma-physics --example solve_speed -- MESH.obj...`

use std::time::Instant;

use glam::DVec3;
use zygoma_numerics::{PackedAnalysis, Row, nested_dissection};
use zygoma_physics::shell::{Shell, ShellParams, Stiffness, step_matrix};

type Mesh = (Vec<DVec3>, Vec<[u32; 3]>);

fn read(path: &str) -> std::io::Result<Mesh> {
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

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let (positions, triangles) = read(&path)?;
        let shell = Shell::new(positions, triangles)?;
        let stiffness = Stiffness::uniform(shell.vertex_count(), 10.0, 10.0);
        let natural = step_matrix(&shell, &stiffness, &ShellParams::default());
        let start = Instant::now();
        let matrix = natural.permuted(&nested_dissection(&natural.neighbours()));
        let ordered = start.elapsed();
        let factor = PackedAnalysis::new(&matrix).factor(&matrix)?;
        let built = start.elapsed();
        let rhs: Vec<Row> =
            (0..matrix.size()).map(|i| [(i as f32).sin(), (i as f32).cos(), 0.5, 0.0]).collect();
        let mut x = rhs.clone();
        let mut time = |solve: &dyn Fn(&mut [Row])| {
            median(
                (0..400)
                    .map(|_| {
                        let start = Instant::now();
                        for _ in 0..5 {
                            x.copy_from_slice(&rhs);
                            solve(&mut x);
                        }
                        1e3 * start.elapsed().as_secs_f64()
                    })
                    .collect(),
            )
        };
        let fast = time(&|x| factor.solve_in_place(x));
        let plain = time(&|x| factor.solve_in_place_plain(x));
        println!(
            "{path}: {} vertices, {} triangles, {} panels, {} KiB, order {:.0} ms, with factor {:.0} ms; 5 solves {fast:.4} ms, plain {plain:.4} ms",
            shell.vertex_count(),
            shell.triangles.len(),
            factor.panel_count(),
            factor.bytes() / 1024,
            1e3 * ordered.as_secs_f64(),
            1e3 * built.as_secs_f64(),
        );
    }
    Ok(())
}
