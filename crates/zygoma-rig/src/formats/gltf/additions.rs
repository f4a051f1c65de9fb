//! Meshes that are added to a rig's file, such as bones that were fitted into its head.

use std::path::Path;

use serde_json::json;
use zygoma_geometry::normals::vertex_normals;

use super::export::{check_ending, write_rig};
use super::pack::push;
use super::scene::{place_in_scene, rotation_of};
use super::stage::Stage;
use super::{fresh, prune};
use crate::formats::Limits;
use crate::{Result, Rig, RigMesh, Source};

/// Colour of added meshes, linear red, green and blue.
const COLOR: [f32; 3] = [0.86, 0.80, 0.66];

/// Writes a rig with further meshes, given in rig space, as one self-contained GLB.
///
/// A rig that came from a glTF file keeps everything, materials and textures too, except meshopt compression; the meshes are added
/// as nodes of its scene. They do not follow joints of the rig.
pub fn write_rig_with(rig: &Rig, added: &[RigMesh], path: &Path) -> Result<()> {
    check_ending(path)?;
    let Source::Gltf(document) = &rig.source else {
        let mut whole = rig.clone();
        whole.meshes.extend_from_slice(added);
        return write_rig(&whole, path);
    };
    // The document was read within limits before.
    let document = document.decompressed(&Limits::default())?;
    let (mut stage, _) = Stage::of_document(&document, rig)?;
    let [r, g, b] = COLOR;
    let surface = json!({ "baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.6 });
    let material =
        push(&mut stage.document, "materials", json!({ "name": "bone", "pbrMetallicRoughness": surface }));
    let from_rig = stage.to_rig.inverse();
    let size = from_rig.matrix3.determinant().abs().cbrt();
    for mesh in added {
        let normals = vertex_normals(&mesh.positions, &mesh.faces.triangles());
        let rest = vec![0.0; mesh.shapes.len()];
        let mut entry = fresh::write_mesh(&mut stage.document, mesh, &normals, &[], &rest);
        entry["primitives"][0]["material"] = json!(material);
        let entry = push(&mut stage.document, "meshes", entry);
        let node = json!({
            "name": mesh.name,
            "mesh": entry,
            "translation": from_rig.translation.to_array(),
            "rotation": rotation_of(from_rig.matrix3).to_array(),
            "scale": [size, size, size],
        });
        place_in_scene(&mut stage.document, node);
    }
    stage.document.note_unit(rig.units.metres_per_unit);
    prune::prune(&mut stage.document);
    stage.document.write_glb(path)
}
