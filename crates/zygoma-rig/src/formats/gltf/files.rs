//! Reading and writing whole files, safely.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Reads a file that must not be larger than `most` bytes.
pub(super) fn read_whole(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(Error::io(path, "opening"))?;
    let length = file.metadata().map_err(Error::io(path, "reading"))?.len();
    if length > most {
        return Err(Error::malformed(
            path,
            format!(
                "the file has {length} bytes, more than the limit of {most}; raise the limit if it is meant to"
            ),
        ));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    // The length may have changed since, or be unknown (a pipe): the limit holds all the same.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::io(path, "reading"))?;
    if bytes.len() as u64 > most {
        return Err(Error::malformed(path, format!("the file has more than the limit of {most} bytes")));
    }
    Ok(bytes)
}

/// Writes a file under a temporary name beside it and renames it, so that nobody ever sees half of it.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = temporary_name(path);
    let written = create_and_fill(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // The first failure is the one to report; a leftover that cannot be removed either adds nothing.
        let _ = fs::remove_file(&temporary);
        Error::io(path, "writing")(error)
    })
}

fn create_and_fill(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn temporary_name(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_leaves_only_the_file_and_a_failed_one_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.glb");
        write_whole(&path, b"first").unwrap();
        write_whole(&path, b"second").unwrap();
        assert_eq!(read_whole(&path, 6).unwrap(), b"second");
        assert!(read_whole(&path, 5).unwrap_err().to_string().contains("a.glb"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_whole(&folder.path().join("missing/b.glb"), b"x").is_err());
    }
}
