//! Reports for programs.

use std::io::Write;

use serde::Serialize;

/// Prints a report as JSON, alone on standard output.
pub(crate) fn print(report: &impl Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, report)?;
    writeln!(out)?;
    Ok(())
}
