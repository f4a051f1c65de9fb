//! The parts of a glTF document that a rig is made of, as types.
//!
//! These views are tolerant: they read only what is used, and absent or null values are empty. The `gltf`
//! crate is not used, because it refuses files that require quantisation, meshopt, KTX2 or WebP, reads
//! positions as 32-bit floats only, and its iterators panic on ranges that lie outside a buffer.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Document;
use crate::Result;

/// Every list of the document that is read.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) scene: Option<usize>,
    pub(super) scenes: Vec<Scene>,
    pub(super) nodes: Vec<Node>,
    pub(super) meshes: Vec<Mesh>,
    pub(super) accessors: Vec<Accessor>,
    pub(super) views: Vec<BufferView>,
    pub(super) skins: Vec<Skin>,
    pub(super) animations: Vec<Animation>,
}

impl Schema {
    /// Reads the lists; the error names an entry of the wrong form.
    pub(super) fn read(document: &Document) -> Result<Self> {
        let scene = document.json.get("scene").and_then(Value::as_u64).map(|scene| scene as usize);
        Ok(Self {
            scene,
            scenes: list(document, "scenes")?,
            nodes: list(document, "nodes")?,
            meshes: list(document, "meshes")?,
            accessors: list(document, "accessors")?,
            views: list(document, "bufferViews")?,
            skins: list(document, "skins")?,
            animations: list(document, "animations")?,
        })
    }
}

fn list<'a, T: Deserialize<'a>>(document: &'a Document, key: &str) -> Result<Vec<T>> {
    let entries = match document.json.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries,
        Some(_) => return Err(document.malformed(format!("\"{key}\" is not a list"))),
    };
    let read = |(index, entry): (usize, &'a Value)| {
        T::deserialize(entry).map_err(|error| document.malformed(format!("{key}[{index}]: {error}")))
    };
    entries.iter().enumerate().map(read).collect()
}

/// Treats null like absent.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// Ignores a name that is not text.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Value::deserialize(from)?.as_str().map(str::to_owned))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Scene {
    #[serde(deserialize_with = "or_default")]
    pub(super) nodes: Vec<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    #[serde(deserialize_with = "text")]
    pub(super) name: Option<String>,
    pub(super) mesh: Option<usize>,
    pub(super) skin: Option<usize>,
    #[serde(deserialize_with = "or_default")]
    pub(super) children: Vec<usize>,
    pub(super) matrix: Option<[f64; 16]>,
    pub(super) translation: Option<[f64; 3]>,
    pub(super) rotation: Option<[f64; 4]>,
    pub(super) scale: Option<[f64; 3]>,
    #[serde(deserialize_with = "or_default")]
    pub(super) weights: Vec<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Mesh {
    #[serde(deserialize_with = "text")]
    pub(super) name: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) primitives: Vec<Primitive>,
    #[serde(deserialize_with = "or_default")]
    pub(super) weights: Vec<f64>,
    pub(super) extras: Value,
}

/// Accessor indices by attribute name.
pub(super) type Attributes = BTreeMap<String, usize>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Primitive {
    #[serde(deserialize_with = "or_default")]
    pub(super) attributes: Attributes,
    pub(super) indices: Option<usize>,
    pub(super) mode: Option<u32>,
    pub(super) material: Option<usize>,
    #[serde(deserialize_with = "or_default")]
    pub(super) targets: Vec<Attributes>,
    pub(super) extras: Value,
    pub(super) extensions: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Accessor {
    pub(super) buffer_view: Option<usize>,
    #[serde(deserialize_with = "or_default")]
    pub(super) byte_offset: usize,
    pub(super) component_type: u32,
    #[serde(deserialize_with = "or_default")]
    pub(super) normalized: bool,
    pub(super) count: usize,
    #[serde(rename = "type")]
    pub(super) shape: String,
    pub(super) sparse: Option<Sparse>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sparse {
    pub(super) count: usize,
    pub(super) indices: SparsePart,
    pub(super) values: SparsePart,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparsePart {
    pub(super) buffer_view: usize,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) byte_offset: usize,
    /// Only the indices have one; the values use the accessor's.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) component_type: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BufferView {
    pub(super) buffer: usize,
    #[serde(deserialize_with = "or_default")]
    pub(super) byte_offset: usize,
    pub(super) byte_length: usize,
    pub(super) byte_stride: Option<usize>,
    #[serde(deserialize_with = "or_default")]
    pub(super) extensions: ViewExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ViewExtensions {
    #[serde(rename = "EXT_meshopt_compression")]
    ext_meshopt: Option<Meshopt>,
    #[serde(rename = "KHR_meshopt_compression")]
    khr_meshopt: Option<Meshopt>,
}

impl ViewExtensions {
    /// How the view is compressed, under either name of the extension.
    pub(super) fn meshopt(&self) -> Option<&Meshopt> {
        self.khr_meshopt.as_ref().or(self.ext_meshopt.as_ref())
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meshopt {
    pub(super) buffer: usize,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) byte_offset: usize,
    pub(super) byte_length: usize,
    pub(super) byte_stride: usize,
    pub(super) count: usize,
    pub(super) mode: String,
    pub(super) filter: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Skin {
    pub(super) inverse_bind_matrices: Option<usize>,
    #[serde(deserialize_with = "or_default")]
    pub(super) joints: Vec<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Animation {
    #[serde(deserialize_with = "text")]
    pub(super) name: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) channels: Vec<Channel>,
    #[serde(deserialize_with = "or_default")]
    pub(super) samplers: Vec<Sampler>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Channel {
    pub(super) sampler: usize,
    #[serde(deserialize_with = "or_default")]
    pub(super) target: ChannelTarget,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChannelTarget {
    pub(super) node: Option<usize>,
    pub(super) path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Sampler {
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) interpolation: Option<String>,
}
