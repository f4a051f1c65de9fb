//! Bodies that break on purpose.

use zygoma_face::model::Continue;
use zygoma_face::shell::{BuildParams, build};
use zygoma_head::{Head, HeadOptions, Level};

use super::*;
use crate::watched::{Failed, WatchedSummary};

const FPS: f64 = 30.0;

/// How a body breaks from the thirtieth frame on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Breaks {
    Never,
    /// Not a number, until it is put back.
    OnceNotFinite,
    /// The chin flies away, even if it is put back.
    Explodes,
    /// Elements at the nose are inside out and stay so.
    Inverts,
    /// Elements are inside out that the rig itself turns inside out.
    InvertsWithTheRig,
    /// The whole face flickers.
    Flickers,
}

/// The plain rig, until it breaks.
struct Stub {
    shell: ShellBody,
    evaluator: Evaluator,
    surface: Vec<Vec3>,
    breaks: Breaks,
    at: [usize; 2],
    frame: usize,
    put_back: usize,
}

impl Body for Stub {
    fn touchable(&mut self) -> &mut dyn Touchable {
        &mut self.shell
    }

    fn aim(&mut self, weights: &[f32], _: &RigidMotion, _: f64) {
        self.evaluator.evaluate(weights, &mut self.surface);
    }

    fn next_input(&self, known: f64, frame: f64) -> Option<f64> {
        (known < frame).then_some(frame)
    }

    fn settle(&mut self) {}

    fn glide(&mut self, _: f64) {}

    fn run(&mut self, _: f64) {}

    fn show(&mut self, _: f64) -> &[Vec3] {
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
        &self.surface
    }

    fn inverted(&self) -> Vec<u32> {
        let inverts = matches!(self.breaks, Breaks::Inverts | Breaks::InvertsWithTheRig);
        if inverts && self.frame > 30 { vec![4, 7] } else { Vec::new() }
    }

    fn vertices_at(&self, elements: &[u32], _: &[f32]) -> Vec<u32> {
        assert_eq!(elements, [4, 7]);
        if self.breaks == Breaks::Inverts { vec![self.at[1] as u32] } else { Vec::new() }
    }

    fn return_to_rig(&mut self, shares: &[f32]) {
        assert!(shares.len() == self.surface.len() && shares.contains(&1.0));
        self.put_back += 1;
    }

    fn note(&mut self, _: &Performed<'_>, _: &mut Outcome) {}
}

/// What came of a body that breaks: the outcome, whether all frames are finite, and the error in words.
fn perform(face: &FaceModel, rig: &Rig, breaks: Breaks) -> (Outcome, bool, Option<String>) {
    let places = Landmarks::new(face);
    let at = ["chin", "nose-tip"].map(|name| places.find(name).unwrap().vertex as usize);
    let mut body = Stub {
        shell: ShellBody::new(face, RunParams::default()).unwrap(),
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
    let performance =
        Performance { face, places: &places, rig, take, touches: &touches, fps: FPS, folder: folder.path() };
    let outcome = performance.run(&mut body).unwrap();
    assert_eq!(outcome.frames.count(), take.frame_count(FPS), "every frame is written");
    let finite = (0..outcome.frames.count())
        .all(|frame| outcome.frames.frame(frame).unwrap().iter().all(|p| p.is_finite()));
    let problem = WatchedSummary::of(&outcome.gate).check().err();
    assert!(problem.as_ref().is_none_or(anyhow::Error::is::<Failed>));
    (outcome, finite, problem.map(|problem| problem.to_string()))
}

#[test]
fn broken_bodies_recover_or_fail_and_what_they_leave_is_finite() {
    let rig = Head::new(&HeadOptions::sampled(1, Level::Low)).rig();
    let params =
        BuildParams { triangles: 1000, uniform_stiffness: Some(2.0), corrected: false, ..Default::default() };
    let face = build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes).unwrap();
    for (breaks, words) in [
        (Breaks::Never, None),
        (Breaks::OnceNotFinite, None),
        (Breaks::InvertsWithTheRig, None),
        (Breaks::Explodes, Some("near chin")),
        (Breaks::Inverts, Some("near nose-tip: elements stay inside out")),
        (Breaks::Flickers, Some("FAILED at ")),
    ] {
        let (outcome, finite, problem) = perform(&face, &rig, breaks);
        assert!(finite, "{breaks:?}");
        let as_told = match (&problem, words) {
            (Some(problem), Some(words)) => problem.starts_with("FAILED at ") && problem.contains(words),
            (found, wanted) => found.is_none() && wanted.is_none(),
        };
        assert!(as_told, "{breaks:?}: {problem:?}");
        let left_alone = matches!(breaks, Breaks::Never | Breaks::InvertsWithTheRig);
        assert_eq!(outcome.gate.returned == 0.0, left_alone, "{breaks:?}");
        // Nothing that is shown is far from the rig.
        let worst = outcome.deviations.iter().map(|d| d.worst).fold(0.0, f32::max);
        assert!(worst < 0.03, "{breaks:?}: {worst}");
    }
}
