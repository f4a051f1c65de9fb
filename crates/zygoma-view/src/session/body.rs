//! What the face is made of: rig, shell or tissue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zygoma_face::body::Body as Simulated;
use zygoma_face::model::FaceModel;

use super::flesh::Flesh;
use super::hands::Hands;
use super::{Command, Gone, Session};
use crate::grower::{Growing, Grown};
use crate::protocol::{Body, ClientMessage, ServerMessage};

/// What a face is made of, as asked for and as far as it is there.
#[derive(Default)]
pub(crate) struct Bodies {
    wanted: Body,
    /// The face under which there is flesh, or will be.
    face: Option<Arc<FaceModel>>,
    pub(super) flesh: Option<Flesh>,
    growth: Option<Growth>,
    /// The number of the newest growth.
    newest: u64,
    /// Stiffness of sticky lips over the usual one.
    stickiness: f64,
    /// The finger that was told that it touches nothing.
    refused: Option<u32>,
}

/// Flesh that is being made.
struct Growth {
    job: u64,
    cancelled: Arc<AtomicBool>,
}

/// Something about the making of flesh.
pub(crate) struct GrowthNews {
    /// Which; the news of an older one are ignored.
    job: u64,
    what: Result<Growing, Grown>,
}

impl std::fmt::Debug for GrowthNews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GrowthNews").field("job", &self.job).finish_non_exhaustive()
    }
}

/// Whether flesh under one face is flesh under another: a fit changes neither the mesh nor its shapes.
fn is_same_flesh(a: &FaceModel, b: &FaceModel) -> bool {
    a.coarse == b.coarse && a.neutral == b.neutral
}

impl Session {
    /// What is shown now: what was asked for, or the next best until it is there.
    pub(super) fn shown(&self) -> Body {
        match self.bodies.wanted {
            Body::Tissue if self.bodies.flesh.is_some() => Body::Tissue,
            Body::Tissue | Body::Shell if self.running.is_some() => Body::Shell,
            _ => Body::Rig,
        }
    }

    /// What can be touched, if anything.
    pub(super) fn touchable(&self) -> Option<&dyn Simulated> {
        match self.shown() {
            Body::Rig => None,
            Body::Shell => self.running.as_ref().map(|running| running as &dyn Simulated),
            Body::Tissue => self.bodies.flesh.as_ref().map(Flesh::touchable),
        }
    }

    /// Shows the face as something else. Weights, take and pose go on.
    pub(super) fn choose_body(&mut self, body: Body) -> Result<(), Gone> {
        let before = self.shown();
        self.bodies.wanted = body;
        if body == Body::Tissue {
            self.grow();
        }
        if body != Body::Rig && self.running.is_none() && !self.work.is_building() {
            self.start_build(None)?;
        }
        self.enter(before)?;
        self.tell_body()
    }

    /// Puts what is shown now into the present expression, if it is another body than before.
    fn enter(&mut self, before: Body) -> Result<(), Gone> {
        let body = self.shown();
        if body == before {
            return Ok(());
        }
        let skin = self.model.rig.skin;
        // The skin is evaluated anew even if no weight changes.
        self.performer.refresh(skin);
        self.hands = Hands::default();
        match body {
            Body::Rig => Ok(()),
            // What it did before it was left is over.
            Body::Shell => match self.bodies.face.clone() {
                Some(face) => self.run_face(&face),
                None => Ok(()),
            },
            Body::Tissue => {
                self.performer.update_weights(&self.model);
                if let Some(flesh) = &mut self.bodies.flesh {
                    flesh.settle(self.performer.weights(skin), &self.pose);
                }
                Ok(())
            }
        }
    }

    /// A face was made or read: flesh grows under it if it is wanted.
    pub(super) fn flesh_out(&mut self, face: &Arc<FaceModel>) {
        let is_other = self.bodies.face.as_ref().is_none_or(|own| !is_same_flesh(own, face));
        self.bodies.face = Some(face.clone());
        if is_other {
            self.bodies.flesh = None;
            self.cancel_growth();
        }
        if self.bodies.wanted == Body::Tissue {
            self.grow();
        }
    }

    /// Forgets everything about a face that is no longer shown.
    pub(super) fn forget_body(&mut self) {
        self.cancel_growth();
        (self.bodies.face, self.bodies.flesh) = (None, None);
    }

    fn grow(&mut self) {
        let Some(face) = self.bodies.face.clone() else { return };
        if self.bodies.flesh.is_some() || self.bodies.growth.is_some() {
            return;
        }
        self.bodies.newest += 1;
        let (job, cancelled) = (self.bodies.newest, Arc::new(AtomicBool::new(false)));
        self.bodies.growth = Some(Growth { job, cancelled: cancelled.clone() });
        let (model, commands, library) =
            (self.model.clone(), self.link.commands.clone(), self.work.library());
        std::thread::spawn(move || {
            let mut tell = |now| {
                // News are not worth waiting for: more will come.
                let _ = commands.try_send(Command::Growing(GrowthNews { job, what: Ok(now) }));
            };
            let grown = library.grower.grow(&model, &face, &cancelled, &mut tell);
            // The tab may have been closed meanwhile.
            let _ = commands.send(Command::Growing(GrowthNews { job, what: Err(grown) }));
        });
    }

    /// Ends the making of flesh; false if none was under way.
    pub(super) fn cancel_growth(&mut self) -> bool {
        let Some(growth) = self.bodies.growth.take() else { return false };
        growth.cancelled.store(true, Ordering::Relaxed);
        true
    }

    /// Ends what is being made, as the user asked: flesh first.
    pub(super) fn cancel(&mut self) -> Result<(), Gone> {
        if !self.cancel_growth() {
            self.work.cancel();
            return Ok(());
        }
        self.bodies.wanted = self.shown();
        self.tell_body()
    }

    pub(super) fn hear_of_growth(&mut self, news: GrowthNews) -> Result<(), Gone> {
        if self.bodies.growth.as_ref().is_none_or(|growth| growth.job != news.job) {
            return Ok(());
        }
        let grown = match news.what {
            Ok(now) => return self.tell_body_growing(now),
            Err(grown) => grown,
        };
        let before = self.shown();
        self.bodies.growth = None;
        match grown {
            Grown::Made(performing) => {
                let mut flesh = Flesh::new(*performing);
                flesh.set(self.bodies.stickiness, self.materials.gravity());
                self.bodies.flesh = Some(flesh);
                self.enter(before)?;
            }
            Grown::Cancelled => self.bodies.wanted = before,
            Grown::Failed(reason) => {
                self.bodies.wanted = before;
                self.fail(reason)?;
            }
        }
        self.tell_body()
    }

    /// Tells what the face is made of.
    pub(super) fn tell_body(&self) -> Result<(), Gone> {
        self.tell_body_growing(Growing { stage: "starting", ..Growing::default() })
    }

    /// [`tell_body`](Self::tell_body) with where its making stands, if it is under way.
    fn tell_body_growing(&self, now: Growing) -> Result<(), Gone> {
        let shown = self.shown();
        let is_under_way = self.bodies.growth.is_some() && self.bodies.wanted == Body::Tissue;
        let Growing { stage, share, seconds } = if is_under_way { now } else { Growing::default() };
        let note = match &self.bodies.flesh {
            Some(flesh) if shown == Body::Tissue => flesh.note(),
            _ => String::new(),
        };
        let (wanted, stage) = (self.bodies.wanted, stage.to_owned());
        self.tell(ServerMessage::Body { shown, wanted, stage, share, seconds, note })
    }

    /// Sets how sticky the lips of flesh are.
    pub(super) fn set_stickiness(&mut self, stickiness: f64) {
        if stickiness.is_finite() {
            self.bodies.stickiness = stickiness;
        }
        self.apply_to_flesh();
    }

    /// Gives the flesh what the page has set.
    pub(super) fn apply_to_flesh(&mut self) {
        if let Some(flesh) = &mut self.bodies.flesh {
            flesh.set(self.bodies.stickiness, self.materials.gravity());
        }
    }

    /// A finger where there is nothing to touch: it is told so, once.
    pub(super) fn refuse_touch(&mut self, message: &ClientMessage) -> Result<(), Gone> {
        let (ClientMessage::Press { id, .. } | ClientMessage::Pull { id, .. }) = message else {
            self.bodies.refused = None;
            return Ok(());
        };
        if self.bodies.refused.replace(*id).is_some() {
            return Ok(());
        }
        if self.bodies.wanted == Body::Rig {
            return self.fail("the plain rig cannot be touched; choose the shell or tissue");
        }
        // Something that can be touched is not there yet, which the page says already.
        Ok(())
    }
}
