//! Temporary names beside an output, locked while in use.
//!
//! A name is `.<output>.<random>.part`. It is created exclusively, so that neither another run nor a planted link can be hit, and locked, so
//! that a later run can distinguish leftovers of a killed run from files still being written.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::identity::inode;
use crate::{Error, Result, folder_of};

const SUFFIX: &str = ".part";

/// Bytes of an output's name that its temporary name repeats; file systems allow 255 for all of it.
const LONGEST_NAME: usize = 180;

/// Attempts to create a temporary file and lock it before another run cleans it up.
const TRIES: usize = 16;

/// Temporary files and folders of outputs that are not finished.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes everything that is being written. For a program that is about to stop in the middle of its work, such as on Ctrl-C; a write
/// that still goes on then fails.
pub fn abandon_outputs() {
    for temporary in std::mem::take(&mut *unfinished()) {
        // Either it is a file or a folder, or it is gone already.
        let _ = fs::remove_file(&temporary);
        let _ = fs::remove_dir_all(&temporary);
    }
}

/// Registers an unfinished output until it is dropped.
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        unfinished().insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        unfinished().remove(&self.0);
    }
}

/// Creates a temporary file for an output, after removing those of killed runs.
pub(crate) fn file(path: &Path) -> Result<(NamedTempFile, Unfinished)> {
    let prefix = prefix(path);
    sweep(path, &prefix);
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The usual permissions; the umask removes those that the user does not want.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    for _ in 0..TRIES {
        let made = builder.tempfile_in(folder_of(path)).map_err(Error::io(path, "writing"))?;
        // On a file system without locks only the clean-up is lost.
        let _ = made.as_file().lock();
        if is_at(made.as_file(), made.path()) {
            let unfinished = Unfinished::new(made.path());
            return Ok((made, unfinished));
        }
    }
    Err(Error::refused(path, "no temporary file beside it stays there; another program removes them"))
}

/// Creates a temporary folder for an output, after removing those of killed runs. The file holds the lock.
pub(crate) fn folder(path: &Path) -> Result<(TempDir, Option<File>, Unfinished)> {
    let prefix = prefix(path);
    sweep(path, &prefix);
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    for _ in 0..TRIES {
        let made = builder.tempdir_in(folder_of(path)).map_err(Error::io(path, "creating the folder"))?;
        // Folders cannot be opened everywhere; where they cannot, nothing is cleaned up either.
        let lock = File::open(made.path()).ok().filter(|lock| lock.lock().is_ok());
        if lock.as_ref().is_none_or(|lock| is_at(lock, made.path())) && made.path().is_dir() {
            let unfinished = Unfinished::new(made.path());
            return Ok((made, lock, unfinished));
        }
    }
    Err(Error::refused(path, "no temporary folder beside it stays there; another program removes them"))
}

fn prefix(path: &Path) -> OsString {
    let name = path.file_name().unwrap_or_default();
    let mut hidden = OsString::from(".");
    match name.to_str() {
        Some(text) if text.len() > LONGEST_NAME => {
            let end = (0..=LONGEST_NAME).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            hidden.push(&text[..end]);
        }
        _ => hidden.push(name),
    }
    hidden.push(".");
    hidden
}

/// Removes temporary files and folders of an output whose lock can be taken: the run that created them has ended.
fn sweep(path: &Path, prefix: &OsStr) {
    let Ok(entries) = fs::read_dir(folder_of(path)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let bytes = name.as_encoded_bytes();
        let ours = bytes.starts_with(prefix.as_encoded_bytes()) && bytes.ends_with(SUFFIX.as_bytes());
        // A link or a pipe of that name is not ours.
        let kind = entry.file_type().ok().filter(|kind| ours && (kind.is_file() || kind.is_dir()));
        let Some(kind) = kind else { continue };
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        match file.try_lock() {
            Ok(()) if is_at(&file, &path) => {}
            Ok(()) | Err(TryLockError::WouldBlock | TryLockError::Error(_)) => continue,
        }
        // If it cannot be removed, it stays; the output is written all the same.
        let _ = if kind.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
}

/// Whether an open file is still the one at a path.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    inode(&open) == inode(&there)
}
