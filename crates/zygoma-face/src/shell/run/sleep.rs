//! Sleep: a face at rest is not simulated.

use super::ShellBody;

/// A face falls asleep only when it follows its target this closely, in face heights. Ours.
const CLOSE: f32 = 2e-3;

/// Falling asleep moves no vertex by more than this per frame, in face heights.
const UNSEEN: f32 = 1e-4;

/// Whether the shell is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wakefulness {
    /// Simulated; untouched for this many seconds.
    Awake { calm: f64 },
    /// Simulated, but only this fraction of its deviation from the target is shown.
    Drowsy { fraction: f32 },
    /// The plain rig.
    Asleep,
}

impl ShellBody {
    pub(super) fn is_asleep(&self) -> bool {
        self.wakefulness == Wakefulness::Asleep
    }

    /// The fraction of the shell's deviation from its target that is shown.
    pub(super) fn shown_fraction(&self) -> f32 {
        if let Wakefulness::Drowsy { fraction } = self.wakefulness { fraction } else { 1.0 }
    }

    /// Starts to simulate again, at the rig's velocity.
    pub(super) fn wake(&mut self, seconds: f64) {
        // From sleep it starts at the plain rig; when half asleep, where it was shown.
        let fraction = match self.wakefulness {
            Wakefulness::Awake { .. } => None,
            Wakefulness::Drowsy { fraction } => Some(fraction),
            Wakefulness::Asleep => Some(0.0),
        };
        if let Some(fraction) = fraction {
            self.place_between(fraction, seconds);
        }
        self.wakefulness = Wakefulness::Awake { calm: 0.0 };
    }

    /// Blends the shell's state towards the rest position at the start of a frame and the rig's velocity, keeping a fraction of its
    /// deviation from both.
    pub(super) fn place_between(&mut self, fraction: f32, seconds: f64) {
        let rate = if seconds > 0.0 { (1.0 / seconds) as f32 } else { 0.0 };
        for i in 0..self.scratch.len() {
            let (rested, now) = (self.before.rested[i], self.now.rested[i]);
            self.rested[i] = rested + fraction * (self.stepper.positions()[i] - rested);
            let velocity = rate * (now - rested);
            self.scratch[i] = velocity + fraction * (self.stepper.velocities()[i] - velocity);
        }
        self.stepper.place(&self.rested, &self.scratch);
    }

    /// Updates sleep: falls asleep after some time without activity, wakes up before a touch.
    pub(super) fn update_sleep(&mut self, touched: bool, seconds: f64) {
        let Some(patience) = self.params.sleep_after else {
            return self.wake(seconds);
        };
        if touched || !self.head.is_still() || self.is_loaded() || self.pending.is_waiting() {
            return self.wake(seconds);
        }
        self.wakefulness = match self.wakefulness {
            Wakefulness::Awake { calm } if calm < patience => Wakefulness::Awake { calm: calm + seconds },
            Wakefulness::Awake { .. } if self.shell_deviation() < CLOSE => {
                Wakefulness::Drowsy { fraction: 1.0 }
            }
            Wakefulness::Drowsy { fraction } => {
                let deviation = self.shell_deviation();
                let fraction = fraction - (UNSEEN / deviation.max(UNSEEN)).min(0.5);
                if deviation > 2.0 * CLOSE {
                    return self.wake(seconds);
                } else if fraction <= 0.0 {
                    Wakefulness::Asleep
                } else {
                    Wakefulness::Drowsy { fraction }
                }
            }
            same => same,
        };
    }

    /// Whether gravity holds the skin visibly away from the rig: sleep would lose that. Far from held edges the skin is held by the
    /// actuation alone (IFA eq. 5, 6).
    fn is_loaded(&self) -> bool {
        let shell = self.params.shell.as_ref().unwrap_or(&self.face.fitted.params);
        let sag = shell.density * self.head.felt_gravity(&self.params).length() * shell.tolerance
            / shell.max_pressure;
        sag / self.face.height > f64::from(UNSEEN)
    }

    /// Largest distance of the shell from its target, in face heights.
    pub(super) fn shell_deviation(&self) -> f32 {
        let shown = self.stepper.positions().iter().zip(&self.before.residual).map(|(x, r)| *x + *r);
        shown.zip(&self.before.target).map(|(s, t)| s.distance_squared(*t)).fold(0.0, f32::max).sqrt()
    }
}
