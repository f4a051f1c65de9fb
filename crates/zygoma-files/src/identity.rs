//! The identity and kind of the file that a path leads to.

use std::fs::{self, FileType, Metadata};
use std::path::{Path, PathBuf};

/// A file or folder, independent of its path: symbolic and hard links and detours in a path lead to the same identity.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    canonical: PathBuf,
    inode: Option<[u64; 2]>,
}

impl Identity {
    /// The identity of the existing file, or of the file that would be created there.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        if let Ok(canonical) = path.canonicalize() {
            let inode = fs::metadata(&canonical).ok().and_then(|metadata| inode(&metadata));
            return Some(Self { canonical, inode });
        }
        let folder = crate::folder_of(path).canonicalize().ok()?;
        Some(Self { canonical: folder.join(path.file_name()?), inode: None })
    }

    /// Whether both are the same file or folder.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.canonical == other.canonical || (self.inode.is_some() && self.inode == other.inode)
    }

    /// Whether this is a folder that holds the other one, at any depth.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        self.canonical != other.canonical && other.canonical.starts_with(&self.canonical)
    }
}

#[cfg(unix)]
pub(crate) fn inode(metadata: &Metadata) -> Option<[u64; 2]> {
    use std::os::unix::fs::MetadataExt;
    Some([metadata.dev(), metadata.ino()])
}

#[cfg(not(unix))]
pub(crate) fn inode(_: &Metadata) -> Option<[u64; 2]> {
    None
}

/// The word for something that is not a regular file; `None` for one that is.
pub(crate) fn special(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        return None;
    }
    if kind.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
    }
    Some("something other than a file")
}
