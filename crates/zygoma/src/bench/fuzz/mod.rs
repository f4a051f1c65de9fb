//! Fuzzing with damaged rigs, as many as there is time for: each must end in frames or in an error message.
//!
//! Every input runs in a process of its own, so that one that hangs, or takes all memory, is noticed and stopped. Input N is the
//! same rig on every machine: `zygoma bench fuzz --only N` runs it again.

mod attempt;
mod damage;

use std::collections::BTreeMap;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::Serialize;

use attempt::Outcome;
pub(crate) use attempt::Tried;

/// Interval between checks of a running process.
const PATIENCE: Duration = Duration::from_millis(5);

/// A process that takes more memory than this is stopped. Ours: the rigs are small.
const MOST_MEGABYTES: f64 = 2048.0;

/// An input that failed.
#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    pub(crate) input: u64,
    pub(crate) why: String,
}

/// How often a stage ended in each way.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Tally {
    pub(crate) made: usize,
    pub(crate) refused: usize,
}

/// The results of all inputs.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Fuzzed {
    pub(crate) first_input: u64,
    pub(crate) inputs: u64,
    pub(crate) seconds: f64,
    /// Inputs that ended by themselves, with frames or with an error message.
    pub(crate) ended: u64,
    /// Stages that ended with an error message.
    pub(crate) refusals: usize,
    pub(crate) panics: Vec<Failure>,
    /// Inputs that took too long or too much memory.
    pub(crate) hangs: Vec<Failure>,
    /// Impossible results, such as vertices at infinity.
    pub(crate) broken: Vec<Failure>,
    pub(crate) longest_seconds: f64,
    pub(crate) longest_input: u64,
    pub(crate) largest_megabytes: f64,
    pub(crate) largest_input: u64,
    /// Per stage.
    pub(crate) stages: BTreeMap<String, Tally>,
    /// Every error message, and the inputs that caused it.
    pub(crate) sentences: BTreeMap<String, Vec<u64>>,
}

impl Fuzzed {
    /// Fails if anything happened that must not happen.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let first = |failures: &[Failure]| failures.first().map(|f| format!("input {}: {}", f.input, f.why));
        for (what, failures) in [("panicked", &self.panics), ("hung", &self.hangs), ("broke", &self.broken)] {
            ensure!(
                failures.is_empty(),
                "{} of {} damaged rigs {what}; {}",
                failures.len(),
                self.inputs,
                first(failures).unwrap_or_default()
            );
        }
        Ok(())
    }

    fn add(&mut self, input: u64, seen: Seen) {
        self.inputs += 1;
        if seen.seconds > self.longest_seconds {
            (self.longest_seconds, self.longest_input) = (seen.seconds, input);
        }
        if seen.megabytes > self.largest_megabytes {
            (self.largest_megabytes, self.largest_input) = (seen.megabytes, input);
        }
        match seen.end {
            End::Hung(why) => self.hangs.push(Failure { input, why }),
            End::Panicked(why) => self.panics.push(Failure { input, why }),
            End::Ended(tried) => {
                self.ended += 1;
                tried.stages.into_iter().for_each(|(stage, outcome)| self.add_stage(input, stage, outcome));
            }
        }
    }

    fn add_stage(&mut self, input: u64, stage: String, outcome: Outcome) {
        let why = |sentence: &str| format!("{stage}: {sentence}");
        match outcome {
            Outcome::Made => self.stages.entry(stage).or_default().made += 1,
            Outcome::Refused(sentence) => {
                self.refusals += 1;
                self.sentences.entry(why(&sentence)).or_default().push(input);
                self.stages.entry(stage).or_default().refused += 1;
            }
            Outcome::Broken(sentence) => self.broken.push(Failure { input, why: why(&sentence) }),
        }
    }
}

/// Runs inputs from `first` on, one after the other, for some seconds.
pub(crate) fn run(first: u64, seconds: f64, limit: f64) -> anyhow::Result<Fuzzed> {
    let began = Instant::now();
    let mut found = Fuzzed { first_input: first, ..Fuzzed::default() };
    for input in first.. {
        found.seconds = began.elapsed().as_secs_f64();
        if found.seconds >= seconds {
            break;
        }
        found.add(input, watch(input, limit)?);
    }
    Ok(found)
}

/// The observed end of a process.
struct Seen {
    end: End,
    seconds: f64,
    megabytes: f64,
}

enum End {
    Ended(Tried),
    Panicked(String),
    Hung(String),
}

/// Runs an input in a process of its own.
fn watch(input: u64, limit: f64) -> anyhow::Result<Seen> {
    let began = Instant::now();
    let program = std::env::current_exe().context("finding the program itself")?;
    let mut child = Command::new(program)
        .args(["bench", "fuzz", "--only", &input.to_string()])
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting a process for an input")?;
    let mut megabytes: f64 = 0.0;
    let ended = loop {
        megabytes = megabytes.max(peak_megabytes(child.id()).unwrap_or(0.0));
        if let Some(status) = child.try_wait()? {
            break Ok(status);
        }
        if began.elapsed().as_secs_f64() > limit {
            break Err(format!("it did not end within {limit} s"));
        }
        if megabytes > MOST_MEGABYTES {
            break Err(format!("it took more than {MOST_MEGABYTES} MB"));
        }
        std::thread::sleep(PATIENCE);
    };
    let seconds = began.elapsed().as_secs_f64();
    let end = match ended {
        Ok(status) => read_end(child, status)?,
        Err(why) => {
            child.kill().context("stopping a process that hangs")?;
            child.wait()?;
            End::Hung(why)
        }
    };
    Ok(Seen { end, seconds, megabytes })
}

fn read_end(child: Child, status: ExitStatus) -> anyhow::Result<End> {
    let output = child.wait_with_output()?;
    if status.success() {
        return Ok(End::Ended(serde_json::from_slice(&output.stdout).context("reading how an input ended")?));
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Ok(End::Panicked(format!("{status}: {}", message.trim())))
}

/// The peak memory of a process so far; only available on Linux.
fn peak_megabytes(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use damage::{DAMAGES, damaged_rig};

    #[test]
    fn an_input_is_the_same_rig_every_time_and_all_kinds_of_damage_come() {
        let mut seen = std::collections::BTreeSet::new();
        for input in 0..40 {
            let [one, other] = [(); 2].map(|()| damaged_rig(input));
            assert_eq!(one.damages, other.damages);
            assert_eq!(one.rig.skin().positions, other.rig.skin().positions);
            assert_eq!(one.rig.skin().faces.triangles(), other.rig.skin().faces.triangles());
            seen.extend(one.damages);
        }
        assert_eq!(seen, DAMAGES.iter().map(|(name, _)| *name).collect());
    }

    /// The short form of `zygoma bench fuzz`.
    #[test]
    fn damaged_rigs_end_in_frames_or_in_a_sentence() {
        for input in 0..20 {
            let tried = Tried::new(input);
            for (stage, outcome) in &tried.stages {
                let is_sound = match outcome {
                    Outcome::Made => true,
                    Outcome::Refused(sentence) => sentence.len() > 20,
                    Outcome::Broken(_) => false,
                };
                assert!(is_sound, "input {input} ({:?}): {stage} {outcome:?}", tried.damages);
            }
        }
    }
}
