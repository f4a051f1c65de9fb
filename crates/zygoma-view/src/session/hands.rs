//! Fingers of the page on the skin of a face.

use glam::Vec3;
use zygoma_face::body::Body as Simulated;
use zygoma_face::contact::{ColliderId, ColliderMotion, GrabId};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::contact::{ColliderShape, Pose};

use crate::frame::TouchReport;
use crate::protocol::ClientMessage;

/// Most fingers at once.
const MOST_FINGERS: usize = 10;

/// Radius of a fingertip and how hard it presses, within reason.
const RADII: std::ops::RangeInclusive<f32> = 0.001..=0.1;
const LARGEST_FORCE: f32 = 200.0;

/// A fingertip holds the skin a little, so that it does not slide off at once. Ours.
const FRICTION: f32 = 0.3;

/// All fingers.
#[derive(Debug, Default)]
pub(crate) struct Hands {
    fingers: Vec<Finger>,
}

#[derive(Debug)]
struct Finger {
    id: u32,
    hold: Hold,
}

#[derive(Debug)]
enum Hold {
    /// Presses with a ball whose middle should be at a place in the head's frame.
    Press { touch: ColliderId, at: Vec3, radius: f32 },
    /// Pulls skin to a place in the head's frame.
    Pull { pull: GrabId, to: Vec3 },
}

/// A place of the head's frame in the world.
fn in_world(pose: &RigidMotion, at: Vec3) -> Pose {
    Pose::at(pose.apply(at.as_dvec3()).as_vec3())
}

fn usable(numbers: &[f32]) -> bool {
    numbers.iter().all(|number| number.is_finite() && number.abs() < 10.0)
}

impl Hands {
    /// Does what the page says about a finger.
    pub(crate) fn hear(&mut self, message: &ClientMessage, face: &mut dyn Simulated, pose: &RigidMotion) {
        match message {
            ClientMessage::Press { id, at, radius, force, .. } if usable(at) && usable(&[*radius]) => {
                let radius = radius.clamp(*RADII.start(), *RADII.end());
                let force = if force.is_finite() { force.clamp(0.0, LARGEST_FORCE) } else { 0.0 };
                self.press(*id, Vec3::from(*at), radius, ColliderMotion::Bounded { force }, face, pose);
            }
            ClientMessage::Pull { id, at, to, radius, .. } if usable(at) && usable(to) => {
                let radius = radius.clamp(*RADII.start(), *RADII.end());
                self.pull(*id, Vec3::from(*at), Vec3::from(*to), radius, face);
            }
            ClientMessage::Release { id, .. } => self.release(*id, face),
            _ => {}
        }
    }

    fn press(
        &mut self,
        id: u32,
        at: Vec3,
        radius: f32,
        drive: ColliderMotion,
        face: &mut dyn Simulated,
        pose: &RigidMotion,
    ) {
        let known = self.fingers.iter_mut().find(|finger| finger.id == id);
        if let Some(Finger { hold: Hold::Press { touch, at: place, radius: old }, .. }) = known
            && *old == radius
            && let Some(touch) = face.colliders_mut().and_then(|colliders| colliders.get_mut(*touch))
        {
            (touch.pose, touch.drive, *place) = (in_world(pose, at), drive, at);
            return;
        }
        self.release(id, face);
        if self.fingers.len() < MOST_FINGERS {
            let Some(touches) = face.colliders_mut() else { return };
            let touch = touches.add(ColliderShape::Sphere { radius }, in_world(pose, at), drive);
            if let Some(touch) = touches.get_mut(touch) {
                touch.friction = FRICTION;
            }
            self.fingers.push(Finger { id, hold: Hold::Press { touch, at, radius } });
        }
    }

    fn pull(&mut self, id: u32, at: Vec3, to: Vec3, radius: f32, face: &mut dyn Simulated) {
        let known = self.fingers.iter_mut().find(|finger| finger.id == id);
        if let Some(Finger { hold: Hold::Pull { pull, to: place }, .. }) = known {
            if let Some(colliders) = face.colliders_mut() {
                colliders.drag(*pull, to);
            }
            *place = to;
            return;
        }
        self.release(id, face);
        if self.fingers.len() < MOST_FINGERS {
            let Some(pull) = face.grab(at, radius) else { return };
            if let Some(colliders) = face.colliders_mut() {
                colliders.drag(pull, to);
            }
            self.fingers.push(Finger { id, hold: Hold::Pull { pull, to } });
        }
    }

    fn release(&mut self, id: u32, face: &mut dyn Simulated) {
        let Some(index) = self.fingers.iter().position(|finger| finger.id == id) else { return };
        let hold = self.fingers.remove(index).hold;
        match (hold, face.colliders_mut()) {
            (Hold::Press { touch, .. }, Some(colliders)) => colliders.remove(touch),
            (Hold::Pull { pull, .. }, Some(colliders)) => colliders.release(pull),
            (_, None) => {}
        }
    }

    /// The page aims at places of the head, so fingers go where the head goes between two of its messages.
    pub(crate) fn follow_head(&self, face: &mut dyn Simulated, pose: &RigidMotion) {
        for finger in &self.fingers {
            if let Hold::Press { touch, at, .. } = &finger.hold
                && let Some(touch) = face.colliders_mut().and_then(|colliders| colliders.get_mut(*touch))
            {
                touch.pose = in_world(pose, *at);
            }
        }
    }

    /// Where the fingers are and how hard they press.
    pub(crate) fn reports(&self, face: &dyn Simulated) -> Vec<TouchReport> {
        let report = |finger: &Finger| match &finger.hold {
            Hold::Press { touch, .. } => {
                let touch = face.colliders()?.get(*touch)?;
                let place = touch.place().translation;
                Some(TouchReport { id: finger.id, place, force: -touch.force(), depth: touch.deepest() })
            }
            Hold::Pull { pull, to } => {
                let force = face.colliders()?.pull_force(*pull).unwrap_or_default();
                Some(TouchReport { id: finger.id, place: *to, force, depth: 0.0 })
            }
        };
        self.fingers.iter().filter_map(report).collect()
    }
}
