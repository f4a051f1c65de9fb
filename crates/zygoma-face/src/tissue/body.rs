//! Tissue as a [`Body`].

use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::Checked;

use super::STICKY;
use super::run::TissueBody;
use crate::body::{BadBodyParam, BadDrive, Body, BodyParam, Drive, Frame, Stage, Touchable, gravity_axis};

impl Body for TissueBody {
    fn name(&self) -> &'static str {
        "tissue"
    }

    /// Markers drive it only after [`follow`](TissueBody::follow) has been given their places on the skin.
    fn drive(&mut self, drive: Drive<'_>) -> Result<(), BadDrive> {
        match drive {
            Drive::Weights(weights) => self.set_weights(weights),
            Drive::Markers(positions) if self.drive.is_some() => self.set_markers(positions),
            Drive::Markers(_) => {
                return Err(BadDrive::Unsupported { body: "tissue", drive: "markers it does not know" });
            }
            Drive::Surface(_) | Drive::Materials(_) => return Err(drive.unsupported("tissue")),
        }
        Ok(())
    }

    fn set_head_pose(&mut self, pose: &RigidMotion) {
        if pose.is_finite() {
            self.head.pose = *pose;
        }
    }

    fn settle(&mut self) {
        self.settle();
    }

    fn advance(&mut self, seconds: f64) -> Frame<'_> {
        Frame { positions: self.advance(seconds), asleep: false }
    }

    fn latency(&self) -> f64 {
        self.latency()
    }

    fn touchable(&self) -> Option<&dyn Touchable> {
        Some(self)
    }

    fn touchable_mut(&mut self) -> Option<&mut dyn Touchable> {
        Some(self)
    }

    /// Stickiness is a multiple of the usual one, [`STICKY`].
    fn params(&self) -> Vec<BodyParam> {
        let live = self.live();
        let stickiness = BodyParam::new("stickiness", live.stickiness / STICKY, 0.0..=10.0);
        [stickiness].into_iter().chain(BodyParam::gravity(&live.gravity)).collect()
    }

    fn set_param(&mut self, name: &str, value: f64) -> Result<(), BadBodyParam> {
        let mut live = self.live();
        match (name, gravity_axis(name)) {
            ("stickiness", _) => live.stickiness = value * STICKY,
            (_, Some(axis)) => live.gravity[axis] = value,
            _ => return Err(BadBodyParam::unknown("tissue", name, &Body::params(self))),
        }
        live.check()?;
        self.set_live(live);
        Ok(())
    }

    fn stages(&self) -> Vec<Stage> {
        let stages = self.stages();
        Stage::list([
            ("control", stages.place + stages.control + stages.inertia),
            ("evaluate", stages.solve.evaluate),
            ("solve", stages.solve.solve),
            ("search", stages.solve.other),
            ("contact", stages.contact + stages.constrain + stages.part),
            ("surface", stages.output),
        ])
    }

    fn next_input(&self, known: f64, frame: f64) -> Option<f64> {
        let step = self.latency();
        (known + 1e-6 * step < frame).then_some(known + step)
    }

    fn begin_moving(&mut self, _seconds: f64) {
        self.glide();
    }

    fn run(&mut self, seconds: f64) {
        self.run(seconds);
    }

    fn frame_before(&mut self, seconds: f64) -> Frame<'_> {
        Frame { positions: self.show(seconds), asleep: false }
    }

    fn inverted(&self) -> Vec<u32> {
        self.inverted()
    }

    fn inverted_by_rig(&self, weights: &[f32]) -> Vec<u32> {
        self.tissue().plain_inverted(weights)
    }

    fn vertices_at(&self, elements: &[u32], weights: &[f32]) -> Vec<u32> {
        self.tissue().broken_vertices(elements, weights)
    }

    fn free_vertices(&self) -> Vec<bool> {
        self.tissue().free_vertices()
    }

    fn follows_rig(&self) -> bool {
        self.drive.is_none()
    }

    fn return_to_rig(&mut self, weights: &[f32]) {
        self.blend_to_rig(weights);
    }
}
