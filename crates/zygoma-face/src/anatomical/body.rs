//! An anatomical face as a [`Body`].

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;

use super::run::AnatomicalBody;
use crate::body::{BadBodyParam, BadDrive, Body, BodyParam, Drive, Frame, Stage, Touchable};

/// Skin that is pulled to its expression by less than this fraction is palsied. Ours.
const WEAK: f64 = 0.95;

impl Body for AnatomicalBody {
    fn name(&self) -> &'static str {
        "anatomical"
    }

    fn drive(&mut self, drive: Drive<'_>) -> Result<(), BadDrive> {
        match drive {
            Drive::Weights(weights) => self.set_weights(weights),
            Drive::Markers(positions) if self.set_landmarks(positions).is_some() => {}
            _ => return Err(drive.unsupported("an anatomical face")),
        }
        Ok(())
    }

    fn set_head_pose(&mut self, pose: &RigidMotion) {
        self.set_head(pose);
    }

    fn settle(&mut self) {
        self.settle();
    }

    fn advance(&mut self, seconds: f64) -> Frame<'_> {
        self.run(seconds);
        self.frame_before(0.0)
    }

    fn touchable(&self) -> Option<&dyn Touchable> {
        Some(self)
    }

    fn touchable_mut(&mut self) -> Option<&mut dyn Touchable> {
        Some(self)
    }

    /// Palsied skin, which stays behind.
    fn free_vertices(&self) -> Vec<bool> {
        let (embedding, pull) = (&self.model.output.embedding, &self.model.pull);
        let is_weak = |v: usize| {
            let (corners, weights) = (embedding.vertices[v], embedding.weights[v]);
            corners.iter().zip(weights).any(|(corner, weight)| weight > 0.0 && pull[*corner as usize] < WEAK)
        };
        (0..embedding.len()).map(is_weak).collect()
    }

    fn followed(&self) -> Option<&[Vec3]> {
        Some(&self.reached.plain)
    }

    /// The dials. Those of the head take some seconds to have an effect.
    fn params(&self) -> Vec<BodyParam> {
        self.turning.as_ref().map_or_else(Vec::new, |turning| turning.wanted.params())
    }

    fn set_param(&mut self, name: &str, value: f64) -> Result<(), BadBodyParam> {
        let known = self.params();
        let turned = self.turning.as_mut().map(|turning| turning.wanted.set_param(name, value));
        turned
            .unwrap_or(Ok(false))?
            .then_some(())
            .ok_or_else(|| BadBodyParam::unknown("an anatomical face", name, &known))
    }

    fn finish_params(&mut self) {
        self.finish_dials();
    }

    fn begin_moving(&mut self, seconds: f64) {
        self.begin_moving(seconds);
    }

    fn return_to_rig(&mut self, weights: &[f32]) {
        self.return_skin(weights);
    }

    fn stages(&self) -> Vec<Stage> {
        let times = &self.times;
        Stage::list([("solve", times.solve), ("contact", times.contact), ("surface", times.output)])
    }

    fn frame_before(&mut self, _seconds: f64) -> Frame<'_> {
        Frame { positions: &self.positions, asleep: false }
    }

    fn inverted(&self) -> Vec<u32> {
        self.inverted_tets()
    }
}
