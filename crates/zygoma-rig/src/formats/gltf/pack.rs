//! Makes a document self-contained: one buffer with all external files and data URIs.

use serde_json::{Map, Value, json};

use super::Document;
use crate::Result;

/// The document with external images embedded and with all buffers that hold data joined into the first.
/// A document that is self-contained already stays exactly as it is.
pub(super) fn self_contained(document: &Document) -> Result<Document> {
    let mut whole = document.clone();
    let has_uri = document.list("buffers").iter().any(|buffer| buffer.get("uri").is_some());
    let data_buffers = document.buffers.iter().filter(|buffer| !buffer.is_empty()).count();
    let data_first = document.buffers.first().is_some_and(|buffer| !buffer.is_empty());
    if has_uri || data_buffers > usize::from(data_first) {
        join_buffers(&mut whole)?;
    }
    for (index, bytes) in std::mem::take(&mut whole.images) {
        embed_image(&mut whole, index, &bytes);
    }
    Ok(whole)
}

/// Appends bytes to the first buffer, aligned, and returns where they start.
pub(super) fn append(document: &mut Document, bytes: &[u8]) -> usize {
    if document.buffers.is_empty() {
        document.buffers.push(Vec::new());
        set(&mut document.json, "buffers", json!([{ "byteLength": 0 }]));
    }
    let buffer = &mut document.buffers[0];
    buffer.resize(buffer.len().next_multiple_of(ALIGNMENT), 0);
    let start = buffer.len();
    buffer.extend_from_slice(bytes);
    let length = buffer.len();
    if let Some(entry) = document.json.pointer_mut("/buffers/0") {
        set(entry, "byteLength", json!(length));
    }
    start
}

/// Appends an entry to a top-level list and returns its index.
pub(super) fn push(document: &mut Document, list: &str, entry: Value) -> usize {
    if !document.json.get(list).is_some_and(Value::is_array) {
        set(&mut document.json, list, json!([]));
    }
    let Some(entries) = document.json.get_mut(list).and_then(Value::as_array_mut) else { return 0 };
    entries.push(entry);
    entries.len() - 1
}

/// Sets a member of a JSON object.
pub(super) fn set(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(key.to_owned(), value);
    }
}

/// Removes a member of a JSON object, keeping the order of the others.
pub(super) fn unset(object: &mut Value, key: &str) {
    if let Value::Object(members) = object {
        members.shift_remove(key);
    }
}

/// Alignment of every view: a multiple of all component sizes; 8 also suits programs that map the data directly.
pub(super) const ALIGNMENT: usize = 8;

/// The new position of a buffer.
#[derive(Clone, Copy)]
struct Place {
    buffer: usize,
    offset: usize,
}

fn join_buffers(whole: &mut Document) -> Result<()> {
    let old = std::mem::take(&mut whole.buffers);
    let old_entries = whole.list("buffers").to_vec();
    let mut joined: Vec<u8> = Vec::new();
    let mut entries = vec![json!({ "byteLength": 0 })];
    let mut places = Vec::new();
    for (bytes, entry) in old.iter().zip(old_entries) {
        if bytes.is_empty() {
            places.push(Place { buffer: entries.len(), offset: 0 });
            entries.push(entry);
            continue;
        }
        joined.resize(joined.len().next_multiple_of(ALIGNMENT), 0);
        places.push(Place { buffer: 0, offset: joined.len() });
        joined.extend_from_slice(bytes);
        // The first buffer's name, extras and extensions are kept for the joined one.
        if entries[0].as_object().is_some_and(|members| members.len() == 1) {
            entries[0] = entry;
            unset(&mut entries[0], "uri");
        }
    }
    set(&mut entries[0], "byteLength", json!(joined.len()));
    whole.buffers = vec![Vec::new(); entries.len()];
    whole.buffers[0] = joined;
    set(&mut whole.json, "buffers", Value::Array(entries));
    let path = whole.path().to_owned();
    for (index, view) in views_mut(&mut whole.json).enumerate() {
        let moved = move_view(view, &places);
        moved
            .map_err(|problem| crate::Error::malformed(&path, format!("bufferViews[{index}]: {problem}")))?;
    }
    Ok(())
}

fn views_mut(json: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let views = json.get_mut("bufferViews").and_then(Value::as_array_mut);
    views.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Points a view, and every extension of it that names a buffer as meshopt compression does, to the new place.
fn move_view(view: &mut Map<String, Value>, places: &[Place]) -> Result<(), String> {
    repoint(view, places)?;
    let extensions = view.get_mut("extensions").and_then(Value::as_object_mut);
    for extension in extensions.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        if extension.contains_key("buffer") {
            repoint(extension, places)?;
        }
    }
    Ok(())
}

fn repoint(members: &mut Map<String, Value>, places: &[Place]) -> Result<(), String> {
    let buffer = members.get("buffer").and_then(Value::as_u64).unwrap_or(0) as usize;
    let place = places.get(buffer).ok_or_else(|| format!("there is no buffer {buffer}"))?;
    let offset = members.get("byteOffset").and_then(Value::as_u64).unwrap_or(0) as usize;
    members.insert("buffer".into(), json!(place.buffer));
    if place.offset > 0 {
        let moved = offset.checked_add(place.offset).ok_or("its byteOffset is too large")?;
        members.insert("byteOffset".into(), json!(moved));
    }
    Ok(())
}

fn embed_image(whole: &mut Document, index: usize, bytes: &[u8]) {
    let start = append(whole, bytes);
    let view = json!({ "buffer": 0, "byteOffset": start, "byteLength": bytes.len() });
    let view = push(whole, "bufferViews", view);
    let Some(image) = whole.json.pointer_mut(&format!("/images/{index}")) else { return };
    unset(image, "uri");
    set(image, "bufferView", json!(view));
    if image.get("mimeType").is_none() {
        set(image, "mimeType", json!(mime_type(bytes)));
    }
}

/// The MIME type of an image, from its first bytes; glTF requires it for embedded images.
fn mime_type(bytes: &[u8]) -> &'static str {
    match bytes {
        [0xff, 0xd8, ..] => "image/jpeg",
        [0xab, b'K', b'T', b'X', ..] => "image/ktx2",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'D', b'D', b'S', ..] => "image/vnd-ms.dds",
        _ => "image/png",
    }
}
