//! New morph targets for meshes of a document.

use std::collections::BTreeMap;
use std::ops::Range;

use glam::{DMat3, Vec3};
use serde_json::{Value, json};

use super::accessor::Accessors;
use super::animated::MorphTarget;
use super::pack::{push, set, unset};
use super::plan::MeshPlan;
use super::ranged::{Ranged, shifted_normals};
use super::schema::Primitive;
use super::stage::{Planned, Stage};
use super::{Document, builder, names, vrm};
use crate::formats::Limits;
use crate::{Error, Result, Rig, RigMesh, SparseDeltas};

/// Targets that replace a mesh's own, or are added to them.
pub(super) struct NewTargets<'a> {
    /// Index into the rig's meshes.
    pub(super) mesh: usize,
    pub(super) ranged: &'a Ranged,
    pub(super) keeps_shapes: bool,
    /// Names of the new targets, where they have some: then the first ones stand for the mesh's own, in the same order.
    pub(super) names: Option<&'a [String]>,
}

impl NewTargets<'_> {
    /// Number of its own shapes that a mesh keeps.
    pub(super) fn kept(&self, mesh: &RigMesh) -> usize {
        if self.keeps_shapes { mesh.shapes.len() } else { 0 }
    }

    /// Names of all targets of the mesh, kept and new.
    pub(super) fn names(&self, mesh: &RigMesh) -> Vec<String> {
        let kind = if self.keeps_shapes { "corrective" } else { "motion" };
        let mut taken = BTreeMap::new();
        let own = mesh.shapes[..self.kept(mesh)].iter().map(|shape| shape.name.clone());
        let name = |target: usize| self.names.and_then(|names| names.get(target).cloned());
        let new = (0..self.ranged.targets.len())
            .map(|target| name(target).unwrap_or_else(|| format!("{kind} {target}")));
        own.chain(new).map(|name| names::unique(name, &mut taken)).collect()
    }

    /// Weights at which all targets together show the neutral.
    pub(super) fn rest(&self, mesh: &RigMesh) -> Vec<f32> {
        let mut rest = vec![0.0; self.kept(mesh)];
        rest.extend(&self.ranged.rest);
        rest
    }
}

/// Gives a mesh of a document its new targets and their base.
pub(super) fn write(stage: &mut Stage, planned: &Planned, rig: &Rig, new: &NewTargets) -> Result<()> {
    let (plan, rig_mesh) = (&planned.plans[new.mesh], &rig.meshes[new.mesh]);
    let writer = TargetWriter::new(new, rig_mesh)?;
    let primitives = &planned.schema.meshes[plan.mesh].primitives;
    let bases = read_bases(stage, planned, plan)?;
    let mesh = own_mesh(stage, planned, plan);
    // Primitives that share their vertices share the targets as well.
    let mut shared: BTreeMap<(usize, Option<usize>, bool), Written> = BTreeMap::new();
    for (index, primitive) in primitives.iter().enumerate() {
        let written = match plan.blocks.iter().position(|block| block.primitives.contains(&index)) {
            Some(block) => {
                let (vertices, base) = (plan.blocks[block].vertices.clone(), &bases[index]);
                let key = (block, primitive.attributes.get("NORMAL").copied(), new.turns_normals(primitive));
                let turns = key.2;
                let document = &mut stage.document;
                let write = || writer.write(document, vertices, base.as_ref(), turns);
                shared.entry(key).or_insert_with(write).clone()
            }
            // Points and lines must have as many targets; these move nothing.
            None => {
                let positions = primitive.attributes.get("POSITION");
                let accessor = positions.and_then(|index| planned.schema.accessors.get(*index));
                writer.still(&mut stage.document, accessor.map_or(0, |accessor| accessor.count))
            }
        };
        if let Some(entry) = stage.document.json.pointer_mut(&format!("/meshes/{mesh}/primitives/{index}")) {
            written.put_into(entry, new.keeps_shapes);
        }
    }
    name_targets(stage, mesh, plan.node, &new.names(rig_mesh), &new.rest(rig_mesh));
    if !new.keeps_shapes && new.names.is_none() {
        vrm::drop_binds(&mut stage.document.json, mesh, plan.node);
    }
    Ok(())
}

impl NewTargets<'_> {
    /// Whether targets change normals: some viewers fail if only some targets have normals.
    fn turns_normals(&self, primitive: &Primitive) -> bool {
        let own = primitive.targets.iter().all(|target| target.contains_key("NORMAL"));
        primitive.attributes.contains_key("NORMAL") && (!self.keeps_shapes || own)
    }
}

/// Positions and normals of a primitive as the document has them.
struct Base {
    positions: Vec<Vec3>,
    normals: Option<Vec<Vec3>>,
}

/// Reads the bases of a mesh's primitives; `None` for points and lines.
fn read_bases(stage: &Stage, planned: &Planned, plan: &MeshPlan) -> Result<Vec<Option<Base>>> {
    let accessors = Accessors::new(&stage.document, &planned.schema, &Limits::default())?;
    let vectors = |accessor: usize, count: usize| -> Result<Vec<Vec3>> {
        Ok(accessors.vectors::<3>(accessor, Some(count))?.into_iter().map(Vec3::from).collect())
    };
    let read = |(index, primitive): (usize, &Primitive)| {
        let Some(block) = plan.blocks.iter().find(|block| block.primitives.contains(&index)) else {
            return Ok(None);
        };
        let count = block.vertices.len();
        let normals = primitive.attributes.get("NORMAL").map(|normals| vectors(*normals, count));
        Ok(Some(Base { positions: vectors(block.positions, count)?, normals: normals.transpose()? }))
    };
    planned.schema.meshes[plan.mesh].primitives.iter().enumerate().map(read).collect()
}

/// Accessors that were written for one primitive.
#[derive(Clone)]
struct Written {
    positions: Option<usize>,
    normals: Option<usize>,
    targets: Vec<Value>,
}

impl Written {
    fn put_into(self, primitive: &mut Value, keeps_shapes: bool) {
        if let Some(attributes) = primitive.get_mut("attributes") {
            for (name, accessor) in [("POSITION", self.positions), ("NORMAL", self.normals)] {
                if let Some(accessor) = accessor {
                    set(attributes, name, json!(accessor));
                }
            }
        }
        let mut targets = self.targets;
        if let (true, Some(own)) = (keeps_shapes, primitive.get("targets").and_then(Value::as_array)) {
            targets = own.iter().cloned().chain(targets).collect();
        }
        set_or_unset(primitive, "targets", targets);
        if let Some(extras) = primitive.get_mut("extras") {
            unset(extras, "targetNames");
        }
    }
}

/// Writes targets given in rig space into the space of a mesh.
struct TargetWriter<'a> {
    ranged: &'a Ranged,
    positions_to_mesh: DMat3,
    normals_to_mesh: DMat3,
}

impl<'a> TargetWriter<'a> {
    fn new(new: &NewTargets<'a>, mesh: &RigMesh) -> Result<Self> {
        let linear = mesh.to_rig.matrix3;
        let size = linear.determinant().abs().cbrt();
        let positions_to_mesh = linear.inverse();
        if !(positions_to_mesh.is_finite() && size > 0.0) {
            return Err(Error::Request(format!(
                "mesh \"{}\" is scaled to nothing, so that no surface can be given back to it",
                mesh.name
            )));
        }
        // Normals go to rig space by the inverse transpose; back by the transpose, with its scale removed.
        let normals_to_mesh = linear.transpose() * (1.0 / size);
        Ok(Self { ranged: new.ranged, positions_to_mesh, normals_to_mesh })
    }

    fn write(
        &self,
        document: &mut Document,
        vertices: Range<usize>,
        base: Option<&Base>,
        turns_normals: bool,
    ) -> Written {
        let count = vertices.len();
        let in_mesh = |vectors: &[Vec3], linear: DMat3| mapped(&vectors[vertices.clone()], linear);
        let mut written = Written { positions: None, normals: None, targets: Vec::new() };
        let mut factors: Option<Vec<f32>> = None;
        if let (Some(shift), Some(base)) = (&self.ranged.shift, base) {
            let moved = in_mesh(&shift.positions, self.positions_to_mesh);
            let positions: Vec<Vec3> = base.positions.iter().zip(moved).map(|(p, by)| *p + by).collect();
            written.positions = Some(builder::positions(document, &positions));
            if let (true, Some(normals), Some(change)) = (turns_normals, &base.normals, &shift.normals) {
                let (units, scales) = shifted_normals(normals, &in_mesh(change, self.normals_to_mesh));
                written.normals = Some(builder::directions(document, &units));
                factors = Some(scales);
            }
        }
        let mut write = |target: &MorphTarget| {
            let moved = SparseDeltas::from_dense(&in_mesh(&target.positions, self.positions_to_mesh));
            let mut entry = json!({ "POSITION": builder::displacements(document, &moved, count, true) });
            if turns_normals {
                let change = target.normals.as_ref();
                let mut turned = change
                    .map_or_else(|| vec![Vec3::ZERO; count], |change| in_mesh(change, self.normals_to_mesh));
                for (change, factor) in turned.iter_mut().zip(factors.iter().flatten()) {
                    *change *= *factor;
                }
                let turned = SparseDeltas::from_dense(&turned);
                entry["NORMAL"] = json!(builder::displacements(document, &turned, count, false));
            }
            entry
        };
        written.targets = self.ranged.targets.iter().map(&mut write).collect();
        written
    }

    fn still(&self, document: &mut Document, count: usize) -> Written {
        let still = builder::displacements(document, &SparseDeltas::default(), count, true);
        let targets = vec![json!({ "POSITION": still }); self.ranged.targets.len()];
        Written { positions: None, normals: None, targets }
    }
}

fn mapped(vectors: &[Vec3], linear: DMat3) -> Vec<Vec3> {
    vectors.iter().map(|v| (linear * v.as_dvec3()).as_vec3()).collect()
}

fn set_or_unset(entry: &mut Value, key: &str, values: Vec<Value>) {
    if values.is_empty() {
        unset(entry, key);
    } else {
        set(entry, key, Value::Array(values));
    }
}

/// The index of the plan's mesh; a copy of it if other nodes use the same mesh, which must not change.
fn own_mesh(stage: &mut Stage, planned: &Planned, plan: &MeshPlan) -> usize {
    let users = planned.schema.nodes.iter().filter(|node| node.mesh == Some(plan.mesh)).count();
    let Some(mesh) =
        stage.document.json.pointer(&format!("/meshes/{}", plan.mesh)).filter(|_| users > 1).cloned()
    else {
        return plan.mesh;
    };
    let copy = push(&mut stage.document, "meshes", mesh);
    if let Some(node) = stage.document.json.pointer_mut(&format!("/nodes/{}", plan.node)) {
        set(node, "mesh", json!(copy));
    }
    copy
}

fn name_targets(stage: &mut Stage, mesh: usize, node: usize, names: &[String], rest: &[f32]) {
    if let Some(node) = stage.document.json.pointer_mut(&format!("/nodes/{node}")) {
        unset(node, "weights");
    }
    let Some(mesh) = stage.document.json.pointer_mut(&format!("/meshes/{mesh}")) else { return };
    set_or_unset(mesh, "weights", rest.iter().map(|weight| json!(weight)).collect());
    if !mesh.get("extras").is_some_and(Value::is_object) {
        set(mesh, "extras", json!({}));
    }
    if let Some(extras) = mesh.get_mut("extras") {
        set_or_unset(extras, "targetNames", names.iter().map(|name| json!(name)).collect());
    }
    if mesh["extras"].as_object().is_some_and(serde_json::Map::is_empty) {
        unset(mesh, "extras");
    }
}
