//! Reading untrusted files.

use std::path::Path;

use crate::Result;
use crate::formats::Limits;

/// The bytes of a regular file that is not larger than the limits allow.
pub(crate) fn read_bytes(path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    Ok(zygoma_files::read(path, limits.file_bytes)?)
}

/// A piece of a file for an error message: one line, short, printable.
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
