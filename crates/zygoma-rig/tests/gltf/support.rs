//! Documents made by hand.

use std::path::Path;

use serde_json::{Value, json};
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::gltf::{Document, rig_from_document};
use zygoma_rig::{Result, Rig};

pub(crate) const I8: u32 = 5120;
pub(crate) const U8: u32 = 5121;
pub(crate) const I16: u32 = 5122;
pub(crate) const U16: u32 = 5123;
pub(crate) const U32: u32 = 5125;
pub(crate) const F32: u32 = 5126;

/// A square of the size of a face, in metres.
pub(crate) const SQUARE: [f32; 12] = [0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 0.2, 0.2, 0.0, 0.0, 0.2, 0.0];

/// A document in the making: its JSON and its one buffer.
#[derive(Clone, Debug)]
pub(crate) struct Maker {
    pub(crate) json: Value,
    pub(crate) binary: Vec<u8>,
}

impl Maker {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        let json = json!({
            "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [], "meshes": [],
            "accessors": [], "bufferViews": [], "buffers": [{ "byteLength": 0 }],
        });
        Self { json, binary: Vec::new() }
    }

    /// A square with one mesh and one node, and these morph targets as dense floats.
    pub(crate) fn square(targets: &[[f32; 12]]) -> Self {
        let mut maker = Self::new();
        let positions = maker.floats("VEC3", &SQUARE);
        let indices = maker.indices(&[0, 1, 2, 0, 2, 3]);
        let targets: Vec<Value> =
            targets.iter().map(|target| json!({ "POSITION": maker.floats("VEC3", target) })).collect();
        let mut primitive = json!({ "attributes": { "POSITION": positions }, "indices": indices });
        if !targets.is_empty() {
            primitive["targets"] = json!(targets);
        }
        maker.push("meshes", json!({ "primitives": [primitive] }));
        maker.push("nodes", json!({ "mesh": 0, "name": "face" }));
        maker
    }

    pub(crate) fn push(&mut self, list: &str, entry: Value) -> usize {
        if self.json.get(list).is_none() {
            self.json[list] = json!([]);
        }
        let entries = self.json[list].as_array_mut().unwrap();
        entries.push(entry);
        entries.len() - 1
    }

    /// Appends bytes, aligned, and returns where they start.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> usize {
        self.binary.resize(self.binary.len().next_multiple_of(4), 0);
        let start = self.binary.len();
        self.binary.extend_from_slice(bytes);
        self.json["buffers"][0]["byteLength"] = json!(self.binary.len());
        start
    }

    pub(crate) fn view(&mut self, bytes: &[u8]) -> usize {
        let start = self.append(bytes);
        self.push("bufferViews", json!({ "buffer": 0, "byteOffset": start, "byteLength": bytes.len() }))
    }

    pub(crate) fn accessor(&mut self, bytes: &[u8], component: u32, kind: &str, count: usize) -> usize {
        let view = self.view(bytes);
        let accessor =
            json!({ "bufferView": view, "componentType": component, "type": kind, "count": count });
        self.push("accessors", accessor)
    }

    pub(crate) fn floats(&mut self, kind: &str, values: &[f32]) -> usize {
        let width = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        self.accessor(bytemuck::cast_slice(values), F32, kind, values.len() / width)
    }

    pub(crate) fn indices(&mut self, indices: &[u16]) -> usize {
        self.accessor(bytemuck::cast_slice(indices), U16, "SCALAR", indices.len())
    }

    /// Adds an animation of one channel.
    pub(crate) fn animate(
        &mut self,
        name: &str,
        node: usize,
        path: &str,
        times: &[f32],
        output: usize,
        mode: &str,
    ) {
        let input = self.floats("SCALAR", times);
        let animation = json!({
            "name": name,
            "channels": [{ "sampler": 0, "target": { "node": node, "path": path } }],
            "samplers": [{ "input": input, "output": output, "interpolation": mode }],
        });
        self.push("animations", animation);
    }

    /// The document as a GLB.
    pub(crate) fn glb(&self) -> Vec<u8> {
        let mut json = self.json.to_string().into_bytes();
        json.resize(json.len().next_multiple_of(4), b' ');
        let mut binary = self.binary.clone();
        binary.resize(binary.len().next_multiple_of(4), 0);
        let length = 12 + 8 + json.len() + 8 + binary.len();
        let mut bytes = b"glTF".to_vec();
        for number in [2, length as u32, json.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"JSON");
        bytes.extend(json);
        bytes.extend((binary.len() as u32).to_le_bytes());
        bytes.extend(b"BIN\0");
        bytes.extend(binary);
        bytes
    }

    pub(crate) fn read(&self) -> Result<Rig> {
        rig_of(&self.glb())
    }

    pub(crate) fn rig(&self) -> Rig {
        self.read().unwrap()
    }

    /// The sentence that the document is refused with.
    pub(crate) fn error(&self) -> String {
        self.read().unwrap_err().to_string()
    }
}

/// The rig of a file in memory that calls itself "made.glb".
pub(crate) fn rig_of(bytes: &[u8]) -> Result<Rig> {
    let limits = Limits::default();
    rig_from_document(Document::from_slice(bytes, Path::new("made.glb"), &limits)?, &limits)
}

/// A target that lifts one corner of the square.
pub(crate) fn lift(corner: usize, by: f32) -> [f32; 12] {
    let mut target = [0.0; 12];
    target[3 * corner + 2] = by;
    target
}
