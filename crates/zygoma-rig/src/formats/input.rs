//! Reading files that nobody vouches for.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::formats::Limits;
use crate::{Error, Result};

/// The bytes of a file that is not larger than the limits allow.
pub(crate) fn read_bytes(path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    let failed = || Error::io(path, "reading");
    if path.is_dir() {
        return Err(Error::malformed(path, "this is a folder where a file is expected"));
    }
    let size = fs::metadata(path).map_err(failed())?.len();
    let too_large = || {
        let allowed = limits.file_bytes;
        Error::malformed(path, format!("the file is larger than the {allowed} bytes that are allowed"))
    };
    if size > limits.file_bytes {
        return Err(too_large());
    }
    // The reported size is a hint only: devices and pipes report 0, and files grow.
    let mut bytes = Vec::with_capacity(size as usize + 1);
    let file = File::open(path).map_err(failed())?;
    file.take(limits.file_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed())?;
    if bytes.len() as u64 > limits.file_bytes {
        return Err(too_large());
    }
    Ok(bytes)
}

/// A piece of a file as it can be shown in an error: one line, short, readable.
pub(crate) fn shown(piece: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text: String = String::from_utf8_lossy(piece).chars().filter(|c| !c.is_control()).collect();
    if text.chars().count() <= LONGEST {
        return format!("\"{text}\"");
    }
    format!("\"{}…\"", text.chars().take(LONGEST).collect::<String>())
}

/// Text without the byte order mark that some programs put first.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}
