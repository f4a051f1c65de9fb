//! When a face need not be simulated.

use super::InteractiveFace;

/// A face falls asleep only when it follows its target this closely, in heights. Ours.
const CLOSE: f32 = 2e-3;

/// Falling asleep moves no vertex by more than this per frame, in heights.
const UNSEEN: f32 = 1e-4;

/// Whether the shell is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wakefulness {
    /// Simulated; untouched for this many seconds.
    Awake { calm: f64 },
    /// Simulated, but only this share of its deviation from the target is shown.
    Drowsy { share: f32 },
    /// The plain rig.
    Asleep,
}

impl InteractiveFace {
    pub(super) fn is_asleep(&self) -> bool {
        self.wakefulness == Wakefulness::Asleep
    }

    /// How much of the shell's deviation from its target is shown.
    pub(super) fn shown_share(&self) -> f32 {
        if let Wakefulness::Drowsy { share } = self.wakefulness { share } else { 1.0 }
    }

    /// Starts to simulate again, moving as the rig does.
    pub(super) fn wake(&mut self, seconds: f64) {
        if self.is_asleep() {
            let rate = if seconds > 0.0 { (1.0 / seconds) as f32 } else { 0.0 };
            for i in 0..self.scratch.len() {
                self.scratch[i] = rate * (self.now.rested[i] - self.before.rested[i]);
            }
            self.stepper.place(&self.before.rested, &self.scratch);
        }
        self.wakefulness = Wakefulness::Awake { calm: 0.0 };
    }

    /// Falls asleep when nothing happens for long, wakes up before something does.
    pub(super) fn rouse(&mut self, touched: bool, seconds: f64) {
        let Some(patience) = self.params.sleep_after else {
            return self.wake(seconds);
        };
        if touched || !self.head.is_still() || self.is_loaded() || self.pending.is_waiting() {
            return self.wake(seconds);
        }
        self.wakefulness = match self.wakefulness {
            Wakefulness::Awake { calm } if calm < patience => Wakefulness::Awake { calm: calm + seconds },
            Wakefulness::Awake { .. } if self.shell_deviation() < CLOSE => Wakefulness::Drowsy { share: 1.0 },
            Wakefulness::Drowsy { share } => {
                let deviation = self.shell_deviation();
                let share = share - (UNSEEN / deviation.max(UNSEEN)).min(0.5);
                if deviation > 2.0 * CLOSE {
                    Wakefulness::Awake { calm: 0.0 }
                } else if share <= 0.0 {
                    Wakefulness::Asleep
                } else {
                    Wakefulness::Drowsy { share }
                }
            }
            same => same,
        };
    }

    /// Whether gravity holds the skin away from the rig: a sleeping face would forget it.
    fn is_loaded(&self) -> bool {
        self.head.felt_gravity(&self.params).length() > 1e-3
    }

    /// How far the shell is from its target, in heights.
    fn shell_deviation(&self) -> f32 {
        let shown = self.stepper.positions().iter().zip(&self.before.residual).map(|(x, r)| *x + *r);
        shown.zip(&self.before.target).map(|(s, t)| s.distance_squared(*t)).fold(0.0, f32::max).sqrt()
    }
}
