//! The GLB container: a header, a JSON chunk and an optional binary chunk (glTF 2.0, section 4).

use std::path::Path;

use crate::{Error, Result};

const MAGIC: &[u8; 4] = b"glTF";
const VERSION: u32 = 2;
const JSON: u32 = u32::from_le_bytes(*b"JSON");
const BIN: u32 = u32::from_le_bytes(*b"BIN\0");

/// The two known chunks of a GLB.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chunks<'a> {
    pub(super) json: &'a [u8],
    pub(super) binary: Option<&'a [u8]>,
}

/// Whether a file has the magic bytes of a GLB.
pub(super) fn is_glb(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Splits a GLB into its chunks.
pub(super) fn split<'a>(bytes: &'a [u8], path: &Path) -> Result<Chunks<'a>> {
    let truncated =
        |place: &str| Error::malformed(path, format!("the file ends inside {place}; get it again"));
    let header = |at| word(bytes, at).ok_or_else(|| truncated("its GLB header"));
    let (version, length) = (header(4)?, header(8)? as usize);
    if version != VERSION {
        return Err(Error::unsupported(
            path,
            format!("this is glTF version {version}, and only version 2 is read"),
            "export it as glTF 2.0",
        ));
    }
    if length > bytes.len() {
        let problem = format!(
            "the file is cut short: its header declares {length} bytes but it has {}; get it again",
            bytes.len()
        );
        return Err(Error::malformed(path, problem));
    }
    // Bytes after the stated length are padding.
    let bytes = &bytes[..length];
    let (mut json, mut binary) = (None, None);
    let mut at = 12;
    while at < bytes.len() {
        let size = word(bytes, at).ok_or_else(|| truncated("a chunk header"))? as usize;
        let kind = word(bytes, at + 4).ok_or_else(|| truncated("a chunk header"))?;
        let start = at + 8;
        let rest = bytes.len() - start;
        if size > rest {
            let problem = format!(
                "the chunk at byte {at} declares {size} bytes where {rest} are left; get the file again"
            );
            return Err(Error::malformed(path, problem));
        }
        let chunk = &bytes[start..start + size];
        match kind {
            JSON if json.is_none() => json = Some(chunk),
            BIN if binary.is_none() => binary = Some(chunk),
            // Clients must ignore chunks that they do not know.
            _ => {}
        }
        at = start + size.next_multiple_of(4).min(rest);
    }
    let json = json.ok_or_else(|| Error::malformed(path, "the GLB has no JSON chunk"))?;
    Ok(Chunks { json, binary })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

/// Assembles a GLB. `None` if it would exceed its 32-bit lengths.
pub(super) fn join(json: &[u8], binary: &[u8]) -> Option<Vec<u8>> {
    let json_size = json.len().next_multiple_of(4);
    let binary_size = binary.len().next_multiple_of(4);
    let binary_chunk = if binary.is_empty() { 0 } else { 8 + binary_size };
    let length = 12 + 8 + json_size + binary_chunk;
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(MAGIC);
    for number in [VERSION, u32::try_from(length).ok()?, json_size as u32, JSON] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(json);
    bytes.resize(20 + json_size, b' ');
    if !binary.is_empty() {
        bytes.extend_from_slice(&(binary_size as u32).to_le_bytes());
        bytes.extend_from_slice(&BIN.to_le_bytes());
        bytes.extend_from_slice(binary);
        bytes.resize(length, 0);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_splits_again() {
        let path = Path::new("a.glb");
        let glb = join(b"{}", b"12345").unwrap();
        assert_eq!(glb.len() % 4, 0);
        let chunks = split(&glb, path).unwrap();
        assert_eq!(chunks, Chunks { json: b"{}  ", binary: Some(b"12345\0\0\0") });
        let bare = join(b"{} ", b"").unwrap();
        assert_eq!(split(&bare, path).unwrap(), Chunks { json: b"{}  ", binary: None });
    }

    #[test]
    fn every_truncation_is_noticed() {
        let glb = join(b"{}", b"12345").unwrap();
        for length in 0..glb.len() {
            let error = split(&glb[..length], Path::new("a.glb")).unwrap_err().to_string();
            assert!(error.starts_with("a.glb: "), "{error}");
        }
    }

    #[test]
    fn unknown_chunks_and_padding_are_passed_over() {
        let mut glb = join(b"{}", b"1234").unwrap();
        glb.extend_from_slice(&4u32.to_le_bytes());
        glb.extend_from_slice(b"XTRAabcd");
        let length = glb.len() as u32;
        glb[8..12].copy_from_slice(&length.to_le_bytes());
        glb.extend_from_slice(b"padding of the archive");
        assert_eq!(split(&glb, Path::new("a.glb")).unwrap().binary, Some(&b"1234"[..]));
    }

    #[test]
    fn another_version_is_named() {
        let mut glb = join(b"{}", b"").unwrap();
        glb[4] = 1;
        let error = split(&glb, Path::new("a.glb")).unwrap_err().to_string();
        assert!(error.contains("version 1") && error.contains("export it as glTF 2.0"), "{error}");
    }
}
