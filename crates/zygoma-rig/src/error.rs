//! Errors of reading and writing files, as sentences for the user.

use std::path::{Path, PathBuf};

/// A result whose error is a sentence for the user.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a rig or take could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or made, or it is larger than the limits allow.
    #[error(transparent)]
    File(#[from] zygoma_files::Error),
    /// The operating system refused.
    #[error("{path}: {action} failed: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The action that failed, e.g. "reading".
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file breaks its own format, or asks for more than the limits allow.
    #[error("{path}: {problem}", path = path.display())]
    Malformed {
        /// The file or folder.
        path: PathBuf,
        /// Where in the file, what is wrong there, and what to do about it.
        problem: String,
    },
    /// The file is fine but needs something that zygoma does not do.
    #[error("{path}: {what}; {way_out}", path = path.display())]
    Unsupported {
        /// The file or folder.
        path: PathBuf,
        /// The feature that the file needs.
        what: String,
        /// The alternative for the user.
        way_out: String,
    },
    /// The caller asked for something that the rig or take does not have.
    #[error("{0}")]
    Request(String),
}

impl Error {
    /// A [`Malformed`](Self::Malformed) error.
    pub fn malformed(path: &Path, problem: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), problem: problem.into() }
    }

    /// An [`Unsupported`](Self::Unsupported) error.
    pub fn unsupported(path: &Path, what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self::Unsupported { path: path.to_owned(), what: what.into(), way_out: way_out.into() }
    }

    /// A closure that wraps an I/O error, for `map_err`.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}
