//! Stores morph targets that move few vertices as sparse accessors.

use std::collections::BTreeSet;

use super::pack::{set, unset};
use super::prune::{number, row_bytes};
use super::schema::Schema;
use super::{Document, builder};

/// Stores the targets of a document with uncompressed views sparsely where that is smaller, since decompression has expanded their zeros.
pub(super) fn sparsify(document: &mut Document, schema: &Schema) {
    let primitives = schema.meshes.iter().flat_map(|mesh| &mesh.primitives);
    let base: BTreeSet<usize> = primitives.clone().flat_map(|p| p.attributes.values().copied()).collect();
    let targets: BTreeSet<usize> =
        primitives.flat_map(|p| &p.targets).flat_map(|target| target.values().copied()).collect();
    for accessor in targets.difference(&base) {
        if let Some(moved) = moved_rows(document, *accessor) {
            store(document, *accessor, &moved);
        }
    }
}

/// The non-zero rows of an accessor that is smaller when sparse.
struct Moved {
    rows: Vec<u32>,
    bytes: Vec<u8>,
    count: usize,
}

fn moved_rows(document: &Document, accessor: usize) -> Option<Moved> {
    let entry = document.list("accessors").get(accessor).filter(|entry| entry.get("sparse").is_none())?;
    let (size, count) = (row_bytes(entry)?, number(entry, "count"));
    let view = document.list("bufferViews").get(entry.get("bufferView")?.as_u64()? as usize)?;
    let stride = Some(number(view, "byteStride")).filter(|stride| *stride > 0).unwrap_or(size);
    let start = number(view, "byteOffset").checked_add(number(entry, "byteOffset"))?;
    let buffer = document.buffers.first().filter(|_| number(view, "buffer") == 0)?;
    let (mut rows, mut bytes) = (Vec::new(), Vec::new());
    for row in 0..count {
        let at = row.checked_mul(stride)?.checked_add(start)?;
        let row_bytes = buffer.get(at..at.checked_add(size)?)?;
        if row_bytes.iter().any(|byte| *byte != 0) {
            rows.push(u32::try_from(row).ok()?);
            bytes.extend_from_slice(row_bytes);
        }
    }
    let index_size = if count <= usize::from(u16::MAX) { 2 } else { 4 };
    (rows.len() * index_size + bytes.len() < count * stride).then_some(Moved { rows, bytes, count })
}

fn store(document: &mut Document, accessor: usize, moved: &Moved) {
    let sparse = if moved.rows.is_empty() {
        // An accessor without any data is all zeros, but many readers fail on it.
        let zero = vec![0; document.list("accessors").get(accessor).and_then(row_bytes).unwrap_or(0)];
        builder::sparse_rows(document, &[0], &zero, moved.count)
    } else {
        builder::sparse_rows(document, &moved.rows, &moved.bytes, moved.count)
    };
    let Some(entry) = document.json.pointer_mut(&format!("/accessors/{accessor}")) else { return };
    unset(entry, "bufferView");
    unset(entry, "byteOffset");
    set(entry, "sparse", sparse);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::path::Path;

    #[test]
    fn a_target_that_moves_little_is_stored_as_that() {
        let mut document = Document::empty(Path::new("made.glb"));
        // Ten rows of three 16-bit numbers and padding, of which row 7 is not zero.
        let mut bytes = vec![0; 80];
        bytes[56..62].copy_from_slice(&[1, 0, 2, 0, 3, 0]);
        document.buffers = vec![bytes];
        let accessor = json!({ "bufferView": 0, "componentType": 5122, "count": 10, "type": "VEC3" });
        document.json = json!({
            "buffers": [{ "byteLength": 80 }],
            "bufferViews": [{ "buffer": 0, "byteLength": 80, "byteStride": 8 }],
            "accessors": [accessor.clone(), accessor],
            "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 }, "targets": [{ "POSITION": 1 }] }] }],
        });
        let schema = Schema::read(&document).unwrap();
        sparsify(&mut document, &schema);
        assert_eq!(document.json["accessors"][0]["bufferView"], 0, "the base stays");
        let sparse: &Value = &document.json["accessors"][1]["sparse"];
        assert_eq!(sparse["count"], 1);
        let view = |part: &str| {
            let view = &document.json["bufferViews"][sparse[part]["bufferView"].as_u64().unwrap() as usize];
            document.buffers[0][number(view, "byteOffset")..][..number(view, "byteLength")].to_vec()
        };
        assert_eq!((view("indices"), view("values")), (vec![7, 0], vec![1, 0, 2, 0, 3, 0]));
    }
}
