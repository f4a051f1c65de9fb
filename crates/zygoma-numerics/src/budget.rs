//! Deadlines and cancellation of long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest time limit, eleven days; longer ones are the same as none.
const LONGEST_SECONDS: f64 = 1e6;

/// The reason why work stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The cancel flag was raised.
    #[error("it was cancelled")]
    Cancelled,
    /// The deadline has passed.
    #[error("the time allowed is over; allow more seconds, or ask for fewer triangles")]
    Late,
}

/// A deadline and a cancel flag, both optional; the default never stops anything.
///
/// Long loops call [`check`](Self::check) once per item of work, from any thread. A call reads the clock, so an item
/// should take a microsecond or more.
///
/// ```
/// use zygoma_numerics::{Budget, Stop};
/// assert_eq!(Budget::default().check(), Ok(()));
/// assert_eq!(Budget::default().within(Some(0.0)).check(), Err(Stop::Late));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Budget {
    cancelled: Option<Arc<AtomicBool>>,
    deadline: Option<Instant>,
}

impl Budget {
    /// A budget without a deadline that ends when a flag is set.
    pub fn cancelled_by(flag: Arc<AtomicBool>) -> Self {
        Self { cancelled: Some(flag), deadline: None }
    }

    /// The same budget, limited to some seconds from now.
    #[must_use]
    pub fn within(&self, seconds: Option<f64>) -> Self {
        let ends = seconds.map(|seconds| {
            let seconds = if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, LONGEST_SECONDS) };
            Instant::now() + Duration::from_secs_f64(seconds)
        });
        let deadline = match (self.deadline, ends) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self { cancelled: self.cancelled.clone(), deadline }
    }

    /// The same budget, limited to a fraction of the time left.
    #[must_use]
    pub fn fraction(&self, fraction: f64) -> Self {
        self.within(self.seconds_left().map(|left| fraction * left))
    }

    /// The seconds to the deadline, if there is one.
    pub fn seconds_left(&self) -> Option<f64> {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now()).as_secs_f64();
        self.deadline.map(left)
    }

    /// Returns an error if work must stop. The cancel flag takes precedence over the deadline.
    ///
    /// # Errors
    /// If the flag was raised or the deadline has passed.
    pub fn check(&self) -> Result<(), Stop> {
        if self.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Stop::Late),
            _ => Ok(()),
        }
    }

    /// Whether work must stop.
    pub fn is_over(&self) -> bool {
        self.check().is_err()
    }

    /// Whether the cancel flag was raised.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Two budgets are equal if they end at the same time, by the same flag.
impl PartialEq for Budget {
    fn eq(&self, other: &Self) -> bool {
        let same_flag = match (&self.cancelled, &other.cancelled) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        same_flag && self.deadline == other.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_and_a_deadline_each_stop_work() {
        let flag = Arc::new(AtomicBool::new(false));
        let budget = Budget::cancelled_by(flag.clone());
        assert_eq!(budget.check(), Ok(()));
        assert_eq!(budget.within(Some(1000.0)).check(), Ok(()));
        assert_eq!(budget.within(Some(f64::NAN)).check(), Err(Stop::Late));
        let late = budget.within(Some(0.0)).within(Some(1000.0));
        assert_eq!(late.check(), Err(Stop::Late), "a later deadline does not extend an earlier one");
        assert_eq!(late.fraction(0.5).check(), Err(Stop::Late));
        flag.store(true, Ordering::Relaxed);
        assert_eq!(late.check(), Err(Stop::Cancelled), "who cancels does not care for the time");
        assert_eq!(budget.fraction(0.5).check(), Err(Stop::Cancelled));
    }
}
