//! `zygoma bench`

use std::io::Write;

use crate::bench::{self, Report};
use crate::cli::{BenchArgs, BenchWhat};

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<()> {
    match &args.what {
        BenchWhat::Head(args) => tell(&bench::head::run(), args.json),
        BenchWhat::Rig(args) => tell(&bench::rig::run(&args.rigs)?, args.json),
        #[cfg(feature = "view")]
        BenchWhat::View(args) => tell(&bench::view::run(args.rig.as_deref(), args.seconds)?, args.json),
    }
}

fn tell(report: &Report, json: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(report);
    }
    let mut out = std::io::stdout().lock();
    for result in &report.results {
        let time = &result.time;
        write!(
            out,
            "{:<44} {:>9.4} ms  ({:.4} – {:.4}, {} samples)",
            result.name, time.median_ms, time.p10_ms, time.p90_ms, time.samples
        )?;
        if let Some(goal) = result.goal_ms {
            write!(out, "  goal {goal} ms")?;
        }
        if let Some(reference) = &result.reference {
            write!(
                out,
                "  = {:.2} × {} ({:.4} ms)",
                reference.ratio, reference.name, reference.time.median_ms
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}
