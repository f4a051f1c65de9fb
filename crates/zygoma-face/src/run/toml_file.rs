//! TOML files written by users: parameters and scripts, whose errors are reported with their line.

use std::ops::Range;

use serde::de::DeserializeOwned;

/// Parses a file's text; an error is one sentence with its line.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().trim().replace('\n', "; ");
        match error.span() {
            Some(span) => format!("line {}: {message}", line(text, &span)),
            None => message,
        }
    })
}

/// The line that a span begins on, counted from 1.
pub fn line(text: &str, span: &Range<usize>) -> usize {
    1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count()
}
