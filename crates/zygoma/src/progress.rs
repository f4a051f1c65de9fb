//! Progress of work that takes longer than a second.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar on a terminal; occasional lines elsewhere.
pub(crate) struct Progress {
    what: &'static str,
    total: usize,
    bar: Option<ProgressBar>,
    /// When the current pass began, and how many are done.
    began: Instant,
    done: usize,
    last_line: Instant,
}

impl Progress {
    pub(crate) fn new(what: &'static str, total: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}");
            let bar = ProgressBar::new(total as u64).with_message(what);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { what, total, bar, began: Instant::now(), done: 0, last_line: Instant::now() }
    }

    pub(crate) fn set(&mut self, done: usize) {
        self.report(done, self.what);
    }

    /// Shows progress with another message.
    pub(crate) fn report(&mut self, done: usize, words: &str) {
        if done < self.done {
            // A new pass over the same items: exporters read frames more than once.
            self.began = Instant::now();
        }
        self.done = done;
        match &self.bar {
            Some(bar) => {
                bar.set_message(words.to_owned());
                bar.set_position(done as u64);
            }
            None if self.last_line.elapsed() > Duration::from_secs(2) => {
                self.last_line = Instant::now();
                let elapsed = self.began.elapsed().as_secs_f64();
                let left = elapsed * self.total.saturating_sub(done) as f64 / done.max(1) as f64;
                // Too early to estimate before that.
                let left = if elapsed > 1.0 { format!(", about {left:.0} s left") } else { String::new() };
                eprintln!("{words}: {done} of {}{left}", self.total);
            }
            None => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
