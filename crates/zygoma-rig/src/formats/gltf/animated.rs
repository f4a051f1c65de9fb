//! Animated surfaces as GLB: few morph targets that take the place of the skin's own.

use std::path::Path;

use glam::{DMat3, Vec3};
use serde_json::{Value, json};

use super::animate::{AnimationWriter, WeightKeys};
use super::export::check_ending;
use super::pack::{push, set, unset};
use super::plan::MeshPlan;
use super::stage::{Planned, Stage};
use super::{builder, fresh, takes, vrm};
use crate::{Error, Result, Rig, RigMesh, Shape, Source, SparseDeltas, Take};

/// A surface over time as a sum of few targets: neutral + Σ weight · target.
#[derive(Clone, Debug, PartialEq)]
pub struct MorphAnimation {
    /// Frames per second.
    pub fps: f64,
    /// Time of the first frame in seconds.
    pub start: f64,
    /// The targets.
    pub targets: Vec<MorphTarget>,
    /// The weight of every target in every frame, frame after frame.
    pub weights: Vec<f32>,
}

/// One target of a [`MorphAnimation`].
#[derive(Clone, Debug, PartialEq)]
pub struct MorphTarget {
    /// Displacement of every vertex of the skin in rig space.
    pub positions: Vec<Vec3>,
    /// Change of every normal in rig space, if known.
    pub normals: Option<Vec<Vec3>>,
}

/// Writes a rig whose skin plays an animated surface, as one self-contained GLB.
///
/// The skin's own targets give way to those of `animation`; other morphing meshes keep theirs and follow the take,
/// whose tracks have exactly the names of the rig's shapes. Everything else of a glTF document stays, except its
/// animations: with `keep_node_animation` the document's own take of that name keeps moving nodes as it did,
/// otherwise the take's head, jaw and eye motion is written.
pub fn write_animated(
    rig: &Rig,
    animation: &MorphAnimation,
    take: &Take,
    keep_node_animation: bool,
    path: &Path,
) -> Result<()> {
    check_ending(path)?;
    animation.check(rig.skin())?;
    let mut writer = AnimationWriter::default();
    let mut stage = match &rig.source {
        Source::Gltf(document) => {
            let (mut stage, planned) = Stage::of_document(document, rig)?;
            replace_targets(&mut stage, &planned, rig, animation)?;
            if keep_node_animation {
                keep_channels(&stage, &planned, &take.name, stage.mesh_nodes[rig.skin], &mut writer);
            }
            unset(&mut stage.document.json, "animations");
            stage.document.note_unit(rig.units.metres_per_unit);
            stage
        }
        _ => fresh_stage(rig, animation, path),
    };
    if !animation.targets.is_empty() {
        let keys =
            WeightKeys::steady(animation.start, animation.fps, animation.targets.len(), &animation.weights);
        let node = stage.mesh_nodes[rig.skin];
        writer.weights(&mut stage.document, node, &keys);
    }
    stage.animate_weights(rig, take, Some(rig.skin), &mut writer);
    let moves_nodes = ["translation", "rotation", "scale"].iter().any(|path| writer.has_path(path));
    if !moves_nodes {
        stage.animate_joints(&take.motions, &mut writer);
    }
    stage.add_animation(writer, &take.name);
    stage.document.write_glb(path)
}

impl MorphAnimation {
    fn check(&self, skin: &RigMesh) -> Result<()> {
        let vertices = skin.positions.len();
        let fits = |offsets: &Vec<Vec3>| offsets.len() == vertices && offsets.iter().all(|o| o.is_finite());
        let whole_frames = match self.targets.len() {
            0 => self.weights.is_empty(),
            count => !self.weights.is_empty() && self.weights.len().is_multiple_of(count),
        };
        let problem = if !(self.fps > 0.0 && self.fps.is_finite() && self.start.is_finite()) {
            "its frame rate or start is not a usable number"
        } else if !self.targets.iter().all(|t| fits(&t.positions) && t.normals.as_ref().is_none_or(fits)) {
            "a target does not give every vertex of the skin a finite displacement"
        } else if !whole_frames || self.weights.iter().any(|weight| !weight.is_finite()) {
            "its weights are not a finite number for every target in every frame"
        } else {
            return Ok(());
        };
        Err(Error::Request(format!("the animation of \"{}\" cannot be written: {problem}", skin.name)))
    }

    fn name(target: usize) -> String {
        format!("motion {target}")
    }
}

fn fresh_stage(rig: &Rig, animation: &MorphAnimation, path: &Path) -> Stage {
    let targets = animation.targets.iter().enumerate();
    let shapes: Vec<Shape> = targets
        .map(|(index, target)| Shape {
            name: MorphAnimation::name(index),
            deltas: SparseDeltas::from_dense(&target.positions),
        })
        .collect();
    let normals = animation.targets.iter().map(|target| target.normals.as_deref());
    let normals: Vec<Option<SparseDeltas>> =
        normals.map(|normals| normals.map(SparseDeltas::from_dense)).collect();
    Stage::fresh(rig, path, Some(&fresh::Replaced { mesh: rig.skin, shapes: &shapes, normals: &normals }))
}

/// Replaces the morph targets of the skin in its document.
fn replace_targets(
    stage: &mut Stage,
    planned: &Planned,
    rig: &Rig,
    animation: &MorphAnimation,
) -> Result<()> {
    let plan = &planned.plans[rig.skin];
    let linear = rig.skin().to_rig.matrix3;
    let size = linear.determinant().abs().cbrt();
    let to_mesh = linear.inverse();
    if !(to_mesh.is_finite() && size > 0.0) {
        return Err(Error::Request(format!(
            "mesh \"{}\" is scaled to nothing, so that no surface can be given back to it",
            plan.name
        )));
    }
    // Normals travel by the inverse transpose; what comes back is the transpose, without its scale.
    let normals_to_mesh = linear.transpose() * (1.0 / size);
    let mesh = own_mesh(stage, planned, plan);
    for (index, primitive) in planned.schema.meshes[plan.mesh].primitives.iter().enumerate() {
        let block = plan.blocks.iter().find(|block| block.primitives.contains(&index));
        let has_normals = primitive.attributes.contains_key("NORMAL");
        let place = format!("/meshes/{mesh}/primitives/{index}");
        // Primitives that share their vertices share the targets as well.
        if let Some(twin) = block.map(|block| block.primitives[0]).filter(|first| *first < index)
            && planned.schema.meshes[plan.mesh].primitives[twin].attributes.contains_key("NORMAL")
                == has_normals
        {
            let targets = stage.document.json.pointer(&format!("/meshes/{mesh}/primitives/{twin}/targets"));
            if let Some(targets) = targets.cloned()
                && let Some(entry) = stage.document.json.pointer_mut(&place)
            {
                set(entry, "targets", targets);
            }
            continue;
        }
        let mut targets = Vec::new();
        for target in &animation.targets {
            let mut written = json!({});
            if let Some(block) = block {
                let range = block.vertices.clone();
                let count = range.len();
                let moved = mapped(&target.positions[range.clone()], to_mesh);
                written["POSITION"] = json!(builder::displacements(&mut stage.document, &moved, count, true));
                if let Some(normals) = target.normals.as_ref().filter(|_| has_normals) {
                    let turned = mapped(&normals[range], normals_to_mesh);
                    written["NORMAL"] =
                        json!(builder::displacements(&mut stage.document, &turned, count, false));
                }
            } else if let Some(positions) = primitive.attributes.get("POSITION") {
                // Points and lines must have as many targets; theirs move nothing.
                let count = planned.schema.accessors.get(*positions).map_or(0, |accessor| accessor.count);
                let still = SparseDeltas::default();
                written["POSITION"] = json!(builder::displacements(&mut stage.document, &still, count, true));
            }
            targets.push(written);
        }
        if let Some(entry) = stage.document.json.pointer_mut(&place) {
            set_or_unset(entry, "targets", targets);
            if let Some(extras) = entry.get_mut("extras") {
                unset(extras, "targetNames");
            }
        }
    }
    name_targets(stage, mesh, plan.node, animation.targets.len());
    vrm::drop_binds(&mut stage.document.json, mesh, plan.node);
    Ok(())
}

fn mapped(vectors: &[Vec3], linear: DMat3) -> SparseDeltas {
    let mapped: Vec<Vec3> = vectors.iter().map(|v| (linear * v.as_dvec3()).as_vec3()).collect();
    SparseDeltas::from_dense(&mapped)
}

fn set_or_unset(entry: &mut Value, key: &str, values: Vec<Value>) {
    if values.is_empty() {
        unset(entry, key);
    } else {
        set(entry, key, Value::Array(values));
    }
}

/// The index of the skin's mesh; a copy of it where other nodes show the same mesh and must not change.
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

fn name_targets(stage: &mut Stage, mesh: usize, node: usize, count: usize) {
    if let Some(node) = stage.document.json.pointer_mut(&format!("/nodes/{node}")) {
        unset(node, "weights");
    }
    let Some(mesh) = stage.document.json.pointer_mut(&format!("/meshes/{mesh}")) else { return };
    set_or_unset(mesh, "weights", vec![json!(0.0); count]);
    if !mesh.get("extras").is_some_and(Value::is_object) {
        set(mesh, "extras", json!({}));
    }
    let names: Vec<Value> = (0..count).map(|target| json!(MorphAnimation::name(target))).collect();
    if let Some(extras) = mesh.get_mut("extras") {
        set_or_unset(extras, "targetNames", names);
    }
    if mesh["extras"].as_object().is_some_and(serde_json::Map::is_empty) {
        unset(mesh, "extras");
    }
}

/// Takes over what the document's own take does, except to the skin's weights, which mean something else now.
fn keep_channels(
    stage: &Stage,
    planned: &Planned,
    take: &str,
    skin_node: usize,
    writer: &mut AnimationWriter,
) {
    let groups = takes::groups(&planned.schema);
    let Some((_, animations)) = groups.into_iter().find(|(name, _)| name == take) else { return };
    for animation in animations {
        let Some(entry) = stage.document.list("animations").get(animation) else { continue };
        let part = |key: &str| entry.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for channel in part("channels") {
            let target = &channel["target"];
            let skin_weights = target["path"].as_str() == Some("weights")
                && target["node"].as_u64() == Some(skin_node as u64);
            if !skin_weights {
                writer.keep(channel, part("samplers"));
            }
        }
    }
}
