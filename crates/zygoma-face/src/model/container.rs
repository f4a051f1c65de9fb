//! Sections in a safetensors file: named arrays behind a JSON header, with all other data in its metadata. The same sections give the same
//! bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::section::{Array, Section, Sections};

/// Headers longer than this are refused before they are read.
const LONGEST_HEADER: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// The bytes of a file of some kind. Descriptions of sections belong into the metadata.
pub(crate) fn pack<'a>(
    kind: &str,
    metadata: &impl Serialize,
    sections: impl Iterator<Item = (&'a str, &'a Section)>,
) -> Vec<u8> {
    let mut entries = BTreeMap::new();
    let mut data = Vec::new();
    for (section, arrays) in sections {
        for (name, array) in &arrays.arrays {
            let start = data.len();
            data.extend_from_slice(&array.bytes);
            let entry = Entry {
                dtype: array.dtype.clone(),
                shape: array.shape.clone(),
                data_offsets: [start, data.len()],
            };
            entries.insert(format!("{section}.{name}"), entry);
            // Arrays are aligned to eight bytes, so that readers can map them.
            data.resize(data.len().next_multiple_of(8), 0);
        }
    }
    let mut header = serde_json::Map::new();
    let described = serde_json::to_string(metadata).unwrap_or_default();
    header.insert("__metadata__".into(), serde_json::json!({ kind: described }));
    for (name, entry) in entries {
        header.insert(name, serde_json::to_value(entry).unwrap_or_default());
    }
    let mut header = serde_json::Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend(data);
    bytes
}

/// A file whose metadata is known, and whose arrays are not read yet: those of another version may be anything.
pub(crate) struct Container<'a> {
    /// All data other than arrays.
    pub(crate) metadata: serde_json::Value,
    header: serde_json::Map<String, serde_json::Value>,
    data: &'a [u8],
}

/// Opens a file; `None` if it is of another kind, and an error if it is damaged.
pub(crate) fn open<'a>(kind: &str, bytes: &'a [u8]) -> std::result::Result<Option<Container<'a>>, String> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else { return Ok(None) };
    let length = u64::from_le_bytes(*length);
    if length > LONGEST_HEADER || length > rest.len() as u64 {
        return Err("the file is cut off or not a safetensors file".into());
    }
    let (header, data) = rest.split_at(length as usize);
    let mut header: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(header).map_err(|error| format!("its header cannot be read: {error}"))?;
    let described = header.remove("__metadata__");
    let described = described.as_ref().and_then(|metadata| metadata.get(kind)?.as_str());
    let Some(Ok(metadata)) = described.map(serde_json::from_str) else { return Ok(None) };
    Ok(Some(Container { metadata, header, data }))
}

impl Container<'_> {
    /// The arrays, by section.
    pub(crate) fn sections(self) -> std::result::Result<Sections, String> {
        let mut sections = Sections::new();
        for (path, value) in self.header {
            let entry: Entry =
                serde_json::from_value(value).map_err(|error| format!("array {path}: {error}"))?;
            let [start, end] = entry.data_offsets;
            let bytes = self.data.get(start..end);
            let bytes = bytes.ok_or_else(|| format!("array {path} lies outside the file"))?;
            let (section, name) =
                path.split_once('.').ok_or_else(|| format!("array {path} belongs to no section"))?;
            let array = Array { dtype: entry.dtype, shape: entry.shape, bytes: bytes.to_vec() };
            sections.entry(section.to_owned()).or_default().arrays.insert(name.to_owned(), array);
        }
        Ok(sections)
    }
}
