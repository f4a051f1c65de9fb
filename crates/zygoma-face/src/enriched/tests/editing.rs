//! Edited takes, simulated only where they have changed.

use zygoma_rig::JointRole;
use zygoma_rig::formats::Limits;
use zygoma_rig::{Interpolation, MotionTrack, Take, WeightCurve, WeightTrack};

use super::*;
use crate::run::{About, Outcome, Performance, Recording, TouchScript};

const FPS: f64 = 30.0;
const COUNT: usize = 75;

/// A smile in a head that shakes all the time; `edit` changes the smile's weight.
fn take(edit: impl Fn(f64) -> f32) -> Take {
    let times: std::sync::Arc<[f64]> = (0..COUNT).map(|frame| frame as f64 / FPS).collect();
    let smile = |time: &f64| 0.3 * (4.0 * time).sin() as f32 + 0.3 + edit(*time);
    let curve = WeightCurve {
        values: times.iter().map(smile).collect(),
        times: times.clone(),
        interpolation: Interpolation::Linear,
    };
    let motions = times.iter().map(|time| turned(0.2 * (20.0 * time).sin())).collect();
    Take {
        name: "shaken smile".to_owned(),
        weights: vec![WeightTrack { shape: "mouthSmileLeft".to_owned(), curve }],
        motions: vec![MotionTrack { role: JointRole::Head, times, motions }],
    }
}

fn perform(take: &Take, edit_of: Option<&Recording>) -> (Outcome, Recording) {
    let folder = tempfile::tempdir().unwrap();
    let performance = Performance {
        face: &FACE,
        places: &Landmarks::new(&FACE),
        rig: &RIG,
        take,
        markers: None,
        materials: None,
        edit_of,
        touches: &TouchScript::default(),
        hands: None,
        fps: FPS,
        folder: folder.path(),
    };
    let mut body = EnrichedBody::new(ENRICHED.clone()).unwrap();
    let mut recording = Recording::new(About { fps: FPS, ..About::default() });
    let outcome = performance.run_recorded(&mut body, &mut (), Some(&mut recording)).unwrap();
    (outcome, recording)
}

/// The largest distance between two outcomes in a frame, m.
fn apart(a: &Outcome, b: &Outcome, frame: usize) -> f32 {
    let (a, b) = (a.frames.frame(frame).unwrap(), b.frames.frame(frame).unwrap());
    a.iter().zip(b.iter()).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

#[test]
fn an_edited_take_is_simulated_only_where_it_has_changed() {
    let (_, old) = perform(&take(|_| 0.0), None);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.safetensors");
    old.write(&file).unwrap();
    let read = Recording::read(&file, &Limits::default()).unwrap();
    assert_eq!(read, old);
    let edited = take(|time| if (1.0..1.2).contains(&time) { 0.4 } else { 0.0 });
    let (whole, _) = perform(&edited, None);
    let (part, again) = perform(&edited, Some(&read));
    let worst = (0..COUNT).map(|frame| apart(&whole, &part, frame)).fold(0.0, f32::max);
    println!("{} of {COUNT} frames copied, {worst} m from simulating all", part.copied);
    assert!(part.copied > COUNT / 2 && part.copied < COUNT - 6, "{}", part.copied);
    assert!(worst < 2e-5, "{worst} m");
    // Edited again, back to the first version.
    let (back, _) = perform(&take(|_| 0.0), Some(&again));
    assert!(back.copied > COUNT / 2, "{}", back.copied);
}
