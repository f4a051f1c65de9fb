//! A small skinned avatar, as character tools export them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// Rows and columns of the face.
const SIDE: usize = 21;

/// Bytes of the buffer and the accessors into it.
#[derive(Default)]
struct Data {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Data {
    fn add(
        &mut self,
        bytes: &[u8],
        component: u32,
        kind: &str,
        count: usize,
        bounds: Option<[[f32; 3]; 2]>,
    ) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.views.push(json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len()}));
        self.bytes.extend_from_slice(bytes);
        let mut accessor = json!({"bufferView": self.views.len() - 1, "componentType": component, "type": kind, "count": count});
        if let Some([low, high]) = bounds {
            accessor["min"] = json!(low);
            accessor["max"] = json!(high);
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn points(&mut self, points: &[[f32; 3]]) -> usize {
        let corner = |pick: fn(f32, f32) -> f32| {
            [0, 1, 2].map(|axis| points.iter().map(|point| point[axis]).reduce(pick).expect("points"))
        };
        let bounds = [corner(f32::min), corner(f32::max)];
        self.add(&le_bytes(points.as_flattened()), 5126, "VEC3", points.len(), Some(bounds))
    }
}

fn le_bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|float| float.to_le_bytes()).collect()
}

/// A face on a head bone with a neck, two shapes, a material, a mesh that rides along and an unknown extension.
pub(crate) fn gltf() -> String {
    let mut data = Data::default();
    let neutral: Vec<[f32; 3]> = (0..SIDE * SIDE)
        .map(|i| {
            let (x, y) = ((i % SIDE) as f32 * 0.01 - 0.1, (i / SIDE) as f32 * 0.01 - 0.1);
            [x, 1.6 + y, 0.05 - 2.0 * (x * x + y * y)]
        })
        .collect();
    let jaw: Vec<[f32; 3]> =
        neutral.iter().map(|p| [0.0, if p[1] < 1.555 { -0.02 } else { 0.0 }, 0.0]).collect();
    let smile = neutral.iter().map(|p| {
        let bump = (-((p[0] - 0.03).powi(2) + (p[1] - 1.56).powi(2)) / 4e-4).exp();
        [0.004 * bump, 0.006 * bump, 0.0]
    });
    let smile: Vec<[f32; 3]> = smile.collect();
    let triangles: Vec<u16> = (0..SIDE - 1)
        .flat_map(|row| (0..SIDE - 1).map(move |column| (row * SIDE + column) as u16))
        .flat_map(|a| [a, a + 1, a + 1 + SIDE as u16, a, a + 1 + SIDE as u16, a + SIDE as u16])
        .collect();
    let weights = neutral.iter().flat_map(|p| [(p[1] - 1.5) / 0.2, 1.0 - (p[1] - 1.5) / 0.2, 0.0, 0.0]);
    let weights: Vec<f32> = weights.collect();
    let joints: Vec<u8> = neutral.iter().flat_map(|_| [1, 0, 0, 0]).collect();
    let matrix = |y: f32| [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -y, 0.0, 1.0];
    let indices: Vec<u8> = triangles.iter().flat_map(|index| index.to_le_bytes()).collect();

    let position = data.points(&neutral);
    let targets = [data.points(&jaw), data.points(&smile)];
    let index = data.add(&indices, 5123, "SCALAR", triangles.len(), None);
    let joint = data.add(&joints, 5121, "VEC4", neutral.len(), None);
    let weight = data.add(&le_bytes(&weights), 5126, "VEC4", neutral.len(), None);
    let inverse = data.add(&le_bytes(&[matrix(1.45), matrix(1.5)].concat()), 5126, "MAT4", 2, None);
    let hat = data.points(&[[0.0, 1.7, 0.0], [0.1, 1.7, 0.0], [0.0, 1.8, 0.0]]);
    let uri = format!("data:application/octet-stream;base64,{}", BASE64_STANDARD.encode(&data.bytes));
    let document = json!({
        "asset": {"version": "2.0"},
        "extensionsUsed": ["ACME_mystery"],
        "extensions": {"ACME_mystery": {"answer": 42}},
        "scene": 0,
        "scenes": [{"nodes": [0, 3, 4]}],
        "nodes": [
            {"name": "Armature", "children": [1]},
            {"name": "Neck", "translation": [0.0, 1.45, 0.0], "children": [2]},
            {"name": "Head", "translation": [0.0, 0.05, 0.0]},
            {"name": "FaceModel", "mesh": 0, "skin": 0},
            {"name": "Hat", "mesh": 1}
        ],
        "skins": [{"joints": [1, 2], "inverseBindMatrices": inverse, "skeleton": 0}],
        "materials": [{"name": "Skin", "pbrMetallicRoughness": {"baseColorFactor": [0.8, 0.6, 0.5, 1.0]}}],
        "meshes": [
            {
                "name": "FaceMesh",
                "extras": {"targetNames": ["jawOpen", "mouthSmileLeft"]},
                "primitives": [{
                    "attributes": {"POSITION": position, "JOINTS_0": joint, "WEIGHTS_0": weight},
                    "indices": index,
                    "material": 0,
                    "targets": targets.map(|target| json!({"POSITION": target})),
                }]
            },
            {"name": "HatMesh", "primitives": [{"attributes": {"POSITION": hat}, "material": 0}]}
        ],
        "accessors": data.accessors,
        "bufferViews": data.views,
        "buffers": [{"byteLength": data.bytes.len(), "uri": uri}],
    });
    document.to_string()
}
