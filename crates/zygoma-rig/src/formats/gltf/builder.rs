//! Writes typed arrays into a document: buffer views and accessors at the end of its first buffer.

use glam::{Vec2, Vec3};
use serde_json::{Value, json};

use super::Document;
use super::pack::{append, push};
use crate::SparseDeltas;

/// Buffer target for vertex attributes (glTF 2.0, section 5.11.5).
const ARRAY_BUFFER: u32 = 34962;
/// Buffer target for vertex indices.
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

const U16: u32 = 5123;
const U32: u32 = 5125;
const F32: u32 = 5126;

/// Bytes of a sparse or dense displacement.
const OFFSET_BYTES: usize = size_of::<Vec3>();

fn view(document: &mut Document, bytes: &[u8], target: Option<u32>) -> usize {
    let start = append(document, bytes);
    let mut view = json!({ "buffer": 0, "byteOffset": start, "byteLength": bytes.len() });
    if let Some(target) = target {
        view["target"] = json!(target);
    }
    push(document, "bufferViews", view)
}

/// Numbers as JSON. Exact, since a single-precision number widened to double reads back as itself.
fn numbers(values: &[f32]) -> Value {
    values.iter().map(|value| f64::from(*value)).collect()
}

fn with_bounds(mut accessor: Value, low: Vec3, high: Vec3) -> Value {
    accessor["min"] = numbers(&low.to_array());
    accessor["max"] = numbers(&high.to_array());
    accessor
}

/// Positions, with the bounds that the specification demands.
pub(super) fn positions(document: &mut Document, positions: &[Vec3]) -> usize {
    let low = positions.iter().copied().reduce(Vec3::min).unwrap_or(Vec3::ZERO);
    let high = positions.iter().copied().reduce(Vec3::max).unwrap_or(Vec3::ZERO);
    let view = view(document, bytemuck::cast_slice(positions), Some(ARRAY_BUFFER));
    let accessor =
        json!({ "bufferView": view, "componentType": F32, "count": positions.len(), "type": "VEC3" });
    push(document, "accessors", with_bounds(accessor, low, high))
}

/// Vectors per vertex that need no bounds.
pub(super) fn directions(document: &mut Document, directions: &[Vec3]) -> usize {
    let view = view(document, bytemuck::cast_slice(directions), Some(ARRAY_BUFFER));
    let accessor =
        json!({ "bufferView": view, "componentType": F32, "count": directions.len(), "type": "VEC3" });
    push(document, "accessors", accessor)
}

/// Texture coordinates.
pub(super) fn coordinates(document: &mut Document, coordinates: &[Vec2]) -> usize {
    let view = view(document, bytemuck::cast_slice(coordinates), Some(ARRAY_BUFFER));
    let accessor =
        json!({ "bufferView": view, "componentType": F32, "count": coordinates.len(), "type": "VEC2" });
    push(document, "accessors", accessor)
}

/// Triangles as indices, 16-bit where those suffice. The largest 16-bit number is reserved.
pub(super) fn indices(document: &mut Document, triangles: &[[u32; 3]], vertex_count: usize) -> usize {
    let corners = triangles.as_flattened();
    let (bytes, kind) = index_bytes(corners, vertex_count);
    let view = view(document, &bytes, Some(ELEMENT_ARRAY_BUFFER));
    let accessor =
        json!({ "bufferView": view, "componentType": kind, "count": corners.len(), "type": "SCALAR" });
    push(document, "accessors", accessor)
}

fn index_bytes(indices: &[u32], vertex_count: usize) -> (Vec<u8>, u32) {
    if vertex_count <= usize::from(u16::MAX) {
        (indices.iter().flat_map(|index| (*index as u16).to_le_bytes()).collect(), U16)
    } else {
        (bytemuck::cast_slice(indices).to_vec(), U32)
    }
}

/// Displacements of a morph target, sparse where that is smaller. Bounds are demanded of positions only.
pub(super) fn displacements(
    document: &mut Document,
    deltas: &SparseDeltas,
    vertex_count: usize,
    bounds: bool,
) -> usize {
    let (index_bytes, _) = index_bytes(&deltas.vertices, vertex_count);
    let sparse_bytes = index_bytes.len() + deltas.offsets.len() * OFFSET_BYTES;
    let accessor = if sparse_bytes < vertex_count * OFFSET_BYTES {
        sparse(document, deltas, vertex_count)
    } else {
        let dense = deltas.to_dense(vertex_count);
        let view = view(document, bytemuck::cast_slice(&dense), Some(ARRAY_BUFFER));
        json!({ "bufferView": view, "componentType": F32, "count": vertex_count, "type": "VEC3" })
    };
    if !bounds {
        return push(document, "accessors", accessor);
    }
    let rest = (deltas.offsets.len() < vertex_count).then_some(Vec3::ZERO);
    let values = || deltas.offsets.iter().copied().chain(rest);
    let low = values().reduce(Vec3::min).unwrap_or(Vec3::ZERO);
    let high = values().reduce(Vec3::max).unwrap_or(Vec3::ZERO);
    push(document, "accessors", with_bounds(accessor, low, high))
}

fn sparse(document: &mut Document, deltas: &SparseDeltas, vertex_count: usize) -> Value {
    // A target that moves nothing still stores one zero: many readers fail on an accessor without any data.
    let nothing = SparseDeltas { vertices: vec![0], offsets: vec![Vec3::ZERO] };
    let deltas = if deltas.is_empty() { &nothing } else { deltas };
    let sparse = sparse_rows(document, &deltas.vertices, bytemuck::cast_slice(&deltas.offsets), vertex_count);
    json!({ "componentType": F32, "count": vertex_count, "type": "VEC3", "sparse": sparse })
}

/// The sparse part of an accessor of `count` rows: the non-zero rows, and their bytes.
pub(super) fn sparse_rows(document: &mut Document, rows: &[u32], bytes: &[u8], count: usize) -> Value {
    let (indices, kind) = index_bytes(rows, count);
    let places = view(document, &indices, None);
    let values = view(document, bytes, None);
    json!({
        "count": rows.len(),
        "indices": { "bufferView": places, "componentType": kind },
        "values": { "bufferView": values },
    })
}

/// Key times of an animation, with the bounds that the specification demands.
pub(super) fn times(document: &mut Document, times: &[f32]) -> usize {
    let accessor = scalars(document, times);
    if let (Some(first), Some(last)) = (times.first(), times.last())
        && let Some(entry) = document.json.pointer_mut(&format!("/accessors/{accessor}"))
    {
        entry["min"] = numbers(&[*first]);
        entry["max"] = numbers(&[*last]);
    }
    accessor
}

/// Numbers of an animation.
pub(super) fn scalars(document: &mut Document, values: &[f32]) -> usize {
    rows(document, values, "SCALAR", 1)
}

/// Vectors or rotations of an animation.
pub(super) fn rows(document: &mut Document, values: &[f32], kind: &str, width: usize) -> usize {
    let view = view(document, bytemuck::cast_slice(values), None);
    let accessor =
        json!({ "bufferView": view, "componentType": F32, "count": values.len() / width, "type": kind });
    push(document, "accessors", accessor)
}
