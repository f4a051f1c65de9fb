//! One tab: a thread with a simulation of its own.
//!
//! The page's messages arrive by a bounded channel and are dealt with between frames. Every frame advances the face by the time
//! that has really passed, whatever the rate of frames. Frames leave by a [`Mailbox`], everything else by a bounded queue.

mod body;
mod contacts;
mod flesh;
mod hands;
mod maker;
mod materials;
mod performer;
mod recorder;
mod shake;
#[cfg(test)]
mod tests;
mod work;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::{Duration, Instant};

use glam::Vec3;
use zygoma_face::model::FaceModel;
use zygoma_face::shell::{RunParams, ShellBody};
use zygoma_geometry::rigid::RigidMotion;

use crate::frame::{FrameHeader, FrameWriter};
use crate::mailbox::Mailbox;
use crate::model::{HeadChoice, Model};
use crate::protocol::{Body, BuildState, ClientMessage, ServerMessage, flag, section, stage};
use crate::server::SessionFiles;
use body::Bodies;
use flesh::Inside;
use hands::Hands;
use materials::Materials;
use performer::Performer;
use recorder::Recorder;
use shake::Shake;
pub(crate) use work::Work;

/// What a session is told: by the page, or by its own helpers.
#[derive(Debug)]
pub(crate) enum Command {
    /// A message of the page.
    Message(ClientMessage),
    /// A model that was wished for.
    Loaded(maker::Wish, Box<Result<Loaded, String>>),
    /// Where a build stands.
    Building(work::BuildNews),
    /// Where the making of flesh stands.
    Growing(body::GrowthNews),
    /// A recording was written.
    Recorded(Result<Vec<u8>, String>),
}

/// A model that was read, and what it replaces.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) model: Arc<Model>,
    /// The same head with other dials.
    pub(crate) same: bool,
    /// Whether its skin should be fitted now.
    pub(crate) fit: bool,
}

/// What leaves a session besides frames.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// A text message.
    Text(ServerMessage),
    /// A binary message.
    Binary(Vec<u8>),
}

/// What a session shares with the server.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) frames: Arc<Mailbox>,
    pub(crate) outgoing: tokio::sync::mpsc::Sender<Outgoing>,
    pub(crate) files: Arc<SessionFiles>,
    /// To give to helpers.
    pub(crate) commands: SyncSender<Command>,
}

/// Frames that may be under way before the session waits for the page to acknowledge one.
const IN_FLIGHT: u32 = 3;

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
    /// The shell.
    running: Option<ShellBody>,
    bodies: Bodies,
    performer: Performer,
    hands: Hands,
    shake: Shake,
    materials: Materials,
    recorder: Recorder,
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

/// The page has gone.
struct Gone;

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
            shake: Shake::default(),
            materials: Materials::default(),
            recorder: Recorder::default(),
            running: None,
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

    /// Runs until the page has gone.
    pub(crate) fn run(mut self, commands: &Receiver<Command>) {
        // The page has gone: nothing is left to be told to anybody.
        let _: Result<(), Gone> = self.run_to_end(commands);
        self.work.cancel_all();
        self.cancel_growth();
    }

    fn run_to_end(&mut self, commands: &Receiver<Command>) -> Result<(), Gone> {
        self.show(self.model.clone(), false)?;
        if !self.model.rig.skin().shapes.is_empty() {
            self.start_build(None)?;
        }
        let mut last = Instant::now();
        let mut due = last;
        loop {
            // Helpers hold a way to talk to the session, and so does it, so a closed tab shows on the way out only.
            if self.link.outgoing.is_closed() {
                return Err(Gone);
            }
            let Some(period) = self.period else {
                match commands.recv_timeout(HIDDEN) {
                    Ok(command) => self.obey(command)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Err(Gone),
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

    /// Deals with commands until the next frame is due; false if something changed so much that it must be looked at again.
    fn wait(&mut self, commands: &Receiver<Command>, due: Instant, last: Instant) -> Result<bool, Gone> {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            let command = if left.is_zero() {
                match commands.try_recv() {
                    Ok(command) => command,
                    Err(TryRecvError::Empty) => return Ok(true),
                    Err(TryRecvError::Disconnected) => return Err(Gone),
                }
            } else {
                match commands.recv_timeout(left) {
                    Ok(command) => command,
                    Err(RecvTimeoutError::Timeout) => return Ok(true),
                    Err(RecvTimeoutError::Disconnected) => return Err(Gone),
                }
            };
            let is_input = matches!(
                &command,
                Command::Message(
                    ClientMessage::Press { .. } | ClientMessage::Pull { .. } | ClientMessage::Release { .. }
                )
            );
            let before = self.period;
            self.obey(command)?;
            if self.period != before {
                return Ok(false);
            }
            if is_input && last.elapsed() >= AT_ONCE {
                return Ok(true);
            }
        }
    }

    fn tell(&self, message: ServerMessage) -> Result<(), Gone> {
        self.link.outgoing.blocking_send(Outgoing::Text(message)).map_err(|_| Gone)
    }

    fn send(&self, message: Vec<u8>) -> Result<(), Gone> {
        self.link.outgoing.blocking_send(Outgoing::Binary(message)).map_err(|_| Gone)
    }

    fn fail(&self, message: impl Into<String>) -> Result<(), Gone> {
        self.tell(ServerMessage::Error { message: message.into() })
    }

    fn obey(&mut self, command: Command) -> Result<(), Gone> {
        match command {
            Command::Message(message) => self.hear(message),
            Command::Loaded(wish, _) if wish.is_old() => Ok(()),
            Command::Loaded(_, loaded) => match *loaded {
                Ok(loaded) => self.replace(loaded),
                Err(message) => self.fail(message),
            },
            Command::Building(news) => self.hear_of_build(news),
            Command::Growing(news) => self.hear_of_growth(news),
            Command::Recorded(result) => self.finish_recording(result),
        }
    }

    fn hear(&mut self, message: ClientMessage) -> Result<(), Gone> {
        let body = self.shown();
        match message {
            ClientMessage::Rate { hertz } => {
                let rate = hertz.clamp(*RATES.start(), *RATES.end());
                self.period = (hertz > 0.0).then(|| Duration::from_secs_f32(1.0 / rate));
            }
            ClientMessage::Ack { frame } => self.acknowledged = frame,
            ClientMessage::Show { rig, contacts, volume, lips, cut } => {
                (self.shows_rig, self.shows_contacts) = (rig, contacts);
                self.shows_inside = Inside { volume, lips, cut };
            }
            ClientMessage::Body { body: wanted } => self.choose_body(wanted)?,
            ClientMessage::Flesh { stickiness } => self.set_stickiness(stickiness),
            ClientMessage::Hold { values } => self.performer.hold(&values),
            ClientMessage::LetGo { controls } => self.performer.let_go(controls.as_deref()),
            ClientMessage::Transport { .. } => {
                if self.performer.transport(&message) {
                    self.tell_takes()?;
                }
            }
            ClientMessage::Press { input, .. }
            | ClientMessage::Pull { input, .. }
            | ClientMessage::Release { input, .. } => {
                self.input = input;
                match (body, &mut self.running, &mut self.bodies.flesh) {
                    (Body::Shell, Some(running), _) => self.hands.hear(&message, running, &self.pose),
                    (Body::Tissue, _, Some(flesh)) => {
                        self.hands.hear(&message, flesh.touchable_mut(), &self.pose);
                    }
                    _ => self.refuse_touch(&message)?,
                }
            }
            ClientMessage::DragHead { held, yaw, pitch, input } => {
                self.input = input;
                self.shake.drag(held, yaw, pitch);
            }
            ClientMessage::Materials { stiffness, density, damping, gravity } => {
                self.materials.set(stiffness, density, damping, gravity);
                self.apply_to_flesh();
                self.apply_materials()?;
            }
            ClientMessage::Dials { seed, values, settled } => {
                self.head_choice = HeadChoice { seed, dials: values };
                self.work.turn_dials(&self.head_choice, &self.model, settled, &self.link.commands);
            }
            ClientMessage::Open { upload } => self.open(upload)?,
            ClientMessage::AddTake { upload } => self.add_take(&upload)?,
            ClientMessage::Build { triangles } => self.start_build(Some(triangles))?,
            ClientMessage::CancelBuild => self.cancel()?,
            ClientMessage::Record { on } => self.record(on)?,
        }
        Ok(())
    }

    fn open(&mut self, upload: Option<String>) -> Result<(), Gone> {
        let Some(upload) = upload else {
            self.tell(ServerMessage::Loading { name: "the built-in head".into() })?;
            self.head_choice = HeadChoice::default();
            self.work.turn_dials(&self.head_choice, &self.model, true, &self.link.commands);
            return Ok(());
        };
        let Some(path) = self.link.files.path(&upload) else {
            return self.fail(format!("{upload} was not uploaded; drop it again"));
        };
        self.tell(ServerMessage::Loading { name: upload.clone() })?;
        self.work.load(path, self.link.files.clone(), &self.link.commands);
        Ok(())
    }

    fn add_take(&mut self, upload: &str) -> Result<(), Gone> {
        let Some(path) = self.link.files.path(upload) else {
            return self.fail(format!("{upload} was not uploaded; drop it again"));
        };
        match self.performer.add_take(&path, &self.model) {
            Ok(()) => self.tell_takes(),
            Err(error) => self.fail(self.link.files.tidy(&error)),
        }
    }

    fn tell_takes(&self) -> Result<(), Gone> {
        self.tell(ServerMessage::Takes { takes: self.performer.entries(), current: self.performer.current() })
    }

    /// Shows another model.
    fn replace(&mut self, loaded: Loaded) -> Result<(), Gone> {
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

    fn show(&mut self, model: Arc<Model>, same: bool) -> Result<(), Gone> {
        self.model = model;
        self.running = None;
        self.forget_body();
        self.hands = Hands::default();
        self.surfaces = self.model.rig.meshes.iter().map(|mesh| mesh.positions.clone()).collect();
        self.rig_surface = self.model.rig.skin().positions.clone();
        // What no shape moves is where the scene says it is.
        self.stale = self.model.parts.iter().map(crate::model::Part::moves).collect();
        self.stale[self.model.rig.skin] = true;
        self.send(self.model.scene(same))?;
        if !same {
            self.tell(ServerMessage::Report { report: self.model.report() })?;
            self.tell_takes()?;
        }
        self.tell_body()?;
        self.tell_build(BuildState::None, "")
    }

    fn tell_build(&self, state: BuildState, stage: &str) -> Result<(), Gone> {
        let message =
            ServerMessage::Build { state, stage: stage.into(), share: None, seconds: 0.0, worst: None };
        self.tell(message)
    }

    /// A face is there: it runs, and is told of.
    fn have_face(&mut self, face: &Arc<FaceModel>) -> Result<(), Gone> {
        self.flesh_out(face);
        self.run_face(face)?;
        self.tell_body()
    }

    /// Runs a face in place of the one before.
    fn run_face(&mut self, face: &FaceModel) -> Result<(), Gone> {
        match ShellBody::new(face, RunParams::default()) {
            Ok(running) => {
                self.send(contacts::face_message(face, &running.face().fitted, &self.model))?;
                self.running = Some(running);
                // Fingers on flesh stay there; those on the shell before are gone with it.
                if self.shown() != Body::Tissue {
                    self.hands = Hands::default();
                }
                self.apply_materials()
            }
            Err(error) => self.fail(format!("the face cannot be simulated: {error}")),
        }
    }

    fn apply_materials(&mut self) -> Result<(), Gone> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let (holds, reason) = self.materials.apply(running);
        self.tell(ServerMessage::Certificate { holds, reason })
    }

    /// Advances everything and puts a frame in the mailbox.
    fn frame(&mut self, seconds: f64) -> Result<(), Gone> {
        let body = self.shown();
        let seconds = match &self.bodies.flesh {
            Some(flesh) if body == Body::Tissue => seconds.min(flesh.longest_frame()),
            _ => seconds,
        };
        self.face_time += seconds;
        self.performer.advance(seconds);
        let turned = self.shake.advance(seconds, self.model.rig.pivot(zygoma_rig::JointRole::Head));
        self.pose = performer::then(&self.performer.head_pose(), &turned);
        let skin = self.model.rig.skin;
        self.performer.update_weights(&self.model);
        for (mesh, surface) in self.surfaces.iter_mut().enumerate() {
            let simulated = mesh == skin && body != Body::Rig;
            if self.performer.has_moved(mesh) && !simulated {
                self.model.parts[mesh].evaluator.evaluate(self.performer.weights(mesh), surface);
                self.stale[mesh] = true;
            }
        }
        self.turn_eyes();
        let (mut flags, milliseconds) = match body {
            Body::Rig => (0, [0.0; 6]),
            Body::Shell => self.advance_shell(seconds),
            Body::Tissue => self.advance_flesh(seconds)?,
        };
        self.carry_riders(body);
        if self.performer.is_playing() {
            flags |= flag::PLAYING;
        }
        if self.recorder.is_running() {
            flags |= flag::RECORDING;
            let part = &self.model.parts[skin];
            part.displacements(&self.surfaces[skin], &mut self.displacements);
            let weights = self.performer.control_weights(&self.model);
            self.recorder.push(seconds, &self.displacements, &weights, &self.pose);
        }
        if self.number.wrapping_sub(self.acknowledged) < IN_FLIGHT {
            let header = FrameHeader {
                number: self.number + 1,
                input: self.input,
                flags,
                face_time: self.face_time as f32,
                take_time: self.performer.time() as f32,
                pose: performer::as_numbers(&self.pose),
                milliseconds,
            };
            self.encode(&header);
        }
        Ok(())
    }

    /// Moves the shell on; gives flags and milliseconds of the frame.
    fn advance_shell(&mut self, seconds: f64) -> (u32, [f32; 6]) {
        let skin = self.model.rig.skin;
        let Some(running) = &mut self.running else { return (0, [0.0; 6]) };
        self.hands.follow_head(running, &self.pose);
        running.set_weights(self.performer.weights(skin));
        running.set_head_pose(&self.pose);
        let frame = running.advance(seconds);
        self.surfaces[skin].copy_from_slice(frame.positions);
        let flags = flag::SIMULATED | if frame.asleep { flag::ASLEEP } else { 0 };
        let stages = running.stages();
        let spent: [Duration; stage::SHELL.len()] =
            [stages.rig, stages.gradient, stages.solve, stages.constraints, stages.warp];
        self.stale[skin] = true;
        (flags, in_milliseconds(&spent))
    }

    /// Moves the flesh on; gives flags and milliseconds of the frame.
    fn advance_flesh(&mut self, seconds: f64) -> Result<(u32, [f32; 6]), Gone> {
        let skin = self.model.rig.skin;
        let Some(flesh) = &mut self.bodies.flesh else { return Ok((0, [0.0; 6])) };
        self.hands.follow_head(flesh.touchable_mut(), &self.pose);
        let surface = flesh.advance(seconds, self.performer.weights(skin), &self.pose);
        self.surfaces[skin].copy_from_slice(surface);
        self.stale[skin] = true;
        let spent = in_milliseconds(&flesh.stages());
        if let Some(report) = flesh.report() {
            self.tell(ServerMessage::Flesh(report))?;
        }
        Ok((flag::SIMULATED | flag::TISSUE, spent))
    }

    /// Carries what rides on the skin, where that is simulated.
    fn carry_riders(&mut self, body: Body) {
        let model = self.model.clone();
        for rider in model.followers.riders() {
            let mesh = rider.mesh();
            self.riding.resize(self.surfaces[mesh].len(), Vec3::ZERO);
            model.parts[mesh].evaluator.evaluate(self.performer.weights(mesh), &mut self.riding);
            if body != Body::Rig {
                let skin = model.rig.skin;
                rider.ride(self.performer.weights(skin), &self.surfaces[skin], &mut self.riding);
            }
            if self.riding != self.surfaces[mesh] {
                self.surfaces[mesh].copy_from_slice(&self.riding);
                self.stale[mesh] = true;
            }
        }
    }

    /// Turns the eyeballs that no shape moves.
    fn turn_eyes(&mut self) {
        if self.model.eyes.is_empty() {
            return;
        }
        let controls = self.performer.control_weights(&self.model);
        for eye in &self.model.eyes {
            let motion = self.performer.gaze(eye, &controls);
            let neutral = &self.model.rig.meshes[eye.mesh].positions;
            for (position, rest) in self.surfaces[eye.mesh].iter_mut().zip(neutral) {
                *position = motion.apply(rest.as_dvec3()).as_vec3();
            }
            self.stale[eye.mesh] = true;
        }
    }

    fn encode(&mut self, header: &FrameHeader) {
        let encoding = Instant::now();
        let (skin, model) = (self.model.rig.skin, self.model.clone());
        let weights = self.performer.control_weights(&model);
        let body = self.shown();
        let touched = self.touchable();
        let touches = touched.map(|face| self.hands.reports(face)).unwrap_or_default();
        let forces = match touched {
            Some(face) if self.shows_contacts => contacts::forces(face, &model.parts[skin]),
            _ => Vec::new(),
        };
        let room = 1024 + 6 * model.parts.iter().map(|part| part.neutral.len()).sum::<usize>();
        let mut writer = FrameWriter::new(header, &weights, &touches, &forces, room);
        for (mesh, part) in model.parts.iter().enumerate() {
            if std::mem::take(&mut self.stale[mesh]) {
                part.displacements(&self.surfaces[mesh], &mut self.displacements);
                writer.section(mesh as u32, section::SHOWN, &self.displacements);
            }
        }
        if let (Body::Tissue, Some(flesh)) = (body, &self.bodies.flesh) {
            flesh.show(&self.shows_inside, &model, &mut writer);
        }
        if self.shows_rig && body != Body::Rig {
            let part = &model.parts[skin];
            part.evaluator.evaluate(self.performer.weights(skin), &mut self.rig_surface);
            part.displacements(&self.rig_surface, &mut self.displacements);
            writer.section(skin as u32, section::RIG, &self.displacements);
        }
        let replaced = self.link.frames.put(writer.finish(1e3 * encoding.elapsed().as_secs_f32()));
        if replaced {
            // What the lost frame told of meshes that rest now must be told again.
            for (stale, part) in self.stale.iter_mut().zip(&model.parts) {
                *stale |= part.moves();
            }
            model.followers.riders().iter().for_each(|rider| self.stale[rider.mesh()] = true);
        }
        self.number = header.number;
    }
}

/// Stages as a frame tells them; there may be fewer of them.
fn in_milliseconds(stages: &[Duration]) -> [f32; 6] {
    std::array::from_fn(|k| stages.get(k).map_or(0.0, |stage| 1e3 * stage.as_secs_f32()))
}
