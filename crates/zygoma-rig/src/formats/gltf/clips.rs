//! Keeps the clips that a document came with when another take is put before them.

use serde_json::{Value, json};

use super::accessor::Accessors;
use super::animate::AnimationWriter;
use super::new_targets::NewTargets;
use super::pack::{set, unset};
use super::schema::Schema;
use super::stage::Stage;
use super::{builder, takes};
use crate::formats::Limits;
use crate::{Result, RigMesh};

/// How the weights that clips give to a mesh change.
pub(super) struct WeightChannel {
    /// The node that has the mesh.
    node: usize,
    change: Change,
}

enum Change {
    /// The targets are unchanged.
    None,
    /// The targets were replaced.
    Replaced,
    /// Targets were added, which rest at these weights.
    Appended { own: usize, rest: Vec<f32> },
}

impl WeightChannel {
    pub(super) fn new(node: usize, mesh: &RigMesh, targets: Option<&NewTargets>) -> Self {
        let change = match targets {
            None => Change::None,
            Some(new) if new.keeps_shapes => {
                Change::Appended { own: mesh.shapes.len(), rest: new.ranged.rest.clone() }
            }
            Some(_) => Change::Replaced,
        };
        Self { node, change }
    }

    /// The channel of a mesh whose own targets stay in place, with some new ones after them that rest at 0.
    pub(super) fn widened(node: usize, own: usize, added: usize) -> Self {
        Self { node, change: Change::Appended { own, rest: vec![0.0; added] } }
    }

    fn is(&self, channel: &Value) -> bool {
        let target = &channel["target"];
        target["path"].as_str() == Some("weights") && target["node"].as_u64() == Some(self.node as u64)
    }
}

/// The animations that make up the document's own take of this name.
pub(super) fn of_take(schema: &Schema, take: &str) -> Vec<usize> {
    let groups = takes::groups(schema);
    groups.into_iter().find(|(name, _)| name == take).map_or_else(Vec::new, |(_, animations)| animations)
}

/// Copies the channels of the document's own take, except weights that are written anew.
pub(super) fn take_over(
    stage: &Stage,
    animations: &[usize],
    anew: &[WeightChannel],
    writer: &mut AnimationWriter,
) {
    for animation in animations {
        let Some(entry) = stage.document.list("animations").get(*animation) else { continue };
        let channels =
            list(entry, "channels").iter().filter(|channel| !anew.iter().any(|anew| anew.is(channel)));
        channels.for_each(|channel| writer.keep(channel, list(entry, "samplers")));
    }
}

/// Keeps every animation but these, and adapts mesh weights to the new targets. An animation that moves nothing else is dropped.
pub(super) fn keep_others(
    stage: &mut Stage,
    schema: &Schema,
    except: &[usize],
    anew: &[WeightChannel],
) -> Result<()> {
    let mut kept = Vec::new();
    for index in 0..stage.document.list("animations").len() {
        if except.contains(&index) {
            continue;
        }
        let mut animation = stage.document.list("animations")[index].clone();
        for mesh in anew {
            match &mesh.change {
                Change::None => {}
                Change::Replaced => {
                    if let Some(channels) = animation.get_mut("channels").and_then(Value::as_array_mut) {
                        channels.retain(|channel| !mesh.is(channel));
                    }
                }
                Change::Appended { own, rest } => widen(stage, schema, &mut animation, mesh, *own, rest)?,
            }
        }
        let is_left = animation.get("channels").and_then(Value::as_array).is_none_or(|left| !left.is_empty());
        if is_left {
            kept.push(drop_idle_samplers(animation));
        }
    }
    if kept.is_empty() {
        unset(&mut stage.document.json, "animations");
    } else {
        set(&mut stage.document.json, "animations", Value::Array(kept));
    }
    Ok(())
}

/// Keeps appended targets at rest throughout an animation of the mesh's own.
fn widen(
    stage: &mut Stage,
    schema: &Schema,
    animation: &mut Value,
    mesh: &WeightChannel,
    own: usize,
    rest: &[f32],
) -> Result<()> {
    if own == 0 || rest.is_empty() {
        return Ok(());
    }
    for place in 0..list(animation, "channels").len() {
        let channel = &list(animation, "channels")[place];
        let sampler = channel["sampler"].as_u64().map_or(0, |sampler| sampler as usize);
        let Some(sampler) = list(animation, "samplers").get(sampler).filter(|_| mesh.is(channel)).cloned()
        else {
            continue;
        };
        let Some(output) = sampler["output"].as_u64() else { continue };
        let values = {
            let accessors = Accessors::new(&stage.document, schema, &Limits::default())?;
            accessors.vectors::<1>(output as usize, None)?
        };
        // A spline has a row of tangents before and after each row of weights; those of resting targets are zero.
        let is_spline = sampler["interpolation"].as_str() == Some("CUBICSPLINE");
        let mut wide = Vec::with_capacity(values.len() / own * (own + rest.len()));
        for (row, values) in values.chunks_exact(own).enumerate() {
            wide.extend(values.as_flattened());
            let holds_weights = !is_spline || row % 3 == 1;
            wide.extend(rest.iter().map(|rest| if holds_weights { *rest } else { 0.0 }));
        }
        let mut sampler = sampler;
        set(&mut sampler, "output", json!(builder::scalars(&mut stage.document, &wide)));
        if let Some(samplers) = animation.get_mut("samplers").and_then(Value::as_array_mut) {
            samplers.push(sampler);
            let last = samplers.len() - 1;
            set(&mut animation["channels"][place], "sampler", json!(last));
        }
    }
    Ok(())
}

/// Removes samplers that no channel uses.
fn drop_idle_samplers(mut animation: Value) -> Value {
    let sampler = |channel: &Value| channel["sampler"].as_u64().unwrap_or(0) as usize;
    let samplers = list(&animation, "samplers").to_vec();
    let mut used: Vec<usize> = list(&animation, "channels").iter().map(sampler).collect();
    used.sort_unstable();
    used.dedup();
    used.retain(|index| *index < samplers.len());
    if used.len() == samplers.len() {
        return animation;
    }
    for channel in animation.get_mut("channels").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Ok(new) = used.binary_search(&sampler(channel)) {
            set(channel, "sampler", json!(new));
        }
    }
    set(&mut animation, "samplers", used.iter().map(|index| samplers[*index].clone()).collect());
    animation
}

fn list<'a>(entry: &'a Value, key: &str) -> &'a [Value] {
    entry.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
