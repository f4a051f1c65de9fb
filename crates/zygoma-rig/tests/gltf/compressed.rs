//! Buffer views compressed by meshopt, encoded by the library itself.

use glam::Vec3;
use serde_json::{Value, json};
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::gltf::Document;

use crate::support::{F32, I8, I16, Maker, SQUARE, U16, lift, rig_of};

/// Adds a view whose bytes are compressed; its uncompressed place is a fallback buffer without data.
fn compressed_view(
    maker: &mut Maker,
    name: &str,
    encoded: &[u8],
    stride: usize,
    count: usize,
    mode: &Value,
) -> usize {
    if maker.json["buffers"].as_array().unwrap().len() == 1 {
        let fallback = json!({ "byteLength": 1 << 20, "extensions": { name: { "fallback": true } } });
        maker.push("buffers", fallback);
    }
    let start = maker.append(encoded);
    let mut extension = json!({
        "buffer": 0, "byteOffset": start, "byteLength": encoded.len(), "byteStride": stride, "count": count,
    });
    extension.as_object_mut().unwrap().extend(mode.as_object().unwrap().clone());
    let mut view = json!({ "buffer": 1, "byteLength": stride * count, "extensions": { name: extension } });
    if extension_is_attributes(&view, name) {
        view["byteStride"] = json!(stride);
    }
    maker.push("bufferViews", view)
}

fn extension_is_attributes(view: &Value, name: &str) -> bool {
    view["extensions"][name]["mode"] == json!("ATTRIBUTES")
}

/// The square with its positions in a compressed view.
fn square_with(view: usize, component: u32, maker: &mut Maker) {
    let accessor = json!({ "bufferView": view, "componentType": component, "type": "VEC3", "count": 4 });
    let accessor = maker.push("accessors", accessor);
    maker.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = json!(accessor);
}

fn rows_of_square() -> Vec<[f32; 3]> {
    SQUARE.chunks(3).map(|p| [p[0], p[1], p[2]]).collect()
}

#[test]
fn attributes_of_both_versions_and_both_names_are_decoded() {
    for name in ["EXT_meshopt_compression", "KHR_meshopt_compression"] {
        for version in [0, 1] {
            let encoded = meshopt::encode_vertex_buffer_level(&rows_of_square(), 2, Some(version)).unwrap();
            let mut maker = Maker::square(&[lift(2, 0.01)]);
            let view = compressed_view(&mut maker, name, &encoded, 12, 4, &json!({ "mode": "ATTRIBUTES" }));
            square_with(view, F32, &mut maker);
            maker.json["extensionsRequired"] = json!([name]);
            let rig = maker.rig();
            assert_eq!(rig.skin().positions[2], Vec3::new(0.2, 0.2, 0.0));
        }
    }
}

#[test]
fn rows_of_many_widths_are_decoded() {
    fn check<const WORDS: usize>() {
        let rows: Vec<[f32; WORDS]> = SQUARE
            .chunks(3)
            .map(|p| std::array::from_fn(|k| p.get(k).copied().unwrap_or(k as f32)))
            .collect();
        let encoded = meshopt::encode_vertex_buffer(&rows).unwrap();
        let mut maker = Maker::square(&[]);
        let mode = json!({ "mode": "ATTRIBUTES" });
        let view = compressed_view(&mut maker, "EXT_meshopt_compression", &encoded, 4 * WORDS, 4, &mode);
        square_with(view, F32, &mut maker);
        assert_eq!(maker.rig().skin().positions[1], Vec3::X * 0.2, "{WORDS} words");
    }
    check::<3>();
    check::<4>();
    check::<7>();
    check::<33>();
    check::<64>();
}

#[test]
fn triangles_and_index_sequences_are_decoded() {
    let corners = [0u32, 1, 2, 0, 2, 3];
    let triangles = meshopt::encode_index_buffer(&corners, 4).unwrap();
    let sequence = meshopt::encode_index_sequence(&corners, 4).unwrap();
    for (mode, encoded) in [("TRIANGLES", triangles), ("INDICES", sequence)] {
        for (stride, component) in [(2, U16), (4, crate::support::U32)] {
            let mut maker = Maker::square(&[]);
            let mode = json!({ "mode": mode });
            let view = compressed_view(&mut maker, "EXT_meshopt_compression", &encoded, stride, 6, &mode);
            let accessor =
                json!({ "bufferView": view, "componentType": component, "type": "SCALAR", "count": 6 });
            let accessor = maker.push("accessors", accessor);
            maker.json["meshes"][0]["primitives"][0]["indices"] = json!(accessor);
            let rig = maker.rig();
            // The encoder may start a triangle at another corner.
            let sorted = |mut t: [u32; 3]| {
                let first = (0..3).min_by_key(|k| t[*k]).unwrap();
                t.rotate_left(first);
                t
            };
            let found: Vec<[u32; 3]> = rig.skin().faces.triangles().into_iter().map(sorted).collect();
            assert_eq!(found, [[0, 1, 2], [0, 2, 3]]);
        }
    }
}

#[test]
fn exponential_floats_are_decoded() {
    let rows = meshopt::encode_filter_exp(&rows_of_square(), 20, meshopt::EncodeExpMode::Separate);
    let encoded = meshopt::encode_vertex_buffer(&rows).unwrap();
    let mut maker = Maker::square(&[]);
    let mode = json!({ "mode": "ATTRIBUTES", "filter": "EXPONENTIAL" });
    let view = compressed_view(&mut maker, "KHR_meshopt_compression", &encoded, 12, 4, &mode);
    square_with(view, F32, &mut maker);
    assert!(maker.rig().skin().positions[2].distance(Vec3::new(0.2, 0.2, 0.0)) < 1e-6);
}

#[test]
fn octahedral_vectors_of_both_widths_are_decoded() {
    let directions =
        [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.6, 0.8, 0.0], [0.0, 0.0, -1.0, 0.0]];
    let bytes = meshopt::encode_vertex_buffer(&meshopt::encode_filter_oct::<u8>(&directions, 8)).unwrap();
    let words = meshopt::encode_vertex_buffer(&meshopt::encode_filter_oct::<u16>(&directions, 16)).unwrap();
    for (encoded, stride, component, error) in [(bytes, 4, I8, 0.02), (words, 8, I16, 1e-3)] {
        let mut maker = Maker::square(&[]);
        let mode = json!({ "mode": "ATTRIBUTES", "filter": "OCTAHEDRAL" });
        let view = compressed_view(&mut maker, "EXT_meshopt_compression", &encoded, stride, 4, &mode);
        let normals = json!({ "bufferView": view, "componentType": component, "normalized": true, "type": "VEC3", "count": 4 });
        let normals = maker.push("accessors", normals);
        // Any displacement that is read shows whether the filter was undone.
        maker.json["meshes"][0]["primitives"][0]["targets"] = json!([{ "POSITION": normals }]);
        let deltas = maker.rig().skin().shapes[0].deltas.to_dense(4);
        for (found, wanted) in deltas.iter().zip(directions) {
            assert!(found.distance(Vec3::new(wanted[0], wanted[1], wanted[2])) < error, "{found}");
        }
    }
}

#[test]
fn quaternions_and_colours_are_decoded() {
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let turns = [[0.0, half, 0.0, half], [0.0, 0.0, 0.0, 1.0]];
    let encoded = meshopt::encode_vertex_buffer(&meshopt::encode_filter_quat(&turns, 16)).unwrap();
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    let mode = json!({ "mode": "ATTRIBUTES", "filter": "QUATERNION" });
    let view = compressed_view(&mut maker, "EXT_meshopt_compression", &encoded, 8, 2, &mode);
    let output =
        json!({ "bufferView": view, "componentType": I16, "normalized": true, "type": "VEC4", "count": 2 });
    let output = maker.push("accessors", output);
    maker.animate("turn", 0, "rotation", &[0.0, 1.0], output, "LINEAR");
    let colours = [[1.0, 0.5, 0.25, 1.0]; 4];
    for (encoded, stride) in [
        (meshopt::encode_vertex_buffer(&meshopt::encode_filter_color::<u8>(&colours, 8)).unwrap(), 4),
        (meshopt::encode_vertex_buffer(&meshopt::encode_filter_color::<u16>(&colours, 12)).unwrap(), 8),
    ] {
        let mode = json!({ "mode": "ATTRIBUTES", "filter": "COLOR" });
        compressed_view(&mut maker, "KHR_meshopt_compression", &encoded, stride, 4, &mode);
    }
    let rig = maker.rig();
    let turned = rig.takes[0].motions[0].motions[0].rotation;
    assert!((turned.y - f64::from(half)).abs() < 1e-3, "{turned}");
}

#[test]
fn a_compressed_document_goes_back_unchanged() {
    let encoded = meshopt::encode_vertex_buffer(&rows_of_square()).unwrap();
    let mut maker = Maker::square(&[]);
    let mode = json!({ "mode": "ATTRIBUTES" });
    let view = compressed_view(&mut maker, "EXT_meshopt_compression", &encoded, 12, 4, &mode);
    square_with(view, F32, &mut maker);
    let path = std::path::Path::new("made.glb");
    let document = Document::from_slice(&maker.glb(), path, &Limits::default()).unwrap();
    let again = document.to_glb().unwrap();
    assert_eq!(again, maker.glb());
    assert_eq!(rig_of(&again).unwrap().skin().positions, maker.rig().skin().positions);
}

/// A view that breaks one precondition of the decoder at a time.
#[test]
fn nonsense_never_reaches_the_decoder() {
    let encoded = meshopt::encode_vertex_buffer(&rows_of_square()).unwrap();
    let good = json!({ "mode": "ATTRIBUTES" });
    let refuse = |change: Value, wanted: &str| {
        let mut maker = Maker::square(&[]);
        let view = compressed_view(&mut maker, "EXT_meshopt_compression", &encoded, 12, 4, &good);
        square_with(view, F32, &mut maker);
        let extension = &mut maker.json["bufferViews"][view]["extensions"]["EXT_meshopt_compression"];
        extension.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let error = maker.error();
        assert!(error.contains(wanted) && error.starts_with("made.glb: "), "{change}: {error}");
    };
    refuse(json!({ "byteStride": 0 }), "do not fit mode");
    refuse(json!({ "byteStride": 6 }), "do not fit mode");
    refuse(json!({ "byteStride": 260 }), "do not fit mode");
    refuse(json!({ "filter": "QUATERNION" }), "do not fit mode");
    refuse(json!({ "filter": "OCTAHEDRAL" }), "do not fit mode");
    refuse(json!({ "filter": "SECRET" }), "unknown");
    refuse(json!({ "mode": "SECRET" }), "unknown");
    refuse(json!({ "mode": "TRIANGLES", "byteStride": 2, "count": 4 }), "do not fit mode");
    refuse(json!({ "mode": "INDICES", "byteStride": 3 }), "do not fit mode");
    refuse(json!({ "mode": "INDICES", "byteStride": 4, "count": 1_000_000 }), "cannot hold");
    refuse(json!({ "mode": "TRIANGLES", "byteStride": 4, "count": 3_000_000 }), "cannot hold");
    refuse(json!({ "mode": "TRIANGLES", "byteStride": 4, "count": 3 }), "damaged");
    refuse(json!({ "count": 4_000_000_000u64 }), "cannot hold");
    refuse(json!({ "count": u64::MAX }), "cannot hold");
    refuse(json!({ "byteOffset": 1_000_000 }), "outside buffer");
    refuse(json!({ "byteOffset": u64::MAX }), "outside buffer");
    refuse(json!({ "buffer": 7 }), "no buffer 7");
    refuse(json!({ "count": 5000 }), "damaged");
}

#[test]
fn a_decompression_bomb_meets_the_limit() {
    // All-zero rows compress a thousandfold and more.
    let zeros = vec![[0u32; 64]; 4096];
    let encoded = meshopt::encode_vertex_buffer_level(&zeros, 3, Some(1)).unwrap();
    let mut maker = Maker::square(&[]);
    for _ in 0..64 {
        let mode = json!({ "mode": "ATTRIBUTES" });
        compressed_view(&mut maker, "EXT_meshopt_compression", &encoded, 256, 4096, &mode);
    }
    let limits = Limits { decoded_bytes: 16 << 20, ..Limits::default() };
    let path = std::path::Path::new("bomb.glb");
    let document = Document::from_slice(&maker.glb(), path, &limits).unwrap();
    let error = zygoma_rig::formats::gltf::rig_from_document(document, &limits).unwrap_err().to_string();
    assert!(error.starts_with("bomb.glb: ") && error.contains("limit"), "{error}");
}
