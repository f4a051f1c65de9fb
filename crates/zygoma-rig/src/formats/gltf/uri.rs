//! Resolves the URIs of a document's buffers and images.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::GeneralPurposeConfig;
use base64::engine::{DecodePaddingMode, GeneralPurpose};
use percent_encoding::percent_decode_str;

/// Real files end base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The target of a URI.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Bytes that the URI itself holds.
    Data(Vec<u8>),
    /// A file, relative to the folder of the document.
    File(PathBuf),
}

/// Resolves a URI. The error is a clause that says why it is invalid or not allowed.
pub(super) fn resolve(uri: &str) -> Result<Target, String> {
    match uri.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("data:") => data(&uri[5..]).map(Target::Data),
        _ => relative_file(uri).map(Target::File),
    }
}

/// The payload of a `data:` URI, after its scheme.
fn data(rest: &str) -> Result<Vec<u8>, String> {
    let (kind, payload) = rest.split_once(',').ok_or("a data URI without a comma")?;
    let bytes: Vec<u8> = percent_decode_str(payload).collect();
    if kind.rsplit(';').next().is_some_and(|word| word.eq_ignore_ascii_case("base64")) {
        BASE64.decode(bytes).map_err(|error| format!("a data URI with broken base64 ({error})"))
    } else {
        Ok(bytes)
    }
}

/// A path that cannot leave the document's folder: a downloaded file must not make us read others.
fn relative_file(uri: &str) -> Result<PathBuf, String> {
    if let Some((scheme, _)) = uri.split_once(':')
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    {
        return Err(format!("\"{}\", which is not a relative path; put the file beside it", shortened(uri)));
    }
    let path = percent_decode_str(uri).decode_utf8().map_err(|_| "a URI that is not UTF-8".to_owned())?;
    // Backslashes are not separators in URIs, but files made on Windows have them.
    let parts: Vec<&str> = path.split(['/', '\\']).collect();
    let leaves = |part: &&str| *part == ".." || part.contains(':') || part.contains('\0');
    if parts[0].is_empty() || parts.iter().any(leaves) {
        return Err(format!("\"{}\", which leaves its folder; put the file beside it", shortened(uri)));
    }
    Ok(parts.into_iter().filter(|part| !part.is_empty() && *part != ".").collect())
}

/// Enough of a URI to recognise it by.
fn shortened(uri: &str) -> String {
    let shown: String = uri.chars().take(80).collect();
    if shown.len() < uri.len() { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_uris_hold_their_bytes() {
        let bytes = |uri: &str| resolve(uri).unwrap();
        assert_eq!(bytes("data:application/octet-stream;base64,AAEC/w=="), Target::Data(vec![0, 1, 2, 255]));
        assert_eq!(bytes("data:;base64,AAEC/w"), Target::Data(vec![0, 1, 2, 255]));
        assert_eq!(bytes("data:,a%20b"), Target::Data(b"a b".to_vec()));
        assert!(resolve("data:;base64").is_err());
        assert!(resolve("data:;base64,?").is_err());
    }

    #[test]
    fn relative_paths_are_percent_decoded() {
        let file = |uri: &str| resolve(uri).unwrap();
        assert_eq!(file("textures/my%20skin.png"), Target::File("textures/my skin.png".into()));
        assert_eq!(file("./a.bin"), Target::File("a.bin".into()));
        assert_eq!(file("T\\a.bin"), Target::File("T/a.bin".into()));
        assert_eq!(file("é.bin"), Target::File("é.bin".into()));
    }

    #[test]
    fn nothing_outside_the_folder_is_reached() {
        for uri in [
            "/etc/passwd",
            "../a.bin",
            "a/../../b.bin",
            "%2e%2e/a.bin",
            "..\\a.bin",
            "https://example.org/a.bin",
            "file:///a.bin",
            "C:\\a.bin",
            "C%3A/a.bin",
            "//host/share",
            "\\\\host\\share",
            "%00",
            "",
            "%ff.bin",
        ] {
            assert!(resolve(uri).is_err(), "{uri} should be refused");
        }
    }
}
