//! Makes models one after another, off the session's thread. While one is made, only the newest wish for another is kept.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zygoma_numerics::Budget;

use super::{Command, Loaded};

type Make = Box<dyn FnOnce(&Budget) -> Result<Loaded, String> + Send>;

/// A wish, whom to tell, and how to make it.
type Job = (Wish, SyncSender<Command>, Make);

/// The worker of a session. It has a thread only while there is something to make.
#[derive(Default)]
pub(crate) struct Maker {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Maker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Maker").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    /// Number of the newest wish.
    newest: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Option<Job>,
    is_working: bool,
    /// Raised when the model that is being made is not wanted any more.
    unwanted: Arc<AtomicBool>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wish for a model, which a newer one makes void.
pub(crate) struct Wish {
    number: u64,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Wish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Wish").field(&self.number).finish()
    }
}

impl Wish {
    /// Whether something else was wished for since. Only the session wishes, so only there the answer lasts.
    pub(crate) fn is_old(&self) -> bool {
        self.shared.newest.load(Ordering::Relaxed) != self.number
    }
}

impl Maker {
    /// Makes a model and tells the session, unless another is wished for before its turn comes. The budget that the model is
    /// made with is over once another is wished for.
    pub(crate) fn make(
        &self,
        commands: &SyncSender<Command>,
        make: impl FnOnce(&Budget) -> Result<Loaded, String> + Send + 'static,
    ) {
        let number = self.shared.newest.fetch_add(1, Ordering::Relaxed) + 1;
        let wish = Wish { number, shared: self.shared.clone() };
        let mut state = self.shared.state();
        state.unwanted.store(true, Ordering::Relaxed);
        state.waiting = Some((wish, commands.clone(), Box::new(make)));
        if !state.is_working {
            state.is_working = true;
            let worker = Worker(self.shared.clone());
            std::thread::spawn(move || worker.run());
        }
    }

    /// Ends what is being made and forgets what is waiting.
    pub(crate) fn cancel(&self) {
        let mut state = self.shared.state();
        state.unwanted.store(true, Ordering::Relaxed);
        state.waiting = None;
    }
}

/// The thread that makes models. Dropping it lets another one start, also where a model made it panic.
struct Worker(Arc<Shared>);

impl Worker {
    fn run(self) {
        while let Some(((wish, commands, make), budget)) = self.next() {
            // The tab may have been closed meanwhile.
            let _ = commands.send(Command::Loaded(wish, Box::new(make(&budget))));
        }
    }

    /// The newest wish. Without one the worker ends: whoever wishes next starts another.
    fn next(&self) -> Option<(Job, Budget)> {
        let mut state = self.0.state();
        let next = state.waiting.take();
        state.is_working = next.is_some();
        state.unwanted = Arc::default();
        next.map(|next| (next, Budget::cancelled_by(state.unwanted.clone())))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().is_working = false;
        }
    }
}
