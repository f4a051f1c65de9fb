//! Making built-in heads.

use zygoma_head::anatomy::Anatomy;
use zygoma_head::{Head, HeadOptions, Level};

use super::{Bench, Report};

/// Measures a new head at every level, painting one, and its anatomy.
pub(crate) fn run() -> Report {
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
