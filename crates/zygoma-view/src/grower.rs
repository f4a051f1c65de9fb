//! Flesh made in the background.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use zygoma_face::interactive::Face;
use zygoma_face::perform::{Bones, PerformParams, PerformingFace, Tissue, TissueInput};
use zygoma_rig::jaw::jaw_driven_shapes;

use crate::builder::in_background;
use crate::model::Model;

/// How often the making of flesh looks whether it is still wanted, and whether it is its turn.
const PATIENCE: Duration = Duration::from_millis(50);

/// How often it tells that it goes on.
const NEWS: Duration = Duration::from_millis(500);

/// How the making of flesh ended.
pub(crate) enum Grown {
    /// With flesh at rest.
    Made(Box<PerformingFace>),
    /// Because it was told to.
    Cancelled,
    /// With a reason, as a sentence.
    Failed(String),
}

/// Makes flesh, for one tab at a time: two would only slow each other down.
#[derive(Debug, Default)]
pub(crate) struct Grower {
    /// Held while flesh is being made, wanted or not.
    busy: Arc<Mutex<()>>,
}

impl Grower {
    /// Makes the flesh under a face. What was cancelled returns at once; what it was busy with ends by itself.
    pub(crate) fn grow(
        &self,
        model: &Arc<Model>,
        face: &Arc<Face>,
        cancel: &AtomicBool,
        tell: &mut dyn FnMut(&'static str, f64),
    ) -> Grown {
        let began = Instant::now();
        let mut told = began;
        let mut news = |stage| {
            if told.elapsed() >= NEWS {
                told = Instant::now();
                tell(stage, began.elapsed().as_secs_f64());
            }
        };
        while matches!(self.busy.try_lock(), Err(TryLockError::WouldBlock)) {
            if cancel.load(Ordering::Relaxed) {
                return Grown::Cancelled;
            }
            news("waiting for other flesh");
            std::thread::sleep(PATIENCE);
        }
        let made = self.start(model.clone(), face.clone());
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Grown::Cancelled;
            }
            match made.recv_timeout(PATIENCE) {
                Ok(Ok(performing)) => return Grown::Made(performing),
                Ok(Err(reason)) => return Grown::Failed(reason),
                Err(RecvTimeoutError::Timeout) => news("making flesh and the forces of every expression"),
                Err(RecvTimeoutError::Disconnected) => {
                    return Grown::Failed(format!("{}: making its flesh ended unexpectedly", model.rig.name));
                }
            }
        }
    }

    fn start(&self, model: Arc<Model>, face: Arc<Face>) -> Receiver<Result<Box<PerformingFace>, String>> {
        let (sender, made) = channel();
        let busy = self.busy.clone();
        std::thread::spawn(move || {
            let _busy = busy.lock();
            let made = in_background(|| {
                let jaw = jaw_driven_shapes(model.rig.skin());
                let bones = Bones::of_rig(&model.rig);
                let input = TissueInput { bones: bones.as_ref(), ..TissueInput::new(&face, &jaw) };
                let tissue = Tissue::build(&input, &PerformParams::default())?;
                PerformingFace::new(Arc::new(tissue))
            });
            let told =
                |error| format!("{}: its flesh cannot be made: {error}; choose the shell", model.rig.name);
            // Nobody listens to what was cancelled.
            let _ = sender.send(made.map(Box::new).map_err(told));
        });
        made
    }
}
