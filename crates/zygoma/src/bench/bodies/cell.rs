//! The measurements of one rig with one body in one take.

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
    /// The goals that it misses, in words.
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
    /// Milliseconds per frame: median and 95th percentile.
    pub(crate) ms: f64,
    pub(crate) ms_p95: f64,
    /// Mean milliseconds per frame spent in the gate.
    pub(crate) gate_ms: f64,
    /// Only for a take in which the head is shaken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shaken: Option<Shaken>,
    /// Seconds spent on the cell, without the build.
    pub(crate) seconds: f64,
}

/// A maximum; `None` if it is infinite, which JSON cannot express.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PeakAt {
    pub(crate) value: Option<f64>,
    pub(crate) near: String,
    pub(crate) seconds: f64,
}

/// Inverted elements of tissue, or flipped triangles of a shell's skin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Inverted {
    /// The largest number in one frame.
    pub(crate) momentary: usize,
    /// How many stay inverted for 0.1 s or longer.
    pub(crate) lasting: usize,
}

/// Pairs of intersecting skin triangles, excluding those that intersect in the neutral, and their neighbours.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CrossingCounts {
    /// Count in the frame that exceeds the plain rig's own count the most.
    pub(crate) shown: usize,
    /// The plain rig's count in that frame.
    pub(crate) plain: usize,
    /// The landmark nearest to most of the pairs that the plain rig does not have.
    #[serde(default)]
    pub(crate) near: String,
    /// Time of that frame.
    pub(crate) seconds: f64,
    /// Share of the checked frames with more crossings than the plain rig has, %.
    pub(crate) frames_percent: f64,
}

/// The motion of the cheeks when the head is shaken.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Shaken {
    pub(crate) swing_mm: f64,
    /// The motion that remains half a second after the head has stopped.
    pub(crate) left_mm: f64,
}

/// Goals for tissue: p95 and worst distance (mm), pops (mm/frame²), swing (mm), remaining swing (mm), ms per frame and fraction returned (%).
const P95: f64 = 1.0;
const WORST: f64 = 5.0;
const POP: f64 = 2.0;
const SWING: std::ops::RangeInclusive<f64> = 3.0..=12.0;
const LEFT: f64 = 0.5;
const MS: f64 = 25.0;
const RETURNED: f64 = 1.0;

impl Measured {
    /// The goals that are missed. They are stricter for a calm head than for a shaken one; a shell must follow the rig just as well.
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
