//! Work that takes longer than a frame, on threads of its own: reading, building, writing.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use zygoma_face::model::FaceModel;
use zygoma_rig::formats::Limits;

use super::loader::Loader;
use super::recorder::Recording;
use super::{Closed, Command, Loaded, Session};
use crate::builder::{Library, Outcome, Progress, Quality};
use crate::model::{HeadChoice, Model};
use crate::protocol::{BuildState, RecordingState, ServerMessage};
use crate::server::SessionFiles;

/// Triangles of the shell, unless the page asks for others.
const TRIANGLES: u32 = 2000;

/// Triangles that the page may ask for.
const SIZES: std::ops::RangeInclusive<u32> = 500..=12_000;

/// Limits for uploaded files: lower than those for a user's own files.
pub(super) const UPLOAD_LIMITS: Limits = Limits {
    file_bytes: 512 << 20,
    text_bytes: 16 << 20,
    script_bytes: 1 << 20,
    decoded_bytes: 1 << 30,
    vertices: 400_000,
    shapes: 1024,
    keys: 1_000_000,
};

/// News of building the face.
#[derive(Debug)]
pub(crate) struct BuildNews {
    /// Which build; news of an older one are ignored.
    job: u64,
    quality: Quality,
    news: Result<Progress, Outcome<Arc<FaceModel>>>,
}

/// The threads of a session.
#[derive(Debug)]
pub(crate) struct Work {
    library: Arc<Library>,
    job: u64,
    is_building: bool,
    cancelled: Arc<AtomicBool>,
    pub(super) loader: Loader,
}

impl Work {
    /// News of the newest build, as its thread would send them.
    #[cfg(test)]
    pub(super) fn news(
        &self,
        quality: Quality,
        news: Result<Progress, Outcome<Arc<FaceModel>>>,
    ) -> BuildNews {
        BuildNews { job: self.job, quality, news }
    }

    pub(crate) fn new(library: Arc<Library>) -> Self {
        Self { library, job: 0, is_building: false, cancelled: Arc::default(), loader: Loader::default() }
    }

    /// Cancels everything: the tab was closed.
    pub(crate) fn cancel_all(&self) {
        self.cancel();
        self.loader.cancel();
    }

    /// Cancels the build.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Cancels the build and ignores its news: its face may be on its way already.
    pub(crate) fn forget_build(&mut self) {
        self.cancel();
        self.job += 1;
        self.is_building = false;
    }

    /// The faces that were built, and their builders.
    pub(crate) fn library(&self) -> Arc<Library> {
        self.library.clone()
    }

    /// Whether a face is being built.
    pub(crate) fn is_building(&self) -> bool {
        self.is_building && !self.cancelled.load(Ordering::Relaxed)
    }

    /// Reads a rig, a face or a folder.
    pub(crate) fn load(&self, path: PathBuf, files: Arc<SessionFiles>, commands: &SyncSender<Command>) {
        self.loader.load(commands, move |budget| {
            Model::read(&path, &UPLOAD_LIMITS, budget)
                .map(|model| Loaded { fit: model.face.is_some(), model: Arc::new(model), same: false })
                .map_err(|error| files.tidy(&error))
        });
    }

    /// Makes another built-in head.
    pub(crate) fn turn_dials(
        &self,
        choice: &HeadChoice,
        shown: &Arc<Model>,
        fit: bool,
        commands: &SyncSender<Command>,
    ) {
        let (choice, shown) = (choice.clone(), shown.clone());
        self.loader.load(commands, move |_| {
            let same = !shown.dials.is_empty();
            let made = Model::built_in(&choice, Some(&shown));
            made.map(|model| Loaded { model: Arc::new(model), same, fit })
        });
    }
}

impl Session {
    /// Starts to build the face of the rig that is shown.
    pub(super) fn start_build(&mut self, triangles: Option<u32>) -> Result<(), Closed> {
        if let Some(face) = self.model.face.clone() {
            self.use_face(&face)?;
            self.link.files.offer_face(face);
            return self.send_build(BuildState::Ready, "");
        }
        if self.model.rig.skin().shapes.is_empty() {
            return self.fail(format!(
                "{}: its skin has no blendshapes, so there is nothing to fit; export it with its shape keys",
                self.model.rig.name
            ));
        }
        self.work.forget_build();
        self.work.cancelled = Arc::new(AtomicBool::new(false));
        self.work.is_building = true;
        let triangles = triangles.unwrap_or(TRIANGLES).clamp(*SIZES.start(), *SIZES.end()) as usize;
        let (job, cancelled, library) =
            (self.work.job, self.work.cancelled.clone(), self.work.library.clone());
        let (model, commands) = (self.model.clone(), self.link.commands.clone());
        let has_face = self.bodies.has_face();
        std::thread::spawn(move || {
            // With a fitted face at hand, no preview is needed.
            let mut qualities = vec![Quality::Preview, Quality::Fitted];
            if has_face || library.has(&model.rig, triangles) {
                qualities.remove(0);
            }
            for quality in qualities {
                let mut report = |progress| {
                    // Progress is not worth waiting for: more will come.
                    let _ =
                        commands.try_send(Command::Building(BuildNews { job, quality, news: Ok(progress) }));
                };
                let outcome = library.make(&model, triangles, quality, &cancelled, &mut report);
                let failed = !matches!(outcome, Outcome::Done(_));
                let news = BuildNews { job, quality, news: Err(outcome) };
                if commands.send(Command::Building(news)).is_err() || failed {
                    return;
                }
            }
        });
        Ok(())
    }

    pub(super) fn handle_build_news(&mut self, news: BuildNews) -> Result<(), Closed> {
        if news.job != self.work.job {
            return Ok(());
        }
        let has_face = self.bodies.has_face();
        self.work.is_building = match &news.news {
            Ok(_) => true,
            Err(outcome) => matches!(outcome, Outcome::Done(_)) && news.quality == Quality::Preview,
        };
        match (news.news, news.quality) {
            (Ok(Progress { stage, fraction, seconds, worst }), quality) => {
                let state = if has_face { BuildState::Preview } else { BuildState::Running };
                // The preview is the first, short part of the whole.
                let fraction = match quality {
                    Quality::Preview => fraction.map(|done| 0.2 * done),
                    Quality::Fitted => fraction.map(|done| 0.2 + 0.8 * done),
                };
                self.send_message(ServerMessage::Build {
                    state,
                    stage: stage.into(),
                    fraction,
                    seconds,
                    worst,
                })
            }
            (Err(Outcome::Done(face)), quality) => {
                self.use_face(&face)?;
                if quality == Quality::Preview {
                    return self.send_build(BuildState::Preview, "fitting the stiffness of the skin");
                }
                self.link.files.offer_face(face);
                self.send_build(BuildState::Ready, "")
            }
            (Err(Outcome::Cancelled), _) => self.send_build(BuildState::Cancelled, ""),
            (Err(Outcome::Failed(message)), _) => {
                self.send_build(BuildState::Failed, "")?;
                self.fail(message)
            }
        }
    }

    pub(super) fn record(&mut self, on: bool) -> Result<(), Closed> {
        if on {
            self.recorder.start();
            return self.send_recording(RecordingState::Running, 0.0, None);
        }
        let Some(recording) = self.recorder.stop() else { return Ok(()) };
        self.send_recording(RecordingState::Writing, recording.seconds(), None)?;
        self.write_recording(recording);
        Ok(())
    }

    fn write_recording(&self, recording: Recording) {
        let (model, commands) = (self.model.clone(), self.link.commands.clone());
        std::thread::spawn(move || {
            let written = recording.write(&model);
            // The tab may have been closed meanwhile.
            let _ = commands.send(Command::Recorded(written));
        });
    }

    pub(super) fn finish_recording(&mut self, result: Result<Vec<u8>, String>) -> Result<(), Closed> {
        match result {
            Ok(bytes) => {
                let length = bytes.len() as u64;
                self.link.files.offer_recording(bytes);
                self.send_recording(RecordingState::Ready, 0.0, Some(length))
            }
            Err(message) => {
                self.send_recording(RecordingState::Failed, 0.0, None)?;
                self.fail(format!("the recording could not be written: {message}"))
            }
        }
    }

    fn send_recording(&self, state: RecordingState, seconds: f64, bytes: Option<u64>) -> Result<(), Closed> {
        self.send_message(ServerMessage::Recording { state, seconds, bytes })
    }
}
