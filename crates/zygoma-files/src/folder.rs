//! Folders that appear whole or not at all.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::output::sync_folder;
use crate::temporary::{self, Unfinished};
use crate::{Error, Result, folder_of, place, plan};

const WAY_OUT: &str = "name a new folder or empty this one first";

/// Creates a folder and its missing parents.
pub fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(Error::io(path, "creating the folder"))
}

/// A folder being filled. Unless [`finish`](Self::finish) is reached, nothing is left behind.
pub struct OutputFolder {
    path: PathBuf,
    temporary: TempDir,
    _lock: Option<File>,
    _unfinished: Unfinished,
}

impl fmt::Debug for OutputFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputFolder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl OutputFolder {
    /// Starts a folder that will be called `path`, if [`check`](Self::check) allows it.
    pub fn create(path: &Path, is_ours: impl FnOnce(&Path) -> bool) -> Result<Self> {
        Self::check(path, is_ours)?;
        plan::check_folder(path)?;
        let (temporary, lock, unfinished) = temporary::folder(path)?;
        Ok(Self { path: path.to_owned(), temporary, _lock: lock, _unfinished: unfinished })
    }

    /// Checks that a folder can be created. An existing folder is replaced only if it is empty or `is_ours` says that zygoma wrote all of
    /// it.
    pub fn check(path: &Path, is_ours: impl FnOnce(&Path) -> bool) -> Result<()> {
        place::check_folder(path)?;
        place::check_parent(path)?;
        let occupied = path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
        if occupied && !is_ours(path) {
            let what = "the folder is not empty and holds files that zygoma did not write";
            return Err(Error::refused(path, format!("{what}; {WAY_OUT}")));
        }
        Ok(())
    }

    /// Where the contents go until the folder is finished.
    pub fn inside(&self) -> &Path {
        self.temporary.path()
    }

    /// Gives the folder its name, replacing an older one.
    pub fn finish(self) -> Result<()> {
        let failed = || Error::io(&self.path, "replacing the folder");
        sync_folder(self.temporary.path());
        if self.path.exists() {
            exchange(self.temporary.path(), &self.path).map_err(failed())?;
            // The older folder now has the temporary name and is deleted with it.
        } else {
            fs::rename(self.temporary.path(), &self.path).map_err(failed())?;
        }
        sync_folder(folder_of(&self.path));
        Ok(())
    }
}

/// Exchanges two folders. Linux does it in one step; elsewhere a crash in between leaves the older folder under a temporary name.
fn exchange(new: &Path, old: &Path) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    let aside = tempfile::tempdir_in(folder_of(old))?;
    let older = aside.path().join("older");
    fs::rename(old, &older)?;
    if let Err(error) = fs::rename(new, old) {
        fs::rename(&older, old)?;
        return Err(error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_foreign_folder_is_refused_and_ours_is_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("rig");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("precious"), "1").unwrap();
        let refused = OutputFolder::create(&path, |_| false).unwrap_err().to_string();
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

    #[test]
    fn the_folder_of_a_killed_run_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(".rig.killed.part");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("half"), "3").unwrap();
        let living = OutputFolder::create(&parent.path().join("rig"), |_| true).unwrap();
        assert!(!left.exists());
        OutputFolder::create(&parent.path().join("rig"), |_| true).unwrap().finish().unwrap();
        assert!(living.inside().exists(), "another run's folder stays");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_does_not_become_a_folder() {
        let parent = tempfile::tempdir().unwrap();
        let device = parent.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &device).unwrap();
        let message = OutputFolder::create(&device, |_| true).unwrap_err().to_string();
        assert!(message.contains("this is a device where a folder is to be written"), "{message}");
    }
}
