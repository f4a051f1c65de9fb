//! Fingers of the page on the skin of a face.

use glam::Vec3;
use zygoma_face::body::Body;
use zygoma_face::contact::{ColliderFrame, ColliderId, ColliderMotion, Colliders, GrabId};
use zygoma_physics::contact::{ColliderShape, Pose};

use crate::frame::TouchReport;
use crate::model::Part;
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
    /// Presses with a ball. The page aims at places of the head, which takes the ball along.
    Press { collider: ColliderId, radius: f32 },
    /// Pulls skin to a place in the head's frame.
    Pull { grab: GrabId, to: Vec3 },
}

fn usable(numbers: &[f32]) -> bool {
    numbers.iter().all(|number| number.is_finite() && number.abs() < 10.0)
}

impl Hands {
    /// Does what the page says about a finger.
    pub(crate) fn handle(&mut self, message: &ClientMessage, body: &mut dyn Body) {
        match message {
            ClientMessage::Press { id, at, radius, force, .. } if usable(at) && usable(&[*radius]) => {
                let radius = radius.clamp(*RADII.start(), *RADII.end());
                let force = if force.is_finite() { force.clamp(0.0, LARGEST_FORCE) } else { 0.0 };
                self.press(*id, Vec3::from(*at), radius, ColliderMotion::Bounded { force }, body);
            }
            ClientMessage::Pull { id, at, to, radius, .. } if usable(at) && usable(to) => {
                let radius = radius.clamp(*RADII.start(), *RADII.end());
                self.pull(*id, Vec3::from(*at), Vec3::from(*to), radius, body);
            }
            ClientMessage::Release { id, .. } => self.release(*id, body),
            _ => {}
        }
    }

    fn press(&mut self, id: u32, at: Vec3, radius: f32, drive: ColliderMotion, body: &mut dyn Body) {
        let known = self.fingers.iter_mut().find(|finger| finger.id == id);
        if let Some(Finger { hold: Hold::Press { collider, radius: old }, .. }) = known
            && *old == radius
            && let Some(collider) = body.colliders_mut().and_then(|colliders| colliders.get_mut(*collider))
        {
            (collider.pose, collider.drive) = (Pose::at(at), drive);
            return;
        }
        self.release(id, body);
        if self.fingers.len() < MOST_FINGERS {
            let Some(colliders) = body.colliders_mut() else { return };
            let (shape, pose) = (ColliderShape::Sphere { radius }, Pose::at(at));
            let collider = colliders.add_in(ColliderFrame::Head, shape, pose, drive);
            if let Some(collider) = colliders.get_mut(collider) {
                collider.friction = FRICTION;
            }
            self.fingers.push(Finger { id, hold: Hold::Press { collider, radius } });
        }
    }

    fn pull(&mut self, id: u32, at: Vec3, to: Vec3, radius: f32, body: &mut dyn Body) {
        let known = self.fingers.iter_mut().find(|finger| finger.id == id);
        if let Some(Finger { hold: Hold::Pull { grab, to: place }, .. }) = known {
            if let Some(colliders) = body.colliders_mut() {
                colliders.drag(*grab, to);
            }
            *place = to;
            return;
        }
        self.release(id, body);
        if self.fingers.len() < MOST_FINGERS {
            let Some(grab) = body.grab(at, radius) else { return };
            if let Some(colliders) = body.colliders_mut() {
                colliders.drag(grab, to);
            }
            self.fingers.push(Finger { id, hold: Hold::Pull { grab, to } });
        }
    }

    fn release(&mut self, id: u32, body: &mut dyn Body) {
        let Some(index) = self.fingers.iter().position(|finger| finger.id == id) else { return };
        let hold = self.fingers.remove(index).hold;
        match (hold, body.colliders_mut()) {
            (Hold::Press { collider, .. }, Some(colliders)) => colliders.remove(collider),
            (Hold::Pull { grab, .. }, Some(colliders)) => colliders.release(grab),
            (_, None) => {}
        }
    }

    /// Where the fingers are and how hard they press.
    pub(crate) fn reports(&self, body: &dyn Body) -> Vec<TouchReport> {
        let report = |finger: &Finger| match &finger.hold {
            Hold::Press { collider, .. } => {
                let collider = body.colliders()?.get(*collider)?;
                let place = collider.place().translation;
                Some(TouchReport {
                    id: finger.id,
                    place,
                    force: -collider.force(),
                    depth: collider.deepest(),
                })
            }
            Hold::Pull { grab, to } => {
                let force = body.colliders()?.grab_force(*grab).unwrap_or_default();
                Some(TouchReport { id: finger.id, place: *to, force, depth: 0.0 })
            }
        };
        self.fingers.iter().filter_map(report).collect()
    }
}

/// Contact forces on the points of the skin, N.
pub(crate) fn contact_forces(body: &dyn Body, part: &Part) -> Vec<(u32, f32)> {
    let contacts = body.colliders().into_iter().flat_map(Colliders::contacts);
    contacts.map(|contact| (part.point_of_vertex[contact.vertex as usize], contact.force.length())).collect()
}
