//! Messages between server and page. This file is the source; `web/src/protocol.ts` says the same in TypeScript,
//! and a test checks that the two agree.
//!
//! Text messages are JSON with a `type`. Binary messages are little-endian and start with a `u32` for their kind
//! ([`kind`]): a *scene* and a *face* are a JSON header with arrays behind it, a *frame* has the fixed layout of
//! `frame.rs`.
//!
//! Lengths are in metres. Points, touches and contacts are in the frame of the head; the head's pose is in the world.

use serde::{Deserialize, Serialize};

/// Raised whenever a message changes; a page of another version reloads itself.
pub const VERSION: u32 = 6;

/// Kinds of binary messages.
pub mod kind {
    /// One frame of the running face.
    pub const FRAME: u32 = 1;
    /// The scene: meshes, materials, controls, takes.
    pub const SCENE: u32 = 2;
    /// The simulation mesh, and the fields of its shell.
    pub const FACE: u32 = 3;
    /// The stiffness of an expression on the skin.
    pub const STIFFNESS: u32 = 4;
}

/// Bits of a frame's flags.
pub mod flag {
    /// A body is simulated; otherwise this is the plain rig.
    pub const SIMULATED: u32 = 1;
    /// The simulation rests: the output is the rig's.
    pub const ASLEEP: u32 = 2;
    /// The take is playing.
    pub const PLAYING: u32 = 4;
    /// A recording is under way.
    pub const RECORDING: u32 = 8;
}

/// Kinds of sections of a frame.
pub mod section {
    /// The surface to show.
    pub const SHOWN: u32 = 0;
    /// The plain rig's surface.
    pub const RIG: u32 = 1;
    /// Volume change of the tissue under each point of the skin.
    pub const VOLUME: u32 = 2;
    /// The section where a plane cuts the tissue: corners of triangles.
    pub const CUT: u32 = 3;
    /// Both ends of each sticky spring between the lips.
    pub const STICKY: u32 = 4;
    /// Contacts between the lips.
    pub const LIPS: u32 = 5;
    /// Joints of a hand, with their radii; its mesh is 0 for the left hand and 1 for the right one.
    pub const HAND: u32 = 6;
}

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
        /// Its name, one of [`BodyEntry::name`].
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
    /// Starts or ends a recording.
    Record {
        /// Whether to record.
        on: bool,
    },
}

/// Messages of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ServerMessage {
    /// First of all.
    Welcome {
        /// [`VERSION`].
        protocol: u32,
        /// Version of zygoma.
        version: String,
        /// Secret of this session, part of the addresses for uploads and downloads.
        session: String,
        /// Bodies to choose from.
        bodies: Vec<BodyEntry>,
        /// The name of the body that is shown unless the page asks for another.
        default_body: String,
    },
    /// Something is being read.
    Loading {
        /// Its name.
        name: String,
    },
    /// A file was read: what is in it.
    Report {
        /// The report of `zygoma info`.
        report: serde_json::Value,
    },
    /// Progress of building the face.
    Build {
        /// State.
        state: BuildState,
        /// The present stage, in words.
        stage: String,
        /// Fraction of the work that is done, where known.
        fraction: Option<f64>,
        /// Seconds since it began.
        seconds: f64,
        /// Worst distance from a target over the tolerance, while fitting.
        worst: Option<f64>,
    },
    /// The body that is shown.
    Body {
        /// Its name.
        shown: String,
        /// The name of the body that was asked for; it may still be built.
        wanted: String,
        /// Whether the one that is shown can be touched.
        is_touchable: bool,
        /// Names of the stages of its frames, in the order of their times.
        stages: Vec<String>,
        /// Names of its parameters.
        params: Vec<String>,
        /// The present stage of the build of the one that was asked for, in words; empty when nothing is built.
        build_stage: String,
        /// Fraction of that build that is done, where known.
        fraction: Option<f64>,
        /// Seconds since that build began.
        seconds: f64,
        /// A sentence about the body that is shown, or nothing.
        note: String,
    },
    /// Pace of the body that is shown, a few times a second.
    Pace {
        /// Time to compute a frame, ms.
        milliseconds: f64,
        /// Speed of its time; 1 is real time.
        speed: f64,
    },
    /// Figures of tissue, a few times a second while it is shown.
    Tissue(TissueReport),
    /// Whether the certificate covers what runs.
    Certificate {
        /// It does.
        holds: bool,
        /// Why, as a sentence.
        reason: String,
    },
    /// Gestures that hands can play, and where, on the present face.
    Gestures {
        /// Names of the gestures.
        gestures: Vec<String>,
        /// Names of the places.
        places: Vec<String>,
    },
    /// The takes that can be played.
    Takes {
        /// All of them.
        takes: Vec<TakeEntry>,
        /// The one that is chosen.
        current: i32,
    },
    /// How a recording is coming along.
    Recording {
        /// State.
        state: RecordingState,
        /// Seconds recorded.
        seconds: f64,
        /// Bytes of the finished file.
        bytes: Option<u64>,
    },
    /// Something did not work.
    Error {
        /// What, in one sentence.
        message: String,
    },
}

/// A body that a page can choose. Frames name it by its index in the list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BodyEntry {
    /// Its name, as in `--body`.
    pub name: String,
    /// A word for its button.
    pub label: String,
    /// A sentence about it.
    pub about: String,
    /// Whether it has a volume that can be cut open.
    pub has_volume: bool,
    /// Whether its stiffness can be painted.
    pub is_paintable: bool,
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

/// Figures of tissue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TissueReport {
    /// Number of tetrahedra.
    pub tetrahedra: usize,
    /// Contacts between the lips.
    pub contacts: usize,
    /// Sticky springs between the lips.
    pub sticky: usize,
    /// Deepest penetration of the lips, m.
    pub penetration: f64,
    /// Total volume over that at rest.
    pub volume: f64,
    /// 95th percentile of |det F − 1| over the elements.
    pub change: f64,
    /// Inverted elements.
    pub inverted: usize,
}

/// Where a build stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BuildState {
    /// No face: the plain rig is shown.
    None,
    /// A first face with the same stiffness everywhere can be touched; the fit goes on.
    Preview,
    /// Under way.
    Running,
    /// Fitted.
    Ready,
    /// Ended by the user.
    Cancelled,
    /// Failed.
    Failed,
}

/// Where a recording stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordingState {
    /// Under way.
    Running,
    /// Being written.
    Writing,
    /// Ready to be downloaded.
    Ready,
    /// Failed.
    Failed,
}

/// A take that can be played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TakeEntry {
    /// Its name.
    pub name: String,
    /// Its length, s.
    pub duration: f64,
    /// Whether it moves the head.
    pub head_motion: bool,
    /// Tracks that no shape of the rig has a name for.
    pub unmatched: u32,
}

/// An array behind a JSON header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArrayPlace {
    /// Where it starts, in bytes behind the header; a multiple of 4.
    pub start: usize,
    /// Its length in bytes.
    pub bytes: usize,
}

/// Header of a scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scene {
    /// Name of the rig.
    pub name: String,
    /// Where it came from.
    pub origin: Origin,
    /// The meshes.
    pub meshes: Vec<SceneMesh>,
    /// Index of the skin among them.
    pub skin: usize,
    /// The sliders.
    pub controls: Vec<Control>,
    /// Dials of the built-in head; empty for other rigs.
    pub dials: Vec<DialEntry>,
    /// The picture that all meshes share.
    pub texture: Option<ArrayPlace>,
    /// A GLB with materials only, for the `material` of meshes.
    pub materials: Option<ArrayPlace>,
    /// Names of the regions of the skin.
    pub regions: Vec<String>,
    /// Lowest and highest corner of everything.
    pub bounds: [[f32; 3]; 2],
    /// The point that the head turns about.
    pub pivot: [f32; 3],
    /// Whether this is the same rig with other positions: the camera stays.
    pub same: bool,
}

/// Header of the stiffness of an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StiffnessHeader {
    /// The control; −1 for the relaxed face.
    pub control: i32,
    /// Spots that are painted, on all expressions together.
    pub spots: usize,
    /// `f32` per point of the skin: μ, Pa; 0 where nothing is simulated.
    pub mu: ArrayPlace,
}

/// Where a rig came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// Made by code.
    BuiltIn,
    /// A rig file.
    Rig,
    /// A face file.
    Face,
}

/// One mesh. Points are what moves; vertices are points with texture coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SceneMesh {
    /// Its name.
    pub name: String,
    /// Its look where the file does not say.
    pub look: Look,
    /// `f32` × 3 per point: the neutral.
    pub neutral: ArrayPlace,
    /// `u32` per vertex: its point.
    pub points: ArrayPlace,
    /// `f32` × 2 per vertex, if any.
    pub uvs: Option<ArrayPlace>,
    /// `u32` × 3 per triangle, over the vertices.
    pub triangles: ArrayPlace,
    /// Fewer triangles over the same vertices, for slow machines; none where they are few, or the same as before.
    pub coarse: Option<CoarseTriangles>,
    /// Materials of runs of triangles; all of them if there are none.
    pub ranges: Vec<SceneRange>,
    /// `u8` per point of the skin: its region.
    pub regions: Option<ArrayPlace>,
}

/// The look of a mesh, for shading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Look {
    /// Skin.
    Skin,
    /// Wet and shiny: eyes.
    Eye,
    /// Teeth.
    Teeth,
    /// Gums and tongue.
    Flesh,
    /// Lashes, brows and hair.
    Hair,
    /// Anything else.
    Other,
}

/// Consecutive triangles with one material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SceneRange {
    /// First triangle.
    pub start: usize,
    /// Number of triangles.
    pub count: usize,
    /// Index into the materials; −1 for none.
    pub material: i32,
    /// Its look where the file does not say.
    pub look: Look,
}

/// Fewer triangles, and their runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CoarseTriangles {
    /// `u32` × 3 per triangle, over the vertices.
    pub triangles: ArrayPlace,
    /// As those of the mesh.
    pub ranges: Vec<SceneRange>,
}

/// A slider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Control {
    /// The artist's name for it.
    pub name: String,
    /// The part of the face that it moves.
    pub group: String,
}

/// A dial of the built-in head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DialEntry {
    /// Its name.
    pub name: String,
    /// The effect of turning it up.
    pub about: String,
    /// Where it stands, −1 to 1.
    pub value: f64,
}

/// Header of a face.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaceHeader {
    /// Height of the face.
    pub height: f64,
    /// Triangles of the shell.
    pub shell_triangles: usize,
    /// Whether its stiffness was fitted; otherwise it is the same everywhere.
    pub fitted: bool,
    /// `u32` × 2 per edge of the shell.
    pub edges: ArrayPlace,
    /// `u32` × 3 per shell vertex: the points of the skin that it lies between.
    pub corners: ArrayPlace,
    /// `f32` × 3 per shell vertex: their shares.
    pub shares: ArrayPlace,
    /// `f32` per point: strain stiffness, N/m; negative where nothing is simulated.
    pub strain: ArrayPlace,
    /// `f32` per point: bending stiffness, N/m.
    pub bending: ArrayPlace,
    /// `f32` per point: how deep it may be pushed in, m.
    pub depth: ArrayPlace,
}
