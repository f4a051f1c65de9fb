//! Errors, as sentences for the user.

use std::io;
use std::path::{Path, PathBuf};

/// A result whose error is a sentence for the user.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{path}: {action} failed: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The action that failed, e.g. "reading".
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// zygoma refused to read or write the file.
    #[error("{path}: {problem}", path = path.display())]
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// The problem and what to do about it.
        problem: String,
    },
}

impl Error {
    /// The message without the path.
    pub fn problem(&self) -> String {
        match self {
            Self::Io { source, .. } => source.to_string(),
            Self::Refused { problem, .. } => problem.clone(),
        }
    }

    pub(crate) fn refused(path: &Path, problem: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), problem: problem.into() }
    }

    /// A closure that wraps an I/O error, for `map_err`.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}
