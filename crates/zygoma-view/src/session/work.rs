//! What takes longer than a frame, on threads of its own: reading, building, writing.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use zygoma_rig::formats::Limits;

use super::maker::Maker;
use super::recorder::Recording;
use super::{Command, Gone, Loaded, Session};
use crate::builder::{Ended, Library, Progress, Quality};
use crate::model::{HeadChoice, Model};
use crate::protocol::{BuildState, RecordingState, ServerMessage};
use crate::server::SessionFiles;

/// Triangles of the shell, unless the page asks for others.
const TRIANGLES: u32 = 2000;

/// What the page may ask for.
const SIZES: std::ops::RangeInclusive<u32> = 500..=12_000;

/// What an uploaded file may make us read: less than what a user's own files may.
pub(super) const UPLOAD_LIMITS: Limits = Limits {
    file_bytes: 512 << 20,
    text_bytes: 16 << 20,
    script_bytes: 1 << 20,
    decoded_bytes: 1 << 30,
    vertices: 400_000,
    shapes: 1024,
    keys: 1_000_000,
};

/// Something about a build.
#[derive(Debug)]
pub(crate) struct BuildNews {
    /// Which build; an older one's news are ignored.
    job: u64,
    quality: Quality,
    what: Result<Progress, Ended>,
}

/// Helpers of a session.
#[derive(Debug)]
pub(crate) struct Work {
    library: Arc<Library>,
    job: u64,
    is_building: bool,
    cancelled: Arc<AtomicBool>,
    pub(super) maker: Maker,
}

impl Work {
    /// News of the newest build, as its helper would send them.
    #[cfg(test)]
    pub(super) fn news(&self, quality: Quality, what: Result<Progress, Ended>) -> BuildNews {
        BuildNews { job: self.job, quality, what }
    }

    pub(crate) fn new(library: Arc<Library>) -> Self {
        Self { library, job: 0, is_building: false, cancelled: Arc::default(), maker: Maker::default() }
    }

    /// Ends everything that is under way: the page has gone.
    pub(crate) fn cancel_all(&self) {
        self.cancel();
        self.maker.cancel();
    }

    /// Ends the build that is under way.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Ends the build that is under way, whose news are of no use any more: its face may be on its way already.
    pub(crate) fn forget_build(&mut self) {
        self.cancel();
        self.job += 1;
        self.is_building = false;
    }

    /// What was made, and what makes it.
    pub(crate) fn library(&self) -> Arc<Library> {
        self.library.clone()
    }

    /// Whether a face is being made.
    pub(crate) fn is_building(&self) -> bool {
        self.is_building && !self.cancelled.load(Ordering::Relaxed)
    }

    /// Reads a rig, a face or a folder.
    pub(crate) fn load(&self, path: PathBuf, files: Arc<SessionFiles>, commands: &SyncSender<Command>) {
        self.maker.make(commands, move |budget| {
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
        self.maker.make(commands, move |_| {
            let same = !shown.dials.is_empty();
            let made = Model::built_in(&choice, Some(&shown));
            made.map(|model| Loaded { model: Arc::new(model), same, fit })
        });
    }
}

impl Session {
    /// Starts to make the face of what is shown.
    pub(super) fn start_build(&mut self, triangles: Option<u32>) -> Result<(), Gone> {
        if let Some(face) = self.model.face.clone() {
            self.have_face(&face)?;
            self.link.files.offer_face(face);
            return self.tell_build(BuildState::Ready, "");
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
        let is_touchable = self.running.is_some();
        std::thread::spawn(move || {
            // A face that was fitted before makes the preview needless.
            let mut qualities = vec![Quality::Preview, Quality::Fitted];
            if is_touchable || library.has(model.rig.skin(), triangles) {
                qualities.remove(0);
            }
            for quality in qualities {
                let mut tell = |progress| {
                    // News are not worth waiting for: more will come.
                    let _ =
                        commands.try_send(Command::Building(BuildNews { job, quality, what: Ok(progress) }));
                };
                let ended = library.make(&model, triangles, quality, &cancelled, &mut tell);
                let failed = !matches!(ended, Ended::Made(_));
                let news = BuildNews { job, quality, what: Err(ended) };
                if commands.send(Command::Building(news)).is_err() || failed {
                    return;
                }
            }
        });
        Ok(())
    }

    pub(super) fn hear_of_build(&mut self, news: BuildNews) -> Result<(), Gone> {
        if news.job != self.work.job {
            return Ok(());
        }
        let touchable = self.running.is_some();
        self.work.is_building = match &news.what {
            Ok(_) => true,
            Err(ended) => matches!(ended, Ended::Made(_)) && news.quality == Quality::Preview,
        };
        match (news.what, news.quality) {
            (Ok(Progress { stage, share, seconds, worst }), quality) => {
                let state = if touchable { BuildState::Preview } else { BuildState::Running };
                // The preview is the first, short part of the whole.
                let share = match quality {
                    Quality::Preview => share.map(|share| 0.2 * share),
                    Quality::Fitted => share.map(|share| 0.2 + 0.8 * share),
                };
                self.tell(ServerMessage::Build { state, stage: stage.into(), share, seconds, worst })
            }
            (Err(Ended::Made(face)), quality) => {
                self.have_face(&face)?;
                if quality == Quality::Preview {
                    return self.tell_build(BuildState::Preview, "fitting the stiffness of the skin");
                }
                self.link.files.offer_face(face);
                self.tell_build(BuildState::Ready, "")
            }
            (Err(Ended::Cancelled), _) => self.tell_build(BuildState::Cancelled, ""),
            (Err(Ended::Failed(message)), _) => {
                self.tell_build(BuildState::Failed, "")?;
                self.fail(message)
            }
        }
    }

    pub(super) fn record(&mut self, on: bool) -> Result<(), Gone> {
        if on {
            self.recorder.start();
            return self.tell_recording(RecordingState::Running, 0.0, None);
        }
        let Some(recording) = self.recorder.stop() else { return Ok(()) };
        self.tell_recording(RecordingState::Writing, recording.seconds(), None)?;
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

    pub(super) fn finish_recording(&mut self, result: Result<Vec<u8>, String>) -> Result<(), Gone> {
        match result {
            Ok(bytes) => {
                let length = bytes.len() as u64;
                self.link.files.offer_recording(bytes);
                self.tell_recording(RecordingState::Ready, 0.0, Some(length))
            }
            Err(message) => {
                self.tell_recording(RecordingState::Failed, 0.0, None)?;
                self.fail(format!("the recording could not be written: {message}"))
            }
        }
    }

    fn tell_recording(&self, state: RecordingState, seconds: f64, bytes: Option<u64>) -> Result<(), Gone> {
        self.tell(ServerMessage::Recording { state, seconds, bytes })
    }
}
