//! Removes meshopt compression, which Blender and many viewers cannot open.

use serde_json::{Value, json};

use super::pack::{append, set, unset};
use super::schema::Schema;
use super::views::Views;
use super::{Document, prune, sparsify};
use crate::Result;
use crate::formats::Limits;

/// The names of the meshopt compression extension.
const EXTENSIONS: [&str; 2] = ["EXT_meshopt_compression", "KHR_meshopt_compression"];

/// The document with every view uncompressed in one buffer and targets sparse; a document without compression is unchanged.
pub(super) fn decompressed(document: &Document, limits: &Limits) -> Result<Document> {
    let schema = Schema::read(document)?;
    if schema.views.iter().all(|view| view.extensions.meshopt().is_none()) {
        return Ok(document.clone());
    }
    let views = Views::new(document, &schema, limits)?;
    let mut plain = document.clone();
    plain.buffers.clear();
    set(&mut plain.json, "buffers", json!([]));
    for index in 0..schema.views.len() {
        let bytes = views.bytes(index).map_err(|problem| document.malformed(problem))?;
        let start = append(&mut plain, bytes);
        if let Some(view) = plain.json.pointer_mut(&format!("/bufferViews/{index}")) {
            store_plainly(view, start, bytes.len());
        }
    }
    for list in ["extensionsUsed", "extensionsRequired"] {
        forget_compression(&mut plain.json, list);
    }
    sparsify::sparsify(&mut plain, &schema);
    prune::prune(&mut plain);
    Ok(plain)
}

fn store_plainly(view: &mut Value, start: usize, length: usize) {
    set(view, "buffer", json!(0));
    set(view, "byteOffset", json!(start));
    set(view, "byteLength", json!(length));
    if let Some(extensions) = view.get_mut("extensions") {
        for name in EXTENSIONS {
            unset(extensions, name);
        }
    }
    if view.get("extensions").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
        unset(view, "extensions");
    }
}

fn forget_compression(json: &mut Value, list: &str) {
    let Some(names) = json.get_mut(list).and_then(Value::as_array_mut) else { return };
    names.retain(|name| !EXTENSIONS.iter().any(|extension| name == extension));
    if names.is_empty() {
        unset(json, list);
    }
}
