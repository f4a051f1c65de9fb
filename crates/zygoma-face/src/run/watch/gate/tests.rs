use std::sync::OnceLock;

use glam::{DQuat, DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_head::{Head, HeadOptions, Level};

use super::*;
use crate::model::Continue;
use crate::run::watch::Pops;
use crate::shell::{BuildParams, build};

const FPS: f64 = 60.0;
const STILL: RigidMotion = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

/// A face, scaled; its cheek and the disturbances of a body.
struct Stage {
    face: FaceModel,
    places: Landmarks,
    plain: Vec<Vec3>,
}

/// The outcome of a run.
struct Seen {
    report: GateReport,
    /// The largest distance from the rig and the largest second difference, mm at life size.
    farthest: f32,
    pop: f32,
    frames: Vec<Vec<Vec3>>,
}

/// A head at its own size, built once.
fn stage() -> &'static Stage {
    static STAGE: OnceLock<Stage> = OnceLock::new();
    STAGE.get_or_init(|| Stage::new(1.0))
}

impl Stage {
    fn new(scale: f32) -> Self {
        let mut mesh = Head::new(&HeadOptions::sampled(1, Level::Low)).rig().skin().clone();
        mesh.positions.iter_mut().for_each(|p| *p *= scale);
        for shape in &mut mesh.shapes {
            shape.deltas.offsets.iter_mut().for_each(|d| *d *= scale);
        }
        let params = BuildParams {
            triangles: 1000,
            uniform_stiffness: Some(2.0),
            corrected: false,
            ..Default::default()
        };
        let face = build("head", &mesh, &params, &mut |_| Continue::Yes).unwrap();
        Self { places: Landmarks::new(&face), face, plain: mesh.positions }
    }

    /// Offsets of a bump at a landmark, of the given height in mm at life size.
    fn bump(&self, place: &str, mm: f32) -> Vec<Vec3> {
        let centre = self.plain[self.places.find(place).unwrap().vertex as usize];
        let scale = 1.0 / life_mm(self.face.height);
        let width = 15.0 * scale;
        self.plain
            .iter()
            .map(|p| scale * mm * (-(p.distance(centre) / width).powi(2)).exp() * Vec3::Z)
            .collect()
    }

    /// Runs a stub body: `offsets` gives its offsets from the rig in a frame, and is passed whether it was put back in the frame before.
    fn run(&self, touched: bool, mut offsets: impl FnMut(usize, bool) -> Vec<Vec3>) -> Seen {
        let mut gate = Gate::new(&self.face, &self.places, FPS);
        let (mut back, mut frames, mut pops) = (false, Vec::new(), Pops::new(life_mm(self.face.height), FPS));
        let mut farthest = 0.0_f32;
        for frame in 0..90 {
            let mut shown: Vec<Vec3> =
                self.plain.iter().zip(offsets(frame, back)).map(|(p, offset)| *p + offset).collect();
            let seconds = if frame == 0 { 0.0 } else { 1.0 / FPS };
            let mut watched = Watched {
                plain: &self.plain,
                shown: &mut shown,
                head: STILL,
                seconds,
                time: frame as f64 / FPS,
                touched,
                inverted: &[],
                vertices_at: &|_| Vec::new(),
            };
            back = gate.watch(&mut watched).is_some();
            let off = shown.iter().zip(&self.plain).map(|(a, b)| a.distance(*b));
            farthest = farthest.max(life_mm(self.face.height) * off.fold(0.0, f32::max));
            pops.add(&self.plain, &shown);
            frames.push(shown);
        }
        Seen { report: gate.report(), farthest, pop: pops.worst().value, frames }
    }
}

#[test]
fn a_sound_body_is_left_alone() {
    let stage = stage();
    let bump = stage.bump("cheek-left", 4.0);
    let sway = |frame: usize| (0.2 * frame as f32).sin();
    let seen = stage.run(false, |frame, _| bump.iter().map(|b| sway(frame) * *b).collect());
    assert_eq!(seen.report, GateReport::default());
    for (frame, shown) in seen.frames.iter().enumerate() {
        for ((shown, plain), bump) in shown.iter().zip(&stage.plain).zip(&bump) {
            assert_eq!(*shown, *plain + sway(frame) * *bump);
        }
    }
}

#[test]
fn skin_that_goes_too_far_is_held_near_the_rig_at_any_scale() {
    let large = Stage::new(20.0);
    let limits: Vec<f64> = [stage(), &large]
        .into_iter()
        .map(|stage| {
            let bump = stage.bump("cheek-left", 9.0);
            let grow = |frame: usize| (frame as f32 / 40.0).min(1.0);
            let seen = stage.run(false, |frame, _| bump.iter().map(|b| grow(frame) * *b).collect());
            assert!(seen.farthest < 1.02 * FARTHEST, "{}", seen.farthest);
            assert!(seen.report.failed.is_none() && seen.report.returned > 1e-3, "{:?}", seen.report);
            seen.report.returned
        })
        .collect();
    assert!((limits[0] - limits[1]).abs() < 0.05 * limits[0], "{limits:?}");
}

#[test]
fn a_touched_cheek_yields() {
    let stage = stage();
    let bump = stage.bump("cheek-left", -20.0);
    let seen = stage.run(true, |frame, _| bump.iter().map(|b| (frame as f32 / 60.0).min(1.0) * *b).collect());
    assert!(seen.farthest > 19.0 && seen.report.returned == 0.0, "{} {:?}", seen.farthest, seen.report);
}

#[test]
fn a_jump_becomes_a_blend() {
    let stage = stage();
    let bump = stage.bump("jaw-left", 4.5);
    let jump =
        |frame: usize, _: bool| bump.iter().map(|b| if frame < 40 { Vec3::ZERO } else { *b }).collect();
    let seen = stage.run(false, jump);
    assert!(seen.pop < 2.0 * POP && seen.report.pops >= 1, "{} {:?}", seen.pop, seen.report);
    assert!(seen.report.failed.is_none());
    // It ends where the body is.
    let far = seen.frames[89].iter().zip(&stage.plain).zip(&bump).map(|((a, b), c)| a.distance(*b + *c));
    assert!(far.fold(0.0, f32::max) < 1e-6);
}

#[test]
fn a_body_that_explodes_once_recovers() {
    let stage = stage();
    let bump = stage.bump("lip-lower", 150.0);
    // It recovers once it is put back.
    let mut exploded = false;
    let seen = stage.run(false, |frame, back| {
        exploded = (exploded || frame == 30) && !back;
        bump.iter().map(|b| if exploded { *b } else { Vec3::ZERO }).collect()
    });
    assert!(seen.report.failed.is_none() && seen.report.put_back >= 1, "{:?}", seen.report);
    assert!(seen.farthest < 1.02 * FARTHEST && seen.pop < 2.0 * POP, "{} {}", seen.farthest, seen.pop);
    assert!(seen.report.returned < 0.02, "{:?}", seen.report);
}

#[test]
fn a_body_that_explodes_again_and_again_fails_there_and_then() {
    let stage = stage();
    let bump = stage.bump("lip-lower", 150.0);
    let seen =
        stage.run(false, |frame, _| bump.iter().map(|b| if frame >= 30 { *b } else { Vec3::ZERO }).collect());
    let failed = seen.report.failed.expect("it fails");
    assert!(failed.place.starts_with("lip") || failed.place.starts_with("mouth"), "{failed:?}");
    assert!(failed.time > 0.5 && failed.time < 1.4, "{failed:?}");
    assert!(seen.farthest < 1.02 * FARTHEST, "{}", seen.farthest);
}

#[test]
fn what_is_not_finite_never_gets_out_and_fails_if_it_stays() {
    let stage = stage();
    let broken = |is_broken: bool| -> Vec<Vec3> {
        let mut offsets = vec![Vec3::ZERO; stage.plain.len()];
        if is_broken {
            offsets[100] = Vec3::NAN;
        }
        offsets
    };
    let once = stage.run(false, |frame, _| broken(frame == 20));
    let ever = stage.run(false, |frame, _| broken(frame >= 20));
    for seen in [&once, &ever] {
        assert!(seen.frames.iter().flatten().all(|p| p.is_finite()));
    }
    assert!(once.report.failed.is_none() && once.report.put_back == 1, "{:?}", once.report);
    assert!(ever.report.failed.is_some_and(|failed| failed.why.contains("not finite")));
}
