//! Real files for tests: rigs, people and takes that nobody made for zygoma, used where they lie beside the checkout.
//!
//! A test that lacks them passes, so it must say that it checked nothing: `./test` counts these lines.

use std::io::Write;
use std::path::{Path, PathBuf};

/// A file or folder of the test data beside the checkout; `None`, and a line that `./test` counts, where it is absent.
pub fn real_data(path: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if file.exists() {
        return Some(file);
    }
    skipped(&format!("the test data has no {path}"));
    None
}

/// Says that a test, or a part of it, checks nothing on this machine.
pub fn skipped(why: &str) {
    // Straight to the stream: what the print macros write is captured and dropped when a test passes.
    let written = writeln!(std::io::stderr(), "skipped: {why}");
    debug_assert!(written.is_ok(), "standard error is open in tests");
}
