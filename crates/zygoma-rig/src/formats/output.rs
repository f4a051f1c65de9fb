//! Files and folders that appear whole or not at all: written under a temporary name, then renamed.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// A file being written. Unless [`finish`](Self::finish) is reached, nothing is left behind.
pub(crate) struct OutputFile {
    path: PathBuf,
    temporary: PathBuf,
    writer: BufWriter<File>,
    finished: bool,
}

impl OutputFile {
    /// Starts a file that will be called `path`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let temporary = beside(path, "part")?;
        let file = File::create(&temporary).map_err(Error::io(path, "writing"))?;
        let writer = BufWriter::with_capacity(1 << 18, file);
        Ok(Self { path: path.to_owned(), temporary, writer, finished: false })
    }

    /// Appends bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(Error::io(&self.path, "writing"))
    }

    /// Appends text, for `format_args!`.
    pub(crate) fn text(&mut self, text: fmt::Arguments) -> Result<()> {
        self.writer.write_fmt(text).map_err(Error::io(&self.path, "writing"))
    }

    /// Gives the file its name, replacing an older one.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.writer.flush().map_err(Error::io(&self.path, "writing"))?;
        fs::rename(&self.temporary, &self.path).map_err(Error::io(&self.path, "writing"))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if !self.finished {
            // The error that brought us here is the one to report.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A folder being filled. Unless [`finish`](Self::finish) is reached, nothing is left behind.
pub(crate) struct OutputFolder {
    path: PathBuf,
    temporary: PathBuf,
}

impl OutputFolder {
    /// Starts a folder that will be called `path`. An older folder there is replaced only if it is empty
    /// or `is_ours` says that we wrote all of it.
    pub(crate) fn create(path: &Path, is_ours: impl FnOnce(&Path) -> bool) -> Result<Self> {
        if path.is_file() {
            return Err(Error::unsupported(path, "there is a file where a folder is to be written", WAY_OUT));
        }
        let occupied = path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
        if occupied && !is_ours(path) {
            let what = "the folder is not empty and holds files that zygoma did not write";
            return Err(Error::unsupported(path, what, WAY_OUT));
        }
        let temporary = beside(path, "part")?;
        let _ = fs::remove_dir_all(&temporary);
        fs::create_dir(&temporary).map_err(Error::io(path, "creating the folder"))?;
        Ok(Self { path: path.to_owned(), temporary })
    }

    /// Where the contents go until the folder is finished.
    pub(crate) fn inside(&self) -> &Path {
        &self.temporary
    }

    /// Gives the folder its name.
    pub(crate) fn finish(self) -> Result<()> {
        let failed = || Error::io(&self.path, "replacing the folder");
        if !self.path.exists() {
            return fs::rename(&self.temporary, &self.path).map_err(failed());
        }
        let older = beside(&self.path, "old")?;
        fs::rename(&self.path, &older).map_err(failed())?;
        if let Err(error) = fs::rename(&self.temporary, &self.path) {
            fs::rename(&older, &self.path).map_err(failed())?;
            return Err(failed()(error));
        }
        fs::remove_dir_all(&older).map_err(failed())
    }
}

const WAY_OUT: &str = "name a new folder or empty this one first";

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // After `finish` the temporary folder is gone and this does nothing.
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// A hidden name in the same folder, so that renaming never crosses file systems.
fn beside(path: &Path, suffix: &str) -> Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(Error::Request(format!("{}: this is no name that can be written to", path.display())));
    };
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.{suffix}", std::process::id()));
    Ok(path.with_file_name(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn an_unfinished_file_leaves_the_older_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "older").unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        file.bytes(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "older");
        assert_eq!(names(folder.path()), ["a.txt"]);

        let mut file = OutputFile::create(&path).unwrap();
        file.text(format_args!("{}", 42)).unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "42");
        assert_eq!(names(folder.path()), ["a.txt"]);
    }

    #[test]
    fn a_foreign_folder_is_refused_and_ours_is_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("rig");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("precious"), "1").unwrap();
        let refused = OutputFolder::create(&path, |_| false).err().unwrap().to_string();
        assert!(refused.contains("not empty") && refused.contains("rig"), "{refused}");

        let folder = OutputFolder::create(&path, |_| true).unwrap();
        fs::write(folder.inside().join("new"), "2").unwrap();
        folder.finish().unwrap();
        assert_eq!(names(&path), ["new"]);
        assert_eq!(names(parent.path()), ["rig"]);

        let folder = OutputFolder::create(&path, |_| true).unwrap();
        fs::write(folder.inside().join("half"), "3").unwrap();
        drop(folder);
        assert_eq!(names(&path), ["new"]);
        assert_eq!(names(parent.path()), ["rig"]);
    }
}
