//! The head's motion, interpolated between known poses.

use glam::{DQuat, DVec3};
use zygoma_geometry::rigid::RigidMotion;

/// The largest plausible acceleration of a head, in m/s² and rad/s²: a pose that needs more is a teleport, and nothing is smoothed across
/// it. Ours.
const HARDEST: f64 = 500.0;
const HARDEST_SPIN: f64 = 5000.0;

const AT_REST: RigidMotion = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

/// Linear and angular velocity of the head, in the world: m/s and rad/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rate {
    pub(crate) velocity: DVec3,
    pub(crate) spin: DVec3,
}

/// The head's motion over the present frame: a cubic between its two poses.
///
/// Linear interpolation between the poses would jolt the head at every frame's end, harder at lower frame rates. The cubic keeps the
/// velocity continuous: at a frame's end it is that of the parabola through the last three poses, for any frame lengths, so that steady
/// motion and steady acceleration are reproduced exactly and no later pose is needed.
#[derive(Clone, Debug)]
pub(crate) struct HeadPath {
    before: RigidMotion,
    now: RigidMotion,
    /// At `before` and at `now`.
    rates: [Rate; 2],
    /// The mean over the frame; `None` while only one pose is known.
    mean: Option<Rate>,
    /// Length of the frame; 0 after the head was teleported.
    seconds: f64,
}

impl HeadPath {
    /// A head at rest.
    pub(crate) fn still() -> Self {
        Self {
            before: AT_REST,
            now: AT_REST,
            rates: [Rate::default(); 2],
            mean: Some(Rate::default()),
            seconds: 0.0,
        }
    }

    /// All of it as numbers, which [`from_numbers`](Self::from_numbers) reads.
    pub(crate) fn to_numbers(&self) -> Vec<f64> {
        let pose =
            |pose: &RigidMotion| [&pose.rotation.to_array()[..], &pose.translation.to_array()].concat();
        let rate = |rate: &Rate| [rate.velocity.to_array(), rate.spin.to_array()].concat();
        let mean = self.mean.map_or_else(|| vec![f64::NAN; 6], |mean| rate(&mean));
        [
            pose(&self.before),
            pose(&self.now),
            rate(&self.rates[0]),
            rate(&self.rates[1]),
            mean,
            vec![self.seconds],
        ]
        .concat()
    }

    /// The path that some numbers describe; `None` if they are too few, or not finite where they must be.
    pub(crate) fn from_numbers(numbers: &[f64]) -> Option<Self> {
        const COUNT: usize = 2 * 7 + 3 * 6 + 1;
        let known = numbers.len() == COUNT && numbers[..26].iter().all(|number| number.is_finite());
        if !known || !numbers[COUNT - 1].is_finite() {
            return None;
        }
        let pose = |at: usize| RigidMotion {
            rotation: DQuat::from_slice(&numbers[at..]).normalize(),
            translation: DVec3::from_slice(&numbers[at + 4..]),
        };
        let rate = |at: usize| Rate {
            velocity: DVec3::from_slice(&numbers[at..]),
            spin: DVec3::from_slice(&numbers[at + 3..]),
        };
        let mean = rate(26);
        let is_known = mean.velocity.is_finite() && mean.spin.is_finite();
        Some(Self {
            before: pose(0),
            now: pose(7),
            rates: [rate(14), rate(20)],
            mean: is_known.then_some(mean),
            seconds: numbers[COUNT - 1],
        })
    }

    /// Teleports the head to a pose; the next pose determines the velocity it has had all along.
    pub(crate) fn appear_at(&mut self, pose: &RigidMotion) {
        *self = Self { before: *pose, now: *pose, mean: None, ..Self::still() };
    }

    /// Teleports the head to a pose, at rest.
    pub(crate) fn rest_at(&mut self, pose: &RigidMotion) {
        *self = Self { before: *pose, now: *pose, ..Self::still() };
    }

    /// Moves the head from one pose to another in `seconds`, as if it had always moved at that velocity.
    pub(crate) fn move_steadily(&mut self, from: &RigidMotion, to: &RigidMotion, seconds: f64) {
        self.appear_at(from);
        self.go_to(to, seconds);
    }

    /// Begins a frame of `seconds` (above 0) that ends with the head in `pose`.
    pub(crate) fn go_to(&mut self, pose: &RigidMotion, seconds: f64) {
        self.before = self.now;
        self.now = *pose;
        let mean = Rate {
            velocity: (self.now.translation - self.before.translation) / seconds,
            spin: self.turn() / seconds,
        };
        // A head at rest counts as having rested for one frame.
        let last = if self.seconds > 0.0 { self.seconds } else { seconds };
        let fraction = seconds / (seconds + last);
        let onward = |now: DVec3, before: DVec3| now + fraction * (now - before);
        let before = self.mean.unwrap_or(mean);
        let end =
            Rate { velocity: onward(mean.velocity, before.velocity), spin: onward(mean.spin, before.spin) };
        let half = 0.5 * (seconds + last);
        let has_jumped = mean.velocity.distance(before.velocity) > half * HARDEST
            || mean.spin.distance(before.spin) > half * HARDEST_SPIN;
        self.rates = if has_jumped || self.mean.is_none() { [mean; 2] } else { [self.rates[1], end] };
        (self.mean, self.seconds) = (Some(mean), seconds);
    }

    /// The poses at the start and at the end of the frame.
    pub(crate) fn ends(&self) -> [RigidMotion; 2] {
        [self.before, self.now]
    }

    /// The world-space velocity, at the end of the frame, of a point fixed to the head.
    pub(crate) fn velocity_of(&self, point: DVec3) -> DVec3 {
        self.rates[1].velocity + self.rates[1].spin.cross(self.now.rotation * point)
    }

    /// The pose at a fraction of the frame.
    pub(crate) fn at(&self, fraction: f64) -> RigidMotion {
        let [from, to] = self.rates.map(|rate| (self.seconds * rate.velocity, self.seconds * rate.spin));
        let way = self.now.translation - self.before.translation;
        let turn = self.turn();
        let turned = cubic(turn, [from.1, inverse_jacobian(turn, to.1)], fraction);
        RigidMotion {
            rotation: DQuat::from_scaled_axis(turned) * self.before.rotation,
            translation: self.before.translation + cubic(way, [from.0, to.0], fraction),
        }
    }

    /// Velocity and acceleration of the head at a fraction of the frame: in the world, per second and per second².
    pub(crate) fn motion(&self, fraction: f64) -> [Rate; 2] {
        if self.seconds <= 0.0 {
            return [Rate::default(); 2];
        }
        let [from, to] = self.rates.map(|rate| (self.seconds * rate.velocity, self.seconds * rate.spin));
        let way = self.now.translation - self.before.translation;
        let (moving, turning) = ([from.0, to.0], [from.1, inverse_jacobian(self.turn(), to.1)]);
        let turned = cubic(self.turn(), turning, fraction);
        let (rate, square) = (1.0 / self.seconds, 1.0 / (self.seconds * self.seconds));
        [
            (slope(way, moving, fraction), slope(self.turn(), turning, fraction), rate),
            (bend(way, moving, fraction), bend(self.turn(), turning, fraction), square),
        ]
        .map(|(velocity, spin, per)| Rate {
            velocity: per * velocity,
            spin: per * (spin + 0.5 * turned.cross(spin)),
        })
    }

    /// The head's rotation over the frame as a rotation vector, the shorter way round.
    fn turn(&self) -> DVec3 {
        let turned = self.now.rotation * self.before.rotation.inverse();
        (if turned.w < 0.0 { -turned } else { turned }).to_scaled_axis()
    }
}

/// The Hermite cubic from 0 to a value, with given slopes at both ends.
fn cubic(to: DVec3, [leave, arrive]: [DVec3; 2], u: f64) -> DVec3 {
    let (square, cube) = (u * u, u * u * u);
    (3.0 * square - 2.0 * cube) * to + (cube - 2.0 * square + u) * leave + (cube - square) * arrive
}

/// Its first and its second derivative.
fn slope(to: DVec3, [leave, arrive]: [DVec3; 2], u: f64) -> DVec3 {
    let square = u * u;
    6.0 * (u - square) * to + (3.0 * square - 4.0 * u + 1.0) * leave + (3.0 * square - 2.0 * u) * arrive
}

fn bend(to: DVec3, [leave, arrive]: [DVec3; 2], u: f64) -> DVec3 {
    (6.0 - 12.0 * u) * to + (6.0 * u - 4.0) * leave + (6.0 * u - 2.0) * arrive
}

/// The rate of change of a rotation vector under an angular velocity: the first terms of the inverse of SO(3)'s left Jacobian.
fn inverse_jacobian(turned: DVec3, spin: DVec3) -> DVec3 {
    let aside = turned.cross(spin);
    spin - 0.5 * aside + turned.cross(aside) / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turning(angle: f64) -> RigidMotion {
        // About an axis that does not pass through the origin: the translation goes along an arc.
        let rotation = DQuat::from_axis_angle(DVec3::new(0.2, 1.0, -0.1).normalize(), angle);
        let pivot = DVec3::new(0.0, 1.5, -0.1);
        RigidMotion { rotation, translation: pivot - rotation * pivot }
    }

    /// The largest distance of a point of the head from its exact position, over frames of some lengths, m.
    fn missed(angle: impl Fn(f64) -> f64, frames: &[f64]) -> f64 {
        let mut path = HeadPath::still();
        path.rest_at(&turning(angle(0.0)));
        let (mut time, mut worst) = (0.0, 0.0_f64);
        for (number, seconds) in frames.iter().cycle().take(60).enumerate() {
            path.go_to(&turning(angle(time + seconds)), *seconds);
            for fraction in [0.0, 0.3, 0.6, 1.0] {
                let (found, wanted) = (path.at(fraction), turning(angle(time + fraction * seconds)));
                let at = DVec3::new(0.0, 1.5, 0.1);
                // The head was at rest before: the first frames have not yet estimated its velocity.
                if number > 2 {
                    worst = worst.max(found.apply(at).distance(wanted.apply(at)));
                }
            }
            time += seconds;
        }
        worst
    }

    #[test]
    fn steady_and_smooth_turns_are_met_between_frames_of_any_length() {
        for frames in [&[1.0 / 24.0][..], &[1.0 / 144.0], &[0.03, 0.05, 0.012, 0.041]] {
            let (steady, swaying) =
                (missed(|t| 2.0 * t, frames), missed(|t| 0.6 * (std::f64::consts::TAU * t).sin(), frames));
            // Linear interpolation would miss the arc of a steady turn by 0.4 mm, and the swaying head by 1.5 mm.
            assert!(steady < 2e-5, "{frames:?}: {steady} m");
            assert!(swaying < 3e-4, "{frames:?}: {swaying} m");
        }
    }

    #[test]
    fn a_jump_is_not_overshot_and_the_longer_way_round_is_not_taken() {
        let mut path = HeadPath::still();
        path.rest_at(&AT_REST);
        let far = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::X };
        path.go_to(&far, 0.02);
        path.go_to(&far, 0.02);
        assert!(path.at(0.5).translation.distance(DVec3::X) < 1e-12);
        let negative = RigidMotion { rotation: -DQuat::IDENTITY, ..far };
        path.go_to(&negative, 0.02);
        assert!(path.at(0.5).rotation.dot(DQuat::IDENTITY).abs() > 1.0 - 1e-12);
    }
}
