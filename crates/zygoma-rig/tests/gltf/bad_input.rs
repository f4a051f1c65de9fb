//! Files that are broken or hostile: each gets one sentence that names the file, and nothing panics.

use serde_json::{Value, json};
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::gltf::read_rig;

use crate::support::{F32, Maker, U16, lift, rig_of};

/// The error for a change of the plain square's JSON.
fn refused(change: impl Fn(&mut Value)) -> String {
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    change(&mut maker.json);
    let error = maker.error();
    assert!(error.starts_with("made.glb: "), "{error}");
    assert!(!error.contains('\n'), "one sentence: {error}");
    error
}

fn assert_says(error: &str, wanted: &str) {
    assert!(error.contains(wanted), "\"{error}\" should say \"{wanted}\"");
}

#[test]
fn a_truncated_file_is_refused_wherever_it_ends() {
    let glb = Maker::square(&[lift(2, 0.01)]).glb();
    for length in (0..glb.len()).step_by(64).chain(glb.len() - 8..glb.len()) {
        let error = rig_of(&glb[..length]).unwrap_err().to_string();
        assert!(error.starts_with("made.glb: "), "{error}");
    }
}

#[test]
fn truncated_json_is_refused_wherever_it_ends() {
    let json = Maker::square(&[lift(2, 0.01)]).json.to_string();
    for length in (0..json.len()).step_by(16) {
        let error = rig_of(&json.as_bytes()[..length]).unwrap_err().to_string();
        assert!(error.starts_with("made.glb: "), "{error}");
    }
}

#[test]
fn other_files_are_not_taken_for_gltf() {
    for bytes in [&b"PK\x03\x04"[..], b"", b"v 0 0 0\n", b"{}", b"[]", b"null", b"glTF", &[0xff; 100]] {
        let error = rig_of(bytes).unwrap_err().to_string();
        assert!(error.starts_with("made.glb: "), "{error}");
    }
    let mut glb = Maker::square(&[]).glb();
    glb[0] = b'G';
    assert_says(&rig_of(&glb).unwrap_err().to_string(), "neither a GLB nor glTF JSON");
    assert_says(&refused(|json| json["asset"]["version"] = json!("1.0")), "export it as glTF 2.0");
}

#[test]
fn a_missing_file_is_named() {
    let path = std::path::Path::new("no-such-folder/rig.glb");
    assert_says(
        &read_rig(path, &Limits::default()).unwrap_err().to_string(),
        "no-such-folder/rig.glb: reading failed",
    );
}

#[test]
fn lengths_beyond_the_file_are_refused() {
    let mut glb = Maker::square(&[]).glb();
    glb[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_says(&rig_of(&glb).unwrap_err().to_string(), "declares 4294967295 bytes");
    let mut glb = Maker::square(&[]).glb();
    glb[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_says(&rig_of(&glb).unwrap_err().to_string(), "header declares 4294967295 bytes");
    let error = refused(|json| json["buffers"][0]["byteLength"] = json!(4_000_000_000u64));
    assert_says(&error, "declares 4000000000 bytes");
    let error = refused(|json| json["bufferViews"][0]["byteLength"] = json!(4_000_000_000u64));
    assert_says(&error, "outside buffer 0");
    let error = refused(|json| json["bufferViews"][0]["byteOffset"] = json!(u64::MAX));
    assert_says(&error, "outside buffer 0");
}

#[test]
fn accessors_out_of_range_are_refused() {
    assert_says(&refused(|json| json["accessors"][2]["count"] = json!(5)), "accessors[2]");
    assert_says(&refused(|json| json["accessors"][0]["count"] = json!(400)), "do not fit bufferView 0");
    assert_says(&refused(|json| json["accessors"][0]["byteOffset"] = json!(4)), "do not fit bufferView 0");
    assert_says(&refused(|json| json["accessors"][0]["byteOffset"] = json!(u64::MAX)), "accessors[0]");
    assert_says(&refused(|json| json["accessors"][0]["bufferView"] = json!(99)), "no bufferView 99");
    assert_says(&refused(|json| json["bufferViews"][0]["buffer"] = json!(9)), "buffer 9");
    assert_says(&refused(|json| json["bufferViews"][0]["byteStride"] = json!(4)), "overlap");
    assert_says(&refused(|json| json["accessors"][0]["componentType"] = json!(77)), "component type 77");
    assert_says(&refused(|json| json["accessors"][0]["type"] = json!("VEC2")), "3 components");
    assert_says(&refused(|json| json["accessors"][1]["componentType"] = json!(F32)), "not unsigned");
    let attributes = "/meshes/0/primitives/0/attributes/POSITION";
    assert_says(&refused(|json| *json.pointer_mut(attributes).unwrap() = json!(99)), "accessor 99");
}

#[test]
fn huge_counts_are_refused_before_memory_is_asked_for() {
    // No bytes stand behind these: zeros cost a file nothing.
    let zeros = |count: u64| {
        refused(move |json| {
            json["accessors"][0] = json!({ "componentType": F32, "type": "VEC3", "count": count });
        })
    };
    assert_says(&zeros(1 << 40), "limit of 4000000 vertices");
    assert_says(&zeros(u64::MAX), "limit of 4000000 vertices");
    let error = refused(|json| {
        json["accessors"][1] = json!({ "componentType": U16, "type": "SCALAR", "count": 3_000_000_000u64 });
    });
    assert_says(&error, "limit");
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    let output = maker.floats("SCALAR", &[0.0]);
    maker.animate("long", 0, "weights", &[0.0], output, "LINEAR");
    let input = maker.json["animations"][0]["samplers"][0]["input"].as_u64().unwrap() as usize;
    maker.json["accessors"][input]["count"] = json!(4_000_000_000u64);
    assert_says(&maker.error(), "4000000000 keys");
}

#[test]
fn many_uses_of_a_large_mesh_meet_the_limit() {
    let mut maker = Maker::square(&[]);
    maker.json["accessors"][0] = json!({ "componentType": F32, "type": "VEC3", "count": 3_900_000 });
    maker.json["nodes"] = json!(vec![json!({ "mesh": 0 }); 50_000]);
    maker.json["scenes"][0]["nodes"] = (0..50_000).collect();
    let limits = Limits { decoded_bytes: 256 << 20, ..Limits::default() };
    let path = std::path::Path::new("made.glb");
    let document = zygoma_rig::formats::gltf::Document::from_slice(&maker.glb(), path, &limits).unwrap();
    let error = zygoma_rig::formats::gltf::rig_from_document(document, &limits).unwrap_err().to_string();
    assert_says(&error, "limit");
}

#[test]
fn broken_sparse_accessors_are_refused() {
    let sparse = |count: u64, place: u16, kind: u32| {
        let mut maker = Maker::square(&[lift(2, 0.01)]);
        let places = maker.view(bytemuck::cast_slice(&[place]));
        let values = maker.view(bytemuck::cast_slice(&[1.0f32; 3]));
        maker.json["accessors"][2] = json!({
            "componentType": F32, "type": "VEC3", "count": 4,
            "sparse": {
                "count": count,
                "indices": { "bufferView": places, "componentType": kind },
                "values": { "bufferView": values },
            },
        });
        maker.error()
    };
    assert_says(&sparse(1, 4, U16), "sparse index 4 is past the end");
    assert_says(&sparse(5, 0, U16), "5 sparse values");
    assert_says(&sparse(2, 0, U16), "do not fit");
    assert_says(&sparse(1, 0, F32), "not unsigned");
}

#[test]
fn numbers_that_are_not_finite_are_named() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut maker = Maker::square(&[lift(2, 0.01)]);
        maker.binary[12..16].copy_from_slice(&bad.to_le_bytes());
        assert_says(&maker.error(), "vertex 1 of mesh \"face\"");
        let error = Maker::square(&[lift(3, bad)]).error();
        assert_says(&error, "shape \"shape 0\" of mesh \"face\" moves vertex 3");
    }
    // Finite in the file, but not after its node.
    assert_says(&refused(|json| json["nodes"][0]["scale"] = json!([1e300, 1.0, 1.0])), "vertex 1 of mesh");
    let error = refused(|json| {
        json["nodes"] = json!([
            { "mesh": 0, "scale": [1e300, 1, 1] }, { "children": [0], "scale": [1e300, 1, 1] }
        ]);
    });
    assert_says(&error, "not finite");
}

#[test]
fn indices_past_the_end_are_named() {
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    let indices = maker.indices(&[0, 1, 4]);
    maker.json["meshes"][0]["primitives"][0]["indices"] = json!(indices);
    assert_says(
        &maker.error(),
        "primitive 0 of mesh \"face\" has vertex index 4, past the end of its 4 vertices",
    );
}

#[test]
fn nodes_must_form_a_tree() {
    let nodes = |nodes: Value| refused(move |json| json["nodes"] = nodes.clone());
    assert_says(&nodes(json!([{ "mesh": 0, "children": [1] }, { "children": [0] }])), "loop");
    assert_says(&nodes(json!([{ "mesh": 0, "children": [0] }])), "loop");
    let two = json!([{ "mesh": 0, "children": [2] }, { "children": [2] }, {}]);
    assert_says(&nodes(two), "two parents, nodes 0 and 1");
    assert_says(&nodes(json!([{ "mesh": 0, "children": [7] }])), "child 7");
    assert_says(&nodes(json!([{ "mesh": 3 }])), "mesh 3");
    assert_says(&nodes(json!([{ "mesh": -1 }])), "nodes[0]");
    assert_says(&nodes(json!("none")), "\"nodes\" is not a list");
}

#[test]
fn a_very_long_chain_of_nodes_is_only_long() {
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    let chain = (1..=50_000).map(|next| json!({ "children": [next] })).chain([json!({ "mesh": 0 })]);
    maker.json["nodes"] = chain.collect();
    assert_eq!(maker.rig().meshes.len(), 1);
}

#[test]
fn json_that_is_too_deep_is_refused() {
    let deep = format!("{{\"asset\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let error = rig_of(deep.as_bytes()).unwrap_err().to_string();
    assert_says(&error, "recursion limit");
}

#[test]
fn files_without_a_surface_say_so() {
    assert_says(&refused(|json| json["nodes"] = json!([])), "no mesh with a surface");
    assert_says(
        &refused(|json| json["meshes"][0]["primitives"][0]["mode"] = json!(0)),
        "no mesh with a surface",
    );
    assert_says(&refused(|json| json["meshes"][0]["primitives"] = json!([])), "no mesh with a surface");
}

#[test]
fn primitives_must_agree_about_their_targets() {
    let error = refused(|json| {
        let mut other = json["meshes"][0]["primitives"][0].clone();
        other.as_object_mut().unwrap().remove("targets");
        json["meshes"][0]["primitives"].as_array_mut().unwrap().push(other);
    });
    assert_says(&error, "primitive 1 of mesh \"face\" has 0 morph targets and the ones before it 1");
}

#[test]
fn required_extensions_that_matter_are_refused_with_a_way_out() {
    let requiring = |name: &'static str| move |json: &mut Value| json["extensionsRequired"] = json!([name]);
    let error = refused(requiring("KHR_draco_mesh_compression"));
    assert_says(&error, "KHR_draco_mesh_compression; export it again without Draco");
    assert_says(&refused(requiring("EXT_mesh_gpu_instancing")), "without that extension");
    let error = refused(|json| {
        json["accessors"][0].as_object_mut().unwrap().remove("bufferView");
        json["meshes"][0]["primitives"][0]["extensions"] = json!({ "KHR_draco_mesh_compression": {} });
    });
    assert_says(&error, "without Draco");
    for harmless in
        ["KHR_texture_transform", "EXT_texture_webp", "KHR_materials_unlit", "KHR_lights_punctual", "VRM"]
    {
        let mut maker = Maker::square(&[]);
        maker.json["extensionsRequired"] = json!([harmless]);
        assert!(maker.read().is_ok(), "{harmless}");
    }
    let mut maker = Maker::square(&[]);
    maker.json["extensionsUsed"] = json!(["ACME_unheard_of"]);
    assert!(maker.read().is_ok());
}

#[test]
fn uris_that_leave_the_folder_are_refused() {
    for uri in ["/etc/passwd", "../up.bin", "https://example.org/a.bin", "file:///etc/passwd", "missing.bin"]
    {
        let error = refused(|json| json["buffers"][0]["uri"] = json!(uri));
        assert_says(&error, "buffer 0 refers to");
        if uri != "missing.bin" {
            let error = refused(|json| json["images"] = json!([{ "uri": uri }]));
            assert_says(&error, "image 0 refers to");
        }
    }
    // A texture that is missing spoils no geometry.
    let mut maker = Maker::square(&[]);
    maker.json["images"] = json!([{ "uri": "missing.png" }]);
    let rig = maker.rig();
    assert!(rig.notes[0].contains("missing.png"), "{:?}", rig.notes);
}
