//! Damaged files: whatever bytes change, reading ends with a rig or a sentence.

use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use zygoma_rig::Result;
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::gltf::{Document, rig_from_document};

use crate::support::{F32, Maker, U16, lift};

/// Files to start from: one for each way that a document stores things, and a real one when present.
static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut seeds = vec![animated().glb(), animated().json.to_string().into_bytes(), compressed().glb()];
    let real = zygoma_testing::real_data("rigs/facecap.glb");
    seeds.extend(real.map(|path| std::fs::read(path).expect("a file of the test data")));
    seeds
});

/// The same as JSON and buffer, for changes that the JSON survives.
static MAKERS: LazyLock<Vec<Maker>> = LazyLock::new(|| {
    let real = SEEDS.get(3).map(|bytes| {
        let document = Document::from_slice(bytes, Path::new("facecap.glb"), &Limits::default()).unwrap();
        Maker { json: document.json.clone(), binary: document.buffers[0].clone() }
    });
    [animated(), compressed()].into_iter().chain(real).collect()
});

fn animated() -> Maker {
    let mut maker = Maker::square(&[lift(2, 0.01), lift(1, 0.01)]);
    let places = maker.view(bytemuck::cast_slice(&[1u16, 3]));
    let values = maker.view(bytemuck::cast_slice(&[0.5f32; 6]));
    let sparse = json!({ "componentType": F32, "type": "VEC3", "count": 4, "sparse": { "count": 2,
        "indices": { "bufferView": places, "componentType": U16 }, "values": { "bufferView": values } } });
    let sparse = maker.push("accessors", sparse);
    maker.json["meshes"][0]["primitives"][0]["targets"][1]["POSITION"] = json!(sparse);
    maker.json["meshes"][0]["extras"] = json!({ "targetNames": ["jawOpen", "eyeBlink_L"] });
    maker.push("nodes", json!({ "name": "head", "children": [0], "rotation": [0.0, 0.6, 0.0, 0.8] }));
    maker.json["scenes"][0]["nodes"] = json!([1]);
    let weights = maker.floats("SCALAR", &[0.0; 12]);
    maker.animate("a|t|l", 0, "weights", &[0.0, 1.0], weights, "CUBICSPLINE");
    let moved = maker.floats("VEC3", &[0.0, 0.0, 0.0, 0.5, 0.0, 0.0]);
    maker.animate("b|t|l", 1, "translation", &[0.0, 1.0], moved, "STEP");
    let joints = maker.accessor(&[0; 16], 5121, "VEC4", 4);
    let bound = maker.floats("VEC4", &[1.0, 0.0, 0.0, 0.0].repeat(4));
    let attributes = &mut maker.json["meshes"][0]["primitives"][0]["attributes"];
    attributes["JOINTS_0"] = json!(joints);
    attributes["WEIGHTS_0"] = json!(bound);
    maker.push("skins", json!({ "joints": [1] }));
    maker.json["nodes"][0]["skin"] = json!(0);
    maker
}

fn compressed() -> Maker {
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    let rows: Vec<[f32; 3]> = crate::support::SQUARE.chunks(3).map(|p| [p[0], p[1], p[2]]).collect();
    let encoded = meshopt::encode_vertex_buffer(&rows).unwrap();
    let start = maker.append(&encoded);
    let meshopt = json!({ "buffer": 0, "byteOffset": start, "byteLength": encoded.len(), "byteStride": 12,
        "count": 4, "mode": "ATTRIBUTES" });
    let extensions = json!({ "EXT_meshopt_compression": meshopt });
    let view = json!({ "buffer": 0, "byteLength": 48, "extensions": extensions });
    maker.json["bufferViews"][0] = view;
    maker
}

/// Reads, and writes what could be read; small limits keep a lucky bomb from taking the time of the others.
fn survive(bytes: &[u8]) -> Result<()> {
    let limits =
        Limits { decoded_bytes: 64 << 20, vertices: 100_000, shapes: 256, keys: 20_000, ..Limits::default() };
    let document = Document::from_slice(bytes, Path::new("fuzzed.glb"), &limits)?;
    let written = document.to_glb();
    rig_from_document(document, &limits)?;
    written.map(drop)
}

fn check(bytes: &[u8]) {
    if let Err(error) = survive(bytes) {
        let sentence = error.to_string();
        assert!(sentence.starts_with("fuzzed.glb: ") && sentence.len() < 1000, "{sentence}");
    }
}

/// Every number and string of a JSON value, by its path.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| leaves(member, &format!("{path}/{key}"), found));
        }
        Value::Array(entries) => {
            let entries = entries.iter().enumerate();
            entries.for_each(|(index, entry)| leaves(entry, &format!("{path}/{index}"), found));
        }
        _ => found.push(path.to_owned()),
    }
}

fn unlikely_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(-1)),
        Just(json!(0)),
        Just(json!(1.5)),
        Just(json!(u64::MAX)),
        Just(json!(1e308)),
        Just(json!("x")),
        Just(json!([])),
        Just(json!({})),
        (0u32..300).prop_map(|number| json!(number)),
        any::<u32>().prop_map(|number| json!(number)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_never_panic(
        seed in 0..4usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
        cut in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let mut bytes = SEEDS[seed.min(SEEDS.len() - 1)].clone();
        for (place, value) in &changes {
            let length = bytes.len();
            bytes[place.index(length)] = *value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        check(&bytes);
    }

    #[test]
    fn changed_json_never_panics(
        seed in 0..3usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), unlikely_value()), 1..4),
    ) {
        let mut maker = MAKERS[seed.min(MAKERS.len() - 1)].clone();
        for (place, value) in changes {
            let mut paths = Vec::new();
            leaves(&maker.json, "", &mut paths);
            if !paths.is_empty() {
                *maker.json.pointer_mut(&paths[place.index(paths.len())]).unwrap() = value;
            }
        }
        check(&maker.glb());
    }

    #[test]
    fn changed_compressed_bytes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut maker = compressed();
        for (place, value) in &changes {
            let length = maker.binary.len();
            maker.binary[place.index(length)] = *value;
        }
        check(&maker.glb());
    }
}
