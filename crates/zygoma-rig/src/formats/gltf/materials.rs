//! The appearance of a document's surfaces, for programs that draw them: the material of each triangle, and the
//! materials with their images and nothing else.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Value, json};

use super::accessor::Accessors;
use super::pack::{append, push, set, unset};
use super::plan::plan_meshes;
use super::scene::Tree;
use super::schema::Schema;
use super::uri::{Target, resolve};
use super::{Document, surface};
use crate::Result;
use crate::formats::Limits;

/// Lists that describe materials; everything else of a document is left out.
const KEPT: [&str; 5] = ["extensionsUsed", "materials", "samplers", "textures", "asset"];

/// Consecutive triangles of a mesh with one material.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaterialRange {
    /// Which triangles of the mesh.
    pub triangles: Range<usize>,
    /// Index into the document's materials; `None` for the default one.
    pub material: Option<usize>,
}

/// The appearance of a document's meshes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// For each mesh of the rig its materials.
    pub ranges: Vec<Vec<MaterialRange>>,
    /// A GLB with only the materials and their images, whose texture coordinates are those of the rig.
    pub materials: Vec<u8>,
}

/// The base colour of a material.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseColor {
    /// The image file that holds it.
    pub image: Vec<u8>,
    /// Whether the material is opaque; otherwise the image's alpha cuts it out or fades it.
    pub opaque: bool,
}

/// The base colours of a document's materials, in their order; `None` for those without an image at hand.
pub fn base_colors(document: &Document) -> Vec<Option<BaseColor>> {
    let index = |value: &Value, place: &str| usize::try_from(value.pointer(place)?.as_u64()?).ok();
    let of_material = |material: &Value| {
        let texture = index(material, "/pbrMetallicRoughness/baseColorTexture/index")?;
        let texture = document.list("textures").get(texture)?;
        // WebP images come by an extension, with or without another image for programs that cannot read them.
        let image =
            index(texture, "/extensions/EXT_texture_webp/source").or_else(|| index(texture, "/source"))?;
        let bytes = image_bytes(document, image, document.list("images").get(image)?)?;
        let mode = material.get("alphaMode").and_then(Value::as_str).unwrap_or("OPAQUE");
        Some(BaseColor { image: bytes, opaque: mode == "OPAQUE" })
    };
    document.list("materials").iter().map(of_material).collect()
}

/// Reads the appearance of a document's meshes.
pub fn look(document: &Document, limits: &Limits) -> Result<Look> {
    let (ranges, placed) = ranges_and_placed(document, limits)?;
    Ok(Look { ranges, materials: materials_only(document, &placed)? })
}

/// For each mesh of the rig the materials of its triangles, without their images.
pub fn material_ranges(document: &Document, limits: &Limits) -> Result<Vec<Vec<MaterialRange>>> {
    Ok(ranges_and_placed(document, limits)?.0)
}

/// The materials of every mesh, and those whose texture transforms have been applied to the rig's coordinates.
fn ranges_and_placed(
    document: &Document,
    limits: &Limits,
) -> Result<(Vec<Vec<MaterialRange>>, BTreeSet<usize>)> {
    let schema = Schema::read(document)?;
    let tree = Tree::new(document, &schema)?;
    let accessors = Accessors::new(document, &schema, limits)?;
    let plans = plan_meshes(document, &schema, &tree, limits, &mut Vec::new())?;
    let mut ranges = Vec::with_capacity(plans.len());
    let mut placed = BTreeSet::new();
    for plan in &plans {
        let mut start = 0;
        let mut of_mesh = Vec::new();
        for (index, count) in surface::triangle_counts(document, &schema, &accessors, plan)? {
            let primitive = &schema.meshes[plan.mesh].primitives[index];
            of_mesh.push(MaterialRange { triangles: start..start + count, material: primitive.material });
            start += count;
            let whole_numbers =
                primitive.attributes.get("TEXCOORD_0").and_then(|accessor| accessors.step(*accessor))
                    == Some(1.0);
            placed.extend(primitive.material.filter(|_| whole_numbers));
        }
        ranges.push(of_mesh);
    }
    Ok((ranges, placed))
}

/// The materials alone. Those in `placed` have had their texture transforms applied to the rig's coordinates.
fn materials_only(document: &Document, placed: &BTreeSet<usize>) -> Result<Vec<u8>> {
    let mut alone = Document::empty(document.path());
    for key in KEPT {
        if let Some(value) = document.json.get(key) {
            set(&mut alone.json, key, value.clone());
        }
    }
    if let Some(materials) = alone.json.get_mut("materials").and_then(Value::as_array_mut) {
        for material in placed {
            materials.get_mut(*material).into_iter().for_each(remove_transforms);
        }
    }
    for (index, image) in document.list("images").iter().enumerate() {
        let mut entry = image.clone();
        unset(&mut entry, "uri");
        unset(&mut entry, "bufferView");
        if let Some(bytes) = image_bytes(document, index, image) {
            let start = append(&mut alone, &bytes);
            let view = json!({ "buffer": 0, "byteOffset": start, "byteLength": bytes.len() });
            let view = push(&mut alone, "bufferViews", view);
            set(&mut entry, "bufferView", json!(view));
            if entry.get("mimeType").is_none() {
                set(&mut entry, "mimeType", json!(mime_type(&bytes)));
            }
        }
        push(&mut alone, "images", entry);
    }
    alone.to_glb()
}

fn remove_transforms(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("KHR_texture_transform");
            members.values_mut().for_each(remove_transforms);
        }
        Value::Array(entries) => entries.iter_mut().for_each(remove_transforms),
        _ => {}
    }
}

/// The bytes of an image; `None` if they are not available.
fn image_bytes(document: &Document, index: usize, image: &Value) -> Option<Vec<u8>> {
    if let Some(bytes) = document.images.get(&index) {
        return Some(bytes.clone());
    }
    if let Some(uri) = image.get("uri").and_then(Value::as_str) {
        return match resolve(uri) {
            Ok(Target::Data(bytes)) => Some(bytes),
            _ => None,
        };
    }
    let number = |value: &Value, key: &str| usize::try_from(value.get(key)?.as_u64()?).ok();
    let view = document.list("bufferViews").get(number(image, "bufferView")?)?;
    let start = number(view, "byteOffset").unwrap_or(0);
    let end = start.checked_add(number(view, "byteLength")?)?;
    document.buffers.get(number(view, "buffer")?)?.get(start..end).map(<[u8]>::to_vec)
}

/// The MIME type of an image, from its first bytes.
fn mime_type(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xAB, b'K', b'T', b'X', ..] => "image/ktx2",
        [b'R', b'I', b'F', b'F', ..] => "image/webp",
        _ => "image/jpeg",
    }
}
