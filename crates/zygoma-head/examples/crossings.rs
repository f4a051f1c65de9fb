//! Looks for skin that cuts through itself or an eyeball on sampled heads, the first of them in every shape:
//! `cargo run --release -p zygoma-head --example crossings -- [heads] [heads with all shapes]`.

use rayon::prelude::*;
use zygoma_head::{Head, HeadOptions, Level, checks};

/// Shapes with their weights.
type Pose<'a> = Vec<(&'a str, f64)>;

fn main() {
    let number = |place: usize, default: u64| {
        std::env::args().nth(place).and_then(|word| word.parse().ok()).unwrap_or(default)
    };
    let (heads, posed) = (number(1, 500), number(2, 20));
    let found: Vec<Vec<String>> = (0..heads)
        .into_par_iter()
        .map(|seed| {
            let head = Head::new(&HeadOptions::sampled(seed, Level::High));
            let poses = if seed < posed { poses(&head) } else { vec![Vec::new()] };
            poses.iter().filter_map(|pose| fault(&head, seed, pose)).collect()
        })
        .collect();
    let faults = found.concat();
    for fault in &faults {
        println!("{fault}");
    }
    println!("{heads} heads, {posed} of them in every shape: {} poses with faults", faults.len());
}

/// Neutral, every shape (of a pair the left one), and lips sealed over an opening jaw.
fn poses(head: &Head) -> Vec<Pose<'_>> {
    let names = head.skin.shapes.iter().map(|(name, _)| name.as_str());
    let single = names.filter(|name| !name.ends_with("Right") && *name != "mouthClose");
    let sealed = [0.25, 0.5, 0.75, 1.0].map(|w| vec![("jawOpen", w), ("mouthClose", w)]);
    let mut poses: Vec<Pose> = vec![Vec::new()];
    poses.extend(single.map(|name| vec![(name, 1.0)]));
    poses.extend(sealed);
    poses
}

fn fault(head: &Head, seed: u64, pose: &Pose) -> Option<String> {
    let pairs = checks::crossings(head, pose).len();
    let deep = 1e3 * checks::eye_penetration(head, pose);
    (pairs > 0 || deep > 0.0)
        .then(|| format!("seed {seed} {pose:?}: {pairs} crossings, {deep:.2} mm into an eye"))
}
