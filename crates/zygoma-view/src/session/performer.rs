//! Drives the face: takes, sliders, and the head's motion.

use std::path::Path;
use std::sync::Arc;

use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::JointRole;
use zygoma_rig::formats;

use super::work::UPLOAD_LIMITS;
use crate::model::{BoundTake, Eye, Model};
use crate::protocol::{ClientMessage, TakeEntry};

/// Most takes that can be added.
const MOST_TAKES: usize = 64;

/// Weights that a slider may ask for.
const WEIGHTS: std::ops::RangeInclusive<f32> = -1.0..=2.0;

/// First one motion, then another.
pub(crate) fn then(first: &RigidMotion, second: &RigidMotion) -> RigidMotion {
    RigidMotion {
        rotation: second.rotation * first.rotation,
        translation: second.rotation * first.translation + second.translation,
    }
}

/// Rotation x y z w, then translation.
pub(crate) fn as_numbers(motion: &RigidMotion) -> [f32; 7] {
    let [x, y, z, w] = motion.rotation.to_array();
    let [a, b, c] = motion.translation.to_array();
    [x, y, z, w, a, b, c].map(|number| number as f32)
}

/// Plays takes and holds sliders.
#[derive(Debug)]
pub(crate) struct Performer {
    takes: Vec<Arc<BoundTake>>,
    current: Option<usize>,
    time: f64,
    playing: bool,
    speed: f64,
    looped: bool,
    head_motion: bool,
    /// For each control the value that the user holds it at.
    held: Vec<Option<f32>>,
    /// Per mesh, per shape.
    weights: Vec<Vec<f32>>,
    next: Vec<f32>,
    moved: Vec<bool>,
}

impl Performer {
    /// Starts with the first take.
    pub(crate) fn new(model: &Model) -> Self {
        let weights: Vec<Vec<f32>> =
            model.rig.meshes.iter().map(|mesh| vec![0.0; mesh.shapes.len()]).collect();
        Self {
            takes: model.takes.clone(),
            current: (!model.takes.is_empty()).then_some(0),
            time: 0.0,
            playing: true,
            speed: 1.0,
            looped: true,
            head_motion: true,
            held: vec![None; model.controls.entries.len()],
            moved: vec![true; weights.len()],
            weights,
            next: Vec::new(),
        }
    }

    /// Goes on with another version of the same rig, which has new surfaces for the same weights.
    pub(crate) fn keep_for(&mut self, model: &Model) {
        let fresh = Self::new(model);
        if fresh.held.len() != self.held.len() {
            *self = fresh;
            return;
        }
        let added = self.takes.iter().skip(model.takes.len()).cloned();
        self.takes = model.takes.iter().cloned().chain(added).collect();
        self.weights = fresh.weights;
        self.refresh();
    }

    pub(crate) fn entries(&self) -> Vec<TakeEntry> {
        self.takes.iter().map(|take| take.entry()).collect()
    }

    /// Index of the take, −1 for none.
    pub(crate) fn current(&self) -> i32 {
        self.current.map_or(-1, |index| index as i32)
    }

    pub(crate) fn is_playing(&self) -> bool {
        self.playing && self.current.is_some()
    }

    /// Seconds since the take's start.
    pub(crate) fn time(&self) -> f64 {
        self.time
    }

    fn take(&self) -> Option<&Arc<BoundTake>> {
        self.takes.get(self.current?)
    }

    /// Reads a take and chooses it.
    pub(crate) fn add_take(&mut self, path: &Path, model: &Model) -> Result<(), String> {
        if self.takes.len() >= MOST_TAKES {
            return Err(format!("there are {MOST_TAKES} takes already; reload the page to start again"));
        }
        let take = formats::read_take(path, &UPLOAD_LIMITS).map_err(|error| error.to_string())?;
        self.takes.push(Arc::new(BoundTake::new(take, &model.rig, &model.names)));
        (self.current, self.time, self.playing) = (Some(self.takes.len() - 1), 0.0, true);
        Ok(())
    }

    /// Does what the page says; true if another take was chosen.
    pub(crate) fn transport(&mut self, message: &ClientMessage) -> bool {
        let ClientMessage::Transport { take, playing, time, speed, looped, head_motion } = message else {
            return false;
        };
        let before = self.current;
        if let Some(take) = take {
            self.current = usize::try_from(*take).ok().filter(|index| *index < self.takes.len());
            self.time = 0.0;
        }
        if let Some(speed) = speed.filter(|speed| speed.is_finite()) {
            self.speed = speed.clamp(0.0, 8.0);
        }
        if let Some(time) = time.filter(|time| time.is_finite()) {
            let end = self.take().map_or(0.0, |take| take.take.duration());
            self.time = time.clamp(0.0, end);
        }
        self.looped = looped.unwrap_or(self.looped);
        self.head_motion = head_motion.unwrap_or(self.head_motion);
        if let Some(playing) = playing {
            let end = self.take().map_or(0.0, |take| take.take.duration());
            if *playing && self.time >= end {
                self.time = 0.0;
            }
            self.playing = *playing;
        }
        self.current != before
    }

    /// Moves the take on.
    pub(crate) fn advance(&mut self, seconds: f64) {
        let Some(duration) = self.take().map(|take| take.take.duration()) else { return };
        if !self.playing {
            return;
        }
        self.time += self.speed * seconds;
        if self.time >= duration {
            if self.looped && duration > 0.0 {
                self.time %= duration;
            } else {
                (self.time, self.playing) = (duration, false);
            }
        }
    }

    /// Where the take has the head.
    pub(crate) fn head_pose(&self) -> RigidMotion {
        let take = self.take().filter(|_| self.head_motion);
        take.and_then(|take| take.motion_at(JointRole::Head, self.time)).unwrap_or(RigidMotion::IDENTITY)
    }

    /// How an eye is turned: as the take says, or else as the expressions do.
    pub(crate) fn gaze(&self, eye: &Eye, controls: &[f32]) -> RigidMotion {
        let track = self.take().and_then(|take| take.motion_at(eye.role, self.time));
        track.unwrap_or_else(|| eye.gaze(controls))
    }

    /// Holds controls at values.
    pub(crate) fn hold(&mut self, values: &[(u32, f32)]) {
        for (control, value) in values {
            if let Some(held) = self.held.get_mut(*control as usize).filter(|_| value.is_finite()) {
                *held = Some(value.clamp(*WEIGHTS.start(), *WEIGHTS.end()));
            }
        }
    }

    /// Lets the take drive controls again; all of them for `None`.
    pub(crate) fn let_go(&mut self, controls: Option<&[u32]>) {
        match controls {
            None => self.held.fill(None),
            Some(controls) => {
                for control in controls {
                    if let Some(held) = self.held.get_mut(*control as usize) {
                        *held = None;
                    }
                }
            }
        }
    }

    /// Whether the last update gave a mesh other weights than before.
    pub(crate) fn has_moved(&self, mesh: usize) -> bool {
        self.moved[mesh]
    }

    /// Lets the next update find that every mesh has moved, whatever its weights.
    pub(crate) fn refresh(&mut self) {
        self.weights.iter_mut().flatten().for_each(|weight| *weight = f32::NAN);
    }

    /// Computes the weights of all meshes.
    pub(crate) fn update_weights(&mut self, model: &Model) {
        for mesh in 0..self.weights.len() {
            self.next.clear();
            self.next.resize(self.weights[mesh].len(), 0.0);
            if let Some(take) = self.current.and_then(|index| self.takes.get(index)) {
                take.weights_at(mesh, self.time, &mut self.next);
            }
            for (held, drives) in self.held.iter().zip(&model.controls.drives) {
                if let Some(value) = held {
                    for (_, shape) in drives.iter().filter(|(driven, _)| *driven == mesh) {
                        self.next[*shape] = *value;
                    }
                }
            }
            self.moved[mesh] = self.next != self.weights[mesh];
            std::mem::swap(&mut self.next, &mut self.weights[mesh]);
        }
    }

    /// The weights of one mesh.
    pub(crate) fn weights(&self, mesh: usize) -> &[f32] {
        &self.weights[mesh]
    }

    /// The value of each control.
    pub(crate) fn control_weights(&self, model: &Model) -> Vec<f32> {
        let value = |drives: &Vec<(usize, usize)>| {
            drives.first().map_or(0.0, |(mesh, shape)| self.weights[*mesh][*shape])
        };
        model.controls.drives.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use glam::{DQuat, DVec3};

    use super::*;
    use crate::model::HeadChoice;

    fn seek(time: f64) -> ClientMessage {
        ClientMessage::Transport {
            take: None,
            playing: Some(false),
            time: Some(time),
            speed: None,
            looped: None,
            head_motion: None,
        }
    }

    #[test]
    fn held_sliders_win_over_the_take_until_they_are_let_go() {
        let model = Model::built_in(&HeadChoice::default(), None).unwrap();
        let mut performer = Performer::new(&model);
        let control =
            model.controls.entries.iter().position(|control| control.name == "mouthSmileLeft").unwrap();
        performer.transport(&seek(1.1));
        performer.update_weights(&model);
        let played = performer.control_weights(&model)[control];
        assert!(played > 0.5, "the tour smiles at 1.1 s: {played}");
        performer.hold(&[(control as u32, 0.1)]);
        performer.update_weights(&model);
        assert_eq!(performer.control_weights(&model)[control], 0.1);
        performer.let_go(None);
        performer.update_weights(&model);
        assert_eq!(performer.control_weights(&model)[control], played);
    }

    #[test]
    fn a_looped_take_starts_again_and_another_one_stops() {
        let model = Model::built_in(&HeadChoice::default(), None).unwrap();
        let mut performer = Performer::new(&model);
        let duration = model.takes[0].take.duration();
        performer.advance(duration + 1.0);
        assert!((performer.time() - 1.0).abs() < 1e-9 && performer.is_playing());
        performer.looped = false;
        performer.advance(duration);
        assert!(performer.time() == duration && !performer.is_playing());
    }

    #[test]
    fn motions_follow_each_other() {
        let first = RigidMotion { rotation: DQuat::from_rotation_y(0.4), translation: DVec3::X };
        let second = RigidMotion { rotation: DQuat::from_rotation_x(-0.7), translation: DVec3::Z };
        let point = DVec3::new(0.3, -0.2, 0.9);
        assert!(then(&first, &second).apply(point).distance(second.apply(first.apply(point))) < 1e-12);
    }
}
