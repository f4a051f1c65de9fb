//! Background jobs take turns: all tabs share the machine, and two jobs would only slow each other down.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// How often a job looks whether it is still wanted, and whether it is its turn.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// Jobs that may run at once: the one that is wanted, and cancelled ones that have not noticed yet.
const MOST_RUNNING: usize = 3;

/// How long a job waits for cancelled ones to end before it is refused.
const GRACE: Duration = Duration::from_secs(20);

/// Whose turn it is among jobs of one kind.
///
/// A turn ends when its job is cancelled, whether or not the job's thread has noticed, so that a job that hangs blocks nobody.
/// Threads are counted for as long as they run; once too many cancelled ones hang, new jobs are refused instead of waiting
/// for ever.
#[derive(Debug)]
pub(crate) struct Turns {
    wanted: Mutex<()>,
    /// Every thread that runs a job holds a clone.
    running: Arc<()>,
    grace: Duration,
}

/// The right to start a job; held by who listens to it.
pub(crate) struct Turn<'a>(#[expect(dead_code, reason = "held, never read")] MutexGuard<'a, ()>);

/// Proof that a thread runs; held by the thread itself.
pub(crate) struct Running(#[expect(dead_code, reason = "held, never read")] Arc<()>);

/// Why there is no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTurn {
    /// The job is not wanted any more.
    Unwanted,
    /// Too many cancelled jobs still run.
    Stuck,
}

impl Default for Turns {
    fn default() -> Self {
        Self { wanted: Mutex::default(), running: Arc::default(), grace: GRACE }
    }
}

impl Turns {
    /// Waits for a turn. `wait` is called every now and then and says whether the job is still wanted.
    pub(crate) fn take(
        &self,
        cancel: &AtomicBool,
        wait: &mut dyn FnMut() -> bool,
    ) -> Result<Turn<'_>, NoTurn> {
        let mut stuck: Option<Instant> = None;
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Err(NoTurn::Unwanted);
            }
            let turn = match self.wanted.try_lock() {
                Ok(turn) => Some(turn),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            match turn {
                Some(turn) if self.running() < MOST_RUNNING => return Ok(Turn(turn)),
                Some(_) if stuck.get_or_insert_with(Instant::now).elapsed() >= self.grace => {
                    return Err(NoTurn::Stuck);
                }
                Some(_) => {}
                None => stuck = None,
            }
            if !wait() {
                return Err(NoTurn::Unwanted);
            }
            std::thread::sleep(PATIENCE);
        }
    }

    /// Counts a thread for as long as it keeps this.
    pub(crate) fn count(&self) -> Running {
        Running(self.running.clone())
    }

    /// Threads that run, wanted or not.
    pub(crate) fn running(&self) -> usize {
        Arc::strong_count(&self.running) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_job_that_never_notices_blocks_nobody() {
        let turns = Turns { grace: Duration::ZERO, ..Turns::default() };
        let never = AtomicBool::new(false);
        let mut hung = Vec::new();
        for job in 0..MOST_RUNNING {
            // Its listener has left, its thread has not.
            let turn = turns.take(&never, &mut || true);
            assert!(turn.is_ok(), "job {job} waits for jobs that were cancelled");
            hung.push(turns.count());
        }
        assert_eq!(turns.running(), MOST_RUNNING);
        assert_eq!(turns.take(&never, &mut || true).err(), Some(NoTurn::Stuck), "nor does it wait for ever");
        hung.pop();
        assert!(turns.take(&never, &mut || true).is_ok(), "a thread that ends makes room");
    }

    #[test]
    fn a_wanted_job_is_waited_for() {
        let turns = Turns { grace: Duration::ZERO, ..Turns::default() };
        let first = turns.take(&AtomicBool::new(false), &mut || true);
        assert!(first.is_ok());
        let mut waits = 0;
        let mut give_up = || {
            waits += 1;
            waits < 3
        };
        let second = turns.take(&AtomicBool::new(false), &mut give_up);
        assert_eq!(second.err(), Some(NoTurn::Unwanted));
        assert_eq!(waits, 3);
        assert_eq!(turns.take(&AtomicBool::new(true), &mut || true).err(), Some(NoTurn::Unwanted));
        drop(first);
    }
}
