//! An interaction, recorded to be written as a GLB.

use std::sync::Arc;

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::bake::{BakeOptions, bake};
use zygoma_rig::follow::bake_riders;
use zygoma_rig::formats::gltf;
use zygoma_rig::frames::Frames;
use zygoma_rig::{JointRole, Take};
use zygoma_rig::{MotionTrack, WeightCurve, WeightTrack};

use crate::frame::{numbers, scale_of};
use crate::model::Model;

/// Frames per second of a recording.
const FPS: f64 = 30.0;

/// The longest recording, s: what bounds its memory.
pub(crate) const LONGEST: f64 = 30.0;

/// Records frames at a steady rate of its own.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    running: Option<Recording>,
}

/// Frames of a face.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    /// Seconds since it began.
    time: f64,
    /// Displacements of the skin's points at the frame before, to find what was between two frames.
    before: Vec<Vec3>,
    /// Frame after frame, each in steps of its own: as frames are sent, with a rounding error far below what a bake keeps.
    displacements: Vec<[i16; 3]>,
    steps: Vec<f32>,
    points: usize,
    /// Per frame, per control.
    weights: Vec<Vec<f32>>,
    poses: Vec<RigidMotion>,
}

impl Recorder {
    pub(crate) fn start(&mut self) {
        self.running = Some(Recording::default());
    }

    pub(crate) fn stop(&mut self) -> Option<Recording> {
        self.running.take()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the recording is as long as it may be.
    pub(crate) fn is_full(&self) -> bool {
        self.running.as_ref().is_some_and(|recording| recording.time >= LONGEST)
    }

    /// Adds what the face does after `seconds`.
    pub(crate) fn push(&mut self, seconds: f64, displacements: &[Vec3], weights: &[f32], pose: &RigidMotion) {
        if let Some(recording) = &mut self.running {
            recording.push(seconds, displacements, weights, pose);
        }
    }
}

impl Recording {
    /// Its length, s.
    pub(crate) fn seconds(&self) -> f64 {
        self.poses.len() as f64 / FPS
    }

    fn push(&mut self, seconds: f64, displacements: &[Vec3], weights: &[f32], pose: &RigidMotion) {
        self.points = displacements.len();
        if self.before.len() != displacements.len() {
            self.before = displacements.to_vec();
        } else {
            self.time += seconds;
        }
        while self.poses.len() as f64 / FPS <= self.time {
            let late = self.time - self.poses.len() as f64 / FPS;
            let fraction = if seconds > 0.0 { (late / seconds).clamp(0.0, 1.0) as f32 } else { 0.0 };
            let between =
                || self.before.iter().zip(displacements).map(|(before, now)| now.lerp(*before, fraction));
            let step = scale_of(between());
            self.displacements.extend(between().map(|displacement| numbers(displacement, step)));
            self.steps.push(step);
            self.weights.push(weights.to_vec());
            self.poses.push(*pose);
        }
        self.before.copy_from_slice(displacements);
    }

    /// Writes the recording as a GLB with few morph targets.
    pub(crate) fn write(&self, model: &Model) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        let file = folder.path().join("recording.glb");
        let mut frames = RecordedFrames { recording: self, model };
        let baked = bake(model.rig.skin(), &mut frames, 0.0, &BakeOptions::default());
        let baked = baked.map_err(|error| error.to_string())?;
        let motion = gltf::SkinMotion::Baked(&baked.animation);
        let take = self.take(model);
        let riders = bake_riders(&model.rig, &model.followers, &take, &mut frames, &BakeOptions::default())
            .map_err(|error| error.to_string())?;
        let beside = gltf::Beside { riders: &riders, props: &[] };
        gltf::write_animated(&model.rig, motion, &take, false, &beside, &file)
            .map_err(|error| error.to_string())?;
        zygoma_files::read(&file, u64::MAX)
            .map_err(|error| format!("the recording cannot be read back: {error}"))
    }

    /// Weights and head motion, for the meshes that are not simulated.
    fn take(&self, model: &Model) -> Take {
        let times: Arc<[f64]> = (0..self.poses.len()).map(|frame| frame as f64 / FPS).collect();
        let track = |(index, control): (usize, &crate::protocol::Control)| WeightTrack {
            shape: control.name.clone(),
            curve: WeightCurve::linear(times.clone(), self.weights.iter().map(|w| w[index]).collect()),
        };
        let head = MotionTrack { role: JointRole::Head, times: times.clone(), motions: self.poses.clone() };
        Take {
            name: "recording".into(),
            weights: model.controls.entries.iter().enumerate().map(track).collect(),
            motions: vec![head],
        }
    }
}

/// A recording as the vertices of the rig's own mesh.
struct RecordedFrames<'a> {
    recording: &'a Recording,
    model: &'a Model,
}

impl Frames for RecordedFrames<'_> {
    fn count(&self) -> usize {
        self.recording.poses.len()
    }

    fn fps(&self) -> f64 {
        FPS
    }

    fn vertex_count(&self) -> usize {
        self.model.rig.skin().positions.len()
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> zygoma_rig::Result<()> {
        let part = &self.model.parts[self.model.rig.skin];
        let points = &self.recording.displacements[frame * self.recording.points..][..self.recording.points];
        let step = self.recording.steps[frame];
        for (position, point) in positions.iter_mut().zip(&part.point_of_vertex) {
            let moved = points[*point as usize].map(|steps| step * f32::from(steps));
            *position = part.neutral[*point as usize] + Vec3::from(moved);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeadChoice;

    /// How fast a point goes, m/s: in a quarter of a second farther than any face.
    const SPEED: f32 = 0.8;

    #[test]
    fn frames_of_any_rate_become_steady_ones() {
        let mut recorder = Recorder::default();
        recorder.start();
        let mut time = 0.0;
        for step in [0.0, 0.011, 0.02, 0.016, 0.05, 0.031, 0.009, 0.1, 0.013] {
            time += step;
            recorder.push(step, &[Vec3::new(SPEED * time as f32, 0.0, 0.0)], &[0.0], &RigidMotion::IDENTITY);
        }
        let recording = recorder.stop().unwrap();
        assert_eq!(recording.displacements.len(), (time * FPS).floor() as usize + 1);
        for (frame, ([x, ..], step)) in recording.displacements.iter().zip(&recording.steps).enumerate() {
            let wanted = f64::from(SPEED) * frame as f64 / FPS;
            assert!((f64::from(*x) * f64::from(*step) - wanted).abs() < 1e-6, "frame {frame}");
        }
    }

    #[test]
    fn a_recording_becomes_a_glb_that_reads_back() {
        let model = Model::built_in(&HeadChoice::default(), None).unwrap();
        let part = &model.parts[model.rig.skin];
        let mut recorder = Recorder::default();
        recorder.start();
        for frame in 0..20 {
            let moved = vec![Vec3::new(0.0, 0.0, 0.001 * frame as f32); part.neutral.len()];
            recorder.push(
                1.0 / 60.0,
                &moved,
                &vec![0.1; model.controls.entries.len()],
                &RigidMotion::IDENTITY,
            );
        }
        let recording = recorder.stop().unwrap();
        let bytes = recording.write(&model).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("back.glb");
        std::fs::write(&file, bytes).unwrap();
        let rig = zygoma_rig::formats::read_rig(&file, &zygoma_rig::formats::Limits::default()).unwrap();
        assert_eq!(rig.takes.len(), 1);
        assert!((rig.takes[0].duration() - (recording.seconds() - 1.0 / FPS)).abs() < 1e-3);
    }
}
