//! Sticky lips part alike at any frame rate and at any step length.

use super::*;

/// Numbers of sticky springs at some moments, each shifted by `later`, while pressed lips are opened.
fn parting(tissue: &Arc<Tissue>, rate: f64, later: f64) -> Vec<usize> {
    let mut face = TissueBody::new(tissue.clone()).unwrap();
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

/// *Progressive PD* eq. 16: in a frame of 40 ms a spring without length breaks with probability ½ (1 − tanh 2) = 0.018, one of 2 mm with
/// 0.1; in a shorter step with the probability that gives the same over a frame.
#[test]
fn springs_break_at_the_papers_rate() {
    let mut face = performing();
    let lips = face.contact.lips.as_mut().unwrap();
    for (length, rate) in [(0.0, 0.018), (2e-3, 0.1)] {
        for step_time in [0.04, 1.0 / 60.0] {
            let (mut all, mut broken) = (0.0, 0.0);
            for seed in 0..400 {
                lips.forget();
                let [before, after] = lips.left_of_springs(length, 1, step_time, seed);
                all += before as f64;
                broken += (before - after) as f64;
            }
            let expected = 1.0 - (1.0_f64 - rate).powf(step_time / 0.04);
            let chance = 4.0 * (expected * (1.0 - expected) / all).sqrt();
            let found = broken / all;
            println!(
                "{length} m, {step_time:.4} s: {found:.4} of {all} springs break, {expected:.4} expected"
            );
            assert!((found - expected).abs() < chance, "{length} m: {found}, not {expected}");
        }
    }
}

/// Time at which the lips are 1.5 mm apart in the middle of an opening mouth, s.
fn parted_at(stickiness: f64) -> f64 {
    let tissue = &*TISSUE;
    let (upper, lower) = tissue.lips.vertices.split_at(tissue.lips.upper);
    let at = |v: &u32| FACE.0.positions[*v as usize];
    let front = |v: &&u32| at(v).z - 5.0 * at(v).x.abs();
    let upper = *upper.iter().max_by(|a, b| front(a).total_cmp(&front(b))).unwrap();
    let near = |v: &&u32| at(v).distance(at(&upper));
    let lower = *lower.iter().min_by(|a, b| near(a).total_cmp(&near(b))).unwrap();
    let mut face = performing();
    face.set_live(LiveParams { stickiness, ..face.live() });
    face.settle();
    let h = face.latency();
    for step in 1..120 {
        let time = f64::from(step) * h;
        let opened = ((time - 0.25) / 0.4).clamp(0.0, 1.0) as f32;
        let pressed = (time / 0.15).min(1.0) as f32 * (1.0 - opened);
        face.set_weights(&weights_of(&[("mouthClose", 0.15 * pressed), ("jawOpen", 0.4 * opened)]));
        face.run(h);
        let shown = face.show(0.0);
        let gap = shown[upper as usize].distance(shown[lower as usize]) - at(&upper).distance(at(&lower));
        if gap > 1.5e-3 {
            return time;
        }
    }
    f64::INFINITY
}

#[test]
fn sticky_lips_part_later_than_dry_ones() {
    let (dry, sticky) = (parted_at(0.0), parted_at(STICKY));
    println!("dry lips part at {dry:.3} s, sticky ones at {sticky:.3} s");
    // Some frames of a film later, and not for ever: the jaw is open at 0.65 s.
    assert!((0.03..0.3).contains(&(sticky - dry)), "{dry} s and {sticky} s");
}

#[test]
fn lips_part_alike_at_any_rate() {
    let rigged = &FACE.1;
    let tissue = |step_time: f64| {
        let params = TissueParams { stickiness: 2e6, step_time, ..TissueParams::default() };
        Arc::new(Tissue::new(rigged, &params).unwrap())
    };
    let usual = tissue(1.0 / 60.0);
    let runs = [25.0, 60.0, 144.0].map(|rate| parting(&usual, rate, 0.0));
    let shorter = parting(&tissue(1.0 / 120.0), 60.0, 0.0);
    // Lips part within some steps: times are resolved no finer than a step of the physics.
    let [sooner, later] = [-1.0, 1.0].map(|steps| parting(&usual, 60.0, steps / 60.0));
    println!(
        "springs at 25, 60 and 144 Hz: {runs:?}; with steps half as long: {shorter:?}; a step sooner and later {sooner:?} {later:?}"
    );
    let first = runs[1][0];
    assert!(first > 20 && 4 * runs[1][4] < first, "they stick and part: {:?}", runs[1]);
    // Three standard deviations of the random number of remaining springs, for both runs. Lips still meet while they begin to part, so that
    // there are more springs later than at first.
    let most = runs[1].iter().copied().max().unwrap_or_default();
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
