//! Animated surfaces as GLB: few morph targets that take the place of the skin's own.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use glam::{DMat3, Vec3};
use serde_json::{Value, json};

use super::animate::{AnimationWriter, WeightKeys};
use super::export::check_ending;
use super::pack::{push, set, unset};
use super::plan::MeshPlan;
use super::props::AnimatedProp;
use super::stage::{Planned, Stage};
use super::{Document, builder, fresh, takes, vrm};
use crate::formats::Limits;
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
/// whose tracks have exactly the names of the rig's shapes. Everything else of a glTF document stays, except
/// meshopt compression and its animations: with `keep_node_animation` the document's own take of that name keeps moving nodes as it did,
/// otherwise the take's head, jaw and eye motion is written.
pub fn write_animated(
    rig: &Rig,
    animation: &MorphAnimation,
    take: &Take,
    keep_node_animation: bool,
    path: &Path,
) -> Result<()> {
    write_animated_with(rig, animation, take, keep_node_animation, &[], path)
}

/// [`write_animated`], with things beside the face.
pub fn write_animated_with(
    rig: &Rig,
    animation: &MorphAnimation,
    take: &Take,
    keep_node_animation: bool,
    props: &[AnimatedProp],
    path: &Path,
) -> Result<()> {
    check_ending(path)?;
    animation.check(rig.skin())?;
    props.iter().try_for_each(AnimatedProp::check)?;
    let mut writer = AnimationWriter::default();
    let mut stage = match &rig.source {
        Source::Gltf(document) => {
            // Any viewer is to play it, and few decompress. The document was read within limits before.
            let document = document.decompressed(&Limits::default())?;
            let (mut stage, planned) = Stage::of_document(&document, rig)?;
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
    for prop in props {
        prop.add(&mut stage, animation.start, animation.fps, &mut writer);
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
    let writer = TargetWriter::new(animation, rig.skin())?;
    let mesh = own_mesh(stage, planned, plan);
    let primitives = &planned.schema.meshes[plan.mesh].primitives;
    let mut shared: BTreeMap<(usize, bool), Vec<Value>> = BTreeMap::new();
    for (index, primitive) in primitives.iter().enumerate() {
        let has_normals = primitive.attributes.contains_key("NORMAL");
        let targets = match plan.blocks.iter().position(|block| block.primitives.contains(&index)) {
            // Primitives that share their vertices share the targets as well.
            Some(block) => {
                let vertices = plan.blocks[block].vertices.clone();
                let write = || writer.targets(&mut stage.document, vertices, has_normals);
                shared.entry((block, has_normals)).or_insert_with(write).clone()
            }
            // Points and lines must have as many targets; theirs move nothing.
            None => {
                let positions = primitive.attributes.get("POSITION");
                let accessor = positions.and_then(|index| planned.schema.accessors.get(*index));
                writer.still_targets(&mut stage.document, accessor.map_or(0, |accessor| accessor.count))
            }
        };
        if let Some(entry) = stage.document.json.pointer_mut(&format!("/meshes/{mesh}/primitives/{index}")) {
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

/// Writes targets given in rig space into the space of a mesh.
struct TargetWriter<'a> {
    animation: &'a MorphAnimation,
    positions_to_mesh: DMat3,
    normals_to_mesh: DMat3,
}

impl<'a> TargetWriter<'a> {
    fn new(animation: &'a MorphAnimation, skin: &RigMesh) -> Result<Self> {
        let linear = skin.to_rig.matrix3;
        let size = linear.determinant().abs().cbrt();
        let positions_to_mesh = linear.inverse();
        if !(positions_to_mesh.is_finite() && size > 0.0) {
            return Err(Error::Request(format!(
                "mesh \"{}\" is scaled to nothing, so that no surface can be given back to it",
                skin.name
            )));
        }
        // Normals come to rig space by the inverse transpose; the way back is the transpose, without its scale.
        Ok(Self { animation, positions_to_mesh, normals_to_mesh: linear.transpose() * (1.0 / size) })
    }

    fn targets(&self, document: &mut Document, vertices: Range<usize>, has_normals: bool) -> Vec<Value> {
        let count = vertices.len();
        let mut write = |target: &MorphTarget| {
            let moved = mapped(&target.positions[vertices.clone()], self.positions_to_mesh);
            let mut entry = json!({ "POSITION": builder::displacements(document, &moved, count, true) });
            if let Some(normals) = target.normals.as_ref().filter(|_| has_normals) {
                let turned = mapped(&normals[vertices.clone()], self.normals_to_mesh);
                entry["NORMAL"] = json!(builder::displacements(document, &turned, count, false));
            }
            entry
        };
        self.animation.targets.iter().map(&mut write).collect()
    }

    fn still_targets(&self, document: &mut Document, count: usize) -> Vec<Value> {
        let still = builder::displacements(document, &SparseDeltas::default(), count, true);
        vec![json!({ "POSITION": still }); self.animation.targets.len()]
    }
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
