//! Writes animations into a document: weights of morph targets and motion of nodes.

use std::sync::Arc;

use glam::{DAffine3, DQuat, DVec3};
use serde_json::{Value, json};
use zygoma_geometry::rigid::RigidMotion;

use super::pack::{set, unset};
use super::scene::rotation_of;
use super::{Document, builder};
use crate::take::{Interpolation, WeightCurve};

/// The rate in Hz at which curves are sampled that glTF cannot store exactly.
const SAMPLED: f64 = 60.0;

/// One animation that is being written.
#[derive(Debug, Default)]
pub(super) struct AnimationWriter {
    channels: Vec<Value>,
    samplers: Vec<Value>,
    /// Key times that several channels share are stored once.
    times: Vec<(Vec<f32>, usize)>,
}

/// Weights of all morph targets of a mesh at each key.
pub(super) struct WeightKeys {
    times: Vec<f32>,
    values: Vec<f32>,
    interpolation: &'static str,
}

impl WeightKeys {
    /// Keys at a steady rate, with all targets of a frame one after the other.
    pub(super) fn steady(start: f64, fps: f64, targets: usize, values: &[f32]) -> Self {
        let frames = values.len().checked_div(targets).unwrap_or(0);
        let times = (0..frames).map(|frame| start + frame as f64 / fps);
        Self::linear(times, |key| values[key * targets..][..targets].to_vec())
    }

    /// Combines the curves of all targets; absent ones stay at zero. `None` if all are absent.
    pub(super) fn together(curves: &[Option<&WeightCurve>]) -> Option<Self> {
        let given: Vec<&WeightCurve> =
            curves.iter().copied().flatten().filter(|curve| !curve.times.is_empty()).collect();
        let first = given.first()?;
        let same_times = given.iter().all(|curve| curve.times == first.times);
        let of_kind = |kind: fn(&Interpolation) -> bool| given.iter().all(|curve| kind(&curve.interpolation));
        let value = |curve: &Option<&WeightCurve>, key: usize| {
            curve.and_then(|curve| curve.values.get(key)).copied().unwrap_or(0.0)
        };
        if same_times && of_kind(|kind| matches!(kind, Interpolation::Cubic { .. })) {
            let row = |key: usize| cubic_row(curves, key);
            return Some(Self {
                interpolation: "CUBICSPLINE",
                ..Self::linear(first.times.iter().copied(), row)
            });
        }
        let steps = of_kind(|kind| *kind == Interpolation::Step);
        if same_times && (steps || of_kind(|kind| *kind == Interpolation::Linear)) {
            let row = |key: usize| curves.iter().map(|curve| value(curve, key)).collect();
            let interpolation = if steps { "STEP" } else { "LINEAR" };
            return Some(Self { interpolation, ..Self::linear(first.times.iter().copied(), row) });
        }
        let times = union_of_times(&given);
        let sample = |curve: &Option<&WeightCurve>, time| curve.map_or(0.0, |curve| curve.sample(time));
        let row = |key: usize| curves.iter().map(|curve| sample(curve, times[key])).collect();
        Some(Self::linear(times.iter().copied(), row))
    }

    /// Linear keys, keeping only those whose times still increase in single precision.
    fn linear(times: impl Iterator<Item = f64>, row: impl Fn(usize) -> Vec<f32>) -> Self {
        let mut keys = Self { times: Vec::new(), values: Vec::new(), interpolation: "LINEAR" };
        for (key, time) in times.enumerate() {
            let time = time as f32;
            if keys.times.last().is_none_or(|last| time > *last) {
                keys.times.push(time);
                keys.values.extend(row(key));
            }
        }
        keys
    }
}

/// Incoming tangents, values and outgoing tangents of all targets at one key.
fn cubic_row(curves: &[Option<&WeightCurve>], key: usize) -> Vec<f32> {
    let mut row = Vec::with_capacity(3 * curves.len());
    for part in 0..3 {
        row.extend(curves.iter().map(|curve| match curve.map(|curve| (&curve.interpolation, curve)) {
            Some((Interpolation::Cubic { incoming, outgoing }, curve)) => {
                [incoming, &curve.values, outgoing][part].get(key).copied().unwrap_or(0.0)
            }
            _ => 0.0,
        }));
    }
    row
}

/// Every key of every curve and, for curves that bend or jump between keys, evenly spaced samples as well.
fn union_of_times(curves: &[&WeightCurve]) -> Vec<f64> {
    let mut times: Vec<f64> = curves.iter().flat_map(|curve| curve.times.iter().copied()).collect();
    times.sort_by(f64::total_cmp);
    if curves.iter().any(|curve| curve.interpolation != Interpolation::Linear)
        && let (Some(start), Some(end)) = (times.first().copied(), times.last().copied())
    {
        let steps = ((end - start) * SAMPLED).ceil() as usize;
        times.extend((0..steps).map(|step| start + step as f64 / SAMPLED));
        times.sort_by(f64::total_cmp);
    }
    times.dedup();
    times
}

impl AnimationWriter {
    /// Whether nothing is animated yet.
    pub(super) fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Copies a channel of another animation with its sampler, unchanged.
    pub(super) fn keep(&mut self, channel: &Value, samplers: &[Value]) {
        let sampler = channel.get("sampler").and_then(Value::as_u64).unwrap_or(0) as usize;
        let Some(sampler) = samplers.get(sampler) else { return };
        let mut channel = channel.clone();
        set(&mut channel, "sampler", json!(self.samplers.len()));
        self.samplers.push(sampler.clone());
        self.channels.push(channel);
    }

    /// Whether a property of a node is animated already.
    pub(super) fn has(&self, node: usize, path: &str) -> bool {
        self.channels.iter().any(|channel| {
            let target = &channel["target"];
            target["node"].as_u64() == Some(node as u64) && target["path"].as_str() == Some(path)
        })
    }

    /// Whether this property of any node is animated already.
    pub(super) fn has_path(&self, path: &str) -> bool {
        self.channels.iter().any(|channel| channel["target"]["path"].as_str() == Some(path))
    }

    /// Animates the weights of a node's mesh.
    pub(super) fn weights(&mut self, document: &mut Document, node: usize, keys: &WeightKeys) {
        let output = builder::scalars(document, &keys.values);
        self.add(document, node, "weights", &keys.times, output, keys.interpolation);
    }

    /// Animates a node by motions in rig space.
    pub(super) fn motion(
        &mut self,
        document: &mut Document,
        node: usize,
        motions: &[(f64, RigidMotion)],
        frame: &MotionFrame,
    ) {
        let (mut times, mut translations, mut rotations) = (Vec::<f32>::new(), Vec::new(), Vec::new());
        let mut previous = DQuat::IDENTITY;
        for (time, motion) in motions {
            let time = *time as f32;
            if times.last().is_some_and(|last| time <= *last) {
                continue;
            }
            let local = frame.local(motion);
            let rotation = rotation_of(local.matrix3);
            // The same rotation, with the sign that is nearer to the previous key.
            let rotation = if rotation.dot(previous) < 0.0 { -rotation } else { rotation };
            previous = rotation;
            times.push(time);
            translations.extend(local.translation.as_vec3().to_array());
            rotations.extend(rotation.as_quat().to_array());
        }
        if times.is_empty() {
            return;
        }
        frame.make_animatable(document, node);
        let output = builder::rows(document, &translations, "VEC3", 3);
        self.add(document, node, "translation", &times, output, "LINEAR");
        let output = builder::rows(document, &rotations, "VEC4", 4);
        self.add(document, node, "rotation", &times, output, "LINEAR");
    }

    /// Shows and hides a node by its scale: its own size while it is present, and zero otherwise.
    pub(super) fn presence(&mut self, document: &mut Document, node: usize, keys: &[(f64, bool)], size: f64) {
        let (mut times, mut scales) = (Vec::<f32>::new(), Vec::new());
        for (time, is_there) in keys {
            let time = *time as f32;
            if times.last().is_none_or(|last| time > *last) {
                times.push(time);
                scales.extend([if *is_there { size as f32 } else { 0.0 }; 3]);
            }
        }
        if !times.is_empty() {
            let output = builder::rows(document, &scales, "VEC3", 3);
            self.add(document, node, "scale", &times, output, "STEP");
        }
    }

    fn add(
        &mut self,
        document: &mut Document,
        node: usize,
        path: &str,
        times: &[f32],
        output: usize,
        interpolation: &str,
    ) {
        let stored = self.times.iter().find(|(stored, _)| stored == times).map(|(_, accessor)| *accessor);
        let input = stored.unwrap_or_else(|| {
            let accessor = builder::times(document, times);
            self.times.push((times.to_vec(), accessor));
            accessor
        });
        self.channels
            .push(json!({ "sampler": self.samplers.len(), "target": { "node": node, "path": path } }));
        self.samplers.push(json!({ "input": input, "output": output, "interpolation": interpolation }));
    }

    /// The finished animation.
    pub(super) fn finish(self, name: &str) -> Value {
        json!({ "name": name, "channels": self.channels, "samplers": self.samplers })
    }
}

/// Converts a motion in rig space to the pose of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct MotionFrame {
    /// From the scene to rig space.
    pub(super) to_rig: DAffine3,
    /// Rest transform of the node's parent in the scene.
    pub(super) parent: DAffine3,
    /// Rest transform of the node in the scene.
    pub(super) rest: DAffine3,
}

impl MotionFrame {
    fn local(&self, motion: &RigidMotion) -> DAffine3 {
        let in_scene = self.to_rig.inverse() * motion.to_affine() * self.to_rig;
        self.parent.inverse() * in_scene * self.rest
    }

    /// Replaces the matrix of a node, since an animated node must not have one.
    fn make_animatable(&self, document: &mut Document, node: usize) {
        let Some(entry) = document.json.pointer_mut(&format!("/nodes/{node}")) else { return };
        if entry.get("matrix").is_none() {
            return;
        }
        let local = self.parent.inverse() * self.rest;
        let rotation = rotation_of(local.matrix3);
        let unturned = glam::DMat3::from_quat(rotation.inverse()) * local.matrix3;
        let scale = DVec3::new(unturned.x_axis.x, unturned.y_axis.y, unturned.z_axis.z);
        unset(entry, "matrix");
        set(entry, "translation", json!(local.translation.to_array()));
        set(entry, "rotation", json!(rotation.to_array()));
        set(entry, "scale", json!(scale.to_array()));
    }
}

/// Motions at the keys of a track.
pub(super) fn keyed(times: &Arc<[f64]>, motions: &[RigidMotion]) -> Vec<(f64, RigidMotion)> {
    times.iter().copied().zip(motions.iter().copied()).collect()
}
