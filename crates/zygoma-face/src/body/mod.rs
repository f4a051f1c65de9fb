//! Bodies turn drive and touches into frames.
//!
//! [`Body`] is the one interface used by commands, the viewer and benchmarks. A new body implements its few required methods, in the
//! head's frame and in metres, and can at once be performed and watched, and touched if it is [`Touchable`].

pub(crate) mod head_path;
#[cfg(test)]
pub(crate) mod restoring;
mod rig;
mod touchable;

use std::any::Any;
use std::ops::RangeInclusive;
use std::time::Duration;

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::BadParam;

pub use rig::RigBody;
pub use touchable::Touchable;

use crate::contact::{Colliders, GrabId};
use crate::model::Section;

/// Allowed components of gravity, m/s².
pub(crate) const GRAVITY: RangeInclusive<f64> = -1e3..=1e3;

/// The next known state of the rig, which a body follows.
#[derive(Clone, Copy, Debug)]
pub enum Drive<'a> {
    /// Weights of the rig's shapes; missing ones are 0.
    Weights(&'a [f32]),
    /// A surface in the rig's own order of vertices, in metres: for rigs that are not blendshapes.
    Surface(&'a [Vec3]),
    /// Weights of the shapes' materials, for bodies that have them; missing ones are 0. Without this drive they are the weights of the shapes.
    Materials(&'a [f32]),
    /// Positions of markers on the skin, in metres in the head's frame. Those that are not finite stay where they were.
    Markers(&'a [Vec3]),
}

/// Why a body rejects a drive.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadDrive {
    /// This kind of body does not support the drive.
    #[error("{body} cannot be driven by {drive}")]
    Unsupported {
        /// The body, as in "a shell".
        body: &'static str,
        /// The kind of drive.
        drive: &'static str,
    },
    /// The surface has a wrong number of vertices, or one that is not finite.
    #[error("the target surface must have {0} finite vertices, in the rig's order")]
    Surface(usize),
}

impl Drive<'_> {
    /// The error of a body that does not support this drive.
    pub fn unsupported(&self, body: &'static str) -> BadDrive {
        let drive = match self {
            Self::Weights(_) => "weights",
            Self::Surface(_) => "a target surface",
            Self::Materials(_) => "weights of materials",
            Self::Markers(_) => "markers",
        };
        BadDrive::Unsupported { body, drive }
    }
}

/// One output surface.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Positions of the whole mesh in the head's frame, in metres, in the rig's own order.
    pub positions: &'a [Vec3],
    /// Whether the body is asleep, so that the frame is the plain rig.
    pub asleep: bool,
}

/// A stage of a frame's computation, and its duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// Its time in the last frame.
    pub time: Duration,
}

impl Stage {
    /// Stages from names and durations.
    pub(crate) fn list<const N: usize>(stages: [(&'static str, Duration); N]) -> Vec<Self> {
        stages.map(|(name, time)| Self { name, time }).to_vec()
    }
}

/// A parameter that can be changed between frames.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyParam {
    /// Its name, such as `stickiness`.
    pub name: &'static str,
    /// Its present value.
    pub value: f64,
    /// Its sensible values, such as those of a slider. A body may accept others.
    pub range: RangeInclusive<f64>,
    /// Whether its effect goes with its logarithm, as that of a factor.
    pub is_factor: bool,
}

impl BodyParam {
    /// A parameter and its sensible values.
    pub fn new(name: &'static str, value: f64, range: RangeInclusive<f64>) -> Self {
        Self { name, value, range, is_factor: false }
    }

    /// A factor on the value that the face was built with. Ours: up to 32, within which steps stay solvable and the motion bounded.
    pub fn factor(name: &'static str, value: f64) -> Self {
        Self { is_factor: true, ..Self::new(name, value, 1.0 / 32.0..=32.0) }
    }

    /// A value within the range. NaN is the present value.
    pub fn limited(&self, value: f64) -> f64 {
        if value.is_nan() { self.value } else { value.clamp(*self.range.start(), *self.range.end()) }
    }

    /// The components of gravity, m/s²: up to ten times that of Earth.
    pub(crate) fn gravity(gravity: &[f64; 3]) -> [Self; 3] {
        [0, 1, 2].map(|axis| Self::new(GRAVITY_NAMES[axis], gravity[axis], -100.0..=100.0))
    }
}

/// Names of the components of gravity.
const GRAVITY_NAMES: [&str; 3] = ["gravity.x", "gravity.y", "gravity.z"];

/// The component of gravity that a parameter's name stands for.
pub(crate) fn gravity_axis(name: &str) -> Option<usize> {
    GRAVITY_NAMES.iter().position(|axis| *axis == name)
}

/// Why a parameter cannot be changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadBodyParam {
    /// The body has no parameter of that name.
    #[error("{body} has no parameter '{name}'; it has {known}")]
    Unknown {
        /// The body's name.
        body: &'static str,
        /// The name asked for.
        name: String,
        /// Names of the parameters that there are.
        known: String,
    },
    /// The value is out of range.
    #[error(transparent)]
    Range(#[from] BadParam),
}

impl BadBodyParam {
    pub(crate) fn unknown(body: &'static str, name: &str, known: &[BodyParam]) -> Self {
        let names: Vec<&str> = known.iter().map(|param| param.name).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Self::Unknown { body, name: name.to_owned(), known }
    }
}

/// A body's state between two frames, from [`Snapshot::save`].
pub struct BodyState(Box<dyn Any + Send>);

impl BodyState {
    /// Wraps a body's own type.
    pub fn new<T: Any + Send>(state: T) -> Self {
        Self(Box::new(state))
    }

    /// The body's own state; an error if it belongs to another type.
    pub fn get<T: Any>(&self) -> Result<&T, WrongState> {
        self.0.downcast_ref().ok_or(WrongState)
    }
}

/// A state that belongs to another kind of body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the saved state belongs to another body")]
pub struct WrongState;

/// Saves and restores the state of a body. A body that can be cloned does so by a copy of itself.
pub trait Snapshot {
    /// Saves the state, so that [`restore`](Self::restore) continues from here bit for bit.
    fn save(&self) -> BodyState;

    /// Restores a saved state of this body, or of another body of the same face.
    fn restore(&mut self, state: &BodyState) -> Result<(), WrongState>;
}

impl<T: Any + Clone + Send> Snapshot for T {
    fn save(&self) -> BodyState {
        BodyState::new(self.clone())
    }

    fn restore(&mut self, state: &BodyState) -> Result<(), WrongState> {
        *self = state.get::<Self>()?.clone();
        Ok(())
    }
}

/// How far each coarse vertex is reset to the rig when the vertices of the whole mesh, which are embedded in the coarse ones, are reset by some weights: the
/// largest of these weights, each times the coarse vertex's part in that vertex.
pub(crate) fn weights_of_carriers(
    embedding: impl Iterator<Item = ([u32; 3], [f32; 3])>,
    weights: &[f32],
    count: usize,
) -> Vec<f32> {
    let mut largest = vec![0.0_f32; count];
    for ((carriers, parts), weight) in embedding.zip(weights) {
        for (carrier, part) in carriers.into_iter().zip(parts) {
            let largest = &mut largest[carrier as usize];
            *largest = largest.max(part * weight);
        }
    }
    largest
}

/// Turns drive and touches into frames. A body is simulated in the head's frame: the head's motion acts on it as inertia and gravity, and
/// its frames do not contain the head's pose.
pub trait Body: Any + Send + Snapshot {
    /// Its name, as in `--body`.
    fn name(&self) -> &'static str;

    /// Sets the drive at the next known time.
    fn drive(&mut self, drive: Drive<'_>) -> Result<(), BadDrive>;

    /// Sets the head's pose at the next known time. A pose that is not finite changes nothing.
    fn set_head_pose(&mut self, pose: &RigidMotion);

    /// Settles at once at the inputs set last. Every performance begins with it.
    fn settle(&mut self);

    /// Advances by some seconds, reaching the inputs set last, and returns the surface of one [latency](Self::latency) earlier.
    fn advance(&mut self, seconds: f64) -> Frame<'_>;

    /// Seconds between the last known time and the surface that [`advance`](Self::advance) returns.
    fn latency(&self) -> f64 {
        0.0
    }

    /// The state as a section that can be stored in a file, for bodies that can [`resume`](Self::resume) from one.
    fn checkpoint(&self) -> Option<Section> {
        None
    }

    /// Continues from a [`checkpoint`](Self::checkpoint) of the same face; an error is a sentence about what is wrong with it.
    fn resume(&mut self, _state: &Section) -> Result<(), String> {
        Err(format!("the {} cannot continue from a recording", self.name()))
    }

    /// The body as one that can be touched; `None` if it cannot.
    fn touchable(&self) -> Option<&dyn Touchable> {
        None
    }

    /// The same, mutable.
    fn touchable_mut(&mut self) -> Option<&mut dyn Touchable> {
        None
    }

    /// The surface that it follows, if that is not the plain rig's: dials may change a head, and wind may move it.
    fn followed(&self) -> Option<&[Vec3]> {
        None
    }

    /// Parameters that can be changed between frames.
    fn params(&self) -> Vec<BodyParam> {
        Vec::new()
    }

    /// Changes a parameter from the next step on.
    fn set_param(&mut self, name: &str, _value: f64) -> Result<(), BadBodyParam> {
        Err(BadBodyParam::unknown(self.name(), name, &[]))
    }

    /// Waits until changed parameters are in use: a body may prepare for them in the background.
    fn finish_params(&mut self) {}

    /// Timings of the last frame by stage.
    fn stages(&self) -> Vec<Stage> {
        Vec::new()
    }

    /// The next time at which the body needs input before it can show `frame`, when input is known until `known`; in seconds since the
    /// start of a take. It depends on the frame rate as little as possible.
    fn next_input(&self, known: f64, frame: f64) -> Option<f64> {
        (known < frame).then_some(frame)
    }

    /// Advances for the first time, as if it had always moved at this velocity: a take that starts at speed begins without a jolt.
    fn begin_moving(&mut self, seconds: f64) {
        self.advance(seconds);
    }

    /// Advances without returning a surface.
    fn run(&mut self, seconds: f64) {
        self.advance(seconds);
    }

    /// Returns the surface some seconds before the last known time, at most one latency.
    fn frame_before(&mut self, seconds: f64) -> Frame<'_>;

    /// Elements that are inverted now.
    fn inverted(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Elements that the rig itself inverts at some weights.
    fn inverted_by_rig(&self, _weights: &[f32]) -> Vec<u32> {
        Vec::new()
    }

    /// Vertices of the whole mesh at some elements, except those that the rig itself inverts.
    fn vertices_at(&self, _elements: &[u32], _weights: &[f32]) -> Vec<u32> {
        Vec::new()
    }

    /// Flags vertices of the whole mesh that hang free, or are palsied, and may be far from the rig; empty if there are none.
    fn free_vertices(&self) -> Vec<bool> {
        Vec::new()
    }

    /// Whether the body is meant to stay close to the rig.
    fn follows_rig(&self) -> bool {
        true
    }

    /// Blends back to the rig, by a weight from 0 to 1 for each vertex of the whole mesh.
    fn return_to_rig(&mut self, _weights: &[f32]) {}
}

impl dyn Body {
    /// The colliders and grabs; `None` if the body cannot be touched.
    pub fn colliders(&self) -> Option<&Colliders> {
        self.touchable().map(Touchable::colliders)
    }

    /// The colliders and grabs, mutable.
    pub fn colliders_mut(&mut self) -> Option<&mut Colliders> {
        self.touchable_mut().map(Touchable::colliders_mut)
    }

    /// Grabs skin, if that is possible: see [`Touchable::grab`].
    pub fn grab(&mut self, at: Vec3, radius: f32) -> Option<GrabId> {
        self.touchable_mut()?.grab(at, radius)
    }

    /// The largest penetration of the last frame's skin into a collider, in metres; 0 if the body cannot be touched.
    pub fn penetration(&self) -> f32 {
        self.touchable().map_or(0.0, Touchable::penetration)
    }

    /// The body as one of its kind, if it is that.
    pub fn downcast_ref<T: Body>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    /// The same, mutable.
    pub fn downcast_mut<T: Body>(&mut self) -> Option<&mut T> {
        (self as &mut dyn Any).downcast_mut()
    }
}
