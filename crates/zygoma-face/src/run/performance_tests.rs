//! Bodies that break on purpose.

use zygoma_head::{Head, HeadOptions, Level};
use zygoma_numerics::Budget;

use super::*;
use crate::body::{BadDrive, Frame, RigBody, Snapshot};

const FPS: f64 = 30.0;

/// A body's fault from the thirtieth frame on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Breaks {
    Never,
    /// NaN, until it is put back.
    OnceNotFinite,
    /// The chin flies away, even if it is put back.
    Explodes,
    /// Elements at the nose are inverted and stay so.
    Inverts,
    /// Elements are inverted that the rig itself inverts.
    InvertsWithTheRig,
    /// The whole face flickers.
    Flickers,
}

/// The plain rig, until it breaks.
#[derive(Clone)]
struct Stub {
    evaluator: Evaluator,
    surface: Vec<Vec3>,
    breaks: Breaks,
    at: [usize; 2],
    frame: usize,
    put_back: usize,
}

impl Body for Stub {
    fn name(&self) -> &'static str {
        "stub"
    }

    fn drive(&mut self, drive: Drive<'_>) -> std::result::Result<(), BadDrive> {
        if let Drive::Weights(weights) = drive {
            self.evaluator.evaluate(weights, &mut self.surface);
        }
        Ok(())
    }

    fn set_head_pose(&mut self, _: &RigidMotion) {}

    fn settle(&mut self) {}

    fn advance(&mut self, _: f64) -> Frame<'_> {
        Frame { positions: &self.surface, asleep: false }
    }

    fn frame_before(&mut self, _: f64) -> Frame<'_> {
        self.frame += 1;
        let [chin, _] = self.at;
        if self.frame > 30 {
            match self.breaks {
                Breaks::OnceNotFinite if self.put_back == 0 => self.surface[chin] = Vec3::NAN,
                Breaks::Explodes => self.surface[chin] += self.frame as f32 * Vec3::Z,
                Breaks::Flickers if self.frame.is_multiple_of(2) => {
                    self.surface.iter_mut().for_each(|p| *p += 0.02 * Vec3::Z);
                }
                _ => {}
            }
        }
        Frame { positions: &self.surface, asleep: false }
    }

    fn inverted(&self) -> Vec<u32> {
        let inverts = matches!(self.breaks, Breaks::Inverts | Breaks::InvertsWithTheRig);
        if inverts && self.frame > 30 { vec![4, 7] } else { Vec::new() }
    }

    fn vertices_at(&self, elements: &[u32], _: &[f32]) -> Vec<u32> {
        assert_eq!(elements, [4, 7]);
        if self.breaks == Breaks::Inverts { vec![self.at[1] as u32] } else { Vec::new() }
    }

    fn return_to_rig(&mut self, fractions: &[f32]) {
        assert!(fractions.len() == self.surface.len() && fractions.contains(&1.0));
        self.put_back += 1;
    }
}

/// The outcome of a body that breaks, whether all frames are finite, and the failure message.
fn perform(face: &FaceModel, rig: &Rig, breaks: Breaks) -> (Outcome, bool, Option<String>) {
    let places = Landmarks::new(face);
    let at = ["chin", "nose-tip"].map(|name| places.find(name).unwrap().vertex as usize);
    let mut body = Stub {
        evaluator: Evaluator::new(rig.skin()),
        surface: rig.skin().positions.clone(),
        breaks,
        at,
        frame: 0,
        put_back: 0,
    };
    let take = rig.takes.iter().find(|take| take.name == "speech").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let touches = TouchScript::default();
    let performance = Performance {
        face,
        places: &places,
        rig,
        take,
        markers: None,
        materials: None,
        edit_of: None,
        touches: &touches,
        hands: None,
        fps: FPS,
        folder: folder.path(),
    };
    let outcome = performance.run(&mut body, &mut ()).unwrap();
    assert_eq!(outcome.frames.count(), take.frame_count(FPS), "every frame is written");
    let finite = (0..outcome.frames.count())
        .all(|frame| outcome.frames.frame(frame).unwrap().iter().all(|p| p.is_finite()));
    let problem =
        outcome.gate.failed.as_ref().map(|failure| format!("near {}: {}", failure.place, failure.why));
    (outcome, finite, problem)
}

#[test]
fn broken_bodies_recover_or_fail_and_what_they_leave_is_finite() {
    let rig = Head::new(&HeadOptions::sampled(1, Level::Low)).rig();
    let face = FaceModel::new(&rig.name, rig.skin(), 1000, &Budget::default()).unwrap();
    for (breaks, words) in [
        (Breaks::Never, None),
        (Breaks::OnceNotFinite, None),
        (Breaks::InvertsWithTheRig, None),
        (Breaks::Explodes, Some("near chin")),
        (Breaks::Inverts, Some("near nose-tip: elements stay inverted")),
        (Breaks::Flickers, Some("near ")),
    ] {
        let (outcome, finite, problem) = perform(&face, &rig, breaks);
        assert!(finite, "{breaks:?}");
        let is_expected = match (&problem, words) {
            (Some(problem), Some(words)) => problem.contains(words),
            (found, wanted) => found.is_none() && wanted.is_none(),
        };
        assert!(is_expected, "{breaks:?}: {problem:?}");
        let left_alone = matches!(breaks, Breaks::Never | Breaks::InvertsWithTheRig);
        assert_eq!(outcome.gate.returned == 0.0, left_alone, "{breaks:?}");
        // No frame that is shown is far from the rig.
        let worst = outcome.deviations.iter().map(|d| d.worst).fold(0.0, f32::max);
        assert!(worst < 0.03, "{breaks:?}: {worst}");
    }
}

/// A new kind of body: it repeats its drive one frame late.
#[derive(Clone)]
struct Echo {
    rig: RigBody,
    shown: Vec<Vec3>,
}

impl Body for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn drive(&mut self, drive: Drive<'_>) -> std::result::Result<(), BadDrive> {
        self.shown.copy_from_slice(self.rig.advance(0.0).positions);
        self.rig.drive(drive)
    }

    fn set_head_pose(&mut self, pose: &RigidMotion) {
        self.rig.set_head_pose(pose);
    }

    fn settle(&mut self) {
        self.shown.copy_from_slice(self.rig.advance(0.0).positions);
    }

    fn advance(&mut self, _: f64) -> Frame<'_> {
        Frame { positions: &self.shown, asleep: false }
    }

    fn frame_before(&mut self, _: f64) -> Frame<'_> {
        Frame { positions: &self.shown, asleep: false }
    }
}

#[test]
fn a_new_body_performs_at_once() {
    let rig = Head::new(&HeadOptions::sampled(1, Level::Low)).rig();
    let face = FaceModel::new(&rig.name, rig.skin(), 1000, &Budget::default()).unwrap();
    let (places, folder) = (Landmarks::new(&face), tempfile::tempdir().unwrap());
    let take = rig.takes.iter().find(|take| take.name == "speech").unwrap().clone();
    let script = "[[push]]\nat = \"cheek-left\"\nfrom = 0.1\nto = 0.5\ndepth = 5\n";
    let [still, poked] = ["", script].map(|text| TouchScript::parse(text, &face, &places).unwrap());
    let performance = |touches| Performance {
        face: &face,
        places: &places,
        rig: &rig,
        take: &take,
        markers: None,
        materials: None,
        edit_of: None,
        touches,
        hands: None,
        fps: FPS,
        folder: folder.path(),
    };
    let mut plain = RigBody::new(&face);
    let rig_frames = performance(&still).run(&mut plain, &mut ()).unwrap();
    assert!(rig_frames.deviations.iter().all(|d| d.worst < 1e-6), "the rig is the rig");
    let mut echo = Echo { rig: RigBody::new(&face), shown: face.neutral.clone() };
    let mut last = face.neutral.clone();
    for weight in [0.0, 0.3, 1.0, 0.2] {
        let weights = vec![weight; face.shapes.len()];
        for body in [&mut echo as &mut dyn Body, &mut plain] {
            body.drive(Drive::Weights(&weights)).unwrap();
        }
        assert_eq!(echo.advance(1.0 / FPS).positions, last, "one frame late");
        last.copy_from_slice(plain.advance(1.0 / FPS).positions);
    }
    let echoed = performance(&still).run(&mut echo, &mut ()).unwrap();
    assert_eq!(echoed.frames.count(), rig_frames.frames.count());
    let refused = performance(&poked).run(&mut echo, &mut ()).err().unwrap().to_string();
    assert_eq!(refused, "the echo cannot be touched; choose another body");
    assert!(plain.restore(&echo.save()).is_err(), "a state of another body");
}
