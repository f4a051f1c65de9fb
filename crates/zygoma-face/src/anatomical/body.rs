//! An anatomical face as a [`Body`].

use std::any::Any;

use zygoma_geometry::rigid::RigidMotion;

use super::run::AnatomicalBody;
use crate::body::{BadDrive, Body, BodyState, Drive, Frame, Stage, WrongState};

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

    fn set_head_pose(&mut self, _pose: &RigidMotion) {}

    fn settle(&mut self) {
        self.settle();
    }

    fn advance(&mut self, _seconds: f64) -> Frame<'_> {
        self.solve();
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

    fn stages(&self) -> Vec<Stage> {
        let times = &self.times;
        let named = [("solve", times.solve), ("lips", times.lips), ("surface", times.output)];
        named.map(|(name, time)| Stage { name, time }).to_vec()
    }

    fn frame_before(&mut self, _seconds: f64) -> Frame<'_> {
        Frame { positions: &self.positions, asleep: false }
    }

    fn inverted(&self) -> Vec<u32> {
        self.inverted_tets()
    }
}
