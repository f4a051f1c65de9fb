//! Plays a touch script: before each frame it moves colliders and grabs to their goals.

use glam::{Quat, Vec3};
use zygoma_physics::contact::{ColliderShape, Pose};

use super::{Action, CLEARANCE, FINGERTIP, Key, Place, ScriptedTouch, TouchScript};
use crate::body::Body;
use crate::contact::{ColliderBody, ColliderFrame, ColliderId, GrabId};

/// The face at the end of the next frame, before it is touched.
pub struct Moment<'a> {
    /// Seconds since the take's start.
    pub time: f64,
    /// The plain rig then, in metres, in the head's frame.
    pub plain: &'a [Vec3],
    /// The simulated surface now.
    pub shown: &'a [Vec3],
}

/// A collider to be displayed: its shape and its pose in each frame, in the head's frame.
#[derive(Clone, Debug)]
pub struct Prop {
    /// Its name in the script.
    pub name: String,
    /// Its shape.
    pub shape: ColliderShape,
    /// Its pose in each frame; `None` while it is away.
    pub poses: Vec<Option<Pose>>,
    /// The first frame in which it cut through the face.
    pub cut: Option<usize>,
}

/// A touch script that is being played.
pub struct Player<'a> {
    script: &'a TouchScript,
    states: Vec<State>,
    props: Vec<Prop>,
}

#[derive(Clone, Debug)]
enum State {
    Waiting,
    Touching {
        touch: ColliderId,
        start: Vec<(Vec3, Vec3)>,
    },
    /// `start` is where the skin was grabbed and where the plain rig had it then.
    Holding {
        pull: GrabId,
        start: [Vec3; 2],
        grip: Vec3,
        normal: Vec3,
    },
    Over,
}

impl Prop {
    /// A warning if it cut through the face.
    pub fn warning(&self, fps: f64) -> Option<String> {
        let frame = self.cut?;
        Some(format!(
            "problem: '{}' passes through the face at {:.2} s and touches nothing until it is outside again; move its path outside the face",
            self.name,
            frame as f64 / fps
        ))
    }
}

impl<'a> Player<'a> {
    /// Starts a script.
    pub fn new(script: &'a TouchScript) -> Self {
        let prop = |touch: &ScriptedTouch| Prop {
            name: touch.name.clone(),
            shape: match &touch.action {
                Action::Push { collider, .. } | Action::Carry { collider, .. } => collider.shape.clone(),
                // A fingertip on a grab that may be wider.
                Action::Pull { radius, .. } => ColliderShape::Sphere { radius: radius.min(0.7 * FINGERTIP) },
            },
            poses: Vec::new(),
            cut: None,
        };
        Self {
            script,
            states: vec![State::Waiting; script.touches.len()],
            props: script.touches.iter().map(prop).collect(),
        }
    }

    /// Prepares the frame that ends at a moment.
    pub fn before(&mut self, running: &mut dyn Body, moment: &Moment) {
        for (touch, state) in self.script.touches.iter().zip(&mut self.states) {
            let is_now = moment.time >= touch.from - 1e-9 && moment.time <= touch.to + 1e-9;
            if !is_now {
                end(running, state, moment.time > touch.to);
                continue;
            }
            if matches!(state, State::Waiting) {
                *state = begin(touch, running, moment);
            }
            advance(touch, running, state, moment);
        }
    }

    /// Records the poses of the props after a frame.
    pub fn after(&mut self, running: &dyn Body) {
        for (prop, state) in self.props.iter_mut().zip(&self.states) {
            let pose = match state {
                State::Touching { touch, .. } => {
                    let touch = running.colliders().and_then(|colliders| colliders.get(*touch));
                    if prop.cut.is_none() && touch.is_some_and(ColliderBody::is_through) {
                        prop.cut = Some(prop.poses.len());
                    }
                    touch.map(ColliderBody::place)
                }
                State::Holding { grip, normal, .. } => {
                    let radius = prop.shape.bounding_radius();
                    Some(Pose::at(*grip + radius * *normal))
                }
                State::Waiting | State::Over => None,
            };
            prop.poses.push(pose);
        }
    }

    /// All colliders, to be displayed.
    pub fn into_props(self) -> Vec<Prop> {
        self.props
    }
}

/// Progress of a touch at a time: from 0 to 1 and back.
fn progress(touch: &ScriptedTouch, time: f64, ease_in: f64, ease_out: f64) -> f32 {
    let fraction = |seconds: f64, ease: f64| if ease > 0.0 { (seconds / ease).clamp(0.0, 1.0) } else { 1.0 };
    let inwards = fraction(time - touch.from, ease_in);
    let outwards = fraction(touch.to - time, ease_out);
    let smooth = |x: f64| x * x * (3.0 - 2.0 * x);
    (smooth(inwards) * smooth(outwards)) as f32
}

impl Place {
    /// Its position on a surface, and the outward normal.
    pub(super) fn on(&self, surface: &[Vec3]) -> (Vec3, Vec3) {
        let (Self::Vertex { triangles, .. } | Self::Position { triangles, .. }) = self;
        let normal: Vec3 = triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| surface[v as usize]);
                (b - a).cross(c - a)
            })
            .sum();
        let at = match self {
            Self::Vertex { vertex, .. } => surface[*vertex as usize],
            Self::Position { position, .. } => *position,
        };
        (at, normal.normalize_or(Vec3::Z))
    }
}

fn spots(action: &Action) -> Vec<&Place> {
    match action {
        Action::Push { at, .. } | Action::Pull { at, .. } => vec![at],
        Action::Carry { keys, .. } => keys.iter().map(|key| &key.at).collect(),
    }
}

/// A collider's goal at a time, in the head's frame.
fn pose(touch: &ScriptedTouch, start: &[(Vec3, Vec3)], moment: &Moment) -> Pose {
    let now = |index: usize, spot: &Place| if touch.follow { spot.on(moment.plain) } else { start[index] };
    match &touch.action {
        Action::Push { at, direction, depth, ease, collider } => {
            let (at, normal) = now(0, at);
            let outward = direction.map_or(normal, |direction| -direction);
            let gone = progress(touch, moment.time, *ease, *ease);
            let out = (1.0 - gone) * CLEARANCE - gone * depth;
            let tip = at + (collider.radius + out) * outward;
            match &collider.shape {
                ColliderShape::Capsule { half_length, .. } => Pose {
                    rotation: Quat::from_rotation_arc(Vec3::Y, outward),
                    translation: tip + *half_length * outward,
                },
                _ => Pose::at(tip),
            }
        }
        Action::Carry { keys, .. } => {
            let at = |index: usize, key: &Key| {
                let (at, normal) = now(index, &key.at);
                at + key.offset + key.out * normal
            };
            let after = keys.partition_point(|key| key.time <= moment.time).clamp(1, keys.len());
            let (a, b) = (after - 1, after.min(keys.len() - 1));
            let length = (keys[b].time - keys[a].time).max(f64::MIN_POSITIVE);
            let fraction = ((moment.time - keys[a].time) / length).clamp(0.0, 1.0) as f32;
            Pose::at(at(a, &keys[a]).lerp(at(b, &keys[b]), fraction))
        }
        Action::Pull { .. } => Pose::at(Vec3::ZERO),
    }
}

fn begin(touch: &ScriptedTouch, running: &mut dyn Body, moment: &Moment) -> State {
    match &touch.action {
        Action::Push { collider, .. } | Action::Carry { collider, .. } => {
            let start: Vec<(Vec3, Vec3)> =
                spots(&touch.action).iter().map(|spot| spot.on(moment.plain)).collect();
            let pose = pose(touch, &start, moment);
            let Some(colliders) = running.colliders_mut() else { return State::Over };
            let id = colliders.add_in(ColliderFrame::Head, collider.shape.clone(), pose, collider.motion);
            if let Some(added) = colliders.get_mut(id) {
                added.friction = collider.friction;
            }
            State::Touching { touch: id, start }
        }
        Action::Pull { at, radius, .. } => {
            let (grip, normal) = at.on(moment.shown);
            let Some(pull) = running.grab(grip, *radius) else { return State::Over };
            State::Holding { pull, start: [grip, at.on(moment.plain).0], grip, normal }
        }
    }
}

fn advance(touch: &ScriptedTouch, running: &mut dyn Body, state: &mut State, moment: &Moment) {
    match state {
        State::Touching { touch: id, start } => {
            let pose = pose(touch, start, moment);
            if let Some(moved) = running.colliders_mut().and_then(|colliders| colliders.get_mut(*id)) {
                moved.pose = pose;
            }
        }
        State::Holding { pull, start, grip, .. } => {
            if let Action::Pull { at, by, ease, ease_out, .. } = &touch.action {
                let [grabbed, plain] = *start;
                let followed = if touch.follow { at.on(moment.plain).0 - plain } else { Vec3::ZERO };
                *grip = grabbed + followed + progress(touch, moment.time, *ease, *ease_out) * *by;
                if let Some(colliders) = running.colliders_mut() {
                    colliders.drag(*pull, *grip);
                }
            }
        }
        State::Waiting | State::Over => {}
    }
}

/// Removes a collider or grab that has ended.
fn end(running: &mut dyn Body, state: &mut State, is_over: bool) {
    match (&*state, running.colliders_mut()) {
        (State::Touching { touch, .. }, Some(colliders)) => colliders.remove(*touch),
        (State::Holding { pull, .. }, Some(colliders)) => colliders.release(*pull),
        _ => {}
    }
    if is_over {
        *state = State::Over;
    }
}
