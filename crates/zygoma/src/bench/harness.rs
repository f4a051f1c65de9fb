//! Measures and reports: machine, build, medians, spread and the ratio to a same-run reference.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;

/// Time spent on one measurement, reference included.
const SECONDS_PER_MEASUREMENT: f64 = 2.0;
const FEWEST_SAMPLES: usize = 5;
const MOST_SAMPLES: usize = 2000;

/// The results of one `zygoma bench` run.
#[derive(Debug, Serialize)]
pub(crate) struct Report<T = Measurement> {
    machine: Machine,
    build: Build,
    pub(crate) results: Vec<T>,
}

/// The machine that ran the benchmark.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    os: &'static str,
    arch: &'static str,
    cpu: String,
    threads: usize,
}

/// The build that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Build {
    version: &'static str,
    profile: &'static str,
    simd: &'static str,
}

/// One measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Measurement {
    /// The name of the measurement.
    pub(crate) name: String,
    /// Milliseconds per call.
    #[serde(flatten)]
    pub(crate) time: Spread,
    /// The goal, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) goal_ms: Option<f64>,
    /// Work of known cost, measured in alternation with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<Reference>,
}

/// The reference that a measurement is compared with.
#[derive(Debug, Serialize)]
pub(crate) struct Reference {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) time: Spread,
    /// Measured median over reference median: below 1 is faster than the reference.
    pub(crate) ratio: f64,
}

/// The distribution of times, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Spread {
    pub(crate) median_ms: f64,
    pub(crate) p10_ms: f64,
    pub(crate) p90_ms: f64,
    pub(crate) samples: usize,
}

impl Machine {
    /// The machine that this process runs on.
    pub(crate) fn this() -> Self {
        Self {
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
            cpu: cpu_name(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Build {
    /// The build that is running.
    pub(crate) fn this() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
            simd: zygoma_numerics::simd::instruction_set(),
        }
    }
}

impl<T> Report<T> {
    pub(crate) fn new() -> Self {
        Self { machine: Machine::this(), build: Build::this(), results: Vec::new() }
    }
}

/// The processor's name, where the system reports it.
fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name).to_owned()
}

/// Time that all threads of this process have spent on a processor, s; `None` where the system does not report it.
pub(crate) fn cpu_seconds() -> Option<f64> {
    /// Ticks of /proc in a second, on every Linux.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The command's name, in brackets, may hold spaces; user and system time are 11 fields after the one behind it.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks: f64 = fields.get(11..13)?.iter().filter_map(|field| field.parse::<f64>().ok()).sum();
    Some(ticks / TICKS)
}

/// One measurement being set up.
pub(crate) struct Bench<'a> {
    name: String,
    goal_ms: Option<f64>,
    reference: Option<(String, Box<dyn FnMut() + 'a>)>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), goal_ms: None, reference: None }
    }

    pub(crate) fn goal_ms(mut self, goal: f64) -> Self {
        self.goal_ms = Some(goal);
        self
    }

    /// Adds work of known cost that is measured in alternation with the real work.
    pub(crate) fn reference<T>(mut self, name: impl Into<String>, mut work: impl FnMut() -> T + 'a) -> Self {
        let work = Box::new(move || {
            black_box(work());
        });
        self.reference = Some((name.into(), work));
        self
    }

    /// Runs both in alternation, so that background load affects them alike.
    pub(crate) fn run<T>(mut self, mut work: impl FnMut() -> T) -> Measurement {
        let start = Instant::now();
        let mut times = Vec::new();
        let mut reference_times = Vec::new();
        black_box(work());
        while times.len() < FEWEST_SAMPLES
            || (times.len() < MOST_SAMPLES && start.elapsed().as_secs_f64() < SECONDS_PER_MEASUREMENT)
        {
            times.push(milliseconds(|| {
                black_box(work());
            }));
            if let Some((_, reference)) = &mut self.reference {
                reference_times.push(milliseconds(reference));
            }
        }
        let time = Spread::of(times);
        let reference = self.reference.map(|(name, _)| {
            let reference = Spread::of(reference_times);
            Reference { name, time: reference, ratio: time.median_ms / reference.median_ms }
        });
        Measurement { name: self.name, time, goal_ms: self.goal_ms, reference }
    }
}

pub(crate) fn milliseconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e3
}

impl Spread {
    pub(crate) fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |fraction: f64| times[((times.len() - 1) as f64 * fraction).round() as usize];
        Self { median_ms: at(0.5), p10_ms: at(0.1), p90_ms: at(0.9), samples: times.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_passes_while_a_thread_works() {
        let Some(before) = cpu_seconds() else { return };
        let began = std::time::Instant::now();
        while cpu_seconds() == Some(before) && began.elapsed().as_secs() < 20 {}
        let used = cpu_seconds().expect("it was reported before") - before;
        assert!(used > 0.0 && used < 1.0, "{used} s");
    }

    #[test]
    fn spreads_are_order_statistics() {
        let spread = Spread::of((0..=100).rev().map(f64::from).collect());
        assert_eq!((spread.p10_ms, spread.median_ms, spread.p90_ms, spread.samples), (10.0, 50.0, 90.0, 101));
    }
}
