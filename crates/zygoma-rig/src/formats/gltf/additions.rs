//! Meshes that are added to a rig's file, such as bones that were fitted into its head.

use std::path::Path;

use glam::DAffine3;
use serde_json::{Value, json};
use zygoma_geometry::normals::vertex_normals;

use super::export::{check_ending, write_rig};
use super::pack::push;
use super::scene::{place_below, place_in_scene, rotation_of};
use super::stage::Stage;
use super::{fresh, prune};
use crate::formats::Limits;
use crate::{JointRole, Result, Rig, RigMesh, Source};

/// Colour of added meshes, linear red, green and blue.
const COLOR: [f32; 3] = [0.86, 0.80, 0.66];

/// Writes a rig with further meshes, given in rig space with the joint that carries them, as one self-contained GLB.
///
/// A rig that came from a glTF file keeps everything, materials and textures too, except meshopt compression. The meshes are added
/// as children of their joint, or of the head's without such a joint, so that they go where a skeleton takes the head.
pub fn write_rig_with(rig: &Rig, added: &[(RigMesh, JointRole)], path: &Path) -> Result<()> {
    check_ending(path)?;
    let Source::Gltf(document) = &rig.source else {
        let mut whole = rig.clone();
        whole.meshes.extend(added.iter().map(|(mesh, _)| mesh.clone()));
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
    for (mesh, role) in added {
        let normals = vertex_normals(&mesh.positions, &mesh.faces.triangles());
        let rest = vec![0.0; mesh.shapes.len()];
        let mut entry = fresh::write_mesh(&mut stage.document, mesh, &normals, &[], &rest);
        entry["primitives"][0]["material"] = json!(material);
        let entry = push(&mut stage.document, "meshes", entry);
        let carrier = stage.carrier(*role).map(|(node, rest)| (node, rest.inverse() * from_rig));
        match carrier.filter(|(_, place)| is_similarity(place)) {
            Some((parent, place)) => {
                place_below(&mut stage.document, parent, node(&mesh.name, entry, &place));
            }
            None => drop(place_in_scene(&mut stage.document, node(&mesh.name, entry, &from_rig))),
        }
    }
    stage.document.note_unit(rig.units.metres_per_unit);
    prune::prune(&mut stage.document);
    stage.document.write_glb(path)
}

/// A node with a mesh, placed by a similarity.
fn node(name: &str, mesh: usize, place: &DAffine3) -> Value {
    let size = place.matrix3.determinant().abs().cbrt();
    json!({
        "name": name,
        "mesh": mesh,
        "translation": place.translation.to_array(),
        "rotation": rotation_of(place.matrix3).to_array(),
        "scale": [size, size, size],
    })
}

/// Whether a transform keeps angles, as no parent with uneven scales does.
fn is_similarity(place: &DAffine3) -> bool {
    const EXACT: f64 = 1e-4;
    let m = place.matrix3;
    let size = m.determinant().abs().cbrt();
    let axes = [m.x_axis, m.y_axis, m.z_axis];
    let even = axes.iter().all(|axis| (axis.length() - size).abs() < EXACT * size);
    let upright = (0..3).all(|i| axes[i].dot(axes[(i + 1) % 3]).abs() < EXACT * size * size);
    place.is_finite() && m.determinant() > 0.0 && even && upright
}
