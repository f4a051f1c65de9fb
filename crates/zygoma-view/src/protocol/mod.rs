//! Messages between server and page. These files are the source; `web/src/protocol.ts` says the same in TypeScript,
//! and a test checks that the two agree.
//!
//! Text messages are JSON with a `type`. Binary messages are little-endian and start with a `u32` for their kind
//! ([`kind`]): a *scene* and a *face* are a JSON header with arrays behind it, a *frame* has the fixed layout of
//! `frame.rs`.
//!
//! Lengths are in metres. Points, touches and contacts are in the frame of the head; the head's pose is in the world.

mod anatomy;
mod client;
mod scene;
mod server;

pub use anatomy::{AnatomyHeader, AnatomyMesh, JawControl};
pub use client::{ClientMessage, CutPlane, HandSide, HandSpace};
pub use scene::{
    ArrayPlace, CoarseTriangles, Control, DialEntry, FaceHeader, Look, Origin, Scene, SceneMesh, SceneRange,
    StiffnessHeader,
};
pub use server::{
    AnatomyState, BodyEntry, BuildState, ParamEntry, RecordingState, ServerMessage, TakeEntry, TissueReport,
};

/// Raised whenever a message changes; a page of another version reloads itself.
pub const VERSION: u32 = 7;

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
    /// Muscles and bones under the skin.
    pub const ANATOMY: u32 = 5;
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
