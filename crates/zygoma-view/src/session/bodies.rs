//! Bodies of a tab: which are there, which one is shown, and which is being built.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zygoma_face::body::Body;
use zygoma_face::model::FaceModel;
use zygoma_face::shell::FittedShell;

use super::hands::Hands;
use super::running::RunningBody;
use super::{Closed, Command, Session, shell, tissue, tracked};
use crate::builder::{Outcome, Progress, background_pool};
use crate::kinds::{self, DEFAULT, KINDS, Kind, Make, RIG};
use crate::protocol::{ClientMessage, ParamEntry, ServerMessage};

/// Bodies by kind, and the one that was asked for.
pub(crate) struct Bodies {
    wanted: usize,
    /// The face that all of them are made from.
    face: Option<Arc<FaceModel>>,
    /// One for each kind that is there.
    running: Vec<Option<RunningBody>>,
    /// Threads that they run on. A step has many short parts; with a thread for each core, all of them would wait for the one whose core
    /// draws the page.
    pool: Option<rayon::ThreadPool>,
    build: Option<BodyBuild>,
    /// The number of the newest build.
    newest: u64,
    /// The finger that was already refused because the body cannot be touched.
    refused: Option<u32>,
}

/// A body that is being built.
struct BodyBuild {
    job: u64,
    kind: usize,
    cancelled: Arc<AtomicBool>,
}

/// News of a build of a body.
pub(crate) struct BodyNews {
    /// Which build; news of an older one are ignored.
    job: u64,
    news: Result<Progress, Outcome<Box<dyn Body>>>,
}

impl std::fmt::Debug for BodyNews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodyNews").field("job", &self.job).finish_non_exhaustive()
    }
}

impl Default for Bodies {
    fn default() -> Self {
        Self {
            wanted: DEFAULT,
            face: None,
            running: KINDS.iter().map(|_| None).collect(),
            pool: background_pool(),
            build: None,
            newest: 0,
            refused: None,
        }
    }
}

impl Bodies {
    /// The kind that is shown: the one that was asked for, or the nearest before it that is there.
    pub(super) fn shown(&self) -> usize {
        (0..=self.wanted).rev().find(|kind| self.running[*kind].is_some()).unwrap_or(RIG)
    }

    /// The body that is shown.
    pub(super) fn current(&self) -> Option<&dyn Body> {
        self.running[self.shown()].as_ref().map(RunningBody::body)
    }

    /// The body that is shown, to be run, and the threads to run it on.
    pub(super) fn current_mut(&mut self) -> (Option<&mut RunningBody>, Option<&rayon::ThreadPool>) {
        let shown = self.shown();
        (self.running[shown].as_mut(), self.pool.as_ref())
    }

    /// The face that all of them are made from.
    pub(super) fn face(&self) -> Option<Arc<FaceModel>> {
        self.face.clone()
    }

    /// Whether a face is there.
    pub(super) fn has_face(&self) -> bool {
        self.face.is_some()
    }

    /// The longest time that a frame may advance, s.
    pub(super) fn longest_frame(&self) -> f64 {
        self.running[self.shown()].as_ref().map_or(f64::INFINITY, RunningBody::longest_frame)
    }
}

/// Whether bodies of two faces are the same unless they use the fit: a fit changes neither the mesh nor its shapes.
fn has_same_mesh(a: &FaceModel, b: &FaceModel) -> bool {
    a.coarse == b.coarse && a.neutral == b.neutral
}

impl Session {
    /// Shows another body. Weights, take and pose go on.
    pub(super) fn choose_body(&mut self, name: &str) -> Result<(), Closed> {
        let Some(kind) = kinds::find(name) else {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            return self.fail(format!("there is no body '{name}'; choose one of {}", names.join(", ")));
        };
        let before = self.bodies.shown();
        self.bodies.wanted = kind;
        self.build_wanted_body();
        let needs_face = !matches!(KINDS[kind].make, Make::FromRig(_));
        if needs_face && !self.bodies.has_face() && !self.work.is_building() {
            self.start_build(None)?;
        }
        self.enter(before)?;
        self.send_body()
    }

    /// Puts the body that is shown into the present expression, if it is another one than before.
    fn enter(&mut self, before: usize) -> Result<(), Closed> {
        if self.bodies.shown() == before {
            return Ok(());
        }
        self.leave_body();
        if let (Some(running), _) = self.bodies.current_mut() {
            running.reset();
        }
        self.settle_body()
    }

    /// Lets the body that is shown come to rest in the present expression and pose.
    fn settle_body(&mut self) -> Result<(), Closed> {
        let (kind, skin) = (self.bodies.shown(), self.model.rig.skin);
        self.apply_params_to(kind)?;
        self.paint.renew();
        self.performer.update_weights(&self.model);
        let (weights, pose) = (self.performer.weights(skin), &self.pose);
        let settled = match self.bodies.current_mut() {
            (Some(running), pool) => running.settle(weights, pose, pool),
            (None, _) => Ok(()),
        };
        // Surfaces are evaluated anew even if no weight changes.
        self.performer.refresh();
        match settled {
            Ok(()) => Ok(()),
            Err(error) => self.drop_body(kind, &error.to_string()),
        }
    }

    /// Removes a body that cannot run.
    pub(super) fn drop_body(&mut self, kind: usize, reason: &str) -> Result<(), Closed> {
        self.bodies.running[kind] = None;
        self.bodies.wanted = RIG;
        self.leave_body();
        self.performer.refresh();
        self.fail(format!("the {} cannot run: {reason}", KINDS[kind].name))?;
        self.send_body()
    }

    /// Takes another face: bodies are made from it, now or in the background.
    pub(super) fn use_face(&mut self, face: &Arc<FaceModel>) -> Result<(), Closed> {
        let has_other_mesh = self.bodies.face.as_ref().is_none_or(|own| !has_same_mesh(own, face));
        self.bodies.face = Some(face.clone());
        if has_other_mesh {
            self.cancel_body_build();
        }
        if let Ok(fitted) = FittedShell::of(face) {
            self.send(shell::face_message(face, &fitted, &self.model))?;
        }
        let mut remade = Vec::new();
        for (kind, Kind { make, .. }) in KINDS.iter().enumerate() {
            let made = match make {
                Make::FromRig(_) => continue,
                Make::InBackground(_) if has_other_mesh => None,
                Make::InBackground(_) => continue,
                Make::FromFace(make) => match make(face) {
                    Ok(body) => Some(RunningBody::new(body)),
                    Err(message) => {
                        self.fail(message)?;
                        None
                    }
                },
            };
            self.bodies.running[kind] = made;
            self.apply_params_to(kind)?;
            remade.push(kind);
        }
        if remade.contains(&self.bodies.shown()) {
            // Fingers are gone with the body that they touched.
            self.leave_body();
            self.settle_body()?;
        }
        self.build_wanted_body();
        self.send_message(tracked::gestures(face))?;
        self.send_certificate()?;
        self.send_body()
    }

    /// Starts with the bodies of another rig.
    pub(super) fn start_bodies(&mut self) {
        self.cancel_body_build();
        self.bodies.face = None;
        for (running, kind) in self.bodies.running.iter_mut().zip(&KINDS) {
            *running = match kind.make {
                Make::FromRig(make) => Some(RunningBody::new(make(&self.model))),
                Make::FromFace(_) | Make::InBackground(_) => None,
            };
        }
    }

    /// Builds the body that is wanted in the background, if it is not there yet.
    fn build_wanted_body(&mut self) {
        let kind = self.bodies.wanted;
        let Some(face) = self.bodies.face.clone() else { return };
        if !matches!(KINDS[kind].make, Make::InBackground(_)) || self.bodies.running[kind].is_some() {
            return;
        }
        if self.bodies.build.as_ref().is_some_and(|build| build.kind == kind) {
            return;
        }
        self.cancel_body_build();
        self.bodies.newest += 1;
        let (job, cancelled) = (self.bodies.newest, Arc::new(AtomicBool::new(false)));
        self.bodies.build = Some(BodyBuild { job, kind, cancelled: cancelled.clone() });
        let (model, commands, library) =
            (self.model.clone(), self.link.commands.clone(), self.work.library());
        std::thread::spawn(move || {
            let mut report = |now| {
                // Progress is not worth waiting for: more will come.
                let _ = commands.try_send(Command::BuildingBody(BodyNews { job, news: Ok(now) }));
            };
            let outcome = library.bodies.build(kind, &model, &face, &cancelled, &mut report);
            // The tab may have been closed meanwhile.
            let _ = commands.send(Command::BuildingBody(BodyNews { job, news: Err(outcome) }));
        });
    }

    /// Cancels the build of a body; false if there was none.
    pub(super) fn cancel_body_build(&mut self) -> bool {
        let Some(build) = self.bodies.build.take() else { return false };
        build.cancelled.store(true, Ordering::Relaxed);
        true
    }

    /// Cancels a build, as the user asked: that of a body first.
    pub(super) fn cancel_build(&mut self) -> Result<(), Closed> {
        if !self.cancel_body_build() {
            self.work.cancel();
            return Ok(());
        }
        self.bodies.wanted = self.bodies.shown();
        self.send_body()
    }

    pub(super) fn handle_body_news(&mut self, news: BodyNews) -> Result<(), Closed> {
        let Some(build) = self.bodies.build.as_ref().filter(|build| build.job == news.job) else {
            return Ok(());
        };
        let kind = build.kind;
        let outcome = match news.news {
            Ok(progress) => return self.send_body_building(Some(progress)),
            Err(outcome) => outcome,
        };
        let before = self.bodies.shown();
        self.bodies.build = None;
        match outcome {
            Outcome::Done(body) => {
                self.bodies.running[kind] = Some(RunningBody::new(body));
                self.apply_params_to(kind)?;
                self.enter(before)?;
            }
            Outcome::Cancelled => self.bodies.wanted = before,
            Outcome::Failed(reason) => {
                self.bodies.wanted = before;
                self.fail(reason)?;
            }
        }
        self.send_body()
    }

    /// Sends the page which body is shown.
    pub(super) fn send_body(&self) -> Result<(), Closed> {
        self.send_body_building(None)
    }

    /// [`send_body`](Self::send_body) with the progress of its build, if that is under way.
    fn send_body_building(&self, progress: Option<Progress>) -> Result<(), Closed> {
        let (bodies, shown) = (&self.bodies, self.bodies.shown());
        let is_building = bodies.build.as_ref().is_some_and(|build| build.kind == bodies.wanted);
        let starting = || Progress { stage: "starting", ..Progress::default() };
        let progress = if is_building { progress.unwrap_or_else(starting) } else { Progress::default() };
        let running = bodies.running[shown].as_ref();
        let body = running.map(RunningBody::body);
        self.send_message(ServerMessage::Body {
            shown: KINDS[shown].name.into(),
            wanted: KINDS[bodies.wanted].name.into(),
            is_touchable: body.is_some_and(|body| body.colliders().is_some()),
            stages: running.map_or_else(Vec::new, |running| owned(running.stage_names())),
            params: body.map_or_else(Vec::new, |body| body.params().iter().map(ParamEntry::new).collect()),
            build_stage: progress.stage.into(),
            fraction: progress.fraction,
            seconds: progress.seconds,
            note: body.map_or_else(String::new, tissue::note),
        })
    }

    /// Gives every body the parameters that the page has set.
    pub(super) fn apply_params(&mut self) -> Result<(), Closed> {
        for kind in 0..KINDS.len() {
            self.apply_params_to(kind)?;
        }
        self.send_certificate()
    }

    fn apply_params_to(&mut self, kind: usize) -> Result<(), Closed> {
        let Some(running) = &mut self.bodies.running[kind] else { return Ok(()) };
        match self.params.apply(running.body_mut()) {
            Ok(()) => Ok(()),
            Err(error) => self.fail(error.to_string()),
        }
    }

    /// Sends the page whether the certificate of the face holds.
    fn send_certificate(&self) -> Result<(), Closed> {
        let mut running = self.bodies.running.iter().flatten();
        match running.find_map(|running| shell::certificate(running.body())) {
            Some((holds, reason)) => self.send_message(ServerMessage::Certificate { holds, reason }),
            None => Ok(()),
        }
    }

    /// Forgets fingers and hands on a body that is gone or was reset. Hands come to the next one by themselves.
    pub(super) fn leave_body(&mut self) {
        self.hands = Hands::default();
        self.tracked.leave_body();
    }

    /// Moves a hand of the page, or says why not.
    pub(super) fn move_hand(&mut self, message: &ClientMessage) -> Result<(), Closed> {
        let shown = self.bodies.shown();
        let is_touchable = self.bodies.current().is_some_and(|body| body.colliders().is_some());
        if matches!(message, ClientMessage::Gesture { .. }) && !is_touchable {
            return self.fail(format!("the {} cannot be touched; choose another body", KINDS[shown].name));
        }
        match self.tracked.handle(message, self.bodies.face.as_deref(), self.face_time) {
            Ok(()) => Ok(()),
            Err(reason) => self.fail(reason),
        }
    }

    /// Touches the body that is shown, or says once for each finger that it cannot be touched.
    pub(super) fn touch(&mut self, message: &ClientMessage) -> Result<(), Closed> {
        let (shown, wanted) = (self.bodies.shown(), self.bodies.wanted);
        if let (Some(running), _) = self.bodies.current_mut()
            && running.body().colliders().is_some()
        {
            self.hands.handle(message, running.body_mut());
            return Ok(());
        }
        let (ClientMessage::Press { id, .. } | ClientMessage::Pull { id, .. }) = message else {
            self.bodies.refused = None;
            return Ok(());
        };
        // A body that is still being built is no news: the page shows its progress.
        if self.bodies.refused.replace(*id).is_some() || shown != wanted {
            return Ok(());
        }
        self.fail(format!("the {} cannot be touched; choose another body", KINDS[shown].name))
    }
}

fn owned(names: &[&'static str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
