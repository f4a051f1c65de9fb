//! Makes models one after another, off the session's thread. While one is made, only the newest wish for another is kept.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Command, Loaded};

type Make = Box<dyn FnOnce() -> Result<Loaded, String> + Send>;

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
    waiting: Option<(Wish, SyncSender<Command>, Make)>,
    is_working: bool,
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
    /// Makes a model and tells the session, unless another is wished for before its turn comes.
    pub(crate) fn make(
        &self,
        commands: &SyncSender<Command>,
        make: impl FnOnce() -> Result<Loaded, String> + Send + 'static,
    ) {
        let number = self.shared.newest.fetch_add(1, Ordering::Relaxed) + 1;
        let wish = Wish { number, shared: self.shared.clone() };
        let mut state = self.shared.state();
        state.waiting = Some((wish, commands.clone(), Box::new(make)));
        if !state.is_working {
            state.is_working = true;
            let worker = Worker(self.shared.clone());
            std::thread::spawn(move || worker.run());
        }
    }
}

/// The thread that makes models. Dropping it lets another one start, also where a model made it panic.
struct Worker(Arc<Shared>);

impl Worker {
    fn run(self) {
        while let Some((wish, commands, make)) = self.next() {
            // The tab may have been closed meanwhile.
            let _ = commands.send(Command::Loaded(wish, Box::new(make())));
        }
    }

    /// The newest wish. Without one the worker ends: whoever wishes next starts another.
    fn next(&self) -> Option<(Wish, SyncSender<Command>, Make)> {
        let mut state = self.0.state();
        let next = state.waiting.take();
        state.is_working = next.is_some();
        next
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().is_working = false;
        }
    }
}
