//! One tab: a thread with a simulation of its own.
//!
//! The page's messages arrive by a bounded channel and are dealt with between frames. Every frame advances the face by the time
//! that has really passed, whatever the rate of frames. Frames leave by a [`Mailbox`], everything else by a bounded queue.

mod anatomy;
mod bodies;
mod frames;
mod hands;
mod loader;
mod paint;
mod params;
mod performer;
mod recorder;
mod running;
mod shake;
mod shell;
#[cfg(test)]
mod tests;
mod tissue;
mod tracked;
mod work;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::{Duration, Instant};

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;

use crate::mailbox::Mailbox;
use crate::model::{HeadChoice, Model};
use crate::protocol::{BuildState, ClientMessage, ServerMessage};
use crate::server::SessionFiles;
use anatomy::AnatomyJobs;
use bodies::Bodies;
use hands::Hands;
use paint::{Dab, Paint};
use params::Params;
use performer::Performer;
use recorder::Recorder;
use shake::Shake;
use tissue::Inside;
use tracked::TrackedHands;
pub(crate) use tracked::check_hand;
pub(crate) use work::Work;

/// An input of a session, from the page or from its own threads.
#[derive(Debug)]
pub(crate) enum Command {
    /// A message of the page.
    Message(ClientMessage),
    /// A hand of another program.
    Program(ClientMessage),
    /// A model that was requested.
    Loaded(loader::Request, Box<Result<Loaded, String>>),
    /// News of building the face.
    Building(work::BuildNews),
    /// News of building a body.
    BuildingBody(bodies::BodyNews),
    /// A recording was written.
    Recorded(Result<Vec<u8>, String>),
    /// An anatomy was fitted.
    Anatomy(anatomy::FittedAnatomy),
}

/// A model that was loaded.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) model: Arc<Model>,
    /// The same head with other dials.
    pub(crate) same: bool,
    /// Whether its skin should be fitted now.
    pub(crate) fit: bool,
}

/// An output of a session besides frames.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// A text message.
    Text(ServerMessage),
    /// A binary message.
    Binary(Vec<u8>),
}

/// Connects a session to the server.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) frames: Arc<Mailbox>,
    pub(crate) outgoing: tokio::sync::mpsc::Sender<Outgoing>,
    pub(crate) files: Arc<SessionFiles>,
    /// For the session's own threads.
    pub(crate) commands: SyncSender<Command>,
}

/// The longest time that one frame advances: after a pause the face does not catch up.
const LONGEST_FRAME: f64 = 0.1;

/// A touch is shown at once if the last frame is at least this old, instead of at the next tick.
const AT_ONCE: Duration = Duration::from_millis(4);

/// How often a hidden tab is looked after.
const HIDDEN: Duration = Duration::from_millis(500);

/// Frames per second that a page may ask for.
const RATES: std::ops::RangeInclusive<f32> = 1.0..=1000.0;

/// A running tab.
pub(crate) struct Session {
    link: Link,
    work: Work,
    model: Arc<Model>,
    bodies: Bodies,
    performer: Performer,
    hands: Hands,
    tracked: TrackedHands,
    shake: Shake,
    params: Params,
    paint: Paint,
    recorder: Recorder,
    anatomy: AnatomyJobs,
    /// Seconds between frames; `None` while the page is hidden.
    period: Option<Duration>,
    shows_rig: bool,
    shows_contacts: bool,
    shows_inside: Inside,
    number: u32,
    acknowledged: u32,
    input: u32,
    face_time: f64,
    pose: RigidMotion,
    /// Surfaces of all meshes.
    surfaces: Vec<Vec<Vec3>>,
    rig_surface: Vec<Vec3>,
    displacements: Vec<Vec3>,
    /// Where the mesh is that is carried by the skin now.
    riding: Vec<Vec3>,
    /// Which meshes moved since they were sent last.
    stale: Vec<bool>,
    head_choice: HeadChoice,
}

/// The tab was closed: nobody listens any more.
struct Closed;

impl Session {
    /// A session that shows a model.
    pub(crate) fn new(link: Link, work: Work, model: Arc<Model>) -> Self {
        Self {
            performer: Performer::new(&model),
            surfaces: Vec::new(),
            riding: Vec::new(),
            rig_surface: Vec::new(),
            displacements: Vec::new(),
            stale: Vec::new(),
            hands: Hands::default(),
            tracked: TrackedHands::default(),
            shake: Shake::default(),
            params: Params::default(),
            paint: Paint::default(),
            recorder: Recorder::default(),
            anatomy: AnatomyJobs::default(),
            bodies: Bodies::default(),
            period: Some(Duration::from_secs_f64(1.0 / 60.0)),
            shows_rig: false,
            shows_contacts: false,
            shows_inside: Inside::default(),
            number: 0,
            acknowledged: 0,
            input: 0,
            face_time: 0.0,
            pose: RigidMotion::IDENTITY,
            head_choice: HeadChoice::default(),
            link,
            work,
            model,
        }
    }

    /// Runs until the tab is closed.
    pub(crate) fn run(mut self, commands: &Receiver<Command>) {
        // Nobody is left to notify.
        let _: Result<(), Closed> = self.run_to_end(commands);
        self.work.cancel_all();
        self.cancel_body_build();
    }

    fn run_to_end(&mut self, commands: &Receiver<Command>) -> Result<(), Closed> {
        self.show(self.model.clone(), false)?;
        if !self.model.rig.skin().shapes.is_empty() {
            self.start_build(None)?;
        }
        let mut last = Instant::now();
        let mut due = last;
        loop {
            // The session and its threads hold senders of commands, so a closed tab shows on the outgoing side only.
            if self.link.outgoing.is_closed() {
                return Err(Closed);
            }
            let Some(period) = self.period else {
                match commands.recv_timeout(HIDDEN) {
                    Ok(command) => self.handle(command)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Err(Closed),
                }
                last = Instant::now();
                due = last;
                continue;
            };
            if self.wait(commands, due, last)? {
                let now = Instant::now();
                let seconds = (now - last).as_secs_f64().min(LONGEST_FRAME);
                last = now;
                due = (due + period).max(now);
                self.frame(seconds)?;
                if self.recorder.is_full() {
                    self.record(false)?;
                }
            }
        }
    }

    /// Handles commands until the next frame is due; false if something changed so much that it must be looked at again.
    fn wait(&mut self, commands: &Receiver<Command>, due: Instant, last: Instant) -> Result<bool, Closed> {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            let command = if left.is_zero() {
                match commands.try_recv() {
                    Ok(command) => command,
                    Err(TryRecvError::Empty) => return Ok(true),
                    Err(TryRecvError::Disconnected) => return Err(Closed),
                }
            } else {
                match commands.recv_timeout(left) {
                    Ok(command) => command,
                    Err(RecvTimeoutError::Timeout) => return Ok(true),
                    Err(RecvTimeoutError::Disconnected) => return Err(Closed),
                }
            };
            let is_input = matches!(
                &command,
                Command::Message(
                    ClientMessage::Press { .. } | ClientMessage::Pull { .. } | ClientMessage::Release { .. }
                )
            );
            let before = self.period;
            self.handle(command)?;
            if self.period != before {
                return Ok(false);
            }
            if is_input && last.elapsed() >= AT_ONCE {
                return Ok(true);
            }
        }
    }

    fn send_message(&self, message: ServerMessage) -> Result<(), Closed> {
        self.link.outgoing.blocking_send(Outgoing::Text(message)).map_err(|_| Closed)
    }

    fn send(&self, message: Vec<u8>) -> Result<(), Closed> {
        self.link.outgoing.blocking_send(Outgoing::Binary(message)).map_err(|_| Closed)
    }

    fn fail(&self, message: impl Into<String>) -> Result<(), Closed> {
        self.send_message(ServerMessage::Error { message: message.into() })
    }

    fn handle(&mut self, command: Command) -> Result<(), Closed> {
        match command {
            Command::Message(message) => self.handle_message(message),
            Command::Program(message) => self.move_hand(&message),
            Command::Loaded(request, _) if request.is_superseded() => Ok(()),
            Command::Loaded(_, loaded) => match *loaded {
                Ok(loaded) => self.replace(loaded),
                Err(message) => self.fail(message),
            },
            Command::Building(news) => self.handle_build_news(news),
            Command::BuildingBody(news) => self.handle_body_news(news),
            Command::Recorded(result) => self.finish_recording(result),
            Command::Anatomy(fitted) => self.finish_anatomy(fitted),
        }
    }

    fn handle_message(&mut self, message: ClientMessage) -> Result<(), Closed> {
        match message {
            ClientMessage::Rate { hertz } => {
                let rate = hertz.clamp(*RATES.start(), *RATES.end());
                self.period = (hertz > 0.0).then(|| Duration::from_secs_f32(1.0 / rate));
            }
            ClientMessage::Ack { frame } => self.acknowledged = frame,
            ClientMessage::Show { rig, contacts, volume, lips, cut, stiffness } => {
                (self.shows_rig, self.shows_contacts) = (rig, contacts);
                self.shows_inside = Inside { volume, lips, cut };
                self.paint.show(stiffness);
            }
            ClientMessage::Body { body } => self.choose_body(&body)?,
            ClientMessage::Params { values } => {
                self.params.set(values);
                self.apply_params()?;
            }
            ClientMessage::Hold { values } => self.performer.hold(&values),
            ClientMessage::LetGo { controls } => self.performer.let_go(controls.as_deref()),
            ClientMessage::Transport { .. } => {
                if self.performer.transport(&message) {
                    self.send_takes()?;
                }
            }
            ClientMessage::Press { input, .. }
            | ClientMessage::Pull { input, .. }
            | ClientMessage::Release { input, .. } => {
                self.input = input;
                self.touch(&message)?;
            }
            ClientMessage::Paint { control, point, radius, mu, lambda, erase } => {
                self.paint(control, &Dab { point, radius, mu, lambda, erase })?;
            }
            ClientMessage::ClearPaint { control } => self.clear_paint(control),
            ClientMessage::Hand { input, .. }
            | ClientMessage::Pinch { input, .. }
            | ClientMessage::Gesture { input, .. }
            | ClientMessage::HandAway { input, .. } => {
                self.input = input;
                self.move_hand(&message)?;
            }
            ClientMessage::DragHead { held, yaw, pitch, input } => {
                self.input = input;
                self.shake.drag(held, yaw, pitch);
            }
            ClientMessage::Dials { seed, values, settled } => {
                self.head_choice = HeadChoice { seed, dials: values };
                self.work.turn_dials(&self.head_choice, &self.model, settled, &self.link.commands);
            }
            ClientMessage::Open { upload } => self.open(upload)?,
            ClientMessage::AddTake { upload } => self.add_take(&upload)?,
            ClientMessage::Build { triangles } => self.start_build(Some(triangles))?,
            ClientMessage::CancelBuild => self.cancel_build()?,
            ClientMessage::Anatomy => self.fit_anatomy()?,
            ClientMessage::Record { on } => self.record(on)?,
        }
        Ok(())
    }

    fn open(&mut self, upload: Option<String>) -> Result<(), Closed> {
        let Some(upload) = upload else {
            self.send_message(ServerMessage::Loading { name: "the built-in head".into() })?;
            self.head_choice = HeadChoice::default();
            self.work.turn_dials(&self.head_choice, &self.model, true, &self.link.commands);
            return Ok(());
        };
        let Some(path) = self.link.files.path(&upload) else {
            return self.fail(format!("{upload} was not uploaded; drop it again"));
        };
        self.send_message(ServerMessage::Loading { name: upload.clone() })?;
        self.work.load(path, self.link.files.clone(), &self.link.commands);
        Ok(())
    }

    fn add_take(&mut self, upload: &str) -> Result<(), Closed> {
        let Some(path) = self.link.files.path(upload) else {
            return self.fail(format!("{upload} was not uploaded; drop it again"));
        };
        match self.performer.add_take(&path, &self.model) {
            Ok(()) => self.send_takes(),
            Err(error) => self.fail(self.link.files.tidy(&error)),
        }
    }

    fn send_takes(&self) -> Result<(), Closed> {
        self.send_message(ServerMessage::Takes {
            takes: self.performer.entries(),
            current: self.performer.current(),
        })
    }

    /// Shows another model.
    fn replace(&mut self, loaded: Loaded) -> Result<(), Closed> {
        self.work.forget_build();
        self.record(false)?;
        if loaded.same {
            self.performer.keep_for(&loaded.model);
        } else {
            self.performer = Performer::new(&loaded.model);
        }
        self.show(loaded.model, loaded.same)?;
        if loaded.fit {
            self.start_build(None)?;
        }
        Ok(())
    }

    fn show(&mut self, model: Arc<Model>, same: bool) -> Result<(), Closed> {
        let vertices = |model: &Model| model.rig.skin().positions.len();
        let has_same_mesh = same && vertices(&model) == vertices(&self.model);
        self.model = model;
        if has_same_mesh {
            self.paint.keep_for_other_skin();
        } else {
            self.paint = Paint::default();
        }
        self.forget_anatomy();
        self.start_bodies();
        self.leave_body();
        self.surfaces = self.model.rig.meshes.iter().map(|mesh| mesh.positions.clone()).collect();
        self.rig_surface = self.model.rig.skin().positions.clone();
        // A mesh that no shape moves is where the scene says it is.
        self.stale = self.model.parts.iter().map(crate::model::Part::moves).collect();
        self.stale[self.model.rig.skin] = true;
        self.send(self.model.scene(same))?;
        if !same {
            self.send_message(ServerMessage::Report { report: self.model.report() })?;
            self.send_takes()?;
        }
        self.send_body()?;
        self.send_build(BuildState::None, "")
    }

    fn send_build(&self, state: BuildState, stage: &str) -> Result<(), Closed> {
        let message =
            ServerMessage::Build { state, stage: stage.into(), fraction: None, seconds: 0.0, worst: None };
        self.send_message(message)
    }
}
