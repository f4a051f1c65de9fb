//! A body that runs for a tab, at a pace that the machine can keep.

use std::time::{Duration, Instant};

use zygoma_face::body::{BadDrive, Body, BodyState, Drive, Frame};
use zygoma_geometry::rigid::RigidMotion;

use super::LONGEST_FRAME;

/// Time that a frame may take to compute, s: ten frames a second still feel alive. The time of a slower body passes more slowly.
const BUDGET: f64 = 0.08;

/// The shortest time that a frame advances, s: a step of the physics.
const SHORTEST_FRAME: f64 = 1.0 / 60.0;

/// Weight of a new frame in smoothed figures.
const FRESH: f64 = 0.1;

/// How often the page gets figures.
const REPORTS: Duration = Duration::from_millis(200);

/// A body with its pace.
pub(crate) struct RunningBody {
    body: Box<dyn Body>,
    /// Its state before it had moved.
    start: BodyState,
    stage_names: Vec<&'static str>,
    pace: Pace,
}

/// How long frames take, and how fast time passes.
struct Pace {
    /// Seconds of work for each second of the body's time, smoothed.
    cost: f64,
    /// Seconds of work for a frame, smoothed.
    frame: f64,
    /// Seconds of the body's time for each second of the world's, smoothed.
    speed: f64,
    last: Instant,
    reported: Instant,
}

impl RunningBody {
    pub(crate) fn new(body: Box<dyn Body>) -> Self {
        let now = Instant::now();
        Self {
            start: body.save(),
            stage_names: names(&*body),
            body,
            pace: Pace { cost: 0.0, frame: 0.0, speed: 1.0, last: now, reported: now },
        }
    }

    pub(crate) fn body(&self) -> &dyn Body {
        &*self.body
    }

    pub(crate) fn body_mut(&mut self) -> &mut dyn Body {
        &mut *self.body
    }

    /// Goes back to the state in which it was made: no touch and no motion is left. Parameters are lost too.
    pub(crate) fn reset(&mut self) {
        let restored = self.body.restore(&self.start);
        debug_assert!(restored.is_ok(), "the state is its own");
    }

    /// Comes to rest in an expression and a pose.
    pub(crate) fn settle(
        &mut self,
        weights: &[f32],
        pose: &RigidMotion,
        pool: Option<&rayon::ThreadPool>,
    ) -> Result<(), BadDrive> {
        self.body.drive(Drive::Weights(weights))?;
        self.body.set_head_pose(pose);
        let body = &mut self.body;
        on(pool, || body.settle());
        self.pace.last = Instant::now();
        Ok(())
    }

    /// The longest time that a frame may advance, s.
    pub(crate) fn longest_frame(&self) -> f64 {
        longest_frame(self.pace.cost)
    }

    /// Moves on by a frame.
    pub(crate) fn advance(
        &mut self,
        seconds: f64,
        weights: &[f32],
        pose: &RigidMotion,
        pool: Option<&rayon::ThreadPool>,
    ) -> Result<Frame<'_>, BadDrive> {
        let Self { body, pace, .. } = self;
        let began = Instant::now();
        let smooth = |value: &mut f64, new: f64| *value += FRESH * (new - *value);
        smooth(&mut pace.speed, (seconds / (began - pace.last).as_secs_f64().max(1e-6)).min(1.0));
        pace.last = began;
        body.drive(Drive::Weights(weights))?;
        body.set_head_pose(pose);
        let frame = on(pool, || body.advance(seconds));
        let spent = began.elapsed().as_secs_f64();
        smooth(&mut pace.frame, spent);
        smooth(&mut pace.cost, spent / seconds.max(1e-6));
        Ok(frame)
    }

    /// Milliseconds of its stages in the last frame.
    pub(crate) fn stage_milliseconds(&self) -> Vec<f32> {
        self.body.stages().iter().map(|stage| 1e3 * stage.time.as_secs_f32()).collect()
    }

    /// Names of its stages.
    pub(crate) fn stage_names(&self) -> &[&'static str] {
        &self.stage_names
    }

    /// Looks at the stages of the last frame; true if they have other names than before.
    pub(crate) fn renamed_stages(&mut self) -> bool {
        let names = names(&*self.body);
        let renamed = names != self.stage_names;
        self.stage_names = names;
        renamed
    }

    /// Milliseconds of a frame and the speed of time, if it is time to report them.
    pub(crate) fn report(&mut self) -> Option<(f64, f64)> {
        if self.pace.reported.elapsed() < REPORTS {
            return None;
        }
        self.pace.reported = Instant::now();
        Some((1e3 * self.pace.frame, self.pace.speed))
    }
}

fn names(body: &dyn Body) -> Vec<&'static str> {
    body.stages().iter().map(|stage| stage.name).collect()
}

/// Runs something on the threads of a pool, if there is one.
fn on<T: Send>(pool: Option<&rayon::ThreadPool>, run: impl FnOnce() -> T + Send) -> T {
    match pool {
        Some(pool) => pool.install(run),
        None => run(),
    }
}

/// How far a body may advance in one frame, given the seconds of work that a second of its time costs.
fn longest_frame(cost: f64) -> f64 {
    (BUDGET / cost.max(1e-3)).clamp(SHORTEST_FRAME, LONGEST_FRAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_a_slow_body_passes_more_slowly_and_frames_stay_short() {
        assert_eq!(longest_frame(0.0), LONGEST_FRAME);
        assert_eq!(longest_frame(0.5), LONGEST_FRAME, "a body that keeps up is not slowed down");
        let heavy = 50e-3 / SHORTEST_FRAME;
        assert!(heavy * longest_frame(heavy) <= BUDGET + 1e-9);
        assert_eq!(longest_frame(1e6), SHORTEST_FRAME, "it never stands still");
    }
}
