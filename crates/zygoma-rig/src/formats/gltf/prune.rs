//! Removes unreferenced data, once targets and clips have been replaced.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::Document;
use super::extensions::refers_to_no_data;
use super::pack::{ALIGNMENT, set};

/// Removes accessors, buffer views and bytes that nothing refers to.
///
/// Unknown extensions may refer to accessors and views by index. A number in one of them that could be such a
/// reference keeps the entry with that index, and then all other entries keep their indices too.
pub(super) fn prune(document: &mut Document) {
    let held = held_numbers(&document.json);
    drop_unused(
        &mut document.json,
        "accessors",
        &held,
        for_accessors,
        || json!({ "componentType": 5126, "count": 1, "type": "SCALAR" }),
    );
    drop_unused(
        &mut document.json,
        "bufferViews",
        &held,
        for_views,
        || json!({ "buffer": 0, "byteLength": 1 }),
    );
    compact(document, &held);
}

/// Visits each reference to an entry of a list.
type Walk = fn(&mut Value, &mut dyn FnMut(&mut Value));

/// Keeps the entries of a list that are referenced.
fn drop_unused(json: &mut Value, list: &str, held: &BTreeSet<u64>, walk: Walk, stub: fn() -> Value) {
    let mut used = BTreeSet::new();
    walk(json, &mut |place| used.extend(place.as_u64()));
    let Some(entries) = json.get_mut(list).and_then(Value::as_array_mut) else { return };
    let count = entries.len() as u64;
    if held.range(..count).next().is_some() {
        let unused = |(index, _): &(u64, &mut Value)| !used.contains(index) && !held.contains(index);
        (0u64..).zip(entries).filter(unused).for_each(|(_, entry)| *entry = stub());
        return;
    }
    let mut index = 0;
    entries.retain(|_| {
        index += 1;
        used.contains(&(index - 1))
    });
    let places: BTreeMap<u64, usize> = used.range(..count).copied().zip(0..).collect();
    walk(json, &mut |place| {
        if let Some(new) = place.as_u64().and_then(|old| places.get(&old)) {
            *place = json!(new);
        }
    });
}

/// Visits each reference to an accessor (glTF 2.0 and EXT_mesh_gpu_instancing).
fn for_accessors(json: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    for primitive in entries(json, "meshes").flat_map(|mesh| entries(mesh, "primitives")) {
        if let Some(indices) = primitive.get_mut("indices") {
            visit(indices);
        }
        members(primitive, "attributes").for_each(&mut *visit);
        for target in entries(primitive, "targets").filter_map(Value::as_object_mut) {
            target.values_mut().for_each(&mut *visit);
        }
    }
    for matrices in entries(json, "skins").filter_map(|skin| skin.get_mut("inverseBindMatrices")) {
        visit(matrices);
    }
    for sampler in entries(json, "animations").flat_map(|animation| entries(animation, "samplers")) {
        for end in ["input", "output"] {
            if let Some(accessor) = sampler.get_mut(end) {
                visit(accessor);
            }
        }
    }
    for node in entries(json, "nodes") {
        if let Some(instances) = node.pointer_mut("/extensions/EXT_mesh_gpu_instancing") {
            members(instances, "attributes").for_each(&mut *visit);
        }
    }
}

/// Visits each reference to a buffer view: accessors, images and extensions all use that name.
fn for_views(json: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    match json {
        Value::Object(members) => {
            for (key, value) in members.iter_mut().filter(|(key, _)| *key != "extras") {
                if key == "bufferView" && value.is_u64() { visit(value) } else { for_views(value, visit) }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| for_views(value, visit)),
        _ => {}
    }
}

fn entries<'a>(json: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    json.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn members<'a>(json: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    json.get_mut(key).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
}

/// Integers in extensions that may be references.
fn held_numbers(json: &Value) -> BTreeSet<u64> {
    let mut held = BTreeSet::new();
    hold(json, false, &mut held);
    held
}

fn hold(json: &Value, unknown: bool, held: &mut BTreeSet<u64>) {
    match json {
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_object().filter(|_| key == "extensions") {
                    Some(extensions) => {
                        for (name, extension) in extensions {
                            hold(extension, unknown || !refers_to_no_data(name), held);
                        }
                    }
                    // A view under its usual name is found and renumbered.
                    None if key == "bufferView" || key == "extras" => {}
                    None => hold(value, unknown, held),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| hold(value, unknown, held)),
        Value::Number(number) if unknown => held.extend(number.as_u64()),
        _ => {}
    }
}

/// A range of bytes: start and end.
type Run = (usize, usize);

/// Keeps only the bytes of each view that accessors read, and packs them together. Views with any other use stay whole, and a
/// document with a view outside its buffer stays as it is.
fn compact(document: &mut Document, held: &BTreeSet<u64>) {
    let Some(old) = document.buffers.first() else { return };
    let runs = used_runs(&mut document.json, held);
    let mut packed: Vec<u8> = Vec::with_capacity(old.len());
    // The new range of each view, and where its runs are in it.
    let mut moved: Vec<(Run, Vec<(Run, usize)>)> = Vec::new();
    for (view, entry) in (0u64..).zip(document.list("bufferViews")) {
        let number = |key: &str| number(entry, key);
        let (start, length) = (number("byteOffset"), number("byteLength"));
        let Some(bytes) = start.checked_add(length).and_then(|end| old.get(start..end)) else { return };
        if number("buffer") != 0 {
            return;
        }
        packed.resize(packed.len().next_multiple_of(ALIGNMENT), 0);
        let new_start = packed.len();
        let mut places = Vec::new();
        for run in runs.get(&view).map_or(&[(0, length)][..], Vec::as_slice) {
            let Some(bytes) = bytes.get(run.0..run.1) else { return };
            packed.resize(packed.len().next_multiple_of(ALIGNMENT), 0);
            places.push((*run, packed.len() - new_start));
            packed.extend_from_slice(bytes);
        }
        moved.push(((new_start, packed.len()), places));
    }
    for (entry, ((start, end), _)) in entries(&mut document.json, "bufferViews").zip(&moved) {
        set(entry, "byteOffset", json!(start));
        set(entry, "byteLength", json!(end - start));
    }
    for_parts(&mut document.json, &mut |Part { view, entry, .. }| {
        let offset = number(entry, "byteOffset");
        let runs = moved.get(view as usize).map_or(&[][..], |(_, places)| places.as_slice());
        if let Some(((start, _), new)) =
            runs.iter().find(|((start, end), _)| (*start..*end).contains(&offset))
        {
            set(entry, "byteOffset", json!(offset - start + new));
        }
    });
    if let Some(entry) = document.json.pointer_mut("/buffers/0") {
        set(entry, "byteLength", json!(packed.len()));
    }
    document.buffers[0] = packed;
}

pub(super) fn number(entry: &Value, key: &str) -> usize {
    entry.get(key).and_then(Value::as_u64).unwrap_or(0) as usize
}

/// The bytes of each view that accessors read; without the views that have another use or must stay whole.
fn used_runs(json: &mut Value, held: &BTreeSet<u64>) -> BTreeMap<u64, Vec<Run>> {
    let mut whole = held.clone();
    let accessors = json.get_mut("accessors").map(Value::take);
    for_views(json, &mut |place| whole.extend(place.as_u64()));
    if let Some(accessors) = accessors {
        set(json, "accessors", accessors);
    }
    let strides: Vec<usize> = entries(json, "bufferViews").map(|view| number(view, "byteStride")).collect();
    let mut runs: BTreeMap<u64, Vec<Run>> = BTreeMap::new();
    for_parts(json, &mut |Part { view, entry, size, count }| {
        let stride = strides.get(view as usize).copied().filter(|stride| *stride > 0);
        let read = size.and_then(|size| {
            let last = count.checked_sub(1)?.checked_mul(stride.unwrap_or(size))?;
            let start = number(entry, "byteOffset");
            Some((start, start.checked_add(last)?.checked_add(size)?))
        });
        match read {
            Some(run) => runs.entry(view).or_default().push(run),
            None => drop(whole.insert(view)),
        }
    });
    runs.retain(|view, _| !whole.contains(view));
    runs.values_mut().for_each(|runs| *runs = merged(std::mem::take(runs)));
    runs
}

/// Sorts and merges runs that overlap or touch; starts keep their alignment.
fn merged(mut runs: Vec<Run>) -> Vec<Run> {
    runs.iter_mut().for_each(|(start, _)| *start -= *start % ALIGNMENT);
    runs.sort_unstable();
    let mut merged: Vec<Run> = Vec::new();
    for (start, end) in runs {
        match merged.last_mut() {
            Some((_, last)) if start <= *last => *last = end.max(*last),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// The bytes of one element of an accessor; `None` if unknown, or if its columns may be padded.
pub(super) fn row_bytes(accessor: &Value) -> Option<usize> {
    let size = match accessor.get("componentType")?.as_u64()? {
        5120 | 5121 => 1,
        5122 | 5123 => 2,
        5125 | 5126 => 4,
        _ => return None,
    };
    let width = match accessor.get("type").map_or(Some("SCALAR"), Value::as_str)? {
        "SCALAR" => 1,
        "VEC2" => 2,
        "VEC3" => 3,
        "VEC4" => 4,
        "MAT4" => 16,
        _ => return None,
    };
    Some(size * width)
}

/// A part of an accessor that reads from a view.
struct Part<'a> {
    view: u64,
    entry: &'a mut Value,
    /// Bytes of one element, if known.
    size: Option<usize>,
    count: usize,
}

/// Visits each part of each accessor that reads from a view: itself, and the indices and values of a sparse one.
fn for_parts(json: &mut Value, visit: &mut dyn FnMut(Part)) {
    let view = |part: &Value| part.get("bufferView").and_then(Value::as_u64);
    for accessor in entries(json, "accessors") {
        let size = row_bytes(accessor);
        if let Some(sparse) = accessor.get_mut("sparse") {
            let count = number(sparse, "count");
            if let Some((view, entry)) = sparse.get_mut("values").and_then(|part| Some((view(part)?, part))) {
                visit(Part { view, entry, size, count });
            }
            if let Some((view, entry)) = sparse.get_mut("indices").and_then(|part| Some((view(part)?, part)))
            {
                visit(Part { view, size: row_bytes(entry), entry, count });
            }
        }
        if let Some(view) = view(accessor) {
            visit(Part { view, size, count: number(accessor, "count"), entry: accessor });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Three accessors in one buffer, of which a mesh uses the last, and an image.
    fn document(extension: &Value) -> Document {
        let view = |start: usize| json!({ "buffer": 0, "byteOffset": start, "byteLength": 8 });
        let accessor =
            |view: usize| json!({ "bufferView": view, "componentType": 5126, "count": 2, "type": "SCALAR" });
        let mut document = Document::empty(Path::new("made.glb"));
        document.buffers = vec![(0..32).collect()];
        document.json = json!({
            "asset": { "version": "2.0" },
            "buffers": [{ "byteLength": 32 }],
            "bufferViews": [view(0), view(8), view(16), view(24)],
            "accessors": [accessor(0), accessor(1), accessor(2)],
            "images": [{ "bufferView": 3 }],
            "meshes": [{ "primitives": [{ "attributes": { "POSITION": 2 } }] }],
            "extensions": extension,
        });
        document
    }

    #[test]
    fn what_nothing_refers_to_is_gone_and_the_rest_is_found() {
        let mut pruned = document(&json!({ "KHR_lights_punctual": { "lights": [0, 1] } }));
        prune(&mut pruned);
        assert_eq!(pruned.list("accessors").len(), 1);
        assert_eq!(pruned.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"], 0);
        assert_eq!(pruned.json["accessors"][0]["bufferView"], 0);
        assert_eq!(pruned.json["images"][0]["bufferView"], 1);
        assert_eq!(pruned.json["bufferViews"][1]["byteOffset"], 8);
        assert_eq!(pruned.buffers[0], (16..32).collect::<Vec<u8>>());
        assert_eq!(pruned.json["buffers"][0]["byteLength"], 16);
    }

    #[test]
    fn a_view_keeps_only_the_bytes_that_accessors_read() {
        let mut pruned = document(&Value::Null);
        pruned.json["bufferViews"] =
            json!([{ "buffer": 0, "byteLength": 32, "byteStride": 4 }, { "buffer": 0, "byteLength": 4 }]);
        let accessor = |offset: usize| json!({ "bufferView": 0, "byteOffset": offset, "componentType": 5122, "count": 2, "type": "SCALAR" });
        pruned.json["accessors"] = json!([accessor(0), accessor(18), accessor(26)]);
        pruned.json["images"] = json!([{ "bufferView": 1 }]);
        pruned.json["meshes"][0]["primitives"][0]["attributes"] = json!({ "POSITION": 1, "NORMAL": 2 });
        prune(&mut pruned);
        // From 16, to which 18 is aligned, to 32; and the image.
        let offsets: Vec<_> = pruned.list("accessors").iter().map(|a| a["byteOffset"].clone()).collect();
        assert_eq!(offsets, [json!(2), json!(10)]);
        assert_eq!(pruned.buffers[0], [(16..32).collect::<Vec<u8>>(), (0..4).collect()].concat());
    }

    #[test]
    fn an_unknown_extension_keeps_what_it_may_refer_to() {
        let mut pruned = document(&json!({ "ACME_thing": { "curve": 1, "answer": 42 } }));
        prune(&mut pruned);
        assert_eq!(pruned.list("accessors").len(), 3);
        assert_eq!(pruned.json["accessors"][1]["bufferView"], 1, "it stays with its bytes");
        assert_eq!(pruned.json["accessors"][0].get("bufferView"), None);
        assert_eq!(pruned.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"], 2);
        let place = pruned.json["bufferViews"][1]["byteOffset"].as_u64().unwrap() as usize;
        assert_eq!(pruned.buffers[0][place..][..8], (8..16).collect::<Vec<u8>>());
        let mut far = document(&json!({ "ACME_thing": { "answer": 42 } }));
        prune(&mut far);
        assert_eq!(far.list("accessors").len(), 1, "42 is no accessor");
    }
}
