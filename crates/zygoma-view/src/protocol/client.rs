//! Messages of a page.

use serde::{Deserialize, Serialize};

/// Messages of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum ClientMessage {
    /// How many frames a second the page can show; 0 while it is hidden.
    Rate {
        /// Frames per second.
        hertz: f32,
    },
    /// The newest frame that arrived.
    Ack {
        /// Its number.
        frame: u32,
    },
    /// Which extra sections frames should have.
    Show {
        /// The plain rig's surface, for the split view and for deviations.
        rig: bool,
        /// Contact forces.
        contacts: bool,
        /// Volume change of the tissue under the skin.
        volume: bool,
        /// Sticky springs and contacts between the lips.
        lips: bool,
        /// A cut through the tissue.
        cut: Option<CutPlane>,
        /// The control whose stiffness is sent whenever it changes; −1 for the relaxed face.
        stiffness: Option<i32>,
    },
    /// Chooses a body.
    Body {
        /// Its name, one of [`BodyEntry::name`](super::BodyEntry::name).
        body: String,
    },
    /// Sets parameters. Every body takes those that it has, now or once it is built.
    Params {
        /// Name and value: stiffness, density and damping over those that the face was built with; stickiness over the usual one; gravity
        /// in the world, m/s².
        values: Vec<(String, f64)>,
    },
    /// Holds controls at values, whatever the take does.
    Hold {
        /// Control and value.
        values: Vec<(u32, f32)>,
    },
    /// Lets the take drive controls again.
    LetGo {
        /// The controls; all when absent.
        controls: Option<Vec<u32>>,
    },
    /// Changes what is played, as far as given.
    Transport {
        /// Index of the take; −1 for none.
        take: Option<i32>,
        /// Whether it plays.
        playing: Option<bool>,
        /// Jump to this time, s.
        time: Option<f64>,
        /// Speed, 1 as recorded.
        speed: Option<f64>,
        /// Whether it starts again at its end.
        looped: Option<bool>,
        /// Whether the take moves the head.
        head_motion: Option<bool>,
    },
    /// A fingertip presses on the skin or moves.
    Press {
        /// Which finger.
        id: u32,
        /// Number of this input, which frames return.
        input: u32,
        /// Where the middle of the fingertip should be.
        at: [f32; 3],
        /// Its radius.
        radius: f32,
        /// Its largest force, N.
        force: f32,
    },
    /// Takes hold of skin, or drags it.
    Pull {
        /// Which finger.
        id: u32,
        /// Number of this input.
        input: u32,
        /// Where the skin was taken hold of.
        at: [f32; 3],
        /// Where it should be.
        to: [f32; 3],
        /// How far around it skin is held.
        radius: f32,
    },
    /// A finger lets go.
    Release {
        /// Which finger.
        id: u32,
        /// Number of this input.
        input: u32,
    },
    /// Paints the stiffness of an expression around a point of the skin.
    Paint {
        /// The control whose material it is; −1 for the relaxed face.
        control: i32,
        /// The point.
        point: u32,
        /// Distance along the skin at which half of the paint is left.
        radius: f32,
        /// μ, kPa; none to leave it as it is.
        mu: Option<f32>,
        /// λ, kPa.
        lambda: Option<f32>,
        /// Whether paint is taken away.
        erase: bool,
    },
    /// Removes all paint of an expression.
    ClearPaint {
        /// The control; −1 for the relaxed face.
        control: i32,
    },
    /// A tracked hand, from a headset or another program; it is gone when nothing comes for a moment.
    Hand {
        /// Which hand.
        side: HandSide,
        /// Number of this input.
        input: u32,
        /// The frame that its joints are in.
        space: HandSpace,
        /// Position and rotation (x y z, x y z w) of each of the 25 joints of WebXR, in its order and axes.
        joints: Vec<[f32; 7]>,
        /// Radius of each joint; those of the built-in hand if there are none.
        radii: Vec<f32>,
    },
    /// Two fingers of a touch screen: a hand whose thumb and index finger have their pads there. It is gone when it is released.
    Pinch {
        /// Number of this input.
        input: u32,
        /// The pad of the thumb.
        thumb: [f32; 3],
        /// The pad of the index finger.
        finger: [f32; 3],
        /// The direction out of the face that the hand comes from.
        outward: [f32; 3],
    },
    /// Plays a gesture of a hand at a place.
    Gesture {
        /// Its name, as in touch scripts.
        gesture: String,
        /// The place.
        at: String,
        /// The place that a stroke goes to.
        toward: Option<String>,
        /// Number of this input.
        input: u32,
    },
    /// Takes a hand away.
    HandAway {
        /// Which hand; both when absent.
        side: Option<HandSide>,
        /// Number of this input.
        input: u32,
    },
    /// Drags the head away from where the take has it.
    DragHead {
        /// Whether it is held; it swings back when it is not.
        held: bool,
        /// Turn about the vertical, radians.
        yaw: f32,
        /// Nod, radians.
        pitch: f32,
        /// Number of this input.
        input: u32,
    },
    /// Changes who the built-in head is.
    Dials {
        /// Draws the dials that are not set.
        seed: u32,
        /// Dials that are set, by name.
        values: Vec<(String, f64)>,
        /// Whether this is the last change for now, so that the skin is worth fitting.
        settled: bool,
    },
    /// Shows a rig that was uploaded, or the built-in head.
    Open {
        /// Its file or folder among the uploads; `None` for the built-in head.
        upload: Option<String>,
    },
    /// Adds a take that was uploaded.
    AddTake {
        /// Its file among the uploads.
        upload: String,
    },
    /// Fits the skin of the rig that is shown.
    Build {
        /// Triangles of the shell.
        triangles: u32,
    },
    /// Cancels the build of a body, or else the fit.
    CancelBuild,
    /// Asks for the anatomy under the skin that is shown.
    Anatomy,
    /// Starts or ends a recording.
    Record {
        /// Whether to record.
        on: bool,
    },
}

/// One of the two hands of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HandSide {
    /// The left one.
    Left,
    /// The right one.
    Right,
}

/// The frame that the joints of a hand are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HandSpace {
    /// The head, which takes the hand along.
    Head,
    /// The world: the head moves past the hand.
    World,
}

/// A plane in the frame of the head.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CutPlane {
    /// Its normal.
    pub normal: [f32; 3],
    /// How far it lies from the origin along the normal.
    pub height: f32,
}
