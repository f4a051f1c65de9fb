//! Counts crossing triangles of every shape on sampled heads: `crossings [seeds] [level]`.

use zygoma_head::{Head, HeadOptions, Level, checks};

fn main() {
    let seeds: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let level = match std::env::args().nth(2).as_deref() {
        Some("low") => Level::Low,
        Some("middle") => Level::Middle,
        _ => Level::High,
    };
    for seed in 0..seeds {
        let head = Head::new(&HeadOptions::sampled(seed, level));
        let names: Vec<String> = head.skin.shapes.iter().map(|(name, _)| name.clone()).collect();
        let mut sets: Vec<Vec<(&str, f64)>> = vec![vec![]];
        sets.extend(names.iter().filter(|n| !n.ends_with("Right") && *n != "mouthClose").map(|n| vec![(&n[..], 1.0)]));
        sets.extend([0.25, 0.5, 0.75, 1.0].map(|w| vec![("jawOpen", w), ("mouthClose", w)]));
        for set in &sets {
            let pairs = checks::crossings(&head, set);
            let deep = 1e3 * checks::eye_penetration(&head, set);
            if !pairs.is_empty() || deep > 0.0 {
                let t = pairs.first().map(|(a, _)| head.skin.triangles[*a as usize]).unwrap_or_default();
                let at = 1e3 * head.skin.positions[t[0] as usize];
                println!("seed {seed} {set:?}: {} crossings, first at {at:.1?}; {deep:.2} mm into the eye", pairs.len());
            }
        }
    }
}
