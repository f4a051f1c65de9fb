//! Making built-in heads, and their shapes beside those of other rigs.

use std::path::PathBuf;

use serde::Serialize;
use zygoma_head::anatomy::Anatomy;
use zygoma_head::{Head, HeadOptions, Level};

use super::expressions::{self, Expressions};
use super::{Bench, Report};

/// Times, and the comparison with rigs where some were given.
#[derive(Debug, Serialize)]
pub(crate) struct HeadReport {
    #[serde(flatten)]
    pub(crate) times: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expressions: Option<Expressions>,
}

/// Measures heads, and compares the built-in one with rigs.
pub(crate) fn run(rigs: &[PathBuf]) -> HeadReport {
    let expressions = (!rigs.is_empty()).then(|| expressions::run(rigs));
    HeadReport { times: times(), expressions }
}

/// Measures a new head at every level, painting one, and its anatomy.
fn times() -> Report {
    let mut report = Report::new();
    for (level, name, goal) in
        [(Level::Low, "3.5k", 200.0), (Level::Middle, "7k", 500.0), (Level::High, "14k", 1000.0)]
    {
        let mut seed = 0;
        // Every head is another person, so that nothing but the shared template is kept from one to the next.
        let bench = Bench::new(format!("head {name} with all shapes")).goal_ms(goal);
        report.results.push(bench.run(|| {
            seed += 1;
            Head::new(&HeadOptions::sampled(seed, level))
        }));
    }
    let head = Head::new(&HeadOptions::default());
    report.results.push(Bench::new("rig with painted texture").run(|| head.rig()));
    report.results.push(Bench::new("anatomy").run(|| Anatomy::new(&head)));
    report
}
