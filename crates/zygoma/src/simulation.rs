//! A face performing a take while it is touched, with what that shows about it.

use std::path::Path;
use std::time::Instant;

use glam::Vec3;
use serde::Serialize;
use zygoma_face::interactive::{Face, InteractiveFace, Places, RunParams};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::frames::Frames;
use zygoma_rig::{JointRole, Rig, Take};

use crate::progress::Progress;
use crate::spool::SpooledFrames;
use crate::touch_script::{Moment, Player, Prop, TouchScript};

/// Seconds after a touch in which skin may still be on its way back. Ours.
pub(crate) const AFTERMATH: f64 = 0.5;

/// What is performed.
pub(crate) struct Performed<'a> {
    pub(crate) face: &'a Face,
    pub(crate) rig: &'a Rig,
    pub(crate) take: &'a Take,
    pub(crate) touches: &'a TouchScript,
    pub(crate) params: RunParams,
    pub(crate) fps: f64,
    /// Where frames wait until they are written.
    pub(crate) folder: &'a Path,
}

/// What came of it.
pub(crate) struct Outcome {
    /// Simulated surfaces in rig space, in the head's frame.
    pub(crate) frames: SpooledFrames,
    /// How far each frame is from the plain rig.
    pub(crate) deviations: Vec<FrameDeviation>,
    /// The deepest that anything was in the skin in each frame, in metres.
    pub(crate) penetration: Vec<f32>,
    /// What touched the face.
    pub(crate) props: Vec<Prop>,
    /// Mean milliseconds per frame.
    pub(crate) stages: StagesMs,
    pub(crate) frame_ms: f64,
}

/// How far one frame is from the plain rig, in metres.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameDeviation {
    pub(crate) worst: f32,
    pub(crate) vertex: u32,
    pub(crate) mean: f32,
    /// Whether something touches the face, or did a moment ago.
    pub(crate) touched: bool,
}

/// Mean milliseconds per frame, by stage.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct StagesMs {
    rig: f64,
    gradient: f64,
    solve: f64,
    constraints: f64,
    /// The part of the constraints that is contact.
    contact: f64,
    warp: f64,
}

/// The worst and the mean of some frames.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DeviationSummary {
    pub(crate) worst_percent: f64,
    pub(crate) worst_mm: f64,
    pub(crate) mean_percent: f64,
    pub(crate) mean_mm: f64,
    /// Where and when the worst is.
    pub(crate) vertex: u32,
    pub(crate) near: String,
    pub(crate) seconds: f64,
}

impl Performed<'_> {
    /// Simulates all frames, never falling asleep.
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        let Self { face, take, fps, .. } = *self;
        let binding = Binding::new(self.rig, take);
        let evaluator = Evaluator::new(self.rig.skin());
        let head = take.motion(JointRole::Head);
        let params = RunParams { sleep_after: None, normals: false, ..self.params.clone() };
        let mut running = InteractiveFace::new(face, params)?;
        let mut player = Player::new(self.touches);
        let count = take.frame_count(fps);
        let mut outcome =
            Outcome::waiting_for(count, SpooledFrames::new(self.folder, fps, face.vertex_count())?);
        let mut weights = vec![0.0; evaluator.shape_count()];
        let mut plain = vec![Vec3::ZERO; face.vertex_count()];
        let mut shown = self.rig.skin().positions.clone();
        let still = RigidMotion { rotation: glam::DQuat::IDENTITY, translation: glam::DVec3::ZERO };
        let mut bar = Progress::new("simulating frames", count);
        for frame in 0..count {
            let since = frame as f64 / fps;
            let time = take.start() + since;
            binding.weights_at(take, self.rig.skin, time, &mut weights);
            evaluator.evaluate(&weights, &mut plain);
            let pose = head.and_then(|track| track.sample(time)).unwrap_or(still);
            running.set_weights(&weights);
            running.set_head_pose(&pose);
            player.before(&mut running, &Moment { time: since, plain: &plain, shown: &shown, head: pose });
            let began = Instant::now();
            // The first frame is the face at rest in its first pose.
            let seconds = if frame == 0 { 0.0 } else { 1.0 / fps };
            shown.copy_from_slice(running.advance(seconds).positions);
            outcome.frame_ms += began.elapsed().as_secs_f64() * 1e3 / count as f64;
            outcome.stages.add(running.stages(), 1e3 / count as f64);
            outcome.penetration.push(running.penetration());
            player.after(&running);
            let touched = self.touches.is_touched(since, AFTERMATH);
            outcome.deviations.push(FrameDeviation { touched, ..deviation(&shown, &plain) });
            outcome.frames.push(&shown)?;
            bar.set(frame + 1);
        }
        outcome.props = player.into_props();
        Ok(outcome)
    }
}

pub(crate) fn deviation(shown: &[Vec3], plain: &[Vec3]) -> FrameDeviation {
    let mut found = FrameDeviation::default();
    let mut sum = 0.0;
    for (vertex, (a, b)) in (0u32..).zip(shown.iter().zip(plain)) {
        let distance = a.distance(*b);
        sum += f64::from(distance);
        if distance > found.worst {
            (found.worst, found.vertex) = (distance, vertex);
        }
    }
    FrameDeviation { mean: (sum / shown.len().max(1) as f64) as f32, ..found }
}

impl StagesMs {
    fn add(&mut self, spent: &zygoma_face::interactive::Stages, share: f64) {
        self.rig += share * spent.rig.as_secs_f64();
        self.gradient += share * spent.gradient.as_secs_f64();
        self.solve += share * spent.solve.as_secs_f64();
        self.constraints += share * spent.constraints.as_secs_f64();
        self.contact += share * spent.contact.as_secs_f64();
        self.warp += share * spent.warp.as_secs_f64();
    }
}

impl Outcome {
    /// Nothing yet of so many frames.
    pub(crate) fn waiting_for(count: usize, frames: SpooledFrames) -> Self {
        Self {
            frames,
            deviations: Vec::with_capacity(count),
            penetration: Vec::with_capacity(count),
            props: Vec::new(),
            stages: StagesMs::default(),
            frame_ms: 0.0,
        }
    }

    /// The deviation over all frames, or over those that nothing touches; `None` without any.
    pub(crate) fn deviation(
        &self,
        face: &Face,
        places: &Places,
        untouched: bool,
    ) -> Option<DeviationSummary> {
        let fps = self.frames.fps();
        let counted = || self.deviations.iter().enumerate().filter(|(_, d)| !(untouched && d.touched));
        let (frame, worst) = counted().max_by(|(_, a), (_, b)| a.worst.total_cmp(&b.worst))?;
        let mean = counted().map(|(_, d)| f64::from(d.mean)).sum::<f64>() / counted().count() as f64;
        let at = face.height as f32 * face.neutral[worst.vertex as usize];
        Some(DeviationSummary {
            worst_percent: 100.0 * f64::from(worst.worst) / face.height,
            worst_mm: 1e3 * f64::from(worst.worst),
            mean_percent: 100.0 * mean / face.height,
            mean_mm: 1e3 * mean,
            vertex: worst.vertex,
            near: places.nearest(at).map_or_else(String::new, |place| place.name.clone()),
            seconds: frame as f64 / fps,
        })
    }
}

impl std::fmt::Display for DeviationSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "at most {:.3} % of the height ({:.3} mm, near {}, at {:.2} s), {:.4} % ({:.4} mm) on average",
            self.worst_percent, self.worst_mm, self.near, self.seconds, self.mean_percent, self.mean_mm
        )
    }
}
