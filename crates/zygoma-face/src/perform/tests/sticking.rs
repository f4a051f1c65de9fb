//! Sticky lips part alike however often frames are asked for, and however long the steps are.

use super::*;

/// Sticky springs at some moments, each of them later by so much, while pressed lips are opened.
fn parting(tissue: &Arc<Tissue>, rate: f64, later: f64) -> Vec<usize> {
    let mut face = PerformingFace::new(tissue.clone()).unwrap();
    face.settle();
    let mut moments =
        vec![0.5, 0.62, 0.7, 0.8, 0.95].into_iter().map(|moment| moment + later).collect::<Vec<f64>>();
    let mut counts = Vec::new();
    for frame in 1.. {
        let time = f64::from(frame) / rate;
        let (pressed, opened) = ((time / 0.3).min(1.0), ((time - 0.5) / 0.4).clamp(0.0, 1.0));
        let smooth = |x: f64| (x * x * (3.0 - 2.0 * x)) as f32;
        let names = [
            ("mouthClose", 0.15 * smooth(pressed) * (1.0 - smooth(opened))),
            ("jawOpen", 0.4 * smooth(opened)),
        ];
        face.set_weights(&weights_of(&names));
        face.advance(1.0 / rate);
        if time >= moments[0] - 1e-9 {
            moments.remove(0);
            counts.push(face.lips().sticky);
        }
        if moments.is_empty() {
            break;
        }
    }
    counts
}

#[test]
fn lips_part_alike_at_any_rate() {
    let (mesh, rigged) = &*FACE;
    let tissue = |step_time: f64| {
        let params = PerformParams { stickiness: 2e6, step_time, ..PerformParams::default() };
        Arc::new(Tissue::new(rigged, &jaw_driven_shapes(mesh), &params).unwrap())
    };
    let usual = tissue(1.0 / 60.0);
    let runs = [25.0, 60.0, 144.0].map(|rate| parting(&usual, rate, 0.0));
    let shorter = parting(&tissue(1.0 / 120.0), 60.0, 0.0);
    // Lips part within some steps: nothing is known more finely than a step of the physics.
    let [sooner, later] = [-1.0, 1.0].map(|steps| parting(&usual, 60.0, steps / 60.0));
    println!(
        "springs at 25, 60 and 144 Hz: {runs:?}; with steps half as long: {shorter:?}; a step sooner and later {sooner:?} {later:?}"
    );
    let most = runs[1][0];
    assert!(most > 20 && 4 * runs[1][4] < most, "they stick and part: {:?}", runs[1]);
    // Three standard deviations of what chance leaves of so many springs, both times.
    let chance = 3.0 * (2.0 * 0.25 * most as f64).sqrt();
    for other in [&runs[0], &runs[2], &shorter] {
        for (moment, count) in other.iter().enumerate() {
            let near = [sooner[moment], runs[1][moment], later[moment]].map(|count| count as f64);
            let [low, high] =
                [near.iter().copied().fold(f64::MAX, f64::min), near.iter().copied().fold(0.0, f64::max)];
            let count = *count as f64;
            assert!(count > low - chance && count < high + chance, "{other:?} {runs:?} {sooner:?} {later:?}");
        }
    }
}
