//! One rig, one body and one take: what was measured.

use serde::{Deserialize, Serialize};

/// Which physics a rig gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BodyKind {
    /// The interactive shell.
    Shell,
    /// Soft tissue.
    Tissue,
}

impl BodyKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Tissue => "tissue",
        }
    }
}

/// A rig with a body that performed a take, or why it could not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) rig: String,
    pub(crate) body: BodyKind,
    pub(crate) take: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) measured: Option<Measured>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Goals that it misses, in words.
    pub(crate) misses: Vec<String>,
}

/// Lengths in mm at life size.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) triangles: usize,
    pub(crate) frames: usize,
    pub(crate) fps: f64,
    /// The largest distance from the plain rig.
    pub(crate) worst: PeakAt,
    /// The distance that 95 % of the vertices stay below, counted while the plain rig moves them by more than 1 mm.
    pub(crate) p95_mm: f64,
    /// The largest second difference over frames of (shown − plain), mm/frame² at 60 fps.
    pub(crate) pop: PeakAt,
    pub(crate) inverted: Inverted,
    pub(crate) crossings: CrossingCounts,
    /// Vertices of all frames that the gate returned to the rig, %.
    pub(crate) returned_percent: f64,
    /// When, where and why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
    /// Milliseconds per frame: median, and what 95 % stay below.
    pub(crate) ms: f64,
    pub(crate) ms_p95: f64,
    /// The gate's share of it, on average.
    pub(crate) gate_ms: f64,
    /// For a take in which the head is shaken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shaken: Option<Shaken>,
    /// Seconds spent on the cell, without the build.
    pub(crate) seconds: f64,
}

/// A largest value; one that is infinite, which JSON has no word for, is `None`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PeakAt {
    pub(crate) value: Option<f64>,
    pub(crate) near: String,
    pub(crate) seconds: f64,
}

/// Elements of tissue that are inside out; triangles of a shell's skin that are turned over.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Inverted {
    /// The most in one frame.
    pub(crate) momentary: usize,
    /// How many stay so for 0.1 s or longer.
    pub(crate) lasting: usize,
}

/// Pairs of skin triangles that cross, without those that do so in the neutral and their neighbours.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CrossingCounts {
    /// In the frame in which there are most beyond the plain rig's own.
    pub(crate) shown: usize,
    /// The plain rig's in that frame.
    pub(crate) plain: usize,
    /// The place that most of those beyond the rig's own are near to.
    #[serde(default)]
    pub(crate) near: String,
    /// When that is.
    pub(crate) seconds: f64,
    /// Share of the looked-at frames with more than the plain rig has, %.
    pub(crate) frames_percent: f64,
}

/// What the cheeks do when the head is shaken.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Shaken {
    pub(crate) swing_mm: f64,
    /// What is left half a second after the head has stopped.
    pub(crate) left_mm: f64,
}

/// Goals for tissue: p95 and worst distance (mm), pops (mm/frame²), swing (mm), what is left of it (mm), ms a frame and share returned (%).
const P95: f64 = 1.0;
const WORST: f64 = 5.0;
const POP: f64 = 2.0;
const SWING: std::ops::RangeInclusive<f64> = 3.0..=12.0;
const LEFT: f64 = 0.5;
const MS: f64 = 25.0;
const RETURNED: f64 = 1.0;

impl Measured {
    /// Goals that are missed. A calm head's are stricter than a shaken one's; a shell is meant to follow the rig just as well.
    pub(crate) fn misses(&self, body: BodyKind) -> Vec<String> {
        let mut misses = Vec::new();
        let mut miss = |is_missed: bool, words: &str| {
            if is_missed {
                misses.push(words.to_owned());
            }
        };
        let above = |value: Option<f64>, goal: f64| value.is_none_or(|value| value > goal);
        match &self.shaken {
            None => {
                miss(self.p95_mm > P95, "p95");
                miss(above(self.worst.value, WORST), "worst");
                miss(above(self.pop.value, POP), "pop");
            }
            Some(shaken) => {
                miss(body == BodyKind::Tissue && !SWING.contains(&shaken.swing_mm), "swing");
                miss(shaken.left_mm > LEFT, "left");
            }
        }
        miss(self.failed.is_some(), "FAILED");
        miss(self.inverted.lasting > 0, "inverted");
        miss(self.crossings.shown > self.crossings.plain, "crossings");
        miss(self.returned_percent > RETURNED, "returned");
        miss(self.ms > MS, "ms");
        misses
    }
}
