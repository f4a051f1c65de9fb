//! Which materials triangles have, and the materials alone.

use std::path::Path;

use serde_json::json;
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::gltf::{BaseColor, Document, Look, base_colors, look, material_ranges};

use crate::support::{Maker, SQUARE, U16};

const PICTURE: &[u8] = b"\x89PNG, as far as anybody looks";

/// A square of two primitives: one with a picture and whole-number texture coordinates, one without a material.
fn square() -> Maker {
    let mut maker = Maker::new();
    let positions = maker.floats("VEC3", &SQUARE);
    let uvs = maker.accessor(bytemuck::cast_slice(&[0u16, 0, 100, 0, 100, 100, 0, 100]), U16, "VEC2", 4);
    let first = maker.indices(&[0, 1, 2]);
    let both = maker.indices(&[0, 1, 2, 0, 2, 3]);
    let attributes = json!({ "POSITION": positions, "TEXCOORD_0": uvs });
    let view = maker.view(PICTURE);
    maker.push("images", json!({ "bufferView": view, "mimeType": "image/png" }));
    maker.push("textures", json!({ "source": 0 }));
    let transform = json!({ "KHR_texture_transform": { "scale": [0.01, 0.01] } });
    let texture = json!({ "index": 0, "extensions": transform });
    maker.push(
        "materials",
        json!({ "name": "paint", "pbrMetallicRoughness": { "baseColorTexture": texture } }),
    );
    let primitives = json!([
        { "attributes": attributes, "indices": both, "material": 0 },
        { "attributes": attributes, "indices": first },
    ]);
    maker.push("meshes", json!({ "primitives": primitives }));
    maker.push("nodes", json!({ "mesh": 0, "name": "face" }));
    maker
}

fn look_of(maker: &Maker) -> Look {
    let limits = Limits::default();
    look(&Document::from_slice(&maker.glb(), Path::new("made.glb"), &limits).unwrap(), &limits).unwrap()
}

#[test]
fn triangles_have_the_materials_of_their_primitives() {
    let look = look_of(&square());
    let found: Vec<_> =
        look.ranges[0].iter().map(|range| (range.triangles.clone(), range.material)).collect();
    assert_eq!(found, [(0..2, Some(0)), (2..3, None)]);
}

#[test]
fn materials_come_with_their_pictures_and_nothing_else() {
    let materials = look_of(&square()).materials;
    let alone = Document::from_slice(&materials, Path::new("alone.glb"), &Limits::default()).unwrap();
    for gone in ["meshes", "nodes", "accessors", "scenes"] {
        assert!(alone.json.get(gone).is_none(), "{gone}");
    }
    assert_eq!(alone.json["bufferViews"].as_array().unwrap().len(), 1);
    assert_eq!(&alone.buffers[0][..PICTURE.len()], PICTURE);
    assert_eq!(alone.json["materials"][0]["name"], "paint");
    let texture = &alone.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"];
    assert!(
        texture["extensions"].get("KHR_texture_transform").is_none(),
        "the rig's texture coordinates are transformed already: {texture}"
    );
}

#[test]
fn base_colours_come_as_image_files_and_say_whether_they_are_opaque() {
    let mut maker = square();
    maker.push("materials", json!({ "name": "plain" }));
    let cut_out =
        json!({ "alphaMode": "MASK", "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } });
    maker.push("materials", cut_out);
    maker.push("materials", json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 9 } } }));
    let limits = Limits::default();
    let document = Document::from_slice(&maker.glb(), Path::new("made.glb"), &limits).unwrap();
    let painted = |opaque| Some(BaseColor { image: PICTURE.to_vec(), opaque });
    assert_eq!(base_colors(&document), [painted(true), None, painted(false), None]);
    assert_eq!(material_ranges(&document, &limits).unwrap(), look_of(&maker).ranges);
}
