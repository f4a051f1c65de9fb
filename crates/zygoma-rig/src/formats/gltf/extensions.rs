//! Required extensions: which of them matter to a rig, and which are supported.

use serde_json::Value;

use super::Document;
use super::schema::{Primitive, Schema};
use crate::Result;

/// Supported extensions that change geometry.
const UNDERSTOOD: [&str; 3] = ["KHR_mesh_quantization", "EXT_meshopt_compression", "KHR_meshopt_compression"];

/// Prefixes of the names of extensions that do not affect geometry.
const HARMLESS: [&str; 16] = [
    "KHR_texture_",
    "EXT_texture_",
    "MSFT_texture_",
    "KHR_materials_",
    "EXT_materials_",
    "KHR_lights_",
    "EXT_lights_",
    "KHR_xmp",
    "KHR_audio",
    "KHR_node_",
    "KHR_interactivity",
    "KHR_animation_pointer",
    "EXT_property_",
    "MSFT_packing_",
    "VRM",
    "KHR_character",
];

const DRACO: &str = "KHR_draco_mesh_compression";
const WITHOUT_DRACO: &str = "export it again without Draco compression (meshopt compression is fine)";

/// Whether an extension is known to refer to no accessor, and to buffer views only by that name.
pub(super) fn refers_to_no_data(name: &str) -> bool {
    // Accessors of instances are found separately.
    let looked_for = ["EXT_mesh_gpu_instancing", DRACO];
    UNDERSTOOD.contains(&name)
        || looked_for.contains(&name)
        || HARMLESS.iter().any(|start| name.starts_with(start))
}

/// Refuses a document whose geometry needs an unsupported extension.
pub(super) fn check_required(document: &Document) -> Result<()> {
    for name in document.list("extensionsRequired").iter().filter_map(Value::as_str) {
        if UNDERSTOOD.contains(&name) || HARMLESS.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        let way_out = if name == DRACO { WITHOUT_DRACO } else { "export it again without that extension" };
        return Err(document.unsupported(format!("it requires the extension {name}"), way_out));
    }
    Ok(())
}

/// Refuses a primitive whose positions exist only inside Draco data, whatever the document says it requires.
pub(super) fn check_primitive(document: &Document, schema: &Schema, primitive: &Primitive) -> Result<()> {
    let positions = primitive.attributes.get("POSITION").and_then(|index| schema.accessors.get(*index));
    let absent =
        positions.is_some_and(|accessor| accessor.buffer_view.is_none() && accessor.sparse.is_none());
    if absent && primitive.extensions.get(DRACO).is_some() {
        return Err(document.unsupported(format!("its meshes are compressed with {DRACO}"), WITHOUT_DRACO));
    }
    Ok(())
}
