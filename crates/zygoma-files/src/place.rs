//! Checks that a folder is writable and has space.

use std::path::Path;

use crate::identity::special;
use crate::{Error, Result};

/// The folder that a file is or will be in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses to write if fewer than `bytes` are free, before the work that produces them. If the system does not report it, there is space.
pub fn check_room(folder: &Path, bytes: u64) -> Result<()> {
    let Some(free) = free_bytes(folder).filter(|free| *free < bytes) else { return Ok(()) };
    let [needed, free] = [bytes, free].map(crate::input::size);
    Err(Error::refused(
        folder,
        format!(
            "at least {needed} are needed there, but only {free} are free; name an output on another disk"
        ),
    ))
}

#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Checks that an output file can be created: its folder is writable, and any existing file is a regular one. Missing folders
/// will be created.
pub(crate) fn check_file(path: &Path) -> Result<()> {
    check_occupant(path)?;
    check_name(path)?;
    let there = nearest(path);
    check_system(path, there)?;
    try_writing(path, there)
}

/// Checks that an output file would replace nothing but a file, in a folder that exists and does not belong to the system.
pub(crate) fn check_target(path: &Path) -> Result<()> {
    check_occupant(path)?;
    check_parent(path)
}

fn check_occupant(path: &Path) -> Result<()> {
    if let Some(kind) = occupant(path).and_then(special) {
        return Err(Error::refused(
            path,
            format!("this is {kind}, which no output may replace; name a new file"),
        ));
    }
    Ok(())
}

fn check_name(path: &Path) -> Result<()> {
    match path.file_name() {
        Some(_) => Ok(()),
        None => Err(Error::refused(path, "this is not a name that can be written to")),
    }
}

/// The nearest existing ancestor folder of a path, in which missing ones will be created.
fn nearest(path: &Path) -> &Path {
    path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."))
}

/// Checks that a folder can be created or filled.
pub(crate) fn check_folder(path: &Path) -> Result<()> {
    let there = match occupant(path) {
        Some(kind) if kind.is_dir() => path,
        Some(kind) => {
            let word = special(kind).unwrap_or("a file");
            let problem = format!("this is {word} where a folder is to be written; name a new folder");
            return Err(Error::refused(path, problem));
        }
        None => nearest(path),
    };
    check_system(path, there)?;
    try_writing(path, there)
}

/// Checks that the folder of an output exists and does not belong to the system.
pub(crate) fn check_parent(path: &Path) -> Result<()> {
    check_name(path)?;
    let folder = folder_of(path);
    if !folder.is_dir() {
        let problem = format!("there is no folder {} to write it to; make it first", folder.display());
        return Err(Error::refused(path, problem));
    }
    check_system(path, folder)
}

/// Nobody writes an output there on purpose, and renaming onto `/dev/stdout` would break it for everybody.
const SYSTEM: [&str; 3] = ["/dev", "/proc", "/sys"];
const SHARED_MEMORY: &str = "/dev/shm";

fn check_system(path: &Path, folder: &Path) -> Result<()> {
    let real = folder.canonicalize().map_err(Error::io(path, "writing"))?;
    if SYSTEM.iter().any(|system| real.starts_with(system)) && !real.starts_with(SHARED_MEMORY) {
        return Err(Error::refused(
            path,
            format!("{} is the system's own; name another output", real.display()),
        ));
    }
    Ok(())
}

fn try_writing(path: &Path, folder: &Path) -> Result<()> {
    match tempfile::tempfile_in(folder) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::refused(
            path,
            format!("the folder {} cannot be written to ({error}); name another output", folder.display()),
        )),
    }
}

/// The kind of the file that a path leads to, after following links.
fn occupant(path: &Path) -> Option<std::fs::FileType> {
    path.metadata().ok().map(|metadata| metadata.file_type())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_have_folders() {
        assert_eq!(folder_of(Path::new("a/b.pc2")), Path::new("a"));
        assert_eq!(folder_of(Path::new("b.pc2")), Path::new("."));
        check_file(Path::new("nowhere/at/all.glb")).unwrap();
        let message = check_target(Path::new("nowhere/at/all.glb")).unwrap_err().to_string();
        assert!(message.contains("there is no folder nowhere/at"), "{message}");
        assert!(check_file(Path::new("..")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn more_than_the_disk_holds_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        check_room(folder.path(), 1).unwrap();
        let message = check_room(folder.path(), u64::MAX).unwrap_err().to_string();
        assert!(message.contains("GiB are needed there, but only"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn system_folders_take_no_outputs() {
        for path in ["/dev/stdout", "/dev/zygoma.glb", "/proc/self/zygoma.glb"] {
            assert!(check_file(Path::new(path)).is_err(), "{path}");
        }
    }
}
