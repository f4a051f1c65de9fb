//! Makes a new document for a rig that did not come from glTF.

use std::collections::HashMap;
use std::path::Path;

use glam::{Vec2, Vec3};
use serde_json::{Value, json};
use zygoma_geometry::normals::vertex_normals;

use super::animated::MorphTarget;
use super::new_targets::NewTargets;
use super::pack::{push, set};
use super::ranged::shifted_normals;
use super::{Document, builder};
use crate::{Rig, RigMesh, Shape, Source, SparseDeltas};

/// A document, with the nodes of the rig's parts.
pub(super) struct Fresh {
    pub(super) document: Document,
    /// The root node.
    pub(super) root: usize,
    /// The node of each mesh.
    pub(super) meshes: Vec<usize>,
    /// The node of each joint.
    pub(super) joints: Vec<usize>,
}

/// A mesh with new targets and a new base.
pub(super) struct Replaced {
    index: usize,
    mesh: RigMesh,
    /// Unit normals of the base.
    normals: Vec<Vec3>,
    /// Normal deltas of each shape; empty if unknown.
    normal_changes: Vec<SparseDeltas>,
    /// The weights that show the neutral.
    rest: Vec<f32>,
}

impl Replaced {
    /// A mesh of a rig with new targets.
    pub(super) fn new(rig: &Rig, new: &NewTargets) -> Self {
        let mut mesh = rig.meshes[new.mesh].clone();
        let mut normals = vertex_normals(&mesh.positions, &mesh.faces.triangles());
        let mut factors = vec![1.0; normals.len()];
        let (kept, rest, names) = (new.kept(&mesh), new.rest(&mesh), new.names(&mesh));
        if let Some(shift) = &new.ranged.shift {
            for (position, by) in mesh.positions.iter_mut().zip(&shift.positions) {
                *position += *by;
            }
            if let (0, Some(change)) = (kept, &shift.normals) {
                (normals, factors) = shifted_normals(&normals, change);
            }
        }
        let turned = |target: &MorphTarget| {
            let change = target.normals.as_ref()?;
            let scaled: Vec<Vec3> = change.iter().zip(&factors).map(|(n, factor)| *n * *factor).collect();
            Some(SparseDeltas::from_dense(&scaled))
        };
        // The mesh's own shapes are written without normals, so the others must not have any either.
        let normal_changes = if kept > 0 { None } else { new.ranged.targets.iter().map(turned).collect() };
        mesh.shapes.truncate(kept);
        let added = new.ranged.targets.iter().zip(&names[kept..]);
        mesh.shapes.extend(added.map(|(target, name)| Shape {
            name: name.clone(),
            deltas: SparseDeltas::from_dense(&target.positions),
        }));
        Self { index: new.mesh, mesh, normals, normal_changes: normal_changes.unwrap_or_default(), rest }
    }
}

/// Writes every mesh and joint of a rig into a new document: metres, one node each below one root.
pub(super) fn document(rig: &Rig, path: &Path, replaced: &[Replaced]) -> Fresh {
    let mut document = Document::empty(path);
    document.note_unit(1.0);
    add_material(&mut document, rig);
    let mut meshes = Vec::new();
    for (index, mesh) in rig.meshes.iter().enumerate() {
        let entry = match replaced.iter().find(|replaced| replaced.index == index) {
            Some(new) => write_mesh(&mut document, &new.mesh, &new.normals, &new.normal_changes, &new.rest),
            None => {
                let normals = vertex_normals(&mesh.positions, &mesh.faces.triangles());
                write_mesh(&mut document, mesh, &normals, &[], &vec![0.0; mesh.shapes.len()])
            }
        };
        let entry = push(&mut document, "meshes", entry);
        meshes.push(push(&mut document, "nodes", json!({ "name": mesh.name, "mesh": entry })));
    }
    let joint =
        |joint: &crate::Joint| json!({ "name": joint.name, "translation": joint.position.to_array() });
    let joints: Vec<usize> =
        rig.joints.iter().map(|entry| push(&mut document, "nodes", joint(entry))).collect();
    let children: Vec<usize> = meshes.iter().chain(&joints).copied().collect();
    let root = push(&mut document, "nodes", json!({ "name": rig.name, "children": children }));
    push(&mut document, "scenes", json!({ "nodes": [root] }));
    set(&mut document.json, "scene", json!(0));
    Fresh { document, root, meshes, joints }
}

/// The one material of all meshes: the rig's texture, or a plain colour.
fn add_material(document: &mut Document, rig: &Rig) {
    let mut surface = json!({ "metallicFactor": 0.0, "roughnessFactor": 0.6 });
    if let Source::Generated { texture: Some(png) } = &rig.source {
        let image = push(document, "images", json!({ "name": "face", "mimeType": "image/png" }));
        document.images.insert(image, png.clone());
        let texture = push(document, "textures", json!({ "source": image }));
        surface["baseColorTexture"] = json!({ "index": texture });
    } else {
        surface["baseColorFactor"] = json!([0.8, 0.62, 0.54, 1.0]);
    }
    push(document, "materials", json!({ "name": "face", "pbrMetallicRoughness": surface }));
}

pub(super) fn write_mesh(
    document: &mut Document,
    mesh: &RigMesh,
    normals: &[Vec3],
    normal_changes: &[SparseDeltas],
    rest: &[f32],
) -> Value {
    let shapes = &mesh.shapes;
    let split = Split::new(mesh);
    let count = split.origins.len();
    let positions = builder::positions(document, &split.spread(&mesh.positions));
    let normals = builder::directions(document, &split.spread(normals));
    let mut attributes = json!({ "POSITION": positions, "NORMAL": normals });
    if let Some(coordinates) = &split.coordinates {
        attributes["TEXCOORD_0"] = json!(builder::coordinates(document, coordinates));
    }
    let indices = builder::indices(document, &split.triangles, count);
    let mut primitive = json!({ "attributes": attributes, "indices": indices, "material": 0 });
    let mut entry = json!({ "name": mesh.name });
    let mut extras = json!({});
    if !shapes.is_empty() {
        let mut targets = Vec::new();
        for (index, shape) in shapes.iter().enumerate() {
            let moved = builder::displacements(document, &split.spread_deltas(&shape.deltas), count, true);
            let mut target = json!({ "POSITION": moved });
            if let Some(change) = normal_changes.get(index) {
                let change = split.spread_deltas(change);
                target["NORMAL"] = json!(builder::displacements(document, &change, count, false));
            }
            targets.push(target);
        }
        primitive["targets"] = Value::Array(targets);
        entry["weights"] = json!(rest);
        let names: Vec<&str> = shapes.iter().map(|shape| shape.name.as_str()).collect();
        extras["targetNames"] = json!(names);
    }
    if !mesh.regions.is_empty() {
        extras["regions"] = mesh
            .regions
            .iter()
            .map(|region| {
                json!({ "name": region.name, "start": region.vertices.start, "end": region.vertices.end })
            })
            .collect();
    }
    entry["primitives"] = json!([primitive]);
    if extras.as_object().is_some_and(|members| !members.is_empty()) {
        entry["extras"] = extras;
    }
    entry
}

/// Vertices duplicated where one has several texture coordinates. The first copy stays in place, so that the
/// vertices of the rig come first and in order.
struct Split {
    /// The rig's vertex behind each exported one.
    origins: Vec<u32>,
    /// The duplicates of each vertex that has any.
    doubles: HashMap<u32, Vec<u32>>,
    triangles: Vec<[u32; 3]>,
    coordinates: Option<Vec<Vec2>>,
}

impl Split {
    fn new(mesh: &RigMesh) -> Self {
        let count = mesh.positions.len();
        let whole = |coordinates: Option<Vec<Vec2>>| Self {
            origins: (0..count as u32).collect(),
            doubles: HashMap::new(),
            triangles: mesh.faces.triangles(),
            coordinates,
        };
        let Some(uvs) = &mesh.uvs else { return whole(None) };
        let Some(corner_uvs) = &uvs.corners else { return whole(Some(uvs.coordinates.clone())) };
        let mut split = Self { triangles: Vec::new(), coordinates: None, ..whole(None) };
        let mut coordinate_of: Vec<Option<u32>> = vec![None; count];
        for face in 0..mesh.faces.len() {
            let corners: Vec<u32> = mesh
                .faces
                .range(face)
                .map(|corner| {
                    split.vertex(mesh.faces.corners()[corner], corner_uvs[corner], &mut coordinate_of)
                })
                .collect();
            split.triangles.extend((2..corners.len()).map(|i| [corners[0], corners[i - 1], corners[i]]));
        }
        let coordinate =
            |index: &Option<u32>| index.map_or(Vec2::ZERO, |index| uvs.coordinates[index as usize]);
        split.coordinates = Some(coordinate_of.iter().map(coordinate).collect());
        split
    }

    /// The exported vertex for a vertex with this coordinate.
    fn vertex(&mut self, vertex: u32, uv: u32, coordinate_of: &mut Vec<Option<u32>>) -> u32 {
        if *coordinate_of[vertex as usize].get_or_insert(uv) == uv {
            return vertex;
        }
        let doubles = self.doubles.entry(vertex).or_default();
        if let Some(double) = doubles.iter().find(|double| coordinate_of[**double as usize] == Some(uv)) {
            return *double;
        }
        let double = self.origins.len() as u32;
        doubles.push(double);
        self.origins.push(vertex);
        coordinate_of.push(Some(uv));
        double
    }

    fn spread(&self, values: &[Vec3]) -> Vec<Vec3> {
        self.origins.iter().map(|origin| values[*origin as usize]).collect()
    }

    fn spread_deltas(&self, deltas: &SparseDeltas) -> SparseDeltas {
        let mut spread = deltas.clone();
        let doubled = deltas.iter().flat_map(|(vertex, offset)| {
            self.doubles.get(&vertex).into_iter().flatten().map(move |double| (*double, offset))
        });
        let mut doubled: Vec<(u32, Vec3)> = doubled.collect();
        doubled.sort_by_key(|(vertex, _)| *vertex);
        spread.vertices.extend(doubled.iter().map(|(vertex, _)| *vertex));
        spread.offsets.extend(doubled.iter().map(|(_, offset)| *offset));
        spread
    }
}
