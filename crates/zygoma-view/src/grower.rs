//! Flesh made in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use zygoma_face::model::Continue;
use zygoma_face::model::FaceModel;
use zygoma_face::model::{FreePart, Teeth};
use zygoma_face::tissue::{Tissue, TissueBody, TissueError, TissueInput, TissueParams, TissueProgress};
use zygoma_rig::jaw::jaw_driven_shapes;

use crate::builder::in_background;
use crate::model::Model;
use crate::turns::{NoTurn, PATIENCE, Turns};

/// How often it tells that it goes on.
const NEWS: Duration = Duration::from_millis(200);

/// Where the making of flesh stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Growing {
    /// What is being done, as words; empty for nothing.
    pub(crate) stage: &'static str,
    /// How much is done, 0 to 1, where known.
    pub(crate) share: Option<f64>,
    /// Seconds since it began.
    pub(crate) seconds: f64,
}

/// What a thread that makes flesh tells.
enum Told {
    Progress(TissueProgress),
    Made(Result<Box<TissueBody>, TissueError>),
}

/// How the making of flesh ended.
pub(crate) enum Grown {
    /// With flesh at rest.
    Made(Box<TissueBody>),
    /// Because it was told to.
    Cancelled,
    /// With a reason, as a sentence.
    Failed(String),
}

/// Makes flesh, for one tab at a time.
#[derive(Debug, Default)]
pub(crate) struct Grower {
    turns: Turns,
}

impl Grower {
    /// Makes the flesh under a face. What was cancelled returns at once; what it was busy with ends at the next shape.
    pub(crate) fn grow(
        &self,
        model: &Arc<Model>,
        face: &Arc<FaceModel>,
        cancel: &Arc<AtomicBool>,
        tell: &mut dyn FnMut(Growing),
    ) -> Grown {
        let began = Instant::now();
        let mut told: Option<Instant> = None;
        let mut news = |stage, share| {
            if told.is_none_or(|told| told.elapsed() >= NEWS) {
                told = Some(Instant::now());
                tell(Growing { stage, share, seconds: began.elapsed().as_secs_f64() });
            }
        };
        let name = &model.rig.name;
        let mut wait = || {
            news("waiting for other flesh", None);
            true
        };
        let _turn = match self.turns.take(cancel, &mut wait) {
            Ok(turn) => turn,
            Err(NoTurn::Unwanted) => return Grown::Cancelled,
            Err(NoTurn::Stuck) => {
                return Grown::Failed(format!(
                    "{name}: flesh that was cancelled is still being made; try again later, or start zygoma again"
                ));
            }
        };
        let heard = self.start(model.clone(), face.clone(), cancel.clone());
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Grown::Cancelled;
            }
            match heard.recv_timeout(PATIENCE) {
                Ok(Told::Progress(now)) => news(described(&now), Some(now.done())),
                Ok(Told::Made(Ok(performing))) => return Grown::Made(performing),
                Ok(Told::Made(Err(TissueError::Abandoned))) => return Grown::Cancelled,
                Ok(Told::Made(Err(error))) => {
                    return Grown::Failed(format!("{name}: {error}; choose the shell"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Grown::Failed(format!("{name}: making its flesh ended unexpectedly"));
                }
            }
        }
    }

    /// Makes it on threads of its own.
    fn start(&self, model: Arc<Model>, face: Arc<FaceModel>, cancel: Arc<AtomicBool>) -> Receiver<Told> {
        let (sender, heard) = channel();
        let running = self.turns.count();
        std::thread::spawn(move || {
            let _running = running;
            let mut progress = |now| {
                // Nobody listens to what was cancelled.
                let _ = sender.send(Told::Progress(now));
                if cancel.load(Ordering::Relaxed) { Continue::Abandon } else { Continue::Yes }
            };
            let made = in_background(|| {
                let (jaw, bones) = (jaw_driven_shapes(model.rig.skin()), model.bones());
                let free = FreePart::flags(&FreePart::find(&face), face.vertex_count());
                let input =
                    TissueInput { bones: bones.as_ref(), free: &free, ..TissueInput::new(&face, &jaw) };
                let tissue = Tissue::build(&input, &TissueParams::default(), &mut progress)?;
                let mut performing = TissueBody::new(Arc::new(tissue))?;
                if let Some(teeth) = Teeth::of_rig(&model.rig) {
                    performing.set_teeth(teeth);
                }
                Ok(Box::new(performing))
            });
            // As above.
            let _ = sender.send(Told::Made(made));
        });
        heard
    }
}

/// What is being done, in words.
fn described(now: &TissueProgress) -> &'static str {
    match now.round {
        0 => "finding the flesh of every expression",
        _ => "finding the flesh anew",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Ended, Library, Quality};
    use crate::model::HeadChoice;

    #[test]
    fn what_is_cancelled_is_given_up_and_leaves_room_for_other_flesh() {
        let model = Arc::new(Model::built_in(&HeadChoice::default(), None).unwrap());
        let library = Library::new(None);
        let never = Arc::new(AtomicBool::new(false));
        let Ended::Made(face) = library.make(&model, 1000, Quality::Preview, &never, &mut |_| {}) else {
            panic!("the built-in head has a face");
        };
        let cancel = Arc::new(AtomicBool::new(false));
        let mut news = 0;
        let cancelled = library.grower.grow(&model, &face, &cancel, &mut |_| {
            news += 1;
            cancel.store(true, Ordering::Relaxed);
        });
        assert!(matches!(cancelled, Grown::Cancelled));
        assert_eq!(news, 1, "nothing is told once it was cancelled");
        // The thread that was cancelled may still run for a moment; whoever comes next does not wait for it.
        let next = library.grower.grow(&model, &face, &never, &mut |_| {});
        assert!(matches!(next, Grown::Made(_)));
    }
}
