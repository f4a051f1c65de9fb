//! Messages of the server.

use serde::{Deserialize, Serialize};
use zygoma_face::body::BodyParam;

/// Messages of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ServerMessage {
    /// First of all.
    Welcome {
        /// [`VERSION`](super::VERSION).
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
        /// Its parameters.
        params: Vec<ParamEntry>,
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
    /// The anatomy under the skin that is shown.
    Anatomy {
        /// State.
        state: AnatomyState,
        /// A sentence about it.
        note: String,
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

/// A parameter of a body, for a slider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParamEntry {
    /// Its name.
    pub name: String,
    /// Its present value.
    pub value: f64,
    /// The least of its sensible values.
    pub least: f64,
    /// The largest of them.
    pub most: f64,
    /// Whether its effect goes with its logarithm.
    pub is_factor: bool,
}

impl ParamEntry {
    /// A parameter as its body describes it.
    pub(crate) fn new(param: &BodyParam) -> Self {
        Self {
            name: param.name.into(),
            value: param.value,
            least: *param.range.start(),
            most: *param.range.end(),
            is_factor: param.is_factor,
        }
    }
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

/// Where the anatomy stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AnatomyState {
    /// Being fitted.
    Running,
    /// It is there.
    Ready,
    /// None fits under this skin.
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
