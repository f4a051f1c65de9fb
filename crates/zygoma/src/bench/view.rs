//! Frames that a tab of the viewer gets.

use std::path::Path;

use anyhow::bail;
use zygoma_view::{Options, Show, measure};

use super::Report;
use super::harness::{Measurement, Reference, Spread};

/// 120 frames a second.
const GOAL_MS: f64 = 1000.0 / 120.0;

/// Measures frames as they arrive at a socket of this machine, beside the time that the server spends on them.
pub(crate) fn run(rig: Option<&Path>, seconds: f64) -> anyhow::Result<Report> {
    let show = rig.map_or(Show::BuiltIn, |path| Show::File(path.to_owned()));
    // Any free port: a viewer that is open may have the usual one.
    let measured = measure(&Options { show, port: Some(0), ..Options::default() }, seconds)?;
    if measured.gaps.is_empty() || measured.latency.is_empty() {
        bail!("no frames arrived within {seconds} s; measure for longer");
    }
    let per_frame = measured.bytes as f64 / measured.work.len() as f64;
    let (gaps, work) = (Spread::of(measured.gaps), Spread::of(measured.work));
    let mut report = Report::new();
    report.results.push(Measurement {
        name: format!("frame at a tab: {} points, {:.0} kB", measured.points, per_frame / 1e3),
        goal_ms: Some(GOAL_MS),
        reference: Some(Reference {
            name: "simulating and encoding it".into(),
            time: work,
            ratio: gaps.median_ms / work.median_ms,
        }),
        time: gaps,
    });
    report.results.push(Measurement {
        name: "input to the frame that shows it".into(),
        time: Spread::of(measured.latency),
        goal_ms: None,
        reference: None,
    });
    Ok(report)
}
