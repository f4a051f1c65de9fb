//! An anatomical face as a [`Body`].

use std::any::Any;

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;

use super::run::AnatomicalBody;
use crate::body::{BadDrive, Body, BodyState, Drive, Frame, Stage, WrongState};
use crate::contact::{Colliders, GrabId};

impl Body for AnatomicalBody {
    fn name(&self) -> &'static str {
        "anatomical"
    }

    fn drive(&mut self, drive: Drive<'_>) -> Result<(), BadDrive> {
        let unsupported = |drive| Err(BadDrive::Unsupported { body: "an anatomical face", drive });
        match drive {
            Drive::Weights(weights) => self.set_weights(weights),
            Drive::Surface(_) => return unsupported("a target surface"),
            Drive::Materials(_) => return unsupported("weights of materials"),
            Drive::Markers(positions) => {
                if self.set_landmarks(positions).is_none() {
                    return unsupported("markers");
                }
            }
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

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn save(&self) -> BodyState {
        BodyState::new(self.clone())
    }

    fn restore(&mut self, state: &BodyState) -> Result<(), WrongState> {
        *self = state.get::<Self>()?.clone();
        Ok(())
    }

    fn colliders(&self) -> Option<&Colliders> {
        Some(&self.contact.touches)
    }

    fn colliders_mut(&mut self) -> Option<&mut Colliders> {
        Some(&mut self.contact.touches)
    }

    fn grab(&mut self, at: Vec3, radius: f32) -> Option<GrabId> {
        Some(self.grab_skin(at, radius))
    }

    fn penetration(&self) -> f32 {
        self.deepest()
    }

    fn begin_moving(&mut self, seconds: f64) {
        self.begin_moving(seconds);
    }

    fn return_to_rig(&mut self, weights: &[f32]) {
        self.return_skin(weights);
    }

    fn stages(&self) -> Vec<Stage> {
        let times = &self.times;
        let named = [("solve", times.solve), ("contact", times.contact), ("surface", times.output)];
        named.map(|(name, time)| Stage { name, time }).to_vec()
    }

    fn frame_before(&mut self, _seconds: f64) -> Frame<'_> {
        Frame { positions: &self.positions, asleep: false }
    }

    fn inverted(&self) -> Vec<u32> {
        self.inverted_tets()
    }
}
