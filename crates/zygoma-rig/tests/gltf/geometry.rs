//! Positions, faces, shapes and names out of hand-made documents.

use std::f64::consts::FRAC_1_SQRT_2;

use glam::{DVec3, Vec2, Vec3};
use serde_json::json;

use crate::support::{F32, I8, I16, Maker, SQUARE, U8, U16, U32, lift};

fn close(a: Vec3, b: Vec3) -> bool {
    a.distance(b) < 1e-6
}

#[test]
fn a_plain_square_comes_in_as_it_is() {
    let rig = Maker::square(&[lift(2, 0.01)]).rig();
    let skin = rig.skin();
    assert_eq!(skin.positions.iter().flat_map(|p| <[f32; 3]>::from(*p)).collect::<Vec<_>>(), SQUARE);
    assert_eq!(skin.faces.triangles(), [[0, 1, 2], [0, 2, 3]]);
    assert_eq!(skin.shapes[0].deltas.vertices, [2]);
    assert_eq!(skin.shapes[0].deltas.offsets, [Vec3::Z * 0.01]);
    assert_eq!((rig.name.as_str(), skin.name.as_str()), ("made", "face"));
    assert!((skin.quantum - 2e-7).abs() < 1e-12);
}

#[test]
fn sparse_targets_have_zeros_where_nothing_is_given() {
    let mut maker = Maker::square(&[]);
    let places = maker.view(bytemuck::cast_slice(&[1u16, 3]));
    let values = maker.view(bytemuck::cast_slice(&[0.0f32, 0.0, 0.5, 0.25, 0.0, 0.0]));
    let sparse = json!({
        "count": 2,
        "indices": { "bufferView": places, "componentType": U16 },
        "values": { "bufferView": values },
    });
    let bare = json!({ "componentType": F32, "type": "VEC3", "count": 4, "sparse": sparse });
    let target = maker.push("accessors", bare);
    maker.json["meshes"][0]["primitives"][0]["targets"] = json!([{ "POSITION": target }]);
    let rig = maker.rig();
    let deltas = &rig.skin().shapes[0].deltas;
    assert_eq!(deltas.vertices, [1, 3]);
    assert_eq!(deltas.offsets, [Vec3::Z * 0.5, Vec3::X * 0.25]);
}

#[test]
fn sparse_values_replace_those_of_a_base() {
    let mut maker = Maker::square(&[]);
    let places = maker.view(&[2u8]);
    let values = maker.view(bytemuck::cast_slice(&[1.0f32, 2.0, 3.0]));
    maker.json["accessors"][0]["sparse"] = json!({
        "count": 1,
        "indices": { "bufferView": places, "componentType": U8 },
        "values": { "bufferView": values },
    });
    let rig = maker.rig();
    let unit = rig.units.metres_per_unit as f32;
    let positions: Vec<Vec3> = rig.skin().positions.iter().map(|p| *p / unit).collect();
    assert!(close(positions[2], Vec3::new(1.0, 2.0, 3.0)) && close(positions[1], Vec3::X * 0.2));
}

#[test]
fn normalised_integers_reach_exactly_minus_one_and_one() {
    let mut maker = Maker::square(&[]);
    // Rows are padded to four bytes.
    let rows: [i8; 16] = [-128, 0, 0, 9, 127, 0, 0, 9, 127, 127, 0, 9, -127, 127, 0, 9];
    let positions = maker.accessor(bytemuck::cast_slice(&rows), I8, "VEC3", 4);
    maker.json["accessors"][positions]["normalized"] = json!(true);
    let view = maker.json["accessors"][positions]["bufferView"].as_u64().unwrap() as usize;
    maker.json["bufferViews"][view]["byteStride"] = json!(4);
    maker.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = json!(positions);
    maker.json["nodes"][0]["scale"] = json!([0.1, 0.1, 0.1]);
    maker.json["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
    let rig = maker.rig();
    assert!(close(rig.skin().positions[0], Vec3::new(-0.1, 0.0, 0.0)));
    assert!(close(rig.skin().positions[2], Vec3::new(0.1, 0.1, 0.0)));
    assert_eq!(rig.skin().positions[0].x, rig.skin().positions[3].x);
    assert!((rig.skin().quantum - 0.1 / 127.0).abs() < 1e-9);
}

#[test]
fn quantised_targets_use_the_transform_of_their_base() {
    let mut maker = Maker::square(&[]);
    let base: [u16; 12] = [0, 0, 0, 2000, 0, 0, 2000, 2000, 0, 0, 2000, 0];
    let target: [i16; 12] = [0, 0, 0, 0, 0, 0, 0, 0, -100, 0, 0, 0];
    let base = maker.accessor(bytemuck::cast_slice(&base), U16, "VEC3", 4);
    let target = maker.accessor(bytemuck::cast_slice(&target), I16, "VEC3", 4);
    let primitive = &mut maker.json["meshes"][0]["primitives"][0];
    primitive["attributes"]["POSITION"] = json!(base);
    primitive["targets"] = json!([{ "POSITION": target }]);
    maker.json["nodes"][0]["scale"] = json!([1e-4, 1e-4, 1e-4]);
    maker.json["nodes"][0]["translation"] = json!([1.0, 0.0, 0.0]);
    let rig = maker.rig();
    assert!(close(rig.skin().positions[2], Vec3::new(1.2, 0.2, 0.0)));
    assert!(close(rig.skin().shapes[0].deltas.offsets[0], Vec3::Z * -0.01));
    assert!((rig.skin().quantum - 1e-4).abs() < 1e-9);
}

#[test]
fn interleaved_rows_are_read_at_their_stride() {
    let mut maker = Maker::square(&[]);
    let rows: Vec<f32> = SQUARE.chunks(3).flat_map(|p| [p[0], p[1], p[2], 7.0, 0.25, 0.75]).collect();
    let view = maker.view(bytemuck::cast_slice(&rows));
    maker.json["bufferViews"][view]["byteStride"] = json!(24);
    let positions = json!({ "bufferView": view, "componentType": F32, "type": "VEC3", "count": 4 });
    let positions = maker.push("accessors", positions);
    let uvs =
        json!({ "bufferView": view, "byteOffset": 16, "componentType": F32, "type": "VEC2", "count": 4 });
    let uvs = maker.push("accessors", uvs);
    maker.json["meshes"][0]["primitives"][0]["attributes"] =
        json!({ "POSITION": positions, "TEXCOORD_0": uvs });
    let rig = maker.rig();
    assert!(close(rig.skin().positions[2], Vec3::new(0.2, 0.2, 0.0)));
    assert_eq!(rig.skin().uvs.as_ref().unwrap().coordinates, [Vec2::new(0.25, 0.75); 4]);
}

#[test]
fn strips_fans_and_bare_vertices_become_triangles() {
    let mut maker = Maker::square(&[]);
    let primitive = &mut maker.json["meshes"][0]["primitives"][0];
    primitive["mode"] = json!(6);
    primitive.as_object_mut().unwrap().remove("indices");
    assert_eq!(maker.rig().skin().faces.triangles(), [[1, 2, 0], [2, 3, 0]]);
    maker.json["meshes"][0]["primitives"][0]["mode"] = json!(5);
    assert_eq!(maker.rig().skin().faces.triangles(), [[0, 1, 2], [1, 3, 2]]);
    maker.json["meshes"][0]["primitives"][0]["mode"] = json!(4);
    assert_eq!(maker.rig().skin().faces.triangles(), [[0, 1, 2]]);
}

#[test]
fn points_and_lines_are_left_out_with_a_note() {
    let mut maker = Maker::square(&[]);
    let mut lines = maker.json["meshes"][0]["primitives"][0].clone();
    lines["mode"] = json!(1);
    maker.json["meshes"][0]["primitives"].as_array_mut().unwrap().insert(0, lines);
    let rig = maker.rig();
    assert_eq!(rig.skin().positions.len(), 4);
    assert!(rig.notes.iter().any(|note| note.contains("points or lines")), "{:?}", rig.notes);
}

#[test]
fn primitives_that_share_their_vertices_share_one_block() {
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    let first = maker.indices(&[0, 1, 2]);
    let second = maker.indices(&[0, 2, 3]);
    let other = maker.floats("VEC3", &SQUARE);
    let primitives = maker.json["meshes"][0]["primitives"].as_array_mut().unwrap();
    let mut shared = primitives[0].clone();
    primitives[0]["indices"] = json!(first);
    shared["indices"] = json!(second);
    let mut apart = shared.clone();
    apart["attributes"]["POSITION"] = json!(other);
    primitives.insert(1, apart);
    primitives.push(shared);
    let rig = maker.rig();
    assert_eq!(rig.skin().positions.len(), 8);
    assert_eq!(rig.skin().faces.triangles(), [[0, 1, 2], [4, 6, 7], [0, 2, 3]]);
    assert_eq!(rig.skin().shapes[0].deltas.vertices, [2, 6]);
}

#[test]
fn node_transforms_reach_positions_and_shapes() {
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    maker.json["scenes"][0]["nodes"] = json!([1]);
    // A quarter turn about Y takes +Z to +X.
    maker.push("nodes", json!({ "children": [0], "rotation": [0.0, FRAC_1_SQRT_2, 0.0, FRAC_1_SQRT_2] }));
    maker.json["nodes"][0]["matrix"] = json!([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0.0, 0.0, 0.5, 1]);
    let rig = maker.rig();
    assert!(close(rig.skin().positions[1], Vec3::new(0.5, 0.0, -0.2)));
    assert!(close(rig.skin().shapes[0].deltas.offsets[0], Vec3::X * 0.02));
    assert!(rig.skin().to_rig.transform_point3(DVec3::ZERO).distance(DVec3::X * 0.5) < 1e-9);
}

#[test]
fn a_mirrored_node_turns_its_faces_round() {
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    maker.json["nodes"][0]["scale"] = json!([-1, 1, 1]);
    let rig = maker.rig();
    let skin = rig.skin();
    assert!(close(skin.positions[1], Vec3::X * -0.2));
    for [a, b, c] in skin.faces.triangles().map_to_points(&skin.positions) {
        assert!((b - a).cross(c - a).z > 0.0, "the square still faces +Z");
    }
    assert_eq!(skin.shapes[0].deltas.offsets, [Vec3::Z * 0.01]);
}

trait MapToPoints {
    fn map_to_points(&self, points: &[Vec3]) -> Vec<[Vec3; 3]>;
}

impl MapToPoints for Vec<[u32; 3]> {
    fn map_to_points(&self, points: &[Vec3]) -> Vec<[Vec3; 3]> {
        self.iter().map(|triangle| triangle.map(|v| points[v as usize])).collect()
    }
}

#[test]
fn a_mesh_used_twice_is_two_meshes_with_names_of_their_own() {
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    maker.push("nodes", json!({ "mesh": 0, "name": "face", "translation": [1.0, 0.0, 0.0] }));
    maker.push("nodes", json!({ "mesh": 0 }));
    maker.push("nodes", json!({ "children": [2], "name": "carrier" }));
    maker.json["scenes"][0]["nodes"] = json!([0, 1, 3]);
    let rig = maker.rig();
    let names: Vec<&str> = rig.meshes.iter().map(|mesh| mesh.name.as_str()).collect();
    assert_eq!(names, ["face", "face_2", "carrier"]);
    assert!(close(rig.meshes[1].positions[0], Vec3::X));
}

#[test]
fn meshes_without_any_name_are_numbered_and_without_a_scene_all_count() {
    let mut maker = Maker::square(&[]);
    maker.json["nodes"] = json!([{ "mesh": 0 }, { "mesh": 0, "name": "" }]);
    maker.json.as_object_mut().unwrap().remove("scenes");
    let rig = maker.rig();
    let names: Vec<&str> = rig.meshes.iter().map(|mesh| mesh.name.as_str()).collect();
    assert_eq!(names, ["mesh 0", "mesh 0_2"]);
}

#[test]
fn targets_without_positions_are_empty_shapes() {
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    let normals = maker.floats("VEC3", &SQUARE);
    let targets = maker.json["meshes"][0]["primitives"][0]["targets"].as_array_mut().unwrap();
    targets.push(json!({ "NORMAL": normals }));
    let rig = maker.rig();
    assert_eq!(rig.skin().shapes.len(), 2);
    assert!(rig.skin().shapes[1].deltas.is_empty());
}

#[test]
fn names_of_shapes_come_from_the_mesh_or_are_numbers() {
    let mut maker = Maker::square(&[lift(2, 0.01), lift(1, 0.01)]);
    let names = |maker: &Maker| -> Vec<String> {
        maker.rig().skin().shapes.iter().map(|shape| shape.name.clone()).collect()
    };
    assert_eq!(names(&maker), ["shape 0", "shape 1"]);
    maker.json["meshes"][0]["primitives"][0]["extras"] = json!({ "targetNames": ["p", "q"] });
    assert_eq!(names(&maker), ["p", "q"]);
    maker.json["meshes"][0]["extras"] = json!({ "targetNames": ["jawOpen", "jawOpen"] });
    assert_eq!(names(&maker), ["jawOpen", "jawOpen_2"]);
}

#[test]
fn weights_that_a_file_opens_with_are_noted_and_not_applied() {
    let mut maker = Maker::square(&[lift(2, 0.01), lift(1, 0.01)]);
    maker.json["meshes"][0]["weights"] = json!([0.5, 0.0]);
    let rig = maker.rig();
    assert_eq!(rig.skin().positions[2], Vec3::new(0.2, 0.2, 0.0));
    assert!(rig.notes[0].contains("1 raised shapes"), "{:?}", rig.notes);
    maker.json["nodes"][0]["weights"] = json!([0.0, 0.0]);
    assert!(maker.rig().notes.is_empty());
}

#[test]
fn centimetres_are_recognised_by_the_size_of_the_face() {
    let mut maker = Maker::square(&[lift(2, 1.0), lift(1, 1.0)]);
    maker.json["nodes"][0]["scale"] = json!([100, 100, 100]);
    maker.json["meshes"][0]["extras"] = json!({ "targetNames": ["jawOpen", "mouthSmile_L"] });
    let rig = maker.rig();
    assert_eq!(rig.units.metres_per_unit, 0.01);
    assert!(close(rig.skin().positions[2], Vec3::new(0.2, 0.2, 0.0)));
    assert!(close(rig.skin().shapes[0].deltas.offsets[0], Vec3::Z));
    // Without a facial name there is nothing to go by.
    maker.json["meshes"][0]["extras"] = json!({});
    assert_eq!(maker.rig().units.metres_per_unit, 1.0);
}

#[test]
fn indices_of_every_width_are_read() {
    let mut maker = Maker::square(&[]);
    let bytes = maker.accessor(&[0u8, 1, 2], U8, "SCALAR", 3);
    let words = maker.accessor(bytemuck::cast_slice(&[0u32, 1, 2]), U32, "SCALAR", 3);
    for accessor in [bytes, words] {
        maker.json["meshes"][0]["primitives"][0]["indices"] = json!(accessor);
        assert_eq!(maker.rig().skin().faces.triangles(), [[0, 1, 2]]);
    }
}

#[test]
fn buffers_in_data_uris_and_in_files_are_the_same() {
    use base64::Engine;
    let maker = Maker::square(&[lift(2, 0.01)]);
    let expected = maker.rig();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("some data")).unwrap();
    std::fs::write(folder.path().join("some data/face.bin"), &maker.binary).unwrap();
    let encoded = base64::engine::general_purpose::STANDARD.encode(&maker.binary);
    for uri in [format!("data:application/octet-stream;base64,{encoded}"), "some%20data/face.bin".into()] {
        let mut json = maker.json.clone();
        json["buffers"][0]["uri"] = json!(uri);
        let path = folder.path().join("face.gltf");
        std::fs::write(&path, json.to_string()).unwrap();
        let rig =
            zygoma_rig::formats::gltf::read_rig(&path, &zygoma_rig::formats::Limits::default()).unwrap();
        assert_eq!(rig.skin().positions, expected.skin().positions);
        assert_eq!(rig.skin().shapes, expected.skin().shapes);
    }
}
