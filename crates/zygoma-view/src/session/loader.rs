//! Loads models one after another, off the session's thread. While one is loaded, only the newest request for another is kept.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zygoma_numerics::Budget;

use super::{Command, Loaded};

type Load = Box<dyn FnOnce(&Budget) -> Result<Loaded, String> + Send>;

/// A request, where its model is sent, and how it is loaded.
type Order = (Request, SyncSender<Command>, Load);

/// The loader of a session. It has a thread only while there is something to load.
#[derive(Default)]
pub(crate) struct Loader {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    /// Number of the newest request.
    newest: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Option<Order>,
    is_working: bool,
    /// Raised when the model that is being loaded is not wanted any more.
    unwanted: Arc<AtomicBool>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request for a model, superseded by any newer one.
pub(crate) struct Request {
    number: u64,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Request").field(&self.number).finish()
    }
}

impl Request {
    /// Whether something else was requested since. Only the session requests, so only there the answer lasts.
    pub(crate) fn is_superseded(&self) -> bool {
        self.shared.newest.load(Ordering::Relaxed) != self.number
    }
}

impl Loader {
    /// Loads a model and notifies the session, unless another is requested before its turn comes. The budget of the load is over once
    /// another is requested.
    pub(crate) fn load(
        &self,
        commands: &SyncSender<Command>,
        load: impl FnOnce(&Budget) -> Result<Loaded, String> + Send + 'static,
    ) {
        let number = self.shared.newest.fetch_add(1, Ordering::Relaxed) + 1;
        let request = Request { number, shared: self.shared.clone() };
        let mut state = self.shared.state();
        state.unwanted.store(true, Ordering::Relaxed);
        state.waiting = Some((request, commands.clone(), Box::new(load)));
        if !state.is_working {
            state.is_working = true;
            let worker = Worker(self.shared.clone());
            std::thread::spawn(move || worker.run());
        }
    }

    /// Cancels the load that is under way and drops the one that waits.
    pub(crate) fn cancel(&self) {
        let mut state = self.shared.state();
        state.unwanted.store(true, Ordering::Relaxed);
        state.waiting = None;
    }
}

/// The thread that loads models. Dropping it lets another one start, also after a panic.
struct Worker(Arc<Shared>);

impl Worker {
    fn run(self) {
        while let Some(((request, commands, load), budget)) = self.next() {
            // The tab may have been closed meanwhile.
            let _ = commands.send(Command::Loaded(request, Box::new(load(&budget))));
        }
    }

    /// The newest request. Without one the worker ends; the next request starts another.
    fn next(&self) -> Option<(Order, Budget)> {
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
