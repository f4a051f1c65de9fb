//! When a face need not be simulated.

use super::ShellBody;

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

impl ShellBody {
    pub(super) fn is_asleep(&self) -> bool {
        self.wakefulness == Wakefulness::Asleep
    }

    /// How much of the shell's deviation from its target is shown.
    pub(super) fn shown_share(&self) -> f32 {
        if let Wakefulness::Drowsy { share } = self.wakefulness { share } else { 1.0 }
    }

    /// Starts to simulate again, moving as the rig does.
    pub(super) fn wake(&mut self, seconds: f64) {
        // Where it is asleep it is the plain rig; half asleep, it is where it was shown.
        let share = match self.wakefulness {
            Wakefulness::Awake { .. } => None,
            Wakefulness::Drowsy { share } => Some(share),
            Wakefulness::Asleep => Some(0.0),
        };
        if let Some(share) = share {
            self.place_between(share, seconds);
        }
        self.wakefulness = Wakefulness::Awake { calm: 0.0 };
    }

    /// Puts the shell where it rests at the start of a frame, moving as the rig does, but for a share of what it differs from both.
    pub(super) fn place_between(&mut self, share: f32, seconds: f64) {
        let rate = if seconds > 0.0 { (1.0 / seconds) as f32 } else { 0.0 };
        for i in 0..self.scratch.len() {
            let (rested, now) = (self.before.rested[i], self.now.rested[i]);
            self.rested[i] = rested + share * (self.stepper.positions()[i] - rested);
            let velocity = rate * (now - rested);
            self.scratch[i] = velocity + share * (self.stepper.velocities()[i] - velocity);
        }
        self.stepper.place(&self.rested, &self.scratch);
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
                    return self.wake(seconds);
                } else if share <= 0.0 {
                    Wakefulness::Asleep
                } else {
                    Wakefulness::Drowsy { share }
                }
            }
            same => same,
        };
    }

    /// Whether gravity holds the skin visibly away from the rig: a sleeping face would forget it. Far from held edges only the actuation bears the
    /// skin (IFA eq. 5, 6).
    fn is_loaded(&self) -> bool {
        let shell = self.params.shell.as_ref().unwrap_or(&self.face.fitted.params);
        let sag = shell.density * self.head.felt_gravity(&self.params).length() * shell.tolerance
            / shell.max_pressure;
        sag / self.face.height > f64::from(UNSEEN)
    }

    /// How far the shell is from its target, in heights.
    pub(super) fn shell_deviation(&self) -> f32 {
        let shown = self.stepper.positions().iter().zip(&self.before.residual).map(|(x, r)| *x + *r);
        shown.zip(&self.before.target).map(|(s, t)| s.distance_squared(*t)).fold(0.0, f32::max).sqrt()
    }
}
