//! Frames received by a browser tab of the viewer.

use std::fmt;
use std::path::Path;

use anyhow::bail;
use serde::Serialize;
use zygoma_view::{Options, Show, measure};

use super::Report;
use super::harness::Spread;

/// Frames a second that must be produced and sent for a face of eleven thousand vertices.
const GOAL_PER_SECOND: f64 = 120.0;

/// The measurements at one tab.
#[derive(Debug, Serialize)]
pub(crate) struct Tab {
    /// Moving points: those of the skin and of the meshes that follow it.
    pub(crate) points: usize,
    pub(crate) kilobytes_per_frame: f64,
    /// Frames that were simulated, sent and received in a second.
    pub(crate) frames_per_second: f64,
    pub(crate) goal_per_second: f64,
    /// From one frame to the next, at the tab.
    pub(crate) between_frames: Spread,
    /// Time that the server spends on a frame: simulating and encoding it.
    pub(crate) work: Spread,
    /// Latency from an input to the frame that reflects it.
    pub(crate) input_to_frame: Spread,
}

impl fmt::Display for Tab {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let spread =
            |time: &Spread| format!("{:.3} ms ({:.3} – {:.3})", time.median_ms, time.p10_ms, time.p90_ms);
        writeln!(
            f,
            "{:.0} frames a second reach a tab (goal {:.0}), each of {} points in {:.0} kB",
            self.frames_per_second, self.goal_per_second, self.points, self.kilobytes_per_frame
        )?;
        writeln!(
            f,
            "from frame to frame {}, of which the server works {}",
            spread(&self.between_frames),
            spread(&self.work)
        )?;
        write!(f, "from an input to the frame that knows of it {}", spread(&self.input_to_frame))
    }
}

/// Measures frames as they arrive at a local socket, while a finger strokes the face.
pub(crate) fn run(rig: Option<&Path>, seconds: f64) -> anyhow::Result<Report<Tab>> {
    let show = rig.map_or(Show::BuiltIn, |path| Show::File(path.to_owned()));
    // Any free port: a running viewer may use the default one.
    let measured = measure(&Options { show, port: Some(0), ..Options::default() }, seconds)?;
    if measured.gaps.is_empty() || measured.latency.is_empty() {
        bail!("no frames arrived within {seconds} s; measure for longer");
    }
    let frames = measured.work.len() as f64;
    let lasted = measured.gaps.iter().sum::<f64>() / 1e3;
    let mut report = Report::new();
    report.results.push(Tab {
        points: measured.points,
        kilobytes_per_frame: measured.bytes as f64 / frames / 1e3,
        frames_per_second: measured.gaps.len() as f64 / lasted,
        goal_per_second: GOAL_PER_SECOND,
        between_frames: Spread::of(measured.gaps),
        work: Spread::of(measured.work),
        input_to_frame: Spread::of(measured.latency),
    });
    Ok(report)
}
