//! Faces made in the background, and kept, so that a second start need not wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use zygoma_face::model::{Continue, FaceCache, FaceModel};
use zygoma_face::shell::{BuildError, BuildParams, BuildProgress, build};
use zygoma_numerics::{Budget, Stop};
use zygoma_rig::{Rig, RigMesh};

use crate::body_builder::BodyBuilder;
use crate::model::Model;
use crate::turns::{NoTurn, PATIENCE, Turns};

/// Strain and bending stiffness of the face that can be touched before the fit has ended, N/m. Ours: soft enough to follow
/// every expression of the built-in head, about the median of its fitted skin.
const PREVIEW_STIFFNESS: f64 = 2.0;

/// Faces kept in memory.
const MOST_IN_MEMORY: usize = 6;

/// A build for a page ends after this many seconds. Ours: ten times what the finest shell that a page may ask for takes.
const MOST_SECONDS: f64 = 900.0;

/// Faces that were made, shared by all tabs.
#[derive(Debug)]
pub(crate) struct Library {
    /// The newest last.
    made: Mutex<Vec<(u64, Arc<FaceModel>)>>,
    cache: Option<FaceCache>,
    /// One build at a time: the second often wants the first one's face.
    turns: Turns,
    /// Builds bodies from them.
    pub(crate) bodies: BodyBuilder,
}

/// Which face is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quality {
    /// The same stiffness everywhere, in a few seconds.
    Preview,
    /// Fitted to the rig's expressions.
    Fitted,
}

/// Progress of a build.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// The present stage, in words; empty for nothing.
    pub(crate) stage: &'static str,
    /// Fraction of the work that is done, where known.
    pub(crate) fraction: Option<f64>,
    /// Seconds since it began.
    pub(crate) seconds: f64,
    /// Worst distance from a target over the tolerance, while fitting.
    pub(crate) worst: Option<f64>,
}

/// A message of a thread that builds.
enum Update {
    Progress(BuildProgress),
    Ended(Result<Box<FaceModel>, BuildError>),
}

/// How a build ended.
#[derive(Clone, Debug)]
pub(crate) enum Outcome<T> {
    /// With a result.
    Done(T),
    /// It was cancelled.
    Cancelled,
    /// With a reason, as a sentence.
    Failed(String),
}

impl Library {
    /// A library that keeps faces in a cache, if there is one.
    pub(crate) fn new(cache: Option<FaceCache>) -> Self {
        let bodies = BodyBuilder::new(cache.clone());
        Self { made: Mutex::new(Vec::new()), cache, turns: Turns::default(), bodies }
    }

    /// Whether the fitted face of a rig is at hand.
    pub(crate) fn has(&self, rig: &Rig, triangles: usize) -> bool {
        self.find(FaceCache::key(rig, &params(triangles, Quality::Fitted)), rig.skin()).is_some()
    }

    /// Makes the face of a model's skin, or finds it. A cancelled build returns at once; its thread ends soon after.
    pub(crate) fn make(
        &self,
        model: &Arc<Model>,
        triangles: usize,
        quality: Quality,
        cancel: &Arc<AtomicBool>,
        report: &mut dyn FnMut(Progress),
    ) -> Outcome<Arc<FaceModel>> {
        let began = Instant::now();
        let (name, mesh) = (&model.rig.name, model.rig.skin());
        let params = params(triangles, quality);
        let key = FaceCache::key(&model.rig, &params);
        let mut waits = || {
            let seconds = began.elapsed().as_secs_f64();
            report(Progress { stage: "waiting for another build", seconds, ..Progress::default() });
            self.find(key, mesh).is_none()
        };
        let turn = self.turns.take(cancel, &mut waits);
        if let Some(face) = self.find(key, mesh) {
            return Outcome::Done(face);
        }
        let _turn = match turn {
            Ok(turn) => turn,
            Err(NoTurn::Unwanted) => return Outcome::Cancelled,
            Err(NoTurn::Stuck) => {
                return Outcome::Failed(format!(
                    "{name}: cancelled builds are still running; try again later, or restart zygoma"
                ));
            }
        };
        let most = params.fit.max_iterations;
        let updates = self.start(model.clone(), params, cancel.clone());
        let mut report = |now: &BuildProgress| report(described(now, most, began.elapsed().as_secs_f64()));
        match listen(name, &updates, cancel, &mut report) {
            Ok(face) => {
                let face = Arc::new(*face);
                self.keep(key, &face, quality);
                Outcome::Done(face)
            }
            Err(outcome) => outcome,
        }
    }

    /// Builds on threads of its own.
    fn start(&self, model: Arc<Model>, params: BuildParams, cancel: Arc<AtomicBool>) -> Receiver<Update> {
        let (sender, updates) = channel();
        let running = self.turns.count();
        let params = BuildParams { budget: Budget::cancelled_by(cancel.clone()), ..params };
        std::thread::spawn(move || {
            let _running = running;
            let mut progress = |now| {
                // Nobody listens to what was cancelled.
                let _ = sender.send(Update::Progress(now));
                if cancel.load(Ordering::Relaxed) { Continue::Abandon } else { Continue::Yes }
            };
            let made = in_background(|| {
                let mut face = build(&model.rig.name, model.rig.skin(), &params, &mut progress)?;
                model.look_inside(&mut face);
                Ok(Box::new(face))
            });
            // As above.
            let _ = sender.send(Update::Ended(made));
        });
        updates
    }

    fn find(&self, key: u64, mesh: &RigMesh) -> Option<Arc<FaceModel>> {
        let fits = |face: &FaceModel| {
            face.vertex_count() == mesh.positions.len() && face.shapes.len() == mesh.shapes.len()
        };
        {
            let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, face)) = made.iter().find(|(known, face)| *known == key && fits(face)) {
                return Some(face.clone());
            }
        }
        let face = Arc::new(self.cache.as_ref()?.find(key, mesh)?);
        self.remember(key, &face);
        Some(face)
    }

    fn remember(&self, key: u64, face: &Arc<FaceModel>) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|(known, _)| *known != key);
        if made.len() >= MOST_IN_MEMORY {
            made.remove(0);
        }
        made.push((key, face.clone()));
    }

    fn keep(&self, key: u64, face: &Arc<FaceModel>, quality: Quality) {
        self.remember(key, face);
        if let (Some(cache), Quality::Fitted) = (&self.cache, quality) {
            cache.keep(key, face);
        }
    }
}

/// Listens to a build until it ends or is cancelled, whichever is first.
fn listen(
    name: &str,
    updates: &Receiver<Update>,
    cancel: &AtomicBool,
    report: &mut dyn FnMut(&BuildProgress),
) -> Result<Box<FaceModel>, Outcome<Arc<FaceModel>>> {
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Err(Outcome::Cancelled);
        }
        match updates.recv_timeout(PATIENCE) {
            Ok(Update::Progress(now)) => report(&now),
            Ok(Update::Ended(Ok(face))) => return Ok(face),
            // The worker may notice first that it was cancelled.
            Ok(Update::Ended(Err(error))) if error.stopped() == Some(Stop::Cancelled) => {
                return Err(Outcome::Cancelled);
            }
            Ok(Update::Ended(Err(error))) => return Err(Outcome::Failed(format!("{name}: {error}"))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Outcome::Failed(format!("{name}: the build ended unexpectedly")));
            }
        }
    }
}

/// Runs something long in the [`background_pool`].
pub(crate) fn in_background<T: Send>(mut run: impl FnMut() -> T + Send) -> T {
    match background_pool() {
        Some(pool) => pool.install(run),
        None => run(),
    }
}

/// Fewer threads than there are: the simulation of what is shown meanwhile, and the page, must not starve.
pub(crate) fn background_pool() -> Option<rayon::ThreadPool> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1).max(1));
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()
}

fn params(triangles: usize, quality: Quality) -> BuildParams {
    let uniform_stiffness = (quality == Quality::Preview).then_some(PREVIEW_STIFFNESS);
    let corrected = quality == Quality::Fitted;
    // Whoever waits at a page gets the shapes certified; combinations, which take longer, are `zygoma build`'s.
    let seconds = Some(MOST_SECONDS);
    BuildParams {
        triangles,
        uniform_stiffness,
        corrected,
        combinations: 0,
        seconds,
        ..BuildParams::default()
    }
}

/// The present stage in words, and the fraction of the whole that is done.
fn described(now: &BuildProgress, most: usize, seconds: f64) -> Progress {
    let progress = |stage, done, worst| Progress { stage, fraction: Some(done), seconds, worst };
    match now {
        BuildProgress::Meshing => progress("making the simulation mesh", 0.02, None),
        BuildProgress::Fitting(fit) => {
            // The fit ends when it converges, mostly after a fraction of the iterations allowed.
            let done = 1.0 - (-4.0 * fit.iteration as f64 / most.max(1) as f64 * 2.0).exp();
            progress("fitting the stiffness of the skin", 0.05 + 0.75 * done, Some(fit.worst))
        }
        BuildProgress::Certifying => progress("certifying every expression", 0.82, None),
        BuildProgress::Correcting => progress("computing corrections", 0.9, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeadChoice;

    #[test]
    fn a_cancelled_build_is_not_waited_for() {
        let (worker, updates) = channel();
        let cancelled = AtomicBool::new(true);
        let heard = listen("head", &updates, &cancelled, &mut |_| {});
        assert!(matches!(heard, Err(Outcome::Cancelled)), "though its worker has not said a word");
        worker.send(Update::Ended(Err(Stop::Cancelled.into()))).unwrap();
        let heard = listen("head", &updates, &AtomicBool::new(false), &mut |_| {});
        assert!(matches!(heard, Err(Outcome::Cancelled)), "a worker that noticed first has not failed");
        drop(worker);
        let heard = listen("head", &updates, &AtomicBool::new(false), &mut |_| {});
        assert!(
            matches!(heard, Err(Outcome::Failed(reason)) if reason == "head: the build ended unexpectedly")
        );
    }

    #[test]
    fn the_worker_of_a_cancelled_build_leaves() {
        let model = Arc::new(Model::built_in(&HeadChoice::default(), None).unwrap());
        let library = Library::new(None);
        let cancel = Arc::new(AtomicBool::new(false));
        // Cancelled at the first news, in the middle of making the mesh.
        let mut report = |_| cancel.store(true, Ordering::Relaxed);
        let ended = library.make(&model, 2000, Quality::Fitted, &cancel, &mut report);
        assert!(matches!(ended, Outcome::Cancelled));
        while library.turns.running() > 0 {
            std::thread::sleep(PATIENCE);
        }
    }
}
