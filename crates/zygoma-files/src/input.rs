//! Reading untrusted files.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::path::Path;

use crate::identity::special;
use crate::{Error, Result, plan};

/// The bytes of a regular file of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    load(path, most, plan::note_input)
}

/// The same for a file that the command owns and may replace, such as a page that it updates: it does not count as an input.
pub fn read_own(path: &Path, most: u64) -> Result<Vec<u8>> {
    load(path, most, |_| Ok(()))
}

fn load(path: &Path, most: u64, note: impl Fn(&Path) -> Result<()>) -> Result<Vec<u8>> {
    let failed = || Error::io(path, "reading");
    // Some devices act when they are opened, so the kind is checked before and, since it may change meanwhile, after.
    check_kind(path, &fs::metadata(path).map_err(failed())?)?;
    let file = open(path).map_err(failed())?;
    let metadata = file.metadata().map_err(failed())?;
    check_kind(path, &metadata)?;
    note(path)?;
    let too_large =
        || Error::refused(path, format!("the file is larger than the {} that are allowed", size(most)));
    if metadata.len() > most {
        return Err(too_large());
    }
    // The reported size is a hint only: files grow, and those of /proc report 0.
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed())?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    Ok(bytes)
}

/// The text of a regular file of at most `most` bytes, without the byte order mark that some programs put first.
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    let text = String::from_utf8(read(path, most)?)
        .map_err(|_| Error::refused(path, "the file is not UTF-8 text; save it as UTF-8"))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Reads a file that another file refers to by a path relative to its folder. It must lie in that folder, after following links: a downloaded
/// file must not make us read others.
pub fn read_beside(folder: &Path, relative: &Path, most: u64) -> Result<Vec<u8>> {
    let path = folder.join(relative);
    let failed = || Error::io(&path, "reading");
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let root = folder.canonicalize().map_err(failed())?;
    let real = path.canonicalize().map_err(failed())?;
    if !real.starts_with(&root) {
        return Err(Error::refused(&path, "it is a link that leaves its folder; put the file itself there"));
    }
    read(&real, most)
}

/// Whether a path leads to a regular file that begins with these bytes.
pub fn starts_with(path: &Path, start: &[u8]) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut found = vec![0; start.len()];
    open(path).and_then(|mut file| file.read_exact(&mut found)).is_ok() && found == start
}

fn check_kind(path: &Path, metadata: &fs::Metadata) -> Result<()> {
    match special(metadata.file_type()) {
        None => Ok(()),
        Some(kind) => Err(Error::refused(path, format!("this is {kind} where a file is expected"))),
    }
}

/// Opens a file without blocking: a pipe would wait for a writer.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    options.open(path)
}

/// A number of bytes in readable form.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| bytes >> shift > 0) {
        Some((shift, unit)) => {
            let count = format!("{:.1}", bytes as f64 / f64::from(1_u32 << shift));
            format!("{} {unit}", count.trim_end_matches(".0"))
        }
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_printed_in_units() {
        assert_eq!(
            [12, 2 << 10, 3 << 19, 2 << 30].map(size),
            ["12 bytes", "2 KiB", "1.5 MiB", "2 GiB"].map(str::to_owned)
        );
    }

    #[test]
    fn a_file_larger_than_allowed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.toml");
        fs::write(&path, [b'#'; 100]).unwrap();
        assert_eq!(read(&path, 100).unwrap().len(), 100);
        let message = read(&path, 99).unwrap_err().to_string();
        assert!(message.contains("long.toml: the file is larger than the 99 bytes"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn pipes_devices_and_folders_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.toml");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        let device = folder.path().join("endless.toml");
        std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
        for (path, kind) in [(pipe.as_path(), "a pipe"), (&device, "a device"), (folder.path(), "a folder")] {
            assert!(!starts_with(path, b"\0"));
            let message = read(path, 1 << 20).unwrap_err().to_string();
            assert!(message.ends_with(&format!("this is {kind} where a file is expected")), "{message}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_beside_a_file_may_not_leave_its_folder() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("rig");
        fs::create_dir(&folder).unwrap();
        fs::write(parent.path().join("secret"), "s").unwrap();
        fs::write(folder.join("real.bin"), "r").unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("away.bin")).unwrap();
        std::os::unix::fs::symlink("real.bin", folder.join("near.bin")).unwrap();
        assert_eq!(read_beside(&folder, Path::new("near.bin"), 10).unwrap(), b"r");
        let message = read_beside(&folder, Path::new("away.bin"), 10).unwrap_err().to_string();
        assert!(message.contains("away.bin: it is a link that leaves its folder"), "{message}");
    }
}
