//! Builds slow bodies in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use zygoma_face::body::Body;
use zygoma_face::model::{Continue, FaceCache, FaceModel};

use crate::builder::{Outcome, Progress, in_background};
use crate::kinds::{BodySource, KINDS, Make};
use crate::model::Model;
use crate::turns::{NoTurn, PATIENCE, Turns};

/// How often progress is reported.
const REPORTS: Duration = Duration::from_millis(200);

/// A message of a thread that builds.
enum Update {
    Progress(&'static str, f64),
    Ended(Outcome<Box<dyn Body>>),
}

/// Builds bodies, for one tab at a time.
#[derive(Debug)]
pub(crate) struct BodyBuilder {
    turns: Turns,
    cache: Option<FaceCache>,
}

impl BodyBuilder {
    /// A builder that keeps what is slow in a cache, if there is one.
    pub(crate) fn new(cache: Option<FaceCache>) -> Self {
        Self { turns: Turns::default(), cache }
    }

    /// Builds a body of a kind from a face. A cancelled build returns at once; its thread ends when the body next reports progress.
    pub(crate) fn build(
        &self,
        kind: usize,
        model: &Arc<Model>,
        face: &Arc<FaceModel>,
        cancel: &Arc<AtomicBool>,
        report: &mut dyn FnMut(Progress),
    ) -> Outcome<Box<dyn Body>> {
        let began = Instant::now();
        let mut reported: Option<Instant> = None;
        let mut report = |stage, fraction| {
            if reported.is_none_or(|reported| reported.elapsed() >= REPORTS) {
                reported = Some(Instant::now());
                let seconds = began.elapsed().as_secs_f64();
                report(Progress { stage, fraction, seconds, worst: None });
            }
        };
        let (rig, body) = (&model.rig.name, KINDS[kind].name);
        let mut wait = || {
            report("waiting for another build", None);
            true
        };
        let _turn = match self.turns.take(cancel, &mut wait) {
            Ok(turn) => turn,
            Err(NoTurn::Unwanted) => return Outcome::Cancelled,
            Err(NoTurn::Stuck) => {
                return Outcome::Failed(format!(
                    "{rig}: cancelled builds are still running; try again later, or restart zygoma"
                ));
            }
        };
        let updates = self.start(kind, model.clone(), face.clone(), cancel.clone());
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Outcome::Cancelled;
            }
            match updates.recv_timeout(PATIENCE) {
                Ok(Update::Progress(stage, fraction)) => report(stage, Some(fraction)),
                Ok(Update::Ended(Outcome::Failed(reason))) => {
                    return Outcome::Failed(format!("{rig}: {body}: {reason}; choose another body"));
                }
                Ok(Update::Ended(outcome)) => return outcome,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Outcome::Failed(format!("{rig}: {body}: the build ended unexpectedly"));
                }
            }
        }
    }

    /// Builds on threads of its own.
    fn start(
        &self,
        kind: usize,
        model: Arc<Model>,
        face: Arc<FaceModel>,
        cancel: Arc<AtomicBool>,
    ) -> Receiver<Update> {
        let (sender, updates) = channel();
        let (running, cache) = (self.turns.count(), self.cache.clone());
        std::thread::spawn(move || {
            let _running = running;
            let mut report = |stage, fraction| {
                // Nobody listens to a cancelled build.
                let _ = sender.send(Update::Progress(stage, fraction));
                if cancel.load(Ordering::Relaxed) { Continue::Abandon } else { Continue::Yes }
            };
            let outcome = in_background(|| match KINDS[kind].make {
                Make::FromRig(make) => Outcome::Done(make(&model)),
                Make::FromFace(make) => make(&face).map_or_else(Outcome::Failed, Outcome::Done),
                Make::InBackground(make) => {
                    let source = BodySource { model: &model, face: &face, cache: cache.as_ref() };
                    make(&source, &mut report)
                }
            });
            // As above.
            let _ = sender.send(Update::Ended(outcome));
        });
        updates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Library, Quality};
    use crate::kinds;
    use crate::model::HeadChoice;

    #[test]
    fn a_cancelled_build_ends_at_once_and_leaves_room_for_the_next() {
        let model = Arc::new(Model::built_in(&HeadChoice::default(), None).unwrap());
        let library = Library::new(None);
        let never = Arc::new(AtomicBool::new(false));
        let Outcome::Done(face) = library.make(&model, 1000, Quality::Preview, &never, &mut |_| {}) else {
            panic!("the built-in head has a face");
        };
        let tissue = kinds::find("tissue").unwrap();
        let cancel = Arc::new(AtomicBool::new(false));
        let mut reports = 0;
        let cancelled = library.bodies.build(tissue, &model, &face, &cancel, &mut |_| {
            reports += 1;
            cancel.store(true, Ordering::Relaxed);
        });
        assert!(matches!(cancelled, Outcome::Cancelled));
        assert_eq!(reports, 1, "a cancelled build reports nothing more");
        // The cancelled thread may still run for a moment; the next build does not wait for it.
        let next = library.bodies.build(tissue, &model, &face, &never, &mut |_| {});
        assert!(matches!(next, Outcome::Done(body) if body.name() == "tissue"));
    }

    #[test]
    fn tissue_is_solved_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(Some(zygoma_face::model::FaceCache::new(folder.path().to_owned())));
        let model = Arc::new(Model::built_in(&HeadChoice::default(), None).unwrap());
        let never = Arc::new(AtomicBool::new(false));
        let Outcome::Done(face) = library.make(&model, 500, Quality::Preview, &never, &mut |_| {}) else {
            panic!("the built-in head has a face");
        };
        assert!(face.inside.bones.is_some() && face.inside.teeth.is_some());
        let tissue = kinds::find("tissue").unwrap();
        let was_kept = [false, true].map(|_| {
            let Outcome::Done(body) = library.bodies.build(tissue, &model, &face, &never, &mut |_| {}) else {
                panic!("the face has tissue");
            };
            let body = body.downcast_ref::<zygoma_face::tissue::TissueBody>().unwrap();
            body.tissue().was_solved_before()
        });
        assert_eq!(was_kept, [false, true]);
    }
}
