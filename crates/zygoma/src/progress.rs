//! Progress of anything that takes longer than a second.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on a terminal; a line now and then elsewhere.
pub(crate) struct Progress {
    what: &'static str,
    total: usize,
    bar: Option<ProgressBar>,
    last_line: Instant,
}

impl Progress {
    pub(crate) fn new(what: &'static str, total: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}");
            let bar = ProgressBar::new(total as u64).with_message(what);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { what, total, bar, last_line: Instant::now() }
    }

    pub(crate) fn set(&mut self, done: usize) {
        self.tell(done, self.what);
    }

    /// Progress with other words.
    pub(crate) fn tell(&mut self, done: usize, words: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(words.to_owned());
                bar.set_position(done as u64);
            }
            None if self.last_line.elapsed() > Duration::from_secs(2) => {
                self.last_line = Instant::now();
                eprintln!("{words}: {done} of {}", self.total);
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
