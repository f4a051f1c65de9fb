//! Files that appear whole or not at all.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::temporary::{self, Unfinished};
use crate::{Error, Result, folder_of, place, plan};

/// Size of the write buffer in bytes.
const BUFFER: usize = 1 << 18;

/// A file being written. Unless [`finish`](Self::finish) is reached, nothing is left behind.
pub struct OutputFile {
    path: PathBuf,
    writer: BufWriter<Target>,
}

/// Where the bytes go until the file is finished.
enum Target {
    /// A file beside the output.
    Temporary { file: NamedTempFile, _unfinished: Unfinished },
    /// The file itself, in an unfinished output folder.
    InFolder(File),
}

impl Target {
    fn file(&mut self) -> &mut File {
        match self {
            Self::Temporary { file, .. } => file.as_file_mut(),
            Self::InFolder(file) => file,
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file().flush()
    }
}

impl fmt::Debug for OutputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl OutputFile {
    /// Starts a file that will be called `path`.
    pub fn create(path: &Path) -> Result<Self> {
        place::check_target(path)?;
        plan::check_output(path)?;
        let (file, unfinished) = temporary::file(path)?;
        Ok(Self::new(path, Target::Temporary { file, _unfinished: unfinished }))
    }

    /// Starts a new file inside an [`OutputFolder`](crate::OutputFolder), which appears with its folder.
    pub fn create_inside(path: &Path) -> Result<Self> {
        let file = File::create_new(path).map_err(Error::io(path, "writing"))?;
        Ok(Self::new(path, Target::InFolder(file)))
    }

    fn new(path: &Path, target: Target) -> Self {
        Self { path: path.to_owned(), writer: BufWriter::with_capacity(BUFFER, target) }
    }

    /// Appends bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(Error::io(&self.path, "writing"))
    }

    /// Appends text, for `format_args!`.
    pub fn text(&mut self, text: fmt::Arguments) -> Result<()> {
        self.writer.write_fmt(text).map_err(Error::io(&self.path, "writing"))
    }

    /// Gives the file its name, replacing an older one, once its bytes are on the disk: a crash leaves the older file or the new one.
    pub fn finish(self) -> Result<()> {
        let failed = || Error::io(&self.path, "writing");
        let mut target = self.writer.into_inner().map_err(|error| failed()(error.into_error()))?;
        target.file().sync_all().map_err(failed())?;
        let Target::Temporary { file, .. } = target else { return Ok(()) };
        file.persist(&self.path).map_err(|error| failed()(error.error))?;
        sync_folder(folder_of(&self.path));
        Ok(())
    }
}

/// Writes a file, whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    file.bytes(bytes)?;
    file.finish()
}

/// Syncs a new name to the disk. Not every system can; the contents are already there.
pub(crate) fn sync_folder(folder: &Path) {
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
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
    fn two_writers_of_one_name_do_not_meet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let (mut first, mut second) =
            (OutputFile::create(&path).unwrap(), OutputFile::create(&path).unwrap());
        first.bytes(b"first").unwrap();
        second.bytes(b"second").unwrap();
        first.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        second.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(names(folder.path()), ["a.txt"]);
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_what_a_living_one_writes_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let left = folder.path().join(".a.txt.killed.part");
        fs::write(&left, "half").unwrap();
        let other = folder.path().join(".b.txt.killed.part");
        fs::write(&other, "of another output").unwrap();
        let living = OutputFile::create(&path).unwrap();
        assert!(!left.exists());
        assert_eq!(names(folder.path()).len(), 2);
        write(&path, b"whole").unwrap();
        assert_eq!(names(folder.path()).len(), 3, "the living run's temporary file stays");
        living.finish().unwrap();
        assert_eq!(names(folder.path()), [".b.txt.killed.part", "a.txt"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_planted_link_is_not_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let path = folder.path().join("a.txt");
        symlink(&victim, folder.path().join(format!(".a.txt.{}.part", std::process::id()))).unwrap();
        symlink(&victim, folder.path().join("a.txt.part")).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        // A link in the output's own place is replaced, not written through.
        fs::remove_file(&path).unwrap();
        symlink(&victim, &path).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[cfg(unix)]
    #[test]
    fn pipes_devices_and_folders_are_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.glb");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        let device = folder.path().join("null.glb");
        std::os::unix::fs::symlink("/dev/null", &device).unwrap();
        for (path, kind) in [(pipe.as_path(), "a pipe"), (&device, "a device"), (folder.path(), "a folder")] {
            let message = write(path, b"x").unwrap_err().to_string();
            assert!(message.contains(&format!("this is {kind}, which no output may replace")), "{message}");
        }
        assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
    }

    #[cfg(unix)]
    #[test]
    fn outputs_have_the_permissions_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [plain, ours] = ["plain", "ours"].map(|name| folder.path().join(name));
        fs::write(&plain, "").unwrap();
        write(&ours, b"").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
